"""`estimate`, `check`, `regress` and `quantile`: what a drawn and rated table says."""

from typing import TYPE_CHECKING, Any, Literal

from ratewise.cli.console import print_notes, tell, write_report
from ratewise.cli.options import (
    EXPORTED,
    argument,
    both_ends,
    command,
    flag,
    in_format,
    numbers,
    option,
    refuse,
    required,
    words,
)
from ratewise.core.names import Estimand, Family, RegressionMethod

if TYPE_CHECKING:
    from ratewise.tables import TableLike

EXIT_CODES = {"yes": 0, "no": 1, "cannot tell": 5}
CANNOT_TELL = {"pass": 0, "fail": 1}
CannotTell = Literal["pass", "fail"]


@command(
    "table strong weak rate selected cluster strata weight method interval level estimand pool_size recalibrate text "
    "learner low high floor weak_cost strong_cost by shrink simultaneous picture report positive scale seed format "
    "json",
    strata=option("Column of the groups by which items were chosen to be looked at, as `plan --strata` does."),
    weight=option("Column with how much each item counts, where some were likelier to be looked at than others."),
    floor=option("Lowest rate any item could have had; for anytime intervals.", float | None),
    weak_cost=option("Price of one weak rating, to print the spend.", float | None),
    strong_cost=option("Price of one strong rating.", float | None),
    by=option("Column with groups: an estimate for each, and for the whole."),
    shrink=flag(
        "With --by: shrink groups toward the overall mean, as far as they may differ by chance.", "--shrink"
    ),
    simultaneous=flag("With --by: intervals that all hold at once.", "--simultaneous"),
    picture=option("With --by: file for a picture, .svg or .png."),
    **EXPORTED,
)  # fmt: skip
def estimate(
    *, by: str | None, strata: str | None, weight: str | None, shrink: bool, simultaneous: bool, picture: str | None,
    **options: Any,
) -> Any:  # fmt: skip
    """Estimate the mean strong rating, with its interval. TABLE has strong ratings of the items that were drawn.

    Example: ratewise estimate rated.csv --weak judge --strong human --rate rate
    """
    if by is None:
        from ratewise.questions.estimation import estimate_table

        only = shrink or simultaneous or picture is not None
        refuse(only, "--shrink, --simultaneous and --picture are for slices; name their column with --by")
        return estimate_table(strata=strata, weight=weight, **options)
    from ratewise.questions.slices import estimate_slices

    for name, value in (("strata", strata), ("weight", weight)):
        refuse(value is not None, f"--by and --{name} do not go together; leave one of them out")
    return estimate_slices(by=by, shrink=shrink, simultaneous=simultaneous, **options)


@command(
    "table strong weak at_least no_worse_than margin last_weak last_strong last_rate rate selected cluster id method "
    "interval level estimand pool_size recalibrate low high cannot_tell summary report positive scale seed format json",
    table=argument(
        "Rated table: CSV, JSONL or Parquet, or a file that another tool wrote; - for standard input. Or a campaign's "
        "TOML."
    ),
    at_least=option("Value that the mean must reach: 0.97, or 97% of ratings from 0 to 1."),
    no_worse_than=option("Rated table of the last release, on the same items or on different ones; with --margin."),
    margin=option("Largest drop below the last table's mean that still passes: 0.01, or 1pp."),
    last_weak=option("Last table's --weak, if it is called differently."),
    last_strong=option("Last table's --strong, if it is called differently."),
    last_rate=option("Last table's --rate, if it is called differently."),
    id=option("Column of item ids in both tables; `id` if both have it."),
    level=option("Confidence level of the two-sided interval.", float, 0.95),
    cannot_tell=option(
        "What it counts as if nobody can tell yet: exit code 0 or 1, instead of 5.", CannotTell | None,
        show_default=False,
    ),
    summary=option("File for a Markdown summary, for a pull request."),
    **EXPORTED,
)  # fmt: skip
def check(
    *, table: str, format: str | None, strong: str | None, weak: str | None, rate: str | None,
    no_worse_than: str | None, last_weak: str | None, last_strong: str | None, last_rate: str | None,
    selected: str | None, cluster: str | None, id: str | None, low: float | None, high: float | None,
    cannot_tell: CannotTell | None, summary: str | None, report: str | None, json: bool, **options: Any,
) -> int:  # fmt: skip
    """Check that the mean is high enough, or no worse than before. Exit code: 0 yes, 1 no, 5 cannot tell.

    TABLE and the last table may be campaigns (campaign.toml): their own estimates are taken.

    Example: ratewise check rated.csv --weak judge --strong human --at-least 0.8 --summary check.md
    """
    from ratewise.questions.check import check as ask
    from ratewise.questions.rated import TableColumns
    from ratewise.tables.write import check_folder, write_text

    check_folder(summary)
    bounds = both_ends(low, high)
    differs = last_weak is not None or last_strong is not None or last_rate is not None
    last = TableColumns(last_strong or strong, last_weak or weak, last_rate or rate, selected, cluster, id)
    found = ask(
        _rated(table, format), strong=strong, weak=weak, rate=rate, selected=selected, clusters=cluster, id=id,
        no_worse_than=None if no_worse_than is None else _rated(no_worse_than, None), last=last if differs else None,
        bounds=bounds, **options,
    )  # fmt: skip
    if summary is not None:
        write_text(summary, found.to_markdown())
    if report is not None:
        write_report(found, report, table=table)
    tell(found.to_dict(), found.sentence, json=json)
    if not json:
        print_notes(found.notes)
    if found.verdict == "cannot tell" and cannot_tell is not None:
        return CANNOT_TELL[cannot_tell]
    return EXIT_CODES[found.verdict]


def _rated(place: str, format: str | None) -> "TableLike":
    """A table, or what a campaign exports."""
    if not place.endswith(".toml"):
        return in_format(place, format)
    from ratewise.campaign.campaign import Campaign

    return Campaign.open(place).table()


@command(
    "table strong on weak family rate selected method features no_intercept level estimand pool_size cluster picture "
    "positive scale format json",
    on=required("Columns to regress on, separated by commas; words become a column each.", read=words),
    family=option("Kind of regression.", Family, "linear"),
    method=option("How the weak rating is used.", RegressionMethod, "auto"),
    no_intercept=flag("Leave the intercept out.", "--no-intercept"),
    estimand=option("Whose coefficients: the population's, or the pool's own.", Estimand, "population"),
)
def regress(*, on: list[str], no_intercept: bool, **options: Any) -> Any:
    """Regress the strong rating on columns. From few strong ratings and many weak ones.

    Example: ratewise regress rated.csv --weak judge --strong human --on length,topic --family logistic --rate rate
    """
    refuse(not on, "--on names no column; give the columns to regress on, separated by commas")
    from ratewise.questions.regression import regress as run_regression

    return run_regression(on=on, intercept=not no_intercept, **options)


@command(
    "table strong weak at rate selected level estimand pool_size cluster low high positive scale format json",
    at=option("Quantiles between 0 and 1, separated by commas.", str, "0.5", read=numbers("quantile")),
    strong=EXPORTED["strong"],
    estimand=option("Whose quantiles: the population's, or the pool's own.", Estimand, "population"),
)
def quantile(**options: Any) -> Any:
    """Estimate quantiles of the strong rating, with intervals. From few strong ratings and many weak ones.

    Example: ratewise quantile rated.csv --weak judge --strong human --at 0.5,0.9 --rate rate
    """
    from ratewise.questions.quantiles import quantile_table

    return quantile_table(**options)
