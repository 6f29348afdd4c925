"""`ratewise regress` and `ratewise quantile`: more than a mean, from a drawn and rated table."""

from typing import Annotated

import typer

from ratewise.cli.console import one_line_errors, print_json, print_rich
from ratewise.cli.options import (
    FormatOption,
    Json,
    People,
    Positive,
    Rate,
    Scale,
    TableArgument,
    in_format,
    said,
    words,
)
from ratewise.core.names import Estimand, Family, RegressionMethod

_Weak = Annotated[str | None, typer.Option(help="Column with the weak rating; none: strong ratings alone.")]
_Selected = Annotated[
    str | None, typer.Option(help="Column that says which items were asked for, to find missing answers.")
]
_Cluster = Annotated[str | None, typer.Option(help="Column that says which items belong together.")]
_Level = Annotated[float, typer.Option(help="Confidence level of each interval.")]
_PoolSize = Annotated[float | None, typer.Option(help="Size of the pool, if larger than the table.")]


def regress(
    table: TableArgument,
    strong: People,
    on: Annotated[str, typer.Option(help="Columns to regress on, separated by commas; words become a column each.")],
    weak: _Weak = None,
    family: Annotated[Family, typer.Option(help="Kind of regression.")] = "linear",
    rate: Rate = None,
    selected: _Selected = None,
    method: Annotated[RegressionMethod, typer.Option(help="How the weak rating is used.")] = "auto",
    features: Annotated[str, typer.Option(help="Further columns that auto may learn from, separated by commas.")] = "",
    no_intercept: Annotated[bool, typer.Option("--no-intercept", help="Leave the intercept out.")] = False,
    level: _Level = 0.95,
    estimand: Annotated[
        Estimand, typer.Option(help="Whose coefficients: the population's, or the pool's own.")
    ] = "population",
    pool_size: _PoolSize = None,
    cluster: _Cluster = None,
    picture: Annotated[str | None, typer.Option(help="File for a picture, .svg or .png.")] = None,
    positive: Positive = None,
    scale: Scale = None,
    format: FormatOption = None,
    json: Json = False,
) -> None:
    """Regress the strong rating on columns. From few strong ratings and many weak ones.

    Example: ratewise regress rated.csv --weak judge --strong human --on length,topic --family logistic --rate rate
    """
    with one_line_errors():
        from ratewise.errors import InputError
        from ratewise.report.pictures import check_ending
        from ratewise.tables.write import check_folder

        check_folder(picture)
        check_ending(picture)
        if not words(on):
            raise InputError("--on names no column; give the columns to regress on, separated by commas")
        from ratewise.questions.regression import regress as run_regression

        counted, order = said(positive, scale)
        found = run_regression(
            in_format(table, format),
            weak=weak, strong=strong, on=words(on), family=family, rate=rate, selected=selected, method=method,
            features=words(features), intercept=not no_intercept, level=level, estimand=estimand, pool_size=pool_size,
            clusters=cluster, positive=counted, scale=order,
        )  # fmt: skip
        if picture is not None:
            from ratewise.report.pictures import save
            from ratewise.report.regression import plot_regression

            save(plot_regression(found), picture)
        if json:
            print_json(found.to_dict())
        else:
            from ratewise.report.regression import regression_text

            print_rich(regression_text(found))


def quantile(
    table: TableArgument,
    strong: People,
    weak: _Weak = None,
    at: Annotated[str, typer.Option(help="Quantiles between 0 and 1, separated by commas.")] = "0.5",
    rate: Rate = None,
    selected: _Selected = None,
    level: _Level = 0.95,
    estimand: Annotated[
        Estimand, typer.Option(help="Whose quantiles: the population's, or the pool's own.")
    ] = "population",
    pool_size: _PoolSize = None,
    cluster: _Cluster = None,
    low: Annotated[float | None, typer.Option(help="Lowest possible rating; not needed for 0/1 ratings.")] = None,
    high: Annotated[float | None, typer.Option(help="Highest possible rating.")] = None,
    positive: Positive = None,
    scale: Scale = None,
    format: FormatOption = None,
    json: Json = False,
) -> None:
    """Estimate quantiles of the strong rating, with intervals. From few strong ratings and many weak ones.

    Example: ratewise quantile rated.csv --weak judge --strong human --at 0.5,0.9 --rate rate
    """
    with one_line_errors():
        from ratewise.core.checks import number
        from ratewise.questions.quantiles import quantile_table

        counted, order = said(positive, scale)
        found = quantile_table(
            in_format(table, format),
            weak=weak, strong=strong, at=[number(word, name="quantile") for word in words(at)], rate=rate,
            selected=selected, level=level, estimand=estimand, pool_size=pool_size, clusters=cluster,
            bounds=(low, high), positive=counted, scale=order,
        )  # fmt: skip
        if json:
            print_json(found.to_dict())
        else:
            from ratewise.report.regression import quantiles_text

            print_rich(quantiles_text(found))
