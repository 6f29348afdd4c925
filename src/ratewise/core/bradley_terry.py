"""Bradley–Terry: P(a beats b) = σ(r_a − r_b), a logistic regression on rows e_a − e_b; a tie counts as half a win.

Ratings are known up to a constant, so the last model's is taken as 0 in the fit and all are centred afterwards.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special
from scipy.sparse import csgraph

from ratewise.core.checks import Floats
from ratewise.core.clusters import Codes
from ratewise.core.intervals import largest_differences, normal_draws
from ratewise.core.m_estimation import LOGISTIC, MFit, NoFitError, degrees_of_freedom, fit_m_estimator
from ratewise.core.ratings import Mask, Ratings

_OUT_OF_REACH = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Which two models each vote compares, as numbers from 0 to below `models`."""

    a: NDArray[np.intp]
    b: NDArray[np.intp]
    models: int

    def design(self) -> sparse.csr_array:
        """Rows e_a − e_b without the last model's column, which is the reference."""
        n = self.a.size
        index = np.stack([self.a, self.b], axis=1).ravel()
        values = np.tile([1.0, -1.0], n)
        keep = index < self.models - 1
        counts = np.concatenate([[0], np.cumsum(keep.reshape(n, 2).sum(axis=1))])
        return sparse.csr_array((values[keep], index[keep], counts), shape=(n, self.models - 1))

    def rows(self, use: Mask) -> "Pairs":
        return Pairs(self.a[use], self.b[use], self.models)

    def among(self, models: Mask) -> tuple[Mask, "Pairs"]:
        """Which votes are between these models, and those votes with the models numbered anew."""
        use, number = models[self.a] & models[self.b], np.cumsum(models) - 1
        return use, Pairs(number[self.a[use]], number[self.b[use]], int(models.sum()))

    def counts(self, weights: Floats | None = None) -> Floats:
        """Votes of each model, or the sum of their weights."""
        both = np.bincount(self.a, weights, self.models) + np.bincount(self.b, weights, self.models)
        return both.astype(np.float64)


def centring(models: int) -> Floats:
    """Ratings that sum to 0 from a fit with the last model at 0: models × (models − 1)."""
    return np.eye(models)[:, :-1] - 1.0 / models


def largest_group(pairs: Pairs, models: Mask) -> Mask:
    """The largest group of these models that votes connect; ratings of different groups cannot be compared."""
    votes = pairs.rows(models[pairs.a] & models[pairs.b])
    ones = np.ones(votes.a.size)
    graph = sparse.csr_array((ones, (votes.a, votes.b)), shape=(pairs.models, pairs.models))
    group = csgraph.connected_components(graph, directed=False)[1]
    return np.asarray(models & (group == np.argmax(np.bincount(group, weights=models))))


@dataclass(frozen=True, slots=True, eq=False)
class Standing:
    """Centred ratings (natural log-odds) of the models that have one, and their covariance."""

    fit: MFit
    ratings: Floats
    covariance: Floats
    degrees_of_freedom: Floats  # of each rating's standard error


def fit_bradley_terry(
    pairs: Pairs, votes: Ratings, *, power: float | None, clusters: Codes | None, pool_size: float
) -> Standing:
    """Ratings from rectified votes; raises `NoFitError` whose `direction` is by model where some run away."""
    A = centring(pairs.models)
    X = pairs.design()
    try:
        fit = fit_m_estimator(X, LOGISTIC, votes, power=power, clusters=clusters, pool_size=pool_size, contrasts=A)
    except NoFitError as error:
        raise NoFitError(str(error), A @ error.direction) from None
    df = degrees_of_freedom(fit, X, contrasts=A, clusters=clusters, pool_size=pool_size)
    return Standing(fit, A @ fit.coefficients, A @ fit.covariance @ A.T, df)


def boundless(pairs: Pairs, outcome: Floats, share: Floats) -> tuple[Mask, Mask]:
    """Models that won all and that lost all: by the (rectified) outcome for a, out of `share` of a vote each.

    Their ratings have no end. With rectified votes a total beyond what winning everything would give counts as well.
    """
    won = np.bincount(pairs.a, outcome, pairs.models) + np.bincount(pairs.b, share - outcome, pairs.models)
    played = pairs.counts(share)
    reach = _OUT_OF_REACH * np.maximum(played, 1.0)
    some = pairs.counts() > 0
    return some & (won >= played - reach), some & (won <= reach)


@dataclass(frozen=True, slots=True, eq=False)
class Ranks:
    """1 is best; `low` and `high` hold for all models at once."""

    rank: NDArray[np.intp]
    low: NDArray[np.intp]
    high: NDArray[np.intp]


def ranks(ratings: Floats, covariance: Floats, level: float, *, stretch: float = 1.0, seed: int = 0) -> Ranks:
    """Ranks with intervals that hold at once: from one test of all differences (largest |t| over pairs).

    A model's best rank is one more than the number that are surely better, its worst the number that are not surely
    worse. `stretch` widens the normal quantile for few labels.
    """
    K = ratings.size
    rank = np.empty(K, dtype=np.intp)
    rank[np.argsort(-ratings, kind="stable")] = np.arange(1, K + 1)
    if K < 2:
        return Ranks(rank, rank, rank)
    c = stretch * float(np.quantile(largest_differences(covariance, seed=seed), level))
    gap = ratings[:, None] - ratings[None, :]
    d = np.diag(covariance)
    sd = np.sqrt(np.maximum(d[:, None] + d[None, :] - 2 * covariance, 0.0))
    better = gap > c * sd  # row surely better than column
    np.fill_diagonal(better, False)
    return Ranks(rank, np.asarray(1 + better.sum(axis=0), np.intp), np.asarray(K - better.sum(axis=1), np.intp))


def win_probabilities(ratings: Floats) -> Floats:
    """P(row beats column), ties counted half."""
    return np.asarray(special.expit(ratings[:, None] - ratings[None, :]))


def best_shares(ratings: Floats, covariance: Floats, *, seed: int = 0) -> Floats:
    """How likely each model is the best one, by the estimate's normal error."""
    Z = ratings + normal_draws(covariance, seed=seed)
    top = Z.max(axis=1, keepdims=True) - 1e-12 <= Z
    return np.asarray((top / top.sum(axis=1, keepdims=True)).mean(axis=0))
