"""`compare` and `leaderboard`: systems against each other, by ratings and by votes."""

from typing import TYPE_CHECKING, Any

from ratewise.cli.console import tell, written
from ratewise.cli.options import (
    both_ends,
    command,
    option,
    refuse,
    refuse_two_outputs,
    scale_or_none,
)
from ratewise.core.names import Estimand, Recalibration, RegressionMethod

if TYPE_CHECKING:
    from ratewise.questions.comparison import Comparison, ManyComparisons
    from ratewise.questions.leaderboard import Leaderboard
    from ratewise.tables import TableLike


@command(
    "table system with_table weak strong id baseline rate selected method level estimand pool_size cluster recalibrate "
    "low high positive scale picture report seed format json",
    system=option(
        "NAME:WEAK:STRONG, a system and its two columns; once for each system. Or once the COLUMN that says whose row "
        "it is, in a table with a row for each item and system.", list[str] | None,
    ),
    with_table=option(
        "Rated table of the other system, on the same items or on different ones.", str | None, None, "--with"
    ),
    weak=option("With --with or --system COLUMN: the weak rating's column."),
    strong=option("With --with or --system COLUMN: the strong one's."),
    id=option("With either: the column of item ids; `id` if absent."),
    baseline=option("System the others are compared with; of two, the second if absent."),
    level=option("Confidence level; of all intervals together, for many systems.", float, 0.95),
    recalibrate=option(
        "First learn from the labels what a weak difference means in strong ones.", Recalibration, "none"
    ),
)  # fmt: skip
def compare(
    *, table: "TableLike", system: list[str] | None, with_table: str | None, weak: str | None, strong: str | None,
    id: str | None, baseline: str | None, pool_size: float | None, low: float | None, high: float | None,
    **options: Any,
) -> "Comparison | ManyComparisons":  # fmt: skip
    """Compare systems, on the same items or on different ones. Shows the difference, its interval, and a sentence.

    Example: ratewise compare rated.csv --system new:judge_new:human_new --system old:judge_old:human_old
    """
    from ratewise.questions.comparison import compare_long, compare_tables

    options["bounds"] = both_ends(low, high)
    systems = [] if system is None else system
    if with_table is not None or (len(systems) == 1 and ":" not in systems[0]):
        refuse(strong is None and with_table is not None, "name the column of the strong rating: --strong human")
        refuse(pool_size is not None, "--pool-size is for systems in columns of one table; leave it out")
        options |= {"weak": weak, "strong": strong, "id": id}
        if with_table is None:
            return compare_long(table, system=systems[0], baseline=baseline, **options)
        alone = not systems and baseline is None
        refuse(not alone, "--system and --baseline are for one table; leave them out of --with")
        return compare_tables(table, with_table, **options)
    unused = weak is not None or strong is not None or id is not None
    refuse(unused, "--weak, --strong and --id go with --with, or with --system COLUMN once")
    return _in_columns(table, systems, baseline, options | {"pool_size": pool_size})


def _in_columns(
    table: "TableLike", systems: list[str], baseline: str | None, options: dict[str, Any]
) -> "Comparison | ManyComparisons":
    """Systems side by side, in columns of their own."""
    from ratewise.questions.comparison import against, check_names, compare_many
    from ratewise.questions.comparison import compare as compare_two

    named = [text.rsplit(":", 2) for text in systems]  # a name may hold colons, columns may not
    for text, parts in zip(systems, named, strict=True):
        whole = len(parts) == 3 and all(part.strip() for part in parts)
        refuse(not whole, f"--system is NAME:WEAK:STRONG, a name and two columns with colons between; got {text!r}")
    names = [name for name, _, _ in named]
    weak, strong = ({parts[0]: parts[k] for parts in named} for k in (1, 2))
    check_names(names)
    refuse(len(names) < 2, "a comparison needs two systems at least; give --system once for each")
    *first, last = against(names, baseline)
    if len(names) > 2:
        return compare_many(table, baseline=last, weak=weak, strong=strong, **options)
    g, h = (weak[first[0]], weak[last]), (strong[first[0]], strong[last])
    return compare_two(table, names=(first[0], last), weak=g, strong=h, **options)


@command(
    "table strong weak model_a model_b rate selected features method level estimand cluster ask output picture report "
    "id scale positive seed format json",
    strong=option(
        "Column with the strong vote, empty where there is none; several people's with commas. A campaign's export "
        "names it itself."
    ),
    weak=option("Column with the weak vote; none: strong votes alone."),
    model_a=option("Column with the first model's name.", str, "model_a"),
    model_b=option("Column with the second model's name.", str, "model_b"),
    method=option("How weak and strong votes are combined.", RegressionMethod, "auto"),
    level=option("Confidence level, for all models at once.", float, 0.95),
    estimand=option("Whose ratings: the population's, or those all rows would give.", Estimand, "population"),
    cluster=option("Column of voters; each voter's votes go together.", to="clusters"),
    ask=option("Choose this many comparisons for the strong rater instead; needs --output.", int | None),
    output=option("File for the table with --ask.", str | None, None, "--output", "-o"),
    id=option("Column with the rows' ids, for --ask; `id`, else the number."),
    scale=option("Words for votes, from the second model's win to the first's: right,same,left.", read=scale_or_none),
    positive=option("Not for votes: a vote has three outcomes.", hidden=True),
)
def leaderboard(
    *, table: "TableLike", ask: int | None, output: str | None, id: str | None, positive: str | None, json: bool,
    **options: Any,
) -> "Leaderboard | None":  # fmt: skip
    """Rank systems by votes: Bradley–Terry ratings with intervals. Weak votes on all comparisons, strong votes on some.

    Example: ratewise leaderboard votes.csv --weak judge --strong human
    """
    from ratewise.questions.leaderboard import leaderboard as make_leaderboard

    refuse(
        positive is not None,
        "--positive is for ratings, and a vote has a winner: model_a, model_b or tie; list other words from the second "
        "model's win to the first's with --scale right,same,left",
    )
    if ask is not None:
        _ask(table, ask, output, id, options, as_json=json)
        return None
    refuse(output is not None, "--output is for the table that --ask writes; for a picture give --picture FILE")
    return make_leaderboard(table, **options)


def _ask(
    table: "TableLike", votes: int, output: str | None, id: str | None, options: dict[str, Any], *, as_json: bool
) -> None:
    """Choose comparisons for the strong rater, and write the table with them."""
    from ratewise.errors import InputError
    from ratewise.questions.leaderboard import ask_votes
    from ratewise.tables import write_table

    if output is None or options["weak"] is None:
        raise InputError("--ask needs --weak, the column with the weak votes, and -o FILE for the table it writes")
    refuse_two_outputs(output, json=as_json)
    names = ("weak", "strong", "model_a", "model_b", "features", "scale", "seed")
    asked = ask_votes(table, votes=votes, id_column=id, **{name: options[name] for name in names})
    write_table(asked.table, output)
    counts = {
        "output": output, "items": int(asked.new.size), "selected": int(asked.new.sum()),
        "expected_error_ratio": asked.saving, "seed": options["seed"], "notes": list(asked.notes),
    }  # fmt: skip
    if output != "-":
        tell(counts, written(asked.summary(), output, asked.notes), json=as_json)
