"""`ratewise estimate`: the mean strong rating of a drawn and rated table."""

from typing import Annotated

import typer

from ratewise.cli.console import one_line_errors, print_json, print_rich, texts_told, typed_notes
from ratewise.cli.means import not_with_by, only_with_by, print_slices
from ratewise.cli.options import (
    FormatOption,
    Json,
    LearnerOption,
    Positive,
    Rate,
    Scale,
    TableArgument,
    Text,
    in_format,
    needed,
    said,
    words,
)
from ratewise.core.names import Estimand, IntervalMethod, Method, Recalibration


def estimate(
    table: TableArgument,
    strong: Annotated[
        str | None,
        typer.Option(
            help="Column with the strong rating, empty where there is none; several people's columns with commas "
            "between. A campaign's export names it itself."
        ),
    ] = None,
    weak: Annotated[str | None, typer.Option(help="Column with the weak rating; none: strong ratings alone.")] = None,
    rate: Rate = None,
    selected: Annotated[
        str | None, typer.Option(help="Column that says which items were asked for, to count missing answers.")
    ] = None,
    cluster: Annotated[
        str | None, typer.Option(help="Column that says which items belong together: conversation, document, person.")
    ] = None,
    strata: Annotated[
        str | None, typer.Option(help="Column of strata that items were chosen by, as in a plan by strata.")
    ] = None,
    weight: Annotated[str | None, typer.Option(help="Column of item weights, where items were chosen.")] = None,
    method: Annotated[Method, typer.Option(help="How the ratings are combined.")] = "auto",
    interval: Annotated[IntervalMethod, typer.Option(help="Kind of interval; auto says which it took.")] = "auto",
    level: Annotated[float, typer.Option(help="Confidence level of the interval.")] = 0.95,
    estimand: Annotated[
        Estimand | None,
        typer.Option(
            help="Whose mean: the population's (if nothing is said), or the pool's own. An export has its own."
        ),
    ] = None,
    pool_size: Annotated[float | None, typer.Option(help="Size of the pool, if larger than the table.")] = None,
    recalibrate: Annotated[
        Recalibration, typer.Option(help="Map weak to strong ratings first, cross-fitted.")
    ] = "none",
    text: Text = "",
    learner: LearnerOption = "words",
    low: Annotated[float | None, typer.Option(help="Lowest possible rating; not needed for 0/1 ratings.")] = None,
    high: Annotated[float | None, typer.Option(help="Highest possible rating.")] = None,
    floor: Annotated[
        float | None, typer.Option(help="Lowest rate any item could have had; for anytime intervals.")
    ] = None,
    weak_cost: Annotated[float | None, typer.Option(help="Price of one weak rating, to print the spend.")] = None,
    strong_cost: Annotated[float | None, typer.Option(help="Price of one strong rating.")] = None,
    by: Annotated[str | None, typer.Option(help="Column with groups: an estimate for each, and for the whole.")] = None,
    shrink: Annotated[
        bool,
        typer.Option(
            "--shrink", help="With --by: shrink groups toward the overall mean, as far as they may differ by chance."
        ),
    ] = False,
    simultaneous: Annotated[
        bool, typer.Option("--simultaneous", help="With --by: intervals that all hold at once.")
    ] = False,
    picture: Annotated[str | None, typer.Option(help="With --by: file for a picture, .svg or .png.")] = None,
    positive: Positive = None,
    scale: Scale = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of folds and bootstrap.")] = 0,
    format: FormatOption = None,
    json: Json = False,
) -> None:
    """Estimate the mean strong rating, with its interval. The table is drawn, and rated in part.

    Example: ratewise estimate rated.csv --weak judge --strong human --rate rate
    """
    with one_line_errors():
        counted, order = said(positive, scale)
        if by is not None:
            not_with_by(strata=strata, weight=weight)
            print_slices(
                in_format(table, format),
                by=by, weak=weak, strong=needed(strong, "--strong human"), rate=rate, selected=selected,
                clusters=cluster, bounds=(low, high), weak_cost=weak_cost, strong_cost=strong_cost, shrink=shrink,
                simultaneous=simultaneous, method=method, interval=interval, level=level,
                estimand=estimand or "population", pool_size=pool_size, recalibrate=recalibrate,
                text=words(text), learner=learner, floor=floor, seed=seed, picture=picture, as_json=json,
                positive=counted, scale=order,
            )  # fmt: skip
            return
        only_with_by(shrink=shrink, simultaneous=simultaneous, picture=picture)
        from ratewise.questions.estimation import estimate_table

        with texts_told(quiet=json):
            found = estimate_table(
                in_format(table, format),
                weak=weak, strong=strong, rate=rate, selected=selected, clusters=cluster, strata=strata,
                weight=weight, method=method, interval=interval, level=level, estimand=estimand, pool_size=pool_size,
                recalibrate=recalibrate, text=words(text), learner=learner, bounds=(low, high), floor=floor,
                weak_cost=weak_cost, strong_cost=strong_cost, positive=counted, scale=order, seed=seed,
            )  # fmt: skip
        if json:
            print_json(found.to_dict())
        else:
            from ratewise.report.text import estimate_text

            print_rich(estimate_text(typed_notes(found)))
