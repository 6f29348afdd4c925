"""The paper's figures on made-up worlds: error ratios of the optimal policies, by exact integrals.

u(X) has a Gamma or Beta distribution, cut into thousands of narrow bins; each bin's probability and mean are
incomplete gamma and beta functions, and the same solver as in production does the rest.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy import special

from ratewise.core.checks import Floats
from ratewise.core.formulas import bernoulli_bound, optimal_uniform_rate
from ratewise.core.policy import optimal_policy

_BINS = 4000
_LEAST = 1e-30  # of u, as a share of its mean: what lies below adds nothing

Errors = tuple[Floats, Floats]  # a distribution of u(X): values and their probabilities


def gamma_errors(mean: float, variance: float) -> Errors:
    """U ~ Gamma(mean μ, variance η); a constant for η = 0."""
    if variance == 0:
        return np.array([mean]), np.ones(1)
    shape, unit = mean**2 / variance, variance / mean
    top = float(special.gammainccinv(shape + 1, 1e-18)) * unit
    edges = np.concatenate([[0.0], np.geomspace(_LEAST * mean, top, _BINS), [np.inf]])
    below, share_below = (np.asarray(special.gammainc(a, edges / unit), dtype=np.float64) for a in (shape, shape + 1))
    return _binned(mean, below, share_below)


def beta_errors(mean: float, variance: float) -> Errors:
    """U ~ Beta(mean μ, variance η ≤ μ(1−μ)); 0 or 1 at the upper limit, a constant for η = 0."""
    if variance == 0:
        return np.array([mean]), np.ones(1)
    kappa = mean * (1 - mean) / variance - 1
    if kappa < 1e-12:
        return np.array([0.0, 1.0]), np.array([1 - mean, mean])
    a, b = kappa * mean, kappa * (1 - mean)
    low = np.geomspace(_LEAST, 0.5, _BINS // 2)
    edges = np.concatenate([[0.0], low, 1 - np.geomspace(0.5, 1e-15, _BINS // 2)[1:], [1.0]])
    return _binned(mean, special.betainc(a, b, edges), special.betainc(a + 1, b, edges))


def _binned(mean: float, below: Floats, share_below: Floats) -> Errors:
    """Bins from the distribution function and the share of the mean that lies below each edge."""
    mass, moment = np.diff(below), mean * np.diff(share_below)
    some = mass > 0
    return moment[some] / mass[some], mass[some]


@dataclass(frozen=True, slots=True)
class Point:
    """One point of a curve; a row of the CSV."""

    panel: str
    x_name: str
    x: float
    y_name: str
    y: float
    variance: float  # Var(H), one curve each
    weak_error: float  # MSE(H, G)
    error_variance: float  # Var(U)
    cost_ratio: float
    lower_bound: float | None = None

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def ratios(errors: Errors, *, variance: float, cost_ratio: float) -> dict[str, float]:
    """Error of the active policy over base's, and over the best single rate's."""
    u, weights = errors
    policy = optimal_policy(u, variance=variance, weak_cost=cost_ratio, strong_cost=1.0, weights=weights)
    M = float(np.dot(u, weights))
    uniform = optimal_uniform_rate(M, variance=variance, weak_cost=cost_ratio, strong_cost=1.0)
    return {"base": policy.error_ratio, "random": policy.error_times_budget / uniform.error_times_budget}


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """The axes of a picture; each x gives MSE(H, G), Var(U) and the cost ratio of its points."""

    name: str
    x_name: str
    x: Floats
    at: Callable[[float], tuple[float, float, float]]
    against: str = "base"
    bounded: bool = False

    def point(self, distribution: Callable[[float, float], Errors], V: float, x: float) -> Point:
        M, eta, c = self.at(x)
        y = ratios(distribution(M, eta), variance=V, cost_ratio=c)[self.against]
        bound = bernoulli_bound(M, variance=V, cost_ratio=c) if self.bounded else None
        return Point(self.name, self.x_name, x, f"active / {self.against}", y, V, M, eta, c, bound)


def _spreads(mean: float) -> Floats:
    """Var(U) from 0 to the largest there can be."""
    return np.linspace(0.0, mean * (1 - mean), 31)


_COST_RATIOS = np.geomspace(0.001, 1.0, 31)

WORLDS: Mapping[str, tuple[Callable[[float, float], Errors], tuple[float, ...], tuple[Panel, ...]]] = {
    "gaussian": (
        gamma_errors,
        (0.5, 1.0, 2.0, 4.0),
        (
            Panel("a", "MSE(H, G)", np.linspace(0.1, 3.0, 30), lambda M: (M, 0.5, 0.1)),
            Panel("b", "Var(U)", np.linspace(0.0, 4.0, 33), lambda eta: (0.5, eta, 0.1), against="random"),
            Panel("c", "cost ratio", _COST_RATIOS, lambda c: (0.5, 0.5, c)),
        ),
    ),
    "bernoulli": (
        beta_errors,
        (0.1, 0.2, 0.25),
        (
            Panel("a", "MSE(H, G)", np.linspace(0.01, 0.5, 30), lambda M: (M, 0.5 * M * (1 - M), 0.05)),
            Panel("b", "Var(U)", _spreads(0.1), lambda eta: (0.1, eta, 0.05), against="random"),
            Panel("c", "cost ratio", _COST_RATIOS, lambda c: (0.1, 0.045, c)),
            Panel("d", "Var(U)", _spreads(0.05), lambda eta: (0.05, eta, 0.05), bounded=True),
            Panel("e", "Var(U)", _spreads(0.1), lambda eta: (0.1, eta, 0.05), bounded=True),
            Panel("f", "Var(U)", _spreads(0.3), lambda eta: (0.3, eta, 0.05), bounded=True),
            Panel("g", "Var(U)", _spreads(0.05), lambda eta: (0.05, eta, 0.05), against="random"),
            Panel("h", "Var(U)", _spreads(0.3), lambda eta: (0.3, eta, 0.05), against="random"),
            Panel("i", "cost ratio", _COST_RATIOS, lambda c: (0.1, 0.09, c), bounded=True),
        ),
    ),
}
"""Of each figure: the distribution of U, Var(H) of its curves, and its panels."""


def points_of(figure: str) -> list[Point]:
    """All points of a figure: error ratios against MSE(H, G), Var(U) and the cost ratio."""
    distribution, variances, panels = WORLDS[figure]
    return [panel.point(distribution, V, x) for V in variances for panel in panels for x in panel.x.tolist()]


def curves(points: Sequence[Point], panel: str) -> dict[float, list[Point]]:
    """The points of one panel, a curve for each Var(H)."""
    chosen = [p for p in points if p.panel == panel]
    return {V: [p for p in chosen if p.variance == V] for V in sorted({p.variance for p in chosen})}
