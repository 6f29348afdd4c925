"""`ratewise plan`: ways to spend a budget, side by side."""

from typing import Any

from ratewise.cli.options import command, option, refuse, required
from ratewise.core.names import Objective, Recalibration


@command(
    "table weak strong weak_cost strong_cost budget within target_se level uncertainty pool_size floor calibrate "
    "features text learner strata pool estimand drawn by objective positive scale what_if picture seed format json",
    weak=required("Column with the weak rating."),
    weak_cost=required("Price of one weak rating; 0 if they are bought already.", float),
    strong_cost=required("Price of one strong rating.", float),
    budget=option("Money to spend.", float | None),
    within=option("Half-width of the interval to reach, instead of a budget: 0.02.", float | None),
    target_se=option("Standard error to reach, instead of a budget.", float | None),
    level=option("Confidence level of --within and of the intervals shown.", float, 0.95),
    pool_size=option("Number of items in the pool; unlimited if absent.", float | None),
    floor=option("Lowest chance that the active policy gives an item.", float | None),
    calibrate=option("First learn from the labels what a weak rating means in strong ones.", Recalibration, "none"),
    strata=option("Column of groups; the plan says how many items of each to look at."),
    pool=option("Table that will be rated: its size and its strata."),
    drawn=option("Count the labels of the table: 'at random', 'by hand', or a column of rates."),
    by=option("Column with groups: a plan for each, by its own rows, to the target or within the budget."),
    objective=option(
        "With --by and a budget: make the sum of the squared errors small, or the worst slice's.", Objective, "sum"
    ),
    what_if=option(
        "Also show what it costs if the numbers that the plan rests on are wrong.", bool, False, "--what-if"
    ),
    picture=option("With --what-if: write a picture of it here, .svg or .png."),
)
def plan(
    *, by: str | None, strata: str | None, pool: str | None, drawn: str | None, objective: Objective, what_if: bool,
    picture: str | None, **options: Any,
) -> Any:  # fmt: skip
    """Compare ways to spend a budget and recommend one. Or name a precision: it finds the cheapest way there.

    Example: ratewise plan pilot.csv --weak judge --strong human --weak-cost 0.01 --strong-cost 1 --budget 500
    """
    refuse(picture is not None and not what_if, "--picture is for --what-if; add it")
    refuse(what_if and by is not None, "--what-if and --by do not go together; leave one of them out")
    if by is None:
        from ratewise.questions.plan import plan as plan_mean

        return plan_mean(strata=strata, pool=pool, drawn=drawn, what_if=what_if, **options)
    from ratewise.questions.slices import plan_slices
    from ratewise.questions.strata import slice_sizes

    refuse(strata is not None, "--by and --strata do not go together; leave one of them out")
    pool_sizes = None if pool is None else slice_sizes(pool, by)
    return plan_slices(by=by, objective=objective, pool_sizes=pool_sizes, **options)
