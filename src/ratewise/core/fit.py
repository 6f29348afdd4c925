"""M-estimators from few strong ratings: loss gradient and curvature in, estimate and sandwich out (METHODS section 7).

The estimate solves mean_t x_t r_t = 0 (`newton.py`); its covariance is W⁻¹ Var(mean x r) W⁻¹, W = mean x xᵀ ψ'.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ratewise.core.checks import Floats
from ratewise.core.clusters import Codes, cluster_sums, sum_variance
from ratewise.core.newton import Design, Loss, NoFitError, Terms, gram, solve
from ratewise.core.power import tuned_power
from ratewise.core.ratings import Ratings
from ratewise.core.result import shown

__all__ = ["MFit", "NoFitError", "degrees_of_freedom", "fit_m_estimator", "influence"]

_AT_ONCE = 1 << 22  # numbers held at a time


@shown
@dataclass(frozen=True, slots=True, eq=False)
class MFit:
    """θ̂ with its covariance, and what they are made of."""

    coefficients: Floats
    covariance: Floats
    curvature: Floats  # W
    predictor: Floats  # η of every item
    scores: Floats  # r of every item: the estimate solves mean(x r) = 0
    drawn: Floats  # of every item, what the draw adds to the variance of the sum of r
    odds: Floats  # of every item with a label, (1/π − 1)/π: what that would be for residuals of 1
    items: int
    labels: int
    effective_labels: float  # (Σ 1/π)² / Σ 1/π² over the labels
    power: float = 1.0

    @property
    def standard_errors(self) -> Floats:
        """Standard errors of the coefficients."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))

    @property
    def degrees_of_freedom(self) -> float:
        """Effective labels less coefficients, at least one: a rough figure for all coefficients together."""
        return max(self.effective_labels - self.coefficients.size, 1.0)


def fit_m_estimator(
    X: Design,
    loss: Loss,
    data: Ratings,
    *,
    power: float | None = 1.0,
    clusters: Codes | None = None,
    pool_size: float = np.inf,
    contrasts: Floats | None = None,
) -> MFit:
    """The estimate and its sandwich; columns of X must be linearly independent.

    `power` is λ, `None` to tune it to the least total variance of `contrasts` @ θ. `pool_size` is infinite for the
    population the items come from, else the number of items whose own θ is wanted.

    Limiting cases: rates of 1 give the plain fit with the HC1 sandwich, whatever the weak ratings; a column of ones
    with the linear loss gives the mean.
    """
    lam = tuned_power(X, loss, data, contrasts) if power is None else power
    terms = Terms.of(data, power=lam)
    theta = solve(X, loss, terms)
    eta = np.asarray(X @ theta)
    scores = terms.sum(lambda y: loss.gradient(eta, y))
    drawn = _drawn(loss, data, eta, lam)
    W = gram(X, terms.total * loss.curvature(eta)) / data.items
    meat = _meat(X, scores, drawn, clusters, pool_size, _taken(data, X.shape[1], lam))
    inverse = np.linalg.inv(W)
    weight = 1.0 / data.rates[data.labelled, -1]
    return MFit(
        coefficients=theta,
        covariance=inverse @ meat @ inverse.T,
        curvature=W,
        predictor=eta,
        scores=scores,
        drawn=drawn,
        odds=np.where(data.labelled, (1.0 / data.rates[:, -1] - 1.0) / data.rates[:, -1], 0.0),
        items=data.items,
        labels=data.labels,
        effective_labels=float(weight.sum() ** 2 / np.dot(weight, weight)) if weight.size else 0.0,
        power=lam,
    )


def influence(X: Design, curvature: Floats, contrasts: Floats | None = None) -> Floats:
    """‖A W⁻¹ x‖² of every item: how much its rating moves the contrasts A θ (all coefficients if absent)."""
    right = _moves(curvature, contrasts)
    out = np.empty(X.shape[0])
    step = max(1, _AT_ONCE // max(right.shape[1], 1))
    for start in range(0, out.size, step):
        moved = np.asarray(X[start : start + step] @ right)
        out[start : start + step] = (moved**2).sum(axis=1)
    return out


def _moves(curvature: Floats, contrasts: Floats | None) -> Floats:
    """W⁻¹ Aᵀ: x times it is how far an item's score moves each contrast."""
    inverse = np.linalg.inv(curvature).T
    return np.asarray(inverse if contrasts is None else inverse @ contrasts.T, dtype=np.float64)


# Variance


def _drawn(loss: Loss, data: Ratings, eta: Floats, power: float) -> Floats:
    """Σ_k (ψ(H) − λ ψ(R_{k−1}))² (1/q_k − 1/q_{k−1}) ξ/q_K of every item: unbiased for what the draw adds."""
    use = data.labelled
    strong = loss.gradient(eta[use], data.strong[use])
    steps = [strong - power * loss.gradient(eta[use], data.weak[use, k]) for k in range(data.weak.shape[1])]
    out = np.zeros(data.items)
    out[use] = (np.stack(steps, axis=1) ** 2 * data.step_odds()[use]).sum(axis=1) / data.rates[use, -1]
    return out


def _taken(data: Ratings, d: int, power: float) -> float:
    """Factor on squared scores for fitting d coefficients: T/(T−d), and the nearer λ is to 0 the more n/(n−d).

    ψ(H) − ψ(G) does not depend on θ, so with λ = 1 few labels are not overfitted.
    """
    T, n = data.items, data.labels
    of_items, of_labels = T / max(T - d, 1), n / max(n - d, 1)
    return of_items + (1.0 - power) ** 2 * max(of_labels - of_items, 0.0)


def _meat(X: Design, scores: Floats, drawn: Floats, clusters: Codes | None, N: float, taken: float) -> Floats:
    """Covariance of mean(x r): everything for the population, only the draw for the pool, T/N of the way between."""
    T = X.shape[0]
    share = T / N  # 0 for the population
    draw = gram(X, drawn) / T**2 if share > 0 else 0.0
    if share == 1:
        return np.asarray(draw)
    if clusters is None:
        all_of_it = gram(X, scores**2) * taken / T**2
    else:
        all_of_it = _cluster_variance(X, scores, clusters) * taken * (T - 1) / T / T**2
    return np.asarray((1 - share) * all_of_it + share * draw)


def _cluster_variance(X: Design, scores: Floats, clusters: Codes) -> Floats:
    if isinstance(X, np.ndarray):
        return sum_variance(X * scores[:, None], clusters)
    return sum_variance(_by_cluster(X, scores, clusters), None)


def _by_cluster(X: Design, scores: Floats, clusters: Codes) -> Floats:
    """Σ x r over each cluster's items."""
    if isinstance(X, np.ndarray):
        return cluster_sums(X * scores[:, None], clusters)
    shape = (int(clusters.max()) + 1, scores.size)
    member = sparse.csr_array((scores, (clusters, np.arange(scores.size))), shape=shape)
    return np.asarray((member @ X).toarray())


# Degrees of freedom


def degrees_of_freedom(
    fit: MFit, X: Design, *, contrasts: Floats | None = None, clusters: Codes | None = None, pool_size: float = np.inf
) -> Floats:
    """Degrees of freedom of each contrast's standard error (each coefficient's if absent), at least one.

    Satterthwaite over two parts: T − d for the items' own variance, and 2n/(κ − 1) for what the draw adds, κ the
    kurtosis of the labels' moves of this contrast: few where a contrast rests on few labels. Clusters count as
    2C/(κ − 1) likewise. Limiting case: rates of 1 give T − d.
    """
    T, d = X.shape
    moves = _moves(fit.curvature, contrasts)
    A = np.eye(d) if contrasts is None else contrasts
    total = np.maximum(np.einsum("ij,jk,ik->i", A, fit.covariance, A), 1e-300)
    use, least = fit.odds > 0, 1.0 / max(T - d, 1)
    squares = np.asarray(X[use] @ moves) ** 2 / T**2
    terms = squares * fit.drawn[use, None]
    added = np.minimum(terms.sum(axis=0) / total, 1.0)
    labels = np.minimum(_worth(terms), _chi_squares(squares * fit.odds[use, None]))
    inverse = added**2 / np.maximum(labels, 1.0) + (1.0 - added) ** 2 * least
    if clusters is not None and pool_size > T:
        inverse += 1.0 / _worth((_by_cluster(X, fit.scores, clusters) @ moves) ** 2) - least
    return np.asarray(np.maximum(1.0 / np.maximum(inverse, least), 1.0))


def _worth(terms: Floats) -> Floats:
    """How many chi-squares a sum of squared terms is worth by their kurtosis κ, column by column: 2n/(κ − 1)."""
    n = terms.shape[0]
    share = 1.0 / np.maximum(_chi_squares(terms), 1.0)  # κ/n
    return np.asarray(np.clip(2.0 / np.maximum(share - 1.0 / max(n, 1), 1e-300), 1.0, max(n - 1.0, 1.0)))


def _chi_squares(weights: Floats) -> Floats:
    """(Σ w)² / Σ w², column by column; 1 where there are no weights."""
    square = (weights**2).sum(axis=0)
    return np.where(square > 0, weights.sum(axis=0) ** 2 / np.where(square > 0, square, 1.0), 1.0)
