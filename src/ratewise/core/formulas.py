"""The paper's closed forms, corrected where METHODS sections 2 and 3 say so.

Letters: V = Var(H), M = E[(H−G)²], W = V − M, c_g and c_h the costs, B the budget, p a uniform rate.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ratewise.core.checks import finite, number, share
from ratewise.core.draw import whole_items
from ratewise.core.result import Result
from ratewise.errors import InputError


def error_times_budget(
    rates: ArrayLike,
    *,
    error: ArrayLike,
    variance: float,
    weak_cost: float,
    strong_cost: float,
    weights: ArrayLike | None = None,
) -> float:
    """J(π) = (c_g + c_h E[π]) · (V + E[u (1/π − 1)]) of any policy, optimal or not.

    An item with error 0 adds nothing, however small its rate. J of strong ratings alone is `strong_cost × variance`.
    """
    pi, u = finite(rates, name="rates"), finite(error, name="error", minimum=0)
    if pi.shape not in ((), u.shape) and u.shape != ():
        raise InputError(f"rates and error must have the same shape; got {pi.shape} and {u.shape}")
    pi, u = np.broadcast_arrays(pi, u)
    if pi.min() < 0 or pi.max() > 1 or np.any((pi == 0) & (u > 0)):
        raise InputError("rates must be in (0, 1]; a rate of 0 is legal only where error is 0")
    V, c_g, c_h = _world(variance, weak_cost, strong_cost)
    w = np.ones(pi.shape) if weights is None else finite(weights, name="weights", minimum=0)
    if w.shape != pi.shape or not w.sum() > 0:
        raise InputError(f"weights must be one per item, with a positive sum; got shape {w.shape}")
    added = np.divide(u * (1.0 - pi), pi, out=np.zeros(pi.shape), where=u > 0)
    return float((c_g + c_h * np.average(pi, weights=w)) * (V + np.average(added, weights=w)))


def error_ratio(first: float, second: float) -> float:
    """J of one policy over J of another: the factor between their squared errors at the same budget."""
    return number(first, name="first", minimum=0) / number(second, name="second", above=0)


def expected_error(error_times_budget: float, *, budget: float) -> float:
    """Expected squared error of the estimate, J / B."""
    return number(error_times_budget, name="error_times_budget", minimum=0) / number(budget, name="budget", above=0)


def spend_for(error_times_budget: float, *, target_se: float) -> float:
    """Money needed for a standard error, J / ε²: the inverse of `expected_error`."""
    J = number(error_times_budget, name="error_times_budget", minimum=0)
    return J / number(target_se, name="target_se", above=0) ** 2


@dataclass(frozen=True, slots=True, repr=False)
class UniformRate(Result):
    """The best single rate for all items, and what it gives."""

    rate: float  # p*
    error_times_budget: float
    error_ratio: float  # over strong ratings alone
    items: float | None = None
    error: float | None = None  # expected squared error, where a budget was given


def optimal_uniform_rate(weak_error: float, *, variance: float, weak_cost: float, strong_cost: float) -> UniformRate:
    """Prop. 1: p* = sqrt(c_g M / (c_h W)) if M < V c_h/(c_h + c_g), else 1.

    J = (sqrt(c_h M) + sqrt(c_g W))² when p* < 1. A rate of 1 still pays c_g, so its ratio is above 1: buy
    strong ratings alone. Limits: M = 0 gives p* = 0 (never needed); c_h = 0 gives 1.
    """
    M = number(weak_error, name="weak_error", minimum=0)
    V, c_g, c_h = _world(variance, weak_cost, strong_cost)
    if c_h == 0:
        return UniformRate(1.0, c_g * V, 1.0)
    if M * (c_h + c_g) >= V * c_h:
        return UniformRate(1.0, (c_g + c_h) * V, (c_g + c_h) / c_h)
    W = V - M
    J = (math.sqrt(c_h * M) + math.sqrt(c_g * W)) ** 2
    return UniformRate(math.sqrt(c_g * M / (c_h * W)), J, J / (c_h * V))


def optimal_uniform_rate_whole_items(
    weak_error: float, *, variance: float, weak_cost: float, strong_cost: float, budget: float
) -> UniformRate:
    """Prop. 3 (corrected): the best uniform rate when the number of items must be whole.

    The stationary point is k = B / (c_g (1 + r)), r = sqrt(c_h M / (c_g W)); its floor and ceiling, clipped to
    [B/(c_g + c_h), B/c_g), are compared with rate 1. With rate 1 the weak rater adds nothing, so that
    candidate is strong ratings alone on floor(B/c_h) items.
    """
    M = number(weak_error, name="weak_error", minimum=0)
    V, c_g, c_h = _world(variance, weak_cost, strong_cost)
    B = number(budget, name="budget", above=0)
    if c_h <= 0 or c_g <= 0:
        raise InputError("whole items need costs above 0; use optimal_policy with a pool size for free ratings")
    if c_h > B:
        raise InputError(f"budget {B:g} is too small for one strong rating ({c_h:g}); raise it")
    n = int(whole_items(B / c_h))
    best = UniformRate(1.0, V / n * B, B / (n * c_h), items=n, error=V / n)
    for k in _whole_candidates(M, V - M, c_g, c_h, B):
        p = min(1.0, (B - k * c_g) / (k * c_h))
        error = (V - M + M / p) / k
        if best.error is None or error < best.error:
            best = UniformRate(p, error * B, error * B / (c_h * V), items=k, error=error)
    return best


def _whole_candidates(M: float, W: float, c_g: float, c_h: float, B: float) -> list[int]:
    low, high = math.ceil(B / (c_g + c_h)), math.ceil(B / c_g) - 1  # B/(c_g+c_h) ≤ k < B/c_g
    if low > high or low < 1:
        return []
    k = B / (c_g * (1 + math.sqrt(c_h * M / (c_g * W)))) if W > 0 else low
    return sorted({min(max(x, low), high) for x in (math.floor(k), math.ceil(k))})


def bernoulli_bound(weak_error: float, *, variance: float, cost_ratio: float) -> float:
    """Lower bound of the active policy's error ratio over base when both ratings are 0 or 1.

    Reached when u(x) is 0 or 1. The first branch holds for M ≤ V − c_g/c_h, where γ ≤ 1 (the paper prints a
    plus sign); else the policy labels just the items that differ, and pays M + c_g/c_h.
    """
    M = share(weak_error, name="weak_error", zero=True, one=True)
    V = number(variance, name="variance", above=0)
    c = number(cost_ratio, name="cost_ratio", minimum=0)
    if c > 0 and V - c >= M:
        g = math.sqrt(c / (V - M))
        return (g * M + c) * (1 + (1 / g - 1) * M / V)
    if c == 0 and M < V:
        return M * M / V  # the limit γ → 0 of the first branch
    return M + c


def misjudged_variance_bound(*, largest_squared_error: float, inverse_rate_excess: float) -> float:
    """Prop. 6 (corrected): rates π̃ with E[(1/π̃ − 1/π*)⁺] ≤ δ raise Var(Δ) by at most b·δ, b the largest (H−G)².

    The paper takes the mean without the positive part, where what is lost on items with a large error can hide behind
    what is gained on items with a small one: u = (.01, 1), π* = (.1, 1), π̃ = (1, .5) is a counterexample.
    """
    b = number(largest_squared_error, name="largest_squared_error", minimum=0)
    return b * number(inverse_rate_excess, name="inverse_rate_excess", minimum=0)


def misjudged_variance_bound_additive(
    *,
    largest_squared_error: float,
    scale: float,
    least_error: float,
    scale_error: float,
    mean_error_error: float,
) -> float:
    """Corollary of Prop. 6, to first order: b (|δ_γ| / (γ² sqrt(ε)) + E|δ_u| / (2 γ ε^{3/2})).

    For rates (γ + δ_γ) sqrt(u + δ_u) that nowhere reach 1, with u ≥ ε.
    """
    b = number(largest_squared_error, name="largest_squared_error", minimum=0)
    gamma = number(scale, name="scale", above=0)
    eps = number(least_error, name="least_error", above=0)
    d_gamma = abs(number(scale_error, name="scale_error"))
    d_u = number(mean_error_error, name="mean_error_error", minimum=0)
    return float(b * (d_gamma / (gamma**2 * math.sqrt(eps)) + d_u / (2 * gamma * eps**1.5)))


def _world(variance: float, weak_cost: float, strong_cost: float) -> tuple[float, float, float]:
    return (
        number(variance, name="variance", above=0),
        number(weak_cost, name="weak_cost", minimum=0),
        number(strong_cost, name="strong_cost", minimum=0),
    )
