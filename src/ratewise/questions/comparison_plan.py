"""Plans for comparisons: rates that follow the uncertainty of the difference, not of either rating."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ratewise.core.checks import Floats
from ratewise.core.names import Estimand, PolicyName, Recalibration
from ratewise.core.policy import Policy
from ratewise.core.ratings import active_rates
from ratewise.errors import InputError, TableError
from ratewise.questions.drawing import PlannedRows
from ratewise.questions.goal import PlanGoal
from ratewise.questions.pilot import Pilot, PilotColumns, learn_pilot, read_pilot
from ratewise.questions.plan import Plan, plan_mean
from ratewise.questions.policies import AnyPlan, together
from ratewise.questions.transfer import STRONG_DIFFERENCE, WEAK_DIFFERENCE, Derived
from ratewise.tables import Table, TableLike, read_table
from ratewise.tables.words import Positive, Scale, in_numbers, meaning_of


def add_difference(table: TableLike, *, weak: tuple[str, str], strong: tuple[str, str] | None = None) -> Table:
    """The table with the columns `weak_difference` and (where `strong` is given) `strong_difference` at its end.

    Plans of comparisons are made of these columns, and `draw_pool` adds the first to a pool by itself.
    """
    read = read_table(table)
    columns = {WEAK_DIFFERENCE: read.numbers(weak[0]) - read.numbers(weak[1])}
    if strong is not None:
        columns[STRONG_DIFFERENCE] = _strong(read, strong[0]) - _strong(read, strong[1])
    return read.with_columns(columns)


def plan_comparison(
    table: TableLike,
    *,
    weak: tuple[str, str],
    strong: tuple[str, str],
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
    estimand: Estimand = "population",
    positive: Positive = None,
    scale: Scale = None,
    seed: int = 0,
) -> Plan:
    """`plan` for the difference of two systems: the rows with both strong ratings are the pilot.

    Costs are those of rating one system's answer once; an item is rated for both, so it costs twice that, weak and
    strong. `target_se` and `within` are the difference's. Words as ratings are as in `compare`.
    """
    goal = PlanGoal.of(
        weak_cost, strong_cost, budget=budget, target_se=target_se, within=within, level=level, pool_size=pool_size,
        estimand=estimand, floor=floor, answers=2,
    )  # fmt: skip
    words = meaning_of(positive, scale)
    read, said = in_numbers(read_table(table), strong=strong, weak=weak, meaning=words)
    read = add_difference(read, weak=weak, strong=strong)
    columns = PilotColumns(WEAK_DIFFERENCE, STRONG_DIFFERENCE, uncertainty, calibrate, tuple(features), seed)
    first, second = (np.isnan(_strong(read, column)) for column in strong)
    halves = int(np.count_nonzero(first != second))
    notes = (
        *said,
        f"an item is rated for both systems: its weak ratings cost {goal.weak_cost:g}, its strong ones "
        f"{goal.strong_cost:g}",
        *([f"{halves:,} rows with one of the two strong ratings are no part of the pilot"] if halves else []),
    )
    pilot = read_pilot(read, columns)
    return plan_mean(read, pilot, columns, goal, words=words, notes=notes, derived=Derived("difference", weak))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ComparisonsPlan(AnyPlan):
    """Rates for the table's rows that serve all differences to a baseline at once."""

    recommendation: PolicyName
    policy: Policy  # the policy behind the rates
    basis: dict[str, Any]  # arguments and the figures found; "inputs" in JSON
    rows: PlannedRows = field(repr=False)  # the table's rows, for `draw_pool`
    notes: tuple[str, ...] = ()

    @property
    def rates(self) -> Floats:
        """π of every row of the table."""
        return self.policy.rates

    @property
    def expected_se(self) -> float | None:
        """Root mean square of the differences' standard errors."""
        return self.policy.expected_se

    def summary(self) -> str:
        how = "at one rate for all" if self.recommendation == "random" else "most often where differences are unsure"
        return f"Buy the systems' strong ratings {how}: {self.policy.summary()}"


def plan_comparisons(
    table: TableLike,
    *,
    baseline: str,
    weak: Mapping[str, str],
    strong: Mapping[str, str],
    weak_cost: float,
    strong_cost: float,
    budget: float | None = None,
    target_se: float | None = None,
    pool_size: float | None = None,
    floor: float | None = None,
    estimand: Estimand = "population",
    positive: Positive = None,
    scale: Scale = None,
    seed: int = 0,
) -> ComparisonsPlan:
    """Rates for the table's rows that serve all differences to the baseline at once.

    The vector target of METHODS section 2: u is the mean over the systems of the differences' conditional squared
    errors, V that of their variances, so `expected_se` and `target_se` are the root mean square of the differences'
    standard errors. Costs are those of rating one system's answer once, and an item is rated for all of them. The rates
    follow u only where the pilot's own residuals, by models that have not seen them, say that it beats one rate for
    all. Words as ratings are as in `compare`.
    """
    goal = PlanGoal.of(
        weak_cost, strong_cost, budget=budget, target_se=target_se, pool_size=pool_size, estimand=estimand,
        floor=floor, answers=len(strong),
    )  # fmt: skip
    words = meaning_of(positive, scale)
    read, said = in_numbers(read_table(table), strong=strong.values(), weak=weak.values(), meaning=words)
    pilots = _pilots(read, baseline, weak, strong, seed)
    errors = together(pilots, np.full(len(pilots), 1.0 / len(pilots)))
    uniform = goal.solve(np.full(read.rows, errors.weak_error), errors.variance)
    active = goal.solve(errors.error, errors.variance, goal.floors(errors.error, errors.variance)[0])
    seen = active_rates(errors.held_out_error, scale=active.scale, floor=active.floor)

    def price(rates: Floats) -> float:  # J
        return (goal.weak_cost + goal.strong_cost * float(rates.mean())) * errors.item_variance(rates)

    better = price(seen) < price(np.full(seen.size, float(uniform.rates[0])))
    name: PolicyName = "active" if better else "random"
    best = active if better else uniform
    told = {"table": read.name, "rows": read.rows, "labels": int(seen.size), "baseline": baseline}
    each = f"an item is rated for all {len(strong)} systems: it costs {goal.weak_cost:g} and {goal.strong_cost:g}"
    return ComparisonsPlan(
        recommendation=name,
        policy=best,
        basis=told
        | {"weak": dict(weak), "strong": dict(strong)}
        | goal.to_dict()
        | {"seed": seed, "variance": errors.variance, "weak_error": errors.weak_error},
        rows=PlannedRows.of(read, tuple(weak.values()), name, best.rates, best.items, goal, words),
        notes=(*said, each),
    )


def _pilots(table: Table, baseline: str, weak: Mapping[str, str], strong: Mapping[str, str], seed: int) -> list[Pilot]:
    """One for each difference, all on the rows that have every strong rating."""
    if baseline not in strong or set(weak) != set(strong) or len(strong) < 2:
        raise InputError("give weak and strong columns for the same systems, the baseline and at least one more")
    h = {name: _strong(table, column) for name, column in strong.items()}
    whole = np.all([~np.isnan(x) for x in h.values()], axis=0)
    if whole.sum() < 2:
        raise TableError(f"{int(whole.sum())} rows of {table.name} have every strong rating; a plan needs two at least")
    g = {name: table.numbers(column) for name, column in weak.items()}
    differences = {name: np.where(whole, h[name] - h[baseline], np.nan) for name in strong if name != baseline}
    found = [learn_pilot(g[name] - g[baseline], d, None, calibrate=None, seed=seed) for name, d in differences.items()]
    if not any(pilot.variance > 0 for pilot in found):
        raise InputError("no system differs from the baseline on any row of the pilot; get more labels")
    return found


def _strong(table: Table, column: str) -> Floats:
    return table.numbers(column, missing="allow")
