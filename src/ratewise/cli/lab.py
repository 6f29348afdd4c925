"""`ratewise simulate` and `ratewise reproduce`: the lab's commands."""

from typing import Annotated

import typer

from ratewise.cli.console import STOPPED, one_line_errors, print_json, print_rich, progress_bar
from ratewise.cli.options import (
    FormatOption,
    Json,
    LearnerOption,
    Positive,
    Scale,
    Seed,
    TableArgument,
    Text,
    Weak,
    Workers,
    in_format,
    said,
    words,
)
from ratewise.core.names import FIGURES, SIMULATED_METHODS, Mode


def simulate(
    table: TableArgument,
    weak: Weak,
    strong: Annotated[str, typer.Option(help="Column with the strong rating; every row needs one.")],
    cost_ratio: Annotated[float, typer.Option(help="Price of a weak rating over that of a strong one.")],
    budgets: Annotated[str, typer.Option(help="Budgets after the burn-in, in strong ratings: 100,200,400.")],
    burn_in: Annotated[
        int | None, typer.Option(help="Labels given to every method; 200, or 0 with --transfer-from.")
    ] = None,
    methods: Annotated[
        str | None, typer.Option(help=f"Some of {', '.join(SIMULATED_METHODS)}; separated by commas.")
    ] = None,
    mode: Annotated[
        Mode, typer.Option(help="stream: items drawn with replacement; pool: the table is the whole pool.")
    ] = "stream",
    trials: Annotated[int, typer.Option(help="Number of trials.")] = 2000,
    features: Annotated[str, typer.Option(help="Columns that auto may learn from, separated by commas.")] = "",
    text: Text = "",
    learner: LearnerOption = "words",
    uncertainty: Annotated[
        str | None, typer.Option(help="Column with the weak rater's expected squared error.")
    ] = None,
    transfer_from: Annotated[
        str | None, typer.Option(help="Fully rated table with the same columns to learn the policies from.")
    ] = None,
    fixed_rate: Annotated[float, typer.Option(help="n/N of ppi++ and active-fixed.")] = 0.1,
    level: Annotated[float, typer.Option(help="Confidence level of the intervals that are checked.")] = 0.95,
    csv: Annotated[str | None, typer.Option(help="File for one row per method and budget.")] = None,
    picture: Annotated[str | None, typer.Option(help="File for the three panels, .svg or .png.")] = None,
    positive: Positive = None,
    scale: Scale = None,
    seed: Seed = 0,
    workers: Workers = None,
    format: FormatOption = None,
    json: Json = False,
) -> None:
    """Try every method on a table that is fully rated. Shows what each would have achieved.

    Example: ratewise simulate rated.csv --cost-ratio 0.05 --budgets 100,400 --weak judge --strong human
    """
    with one_line_errors():
        from ratewise.lab.simulate import DEFAULT_METHODS
        from ratewise.report.pictures import check_ending
        from ratewise.tables.write import check_folder

        for path in (csv, picture):
            check_folder(path)
        check_ending(picture)
        from ratewise.lab.simulate import simulate as run_simulation
        from ratewise.learn.text.telling import told

        counted, order = said(positive, scale)
        with progress_bar("trials", quiet=json) as progress, told(progress):  # texts first, if a model embeds them
            found = run_simulation(
                in_format(table, format),
                weak=weak, strong=strong, cost_ratio=cost_ratio, budgets=_numbers(budgets), burn_in=burn_in,
                methods=DEFAULT_METHODS if methods is None else words(methods),  # type: ignore[arg-type]
                mode=mode, trials=trials, features=words(features), uncertainty=uncertainty,
                text=words(text), learner=learner, transfer_from=transfer_from,
                fixed_rate=fixed_rate, level=level, positive=counted, scale=order, seed=seed, workers=workers,
                progress=progress,
            )  # fmt: skip
        if csv is not None:
            found.save_csv(csv)
        if picture is not None:
            from ratewise.report.pictures import save
            from ratewise.report.simulation import plot_simulation

            save(plot_simulation(found), picture)
        if json:
            print_json(found.to_dict())
        else:
            from ratewise.report.simulation import simulation_text

            print_rich(simulation_text(found))
    if found.partial:
        raise typer.Exit(STOPPED)


def reproduce(
    output: Annotated[str, typer.Option("--output", "-o", help="Folder for the CSV files, pictures and the page.")],
    figures: Annotated[
        list[str] | None,
        typer.Argument(
            help=f"Some of {', '.join(FIGURES)}; if none is named, all but arena-like, which trains a rater."
        ),
    ] = None,
    data: Annotated[
        str | None, typer.Option(help="Folder with your copies of the paper's datasets, one folder each.")
    ] = None,
    tables: Annotated[
        str | None, typer.Option(help="Folder with stand-in tables; $RATEWISE_DATA or ../shared/data if absent.")
    ] = None,
    trials: Annotated[int, typer.Option(help="Number of trials, for figures on real data.")] = 2000,
    seed: Seed = 0,
    workers: Workers = None,
    json: Json = False,
) -> None:
    """Repeat the paper's experiments. Writes a CSV and a picture each, and a page that says whether its claims hold.

    Example: ratewise reproduce gaussian bernoulli -o figures
    """
    with one_line_errors():
        from ratewise.report.reproduction import reproduce_all, reproduction_text

        with progress_bar("trials", quiet=json) as progress:
            made = reproduce_all(
                figures or [name for name in FIGURES if name != "arena-like"], output, data=data, tables=tables,
                trials=trials, seed=seed, workers=workers, progress=progress,
            )  # fmt: skip
        if json:
            print_json(made.to_dict())
        else:
            print_rich(reproduction_text(made))
    if made.partial:
        raise typer.Exit(STOPPED)


def _numbers(text: str) -> list[float]:
    from ratewise.core.checks import number

    return [number(word, name="budgets") for word in words(text)]
