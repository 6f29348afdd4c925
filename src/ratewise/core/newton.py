"""Rectified losses and their least value: what every M-estimator here is made of, and Newton's method (METHODS 7).

Every loss is one of a linear predictor η = xᵀθ, so that ∇ℓ = x ψ(η, y) and ∇²ℓ = x xᵀ ψ'(η). With weights that make
Σ_k weight_k φ(R_k) unbiased for φ(H) — 1 − ξ/π for G and ξ/π for H — the estimate solves

    mean_t x_t r_t = 0,   r_t = Σ_k weight_tk ψ(η_t, R_tk).

All sums are Xᵀ diag(v) X, so X may be sparse.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy import sparse

from ratewise.core.checks import Floats
from ratewise.core.ratings import Ratings
from ratewise.errors import InputError

Design: TypeAlias = "Floats | sparse.csr_array"

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


def gram(X: Design, v: Floats) -> Floats:
    """Xᵀ diag(v) X."""
    if isinstance(X, np.ndarray):
        return np.asarray((X * v[:, None]).T @ X)
    return np.asarray((X.T @ sparse.diags_array(v) @ X).toarray())


def solve(X: Design, loss: Loss, terms: Terms, *, start: Floats | None = None) -> Floats:
    """The root of mean(x r), by Newton's method with the step halved until the gradient gets smaller."""
    size = column_sizes(X)
    theta = _start(X, loss, terms) if start is None else start.copy()
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


def column_sizes(X: Design) -> Floats:
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
