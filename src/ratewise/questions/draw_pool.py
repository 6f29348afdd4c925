"""`draw_pool`: one way to draw, whatever was planned."""

import os
from typing import cast

from ratewise.errors import InputError
from ratewise.questions.comparison_plan import ComparisonsPlan
from ratewise.questions.drawing import Drawn, draw_transfer
from ratewise.questions.plan import Plan
from ratewise.questions.regression import RegressionPlan
from ratewise.questions.slice_plan import SlicePlan, draw_slices, is_slice_plan
from ratewise.questions.transfer import Transfer, load_transfer
from ratewise.tables import TableLike
from ratewise.tables.spark import is_spark

DrawnFrom = Plan | SlicePlan | RegressionPlan | ComparisonsPlan | Transfer | str | os.PathLike[str]


def draw_pool(
    pool: TableLike, plan: DrawnFrom, *, seed: int, id_column: str | None = None, within_budget: bool = True
) -> Drawn:
    """Give every item of the pool the rate that the plan gives it, and draw by hash of the seed and the item's id.

    `plan` is what any `plan_*` gave, its JSON file, or a saved policy. Only as many items are looked at as the plan
    foresees (chosen by another hash), and fewer where chance would make them dearer than the budget; the rest get no
    rate. With `within_budget=False` all are, and a note says so where that is expected to cost more. A plan by strata
    says itself how many of each are looked at; `weight` is what each of those counts, 1 on average. Plans of
    regressions and of many comparisons know the rows they were made from and no others.

    A DataFrame of Spark gives one back, which is computed when it is needed; only sums come over to this process.
    """
    spark = is_spark(pool)
    if not spark and isinstance(plan, RegressionPlan | ComparisonsPlan):
        return plan.rows.draw(pool, seed=seed, id_column=id_column, within_budget=within_budget)
    by_slices = isinstance(plan, SlicePlan) or (isinstance(plan, str | os.PathLike) and is_slice_plan(plan))
    if not spark and isinstance(plan, SlicePlan | str | os.PathLike) and by_slices:
        return draw_slices(pool, plan, seed=seed, id_column=id_column, within_budget=within_budget)
    found = load_transfer(plan) if isinstance(plan, str | os.PathLike) else plan
    transfer = found.transfer if isinstance(found, Plan) else found
    if not isinstance(transfer, Transfer):
        raise InputError("a table of Spark is drawn by a plan of one mean; plans of slices and others are for files")
    if not spark:
        return draw_transfer(pool, transfer, seed=seed, id_column=id_column, within_budget=within_budget)
    from ratewise.questions.draw_file import draw_spark

    frame, _ = draw_spark(pool, transfer, seed=seed, id_column=id_column, within_budget=within_budget)
    return cast(Drawn, frame)  # a frame of Spark, for who gave one
