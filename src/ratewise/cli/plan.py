"""`ratewise plan`: ways to spend a budget, side by side."""

from typing import Annotated

import typer

from ratewise.cli.console import one_line_errors, print_json, print_rich, texts_told, typed_notes
from ratewise.cli.means import check_what_if, not_with_by, print_slice_plan, save_what_if
from ratewise.cli.options import (
    FormatOption,
    Json,
    LearnerOption,
    People,
    Positive,
    Scale,
    TableArgument,
    Text,
    Weak,
    in_format,
    said,
    words,
)
from ratewise.core.names import Estimand, Objective, Recalibration


def plan(
    table: TableArgument,
    weak: Weak,
    strong: People,
    weak_cost: Annotated[float, typer.Option(help="Price of one weak rating; 0 if they are bought already.")],
    strong_cost: Annotated[float, typer.Option(help="Price of one strong rating.")],
    budget: Annotated[float | None, typer.Option(help="Money to spend.")] = None,
    within: Annotated[
        float | None, typer.Option(help="Half-width of the interval to reach, instead of a budget: 0.02.")
    ] = None,
    target_se: Annotated[float | None, typer.Option(help="Standard error to reach, instead of a budget.")] = None,
    level: Annotated[float, typer.Option(help="Confidence level of --within and of the intervals shown.")] = 0.95,
    uncertainty: Annotated[
        str | None, typer.Option(help="Column with the weak rater's expected squared error.")
    ] = None,
    pool_size: Annotated[float | None, typer.Option(help="Number of items in the pool; unlimited if absent.")] = None,
    floor: Annotated[float | None, typer.Option(help="Least rate of the active policy.")] = None,
    calibrate: Annotated[Recalibration, typer.Option(help="Map weak to strong ratings first.")] = "none",
    features: Annotated[str, typer.Option(help="Columns to learn from, separated by commas; for auto.")] = "",
    text: Text = "",
    learner: LearnerOption = "words",
    strata: Annotated[
        str | None, typer.Option(help="Column of groups; the plan says how many items of each to look at.")
    ] = None,
    pool: Annotated[str | None, typer.Option(help="Table that will be rated: its size and its strata.")] = None,
    estimand: Annotated[Estimand, typer.Option(help="Whose mean: the population's, or the pool's own.")] = "population",
    drawn: Annotated[
        str | None,
        typer.Option(help="Count the labels of the table: 'at random', 'by hand', or a column of rates."),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(help="Column with groups: a plan for each, by its own rows, to the target or within the budget."),
    ] = None,
    objective: Annotated[
        Objective, typer.Option(help="With --by and a budget: least sum of squared errors, or of the worst slice's.")
    ] = "sum",
    positive: Positive = None,
    scale: Scale = None,
    what_if: Annotated[
        bool, typer.Option("--what-if", help="Add what the plan loses if what it goes by is wrong by a factor.")
    ] = False,
    picture: Annotated[
        str | None, typer.Option(help="With --what-if: write a picture of it here, .svg or .png.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the cross-fitting folds.")] = 0,
    format: FormatOption = None,
    json: Json = False,
) -> None:
    """Compare ways to spend a budget and recommend one. Or name a precision: it finds the cheapest way there.

    Example: ratewise plan pilot.csv --weak judge --strong human --weak-cost 0.01 --strong-cost 1 --budget 500
    """
    with one_line_errors():
        counted, order = said(positive, scale)
        check_what_if(asked=what_if, picture=picture, by=by)
        if by is not None:
            not_with_by(strata=strata)
            print_slice_plan(
                in_format(table, format),
                by=by, weak=weak, strong=strong, weak_cost=weak_cost, strong_cost=strong_cost, budget=budget,
                target_se=target_se, within=within, level=level, objective=objective,
                uncertainty=uncertainty, pool_size=pool_size, pool=pool,
                floor=floor, calibrate=calibrate, features=words(features), text=words(text), learner=learner,
                estimand=estimand, seed=seed, as_json=json, positive=counted, scale=order,
            )  # fmt: skip
            return
        from ratewise.questions.plan import plan as make_plan

        with texts_told(quiet=json):
            made = make_plan(
                in_format(table, format),
                weak=weak, strong=strong, weak_cost=weak_cost, strong_cost=strong_cost, budget=budget,
                target_se=target_se, within=within, level=level, uncertainty=uncertainty, pool_size=pool_size,
                floor=floor, calibrate=calibrate, features=words(features), text=words(text), learner=learner,
                strata=strata, pool=pool, estimand=estimand, drawn=drawn, seed=seed, positive=counted, scale=order,
                what_if=what_if,
            )  # fmt: skip
        save_what_if(made.what_if, picture)
        if json:
            print_json(made.to_dict())
        else:
            from ratewise.report.text import plan_text

            print_rich(plan_text(typed_notes(made), level=level))
