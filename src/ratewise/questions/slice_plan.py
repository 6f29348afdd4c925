"""`plan_slices`: how to spend so that every slice is known well enough.

Whose slice an item is in is known beforehand, so every slice has a plan of its own; with one budget for all, they
share it so that one more unit of money would help each the same (`sum`), or so that all are equally well known
(`worst`).
"""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from ratewise.core.checks import choice, number
from ratewise.core.names import OBJECTIVES, Estimand, Objective, Recalibration
from ratewise.core.result import FrameKind, frame_of_rows, shown
from ratewise.errors import InputError, PolicyError
from ratewise.learn.features import refuse_labels
from ratewise.learn.text.learner import Learner
from ratewise.questions.money import Curve, shared_budgets
from ratewise.questions.people import Strong, made_ready
from ratewise.questions.pilot import Pilot, PilotColumns, read_pilot
from ratewise.questions.plan import Plan, plan_mean
from ratewise.questions.precision import ONE_GOAL, target_of
from ratewise.questions.side_by_side import Goal, PlannedPolicy, save_plan
from ratewise.questions.slice_names import slice_names
from ratewise.tables import Table, TableLike, read_table
from ratewise.tables.words import Meaning, Positive, Scale, meaning_of

_ROUNDS = 4  # of sharing the money, each by what the plans of the last one expect


@shown
@dataclass(frozen=True, slots=True, eq=False)
class PlannedSlice:
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
        """A dictionary, ready for JSON."""
        p = self.policy
        numbers = ("expected_se", "items", "strong_labels", "spend", "mean_rate")
        return {
            "name": self.name, "pool_size": self.pool_size, "target_se": self.target_se, "reached": self.reached,
            "reason": self.reason, "recommendation": None if self.plan is None else self.plan.recommendation,
            **{name: None if p is None else getattr(p, name) for name in numbers},
            "plan": None if self.plan is None else self.plan.to_dict(),
        }  # fmt: skip


@shown
@dataclass(frozen=True, slots=True, eq=False)
class SlicePlan:
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
        for one in self.slices:
            if one.name == name:
                return one
        raise InputError(f"there is no slice {name!r}; there are {', '.join(repr(one.name) for one in self.slices)}")

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON; `draw` takes it back."""
        overall = {
            "spend": self.spend, "items": self.items, "strong_labels": self.strong_labels,
            "worst_se": self.worst_se, "expected_se": self.overall_se,
        }  # fmt: skip
        return {
            "by": self.by, "inputs": self.basis, "slices": [one.to_dict() for one in self.slices], "overall": overall,
            "notes": list(self.notes),
        }  # fmt: skip

    def to_frame(self, kind: FrameKind | None = None) -> Any:
        """A row for each slice, as a pandas, Polars or PyArrow frame."""
        rows = [{name: x for name, x in one.to_dict().items() if name != "plan"} for one in self.slices]
        return frame_of_rows(rows, kind)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the plan as JSON."""
        save_plan(self, path)

    def summary(self) -> str:
        """One line for people."""
        out = [one.name for one in self.slices if not one.reached]
        short = f"; out of reach: {', '.join(out)}" if out else ""
        return (
            f"{self.strong_labels:,.0f} strong ratings on {self.items:,.0f} items of {len(self.slices)} slices for "
            f"{self.spend:,.2f}{short}"
        )

    def __str__(self) -> str:
        return self.summary()


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
    ready = made_ready(table, strong=strong, weak=(weak,), positive=positive, scale=scale)
    read = ready.table
    names, groups = slice_names(read, by)
    counts = {name: int(np.count_nonzero(groups == name)) for name in names}
    sizes = _pool_sizes(counts, pool_sizes, pool_size)
    columns = PilotColumns(
        weak, ready.strong, uncertainty, calibrate, tuple(features), seed, tuple(text), Learner.said(learner)
    )
    one = _One(columns, weak_cost, strong_cost, floor, estimand, meaning_of(positive, scale))
    tables = {name: _Rows(_rows(read, columns, np.asarray(groups == name)), columns) for name in names}
    if budget is not None:
        made, notes = _shared(tables, sizes, one, number(budget, name="budget", above=0), objective, weights)
    else:
        targets = _targets(names, target_se)
        made = [_to_target(name, tables[name], sizes[name], one, targets[name]) for name in names]
        notes = ()
    basis: dict[str, Any] = {"table": read.name, "rows": read.rows} | columns.to_dict()
    basis |= {"weak_cost": weak_cost, "strong_cost": strong_cost, "budget": budget, "estimand": estimand}
    basis["target_se"] = dict(target_se) if isinstance(target_se, Mapping) else target_se
    basis |= {"within": dict(within) if isinstance(within, Mapping) else within, "level": level}
    basis["objective"] = None if budget is None else objective
    shares = {name: count / read.rows for name, count in counts.items()}
    return SlicePlan(by, tuple(made), basis, ready.notes + notes + _small_pilots(made), shares)


@dataclass(frozen=True, eq=False)
class _Rows:
    """One slice's rows. What they teach is learned once, however often money is shared out."""

    table: Table
    columns: PilotColumns

    @cached_property
    def pilot(self) -> Pilot:
        """What the labels of the slice say."""
        return read_pilot(self.table, self.columns, imagine=True)


@dataclass(frozen=True, slots=True)
class _One:
    """What all slices' plans have in common."""

    columns: PilotColumns
    weak_cost: float
    strong_cost: float
    floor: float | None
    estimand: Estimand
    words: Meaning

    def plan(
        self, rows: _Rows, size: float | None, *, budget: float | None = None, target: float | None = None
    ) -> Plan:
        """The plan of one slice."""
        goal = Goal.of(self.weak_cost, self.strong_cost, budget, target, size, self.estimand, self.floor)
        made = plan_mean(rows.table, rows.pilot, self.columns, goal)
        return replace(made, transfer=replace(made.transfer, words=self.words))

    def curve(self, rows: _Rows, size: float | None) -> Curve:
        """What money buys in one slice."""
        return Curve.of(
            rows.pilot.error, variance=rows.pilot.variance, weak_cost=self.weak_cost, strong_cost=self.strong_cost,
            pool_size=math.inf if size is None else size, own_mean=self.estimand == "pool",
        )  # fmt: skip


def _rows(table: Table, one: PilotColumns, mask: "np.ndarray[Any, np.dtype[np.bool_]]") -> Table:
    """One slice's rows, with the columns that a plan needs."""
    columns: dict[str, Any] = {
        one.weak: table.numbers(one.weak),
        one.strong: table.numbers(one.strong, missing="allow"),
    }
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
    _check_names(sizes, counts, "pool_sizes")
    return {name: number(sizes[name], name=f"pool_sizes[{name!r}]", minimum=1) for name in counts}


def _targets(names: Sequence[str], target_se: float | Mapping[str, float] | None) -> dict[str, float]:
    if isinstance(target_se, Mapping):
        _check_names(target_se, names, "target_se")
        return {name: number(target_se[name], name=f"target_se[{name!r}]", above=0) for name in names}
    return dict.fromkeys(names, number(target_se, name="target_se", above=0))


def _check_names(given: Mapping[str, float], names: Mapping[str, int] | Sequence[str], what: str) -> None:
    lost, extra = [name for name in names if name not in given], [name for name in given if name not in names]
    if lost or extra:
        raise InputError(
            f"{what} must name every slice and no other; "
            + (f"missing: {', '.join(lost)}" if lost else f"not in the table: {', '.join(extra)}")
        )


def _to_target(name: str, rows: _Rows, size: float | None, one: _One, target: float) -> PlannedSlice:
    try:
        return PlannedSlice(name, size, target, one.plan(rows, size, target=target), True)
    except PolicyError as error:
        if size is None:
            return PlannedSlice(name, size, target, None, False, str(error))
        best = one.plan(rows, size, budget=size * (one.weak_cost + one.strong_cost))
        se = best.policies[best.recommendation].expected_se
        why = f"{target:g} cannot be reached with {size:,.0f} items: strong ratings on all of them give {se:.4g}"
        return PlannedSlice(name, size, target, best, False, why)
    except InputError as error:
        return PlannedSlice(name, size, target, None, False, str(error))


def _shared(
    tables: Mapping[str, _Rows],
    sizes: Mapping[str, float | None],
    one: _One,
    budget: float,
    objective: Objective,
    weights: Mapping[str, float] | None,
) -> tuple[list[PlannedSlice], tuple[str, ...]]:
    """One budget for all slices that have a usable pilot."""
    if weights is not None:
        _check_names(weights, list(tables), "weights")
        if objective == "worst":
            raise InputError("weights are for objective 'sum'; the worst slice is the worst whatever it weighs")
    curves: dict[str, Curve] = {}
    failed: dict[str, str] = {}
    for name, rows in tables.items():
        try:
            curves[name] = one.curve(rows, sizes[name])
        except InputError as error:
            failed[name] = str(error)
    if not curves:
        raise InputError(f"no slice has a pilot to plan from; the first says: {next(iter(failed.values()))}")
    w = [1.0 if weights is None else number(weights[name], name=f"weights[{name!r}]", above=0) for name in curves]
    for _ in range(_ROUNDS):
        spends = dict(zip(curves, shared_budgets(list(curves.values()), budget, w, objective), strict=True))
        made = {name: _with_budget(name, tables[name], sizes[name], one, b) for name, b in spends.items()}
        curves = {name: _corrected(curve, spends[name], made[name]) for name, curve in curves.items()}
    left = budget - sum(spends.values())
    note = f"{left:,.2f} of the budget are left: every item of every slice has its strong rating"
    out = [made.get(name) or PlannedSlice(name, sizes[name], None, None, False, failed[name]) for name in tables]
    return out, (note,) if left > 1e-6 * budget else ()


def _corrected(curve: Curve, spend: float, made: PlannedSlice) -> Curve:
    """The curve corrected to the error that the plan expects from the pilot's residuals."""
    if made.policy is None or made.policy.expected_se == 0:
        return curve
    return curve.corrected(spend, made.policy.expected_se**2)


def _with_budget(name: str, rows: _Rows, size: float | None, one: _One, budget: float) -> PlannedSlice:
    try:
        return PlannedSlice(name, size, None, one.plan(rows, size, budget=budget), True)
    except InputError as error:
        return PlannedSlice(name, size, None, None, False, str(error))


def _small_pilots(made: Sequence[PlannedSlice]) -> tuple[str, ...]:
    few = [one.name for one in made if one.plan is not None and one.plan.basis["labels"] < 50]
    if not few:
        return ()
    return (f"fewer than 50 labels in the pilot of {', '.join(few)}: take these figures as rough",)
