"""Recalibrates the weak rating by the strong ones, for estimators of more than a mean."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from ratewise.core.checks import Floats
from ratewise.core.clusters import Codes, cluster_folds
from ratewise.core.ratings import Ratings
from ratewise.learn.features import codings, feature_matrix
from ratewise.learn.rating_model import Basis, Covariates, fit_rating, rating_bounds
from ratewise.questions.rated import RatedTable

WeakRating = Literal["as it is", "learned"]
_FEWEST_TO_LEARN = 20  # labels; with fewer the weak rating stays as it is
_FOLDS = 10  # of clusters


def with_learned_weak(
    drawn: RatedTable, *, features: Sequence[str], known: Floats | None
) -> tuple[Ratings, WeakRating]:
    """The weak rating recalibrated by the strong ones, each label by all the others; unchanged with few labels.

    `known` are columns to learn from besides the weak rating and the features: those of the regression itself. Clusters
    are left out whole. Only 0/1 ratings are kept within their range: the largest rating seen is no bound, and to cut
    others off at it would bias a fit, which hangs on large ratings most.
    """
    data, codes = drawn.items.ratings(), drawn.codes()
    if data.labels < _FEWEST_TO_LEARN or np.all(data.rates == 1):
        return data, "as it is"
    own = feature_matrix(drawn.table, codings(drawn.table, features))
    parts = [part for part in (known, None if own is None else own[drawn.rows]) if part is not None]
    x = Covariates(data.weak[:, 0], np.concatenate(parts, axis=1) if parts else None)
    f = _learned(x, data) if codes is None else _learned_by_cluster(x, data, codes)
    return Ratings(f[:, None], data.strong, data.rates, data.rated), "learned"


def _learned(x: Covariates, data: Ratings) -> Floats:
    """f of all items, each labelled one from the other labels."""
    use = data.labelled
    h, weights = data.strong[use], 1.0 / data.rates[use, 0]
    model, unseen = fit_rating(Basis.of(x), x.rows(use), h, weights, bounds=_bounds(h))
    f = model.predict(x)
    f[use] = unseen
    return f


def _learned_by_cluster(x: Covariates, data: Ratings, codes: Codes) -> Floats:
    """f of all items, each fold of clusters from the labels of the other folds."""
    basis, f = Basis.of(x), x.weak.copy()
    fold = cluster_folds(codes, _FOLDS, np.random.default_rng(0))
    for k in np.unique(fold):
        use = data.labelled & (fold != k)
        if np.count_nonzero(use) > 1:
            h, weights = data.strong[use], 1.0 / data.rates[use, 0]
            model, _ = fit_rating(basis, x.rows(use), h, weights, bounds=_bounds(data.strong[data.labelled]))
            f[fold == k] = model.predict(x.rows(fold == k))
    return f


def _bounds(strong: Floats) -> tuple[float, float]:
    bounds, binary = rating_bounds(strong)
    return bounds if binary else (-np.inf, np.inf)
