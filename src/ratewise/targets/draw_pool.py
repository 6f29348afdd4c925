"""`draw_pool`: one way to draw, whatever was planned."""

import os

from ratewise.tables import TableLike
from ratewise.targets.compare_plan import ComparisonsPlan
from ratewise.targets.mean.drawing import Drawn, draw_transfer
from ratewise.targets.mean.plan import Plan
from ratewise.targets.mean.transfer import Transfer, load_transfer
from ratewise.targets.regression_plan import RegressionPlan
from ratewise.targets.slice_draw import draw_slices, is_slice_plan
from ratewise.targets.slice_plan import SlicePlan

DrawnFrom = Plan | SlicePlan | RegressionPlan | ComparisonsPlan | Transfer | str | os.PathLike[str]


def draw_pool(
    pool: TableLike, plan: DrawnFrom, *, seed: int, id_column: str | None = None, within_budget: bool = False
) -> Drawn:
    """Give every item of the pool the rate that the plan gives it, and draw by hash of the seed and the item's id.

    `plan` is what any `plan_*` gave, its JSON file, or a saved policy. With `within_budget`, only as many items
    are looked at as the plan foresees (chosen by another hash), and the rest get no rate; without it all are, and a
    note says so where that is expected to cost more than the budget. A plan by strata says itself how many of each are
    looked at; `weight` is what each of those counts, 1 on average. Plans of regressions and of many comparisons know
    the rows they were made from and no others.
    """
    if isinstance(plan, RegressionPlan | ComparisonsPlan):
        return plan.rows.draw(pool, seed=seed, id_column=id_column, within_budget=within_budget)
    if isinstance(plan, SlicePlan) or (isinstance(plan, str | os.PathLike) and is_slice_plan(plan)):
        return draw_slices(pool, plan, seed=seed, id_column=id_column, within_budget=within_budget)
    if isinstance(plan, str | os.PathLike):
        plan = load_transfer(plan)
    transfer = plan.transfer if isinstance(plan, Plan) else plan
    return draw_transfer(pool, transfer, seed=seed, id_column=id_column, within_budget=within_budget)
