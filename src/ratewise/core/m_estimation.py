"""M-estimators from few strong ratings: loss gradient and curvature in, estimate and sandwich out (METHODS section 7).

Every loss here is one of a linear predictor η = xᵀθ, so that ∇ℓ = x ψ(η, y) and ∇²ℓ = x xᵀ ψ'(η). With weights that
make Σ_k weight_k φ(R_k) unbiased for φ(H) — 1 − ξ/π for G and ξ/π for H — the estimate solves

    mean_t x_t r_t = 0,   r_t = Σ_k weight_tk ψ(η_t, R_tk)

and its covariance is W⁻¹ Var(mean x r) W⁻¹, W = mean x xᵀ ψ'. All sums are Xᵀ diag(v) X, so X may be sparse.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy import sparse

from ratewise.core.checks import Floats
from ratewise.core.clusters import Codes, sum_variance
from ratewise.core.ratings import Ratings
from ratewise.errors import InputError

Design: TypeAlias = "Floats | sparse.csr_array"

_MOST_STEPS = 100
_MOST_HALVINGS = 40
_CONVERGED = 1e-13  # of the Newton step, in standard deviations of the predictor
_FLAT = 1e-11  # curvature that has fallen to this share of its start: the predictor runs away
_AT_ONCE = 1 << 22  # numbers held at a time


class NoFitError(InputError):
    """The loss has no least value: some direction of θ runs away. `direction` is that of the last steps."""

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
class Terms:
    """Σ_k weights_k φ(ratings_k) per item, whose mean is unbiased for the mean of φ(H); 0 for ratings not bought."""

    ratings: Floats  # items × raters, the strong one last
    weights: Floats

    @classmethod
    def of(cls, data: Ratings, *, power: float = 1.0) -> "Terms":
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


@dataclass(frozen=True, slots=True, eq=False)
class MFit:
    """θ̂ with its covariance, and what they are made of."""

    coefficients: Floats
    covariance: Floats
    curvature: Floats  # W
    predictor: Floats  # η of every item
    scores: Floats  # r of every item: the estimate solves mean(x r) = 0
    items: int
    labels: int
    effective_labels: float  # (Σ 1/π)² / Σ 1/π² over the labels
    power: float = 1.0

    @property
    def standard_errors(self) -> Floats:
        """Of the coefficients."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))

    @property
    def degrees_of_freedom(self) -> float:
        """Effective labels less coefficients, at least one."""
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
    terms = Terms.of(data, power=1.0 if power is None else power)
    theta = solve(X, loss, terms)
    if power is None:
        power = tuned_power(X, loss, data, theta, contrasts)
        terms = Terms.of(data, power=power)
        theta = solve(X, loss, terms, start=theta)
    eta = np.asarray(X @ theta)
    scores = terms.sum(lambda y: loss.gradient(eta, y))
    W = gram(X, terms.total * loss.curvature(eta)) / data.items
    meat = _meat(X, loss, data, eta, scores, power, clusters, pool_size)
    inverse = np.linalg.inv(W)
    weight = (data.labelled / data.rates[:, -1])[data.labelled]
    return MFit(
        coefficients=theta,
        covariance=inverse @ meat @ inverse.T,
        curvature=W,
        predictor=eta,
        scores=scores,
        items=data.items,
        labels=data.labels,
        effective_labels=float(weight.sum() ** 2 / np.dot(weight, weight)) if weight.size else 0.0,
        power=power,
    )


def gram(X: Design, v: Floats) -> Floats:
    """Xᵀ diag(v) X."""
    if isinstance(X, np.ndarray):
        return np.asarray((X * v[:, None]).T @ X)
    return np.asarray((X.T @ sparse.diags_array(v) @ X).toarray())


def influence(X: Design, curvature: Floats, contrasts: Floats | None = None) -> Floats:
    """‖A W⁻¹ x‖² of every item: how much its rating moves the contrasts A θ (all coefficients if absent)."""
    inverse = np.linalg.inv(curvature)
    right = inverse.T if contrasts is None else inverse.T @ contrasts.T
    out = np.empty(X.shape[0])
    step = max(1, _AT_ONCE // max(right.shape[1], 1))
    for start in range(0, out.size, step):
        moved = np.asarray(X[start : start + step] @ right)
        out[start : start + step] = (moved**2).sum(axis=1)
    return out


# Newton's method


def solve(X: Design, loss: Loss, terms: Terms, *, start: Floats | None = None) -> Floats:
    """The root of mean(x r), by Newton's method with the step halved until the gradient gets smaller."""
    n, d = X.shape
    size = np.sqrt(np.asarray(gram(X, np.full(n, 1.0 / n)).diagonal()))
    theta = _start(X, loss, terms) if start is None else start.copy()
    total, first = terms.total, None
    eta = np.asarray(X @ theta)
    g = _gradient(X, loss, terms, eta)
    step = np.zeros(d)
    for _ in range(_MOST_STEPS):
        W = gram(X, total * loss.curvature(eta)) / n / np.outer(size, size)
        least = float(np.linalg.eigvalsh(W)[0])
        first = least if first is None else max(first, least)
        if not least > _FLAT * first:
            break
        step = -np.linalg.solve(W, g / size) / size
        theta, eta, g, moved = _step(X, loss, terms, theta, eta, g, step, size)
        if np.max(np.abs(step * size)) <= _CONVERGED * max(1.0, float(np.max(np.abs(theta * size)))):
            return theta
        if not moved:  # rounding: no step makes the gradient smaller
            if np.max(np.abs(step * size)) <= np.sqrt(_CONVERGED) * max(1.0, float(np.max(np.abs(theta * size)))):
                return theta
            break
    raise NoFitError(
        f"the {loss.name} loss has no least value on these ratings: the fit runs away (separable data, or too few "
        "strong ratings for this many columns)",
        theta * size,
    )


def _step(
    X: Design, loss: Loss, terms: Terms, theta: Floats, eta: Floats, g: Floats, step: Floats, size: Floats
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


def _gradient(X: Design, loss: Loss, terms: Terms, eta: Floats) -> Floats:
    return np.asarray(X.T @ terms.sum(lambda y: loss.gradient(eta, y))) / eta.size


def _start(X: Design, loss: Loss, terms: Terms) -> Floats:
    """The predictor nearest to a constant that fits the mean."""
    n, d = X.shape
    constant = loss.start(float(terms.sum(lambda y: y).mean()))
    if constant == 0:
        return np.zeros(d)
    ones = np.asarray(X.T @ np.ones(n))
    return constant * np.linalg.solve(gram(X, np.ones(n)), ones)


# Variance


def _meat(
    X: Design, loss: Loss, data: Ratings, eta: Floats, scores: Floats, power: float, clusters: Codes | None, N: float
) -> Floats:
    """Covariance of mean(x r): of everything for the population, of the draw for the pool (with T < N: of both)."""
    T, d = X.shape
    if np.isinf(N):
        small = (T - 1) / max(T - d, 1)
        if clusters is not None:
            return np.asarray(_cluster_variance(X, scores, clusters) * small / T**2)
        return np.asarray(gram(X, scores**2) * T / max(T - 1, 1) * small / T**2)
    weight = data.labelled / data.rates[:, -1]
    strong = np.where(data.labelled, loss.gradient(eta, np.where(data.labelled, data.strong, 0.0)), 0.0)
    weak = np.where(np.isnan(data.weak), 0.0, data.weak)
    steps = np.stack([strong - power * loss.gradient(eta, weak[:, k]) for k in range(weak.shape[1])], axis=1)
    drawn = (steps**2 * data.step_odds()).sum(axis=1) * weight
    meat = gram(X, drawn) / T**2
    if T < N:
        own = strong**2 * weight
        rest = gram(X, own) if clusters is None else _cluster_variance(X, strong * weight, clusters)
        meat = meat + rest / T * (1.0 / T - 1.0 / N)
    return np.asarray(meat)


def _cluster_variance(X: Design, scores: Floats, clusters: Codes) -> Floats:
    if isinstance(X, np.ndarray):
        return sum_variance(X * scores[:, None], clusters)
    member = sparse.csr_array(
        (scores, (clusters, np.arange(scores.size))), shape=(int(clusters.max()) + 1, scores.size)
    )
    return sum_variance(np.asarray((member @ X).toarray()), None)


def tuned_power(X: Design, loss: Loss, data: Ratings, theta: Floats, contrasts: Floats | None = None) -> float:
    """λ of least total variance, from 0 to 2: the regression of the strong gradients on the weak ones.

    With one rate for all it is PPI++'s λ up to its convention (λ N/T for N unlabelled of T items). For two raters only.
    """
    if data.weak.shape[1] > 1:
        raise InputError("tuning the power is for one weak rater; use method 'difference' or 'auto' for a chain")
    eta = np.asarray(X @ theta)
    odds = 1.0 / data.rates[:, 0] - 1.0
    if not odds.max() > 0:
        return 1.0
    use = data.labelled
    psi_g = loss.gradient(eta, data.weak[:, 0])
    psi_h = np.where(use, loss.gradient(eta, np.where(use, data.strong, 0.0)), 0.0)
    W = gram(X, loss.curvature(eta)) / data.items
    ell = influence(X, W, contrasts)
    inverse = np.linalg.inv(W)
    A = inverse if contrasts is None else contrasts @ inverse

    def covariance(weight: Floats, a: Floats, b: Floats) -> float:
        w = weight / weight.sum()
        means = [A @ np.asarray(X.T @ (w * z)) for z in (a, b)]
        return float(np.dot(w, ell * a * b) - means[0] @ means[1])

    below = covariance(odds, psi_g, psi_g)
    weight = np.where(use, odds / data.rates[:, 0], 0.0)
    if not (below > 0 and weight.sum() > 0):
        return 1.0
    return float(np.clip(covariance(weight, psi_h, psi_g) / below, 0.0, 2.0))
