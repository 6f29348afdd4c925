"""`ratewise compare`: systems against each other, on the same items."""

from typing import Annotated

import typer

from ratewise.cli.console import one_line_errors, print_json, print_rich
from ratewise.cli.options import Json, Rate, Seed, TableArgument
from ratewise.core.names import Estimand, Method, Recalibration


def compare(
    table: TableArgument,
    system: Annotated[
        list[str], typer.Option(help="NAME:WEAK:STRONG, a system and its two columns; once for each system.")
    ],
    baseline: Annotated[
        str | None, typer.Option(help="System the others are compared with; of two, the second if absent.")
    ] = None,
    rate: Rate = None,
    selected: Annotated[
        str | None, typer.Option(help="Column that says who was asked, to count missing answers.")
    ] = None,
    method: Annotated[Method, typer.Option(help="How the ratings are combined.")] = "auto",
    level: Annotated[float, typer.Option(help="Confidence level; of all intervals together, for many systems.")] = 0.95,
    estimand: Annotated[Estimand, typer.Option(help="Whose mean: the population's, or the pool's own.")] = "population",
    pool_size: Annotated[float | None, typer.Option(help="Size of the pool, if larger than the table.")] = None,
    cluster: Annotated[str | None, typer.Option(help="Column that says which items belong together.")] = None,
    recalibrate: Annotated[Recalibration, typer.Option(help="Map weak to strong differences first.")] = "none",
    low: Annotated[float | None, typer.Option(help="Lowest possible rating; found by itself for 0/1 ratings.")] = None,
    high: Annotated[float | None, typer.Option(help="Highest possible rating.")] = None,
    picture: Annotated[str | None, typer.Option(help="File for a picture, .svg or .png.")] = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Systems against each other on the same items: the difference, how sure it is, and a sentence.

    Example: ratewise compare rated.csv --system new:judge_new:human_new --system old:judge_old:human_old
    """
    with one_line_errors():
        from ratewise.errors import InputError
        from ratewise.report.pictures import check_ending
        from ratewise.tables.files import check_folder

        check_folder(picture)
        check_ending(picture)
        if (low is None) != (high is None):
            raise InputError("give both ends of the rating scale (--low and --high), or neither")
        names, weak, strong = _systems(system)
        last = _baseline(names, baseline)
        from ratewise.targets.compare import Comparison
        from ratewise.targets.compare import compare as compare_two
        from ratewise.targets.compare_many import ManyComparisons, compare_many

        found: Comparison | ManyComparisons
        ends = None if low is None or high is None else (low, high)
        if len(names) == 2:
            pair = (next(name for name in names if name != last), last)
            found = compare_two(
                table, weak=(weak[pair[0]], weak[pair[1]]), strong=(strong[pair[0]], strong[pair[1]]), names=pair,
                rate=rate, selected=selected, method=method, level=level, estimand=estimand, pool_size=pool_size,
                clusters=cluster, recalibrate=recalibrate, bounds=ends, seed=seed,
            )  # fmt: skip
        else:
            found = compare_many(
                table, baseline=last, weak=weak, strong=strong, rate=rate, selected=selected, method=method,
                level=level, estimand=estimand, pool_size=pool_size, clusters=cluster, recalibrate=recalibrate,
                bounds=ends, seed=seed,
            )  # fmt: skip
        if picture is not None:
            from ratewise.report.comparison import plot_comparison
            from ratewise.report.pictures import save

            save(plot_comparison(found), picture)
        if json:
            print_json(found.to_dict())
        else:
            from ratewise.report.comparison import shown

            print_rich(shown(found))


def _systems(given: list[str]) -> tuple[list[str], dict[str, str], dict[str, str]]:
    """Names, weak and strong columns of NAME:WEAK:STRONG; a name may hold colons, columns may not."""
    from ratewise.errors import InputError
    from ratewise.targets.systems import check_names

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
