"""`plan`: how to spend a budget, every policy side by side, and one recommendation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from ratewise.core.checks import Floats
from ratewise.core.document import Part, Sentence, noted
from ratewise.core.estimate import expected_half_width
from ratewise.core.messages import Message, argument
from ratewise.core.names import Estimand, Recalibration
from ratewise.core.ratings import ratings
from ratewise.core.score import likely
from ratewise.core.wrong_policy import Assumed, WhatIf
from ratewise.core.wrong_policy import what_if as tried
from ratewise.errors import InputError
from ratewise.learn.embeddings import Learner
from ratewise.learn.features import refuse_labels
from ratewise.learn.texts import use_note
from ratewise.questions.draw_checks import warn_of_choice
from ratewise.questions.goal import PlanGoal, within
from ratewise.questions.input_plan import in_words, plan_inputs
from ratewise.questions.old_labels import AT_RANDOM, BesideLabels, read_before
from ratewise.questions.people import made_ready
from ratewise.questions.pilot import Pilot, PilotColumns, learn_pilot, read_pilot
from ratewise.questions.policies import PolicyPlan, Widths, side_by_side
from ratewise.questions.rated import Ready, Strong
from ratewise.questions.strata import InputPlan, read_strata, strata_sizes
from ratewise.questions.transfer import Derived, KnownLabels, Reference, Transfer
from ratewise.tables import Table, TableLike, count_rows
from ratewise.tables.spark import is_spark, with_value
from ratewise.tables.words import Meaning, Positive, Scale, meaning_of

_WORTH_A_HINT = 0.9  # calibration is hinted at when it would cut the error to this share


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

    def half(rates: Floats, items: float) -> float | None:
        return expected_half_width(pilot.weak, chance, rates, items=items, pool_size=size, level=goal.level)

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


# Beside labels that the table has already: they are free, and money buys what they have not given


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
