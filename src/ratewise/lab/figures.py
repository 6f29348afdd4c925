"""The paper's figures on made-up worlds: error ratios of the optimal policies, by exact integrals.

u(X) has a Gamma or Beta distribution, cut into thousands of narrow bins; each bin's probability and mean are
incomplete gamma and beta functions, and the same solver as in production does the rest.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy import special

from ratewise.core.checks import Floats
from ratewise.core.formulas import bernoulli_bound, optimal_uniform_rate
from ratewise.core.policy import optimal_policy

_BINS = 4000
_LEAST = 1e-30  # of u, as a share of its mean: what lies below adds nothing


@dataclass(frozen=True, slots=True, eq=False)
class Errors:
    """A distribution of u(X): values and their probabilities."""

    error: Floats
    weights: Floats


def gamma_errors(mean: float, variance: float) -> Errors:
    """U ~ Gamma(mean μ, variance η); a constant for η = 0."""
    if variance == 0:
        return Errors(np.array([mean]), np.ones(1))
    shape, unit = mean**2 / variance, variance / mean
    top = float(special.gammainccinv(shape + 1, 1e-18)) * unit
    edges = np.concatenate([[0.0], np.geomspace(_LEAST * mean, top, _BINS), [np.inf]])
    below, share_below = (np.asarray(special.gammainc(a, edges / unit), dtype=np.float64) for a in (shape, shape + 1))
    return _binned(mean, below, share_below)


def beta_errors(mean: float, variance: float) -> Errors:
    """U ~ Beta(mean μ, variance η ≤ μ(1−μ)); 0 or 1 at the upper limit, a constant for η = 0."""
    if variance == 0:
        return Errors(np.array([mean]), np.ones(1))
    kappa = mean * (1 - mean) / variance - 1
    if kappa < 1e-12:
        return Errors(np.array([0.0, 1.0]), np.array([1 - mean, mean]))
    a, b = kappa * mean, kappa * (1 - mean)
    low = np.geomspace(_LEAST, 0.5, _BINS // 2)
    edges = np.concatenate([[0.0], low, 1 - np.geomspace(0.5, 1e-15, _BINS // 2)[1:], [1.0]])
    return _binned(mean, special.betainc(a, b, edges), special.betainc(a + 1, b, edges))


def _binned(mean: float, below: Floats, share_below: Floats) -> Errors:
    """Bins from the distribution function and the share of the mean that lies below each edge."""
    mass, moment = np.diff(below), mean * np.diff(share_below)
    some = mass > 0
    return Errors(moment[some] / mass[some], mass[some])


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
        """Ready for CSV."""
        return asdict(self)


Distribution = Callable[[float, float], Errors]


def ratios(errors: Errors, *, variance: float, cost_ratio: float) -> tuple[float, float]:
    """Error of the active policy over base's, and over the best single rate's."""
    policy = optimal_policy(
        errors.error, variance=variance, weak_cost=cost_ratio, strong_cost=1.0, weights=errors.weights
    )
    M = float(np.dot(errors.error, errors.weights))
    uniform = optimal_uniform_rate(M, variance=variance, weak_cost=cost_ratio, strong_cost=1.0)
    return policy.error_ratio, policy.error_times_budget / uniform.error_times_budget


def _point(
    panel: str, x_name: str, of: str, world: Distribution, V: float, M: float, eta: float, c: float, bound: bool = False
) -> Point:
    base, random = ratios(world(M, eta), variance=V, cost_ratio=c)
    x = {"MSE(H, G)": M, "Var(U)": eta, "cost ratio": c}[x_name]
    least = bernoulli_bound(M, variance=V, cost_ratio=c) if bound else None
    return Point(panel, x_name, x, f"active / {of}", base if of == "base" else random, V, M, eta, c, least)


GAUSSIAN_VARIANCES = (0.5, 1.0, 2.0, 4.0)
BERNOULLI_VARIANCES = (0.1, 0.2, 0.25)
BERNOULLI_ERRORS = (0.05, 0.1, 0.3)
_COST_RATIOS = np.geomspace(0.001, 1.0, 31)


def gaussian_figure() -> list[Point]:
    """Ratio against MSE (Var(U) = 0.5), against Var(U) (MSE = 0.5) and against the cost ratio (both 0.5)."""
    return list(_gaussian())


def _gaussian() -> Iterator[Point]:
    for V in GAUSSIAN_VARIANCES:
        for M in np.linspace(0.1, 3.0, 30):
            yield _point("a", "MSE(H, G)", "base", gamma_errors, V, float(M), 0.5, 0.1)
        for eta in np.linspace(0.0, 4.0, 33):
            yield _point("b", "Var(U)", "random", gamma_errors, V, 0.5, float(eta), 0.1)
        for c in _COST_RATIOS:
            yield _point("c", "cost ratio", "base", gamma_errors, V, 0.5, 0.5, float(c))


def bernoulli_figure() -> list[Point]:
    """The same for 0/1 ratings, then against Var(U) at three error rates, with the lower bound; all at cost 0.05."""
    return list(_bernoulli())


def _bernoulli() -> Iterator[Point]:
    for V in BERNOULLI_VARIANCES:
        for M in np.linspace(0.01, 0.5, 30):
            half = 0.5 * M * (1 - M)  # half the largest Var(U) there can be
            yield _point("a", "MSE(H, G)", "base", beta_errors, V, float(M), float(half), 0.05)
        for eta in _spreads(0.1):
            yield _point("b", "Var(U)", "random", beta_errors, V, 0.1, eta, 0.05)
        for c in _COST_RATIOS:
            yield _point("c", "cost ratio", "base", beta_errors, V, 0.1, 0.045, float(c))
        for panel, M in zip("def", BERNOULLI_ERRORS, strict=True):
            for eta in _spreads(M):
                yield _point(panel, "Var(U)", "base", beta_errors, V, M, eta, 0.05, bound=True)


def _spreads(mean: float) -> Sequence[float]:
    """Var(U) from 0 to the largest there can be."""
    return [float(x) for x in np.linspace(0.0, mean * (1 - mean), 31)]


# What the paper says to expect


@dataclass(frozen=True, slots=True)
class PaperClaim:
    """A statement of the paper, whether it holds here, and the figures that decide it."""

    text: str
    holds: bool
    evidence: str

    def to_dict(self) -> dict[str, Any]:
        """A dictionary, ready for JSON."""
        return asdict(self)


def curves(points: Sequence[Point], panel: str) -> dict[float, list[Point]]:
    """The points of one panel, a curve for each Var(H)."""
    chosen = [p for p in points if p.panel == panel]
    return {V: [p for p in chosen if p.variance == V] for V in sorted({p.variance for p in chosen})}


def gaussian_claims(points: Sequence[Point]) -> list[PaperClaim]:
    """Benefit falls with MSE, rises with Var(U), falls with the cost ratio; nothing to gain where U is constant."""
    return [
        _monotone(points, "a", +1, "the benefit over base falls with MSE(H, G)"),
        _monotone(points, "b", -1, "the benefit over the best single rate rises with Var(U)"),
        _monotone(points, "c", +1, "the benefit over base falls with c_g/c_h"),
        _equal_at_zero(points, "b"),
    ]


def bernoulli_claims(points: Sequence[Point]) -> list[PaperClaim]:
    """The same, and the lower bound (with the sign of METHODS section 3)."""
    with_bound = [p for p in points if p.lower_bound is not None]
    gaps = [p.y - (p.lower_bound or 0.0) for p in with_bound]
    at_most = [p for p in with_bound if p.error_variance >= p.weak_error * (1 - p.weak_error) * (1 - 1e-9)]
    reached = max(abs(p.y - (p.lower_bound or 0.0)) for p in at_most)
    bounded = PaperClaim(
        "the error ratio is bounded below, and the bound is reached where Var(U) is largest",
        min(gaps) > -1e-9 and reached < 1e-6,
        f"smallest distance to the bound {min(gaps):.1e} over {len(gaps)} points; at the largest Var(U) {reached:.1e}",
    )
    return [*gaussian_claims(points), _monotone(points, "d", -1, "the benefit over base rises with Var(U)"), bounded]


def _monotone(points: Sequence[Point], panel: str, sign: int, text: str) -> PaperClaim:
    """Every curve of the panel rises (+1) or falls (−1), up to rounding."""
    found = curves(points, panel)
    worst = min(float(np.min(sign * np.diff([p.y for p in curve]))) for curve in found.values())
    ends = "; ".join(f"Var(H) {V:g}: {curve[0].y:.3f} to {curve[-1].y:.3f}" for V, curve in found.items())
    return PaperClaim(
        text, worst > -1e-9, f"error ratio from the smallest to the largest {found[min(found)][0].x_name}: {ends}"
    )


def _equal_at_zero(points: Sequence[Point], panel: str) -> PaperClaim:
    zero = [abs(p.y - 1.0) for p in points if p.panel == panel and p.error_variance == 0]
    return PaperClaim(
        "the active policy equals the best single rate at Var(U) = 0", max(zero) < 1e-9,
        f"ratio 1 to within {max(zero):.0e}",
    )  # fmt: skip
