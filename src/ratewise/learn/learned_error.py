"""Candidates for u(x) = E[(H − f)²|x], learned from the labels: from a constant to a regression on everything known.

All of them are compared by what a policy made from them would cost on the labels (`design/options.py`), so that one
that tells nothing is not used.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ratewise.core.checks import Floats
from ratewise.learn.rating_model import Covariates, Standard
from ratewise.learn.ridge import Line, RidgePath, ridge_path

Kind = Literal["constant", "claimed", "given", "fitted"]

_BENDS = (0.2, 0.4, 0.6, 0.8)
_BEND_SIZE = 0.5
_UNSURE = 5.0  # columns of f tell items apart if they vary between them by this many times what one label moves them
_LEAST_SHARE = {"claimed": 0.02, "given": 0.02, "fitted": 0.05}  # of the mean error: nothing is known to be perfect
_TRIED = (5, 3, 7)  # penalties tried, by number; the middle one first


@dataclass(frozen=True, slots=True, eq=False)
class ErrorBasis:
    """Columns for the regression of squared residuals: f, its bends, f(1−f) on the scale's range, and all the rest."""

    bends: Floats
    bounds: tuple[float, float]
    standard: Standard

    @classmethod
    def of(
        cls, f: Floats, x: Covariates, bounds: tuple[float, float], twice: tuple[Floats, Floats] | None = None
    ) -> "ErrorBasis":
        """Scaled by the items seen; `twice` is f of some items by two fits, to see how sure f is."""
        bends = np.unique(np.quantile(f, _BENDS))
        X = _columns(f, x, bends, bounds)
        size, unsure = np.full(X.shape[1], _BEND_SIZE), np.zeros(X.shape[1])
        size[:2] = 1.0
        if twice is not None:
            one, other = (np.concatenate(_parts_of_f(each, bends, bounds), axis=1) for each in twice)
            unsure[: one.shape[1]] = _UNSURE * np.sqrt(np.mean((one - other) ** 2, axis=0))
        return cls(bends, bounds, Standard.of(X, size, unsure))

    def __call__(self, f: Floats, x: Covariates) -> Floats:
        """The columns of any items."""
        return self.standard(_columns(f, x, self.bends, self.bounds))

    def along(self, line: Line, f: Floats, x: Covariates) -> Floats:
        """A line in these columns, of any items."""
        return self.standard.undone(line)(_parts(f, x, self.bends, self.bounds))


def _columns(f: Floats, x: Covariates, bends: Floats, bounds: tuple[float, float]) -> Floats:
    return np.concatenate(_parts(f, x, bends, bounds), axis=1)


def _parts(f: Floats, x: Covariates, bends: Floats, bounds: tuple[float, float]) -> list[Floats]:
    parts = _parts_of_f(f, bends, bounds)
    if x.uncertainty is not None:
        parts.append(x.uncertainty[:, None])
    if x.features is not None:
        parts.append(x.features)
    return parts


def _parts_of_f(f: Floats, bends: Floats, bounds: tuple[float, float]) -> list[Floats]:
    low, high = bounds
    return [((f - low) * (high - f))[:, None], f[:, None], np.maximum(f[:, None] - bends, 0.0)]


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
        return self._kept(self.basis.along(self.path.line(self.penalty), f, x))

    def unseen(self, f: Floats, x: Covariates, squared: Floats) -> Floats:
        """u of the labelled items by a fit to the others, to judge u by; f is from the other labels, too."""
        if self.kind != "fitted":
            return self.predict(f, x)
        assert self.path is not None
        return self._kept(squared - self.path.unseen[:, self.penalty])

    def own(self, f: Floats, x: Covariates) -> Floats:
        """u of the labelled items, each from nothing but the other labels, for its own weight."""
        if self.kind != "fitted":
            return self.predict(f, x)
        assert self.path is not None
        assert self.path.elsewhere is not None
        return self._kept(self.path.elsewhere[:, self.penalty])

    def _kept(self, u: Floats) -> Floats:
        return np.maximum(u, _LEAST_SHARE[self.kind] * self.mean)


def error_candidates(
    f_seen: Floats, seen: Covariates, f: Floats, f_unseen: Floats, x: Covariates, squared: Floats, weights: Floats,
    *, bounds: tuple[float, float], binary: bool,
) -> list[LearnedError]:  # fmt: skip
    """The constant first; then what the user gave, what the rating model claims (0/1 ratings), and fits.

    `f_unseen` are predictions of the labelled items x made without their own label, `squared` the squared residuals,
    `f` predictions by all labels. A label's own weight goes by u at f_unseen: were f made with it, it would move its
    own f, and by that its own u. Fits go by the mean of f and f_unseen. A label pulls f towards itself, and away from
    itself where it is left out, so either alone tells something of it, which shows where f hardly varies; to first
    order the mean tells nothing.
    """
    M = float(np.dot(weights, squared) / weights.sum())
    candidates = [LearnedError("constant", M)]
    if x.uncertainty is not None:
        own = float(np.dot(weights, x.uncertainty) / weights.sum())
        if own > 0:
            candidates.append(LearnedError("given", M, scale=M / own))
    if binary:
        candidates.append(LearnedError("claimed", M, bounds=bounds))
    basis = ErrorBasis.of(f_seen, seen, bounds, (f, f_unseen))
    path = ridge_path(
        basis(0.5 * (f + f_unseen), x), squared, weights, intercept=True, elsewhere=basis(f_unseen, x)
    )  # fmt: skip
    return [*candidates, *(LearnedError("fitted", M, basis=basis, path=path, penalty=k) for k in _TRIED)]
