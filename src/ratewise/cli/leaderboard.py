"""`ratewise leaderboard`: ratings of models from pairwise votes, and which votes to ask for."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from ratewise.cli.console import one_line_errors, print_json, print_rich
from ratewise.cli.options import FormatOption, Json, Rate, Seed, TableArgument, in_format, said, words
from ratewise.core.names import Estimand, RegressionMethod

if TYPE_CHECKING:
    from ratewise.tables import TableLike


def leaderboard(
    table: TableArgument,
    strong: Annotated[
        str, typer.Option(help="Column with the strong vote, empty where there is none; several people's with commas.")
    ],
    weak: Annotated[str | None, typer.Option(help="Column with the weak vote; none: strong votes alone.")] = None,
    model_a: Annotated[str, typer.Option(help="Column with the first model's name.")] = "model_a",
    model_b: Annotated[str, typer.Option(help="Column with the second model's name.")] = "model_b",
    rate: Rate = None,
    selected: Annotated[str | None, typer.Option(help="Column that says which comparisons were asked for.")] = None,
    features: Annotated[str, typer.Option(help="Columns to learn the strong vote from, separated by commas.")] = "",
    method: Annotated[RegressionMethod, typer.Option(help="How weak and strong votes are combined.")] = "auto",
    level: Annotated[float, typer.Option(help="Confidence level, for all models at once.")] = 0.95,
    estimand: Annotated[
        Estimand, typer.Option(help="Whose ratings: the population's, or those all rows would give.")
    ] = "population",
    cluster: Annotated[str | None, typer.Option(help="Column of voters; each voter's votes go together.")] = None,
    ask: Annotated[
        int | None, typer.Option(help="Choose this many comparisons for the strong rater instead; needs --output.")
    ] = None,
    output: Annotated[str | None, typer.Option("--output", "-o", help="File for the table with --ask.")] = None,
    picture: Annotated[str | None, typer.Option(help="File for a picture of the ratings, .svg or .png.")] = None,
    id: Annotated[str | None, typer.Option(help="Column with the rows' ids, for --ask; `id`, else the number.")] = None,
    scale: Annotated[
        str | None, typer.Option(help="Words for votes, from the second model's win to the first's: right,same,left.")
    ] = None,
    positive: Annotated[str | None, typer.Option(help="Not for votes: a vote has three outcomes.", hidden=True)] = None,
    seed: Seed = 0,
    format: FormatOption = None,
    json: Json = False,
) -> None:
    """Rank systems by votes: Bradley–Terry ratings with intervals. Weak votes on all comparisons, strong votes on some.

    Example: ratewise leaderboard votes.csv --weak judge --strong human
    """
    with one_line_errors():
        from ratewise.errors import InputError

        if positive is not None:
            raise InputError(
                "--positive is for ratings, and a vote has a winner: model_a, model_b or tie; list other words from "
                "the second model's win to the first's with --scale right,same,left"
            )
        order = said(None, scale)[1]
        if ask is not None:
            _ask(
                in_format(table, format),
                ask,
                strong,
                weak,
                (model_a, model_b),
                words(features),
                output,
                id,
                seed,
                order,
                json,
            )
            return
        from ratewise.questions.leaderboard import leaderboard as make_leaderboard
        from ratewise.report.pictures import check_ending
        from ratewise.tables import read_table
        from ratewise.tables.write import check_folder

        if output is not None:
            raise InputError("--output is for the table that --ask writes; for a picture give --picture FILE")
        check_folder(picture)
        check_ending(picture)
        board = make_leaderboard(
            read_table(table, format=format),
            model_a=model_a, model_b=model_b, strong=strong, weak=weak, rate=rate, selected=selected,
            features=words(features), method=method, level=level, estimand=estimand, clusters=cluster, scale=order,
            seed=seed,
        )  # fmt: skip
        if picture is not None:
            from ratewise.report.leaderboard import plot_leaderboard
            from ratewise.report.pictures import save

            save(plot_leaderboard(board), picture)
        if json:
            print_json(board.to_dict())
        else:
            from ratewise.report.leaderboard import leaderboard_text

            print_rich(leaderboard_text(board))


def _ask(
    table: "TableLike",
    votes: int,
    strong: str,
    weak: str | None,
    models: tuple[str, str],
    features: list[str],
    output: str | None,
    id: str | None,
    seed: int,
    scale: Sequence[str] | dict[str, float] | None,
    json: bool,
) -> None:
    from ratewise.errors import InputError
    from ratewise.questions.votes import ask_votes
    from ratewise.tables import write_table

    if output is None or weak is None:
        raise InputError("--ask needs --weak, the column with the weak votes, and -o FILE for the table it writes")
    if json and output == "-":
        raise InputError("--json and -o - both want standard output; write the table to a file")
    asked = ask_votes(
        table, votes=votes, weak=weak, strong=strong, model_a=models[0], model_b=models[1], features=features,
        id_column=id, scale=scale, seed=seed,
    )  # fmt: skip
    write_table(asked.table, output)
    if json:
        print_json(
            {
                "output": output, "items": int(asked.new.size), "selected": int(asked.new.sum()),
                "expected_error_ratio": asked.saving, "seed": seed, "notes": list(asked.notes),
            }
        )  # fmt: skip
    elif output != "-":
        from ratewise.report.leaderboard import asked_text

        print_rich(asked_text(asked, output))
