"""Policies side by side: what each costs and gives for the same goal, and which one to take."""

import html
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, ClassVar, Protocol, cast

import numpy as np
import scipy
from scipy import special

from ratewise.core.checks import Floats
from ratewise.core.names import PolicyName
from ratewise.core.ratings import LARGEST_SCALE, active_rates
from ratewise.core.result import FrameKind, Span, frame_of_rows, shown, spans_picture
from ratewise.learn.error_model import DEFAULT_FLOOR_SHARE
from ratewise.questions.goal import PlanGoal
from ratewise.tables.write import write_text

NEAR_TIE_IN_PRICE = 0.01
"""The simpler policy is preferred unless squared error times spend is smaller by more than this share."""


class AnyPlan(Protocol):
    """What every `plan_*` gives: it prints, goes into a file, and `draw_pool` draws by it."""

    @property
    def basis(self) -> dict[str, Any]:
        """The arguments and the figures that the plan rests on."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes beside the numbers."""

    def summary(self) -> str:
        """The plan in words; `str(plan)` is the same."""

    def to_dict(self) -> dict[str, Any]:
        """A dictionary, ready for JSON."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the plan as JSON."""


@shown
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
    half_width: float | None = None  # of the interval to expect, where the standard error does not say it

    def within(self, level: float) -> float:
        """How far the interval is expected to reach to either side."""
        return float(special.ndtri(0.5 + level / 2)) * self.expected_se if self.half_width is None else self.half_width

    def to_dict(self) -> dict[str, float]:
        """The numbers that apply to this policy, ready for JSON."""
        return {name: value for name, value in asdict(self).items() if value is not None}


class World(Protocol):
    """What a labelled pilot says of a question: its errors as those of one mean."""

    @property
    def variance(self) -> float:
        """V, of strong ratings alone."""

    @property
    def weak_error(self) -> float:
        """M, on average over the labelled rows."""

    @property
    def error(self) -> Floats:
        """u(x) of all rows."""

    @property
    def held_out_error(self) -> Floats:
        """u(x) of the labelled rows, from models that have not seen them."""

    def item_variance(self, rates: Floats) -> float:
        """Var(Δ) with these rates of the labelled rows."""


@dataclass(frozen=True, slots=True, eq=False)
class SideBySide:
    """The three policies, the one to take, and its rates for all rows of the pilot's table."""

    policies: dict[str, PlannedPolicy]
    recommendation: PolicyName
    rates: Floats


Widths = Callable[[Floats, float], float | None]
"""Half-width of the interval to expect, from the rates of all rows (1 for all: strong ratings alone) and the items."""


def side_by_side(world: World, goal: PlanGoal, widths: Widths | None = None) -> SideBySide:
    """Strong ratings alone, one rate for all, and rates that follow u(x), each by the pilot's own residuals.

    Rates that follow u(x) rise until a target is reached in a pool, if the model of u expects too much. Where `widths`
    are known, each policy buys what the interval asked for takes, and the floor is that of the narrowest interval: of
    the floors within a twentieth of it, that of the least variance.
    """
    shares = _FLOOR_SHARES[:1] if widths is None else _FLOOR_SHARES
    floors = goal.floors(world.error, world.variance, shares)
    base, random = (_reached(make, world, goal, widths)[0] for make in (_base, _random))
    followed = [_reached(partial(_followed, floor=floor), world, goal, widths) for floor in floors]
    active, rates = _best_floor(followed, goal)
    policies = {"base": base, "random": random, "active": active}
    name = recommend(policies, goal.lost_variance(world.variance), level=goal.level)
    return SideBySide(policies, name, rates if name == "active" else np.full(rates.size, policies[name].mean_rate))


_FLOOR_SHARES = (DEFAULT_FLOOR_SHARE, 0.3, 0.5, 0.7)  # of the mean rate
_NEAR_LEAST_WIDTH = 1.05
_TRIES = 4  # at a standard error that makes the interval as narrow as it should be
_Made = tuple[PlannedPolicy, Floats]  # and the rates of all rows


def _base(world: World, goal: PlanGoal) -> _Made:
    return planned_base(world.variance, goal), np.ones(world.error.size)


def _random(world: World, goal: PlanGoal) -> _Made:
    uniform = goal.solve(np.array([world.weak_error]), world.variance)
    p = float(uniform.rates[0])
    variance = world.item_variance(np.full(world.held_out_error.size, p))
    return planned(p, variance, goal, world.variance, uniform.items, rate=p), np.full(world.error.size, p)


def _followed(world: World, goal: PlanGoal, *, floor: float) -> _Made:
    active = _active(world, goal, floor)
    rates = active.of(world.error)
    policy = planned(
        float(rates.mean()), world.item_variance(active.of(world.held_out_error)), goal, world.variance, active.items,
        scale=active.scale, floor=active.floor,
    )  # fmt: skip
    return policy, rates


def _reached(make: Callable[[World, PlanGoal], _Made], world: World, goal: PlanGoal, widths: Widths | None) -> _Made:
    """The policy with the interval to expect; where a half-width is the goal, with as much more as it takes."""
    policy, rates = make(world, goal)
    if widths is None:
        return policy, rates
    aim = goal
    for _ in range(_TRIES):
        half = widths(rates, policy.items)
        if half is None or goal.within is None or half <= goal.within or aim.target_se is None:
            break
        aim = replace(aim, target_se=aim.target_se * goal.within / half)
        again, rates = make(world, aim)
        if again.spend <= policy.spend:  # the pool has ended
            break
        policy = again
    return replace(policy, half_width=half), rates


def _best_floor(made: Sequence[_Made], goal: PlanGoal) -> _Made:
    """The policy of least variance for the money among those whose interval is nearly the narrowest for it."""
    value = [one.within(goal.level) ** 2 * one.spend for one, _ in made]
    near = [k for k, x in enumerate(value) if x <= _NEAR_LEAST_WIDTH**2 * min(value)]
    return made[min(near, key=lambda k: made[k][0].expected_se ** 2 * made[k][0].spend)]


@dataclass(frozen=True, slots=True)
class _Active:
    """Rates clip(scale·sqrt(u), floor, 1), and how many items to look at."""

    scale: float
    floor: float
    items: float | None

    def of(self, error: Floats) -> Floats:
        return active_rates(error, scale=self.scale, floor=self.floor)


def _active(world: World, goal: PlanGoal, floor: float) -> _Active:
    """The optimal policy for the model of u; where a pool ends before a target is reached, as much more as it takes."""
    policy = goal.solve(world.error, world.variance, floor)
    found = _Active(min(policy.scale, LARGEST_SCALE), policy.floor, policy.items)
    if goal.target_se is None or goal.pool_size is None:
        return found
    wanted = goal.pool_size * (goal.target_se**2 + goal.lost_variance(world.variance))

    def excess(log_scale: float) -> float:
        rates = active_rates(world.held_out_error, scale=math.exp(log_scale), floor=policy.floor)
        return world.item_variance(rates) - wanted

    low, high = math.log(max(found.scale, 1e-12)), math.log(LARGEST_SCALE)
    if excess(low) <= 0:  # reached before the pool ends, unless the solver already thought it would not be
        low = math.log(1e-12) if policy.pool_limited and found.scale < LARGEST_SCALE else low
        if not policy.pool_limited or excess(low) <= 0:
            return found
    if excess(high) > 0:  # some items with u = 0 are wrong all the same: rate everything
        return _Active(LARGEST_SCALE, 1.0, goal.pool_size)
    scale = math.exp(float(scipy.optimize.brentq(excess, low, high, xtol=1e-13)))
    return _Active(scale, policy.floor, goal.pool_size)


def planned(
    mean_rate: float,
    variance: float,
    goal: PlanGoal,
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


def planned_base(V: float, goal: PlanGoal) -> PlannedPolicy:
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


def recommend(policies: Mapping[str, PlannedPolicy], lost: float, *, level: float = 0.95) -> PolicyName:
    """The narrowest interval for the money; of nearly equal ones the least error, and on a near tie the simpler one."""
    best: PolicyName = "base"
    rivals: tuple[PolicyName, ...] = ("random", "active")
    for name in rivals:
        ours, simpler = policies[name], policies[best]
        better = price(ours, lost) < (1 - NEAR_TIE_IN_PRICE) * price(simpler, lost)
        if ours.half_width and simpler.half_width:
            wider = math.sqrt(ours.spend / simpler.spend) * ours.within(level) / simpler.within(level)
            better = wider * _NEAR_LEAST_WIDTH < 1 or (better and wider <= _NEAR_LEAST_WIDTH)
        if better:
            best = name
    return best


def price(policy: PlannedPolicy, lost: float = 0.0) -> float:
    """Squared error (around the population's mean, so that it is never 0) times spend: J, where no pool ends first."""
    return (policy.expected_se**2 + lost) * policy.spend


class ShowsPolicies:
    """What plans with policies side by side can do: be saved, be a frame, and show themselves."""

    __slots__ = ()
    error_name: ClassVar[str] = "standard error"
    policies: dict[str, PlannedPolicy]
    reason: str

    def to_frame(self, kind: FrameKind | None = None) -> Any:
        """A row for each policy, as a pandas, Polars or PyArrow frame."""
        return frame_of_rows([{"policy": name} | asked.to_dict() for name, asked in self.policies.items()], kind)

    def save(self: AnyPlan, path: str | os.PathLike[str]) -> None:
        """Write the plan as JSON."""
        save_plan(self, path)

    def summary(self) -> str:
        """The recommendation in words."""
        return self.reason

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return policies_html(self.policies, self.reason, error=self.error_name)


def policies_html(policies: Mapping[str, PlannedPolicy], reason: str, *, error: str) -> str:
    """A table and a picture for notebooks, and the reason below; `error` is what the last column is called."""
    head = f"<tr><th>policy</th><th>items</th><th>strong ratings</th><th>spend</th><th>{error}</th></tr>"
    rows = "".join(
        f"<tr><td>{name}</td><td>{p.items:,.0f}</td><td>{p.strong_labels:,.0f}</td><td>{p.spend:,.2f}</td>"
        f"<td>{p.expected_se:.4g}</td></tr>"
        for name, p in policies.items()
    )
    halves = {name: p.within(0.95) for name, p in policies.items()}
    best = min(halves, key=lambda name: halves[name])
    spans = [Span(f"{name}: ± {half:.3g}", 0.0, -half, half, marked=name == best) for name, half in halves.items()]
    said = ", ".join(f"{name} {half:.3g}" for name, half in halves.items())
    drawn = spans_picture(spans, f"Half-width of the 95 % interval to expect: {said}")
    return f"<table>{head}{rows}</table>{drawn}<p>{html.escape(reason)}</p>"


def save_plan(plan: AnyPlan, path: str | os.PathLike[str]) -> None:
    """Write a plan as JSON."""
    write_text(path, json.dumps(plan.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n")
