"""f(x) ≈ E[H|x], learned from the labels: the weak rating calibrated, with any further columns as features.

Ridge regression on the weak rating, a few bends of it, and the features. It starts either from the weak rating itself
or from the mean; the start and the penalty are those of least leave-one-out error, so that a weak rating that is right
stays as it is and one that is useless is left out. With texts, the score, the features and the columns made from texts
are groups with a penalty each; the texts are left out unless they predict labels that they have not seen. So are the
predictions of a model that the campaign trains on its own labels, each made without the labels of its fold.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ratewise.core.checks import Floats
from ratewise.core.clusters import Codes, cluster_folds
from ratewise.core.result import JsonRecord, fields_in_json, record_of
from ratewise.learn.covariates import Covariates, RefitColumns
from ratewise.learn.ridge import PENALTIES, GroupFit, Line, TextFactor, fit_groups, ridge_path
from ratewise.learn.score_prior import along

_BENDS = (0.1, 0.3, 0.5, 0.7)  # quantiles of the weak rating at which the curve may turn
_BEND_SIZE = 0.25  # bends are penalised sixteen times as much as the straight line
_CLIP = 1e-3  # probabilities are kept this far from 0 and 1 before the logit
_MOST_SCALED = 5000  # items that columns are scaled by: more would not move the scale
_NOTHING = 1e-3  # a column that varies less than this share of its size says nothing
_SURE = 1.5  # standard errors by which a fit with refits must beat the one without them,
_SURE_OF_TEXT = 2.0  # and a fit with texts: many penalties are tried
_FOLDS = 10  # of clusters, where text is learned from


@dataclass(frozen=True, slots=True, eq=False)
class Standard(JsonRecord):
    """Blocks of columns side by side, centred and scaled to unit variance as on the items seen.

    Columns that do not vary become 0.
    """

    centre: Floats
    scale: Floats

    @classmethod
    def of(cls, parts: Sequence[Floats], size: Floats | float = 1.0, unsure: Floats | float = 0.0) -> "Standard":
        """The scale of the items seen; `size` is the standard deviation that each column gets.

        A column that varies less than it is `unsure` says nothing either.
        """
        X = np.concatenate(parts, axis=1)
        centre, spread = X.mean(axis=0), X.std(axis=0)
        known = (spread > _NOTHING * np.abs(X).max(axis=0)) & (spread >= unsure)
        return cls(centre, np.where(known, size / np.where(known, spread, 1.0), 0.0))

    def __call__(self, parts: Sequence[Floats]) -> Floats:
        return (np.concatenate(parts, axis=1) - self.centre) * self.scale

    def along(self, line: Line, parts: Sequence[Floats]) -> Floats:
        """Values of a line on these columns."""
        return Line(self.centre, line.offset, line.coefficients * self.scale)(parts)


@dataclass(frozen=True, slots=True, eq=False)
class Basis(JsonRecord):
    """Columns of the regression: weak rating, its bends, its logit if a probability, uncertainty, features, refit."""

    bends: Floats
    logit: bool
    columns: Standard
    refit: RefitColumns | None = None

    @classmethod
    def of(cls, x: Covariates) -> "Basis":
        """Scaled by the items seen; no label is looked at."""
        x = x.some(_MOST_SCALED)
        bends, refit = np.unique(np.quantile(x.weak, _BENDS)), RefitColumns.latest(x.refits)
        logit = bool(x.weak.min() >= 0 and x.weak.max() <= 1)
        parts = _parts(x, bends, logit, refit)
        bent = range(1, 2 + logit)
        sizes = [np.full(part.shape[1], _BEND_SIZE if k in bent else 1.0) for k, part in enumerate(parts)]
        return cls(bends, logit, Standard.of(parts, np.concatenate(sizes)), refit)

    @property
    def without_refit(self) -> "Basis":
        if self.refit is None:
            return self
        few = slice(0, -self.refit.count)
        return Basis(self.bends, self.logit, Standard(self.columns.centre[few], self.columns.scale[few]))

    @property
    def has_weak(self) -> bool:
        return bool(self.columns.scale[0] > 0)

    def __call__(self, x: Covariates) -> Floats:
        return self.columns(_parts(x, self.bends, self.logit, self.refit))

    def along(self, line: Line, x: Covariates) -> Floats:
        return self.columns.along(line, _parts(x, self.bends, self.logit, self.refit))


def _parts(x: Covariates, bends: Floats, logit: bool, refit: RefitColumns | None) -> list[Floats]:
    g = x.weak[:, None]
    parts = [g, np.maximum(g - bends, 0.0)]
    if logit:
        parts.append(special.logit(np.clip(g, _CLIP, 1 - _CLIP)))
    if x.uncertainty is not None:  # how far the rating is off may tell which way: G + (1 − 2G) u for a flipped 0 or 1
        parts += [x.uncertainty[:, None], x.uncertainty[:, None] * g]
    if x.features is not None:
        parts.append(x.features)
    if refit is not None:
        parts.append(refit.of(x.refits))
    return parts


@dataclass(frozen=True, slots=True, eq=False)
class RatingModel(JsonRecord):
    """f(x), kept within the strong ratings' range."""

    basis: Basis
    line: Line
    from_weak: bool  # starts from the weak rating; else from the mean
    bounds: tuple[float, float]
    text: Floats | None = None  # coefficients of the columns made from texts; None: they say nothing
    penalty: int = field(default=0, repr=False)
    curve: Floats | None = None  # f by the score alone, with a prior (`score_prior.py`), in the place of all else

    @classmethod
    def by_score(cls, curve: Floats) -> "RatingModel":
        """The model of few labels and a prior."""
        nothing = np.zeros(1)
        basis = Basis(np.empty(0), False, Standard(nothing, nothing))
        return cls(basis, Line(nothing, 0.0, nothing), False, (0.0, 1.0), curve=curve)

    def to_dict(self) -> dict[str, Any]:
        """With the columns of the basis among its own."""
        out = fields_in_json(self)
        return {name: value for name, value in (out.pop("basis") | out).items() if value is not None}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "RatingModel":
        return record_of(cls, {**data, "basis": data})

    def predict(self, x: Covariates) -> Floats:
        if self.curve is not None:
            return along(self.curve, x.weak)
        line = self.line
        said = 0.0 if self.text is None or x.text is None else x.text.times(self.text)
        if not self.from_weak:
            return np.clip(self.basis.along(line, x) + said, *self.bounds)
        line = Line(line.centre[1:], line.intercept + float(line.coefficients[0]), line.coefficients[1:])
        return np.clip(x.weak + self.basis.along(line, x) + said, *self.bounds)


def fit_rating(
    basis: Basis, x: Covariates, strong: Floats, weights: Floats, *, bounds: tuple[float, float],
    factor: TextFactor | None = None,
) -> tuple[RatingModel, Floats]:  # fmt: skip
    """The model, and its prediction of every label from the others. `factor` is that of the texts, if it is known.

    Limiting cases: a weak rating that is already right stays (the largest penalty); one label gives that label; texts
    and refits that say nothing give the model without them. A refit has read the texts, so it takes their place.
    """
    plain = basis.without_refit
    model, unseen, _ = min(_starts(plain, x, strong, weights, bounds), key=lambda start: start[2])
    best = unseen
    if x.text is not None:
        made = TextFactor.of(x.text.dense(), weights) if factor is None else factor
        from_weak_fit, fit = _with_text(plain(x), x, strong, made, has_weak=plain.has_weak)
        if _helps(unseen, fit.unseen, made.root**2, sure=_SURE_OF_TEXT):
            model = RatingModel(plain, fit.line, from_weak_fit, bounds, fit.many)
            best = fit.unseen
    if basis.refit is not None:
        refit, left, _ = min(_starts(basis, x, strong, weights, bounds), key=lambda start: start[2])
        better = _helps(unseen, left, weights / weights.mean(), sure=_SURE) and weights @ left**2 < weights @ best**2
        if better and _points_up(basis.refit.of(x.refits)[:, 0], unseen, weights):
            model, best = refit, left
    return model, np.clip(strong - best, *_others_bounds(strong, bounds))


def _starts(
    basis: Basis, x: Covariates, strong: Floats, weights: Floats, bounds: tuple[float, float]
) -> list[tuple[RatingModel, Floats, float]]:
    """Fits from the weak rating, if it tells items apart, and from the mean, each with what it leaves and its error."""
    X = basis(x)
    paths = [(False, ridge_path(X, strong, weights, intercept=True))]
    if basis.has_weak:
        paths.insert(0, (True, ridge_path(_with_ones(X), strong - x.weak, weights, intercept=False)))
    return [
        (
            RatingModel(basis, path.line(path.best), from_weak, bounds, penalty=path.best),
            path.unseen[:, path.best],
            float(path.risk[path.best]),
        )
        for from_weak, path in paths
    ]


def _share_of_weak(from_weak: float, from_mean: float, strong: Floats) -> float:
    """How far the labels, as likely as each start's error makes them, speak for the one from the weak rating.

    With few labels either is ahead by chance, most of all where 0/1 labels agree: the mean then leaves no error at all.
    To take the one ahead would move the estimate towards what the labels happened to be, so one mistake of half the
    scale is imagined, and both count as far as they are likely.
    """
    n = strong.size
    error = min(from_weak, from_mean)
    if rating_bounds(strong)[1]:
        error = (n * error + 0.25) / (n + 1)
    ahead = from_mean - from_weak
    return float(special.expit(n * ahead / (2 * error))) if error > 0 else float(ahead >= 0)


def _with_text(
    X: Floats, x: Covariates, strong: Floats, factor: TextFactor, *, has_weak: bool
) -> tuple[bool, GroupFit]:
    """The better of the fits from the weak rating and from the mean, and whether it is the first."""
    features = 0 if x.features is None else x.features.shape[1]
    from_mean = fit_groups(X, strong, factor, intercept=True, features=features)
    if not has_weak:
        return False, from_mean
    from_weak = fit_groups(_with_ones(X), strong - x.weak, factor, intercept=False, features=features)
    return (True, from_weak) if from_weak.risk <= from_mean.risk else (False, from_mean)


def _helps(without: Floats, with_more: Floats, W: Floats, *, sure: float) -> bool:
    """Whether labels are better predicted with more columns, by more than chance: what says nothing costs nothing."""
    gain = W * (without**2 - with_more**2)
    return bool(gain.sum() > sure * np.sqrt((gain**2).sum()))


def _points_up(said: Floats, unseen: Floats, W: Floats) -> bool:
    """Whether labels are above their prediction where the refit says more.

    A model that has not seen a fold is low where that fold's labels are high by chance. Read the wrong way round, that
    tells labels to their own predictions.
    """
    return bool((W * (said - np.average(said, weights=W))) @ unseen > 0)


def _others_bounds(strong: Floats, bounds: tuple[float, float]) -> tuple[Floats, Floats]:
    """The range of all other labels, for each: a label that sets an end of the range may not limit its own prediction.

    Where it did, the largest label of a skewed rating could never lie below its own prediction, which is a bias.
    """
    low, high = np.full(strong.size, bounds[0]), np.full(strong.size, bounds[1])
    if strong.size > 2 and not is_binary(strong):
        order = np.sort(strong)
        low[strong <= bounds[0]] = max(order[1], bounds[0])
        high[strong >= bounds[1]] = min(order[-2], bounds[1])
    return low, high


def is_binary(ratings: Floats) -> bool:
    """Whether all ratings are 0 or 1."""
    return bool(np.all((ratings == 0) | (ratings == 1)))


def rating_bounds(strong: Floats) -> tuple[tuple[float, float], bool]:
    """The range of the strong ratings, and whether they are all 0 or 1."""
    binary = is_binary(strong)
    return ((0.0, 1.0) if binary else (float(strong.min()), float(strong.max()))), binary


def fitted_rating(x: Covariates, strong: Floats, weights: Floats) -> Floats:
    """f of all items, each labelled one (strong rating not NaN) from the other labels: cross-fitted.

    Where texts and refits say nothing it lies between the fits from either start, as far as labels speak for each.
    """
    use = ~np.isnan(strong)
    h = strong[use]
    basis, bounds = Basis.of(x), rating_bounds(h)[0]
    labels, W = x.rows(use), weights[use]
    if x.text is not None or x.refits is not None or not basis.has_weak:
        model, unseen = fit_rating(basis, labels, h, W, bounds=bounds)
        if model.text is not None or model.basis.refit is not None or not basis.has_weak:
            f = model.predict(x)
            f[use] = unseen
            return f
    (weak, left, error), (mean, left_too, other) = _starts(basis.without_refit, labels, h, W, bounds)
    share = _share_of_weak(error, other, h)
    f = share * weak.predict(x) + (1 - share) * mean.predict(x)
    f[use] = np.clip(h - share * left - (1 - share) * left_too, *_others_bounds(h, bounds))
    return f


def cluster_fitted_rating(x: Covariates, strong: Floats, weights: Floats, codes: Codes) -> Floats:
    """f of all items, each cluster's from the labels of the other clusters: cross-fitted, exactly.

    The penalties are those of least error on clusters left out, and the starts share as there. The weak rating stays as
    it is where fewer than two clusters have labels. Every item its own cluster gives `fitted_rating`.
    """
    use = ~np.isnan(strong)
    h = strong[use]
    if np.unique(codes[use]).size < 2:
        return x.weak.copy()
    if x.text is not None:
        return fold_fitted_rating(x, strong, weights, codes)
    X, W = Basis.of(x)(x), weights[use] * (h.size / weights[use].sum())
    ones = _with_ones(X)
    penalised = np.ones(ones.shape[1])
    from_weak = x.weak[:, None] + _left_out(ones, h - x.weak[use], W, use, codes, penalised)
    penalised[0] = 0.0
    from_mean = _left_out(ones, h, W, use, codes, penalised)
    risks = [W @ (h[:, None] - f[use]) ** 2 / h.size for f in (from_weak, from_mean)]
    share = _share_of_weak(float(risks[0].min()), float(risks[1].min()), h)
    best = share * from_weak[:, int(np.argmin(risks[0]))] + (1 - share) * from_mean[:, int(np.argmin(risks[1]))]
    bounds, binary = rating_bounds(h)
    return np.clip(best, *bounds) if binary else best  # a range that a cluster's own labels set may not limit them


def fold_fitted_rating(x: Covariates, strong: Floats, weights: Floats, codes: Codes) -> Floats:
    """f of all items, each fold of clusters from the labels of the other folds: texts have too many columns for sums.

    The range is that of 0/1 ratings or none, as in `cluster_fitted_rating`.
    """
    use, f, basis = ~np.isnan(strong), x.weak.copy(), Basis.of(x)
    bounds, binary = rating_bounds(strong[use])
    fold = cluster_folds(codes, _FOLDS, np.random.default_rng(0))
    for k in np.unique(fold):
        here, others = fold == k, use & (fold != k)
        if np.count_nonzero(others) > 1:
            ends = bounds if binary else (-np.inf, np.inf)
            model, _ = fit_rating(basis, x.rows(others), strong[others], weights[others], bounds=ends)
            f[here] = model.predict(x.rows(here))
    return f


def _left_out(X: Floats, y: Floats, W: Floats, use: NDArray[np.bool_], codes: Codes, penalised: Floats) -> Floats:
    """Ridge predictions of all items, items × penalties, each by the labels of other clusters than its own.

    The sums XᵀWX and XᵀWy without a cluster are those of all less its own: one small solve for every cluster that has
    labels. All others share the fit to all labels.
    """
    having, at = np.unique(codes[use], return_inverse=True)
    order = np.argsort(at, kind="stable")
    starts = np.searchsorted(at[order], np.arange(having.size))
    Z, wy = X[use][order], (W * y)[order]
    XX = np.add.reduceat(Z[:, :, None] * Z[:, None, :] * W[order, None, None], starts)
    Xy = np.add.reduceat(Z * wy[:, None], starts)
    A = np.concatenate([XX.sum(axis=0) - XX, XX.sum(axis=0)[None]])
    b = np.concatenate([Xy.sum(axis=0) - Xy, Xy.sum(axis=0)[None]])
    fit = np.full(int(codes.max()) + 1, having.size)
    fit[having] = np.arange(having.size)
    out = np.empty((X.shape[0], PENALTIES.size))
    for k, penalty in enumerate(PENALTIES):
        beta = np.linalg.solve(A + np.diag(penalty * penalised), b[:, :, None])[:, :, 0]
        out[:, k] = (X * beta[fit[codes]]).sum(axis=1)
    return out


def _with_ones(X: Floats) -> Floats:
    return np.concatenate([np.ones((X.shape[0], 1)), X], axis=1)
