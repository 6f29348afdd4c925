"""Models of u(x) = E[(H−G)²|x]: from g(1−g), from a column, or fitted to squared residuals."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from ratewise.core.checks import Floats, as_floats, choice, finite
from ratewise.core.result import JsonRecord, Result, fields_in_json, record_of
from ratewise.errors import InputError
from ratewise.learn.covariates import Covariates
from ratewise.learn.rating_model import Standard, is_binary
from ratewise.learn.ridge import Line, RidgePath, ridge_path

Source = Literal["binary", "column", "fitted"]
SOURCES: tuple[str, ...] = get_args(Source)

DEFAULT_FLOOR_SHARE = 0.1
"""Default floor on a rate, as a share of the mean rate.

Like a defensive mixture in importance sampling: a tenth of the labels is spent as if nothing were known about the
items, so that however wrong u is, the draw never adds more than ten times the variance a uniform draw of the same cost
would (docs/statistics.md, the floor). It costs at most a tenth of the labels; without it a confident mistake costs
everything: factors of 20 to 60 in squared error were measured on real judges.
"""

_LABELS_PER_BIN = 25
_MOST_BINS = 20
_LEAST_OF_MEAN = 0.05  # a bin's error is never taken below this share of the mean: no bin is known to be perfect


@dataclass(frozen=True, slots=True, repr=False)
class ErrorModel(JsonRecord, Result):
    """u(x) as a function of one column: the weak rating (binary, fitted) or the user's own column, times a scale."""

    source: Source
    scale: float = 1.0
    knots: tuple[float, ...] = ()
    values: tuple[float, ...] = ()

    def predict(self, column: ArrayLike) -> Floats:
        """u for each item, at least 0."""
        x = as_floats(column, name="column")
        if self.source == "fitted":
            return np.interp(x, self.knots, self.values)
        u = x * (1 - x) if self.source == "binary" else x
        return np.maximum(self.scale * u, 0.0)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "ErrorModel":
        """The model that `to_dict` gave."""
        choice(data["source"], SOURCES, name="error model")
        return record_of(cls, data)


def error_from_probability(weak: ArrayLike, strong: ArrayLike) -> ErrorModel:
    """g(1−g), right for a calibrated probability of a 0/1 rating; refused for anything else."""
    g, h = finite(weak, name="weak"), finite(strong, name="strong")
    if not is_probability_of_binary(g, h):
        raise InputError("g(1−g) is the error of a probability of a 0/1 rating; fit the error or give a column instead")
    return ErrorModel("binary")


def error_from_column(column: ArrayLike, residual: ArrayLike) -> ErrorModel:
    """The user's own uncertainty, scaled so that its mean over the labelled items is the mean squared residual."""
    u = finite(column, name="uncertainty", minimum=0)
    r2 = finite(residual, name="residual") ** 2
    if not u.mean() > 0:
        raise InputError("the uncertainty column is 0 on every labelled item; it must be above 0 somewhere")
    return ErrorModel("column", scale=float(r2.mean() / u.mean()))


def fit_error(weak: ArrayLike, residual: ArrayLike) -> ErrorModel:
    """Squared residuals averaged in bins of the weak rating, shrunk toward their mean as far as they may be noise.

    Limiting cases: fewer than two bins' worth of labels give a constant; a constant weak rating too.
    """
    g, r2 = finite(weak, name="weak"), finite(residual, name="residual") ** 2
    cell = _bins(g, min(_MOST_BINS, max(1, g.size // _LABELS_PER_BIN)))
    count = np.bincount(cell)
    used = count > 0
    mean = np.bincount(cell, weights=r2)[used] / count[used]
    centre = np.bincount(cell, weights=g)[used] / count[used]
    values = np.maximum(_shrunk(mean, count[used], r2, cell), _LEAST_OF_MEAN * r2.mean())
    return ErrorModel("fitted", knots=tuple(centre.tolist()), values=tuple(values.tolist()))


def _bins(g: Floats, most: int) -> "np.ndarray[Any, np.dtype[np.intp]]":
    """A bin for each value where there are few of them, else bins of about as many labels each."""
    values = np.unique(g)
    if values.size <= most:
        return np.searchsorted(values, g)
    edges = np.unique(np.quantile(g, np.linspace(0, 1, 1 + most)))
    return np.clip(np.searchsorted(edges, g, side="right") - 1, 0, max(edges.size - 2, 0))


def is_probability_of_binary(weak: Floats, strong: Floats) -> bool:
    """Strong ratings 0 or 1, weak ratings in [0, 1] and not themselves just 0 and 1."""
    return is_binary(strong) and bool(weak.min() >= 0 and weak.max() <= 1) and not is_binary(weak)


def _shrunk(mean: Floats, count: "np.ndarray[Any, np.dtype[np.int64]]", r2: Floats, cell: Any) -> Floats:
    """Empirical Bayes: bin means pulled to the overall mean by noise / (noise + true spread between bins)."""
    overall = float(r2.mean())
    if mean.size < 2:
        return np.full(mean.size, overall)
    within = float(np.bincount(cell, weights=(r2 - overall) ** 2).sum() / r2.size)
    noise = within / count
    between = max(float(np.average((mean - overall) ** 2 - noise, weights=count)), 0.0)
    keep = between / (between + noise) if between > 0 else np.zeros(mean.size)
    return np.asarray(overall + keep * (mean - overall))


ErrorKind = Literal["constant", "claimed", "given", "fitted"]

_BENDS = (0.2, 0.4, 0.6, 0.8)
_BEND_SIZE = 0.5
_UNSURE = 5.0  # columns of f tell items apart if they vary between them by this many times what one label moves them
_LEAST_SHARE = {"claimed": 0.02, "given": 0.02, "fitted": 0.05}  # of the mean error: nothing is known to be perfect
_TRIED = (5, 3, 7)  # penalties tried, by number; the middle one first


@dataclass(frozen=True, slots=True, eq=False)
class ErrorBasis(JsonRecord):
    """Columns for the regression of squared residuals: f, its bends, f(1−f) on the scale's range, and all the rest."""

    bends: Floats
    bounds: tuple[float, float]
    columns: Standard
    line: Line | None = None  # of the regression, once it is fitted

    @classmethod
    def of(
        cls, f: Floats, x: Covariates, bounds: tuple[float, float], twice: tuple[Floats, Floats] | None = None
    ) -> "ErrorBasis":
        """Scaled by the items seen; `twice` is f of some items by two fits, to see how sure f is."""
        bends = np.unique(np.quantile(f, _BENDS))
        parts = _parts(f, x, bends, bounds)
        size = np.full(sum(part.shape[1] for part in parts), _BEND_SIZE)
        size[:2], unsure = 1.0, np.zeros(size.size)
        if twice is not None:
            one, other = (np.concatenate(_parts_of_f(each, bends, bounds), axis=1) for each in twice)
            unsure[: one.shape[1]] = _UNSURE * np.sqrt(np.mean((one - other) ** 2, axis=0))
        return cls(bends, bounds, Standard.of(parts, size, unsure))

    def __call__(self, f: Floats, x: Covariates) -> Floats:
        return self.columns(_parts(f, x, self.bends, self.bounds))

    def along(self, f: Floats, x: Covariates) -> Floats:
        assert self.line is not None
        return self.columns.along(self.line, _parts(f, x, self.bends, self.bounds))


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
class LearnedError(JsonRecord):
    """One candidate for u(x), never below a small share of the mean error."""

    kind: ErrorKind
    mean: float
    scale: float = 1.0
    bounds: tuple[float, float] = (0.0, 1.0)
    fitted: ErrorBasis | None = None
    path: RidgePath | None = field(default=None, repr=False)  # that a fit was chosen from: what labels say of it
    penalty: int = field(default=0, repr=False)

    @classmethod
    def fit(cls, mean: float, basis: ErrorBasis, path: RidgePath, penalty: int) -> "LearnedError":
        """The regression with this penalty, its number in the path."""
        return cls("fitted", mean, fitted=replace(basis, line=path.line(penalty)), path=path, penalty=penalty)

    def to_dict(self) -> dict[str, Any]:
        return {name: value for name, value in fields_in_json(self).items() if value is not None}

    def predict(self, f: Floats, x: Covariates) -> Floats:
        if self.kind == "constant":
            return np.full(f.size, self.mean)
        if self.kind == "claimed":
            low, high = self.bounds
            return self._kept((f - low) * (high - f))
        if self.kind == "given":
            assert x.uncertainty is not None
            return self._kept(self.scale * x.uncertainty)
        assert self.fitted is not None
        return self._kept(self.fitted.along(f, x))

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
    return [*candidates, *(LearnedError.fit(M, basis, path, k) for k in _TRIED)]
