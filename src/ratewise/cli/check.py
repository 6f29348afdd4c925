"""`ratewise check`: a gate for releases, with exit codes."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ratewise.cli.console import one_line_errors, print_json, print_notes, say
from ratewise.cli.options import FormatOption, Json, Positive, Rate, Scale, Seed, in_format, said
from ratewise.core.names import Estimand, IntervalMethod, Method, Recalibration

if TYPE_CHECKING:
    from ratewise.tables import TableLike

EXIT_CODES = {"yes": 0, "no": 1, "cannot tell": 5}
CANNOT_TELL = {"pass": 0, "fail": 1}
CannotTell = Literal["pass", "fail"]


def check(
    table: Annotated[
        str,
        typer.Argument(
            help="Rated table: CSV, JSONL or Parquet, or a file that another tool wrote; - for standard input. Or a "
            "campaign's TOML."
        ),
    ],
    strong: Annotated[
        str | None,
        typer.Option(
            help="Column with the strong rating, empty where there is none; several people's columns separated by "
            "commas. A campaign and its export name it themselves."
        ),
    ] = None,
    weak: Annotated[str | None, typer.Option(help="Column with the weak rating; none: strong ratings alone.")] = None,
    at_least: Annotated[
        str | None, typer.Option(help="Value that the mean must reach: 0.97, or 97% of ratings from 0 to 1.")
    ] = None,
    no_worse_than: Annotated[
        str | None,
        typer.Option(help="Rated table of the last release, on the same items or on different ones; with --margin."),
    ] = None,
    margin: Annotated[
        str | None, typer.Option(help="Largest drop below the last table's mean that still passes: 0.01, or 1pp.")
    ] = None,
    last_weak: Annotated[str | None, typer.Option(help="Last table's --weak, if it is called differently.")] = None,
    last_strong: Annotated[str | None, typer.Option(help="Last table's --strong, if it is called differently.")] = None,
    last_rate: Annotated[str | None, typer.Option(help="Last table's --rate, if it is called differently.")] = None,
    rate: Rate = None,
    selected: Annotated[
        str | None, typer.Option(help="Column that says which items were asked for, to count missing answers.")
    ] = None,
    cluster: Annotated[str | None, typer.Option(help="Column that says which items belong together.")] = None,
    id: Annotated[str | None, typer.Option(help="Column of item ids in both tables; `id` if both have it.")] = None,
    method: Annotated[Method, typer.Option(help="How the ratings are combined.")] = "auto",
    interval: Annotated[IntervalMethod, typer.Option(help="Kind of interval; auto says which it took.")] = "auto",
    level: Annotated[float, typer.Option(help="Confidence level of the two-sided interval.")] = 0.95,
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
    low: Annotated[float | None, typer.Option(help="Lowest possible rating; not needed for 0/1 ratings.")] = None,
    high: Annotated[float | None, typer.Option(help="Highest possible rating.")] = None,
    cannot_tell: Annotated[
        CannotTell | None,
        typer.Option(
            help="What it counts as if nobody can tell yet: exit code 0 or 1, instead of 5.", show_default=False
        ),
    ] = None,
    summary: Annotated[str | None, typer.Option(help="File for a Markdown summary, for a pull request.")] = None,
    positive: Positive = None,
    scale: Scale = None,
    seed: Seed = 0,
    format: FormatOption = None,
    json: Json = False,
) -> None:
    """Check that the mean is high enough, or no worse than before. Exit code: 0 yes, 1 no, 5 cannot tell.

    TABLE and the last table may be campaigns (campaign.toml): their own estimates are taken.

    Example: ratewise check rated.csv --weak judge --strong human --at-least 0.8 --summary check.md
    """
    with one_line_errors():
        from ratewise.errors import InputError
        from ratewise.questions.check import check as ask
        from ratewise.questions.two_tables import TableColumns
        from ratewise.tables.write import check_folder, write_text

        check_folder(summary)
        if (low is None) != (high is None):
            raise InputError("give both ends of the rating scale (--low and --high), or neither")
        differs = last_weak is not None or last_strong is not None or last_rate is not None
        last = TableColumns(last_strong or strong, last_weak or weak, last_rate or rate, selected, cluster, id)
        words, order = said(positive, scale)
        found = ask(
            _table(table, format),
            weak=weak, strong=strong, at_least=at_least, margin=margin,
            no_worse_than=None if no_worse_than is None else _table(no_worse_than, None),
            last=last if differs else None, rate=rate, selected=selected, clusters=cluster, id=id, method=method,
            interval=interval, level=level, estimand=estimand, pool_size=pool_size, recalibrate=recalibrate,
            bounds=None if low is None or high is None else (low, high), positive=words, scale=order,
            seed=seed,
        )  # fmt: skip
        if summary is not None:
            write_text(summary, found.to_markdown())
        if json:
            print_json(found.to_dict())
        else:
            say(found.sentence)
            print_notes(found.notes)
    told = found.verdict != "cannot tell" or cannot_tell is None
    raise typer.Exit(EXIT_CODES[found.verdict] if told else CANNOT_TELL[cannot_tell or "fail"])


def _table(place: str, format: str | None) -> "TableLike":
    """A table, or what a campaign exports."""
    if not place.endswith(".toml"):
        return in_format(place, format)
    from ratewise.campaign.campaign import Campaign

    return Campaign.open(place).table()
