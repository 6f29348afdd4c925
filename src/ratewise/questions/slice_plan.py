"""`plan_slices`: how to spend so that every slice is known well enough; and the draw by such a plan.

Whose slice an item is in is known beforehand, so every slice has a plan of its own; with one budget for all, they
share it so that one more unit of money would help each the same (`sum`), or so that all are equally well known
(`worst`).
"""

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np
import scipy

from ratewise.core.checks import Floats, choice, number
from ratewise.core.clusters import Codes
from ratewise.core.document import Column, DataTable, Part, Sentence, noted
from ratewise.core.draw import LineCounts, uniform
from ratewise.core.messages import Message, argument
from ratewise.core.names import OBJECTIVES, Estimand, Objective, Recalibration
from ratewise.core.policy import Problem
from ratewise.core.ratings import Mask
from ratewise.core.result import Result
from ratewise.errors import InputError, PolicyError, TableError
from ratewise.learn.embeddings import Learner
from ratewise.learn.features import refuse_labels
from ratewise.questions.drawing import OVER, Drawn, in_bin, one_line_end, pool_size, prices_of, undrawn
from ratewise.questions.goal import ONE_GOAL, PlanGoal, target_of
from ratewise.questions.people import made_ready
from ratewise.questions.pilot import Pilot, PilotColumns, read_pilot
from ratewise.questions.plan import Plan, plan_mean
from ratewise.questions.policies import AnyPlan, PlannedPolicy
from ratewise.questions.rated import POOL_SIZE, Strong, plain_numbers
from ratewise.questions.slices import slice_called, slice_names
from ratewise.questions.transfer import Transfer, check_rates, plan_errors
from ratewise.tables import Table, TableLike, read_table
from ratewise.tables.words import Meaning, Positive, Scale, meaning_of

_ROUNDS = 4  # of sharing the money, each by what the plans of the last one expect
_TOLERANCE = 1e-12
_RANGE = 1e9  # how far around a first guess the multiplier or the common target may lie


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PlannedSlice(Result):
    """One slice's plan; `reached` is False where its target cannot be, and the plan is then the best there is."""

    name: str
    pool_size: float | None
    target_se: float | None
    plan: Plan | None
    reached: bool
    reason: str | None = None  # why there is no plan, or why the target is out of reach

    @property
    def policy(self) -> PlannedPolicy | None:
        """The policy recommended for this slice."""
        return None if self.plan is None else self.plan.policies[self.plan.recommendation]

    def to_dict(self) -> dict[str, Any]:
        numbers = ("expected_se", "items", "strong_labels", "spend", "mean_rate")
        taken = {"recommendation": None if self.plan is None else self.plan.recommendation}
        taken |= {name: None if self.policy is None else getattr(self.policy, name) for name in numbers}
        return Result.to_dict(self) | taken


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SlicePlan(AnyPlan):
    """A plan for every slice, and what they come to together."""

    by: str
    slices: tuple[PlannedSlice, ...]
    basis: dict[str, Any]  # arguments and the figures found; "inputs" in JSON
    notes: tuple[str, ...] = ()
    shares: Mapping[str, float] = field(repr=False, default_factory=dict)  # of the table's rows

    @property
    def spend(self) -> float:
        """Money for all slices that have a plan."""
        return sum(p.spend for p in self._policies())

    @property
    def strong_labels(self) -> float:
        """Strong labels of all slices that have a plan."""
        return sum(p.strong_labels for p in self._policies())

    @property
    def items(self) -> float:
        """Items of all slices that have a plan."""
        return sum(p.items for p in self._policies())

    @property
    def worst_se(self) -> float | None:
        """The largest standard error of a slice that has a plan."""
        return max((p.expected_se for p in self._policies()), default=None)

    @property
    def overall_se(self) -> float | None:
        """Standard error of the whole, its slices weighted by their shares; `None` where a slice has no plan."""
        if any(one.policy is None for one in self.slices):
            return None
        return math.sqrt(sum((self.shares[one.name] * p.expected_se) ** 2 for one in self.slices if (p := one.policy)))

    def _policies(self) -> list[PlannedPolicy]:
        return [p for one in self.slices if (p := one.policy) is not None]

    def __getitem__(self, name: str) -> PlannedSlice:
        return slice_called(name, self.slices)

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON; `draw` takes it back."""
        overall = {
            "spend": self.spend, "items": self.items, "strong_labels": self.strong_labels,
            "worst_se": self.worst_se, "expected_se": self.overall_se,
        }  # fmt: skip
        return AnyPlan.to_dict(self) | {"overall": overall}

    def _rows(self) -> list[dict[str, Any]]:
        return [{name: x for name, x in one.to_dict().items() if name != "plan"} for one in self.slices]

    def summary(self) -> str:
        out = [one.name for one in self.slices if not one.reached]
        short = f"; out of reach: {', '.join(out)}" if out else ""
        return (
            f"{self.strong_labels:,.0f} strong ratings on {self.items:,.0f} items of {len(self.slices)} slices for "
            f"{self.spend:,.2f}{short}"
        )

    def document(self) -> list[Part]:
        """What to buy in every slice, and what it comes to."""
        table = DataTable([
            Column(self.by, "name"), Column("policy", leaves=1), Column("items"), Column("strong"),
            Column("rate", leaves=2), Column("spend"), Column("std. error"),
        ])  # fmt: skip
        for one in self.slices:
            p, cells = one.policy, ("none", *["–"] * 5)
            if p is not None and one.plan is not None:
                counts = (f"{p.items:,.0f}", f"{p.strong_labels:,.0f}", f"{p.mean_rate:.3f}")
                cells = (one.plan.recommendation, *counts, f"{p.spend:,.2f}", f"{p.expected_se:.4f}")
            table.add(one.name, *cells, style="" if one.reached else "warning")
        whole = "–" if self.overall_se is None else f"{self.overall_se:.4f}"
        cells = ("", f"{self.items:,.0f}", f"{self.strong_labels:,.0f}", "", f"{self.spend:,.2f}", whole)
        table.add("all", *cells, style="strong")
        short = [Sentence(f"{one.name}: {one.reason}", "warning") for one in self.slices if one.reason is not None]
        return [table, *short, *noted(self.notes)]


def plan_slices(
    table: TableLike,
    *,
    by: str,
    weak: str,
    strong: Strong,
    weak_cost: float,
    strong_cost: float,
    target_se: float | Mapping[str, float] | None = None,
    within: float | Mapping[str, float] | None = None,
    level: float = 0.95,
    budget: float | None = None,
    objective: Objective = "sum",
    weights: Mapping[str, float] | None = None,
    pool_sizes: Mapping[str, float] | Literal["table"] | None = None,
    pool_size: float | None = None,
    uncertainty: str | None = None,
    floor: float | None = None,
    calibrate: Recalibration = "none",
    features: Sequence[str] = (),
    text: Sequence[str] = (),
    learner: str | Learner = "words",
    estimand: Estimand = "population",
    positive: Positive = None,
    scale: Scale = None,
    seed: int = 0,
) -> SlicePlan:
    """The cheapest way to a standard error in every slice, or the best use of one budget for all of them.

    `target_se` (or `within`, the half-width of an interval at `level`) is one for all slices or one for each by name.
    With `budget` instead, `objective` says what to make small: the sum of the slices' squared standard errors (times
    `weights`, 1 if absent) or the worst slice's standard error. `pool_sizes` are the numbers of items there
    are, by name, or "table" where the table is the pool; `pool_size` is that of all slices together, shared like the
    table's rows. Without either, slices have no end. The rest is as in `plan`, which makes every slice's plan
    from its own rows.

    A slice whose target is out of reach gets the best plan there is and says so; one without a usable pilot says why;
    the others are planned all the same.
    """
    choice(objective, OBJECTIVES, name="objective")
    target_se = target_of(target_se, within, level)
    if (budget is None) == (target_se is None):
        raise InputError(ONE_GOAL)
    refuse_labels((*features, *text), strong)
    words = meaning_of(positive, scale)
    ready = made_ready(table, strong, weak, words)
    read = ready.table
    names, groups = slice_names(read, by)
    counts = {name: int(np.count_nonzero(groups == name)) for name in names}
    sizes = _pool_sizes(counts, pool_sizes, pool_size)
    columns = PilotColumns(
        weak, ready.strong, uncertainty, calibrate, tuple(features), seed, tuple(text), Learner.said(learner)
    )
    asked = {"weak_cost": weak_cost, "strong_cost": strong_cost, "floor": floor, "estimand": estimand}
    parts = [
        _SliceRows(name, _rows(read, columns, np.asarray(groups == name)), columns, words, sizes[name], asked)
        for name in names
    ]
    notes: tuple[str, ...] = ()
    if budget is not None:
        made, notes = _shared(parts, number(budget, name="budget", above=0), objective, weights)
    else:
        targets = _by_name(target_se, names, "target_se", above=0)
        made = [one.planned(target_se=targets[one.name]) for one in parts]
    few = [one.name for one in made if one.plan is not None and one.plan.basis["labels"] < 50]
    if few:
        notes += (f"fewer than 50 labels in the pilot of {', '.join(few)}: take these figures as rough",)
    basis: dict[str, Any] = {"table": read.name, "rows": read.rows} | columns.to_dict()
    basis |= {"weak_cost": weak_cost, "strong_cost": strong_cost, "budget": budget, "estimand": estimand}
    basis |= {"target_se": target_se, "within": within, "level": level}
    basis["objective"] = None if budget is None else objective
    shares = {name: count / read.rows for name, count in counts.items()}
    return SlicePlan(by, tuple(made), basis, ready.notes + notes, shares)


@dataclass(frozen=True, eq=False)
class _SliceRows:
    """One slice's rows, and what is asked of every slice."""

    name: str
    table: Table
    columns: PilotColumns
    words: Meaning
    size: float | None
    asked: dict[str, Any]  # prices, floor and estimand

    @cached_property
    def pilot(self) -> Pilot:
        """What the labels of the slice say, learned once, however often money is shared out."""
        return read_pilot(self.table, self.columns, imagine=True)

    def planned(self, *, budget: float | None = None, target_se: float | None = None) -> PlannedSlice:
        """The slice's plan, the best there is where its target is out of reach, or why there is none."""
        try:
            return PlannedSlice(self.name, self.size, target_se, self._plan(budget, target_se), True)
        except InputError as error:
            if target_se is None or self.size is None or not isinstance(error, PolicyError):
                return PlannedSlice(self.name, self.size, target_se, None, False, str(error))
        best = self._plan(self.size * (self.asked["weak_cost"] + self.asked["strong_cost"]), None)
        se = best.policies[best.recommendation].expected_se
        why = (
            f"{target_se:g} cannot be reached with {self.size:,.0f} items: strong ratings on all of them give {se:.4g}"
        )
        return PlannedSlice(self.name, self.size, target_se, best, False, why)

    def _plan(self, budget: float | None, target_se: float | None) -> Plan:
        goal = PlanGoal.of(budget=budget, target_se=target_se, pool_size=self.size, **self.asked)
        return plan_mean(self.table, self.pilot, self.columns, goal, words=self.words)

    def curve(self) -> "Curve":
        """What money buys in the slice."""
        return Curve.of(
            self.pilot.error, variance=self.pilot.variance, weak_cost=self.asked["weak_cost"],
            strong_cost=self.asked["strong_cost"], pool_size=math.inf if self.size is None else self.size,
            own_mean=self.asked["estimand"] == "pool",
        )  # fmt: skip


def _rows(table: Table, one: PilotColumns, mask: Mask) -> Table:
    """One slice's rows, with the columns that a plan needs."""
    columns: dict[str, Any] = {one.weak: table.numbers(one.weak), one.strong: plain_numbers(table, one.strong)}
    if one.uncertainty is not None:
        columns[one.uncertainty] = table.numbers(one.uncertainty)
    named = (*one.features, *one.text)
    native = table.to_native() if named else {}
    for name in named:
        table.texts(name, missing="allow")  # a name that is not there is one clear error
        columns[name] = np.asarray(native[name])
    return read_table({name: np.asarray(values)[mask] for name, values in columns.items()})


def _pool_sizes(
    counts: Mapping[str, int], sizes: Mapping[str, float] | str | None, total: float | None
) -> dict[str, float | None]:
    if sizes is not None and total is not None:
        raise InputError("give pool_sizes or pool_size, not both")
    if total is not None:
        N = number(total, name="pool_size", minimum=1)
        rows = sum(counts.values())
        return {name: max(N * count / rows, 1.0) for name, count in counts.items()}
    if sizes is None:
        return dict.fromkeys(counts)
    if isinstance(sizes, str):
        choice(sizes, ("table",), name="pool_sizes")
        return {name: float(count) for name, count in counts.items()}
    return dict(_by_name(sizes, list(counts), "pool_sizes", minimum=1))


def _by_name(
    given: float | Mapping[str, float] | None, names: Sequence[str], what: str, **limit: float
) -> dict[str, float]:
    """A number for every slice: its own, by name, or one for all."""
    if not isinstance(given, Mapping):
        return dict.fromkeys(names, number(given, name=what, **limit))
    lost, extra = [name for name in names if name not in given], [name for name in given if name not in names]
    if lost or extra:
        raise InputError(
            f"{what} must name every slice and no other; "
            + (f"missing: {', '.join(lost)}" if lost else f"not in the table: {', '.join(extra)}")
        )
    return {name: number(given[name], name=f"{what}[{name!r}]", **limit) for name in names}


def _shared(
    parts: Sequence[_SliceRows], budget: float, objective: Objective, weights: Mapping[str, float] | None
) -> tuple[list[PlannedSlice], tuple[str, ...]]:
    """One budget for all slices that have a usable pilot, shared again by what the plans expect from residuals."""
    each = _by_name(1.0 if weights is None else weights, [one.name for one in parts], "weights", above=0)
    if weights is not None and objective == "worst":
        raise InputError("weights are for objective 'sum'; the worst slice is the worst whatever it weighs")
    curves: dict[str, Curve] = {}
    made: dict[str, PlannedSlice] = {}
    for one in parts:
        try:
            curves[one.name] = one.curve()
        except InputError as error:
            made[one.name] = PlannedSlice(one.name, one.size, None, None, False, str(error))
    if not curves:
        raise InputError(f"no slice has a pilot to plan from; the first says: {made[parts[0].name].reason}")
    w = [each[name] for name in curves]
    for _ in range(_ROUNDS):
        spends = dict(zip(curves, shared_budgets(list(curves.values()), budget, w, objective), strict=True))
        made |= {one.name: one.planned(budget=spends[one.name]) for one in parts if one.name in curves}
        for name, spend in spends.items():
            policy = made[name].policy
            if policy is not None and policy.expected_se > 0:
                curves[name] = curves[name].corrected(spend, policy.expected_se**2)
    left = budget - sum(spends.values())
    note = f"{left:,.2f} of the budget are left: every item of every slice has its strong rating"
    return [made[one.name] for one in parts], (note,) if left > 1e-6 * budget else ()


# Sharing one budget: squared error as a function of spend has the slope −1/(s T²) along the optimal policy (s as in
# METHODS section 2): of a slice that need not be looked at whole, s is its own best; of one that is, s grows with the
# money. At the best sharing all slopes, times the slices' weights, are equal. Strong ratings alone have error c_h V/b
# with slope −c_h V/b².


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """Least squared error for the money in one slice."""

    problem: Problem
    strong_cost: float
    pool_size: float
    best: float  # scale of least J; 0 where looking at more items always pays
    lost: float = 0.0  # V/N where the pool's own mean is wanted: its error is less by this, whatever is bought
    factor: float = 1.0  # how much larger the error turns out than u(x) has it

    @classmethod
    def of(
        cls, error: Floats, *, variance: float, weak_cost: float, strong_cost: float, pool_size: float,
        own_mean: bool = False,
    ) -> "Curve":  # fmt: skip
        """The curve from u(x) of the slice's items; costs are per item. `own_mean` asks for the pool's own mean."""
        root = np.sqrt(error / strong_cost)
        problem = Problem(root, strong_cost / root.size, variance, weak_cost, 0.0)
        best = problem.best_scale()
        if best == 0 and math.isinf(pool_size):
            raise PolicyError(
                Message(
                    f"with {argument('weak_cost')} 0 and an unlimited pool there is no best policy; give pool sizes"
                )
            )
        return cls(problem, strong_cost, pool_size, best, variance / pool_size if own_mean else 0.0)

    @property
    def most(self) -> float:
        """Money that can be spent: a strong rating of every item, and no weak one."""
        return self.strong_cost * self.pool_size

    def spend_at(self, multiplier: float) -> float:
        """The spend b of least error(b) + multiplier·b."""
        m, J = multiplier / self.factor, self.strong_cost * self.problem.variance
        alone = min(math.sqrt(J / m), self.most)
        spend, error = self._weak_at(m)
        return alone if J / alone + m * alone < error + m * spend else spend

    def spend_for(self, error: float) -> float:
        """Least money for this squared error; infinite where it cannot be reached."""
        error = (error + self.lost) / self.factor
        if error < self.problem.variance / self.pool_size * (1 - _TOLERANCE):
            return math.inf
        alone = min(self.strong_cost * self.problem.variance / error, self.most)
        return min(alone, self._weak_spend(error))

    def error_for(self, spend: float) -> float:
        """Least squared error for this money: the inverse of `spend_for`."""
        least = self.factor * self.problem.variance / self.pool_size - self.lost
        high = self.factor * self.strong_cost * self.problem.variance / min(spend, self.most) - self.lost
        if math.isfinite(self.pool_size) and (high <= least or spend >= self.spend_for(least)):
            return least
        low, high = max(least, high * 1e-6), high * (1 + 1e-9)  # rounding must not put the root outside
        return float(
            scipy.optimize.brentq(lambda e: self.spend_for(e) - spend, low, high, xtol=1e-300, rtol=_TOLERANCE)
        )

    def corrected(self, spend: float, error: float) -> "Curve":
        """The curve moved so that it gives this squared error for this money."""
        return replace(self, factor=self.factor * (error + self.lost) / (self.error_for(spend) + self.lost))

    def _weak_at(self, multiplier: float) -> tuple[float, float]:
        """The spend with the weak rater where this is the slope, and the error."""
        N = self.pool_size
        if self.best > 0:
            cost, variance = self.problem.cost(self.best), self.problem.item_variance(self.best)
            b = math.sqrt(cost * variance / multiplier)
            if b <= N * cost:
                return b, cost * variance / b
        t = max(self.best, 1.0 / (math.sqrt(multiplier) * N))  # 1/(s N²) = multiplier, s = t²
        return N * self.problem.cost(t), self.problem.item_variance(t) / N

    def _weak_spend(self, error: float) -> float:
        N, problem = self.pool_size, self.problem
        if self.best > 0:
            variance = problem.item_variance(self.best)
            if variance / error <= N:
                return problem.cost(self.best) * variance / error
        if N * error <= problem.variance * (1 + _TOLERANCE):  # a strong rating wherever it can change anything
            return N * (problem.weak_cost + problem.total_mass - problem.idle_mass)
        return N * problem.cost(problem.scale_for_variance(N * error, low=self.best))


def shared_budgets(curves: Sequence[Curve], budget: float, weights: Sequence[float], objective: str) -> list[float]:
    """The budget of each slice, together `budget`; less where all slices can be rated whole."""
    if sum(curve.most for curve in curves) <= budget:
        return [curve.most for curve in curves]
    fewest = sum(curve.strong_cost for curve in curves)
    if budget < fewest:
        raise InputError(f"budget {budget:g} is too small for one strong rating in every slice ({fewest:g})")
    J = [curve.strong_cost * curve.problem.variance for curve in curves]
    if objective == "sum":  # least Σ w error(b): every slice spends until w times its slope is the common multiplier
        guess = 2 * math.log(sum(math.sqrt(w * x) for x, w in zip(J, weights, strict=True)) / budget)
    else:  # one squared error for all; a slice that cannot reach it is rated whole
        guess = math.log(sum(J) / budget)

    def spends(log: float) -> list[float]:
        x = math.exp(log)
        if objective == "sum":
            return [curve.spend_at(x / w) for curve, w in zip(curves, weights, strict=True)]
        return [min(curve.spend_for(x), curve.most) for curve in curves]

    def left(log: float) -> float:
        return budget - sum(spends(log))

    low, high = guess - math.log(_RANGE), guess + math.log(_RANGE)
    if left(low) >= 0:
        found = low
    else:
        found = high if left(high) <= 0 else float(scipy.optimize.brentq(left, low, high, xtol=_TOLERANCE))
    return _exactly([max(b, c.strong_cost) for b, c in zip(spends(found), curves, strict=True)], curves, budget)


def _exactly(spends: list[float], curves: Sequence[Curve], budget: float) -> list[float]:
    """Budgets that add up exactly: what is left over, or short, is shared in proportion."""
    for _ in range(len(curves)):
        total, room = sum(spends), [b < c.most for b, c in zip(spends, curves, strict=True)]
        loose = sum(b for b, r in zip(spends, room, strict=True) if r)
        if abs(total - budget) <= _TOLERANCE * budget or loose <= 0:
            break
        factor = (loose + budget - total) / loose
        spends = [min(b * factor, c.most) if r else b for b, c, r in zip(spends, curves, room, strict=True)]
    return spends


# The draw by a slice plan: every slice's own rates on its own rows, one draw for all


def is_slice_plan(path: str | os.PathLike[str]) -> bool:
    """Whether a file holds a slice plan; what cannot be read does not."""
    return _document(path) is not None


def draw_slices(
    pool: TableLike,
    plan: SlicePlan | str | os.PathLike[str],
    *,
    seed: int,
    id_column: str | None = None,
    within_budget: bool = True,
) -> Drawn:
    """Give every item the rate that its slice's plan gives it, and draw by hash of the seed and the item's id.

    Only as many items of each slice are looked at as its plan foresees, unless `within_budget=False`. Items of slices
    that have no plan get no rate, and a note says so.
    """
    by, transfers = _plans(plan)
    table, ids = undrawn(pool, id_column, ("rate", "selected", POOL_SIZE, "weight", "weak_calibrated"))
    names, groups = slice_names(table, by)
    look, r = (uniform(ids, seed=name) for name in (f"{seed}:look", f"{seed}"))
    columns = {name: np.full(table.rows, np.nan) for name in ("rate", "weight", "weak_calibrated")}
    parts: list[tuple[Codes, int]] = []  # a slice's rows, and how many of them are looked at
    expected = spent = planned = 0.0
    calibrated, notes = True, list[str]()
    for name in names:
        rows, transfer = np.flatnonzero(groups == name), transfers.get(name)
        if transfer is None:
            notes.append(f"slice {name!r} has no plan: its {rows.size:,} items get no rate")
            continue
        needed = transfer.policy == "active" or transfer.weak in table.columns
        weak, error = (x[rows] for x in transfer.columns(table)) if needed else (r[rows], np.zeros(rows.size))
        drift = transfer.drift(weak, error) if needed else None
        if drift is not None and drift.drifted:
            notes.append(f"slice {name!r}: {drift.summary()}")
        part, prices = {"r": r[rows], "look": look[rows], "rate": transfer.rates(error)}, prices_of(transfer)
        end = one_line_end(
            replace(transfer, budget=None), LineCounts.of(part["look"], part["r"], part["rate"]), partial(in_bin, part),
            rows.size, within_budget=within_budget,
        )  # fmt: skip
        count, mean_rate = int(end.items.sum()), 1.0 if transfer.policy == "base" else float(part["rate"].mean())
        columns["rate"][rows] = np.where(end.looked(part), part["rate"], np.nan)
        columns["weak_calibrated"][rows] = weak
        calibrated &= needed and transfer.calibrates
        expected, spent = expected + prices.cost(count, end.rate_sum), spent + prices.cost(count, end.asked)
        planned += prices.cost(transfer.items, transfer.items * mean_rate)
        parts.append((rows, count))
    if not parts:
        raise TableError(f"no slice of {table.name} is in the plan, which has {', '.join(map(repr, transfers))}")
    rates, rows_planned, looked_at = columns["rate"], sum(rows.size for rows, _ in parts), sum(n for _, n in parts)
    check_rates(rates)
    looked = ~np.isnan(rates)
    for rows, count in parts:  # in the mean of all planned slices: W_s T/T_s, 1 on average
        columns["weight"][rows] = rows.size / rows_planned * looked_at / max(count, 1)
    columns["weight"][~looked] = np.nan
    if expected > OVER * planned:
        notes.append(
            Message(
                f"rating all items is expected to cost {expected:,.2f}, more than the {planned:,.2f} planned: draw "
                f"with {argument('within_budget')}, or plan with the sizes that slices have in this pool"
            )
        )
    if not calibrated:
        del columns["weak_calibrated"]
    added = {"rate": rates, "selected": looked & (r < rates), **pool_size(looked), **columns}
    return Drawn.of(table, added, expected=expected, spend=spent, notes=tuple(notes))


def _plans(plan: SlicePlan | str | os.PathLike[str]) -> tuple[str, dict[str, Transfer | None]]:
    if isinstance(plan, SlicePlan):
        return plan.by, {one.name: None if one.plan is None else one.plan.transfer for one in plan.slices}
    document = _document(plan)
    if document is None:
        raise TableError(f"{os.fspath(plan)} is no slice plan; save one that was made by a column")
    with plan_errors(plan):
        made = {one["name"]: one["plan"] and Transfer.from_dict(one["plan"]["transfer"]) for one in document["slices"]}
        return document["by"], made


def _document(path: str | os.PathLike[str]) -> Mapping[str, Any] | None:
    try:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        return None
    return data if isinstance(data, dict) and isinstance(data.get("by"), str) and "slices" in data else None
