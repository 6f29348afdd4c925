"""How many items of each stratum to look at, from a labelled pilot (METHODS section 8)."""

import math
from dataclasses import dataclass, replace

import numpy as np

from ratewise.core.allocation import InputChoice, choose_inputs
from ratewise.core.checks import Floats
from ratewise.errors import InputError
from ratewise.learn.error_model import DEFAULT_FLOOR_SHARE
from ratewise.questions.goal import PlanGoal
from ratewise.questions.pilot import Pilot
from ratewise.questions.policies import PlannedPolicy
from ratewise.questions.strata import Codes, InputPlan, StratumPlan, shrunk

_WORTH_CHOOSING = 0.95  # of the error without: strata are chosen by figures from a pilot, which are rough
_FEWEST_ITEMS = 2.0  # of a stratum, and
_FEWEST_LABELS = 2.0  # of its strong ratings, so that its spread can be estimated
_MOST_STEPS = 12  # towards a target
_LEAST_SHARE = 0.1  # of the items that a stratum would have in proportion: a defensive mixture, as for rates


@dataclass(frozen=True, slots=True, eq=False)
class _StrataWorld:
    """What the pilot says of the strata, as far as its few labels can be believed."""

    P: Floats
    N: Floats | None
    code: Codes  # stratum of each label
    squared: Floats  # squared residual of each label
    unseen: Floats  # u of each label, by the others
    labels: Floats  # of each stratum, as what follows
    mean: Floats
    variance: Floats
    weak_error: Floats
    level: Floats  # what u(x) is multiplied by in each stratum, to have the mean that its labels show
    within: list[Floats] | None  # u(x) of each stratum's rows, at that level

    def chosen(self, goal: PlanGoal, floor: Floats | float, least: Floats | float) -> InputChoice:
        return choose_inputs(
            self.variance, self.weak_error if self.within is None else self.within, probabilities=self.P,
            sizes=self.N, weak_cost=goal.weak_cost, strong_cost=goal.strong_cost, budget=goal.budget,
            target_se=goal.target_se, estimand=goal.estimand, floor=floor, least=least,
        )  # fmt: skip

    def defended(self, goal: PlanGoal) -> tuple[InputChoice, Floats]:
        """The best choice with a floor on rates, and enough items of each stratum that no misjudged one hurts much."""
        floor = goal.floor
        free = self.chosen(goal, 0.0 if floor is None else floor, 0.0)
        assert free.items is not None
        mean_rate = float(free.items @ free.rates / free.items.sum())
        f = DEFAULT_FLOOR_SHARE * mean_rate if floor is None else floor
        least = np.maximum(_LEAST_SHARE * self.P * free.items.sum(), _FEWEST_ITEMS)
        floors = np.clip(_FEWEST_LABELS / np.maximum(free.items, least), f, 1.0)
        try:
            return self.chosen(goal, floors, least), floors
        except InputError:  # so little money that it does not pay for the fewest of each: then as it comes
            return free, np.full(self.P.size, 0.0 if floor is None else floor)

    def added(self, found: InputChoice, scales: Floats, floors: Floats) -> Floats:
        """E[u (1/π − 1)|s]: where rates follow u(x), by the labels' own residuals and what u was without them."""
        if self.within is None:
            return np.asarray(np.where(found.buys_weak, self.weak_error * (1.0 / found.rates - 1.0), 0.0))
        scale = scales[self.code]
        with np.errstate(invalid="ignore"):
            rates = np.where(np.isfinite(scale), scale * np.sqrt(self.unseen), 1.0)
        rates = np.clip(rates, np.maximum(floors[self.code], 1e-100), 1.0)
        added = shrunk(self.squared * (1.0 / rates - 1.0), self.code, self.P.size)
        return np.asarray(np.where(found.buys_weak, added, 0.0))

    def error_of(self, found: InputChoice, added: Floats, goal: PlanGoal) -> float:
        """Variance of the estimate: Σ P² (V + added)/T, less the pool's own variance where its own mean is asked for.

        For the population a pool's shares are those of a sample, so differences between strata add to it.
        """
        assert found.items is not None
        variance = float((self.P**2 * (self.variance + added) / found.items).sum())
        if self.N is None:
            return variance
        if goal.estimand == "pool":
            return variance - float((self.P**2 * self.variance / self.N).sum())
        centre = float(self.P @ self.mean)
        return variance + float(self.P @ (self.mean - centre) ** 2) / float(self.N.sum())


def plan_inputs(
    column: str,
    strata: tuple[tuple[str, ...], Codes],
    sizes: Floats,
    pilot: Pilot,
    goal: PlanGoal,
    rival: PlannedPolicy,
) -> InputPlan:
    """The best numbers and rates for the strata that `sizes` counts, which are those of the target.

    `strata` are those of the pilot's rows, and `rival` is the best policy that does not choose items by stratum. With a
    pool size the pool has so many items, in the same shares.
    """
    world = _world(strata, sizes, pilot, goal.pool_size, follows=rival.scale is not None)
    aim = goal
    for _ in range(_MOST_STEPS):  # with the error that the labels promise, until a target is met
        found, floors = world.defended(aim)
        scales = found.scales * np.sqrt(world.level)  # of u(x) as the pilot's model has it
        se = math.sqrt(max(world.error_of(found, world.added(found, scales, floors), goal), 0.0))
        if goal.target_se is None or aim.target_se is None or se <= goal.target_se * (1 + 1e-6) or found.used_up.all():
            break
        aim = replace(aim, target_se=aim.target_se * goal.target_se / se * (1 - 1e-7))
    assert found.items is not None
    assert found.spend is not None
    ratio = (se / rival.expected_se) ** 2 * found.spend / rival.spend if rival.expected_se > 0 else math.inf
    follows = (world.within is not None) & np.isfinite(scales)
    return InputPlan(
        column=column,
        policy="random" if world.within is None else "active",
        strata=tuple(
            StratumPlan(
                name, float(world.P[s]), None if world.N is None else float(world.N[s]), int(world.labels[s]),
                float(world.mean[s]), float(world.variance[s]), float(world.weak_error[s]), float(found.items[s]),
                float(found.rates[s]), float(scales[s]) if follows[s] else None, float(floors[s]),
                bool(found.buys_weak[s]),
            )
            for s, name in enumerate(strata[0])
        ),
        spend=found.spend,
        expected_se=se,
        error_ratio=ratio if math.isfinite(ratio) else 1.0,
        worth_it=ratio < _WORTH_CHOOSING,
    )  # fmt: skip


def _world(
    strata: tuple[tuple[str, ...], Codes], sizes: Floats, pilot: Pilot, pool_size: float | None, *, follows: bool
) -> _StrataWorld:
    names, every = strata
    use = (every >= 0)[pilot.labelled]
    S, code, h = len(names), every[pilot.labelled][use], pilot.strong[use]
    n = np.bincount(code, minlength=S).astype(np.float64)
    if not (n >= 2).any():
        raise InputError("no stratum has two strong ratings in the pilot; label more, or merge strata")
    sums = np.bincount(code, weights=h, minlength=S)
    own = np.divide(sums, n, out=np.full(S, float(h.mean())), where=n > 0)
    many = n[code] >= 2
    squared = (h - own[code]) ** 2 * n[code] / np.maximum(n[code] - 1, 1)
    weak_error = shrunk(pilot.squared[use], code, S)
    rows = [pilot.error[every == s] for s in range(S)]
    means = np.array([float(u.mean()) if u.size else 0.0 for u in rows])
    level = np.divide(weak_error, means, out=np.ones(S), where=means > 0)
    P = sizes / sizes.sum()
    return _StrataWorld(
        P=P,
        N=None if pool_size is None else P * pool_size,
        code=code,
        squared=pilot.squared[use],
        unseen=pilot.held_out_error[use],
        labels=n,
        mean=shrunk(h, code, S),
        variance=shrunk(squared[many], code[many], S),
        weak_error=weak_error,
        level=level if follows else np.ones(S),
        within=[u * level[s] if u.size else weak_error[s : s + 1] for s, u in enumerate(rows)] if follows else None,
    )


def in_words(plan: InputPlan, rival: PlannedPolicy, *, target: bool) -> str:
    """A sentence for the recommendation: what choosing items by stratum would change."""
    by = f"by strata of {plan.column!r}"
    if not plan.worth_it:
        return f"Choosing the items {by} would not help enough: it would leave {plan.error_ratio:.0%} of that error."
    what = f"{plan.items:,.0f} items and about {plan.strong_labels:,.0f} strong ratings"
    if target:
        return (
            f"Better, choose the items {by}: {what} reach it for {plan.spend:,.2f} instead of {rival.spend:,.2f} "
            f"({1 - plan.spend / rival.spend:.0%} less)."
        )
    return (
        f"Better, choose the items {by}: {what} give a standard error of {plan.expected_se:.4g} instead of "
        f"{rival.expected_se:.4g} for the same money ({1 - plan.error_ratio:.0%} less squared error)."
    )
