"""Rounds with a chain of raters: everyone rates the first items, then each step is bought as often as it pays.

u_k(x) = E[(H − R_k)²|x] is learned from the items that all raters have rated, by what the first rater said; the rates
are those of METHODS section 2. Every item counts with the rates it was drawn with, so the estimate is unbiased.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ratewise.core.checks import Floats
from ratewise.core.policy import gains, optimal_policy, pooled_gain_per_cost
from ratewise.core.ratings import LARGEST_SCALE
from ratewise.design.chain import carried
from ratewise.design.options import floor_share
from ratewise.learn.error_model import ErrorModel, fit_error


@dataclass(frozen=True, slots=True)
class ChainRule:
    """q_k(x) = clip(sqrt(s · gain per cost), floor, 1) by what the first rater said."""

    errors: tuple[ErrorModel, ...]  # u_0 … u_{K−1}
    costs: tuple[float, ...]
    scale: float  # sqrt(s)
    floor: float

    def rates(self, weak: Floats) -> Floats:
        """Items × steps, never increasing along a row."""
        u = np.stack([model.predict(weak) for model in self.errors], axis=1)
        root = np.sqrt(pooled_gain_per_cost(gains(u), np.array(self.costs)))
        with np.errstate(invalid="ignore"):
            return np.clip(np.nan_to_num(self.scale * root, nan=1.0, posinf=1.0), self.floor, 1.0)

    def to_dict(self) -> dict[str, Any]:
        """A dictionary, ready for JSON."""
        errors = [model.to_dict() for model in self.errors]
        return {"errors": errors, "costs": list(self.costs), "scale": self.scale, "floor": self.floor}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "ChainRule":
        """The inverse of `to_dict`."""
        errors = tuple(ErrorModel.from_dict(model) for model in data["errors"])
        return cls(errors, tuple(data["costs"]), data["scale"], data["floor"])


@dataclass(frozen=True, slots=True)
class ChainPlan:
    """A rule, whether it is worth it, and what it is expected to give."""

    rule: ChainRule
    worth_it: bool
    expected_variance: float


def plan_chain(
    weak: Floats,
    values: Floats,
    rates: Floats,
    *,
    weak_cost: float,
    costs: tuple[float, ...],
    worth: float,
    pool_size: float,
) -> ChainPlan:
    """The best rule for money of `worth` in all, from items seen: what the first said, and what the others did.

    `rates` are those that the items were drawn with, whose inverse weighs the items that all have rated.
    """
    whole = ~np.isnan(values[:, -1])
    h, w = values[whole, -1], 1.0 / rates[whole, -1]
    before = carried(np.column_stack([weak, values[:, :-1]]))[whole]
    mean = float(np.dot(w, h) / w.sum())
    spread = float(np.dot(w, (h - mean) ** 2) / w.sum())
    prior = 2.0 / (h.size + 2) * max(spread, float(h.max() - h.min()) ** 2 / 12, 1e-12)
    V = spread + prior  # labels that are all alike, or show no error, are no proof that there is none
    errors = tuple(fit_error(weak[whole], np.sqrt((h - r) ** 2 + prior)) for r in before.T)
    u = np.stack([model.predict(weak) for model in errors], axis=1)
    floor, share = 0.0, floor_share(h.size, highest=1.0)
    pool = None if math.isinf(pool_size) else pool_size
    for _ in range(2):
        policy = optimal_policy(
            u, variance=V, weak_cost=weak_cost, strong_cost=list(costs), budget=worth, pool_size=pool, floor=floor
        )
        floor = min(share * policy.mean_rate, 1.0)
    assert policy.expected_se is not None
    scale = min(policy.scale, LARGEST_SCALE)
    return ChainPlan(ChainRule(errors, costs, scale, policy.floor), policy.worth_it, policy.expected_se**2)
