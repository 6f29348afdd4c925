"""M-estimators from few strong ratings: rectified losses, their least value, its sandwich, and rates (METHODS 7).

Every loss is one of a linear predictor η = xᵀθ, so that ∇ℓ = x ψ(η, y) and ∇²ℓ = x xᵀ ψ'(η). With weights that make
Σ_k weight_k φ(R_k) unbiased for φ(H) — 1 − ξ/π for G and ξ/π for H — the estimate solves

    mean_t x_t r_t = 0,   r_t = Σ_k weight_tk ψ(η_t, R_tk),

and its covariance is W⁻¹ Var(mean x r) W⁻¹ with W = mean x xᵀ ψ'. All sums are Xᵀ diag(v) X, so X may be sparse.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse, special

from ratewise.core.checks import Floats, choice, finite
from ratewise.core.clusters import Codes, cluster_codes, cluster_sums, sum_variance
from ratewise.core.names import FAMILIES, Estimand, Family
from ratewise.core.policy import Policy, optimal_policy
from ratewise.core.ratings import Ratings, answered, pool_of
from ratewise.core.result import Result
from ratewise.errors import InputError

Matrix: TypeAlias = "Floats | sparse.csr_array"

_MOST_STEPS = 100
_MOST_HALVINGS = 40
_CONVERGED = 1e-13  # of the Newton step, in standard deviations of the predictor
_FLAT = 1e-11  # curvature that has fallen to this share of its largest: the predictor runs away
_DEPENDENT = 1e-12  # of the largest eigenvalue of the columns' correlations


class NoFitError(InputError):
    """The loss has no least value: θ runs away along `direction`."""

    def __init__(self, message: str, direction: Floats) -> None:
        super().__init__(message)
        self.direction = direction


@dataclass(frozen=True, slots=True)
class Loss:
    """ψ(η, y), ψ'(η), and a constant predictor to start from, given the mean rating."""

    name: str
    gradient: Callable[[Floats, Floats], Floats]
    curvature: Callable[[Floats], Floats]
    start: Callable[[float], float]


@dataclass(frozen=True, slots=True, eq=False)
class RectifiedTerms:
    """Σ_k weights_k φ(ratings_k) per item, whose mean is unbiased for the mean of φ(H); 0 for ratings not bought."""

    ratings: Floats  # items × raters, the strong one last
    weights: Floats

    @classmethod
    def of(cls, data: Ratings, *, power: float = 1.0) -> "RectifiedTerms":
        """Weights ξ_k/q_k − ξ_{k+1}/q_{k+1}, those of weak raters times `power` (λ: 0 leaves them out)."""
        had = np.concatenate([np.ones((data.items, 1)), data.rated / data.rates], axis=1)
        weights = np.concatenate([-power * np.diff(had, axis=1), had[:, -1:]], axis=1)
        ratings = np.concatenate([data.weak, data.strong[:, None]], axis=1)
        return cls(np.where(np.isnan(ratings), 0.0, ratings), weights)

    def sum(self, phi: Callable[[Floats], Floats]) -> Floats:
        """Σ_k weights_k φ(ratings_k), one number per item."""
        return np.asarray(sum(self.weights[:, k] * phi(self.ratings[:, k]) for k in range(self.ratings.shape[1])))

    @property
    def total(self) -> Floats:
        """Σ_k weights_k per item: 1 where λ is 1."""
        return np.asarray(self.weights.sum(axis=1))


def gram(X: Matrix, v: Floats) -> Floats:
    """Xᵀ diag(v) X."""
    if isinstance(X, np.ndarray):
        return np.asarray((X * v[:, None]).T @ X)
    return np.asarray((X.T @ sparse.diags_array(v) @ X).toarray())


def solve(X: Matrix, loss: Loss, terms: RectifiedTerms) -> Floats:
    """The root of mean(x r), by Newton's method with the step halved until the gradient gets smaller."""
    size = column_sizes(X)
    theta = _start(X, loss, terms)
    total, most = terms.total, 0.0
    eta = np.asarray(X @ theta)
    g = _gradient(X, loss, terms, eta)
    direction = np.zeros(size.size)
    for _ in range(_MOST_STEPS):
        values, vectors = np.linalg.eigh(gram(X, total * loss.curvature(eta)) / eta.size / np.outer(size, size))
        most = max(most, float(values[0]))
        if not values[0] > _FLAT * most:
            direction = direction if direction.any() else vectors[:, 0] / size
            break
        direction = -(vectors @ ((vectors.T @ (g / size)) / values)) / size
        theta, eta, g, moved = _step(X, loss, terms, theta, eta, g, direction, size)
        length = float(np.max(np.abs(direction * size))) / max(1.0, float(np.max(np.abs(theta * size))))
        if length <= _CONVERGED or (not moved and length <= np.sqrt(_CONVERGED)):  # no better step: rounding
            return theta
        if not moved:
            break
    raise NoFitError(
        f"the {loss.name} loss has no least value on these ratings: the fit runs away (separable data, or too few "
        "strong ratings for this many columns)",
        direction,
    )


def column_sizes(X: Matrix) -> Floats:
    """Root mean squares of the columns, which must be linearly independent."""
    moments = gram(X, np.full(X.shape[0], 1.0 / X.shape[0]))
    size = np.sqrt(np.asarray(moments.diagonal()))
    if not np.all(np.isfinite(size)):
        raise InputError("X must be finite; there is a NaN or an infinity in it")
    if np.any(size == 0):
        raise InputError(f"column {int(np.argmin(size))} of X is 0 on every item; leave it out")
    values = np.linalg.eigvalsh(moments / np.outer(size, size))
    if not values[0] > _DEPENDENT * values[-1]:
        raise InputError("the columns of X are linearly dependent; leave out those that others add up to")
    return size


def _step(
    X: Matrix, loss: Loss, terms: RectifiedTerms, theta: Floats, eta: Floats, g: Floats, step: Floats, size: Floats
) -> tuple[Floats, Floats, Floats, bool]:
    before = float(((g / size) ** 2).sum())
    for halving in range(_MOST_HALVINGS):
        ahead = theta + 0.5**halving * step
        eta_ahead = np.asarray(X @ ahead)
        with np.errstate(over="ignore", invalid="ignore"):
            g_ahead = _gradient(X, loss, terms, eta_ahead)
            after = float(((g_ahead / size) ** 2).sum())
        if after < before:  # also false for nan
            return ahead, eta_ahead, g_ahead, True
    return theta, eta, g, before == 0.0


def _gradient(X: Matrix, loss: Loss, terms: RectifiedTerms, eta: Floats) -> Floats:
    return np.asarray(X.T @ terms.sum(lambda y: loss.gradient(eta, y))) / eta.size


def _start(X: Matrix, loss: Loss, terms: RectifiedTerms) -> Floats:
    """The predictor nearest to a constant that fits the mean."""
    n, d = X.shape
    constant = loss.start(float(terms.sum(lambda y: y).mean()))
    if constant == 0:
        return np.zeros(d)
    ones = np.asarray(X.T @ np.ones(n))
    return constant * np.linalg.solve(gram(X, np.ones(n)), ones)


LINEAR = Loss("linear", lambda eta, y: eta - y, np.ones_like, lambda mean: mean)
LOGISTIC = Loss(
    "logistic", lambda eta, y: special.expit(eta) - y, lambda eta: np.asarray(special.expit(eta) * special.expit(-eta)),
    lambda mean: float(special.logit(min(max(mean, 0.01), 0.99))),
)  # fmt: skip
POISSON = Loss("Poisson", lambda eta, y: np.exp(eta) - y, np.exp, lambda mean: math.log(max(mean, 1e-3)))

LOSSES: dict[str, Loss] = {"linear": LINEAR, "logistic": LOGISTIC, "poisson": POISSON}


def tuned_power(X: Matrix, loss: Loss, data: Ratings, contrasts: Floats | None = None) -> float:
    """λ of least total variance of the contrasts A θ: the regression of the strong gradients on the weak ones.

    With one rate n/T for all it is PPI++'s λ, whose convention is λ N/T for N unlabelled of T items: gradients are
    taken at the estimate with the largest legal λ, 1/(1 − π_min), and λ is kept between 0 and that, so that the
    rectified loss stays convex. For two raters only.
    """
    if data.weak.shape[1] > 1:
        raise InputError("tuning the power is for one weak rater; use method 'difference' or 'auto' for a chain")
    pi = data.rates[:, 0]
    if pi.min() == 1:
        return 1.0
    most = float(1.0 / (1.0 - pi.min()))
    try:
        first = solve(X, loss, RectifiedTerms.of(data, power=most))
    except NoFitError:  # the largest λ may leave too little weight to fit anything
        first = solve(X, loss, RectifiedTerms.of(data))
    eta = np.asarray(X @ first)
    use, odds = data.labelled, 1.0 / pi - 1.0
    psi_g = loss.gradient(eta, data.weak[:, 0])
    psi_h = np.where(use, loss.gradient(eta, np.where(use, data.strong, 0.0)), 0.0)
    inverse = np.linalg.inv(gram(X, loss.curvature(eta)) / data.items)
    A = np.asarray(inverse if contrasts is None else contrasts @ inverse, dtype=np.float64)
    alone = 1.0 - float((odds**2).sum() / odds.sum() ** 2)  # 0 where one item alone could have been left out
    variance = _covariance(X, A, odds, psi_g, psi_g) / alone if alone > 0 else 0.0
    weight = np.where(use, odds / pi, 0.0)
    if not (variance > 0 and weight.sum() > 0):
        return 1.0
    return float(np.clip(_covariance(X, A, weight, psi_h, psi_g) / variance, 0.0, most))


def _covariance(X: Matrix, A: Floats, weight: Floats, a: Floats, b: Floats) -> float:
    """Trace of the weighted covariance of A x a and A x b."""
    w = weight / weight.sum()
    square = float(np.trace(A @ gram(X, w * a * b) @ A.T))
    means = [A @ np.asarray(X.T @ (w * z)) for z in (a, b)]
    return square - float(means[0] @ means[1])


_AT_ONCE = 1 << 22  # numbers held at a time


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MFit(Result):
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
    X: Matrix,
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
    terms = RectifiedTerms.of(data, power=lam)
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


def influence(X: Matrix, curvature: Floats, contrasts: Floats | None = None) -> Floats:
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


def _meat(X: Matrix, scores: Floats, drawn: Floats, clusters: Codes | None, N: float, taken: float) -> Floats:
    """Covariance of mean(x r): everything for the population, only the draw for the pool, T/N of the way between."""
    T = X.shape[0]
    share = T / N  # 0 for the population
    draw = gram(X, drawn) / T**2 if share > 0 else 0.0
    if share == 1:
        return np.asarray(draw)
    if clusters is None:
        all_of_it = gram(X, scores**2) * taken / T**2
    else:
        all_of_it = sum_variance(_by_cluster(X, scores, clusters), None) * taken * (T - 1) / T / T**2
    return np.asarray((1 - share) * all_of_it + share * draw)


def _by_cluster(X: Matrix, scores: Floats, clusters: Codes) -> Floats:
    """Σ x r over each cluster's items."""
    if isinstance(X, np.ndarray):
        return cluster_sums(X * scores[:, None], clusters)
    shape = (int(clusters.max()) + 1, scores.size)
    member = sparse.csr_array((scores, (clusters, np.arange(scores.size))), shape=shape)
    return np.asarray((member @ X).toarray())


# Degrees of freedom


def degrees_of_freedom(
    fit: MFit, X: Matrix, *, contrasts: Floats | None = None, clusters: Codes | None = None, pool_size: float = np.inf
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


def m_estimate(
    X: "ArrayLike | sparse.csr_array",
    weak: ArrayLike,
    strong: ArrayLike,
    rates: ArrayLike,
    *,
    loss: Loss | Family = "linear",
    power: float | None = 1.0,
    clusters: ArrayLike | None = None,
    estimand: Estimand = "population",
    pool_size: float | None = None,
    contrasts: Floats | None = None,
) -> MFit:
    """θ of least rectified loss with its sandwich covariance; `strong` is NaN where not rated.

    X is items × columns, dense or sparse, its columns independent. A loss is `linear`, `logistic`, `poisson`, or a
    `Loss` of one's own: ψ(η, y) and ψ'(η) of the predictor η = xᵀθ, and a constant to start from. `power` is λ: 1 uses
    the weak rating as it is, 0 not at all, `None` as much as pays for `contrasts` @ θ (PPI++). Chains as in
    `estimate_mean`.

    Limiting cases: rates of 1 give the plain fit with the HC1 sandwich; a column of ones with `linear` gives the mean.
    """
    data = answered(weak, strong, rates, what="a fit")
    design: Matrix = X.tocsr() if sparse.issparse(X) else finite(X, name="X")
    if design.ndim != 2 or design.shape[0] != data.items:
        raise InputError(f"X must be items × columns with {data.items} rows; got shape {design.shape}")
    if data.labels <= design.shape[1]:
        raise InputError(f"{data.labels} strong ratings cannot tell {design.shape[1]} coefficients and their errors")
    how = loss if isinstance(loss, Loss) else LOSSES[choice(loss, FAMILIES, name="loss")]
    codes = None if clusters is None else cluster_codes(clusters, data.items)
    N = pool_of(estimand, pool_size, data.items)
    return fit_m_estimator(design, how, data, power=power, clusters=codes, pool_size=N, contrasts=contrasts)


def m_policy(
    X: Matrix,
    error: ArrayLike,
    *,
    curvature: Floats,
    second_moment: ArrayLike,
    weak_cost: ArrayLike,
    strong_cost: ArrayLike,
    contrasts: Floats | None = None,
    weights: ArrayLike | None = None,
    budget: float | None = None,
    target_se: float | None = None,
    pool_size: float | None = None,
    floor: float = 0.0,
    estimand: Estimand = "population",
) -> Policy:
    """The policy of least tr(A Cov(θ̂) Aᵀ) for the money, clipped at 1 (which the paper leaves out).

    `error` is E[(ψ(H) − ψ(G))²|x] (for regressions E[(H−G)²|x]), `second_moment` is E[ψ(H)²|x] (E[(H−μ)²|x]), both per
    item; `curvature` is W; `contrasts` is A, all coefficients with equal weight if absent. `weights` are the items'
    probabilities (equal if absent). `target_se` is the root of the trace. u(x) = error · ‖A W⁻¹x‖², and V is the trace
    of the all-strong sandwich.

    Limiting case: X a column of ones and W = 1 give `optimal_policy` for the mean.
    """
    ell = influence(X, curvature, contrasts)
    e, s = (
        np.broadcast_to(finite(values, name=name, minimum=0), ell.shape)
        for values, name in ((error, "error"), (second_moment, "second_moment"))
    )
    V = float(np.average(s * ell, weights=None if weights is None else finite(weights, name="weights", minimum=0)))
    if not V > 0:
        raise InputError("no item moves these coefficients, or the ratings do not vary; there is nothing to plan")
    return optimal_policy(
        e * ell, variance=V, weak_cost=weak_cost, strong_cost=strong_cost, weights=weights, budget=budget,
        target_se=target_se, pool_size=pool_size, floor=floor, estimand=estimand,
    )  # fmt: skip
