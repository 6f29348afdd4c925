"""Policies side by side: what each costs and gives for the same goal, and which one to take."""

import html
import math
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import cast

from ratewise.core.checks import Floats, number
from ratewise.core.mean.policy import Policy, optimal_policy
from ratewise.core.names import Estimand, PolicyName
from ratewise.errors import InputError, RatewiseWarning

NEAR_TIE_IN_PRICE = 0.01
"""The simpler policy is preferred unless squared error times spend is smaller by more than this share."""


@dataclass(frozen=True, slots=True)
class PlannedPolicy:
    """What one policy would cost and give, by the pilot's own residuals."""

    error_times_budget: float  # J
    error_ratio: float  # over base
    expected_se: float
    items: float
    strong_labels: float
    spend: float
    mean_rate: float
    rate: float | None = None
    scale: float | None = None
    threshold: float | None = None
    floor: float | None = None

    def to_dict(self) -> dict[str, float]:
        """Without what does not apply to this policy."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True, slots=True)
class Goal:
    """What is to be reached, and at which prices."""

    weak_cost: float
    strong_cost: float
    budget: float | None
    target_se: float | None
    pool_size: float | None
    estimand: Estimand

    def solve(self, error: Floats, variance: float, floor: float = 0.0) -> Policy:
        """The optimal clipped policy."""
        return optimal_policy(
            error, variance=variance, weak_cost=self.weak_cost, strong_cost=self.strong_cost, floor=floor,
            budget=self.budget, target_se=self.target_se, pool_size=self.pool_size, estimand=self.estimand,
        )  # fmt: skip

    def lost_variance(self, V: float) -> float:
        """The pool's mean, not the population's: V/N less."""
        return V / self.pool_size if self.estimand == "pool" and self.pool_size else 0.0


def planned(
    mean_rate: float,
    variance: float,
    goal: Goal,
    V: float,
    items: float | None,
    *,
    rate: float | None = None,
    scale: float | None = None,
    floor: float | None = None,
) -> PlannedPolicy:
    """What a policy with this mean rate and variance per item costs and gives; `items` is where it ends, if it does."""
    N, cost = math.inf if goal.pool_size is None else goal.pool_size, goal.weak_cost + goal.strong_cost * mean_rate
    lost = goal.lost_variance(V)
    if goal.target_se is not None:
        T = min(variance / (goal.target_se**2 + lost), N)
    else:
        T = min(cast(float, items), cast(float, goal.budget) / cost)
    return PlannedPolicy(
        error_times_budget=cost * variance,
        error_ratio=cost * variance / (goal.strong_cost * V),
        expected_se=math.sqrt(max(variance / T - lost, 0.0)),
        items=T,
        strong_labels=T * mean_rate,
        spend=T * cost,
        mean_rate=mean_rate,
        rate=rate,
        scale=scale,
        threshold=None if scale is None else 1.0 / scale,
        floor=floor,
    )


def planned_base(V: float, goal: Goal) -> PlannedPolicy:
    """Strong ratings alone; the pool may end before the money does."""
    N = math.inf if goal.pool_size is None else goal.pool_size
    lost = goal.lost_variance(V)
    wanted = (
        goal.budget / goal.strong_cost if goal.budget is not None else V / (cast(float, goal.target_se) ** 2 + lost)
    )
    items = min(wanted, N)
    J = goal.strong_cost * V
    se = math.sqrt(max(V / items - lost, 0.0))
    return PlannedPolicy(J, 1.0, se, items, items, items * goal.strong_cost, 1.0, rate=1.0)


def recommend(policies: Mapping[str, PlannedPolicy], lost: float) -> PolicyName:
    """Least error for the money; on a near tie the simpler one."""
    best: PolicyName = "base"
    rivals: tuple[PolicyName, ...] = ("random", "active")
    for name in rivals:
        if price(policies[name], lost) < (1 - NEAR_TIE_IN_PRICE) * price(policies[best], lost):
            best = name
    return best


def price(policy: PlannedPolicy, lost: float = 0.0) -> float:
    """Squared error (around the population's mean, so that it is never 0) times spend: J, where no pool ends first."""
    return (policy.expected_se**2 + lost) * policy.spend


def policies_html(policies: Mapping[str, PlannedPolicy], reason: str, *, error: str) -> str:
    """A table for notebooks, and the reason below; `error` is what the last column is called."""
    head = f"<tr><th>policy</th><th>items</th><th>strong ratings</th><th>spend</th><th>{error}</th></tr>"
    rows = "".join(
        f"<tr><td>{name}</td><td>{p.items:,.0f}</td><td>{p.strong_labels:,.0f}</td><td>{p.spend:,.2f}</td>"
        f"<td>{p.expected_se:.4g}</td></tr>"
        for name, p in policies.items()
    )
    return f"<table>{head}{rows}</table><p>{html.escape(reason)}</p>"


def checked_costs(
    weak: float, strong: float, budget: float | None, target_se: float | None, *, stacklevel: int = 3
) -> tuple[float, float]:
    """Legal prices, and one goal; prices that look swapped are warned of."""
    c_g = number(weak, name="weak_cost", minimum=0)
    c_h = number(strong, name="strong_cost", above=0)
    if (budget is None) == (target_se is None):
        raise InputError("give a budget or a target, within (such as 0.02) or target_se (one of them)")
    if budget is not None and number(budget, name="budget", above=0) < c_h:
        raise InputError(f"budget {budget:g} is too small for one strong rating ({c_h:g}); raise it to {c_h:g} or more")
    if c_g > c_h:
        warnings.warn(
            f"a weak rating costs {c_g:g}, more than a strong one ({c_h:g}); are they swapped?",
            RatewiseWarning,
            stacklevel=stacklevel,
        )
    return c_g, c_h
