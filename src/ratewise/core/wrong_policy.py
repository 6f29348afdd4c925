"""What a wrong belief about u(x) costs: the policy it makes, priced under the truth (Prop. 6 and its corollary)."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ratewise.core.checks import Floats, finite, number
from ratewise.core.formulas import (
    misjudged_variance_bound,
    misjudged_variance_bound_additive,
    optimal_uniform_rate,
)
from ratewise.core.policy import Policy, optimal_policy
from ratewise.core.result import shown
from ratewise.errors import InputError

_NEVER = 1e-300  # a rate this small is one that is never drawn


@shown
@dataclass(frozen=True, slots=True)
class PolicyPrice:
    """A policy under the true u: Var(Δ) is infinite where an item that errs is never rated."""

    mean_rate: float
    cost_per_item: float
    variance_per_item: float  # Var(Δ)
    error_times_budget: float  # J
    error_ratio: float  # J over that of strong ratings alone

    def to_dict(self) -> dict[str, float]:
        """A dictionary, ready for JSON."""
        names = ("mean_rate", "cost_per_item", "variance_per_item", "error_times_budget", "error_ratio")
        return {name: getattr(self, name) for name in names}


@shown
@dataclass(frozen=True, slots=True, eq=False)
class WrongPolicy:
    """The policy that a believed u makes, beside the best one, one rate for all, and strong ratings alone.

    `excess_variance` is Var(Δ) of the believed policy less that of the optimal one, exactly; it is below 0 where the
    believed policy rates more than is best, and pays for it. `bound` is Prop. 6's (corrected) and never below it;
    `additive_bound` is the corollary's, right to first order in the belief's error.
    """

    believed: PolicyPrice
    optimal: PolicyPrice
    uniform: PolicyPrice
    base_error_times_budget: float
    excess_variance: float
    bound: float
    additive_bound: float | None
    notes: tuple[str, ...]
    rates: Floats = field(repr=False)  # of the believed policy
    optimal_rates: Floats = field(repr=False)

    @property
    def ratio(self) -> float:
        """Squared error for the same money over that of the optimal policy; at least 1."""
        return self.believed.error_times_budget / self.optimal.error_times_budget

    @property
    def ratio_to_uniform(self) -> float:
        """Error over that of one rate for all items; above 1, ignoring u would have been better."""
        return self.believed.error_times_budget / self.uniform.error_times_budget

    @property
    def ratio_to_base(self) -> float:
        """Error over that of strong ratings alone; above 1, the weak rater should not have been bought."""
        return self.believed.error_ratio

    def to_dict(self) -> dict[str, Any]:
        """The numbers without the rates, ready for JSON."""
        return {
            "believed": self.believed.to_dict(), "optimal": self.optimal.to_dict(), "uniform": self.uniform.to_dict(),
            "base_error_times_budget": self.base_error_times_budget, "ratio": self.ratio,
            "ratio_to_uniform": self.ratio_to_uniform, "ratio_to_base": self.ratio_to_base,
            "excess_variance": self.excess_variance, "bound": self.bound, "additive_bound": self.additive_bound,
            "notes": list(self.notes),
        }  # fmt: skip

    def summary(self) -> str:
        """One line for people."""
        return (
            f"the believed error costs {self.ratio:.3g} times the squared error of the right one for the same money "
            f"({self.ratio_to_uniform:.3g} times that of one rate for all, {self.ratio_to_base:.3g} times that of "
            "strong ratings alone)"
        )

    def __str__(self) -> str:
        return self.summary()


def cost_of_wrong_policy(
    error: ArrayLike,
    believed_error: ArrayLike,
    *,
    variance: float,
    weak_cost: float,
    strong_cost: float,
    weights: ArrayLike | None = None,
    floor: float = 0.0,
    believed_variance: float | None = None,
    largest_squared_error: float | None = None,
) -> WrongPolicy:
    """What it costs to act on `believed_error` where u(x) is `error`, exactly.

    Both policies are optimal for their u, with the same floor. `believed_variance` is V as believed (the true one if
    absent); `largest_squared_error` is b, a bound on (H−G)² (the largest u if absent, which is enough for Prop. 6).

    Limiting cases: a right belief gives ratio 1; a constant belief gives one rate for all, the best one if it is E[u];
    a belief of 0 without a floor, where the item errs, gives an infinite error.
    """
    u, v = finite(error, name="error", minimum=0), finite(believed_error, name="believed_error", minimum=0)
    if u.ndim != 1 or u.shape != v.shape:
        raise InputError(f"error and believed_error must be one number per item each; got {u.shape} and {v.shape}")
    V = number(variance, name="variance", above=0)
    c_g, c_h = number(weak_cost, name="weak_cost", minimum=0), number(strong_cost, name="strong_cost", above=0)
    w = np.full(u.size, 1.0 / u.size) if weights is None else finite(weights, name="weights", minimum=0)
    b = float(u.max()) if largest_squared_error is None else number(largest_squared_error, name="largest_squared_error")
    if b < u.max():
        raise InputError(f"largest_squared_error is {b:g}, less than the largest error {u.max():g}; it bounds them all")

    def solve(x: Floats, spread: float) -> Policy:
        return optimal_policy(x, variance=spread, weak_cost=c_g, strong_cost=c_h, weights=w, floor=floor)

    best = solve(u, V)
    made = solve(v, V if believed_variance is None else believed_variance)
    w = w / w.sum()
    world = TrueWorld(u, w, V, c_g, c_h)
    believed, optimal = world.price(made.rates), world.price(best.rates)
    excess = _excess(made.rates, best.rates, u, w)
    additive, why = _additive(u, v, made, best, w, b, floor)
    return WrongPolicy(
        believed=believed,
        optimal=optimal,
        uniform=world.price(np.full(u.size, max(_uniform_rate(world), floor))),
        base_error_times_budget=c_h * V,
        excess_variance=believed.variance_per_item - optimal.variance_per_item,
        bound=misjudged_variance_bound(largest_squared_error=b, inverse_rate_excess=excess)
        if math.isfinite(excess)
        else math.inf,
        additive_bound=additive,
        notes=() if why is None else (why,),
        rates=made.rates,
        optimal_rates=best.rates,
    )


@dataclass(frozen=True, slots=True, eq=False)
class TrueWorld:
    """The true error, variance and costs."""

    u: Floats
    w: Floats
    V: float
    c_g: float
    c_h: float

    def price(self, pi: Floats) -> PolicyPrice:
        """Cost, Var(Δ) = V + E[u (1/π − 1)] and J of any rates."""
        rate = float(np.dot(self.w, pi))
        cost = self.c_g + self.c_h * rate
        counts = (self.u > 0) & (self.w > 0)
        never = bool(np.any(counts & (pi <= _NEVER)))
        odds = np.divide(1.0 - pi, pi, out=np.zeros_like(pi), where=counts & (pi > _NEVER))
        variance = math.inf if never else self.V + float(np.dot(self.w * self.u, odds))
        return PolicyPrice(rate, cost, variance, cost * variance, cost * variance / (self.c_h * self.V))


def _uniform_rate(world: TrueWorld) -> float:
    """Prop. 1's p*; a rate that is never drawn where that is 0."""
    M = float(np.dot(world.w, world.u))
    p = optimal_uniform_rate(M, variance=world.V, weak_cost=world.c_g, strong_cost=world.c_h).rate
    return p if p > 0 else _NEVER


def _excess(made: Floats, best: Floats, u: Floats, w: Floats) -> float:
    """E[(1/π̃ − 1/π*)⁺] over the items that err: where u is 0 a rate adds nothing to Var(Δ)."""
    counts = (u > 0) & (w > 0)
    if np.any(made[counts] <= _NEVER):
        return math.inf
    return float(np.dot(w[counts], np.maximum(1.0 / made[counts] - 1.0 / best[counts], 0.0)))


def _additive(
    u: Floats, v: Floats, made: Policy, best: Policy, w: Floats, b: float, floor: float
) -> tuple[float | None, str | None]:
    """The corollary's bound, or why it does not apply."""
    counts = w > 0
    if floor > 0:
        return None, "the corollary is for rates without a floor"
    if made.rates[counts].max() >= 1 or best.rates[counts].max() >= 1:
        return None, "the corollary is for rates that nowhere reach 1"
    least = float(u[counts].min())
    if least <= 0 or v[counts].min() <= 0:
        return None, "the corollary needs errors above 0 everywhere"
    return misjudged_variance_bound_additive(
        largest_squared_error=b, scale=best.scale, least_error=least, scale_error=made.scale - best.scale,
        mean_error_error=float(np.dot(w, np.abs(v - u))),
    ), None  # fmt: skip
