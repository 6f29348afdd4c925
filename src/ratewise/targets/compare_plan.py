"""Plans for comparisons: rates that follow the uncertainty of the difference, not of either rating."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ratewise.core.checks import Floats, number, share
from ratewise.core.mean.formulas import error_times_budget
from ratewise.core.mean.policy import Policy, optimal_policy
from ratewise.core.mean.rates import active_rates
from ratewise.core.names import Estimand, Recalibration
from ratewise.errors import InputError, TableError
from ratewise.models.error_model import DEFAULT_FLOOR_SHARE
from ratewise.tables import Table, TableLike, read_table
from ratewise.targets.mean.pilot import Pilot, learn_pilot
from ratewise.targets.mean.plan import Plan, plan

WEAK_DIFFERENCE, STRONG_DIFFERENCE = "weak_difference", "strong_difference"


def add_difference(table: TableLike, *, weak: tuple[str, str], strong: tuple[str, str] | None = None) -> Table:
    """The table with the columns `weak_difference` and (where `strong` is given) `strong_difference` at its end.

    Plans of comparisons are made of these columns, and `draw_pool` finds the first in a pool it was added to.
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
    seed: int = 0,
) -> Plan:
    """`plan` for the difference of two systems: the rows with both strong ratings are the pilot.

    Costs are those of rating one system's answer once; an item is rated for both, so it costs twice that, weak and
    strong. `target_se` and `within` are the difference's. To draw, add the pool's differences first, with
    `add_difference`.
    """
    read = add_difference(table, weak=weak, strong=strong)
    c_g, c_h = number(weak_cost, name="weak_cost", minimum=0), number(strong_cost, name="strong_cost", above=0)
    made = plan(
        read, weak=WEAK_DIFFERENCE, strong=STRONG_DIFFERENCE, weak_cost=2 * c_g, strong_cost=2 * c_h, budget=budget,
        target_se=target_se, within=within, level=level, uncertainty=uncertainty, pool_size=pool_size, floor=floor,
        calibrate=calibrate, features=features, estimand=estimand, seed=seed,
    )  # fmt: skip
    note = f"an item is rated for both systems: its weak ratings cost {2 * c_g:g}, its strong ones {2 * c_h:g}"
    halves = _halves(read, strong)
    lost = (f"{halves:,} rows with one of the two strong ratings are no part of the pilot",) if halves else ()
    return replace(made, notes=(note, *lost, *made.notes))


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
    seed: int = 0,
) -> Policy:
    """Rates for the table's rows that serve all differences to the baseline at once.

    The vector target of METHODS section 2: u is the mean over the systems of the differences' conditional squared
    errors, V that of their variances, so `expected_se` and `target_se` are the root mean square of the differences'
    standard errors. Costs are those of rating one system's answer once, and an item is rated for all of them. The rates
    follow u only where the pilot's own residuals, by models that have not seen them, say that it beats one rate for
    all.
    """
    read = read_table(table)
    pilots = _pilots(read, baseline, weak, strong, seed)
    V = float(np.mean([pilot.variance for pilot in pilots]))
    squared = np.mean([pilot.residual**2 for pilot in pilots], axis=0)
    c_g, c_h = (
        len(strong) * number(weak_cost, name="weak_cost", minimum=0),
        len(strong) * number(strong_cost, name="strong_cost", above=0),
    )

    def solve(u: Floats, least: float) -> Policy:
        return optimal_policy(
            u, variance=V, weak_cost=c_g, strong_cost=c_h, budget=budget, target_se=target_se, pool_size=pool_size,
            estimand=estimand, floor=least,
        )  # fmt: skip

    def price(rates: Floats) -> float:
        return error_times_budget(rates, error=squared, variance=V, weak_cost=c_g, strong_cost=c_h)

    error = np.mean([pilot.error for pilot in pilots], axis=0)
    held_out = np.mean([pilot.held_out_error for pilot in pilots], axis=0)
    uniform = solve(np.full(read.rows, float(squared.mean())), 0.0)
    least = (
        DEFAULT_FLOOR_SHARE * solve(error, 0.0).mean_rate if floor is None else share(floor, name="floor", zero=True)
    )
    active = solve(error, least)
    rates = active_rates(held_out, scale=active.scale, floor=active.floor)
    return active if price(rates) < price(np.full(rates.size, float(uniform.rates[0]))) else uniform


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


def _halves(table: Table, strong: tuple[str, str]) -> int:
    first, second = (np.isnan(_strong(table, column)) for column in strong)
    return int(np.count_nonzero(first != second))
