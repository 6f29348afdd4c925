"""What a plan aims at: a budget or a precision, the prices, and whose mean."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar, cast

from scipy import special

from ratewise.core.checks import Floats, number, share
from ratewise.core.names import Estimand
from ratewise.core.policy import Policy, optimal_policy
from ratewise.errors import InputError, Message, RatewiseWarning, argument
from ratewise.learn.error_model import DEFAULT_FLOOR_SHARE

ONE_GOAL = Message(
    f"give a budget or a target, {argument('within')} (such as 0.02) or {argument('target_se')} (one of them)"
)


def standard_error_within(within: float, level: float) -> float:
    """The standard error whose plain interval at `level` reaches `within` to either side."""
    half = number(within, name="within", above=0)
    return half / float(special.ndtri(0.5 + share(level, name="level") / 2))


Precision = TypeVar("Precision", bound=float | Mapping[str, float] | None)


def target_of(target_se: Precision, within: Precision, level: float) -> Precision:
    """The target standard error, given as such or as the interval's half-width; one of the two."""
    if within is None:
        return target_se
    if target_se is not None:
        both = f"{argument('within')} and {argument('target_se')} both say how precise"
        raise InputError(Message(f"{both}; give one of them"))
    if isinstance(within, Mapping):
        return cast(Precision, {name: standard_error_within(half, level) for name, half in within.items()})
    return cast(Precision, standard_error_within(cast(float, within), level))


@dataclass(frozen=True, slots=True)
class PlanGoal:
    """What a plan is to reach, and at what prices per item."""

    weak_cost: float
    strong_cost: float
    budget: float | None
    target_se: float | None
    pool_size: float | None
    estimand: Estimand
    floor: float | None = None  # least rate of the active policy; none: a share of its mean rate
    within: float | None = None  # half-width of the interval at `level`, where that is the goal
    level: float = 0.95

    @classmethod
    def of(
        cls,
        weak_cost: float,
        strong_cost: float,
        *,
        budget: float | None = None,
        target_se: float | None = None,
        within: float | None = None,
        level: float = 0.95,
        pool_size: float | None = None,
        estimand: Estimand = "population",
        floor: float | None = None,
        answers: int = 1,
    ) -> "PlanGoal":
        """Legal prices of rating one of an item's answers, and one goal; prices that look swapped are warned of."""
        target = target_of(target_se, within, level)
        c_g = answers * number(weak_cost, name="weak_cost", minimum=0)
        c_h = answers * number(strong_cost, name="strong_cost", above=0)
        if (budget is None) == (target is None):
            raise InputError(ONE_GOAL)
        if budget is not None and number(budget, name="budget", above=0) < c_h:
            raise InputError(
                f"budget {budget:g} is too small for one strong rating ({c_h:g}); raise it to {c_h:g} or more"
            )
        if c_g > c_h:
            said = f"a weak rating costs {c_g:g}, more than a strong one ({c_h:g}); are they swapped?"
            warnings.warn(said, RatewiseWarning, stacklevel=3)
        return cls(c_g, c_h, budget, target, pool_size, estimand, floor, within, level)

    def floors(self, error: Floats, variance: float, shares: Sequence[float] = (DEFAULT_FLOOR_SHARE,)) -> list[float]:
        """The floor that was asked for, or these shares of the mean rate without one."""
        if self.floor is not None:
            return [share(self.floor, name="floor", zero=True, one=True)]
        mean_rate = self.solve(error, variance).mean_rate
        return [share * mean_rate for share in shares]

    def to_dict(self) -> dict[str, Any]:
        """The settings that a plan reports; the floor stands with the policy that has it."""
        return {name: value for name, value in asdict(self).items() if name not in ("floor", "within", "level")}

    def solve(self, error: Floats, variance: float, floor: float = 0.0) -> Policy:
        """The optimal clipped policy."""
        return optimal_policy(
            error, variance=variance, weak_cost=self.weak_cost, strong_cost=self.strong_cost, floor=floor,
            budget=self.budget, target_se=self.target_se, pool_size=self.pool_size, estimand=self.estimand,
        )  # fmt: skip

    def lost_variance(self, V: float) -> float:
        """The variance that the pool's own mean does not have: V/N."""
        return V / self.pool_size if self.estimand == "pool" and self.pool_size else 0.0


def spend_on(
    weak: int, strong: int, weak_cost: float | None, strong_cost: float | None, *, alone: bool = False
) -> float | None:
    """What so many weak and strong ratings cost; `None` where no prices are given.

    Both prices are needed, unless strong ratings stand `alone`.
    """
    if alone and strong_cost is not None:
        weak_cost = 0.0
    if weak_cost is None and strong_cost is None:
        return None
    if weak_cost is None or strong_cost is None:
        both = f"{argument('weak_cost')} and {argument('strong_cost')}"
        raise InputError(Message(f"give both {both} to know the spend, or neither"))
    c_g = number(weak_cost, name="weak_cost", minimum=0)
    return weak * c_g + strong * number(strong_cost, name="strong_cost", minimum=0)


def within(half_width: float, *, points: bool) -> str:
    """± in points where ratings are 0 or 1, else in their own unit."""
    if not points:
        return f"±{half_width:.3g}"
    return f"±{100 * half_width:.1f} points" if half_width >= 0.00095 else f"±{100 * half_width:.1g} points"
