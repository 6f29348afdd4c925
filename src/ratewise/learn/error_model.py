"""Candidates for u(x) = E[(H − f)²|x], learned from the labels: from a constant to a regression on everything known.

All of them are compared by what a policy made from them would cost on the labels (`learn/options.py`), so that one
that tells nothing is not used.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ratewise.core.checks import Floats
from ratewise.learn.rating_model import Covariates, Standard
from ratewise.learn.ridge import RidgePath, ridge_path

Kind = Literal["constant", "claimed", "given", "fitted"]

_BENDS = (0.2, 0.4, 0.6, 0.8)
_BEND_SIZE = 0.5
_LEAST_SHARE = {"claimed": 0.02, "given": 0.02, "fitted": 0.05}  # of the mean error: nothing is known to be perfect
_TRIED = (5, 3, 7)  # penalties tried, by number; the middle one first


@dataclass(frozen=True, slots=True, eq=False)
class ErrorBasis:
    """Columns for the regression of squared residuals: f, its bends, f(1−f) on the scale's range, and all the rest."""

    bends: Floats
    bounds: tuple[float, float]
    standard: Standard

    @classmethod
    def of(cls, f: Floats, x: Covariates, bounds: tuple[float, float]) -> "ErrorBasis":
        """Scaled by the items seen."""
        bends = np.unique(np.quantile(f, _BENDS))
        X = _columns(f, x, bends, bounds)
        size = np.full(X.shape[1], _BEND_SIZE)
        size[:2] = 1.0
        return cls(bends, bounds, Standard.of(X, size))

    def __call__(self, f: Floats, x: Covariates) -> Floats:
        """The columns of any items."""
        return self.standard(_columns(f, x, self.bends, self.bounds))


def _columns(f: Floats, x: Covariates, bends: Floats, bounds: tuple[float, float]) -> Floats:
    low, high = bounds
    parts = [((f - low) * (high - f))[:, None], f[:, None], np.maximum(f[:, None] - bends, 0.0)]
    if x.uncertainty is not None:
        parts.append(x.uncertainty[:, None])
    if x.features is not None:
        parts.append(x.features)
    return np.concatenate(parts, axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class LearnedError:
    """One candidate for u(x), never below a small share of the mean error."""

    kind: Kind
    mean: float
    scale: float = 1.0
    bounds: tuple[float, float] = (0.0, 1.0)
    basis: ErrorBasis | None = None
    path: RidgePath | None = None
    penalty: int = 0

    def to_dict(self) -> dict[str, Any]:
        """All that predictions need, ready for JSON."""
        out: dict[str, Any] = {"kind": self.kind, "mean": self.mean, "scale": self.scale, "bounds": list(self.bounds)}
        if self.basis is not None and self.path is not None:
            out["fitted"] = {
                "bends": self.basis.bends.tolist(), "bounds": list(self.basis.bounds),
                "columns": self.basis.standard.to_dict(), "line": self.path.to_dict(self.penalty),
            }  # fmt: skip
        return out

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "LearnedError":
        """The inverse of `to_dict`, for predictions."""
        bounds = (data["bounds"][0], data["bounds"][1])
        if "fitted" not in data:
            return cls(data["kind"], data["mean"], data["scale"], bounds)
        fit = data["fitted"]
        standard = Standard.from_dict(fit["columns"])
        basis = ErrorBasis(np.array(fit["bends"]), (fit["bounds"][0], fit["bounds"][1]), standard)
        return cls(data["kind"], data["mean"], data["scale"], bounds, basis, RidgePath.from_dict(fit["line"]), 0)

    def predict(self, f: Floats, x: Covariates) -> Floats:
        """u of any items with predictions f."""
        if self.kind == "constant":
            return np.full(f.size, self.mean)
        if self.kind == "claimed":
            low, high = self.bounds
            return self._kept((f - low) * (high - f))
        if self.kind == "given":
            assert x.uncertainty is not None
            return self._kept(self.scale * x.uncertainty)
        assert self.basis is not None
        assert self.path is not None
        return self._kept(self.path.predict(self.basis(f, x), self.penalty))

    def unseen(self, f: Floats, f_unseen: Floats, x: Covariates, squared: Floats) -> Floats:
        """u of the labelled items, each from the other labels; `f_unseen` is f from the others."""
        if self.kind == "claimed":
            return self.predict(f_unseen, x)
        if self.kind != "fitted":
            return self.predict(f, x)
        assert self.path is not None
        return self._kept(squared - self.path.unseen[:, self.penalty])

    def _kept(self, u: Floats) -> Floats:
        return np.maximum(u, _LEAST_SHARE[self.kind] * self.mean)


def error_candidates(
    f_seen: Floats, seen: Covariates, f: Floats, x: Covariates, squared: Floats, weights: Floats,
    *, bounds: tuple[float, float], binary: bool,
) -> list[LearnedError]:  # fmt: skip
    """The constant first; then what the user gave, what the rating model claims (0/1 ratings), and fits.

    `squared` are squared residuals of the labelled items x against predictions made without their own label.
    """
    M = float(np.dot(weights, squared) / weights.sum())
    candidates = [LearnedError("constant", M)]
    if x.uncertainty is not None:
        own = float(np.dot(weights, x.uncertainty) / weights.sum())
        if own > 0:
            candidates.append(LearnedError("given", M, scale=M / own))
    if binary:
        candidates.append(LearnedError("claimed", M, bounds=bounds))
    basis = ErrorBasis.of(f_seen, seen, bounds)
    path = ridge_path(basis(f, x), squared, weights, intercept=True)
    return [*candidates, *(LearnedError("fitted", M, basis=basis, path=path, penalty=k) for k in _TRIED)]
