"""Ridge regression whose every leave-one-out prediction is known in closed form, for a whole path of penalties.

Small and by hand because it runs thousands of times a minute in simulations, and because a cross-fitted estimate needs
the leave-one-out predictions themselves (docs/decisions/0006-auto.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ratewise.core.checks import Floats

PENALTIES: Floats = np.array([0.1, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1e3, 1e4, 1e6])
"""In labels, for columns of unit variance; the last one leaves nothing but the intercept."""

_MOST_LEVERAGE = 0.999  # a label that alone decides its own prediction has no leave-one-out prediction worth the name


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """offset + X β, of columns that need not be put together for it: with many items that is most of the work."""

    offset: float
    coefficients: Floats

    def __call__(self, parts: Sequence[Floats]) -> Floats:
        """The line's values for blocks of columns side by side, each items × columns."""
        out, at = np.full(parts[0].shape[0], self.offset), 0
        for part in parts:
            here = self.coefficients[at : at + part.shape[1]]
            if here.any():
                out += part @ here
            at += part.shape[1]
        return out


@dataclass(frozen=True, slots=True, eq=False)
class RidgePath:
    """y ≈ intercept + (X − centre) β for each penalty; `unseen` are residuals of predictions without the label."""

    centre: Floats  # p
    intercept: float
    coefficients: Floats  # p × penalties
    unseen: Floats  # labels × penalties
    risk: Floats  # weighted mean square of `unseen`, one per penalty
    elsewhere: Floats | None = None  # labels × penalties: predictions of other rows without the label

    def to_dict(self, penalty: int) -> dict[str, Any]:
        """One penalty's line, ready for JSON."""
        line = self.coefficients[:, penalty].tolist()
        return {"centre": self.centre.tolist(), "intercept": self.intercept, "coefficients": line}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "RidgePath":
        """A path with only that line, for predictions; leave-one-out residuals are not kept."""
        line = np.array(data["coefficients"])[:, None]
        return cls(np.array(data["centre"]), data["intercept"], line, np.empty((0, 1)), np.zeros(1))

    @property
    def best(self) -> int:
        """The penalty of least leave-one-out error."""
        return int(np.argmin(self.risk))

    def line(self, penalty: int) -> "Line":
        """Fitted values of any rows, for the penalty with this number."""
        coefficients = self.coefficients[:, penalty]
        return Line(self.intercept - float(self.centre @ coefficients), coefficients)


def ridge_path(X: Floats, y: Floats, weights: Floats, *, intercept: bool, elsewhere: Floats | None = None) -> RidgePath:
    """Weighted least squares with a penalty on every coefficient but the intercept; without one, on all.

    Exact: β = (XᵀWX + λI)⁻¹XᵀWy by one eigendecomposition for all λ, and the residual of the fit without label i is
    (y − ŷ)_i / (1 − h_ii). `elsewhere` has another row for each label, to predict from the others as well.
    """
    W = weights * (weights.size / weights.sum())
    n = W.sum()
    centre = (W @ X) / n if intercept else np.zeros(X.shape[1])
    mean = float(W @ y / n) if intercept else 0.0
    Z, t = X - centre, y - mean
    ZW = Z * W[:, None]
    e, Q = np.linalg.eigh(ZW.T @ Z)
    shrink = 1.0 / (np.maximum(e, 0.0)[:, None] + PENALTIES)
    spread = Z @ Q
    b = shrink * (Q.T @ (ZW.T @ t))[:, None]
    leverage = (spread**2) @ shrink * W[:, None] + ((W / n)[:, None] if intercept else 0.0)
    unseen = (t[:, None] - spread @ b) / (1.0 - np.minimum(leverage, _MOST_LEVERAGE))
    risk, there = np.asarray((W / n) @ unseen**2), None
    if elsewhere is not None:
        rows = (elsewhere - centre) @ Q
        across = (rows * spread) @ shrink * W[:, None] + ((W / n)[:, None] if intercept else 0.0)
        there = mean + rows @ b - across * unseen
    return RidgePath(centre, mean, Q @ b, unseen, risk, there)
