"""`plan`: how to spend a budget, every policy side by side, and one recommendation; by strata where these help."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np

from ratewise.core.allocation import InputChoice, choose_inputs
from ratewise.core.checks import Floats, share
from ratewise.core.document import Part, Sentence, noted
from ratewise.core.estimate import expected_half_width
from ratewise.core.formulas import Assumed, WhatIf
from ratewise.core.formulas import what_if as tried
from ratewise.core.names import Estimand, PolicyName, Recalibration
from ratewise.core.ratings import LARGEST_SCALE, ratings
from ratewise.core.score import likely
from ratewise.errors import InputError, Message, argument
from ratewise.learn.embeddings import Learner
from ratewise.learn.error_model import DEFAULT_FLOOR_SHARE
from ratewise.learn.features import refuse_labels
from ratewise.learn.texts import use_note
from ratewise.questions.drawing import AT_RANDOM, Before, read_before
from ratewise.questions.goal import PlanGoal, within
from ratewise.questions.policies import (
    Pilot,
    PilotColumns,
    PlannedPolicy,
    PolicyPlan,
    Widths,
    learn_pilot,
    read_pilot,
    side_by_side,
)
from ratewise.questions.rated import Ready, Strong, made_ready, warn_of_choice
from ratewise.questions.strata import Codes, InputPlan, StratumPlan, read_strata, shrunk, strata_sizes
from ratewise.questions.transfer import Derived, KnownLabels, Reference, Transfer
from ratewise.tables import Table, TableLike, count_rows
from ratewise.tables.spark import is_spark, with_value
from ratewise.tables.words import Meaning, Positive, Scale, meaning_of

_WORTH_CHOOSING = 0.95  # of the error without: strata are chosen by figures from a pilot, which are rough
_FEWEST_ITEMS = 2.0  # of a stratum, and
_FEWEST_LABELS = 2.0  # of its strong ratings, so that its spread can be estimated
_MOST_STEPS = 12  # towards a target
_LEAST_SHARE = 0.1  # of the items that a stratum would have in proportion: a defensive mixture, as for rates


# How many items of each stratum to look at (METHODS section 8)


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


_WORTH_A_HINT = 0.9  # calibration is hinted at when it would cut the error to this share


# The plan


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Plan(PolicyPlan):
    """Three policies side by side, the one to take, and all that is needed to apply it to a pool."""

    transfer: Transfer
    by_stratum: InputPlan | None = None  # how many items of each stratum to look at, where strata were given
    what_if: WhatIf | None = None  # what wrong beliefs would cost, where that was asked for

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON; `draw` takes it back."""
        out = PolicyPlan.to_dict(self)
        chosen = {"inputs_by_stratum": out.pop("by_stratum"), "what_if": out.pop("what_if")}
        return out | {name: value for name, value in chosen.items() if value is not None}

    @property
    def drawn_by(self) -> Transfer:
        return self.transfer

    def document(self) -> list[Part]:
        """Every policy side by side, the recommendation, and what was asked for besides."""
        strata: list[Part] = [] if self.by_stratum is None else [Sentence(), self.by_stratum.table()]
        wrong = [] if self.what_if is None else [Sentence(), *self.what_if.document()]
        return [*self._policies(), *strata, *wrong, *noted(self.notes)]


def plan(
    table: TableLike,
    *,
    weak: str,
    strong: Strong,
    weak_cost: float,
    strong_cost: float,
    budget: float | None = None,
    target_se: float | None = None,
    within: float | None = None,
    level: float = 0.95,
    uncertainty: str | None = None,
    pool_size: float | None = None,
    floor: float | None = None,
    calibrate: Recalibration = "none",
    features: Sequence[str] = (),
    text: Sequence[str] = (),
    learner: str | Learner = "words",
    strata: str | None = None,
    pool: TableLike | None = None,
    estimand: Estimand = "population",
    drawn: str | None = None,
    positive: Positive = None,
    scale: Scale = None,
    seed: int = 0,
    what_if: bool = False,
) -> Plan:
    """Base, random and active policies for a budget or a precision to reach, from a labelled pilot.

    The precision is `target_se`, a standard error, or `within`, how far the interval at `level` reaches to either side.
    The rows with a strong rating are the pilot and are taken as a random sample of the pool; V, E[(H−G)²] and each
    policy's error come from them. `uncertainty` names a column with u(x); without it u is g(1−g) for a probability of a
    0/1 rating, else fitted to the squared residuals. `floor` is the least rate of the active policy (default: a tenth
    of its mean rate). `calibrate` maps the weak rating to the strong one first; with "auto" both the rating and u are
    learned as campaigns do, from `features` too, and from columns of `text`, which ask for it; `learner` is as in
    `simulate`. `strata` names a column of groups that are known beforehand: the plan
    then also says how many items of each to look at, and `draw` goes by that where it helps. Their shares are those of
    `pool`, the table that will be rated, else of this one. Words as ratings and several people's columns are as in
    `estimate_table`.

    With `drawn` the table is the pool itself and its labels count: they are free, `draw` does not ask for them again
    and the estimate pools them with the new ones. It says how they were drawn: "at random", "by hand", or a column of
    rates.

    `what_if` adds what the plan loses if prices, V, the weak rater's error or u are wrong by a factor, and how it
    depends on the size of a burn-in.
    """
    goal = PlanGoal.of(
        weak_cost, strong_cost, budget=budget, target_se=target_se, within=within, level=level, pool_size=pool_size,
        estimand=estimand, floor=floor,
    )  # fmt: skip
    refuse_labels((*features, *text), strong)
    if is_spark(table):  # whose rows without a label say nothing here
        names = [strong] if isinstance(strong, str) else list(strong)
        table = with_value(table, [name.strip() for name in ",".join(names).split(",")])
    words = meaning_of(positive, scale)
    ready = made_ready(table, strong, weak, words)
    read = ready.table
    columns = PilotColumns(
        weak, ready.strong, uncertainty, calibrate, tuple(features), seed, tuple(text), Learner.said(learner)
    )
    pilot = read_pilot(read, columns, imagine=True)
    rated = None if pool is None or strata is None else strata_sizes(pool, strata)
    if pool is not None:
        rows = float(count_rows(pool) if rated is None else sum(rated.values()))
        goal = goal if goal.pool_size is not None else replace(goal, pool_size=rows)
    told = {"strong": ready.typed, "within": within, "level": level}
    notes = ready.notes
    if ready.votes is not None:
        several = f"a strong rating is the mean of up to {len(ready.votes.people)} people's votes"
        notes += (Message(f"{several}: {argument('strong_cost')} is the price of all of them"),)
    if columns.text and pilot.models is not None:
        notes += (use_note(columns.text, pilot.models.text is not None, int(pilot.strong.size)),)
    if drawn is not None:
        if what_if:
            raise InputError(
                Message(
                    f"{argument('what_if')} is for a plan from a pilot; leave it out, or leave {argument('drawn')} out"
                )
            )
        if strata is not None or pool is not None:
            raise InputError("with drawn the table is the pool itself, without strata; leave pool and strata out")
        goal = replace(goal, pool_size=float(read.rows))
        made = plan_mean(read, pilot, columns, goal, hints=False, words=words, told=told)
        return _beside_labels(made, read, pilot, goal, ready, drawn, notes + _agreement_note(pilot))
    todo = (
        "the plan is one for rows like these. To use these labels as they are, say that they were picked "
        f"({argument('drawn')} 'by hand')"
    )
    warn_of_choice(read, pilot.labelled, {weak: read.numbers(weak)}, apart=ready.names, todo=todo)
    widths = _widths(pilot, goal)
    made = plan_mean(read, pilot, columns, goal, words=words, told=told, notes=notes, widths=widths)
    if what_if:
        made = replace(made, what_if=_wrong_beliefs(pilot, goal, made.policies[made.recommendation].spend, seed))
    return made if strata is None else _with_strata(made, strata, read, rated, pilot, goal)


def plan_mean(
    table: Table,
    pilot: Pilot,
    columns: PilotColumns,
    goal: PlanGoal,
    *,
    words: Meaning,
    told: Mapping[str, Any] | None = None,
    notes: tuple[str, ...] = (),
    derived: Derived | None = None,
    widths: Widths | None = None,
    hints: bool = True,
) -> Plan:
    """The plan of a mean, from what was learned; `derived` says how a pool gets columns that only this table has.

    `told` are further figures it rests on, and `notes` come before its own.
    """
    sides = side_by_side(pilot, goal, widths)
    points = bool(np.isin(pilot.strong, (0.0, 1.0)).all())
    worse = (
        "choosing items by this uncertainty does worse here than one rate for all: it does not show where the weak "
        "rater errs"
    )
    active = sides.policies["active"]
    transfer = Transfer(
        policy=sides.recommendation,
        rate=sides.policies["random"].mean_rate,
        scale=cast(float, active.scale),
        floor=cast(float, active.floor),
        weak=columns.weak,
        uncertainty=columns.uncertainty,
        variance=pilot.variance,
        weak_error=pilot.weak_error,
        weak_cost=goal.weak_cost,
        strong_cost=goal.strong_cost,
        budget=goal.budget,
        items=sides.best.items,
        pool_size=goal.pool_size,
        calibration=pilot.calibration,
        error_model=pilot.error_model,
        reference=Reference.of(pilot.weak, pilot.error),
        models=pilot.models,
        words=words,
        derived=derived,
    )
    notes += _budget_note(goal) + _agreement_note(pilot) + sides.notes(pilot.strong.size, 50, worse)
    found = {"variance": pilot.variance, "weak_error": pilot.weak_error, "error_source": pilot.error_source}
    asked = {"table": table.name, "rows": table.rows, "labels": int(pilot.strong.size)} | columns.to_dict()
    return Plan(
        recommendation=sides.recommendation,
        reason=sides.reason(
            goal, pilot.variance, lambda policy: within(policy.within(goal.level), points=points), errors=True,
            useless="The weak rater is not worth buying here: its squared error is "
            f"{pilot.weak_error / pilot.variance:.0%} of the strong ratings' variance, and",
            follows="the weak rater is likely wrong",
        ),
        basis=asked | goal.to_dict() | found | {"strata": None} | dict(told or {}),
        policies=sides.policies,
        transfer=transfer,
        notes=notes + (_calibration_hint(table, pilot, columns, goal) if hints else ()),
        rates=sides.rates,
    )  # fmt: skip


def _widths(pilot: Pilot, goal: PlanGoal) -> Widths | None:
    """Half-widths to expect of 0/1 ratings; those of others are ± z standard errors."""
    if pilot.error_model.source == "column" or not np.isin(pilot.strong, (0.0, 1.0)).all():
        return None  # a column says what u is
    strong = np.full(pilot.weak.size, np.nan)
    strong[pilot.labelled] = pilot.strong
    data = ratings(pilot.weak, strong, pilot.labelled.mean())
    chance = likely(data.weak, data)  # of a 1
    size = goal.pool_size if goal.estimand == "pool" else None
    ones = float(pilot.strong.sum())

    def half(rates: Floats, items: float) -> float | None:
        return expected_half_width(
            pilot.weak, chance, rates, ends=(pilot.strong.size - ones, ones), items=items, pool_size=size,
            labels=None if goal.budget is None else items * float(rates.mean()), level=goal.level,
        )  # fmt: skip

    return half


def _wrong_beliefs(pilot: Pilot, goal: PlanGoal, spend: float, seed: int) -> WhatIf:
    """What wrong beliefs would cost a plan from this pilot; to a target, with the money that it takes."""
    mean = float(pilot.error.mean())
    u = pilot.error * (pilot.weak_error / mean) if mean > 0 else np.full(pilot.error.size, pilot.weak_error)
    budget = spend if goal.budget is None else goal.budget
    truth = Assumed(
        u, pilot.variance, goal.weak_cost, goal.strong_cost, budget, goal.pool_size,
        goal.estimand == "pool", goal.floor,
    )  # fmt: skip
    return tried(truth, pilot.strong, pilot.squared, rng=np.random.default_rng([seed, 17]))


def _with_strata(
    made: Plan, column: str, table: Table, pool: dict[str, int] | None, pilot: Pilot, goal: PlanGoal
) -> Plan:  # fmt: skip
    """The plan with the strata of the pool (of the table, where none is given), judged by the pilot's labels."""
    own = names, code = read_strata(table, column, None if pool is None else tuple(pool))
    counts = np.bincount(code, minlength=len(names)) if pool is None else list(pool.values())
    sizes = np.asarray(counts, dtype=np.float64)
    best = made.policies[made.recommendation]
    chosen = plan_inputs(column, own, sizes, pilot, goal, best)
    return replace(
        made,
        reason=f"{made.reason} {in_words(chosen, best, target=goal.target_se is not None)}",
        basis=made.basis | {"strata": column},
        transfer=replace(made.transfer, inputs=chosen if chosen.worth_it else None),
        by_stratum=chosen,
    )


# Notes


def _budget_note(goal: PlanGoal) -> tuple[str, ...]:
    """The note about a budget that would buy a strong rating of the whole pool: cents for dollars, as a rule."""
    if goal.budget is None or goal.pool_size is None or goal.budget < goal.pool_size * goal.strong_cost:
        return ()
    whole = f"{goal.pool_size:,.0f} items, which cost {goal.pool_size * goal.strong_cost:,.2f} together"
    return (
        f"the budget of {goal.budget:,.2f} pays for a strong rating of each of the {whole}, so nothing would be left "
        "to estimate: are the budget and the prices in one unit of money?",
    )


def _agreement_note(pilot: Pilot) -> tuple[str, ...]:
    if pilot.agreed is None:
        return ()
    return (
        f"all {pilot.strong.size} labels are {pilot.agreed:g}, so mistakes have not been seen yet: the plan takes one "
        "of them as a mistake that the weak rater did not see. Plan again when a mistake has been found",
    )


def _calibration_hint(table: Table, pilot: Pilot, columns: PilotColumns, goal: PlanGoal) -> tuple[str, ...]:
    """A note on what an affine calibration would do to the best uniform policy; empty if little."""
    if columns.calibrate != "none" or pilot.strong.size < 20 or pilot.agreed is not None:
        return ()
    g, h = table.numbers(columns.weak), table.numbers(columns.strong, missing="allow")
    calibrated = learn_pilot(g, h, None, calibrate="affine", seed=0)
    before = min(1.0, goal.solve(np.array([pilot.weak_error]), pilot.variance).error_ratio)
    after = min(1.0, goal.solve(np.array([calibrated.weak_error]), pilot.variance).error_ratio)
    if after > _WORTH_A_HINT * before:
        return ()
    return (
        Message(
            f"the weak ratings are off the strong ones' scale: with {argument('calibrate affine')} a single rate would "
            f"leave {after:.0%} of the error of strong ratings alone instead of {before:.0%}"
        ),
    )


# Beside labels that the table has already (METHODS section 13): they are free, and money buys what they have not given.
#
# The best π for the money is clip(γ·sqrt(u), p₀, 1). u is learned from the old labels, so the π of an old label comes
# from a u that has not seen it: else a large residual would raise the rate around it, and so lower what it counts.


_STEPS = 200  # of a bisection, to the last bit
_FEWEST = 50  # labels that u is fitted to; with fewer it is one number
_NEAR_TIE = 0.01  # a simpler policy is preferred unless another has a variance smaller by more than this share


Solved = tuple[PlannedPolicy, Floats, Floats]
"""A policy; π of all rows, each old label's by a rule made without it; the squared error by all labels but each."""


@dataclass(frozen=True, eq=False)
class BesideLabels:
    """What old labels have taught and given, and what new ones are to reach."""

    pilot: Pilot
    before: Before
    goal: PlanGoal

    @property
    def by_price(self) -> bool:
        """Whether the least money for a target is wanted, and not the least error for a budget."""
        return self.goal.budget is None

    def random(self) -> Solved:
        """One rate for all."""
        even = np.ones(self.before.labelled.size)
        policy, rates, without = self._solved(even, even[self.before.labelled], 0.0)
        return replace(policy, rate=policy.scale, scale=None, floor=None), rates, without

    def active(self) -> Solved:
        """Rates that follow u(x), each label's by a u that has not seen it.

        Where u is fitted, that is on the level of u with it, since the same money is spent.
        """
        floor = (
            DEFAULT_FLOOR_SHARE
            if self.goal.floor is None
            else share(self.goal.floor, name="floor", zero=True, one=True)
        )
        squared, unseen = self.pilot.squared, self.pilot.held_out_error
        if self.pilot.error_source == "fitted" and squared.size >= _FEWEST:
            rest = (squared.sum() - squared) / (squared.size - 1)
            unseen = unseen * squared.mean() / np.maximum(rest, 1e-300)
        return self._solved(np.sqrt(self.pilot.error), np.sqrt(unseen), floor)

    def _solved(self, root: Floats, unseen: Floats, floor: float) -> Solved:
        """π = clip(γ·root, floor, 1) beside p₀, for as many labels as the budget pays for, or for the target.

        `root` is sqrt(u) of all rows, `unseen` that of the labels; `floor` is a share of γ·mean(root).
        """
        least, goal, before = floor * float(root.mean()), self.goal, self.before

        def rates(scale: float) -> tuple[Floats, Floats]:
            of_all, of_labels = (np.clip(scale * np.maximum(x, least), 1e-12, 1.0) for x in (root, unseen))
            return of_all, of_labels

        def enough(scale: float) -> bool:
            wanted, own = rates(scale)
            if goal.budget is None:
                return self._variance(own) <= (goal.target_se or 0.0) ** 2
            return before.labels(wanted) >= min(goal.budget / goal.strong_cost, float(before.askable.sum()))

        low, high = 0.0, LARGEST_SCALE
        for _ in range(_STEPS):
            middle = float(np.sqrt(max(low, 1e-12) * high))
            low, high = (low, middle) if enough(middle) else (middle, high)
        wanted, own = rates(high)
        total = wanted.copy()
        total[self.pilot.labelled] = own
        pi, labels, variance = before.total(total), before.labels(wanted), self._variance(own)
        spend, rival = labels * goal.strong_cost, self.base.expected_se**2
        policy = PlannedPolicy(
            error_times_budget=spend * variance,
            error_ratio=variance / rival if rival > 0 else math.inf,
            expected_se=math.sqrt(variance),
            items=float(root.size),
            strong_labels=labels,
            spend=spend,
            mean_rate=float(pi.mean()),
            scale=high,
            threshold=1.0 / high,
            floor=min(high * least, 1.0),
        )
        return policy, pi, self._without(own)

    # Squared error of the pooled estimate at given rates of the labels, from their squared residuals

    def _variance(self, own: Floats) -> float:
        weights, added = self._parts(own)
        return self._whole(float(np.average(added, weights=weights)))

    def _without(self, own: Floats) -> Floats:
        weights, added = self._parts(own)
        rest = np.maximum(weights.sum() - weights, 1e-300)
        return np.array([self._whole(x) for x in (np.dot(weights, added) - weights * added) / rest])

    def _parts(self, own: Floats) -> tuple[Floats, Floats]:
        squared, given = self.pilot.squared, self.before.rates[self.before.labelled]
        if self.before.known:  # the labels stand for the others, which have no rate of their own yet
            return np.ones(squared.size), squared * (1.0 / own - 1.0)
        weights = np.ones(squared.size) if self.before.teach else 1.0 / given
        return weights, squared * (1.0 / np.maximum(own, given) - 1.0)

    def _whole(self, added: float) -> float:
        n, V = self.before.labelled.size, self.pilot.variance
        if self.before.known:
            return (n - self.pilot.strong.size) * added / n**2
        return (added + (V if self.goal.estimand == "population" else 0.0)) / n

    # Strong ratings alone

    @cached_property
    def base(self) -> PlannedPolicy:
        """Strong ratings alone: those that the budget pays for, that reach the target, or all there are."""
        goal, high = self.goal, float(self.before.askable.sum())
        if goal.budget is not None:
            labels = min(goal.budget / goal.strong_cost, high)
        else:
            low, aim = 0.0, (goal.target_se or 0.0) ** 2
            for _ in range(_STEPS):
                middle = 0.5 * (low + high)
                low, high = (low, middle) if self._alone(middle) <= aim else (middle, high)
            labels = high
        error, spend = math.sqrt(self._alone(labels)), labels * goal.strong_cost
        items = labels + (0 if self.before.teach else int(self.before.labelled.sum()))
        rate = min(items / self.before.labelled.size, 1.0)
        return PlannedPolicy(spend * error**2, 1.0, error, items, labels, spend, rate)

    def _alone(self, new: float) -> float:
        """Squared error of old and new strong ratings, or only of new ones where the old ones do not count."""
        n, old, V = self.before.labelled.size, int(self.before.labelled.sum()), self.pilot.variance
        if self.before.known:
            others = n - old
            return (others / n) ** 2 * V * max(1.0 / max(new, 1e-9) - 1.0 / others, 0.0)
        labels = new if self.before.teach else old + new
        lost = 1.0 / n if self.goal.estimand == "pool" else 0.0
        return float(V * max(1.0 / max(labels, 1e-9) - lost, 0.0))

    # Which one to take, and what to say of it

    def recommended(self, random: Solved, active: Solved) -> PolicyName:
        """The simpler policy on a near tie. Strong ratings alone save nothing: weak ones are there."""
        even, sharp = (p.strong_labels if self.by_price else p.expected_se**2 for p, *_ in (random, active))
        return "active" if sharp < (1 - _NEAR_TIE) * even else "random"

    def own_rates(self, random: Solved, active: Solved) -> Floats:
        """The rate of each old label, by the policy that would have been recommended without it."""
        even, sharp = (rates[self.before.labelled] for _, rates, _ in (random, active))
        if self.by_price:
            return sharp if self.recommended(random, active) == "active" else even
        return np.where(active[2] < (1 - _NEAR_TIE) * random[2], sharp, even)

    def reason(self, name: PolicyName, best: PlannedPolicy, says: Callable[[PlannedPolicy], str]) -> str:
        """The recommendation in words; `says` tells the precision of a policy."""
        how = "at one rate for all" if name == "random" else "most often where the weak rater is likely wrong"
        counted = "teach and are free" if self.before.teach else "count and are free"
        return (
            f"The {int(self.before.labelled.sum()):,} labels that are there {counted}. Buy about "
            f"{best.strong_labels:,.0f} more for {best.spend:,.2f}, {how}: {says(best)} from all labels together, "
            f"instead of {says(self.base).removesuffix(' points')} without the weak rater "
            f"(standard error {best.expected_se:.4g} instead of {self.base.expected_se:.4g})."
        )

    def notes(self, best: PlannedPolicy) -> tuple[str, ...]:
        """What labels picked by hand count, and whether the weak rating makes the plan worse."""
        notes = ["weak ratings are in the table already and cost nothing more"] if self.goal.weak_cost > 0 else []
        if self.before.known:
            notes.append("labels picked by hand count as known values of their items, for this pool's own mean only")
        if self.before.teach:
            only = "labels picked by hand can only teach for a population's mean; for this pool's own mean they count"
            notes.append(Message(f"{only}: {argument('estimand pool')}"))
        base = self.base
        if best.spend > base.spend if self.by_price else best.expected_se > base.expected_se:
            if self.pilot.calibration is None and self.pilot.models is None:
                worse = "the weak rating as it stands makes the expected error larger than strong ratings alone would"
                notes.append(Message(f"{worse}: map it to the strong one first ({argument('calibrate auto')})"))
            else:
                worse = "even calibrated, the weak rating makes the expected error no smaller than strong ratings alone"
                notes.append(f"{worse} would")
        return tuple(notes)


def _beside_labels(
    made: Plan, table: Table, pilot: Pilot, goal: PlanGoal, labels: Ready, drawn: str, notes: tuple[str, ...]
) -> Plan:
    """The plan where all labels count, only new ones cost, and the table's weak ratings are there already."""
    weak = made.transfer.weak
    before = read_before(table, labels.strong, drawn, goal.estimand)
    if drawn == AT_RANDOM:
        todo = f"say how they were drawn ({argument('drawn')}): 'by hand', or a column of rates"
        warn_of_choice(table, before.labelled, {weak: table.numbers(weak)}, apart=labels.names, todo=todo)
    if not before.askable.any():
        raise InputError(f"every row of {table.name} has a label already; there is nothing left to buy")
    beside = BesideLabels(pilot, before, goal)
    found = random, active = beside.random(), beside.active()
    name, policies = beside.recommended(*found), {"base": beside.base, "random": random[0], "active": active[0]}
    best, ids = policies[name], tuple(table.ids()[before.labelled].tolist())
    own, weak_of_labels = beside.own_rates(*found), pilot.strong - pilot.residual
    old = KnownLabels(labels.typed, drawn, goal.estimand, ids, tuple(own.tolist()), tuple(weak_of_labels.tolist()))
    points = bool(np.isin(pilot.strong, (0.0, 1.0)).all())
    transfer = replace(
        made.transfer, policy=name, rate=cast(float, random[0].rate), scale=cast(float, active[0].scale),
        floor=cast(float, active[0].floor), items=active[0].items, old=old,
    )  # fmt: skip
    return replace(
        made,
        recommendation=name,
        reason=beside.reason(name, best, lambda policy: within(policy.within(goal.level), points=points)),
        basis=made.basis | {"drawn": drawn},
        policies=policies,
        transfer=transfer,
        notes=notes + beside.notes(best),
        rates=(random if name == "random" else active)[1],
    )
