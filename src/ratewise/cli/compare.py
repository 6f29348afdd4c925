"""`ratewise compare`: systems against each other, on the same items or on others."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ratewise.cli.console import one_line_errors, print_json, print_rich
from ratewise.cli.options import FormatOption, Json, Positive, Rate, Scale, Seed, TableArgument, in_format, said
from ratewise.core.names import Estimand, Method, Recalibration

if TYPE_CHECKING:
    from ratewise.questions.comparison import Comparison, ManyComparisons
    from ratewise.tables import TableLike


def compare(
    table: TableArgument,
    system: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME:WEAK:STRONG, a system and its two columns; once for each system. Or once the COLUMN that says "
            "whose row it is, in a table with a row for each item and system."
        ),
    ] = None,
    with_table: Annotated[
        str | None,
        typer.Option("--with", help="Rated table of the other system, on the same items or on different ones."),
    ] = None,
    weak: Annotated[str | None, typer.Option(help="With --with or --system COLUMN: the weak rating's column.")] = None,
    strong: Annotated[str | None, typer.Option(help="With --with or --system COLUMN: the strong one's.")] = None,
    id: Annotated[str | None, typer.Option(help="With either: the column of item ids; `id` if absent.")] = None,
    baseline: Annotated[
        str | None, typer.Option(help="System the others are compared with; of two, the second if absent.")
    ] = None,
    rate: Rate = None,
    selected: Annotated[
        str | None, typer.Option(help="Column that says which items were asked for, to count missing answers.")
    ] = None,
    method: Annotated[Method, typer.Option(help="How the ratings are combined.")] = "auto",
    level: Annotated[float, typer.Option(help="Confidence level; of all intervals together, for many systems.")] = 0.95,
    estimand: Annotated[Estimand, typer.Option(help="Whose mean: the population's, or the pool's own.")] = "population",
    pool_size: Annotated[float | None, typer.Option(help="Size of the pool, if larger than the table.")] = None,
    cluster: Annotated[str | None, typer.Option(help="Column that says which items belong together.")] = None,
    recalibrate: Annotated[Recalibration, typer.Option(help="Map weak to strong differences first.")] = "none",
    low: Annotated[float | None, typer.Option(help="Lowest possible rating; not needed for 0/1 ratings.")] = None,
    high: Annotated[float | None, typer.Option(help="Highest possible rating.")] = None,
    positive: Positive = None,
    scale: Scale = None,
    picture: Annotated[str | None, typer.Option(help="File for a picture, .svg or .png.")] = None,
    seed: Seed = 0,
    format: FormatOption = None,
    json: Json = False,
) -> None:
    """Compare systems, on the same items or on different ones. Shows the difference, its interval, and a sentence.

    Example: ratewise compare rated.csv --system new:judge_new:human_new --system old:judge_old:human_old
    """
    with one_line_errors():
        from ratewise.report.pictures import check_ending
        from ratewise.tables.write import check_folder

        check_folder(picture)
        check_ending(picture)
        counted, order = said(positive, scale)
        options: dict[str, Any] = {
            "rate": rate, "selected": selected, "clusters": cluster, "method": method, "level": level,
            "estimand": estimand, "recalibrate": recalibrate, "bounds": _ends(low, high), "positive": counted,
            "scale": order, "seed": seed,
        }  # fmt: skip
        systems, read = [] if system is None else system, in_format(table, format)
        if with_table is not None or (len(systems) == 1 and ":" not in systems[0]):
            apart = {"weak": weak, "strong": _needed(strong), "id": id, **options}
            _refuse(pool_size is not None, "--pool-size is for systems in columns of one table; leave it out")
            found = _apart(read, with_table, systems, baseline, apart)
        else:
            unused = weak is not None or strong is not None or id is not None
            _refuse(unused, "--weak, --strong and --id go with --with, or with --system COLUMN once")
            found = _columns(read, systems, baseline, {"pool_size": pool_size, **options})
        if picture is not None:
            from ratewise.report.comparison import plot_comparison
            from ratewise.report.pictures import save

            save(plot_comparison(found), picture)
        if json:
            print_json(found.to_dict())
        else:
            from ratewise.report.comparison import shown

            print_rich(shown(found))


def _columns(
    table: "TableLike", systems: list[str], baseline: str | None, options: dict[str, Any]
) -> "Comparison | ManyComparisons":
    """Systems side by side, in columns of their own."""
    from ratewise.questions.comparison import compare as compare_two
    from ratewise.questions.comparison import compare_many

    names, weak, strong = _systems(systems)
    last = _baseline(names, baseline)
    if len(names) > 2:
        return compare_many(table, baseline=last, weak=weak, strong=strong, **options)
    pair = (next(name for name in names if name != last), last)
    g, h = (weak[pair[0]], weak[pair[1]]), (strong[pair[0]], strong[pair[1]])
    return compare_two(table, names=pair, weak=g, strong=h, **options)


def _apart(
    table: "TableLike", with_table: str | None, systems: list[str], baseline: str | None, options: dict[str, Any]
) -> "Comparison | ManyComparisons":
    """Two tables, or a table with a row for each item and system."""
    from ratewise.questions.long_table import compare_long
    from ratewise.questions.two_tables import compare_tables

    if with_table is None:
        return compare_long(table, system=systems[0], baseline=baseline, **options)
    _refuse(
        bool(systems) or baseline is not None, "--system and --baseline are for one table; leave them out of --with"
    )
    return compare_tables(table, with_table, **options)


def _ends(low: float | None, high: float | None) -> tuple[float, float] | None:
    _refuse((low is None) != (high is None), "give both ends of the rating scale (--low and --high), or neither")
    return None if low is None or high is None else (low, high)


def _needed(strong: str | None) -> str:
    _refuse(strong is None, "name the column of the strong rating: --strong human")
    return str(strong)


def _refuse(wrong: bool, message: str) -> None:
    from ratewise.errors import InputError

    if wrong:
        raise InputError(message)


def _systems(given: list[str]) -> tuple[list[str], dict[str, str], dict[str, str]]:
    """Names, weak and strong columns of NAME:WEAK:STRONG; a name may hold colons, columns may not."""
    from ratewise.errors import InputError
    from ratewise.questions.systems import check_names

    parts = [text.rsplit(":", 2) for text in given]
    for text, words in zip(given, parts, strict=True):
        if len(words) != 3 or not all(word.strip() for word in words):
            raise InputError(f"--system is NAME:WEAK:STRONG, a name and two columns with colons between; got {text!r}")
    names = [words[0] for words in parts]
    check_names(names)
    if len(names) < 2:
        raise InputError("a comparison needs two systems at least; give --system once for each")
    return names, {words[0]: words[1] for words in parts}, {words[0]: words[2] for words in parts}


def _baseline(names: list[str], baseline: str | None) -> str:
    from ratewise.errors import InputError

    if baseline is None and len(names) > 2:
        raise InputError(f"{len(names)} systems need a --baseline; choose one of {', '.join(names)}")
    if baseline is not None and baseline not in names:
        raise InputError(f"the baseline {baseline!r} is no system; choose one of {', '.join(names)}")
    return names[1] if baseline is None else baseline
