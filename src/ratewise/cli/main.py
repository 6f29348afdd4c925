"""`ratewise`: the commands. Heavy imports wait until a command runs, so that --help is quick."""

import os
import sys
from typing import Annotated, Literal

import typer

from ratewise.cli.archive import backup, rescue
from ratewise.cli.campaign import export, init, report, run, status, verify
from ratewise.cli.check import check
from ratewise.cli.compare import compare
from ratewise.cli.console import (
    STOPPED,
    one_line_errors,
    print_json,
    print_notes,
    print_rich,
    say,
    texts_told,
    typed_notes,
)
from ratewise.cli.convert import convert
from ratewise.cli.engines import check_engine, draw_by_spark
from ratewise.cli.incoming import take_labels
from ratewise.cli.judge import judge
from ratewise.cli.lab import reproduce, simulate
from ratewise.cli.leaderboard import leaderboard
from ratewise.cli.means import (
    check_what_if,
    not_with_by,
    only_with_by,
    print_slice_plan,
    print_slices,
    save_what_if,
)
from ratewise.cli.options import (
    FormatOption,
    Json,
    LearnerOption,
    People,
    Positive,
    Rate,
    SafeCells,
    Scale,
    TableArgument,
    Text,
    Weak,
    in_format,
    needed,
    said,
    words,
)
from ratewise.cli.people import check_installed, people, serve
from ratewise.cli.regress import quantile, regress
from ratewise.cli.sheets import drawn_rows, in_pieces, merge, merge_command, where_to_draw, write_sheet
from ratewise.cli.train import train
from ratewise.core.names import Estimand, IntervalMethod, Method, Objective, Recalibration

app = typer.Typer(
    name="ratewise",
    help="Unbiased evaluation from few expensive ratings and many cheap ones, at the lowest cost.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and leave.")] = False,
) -> None:
    if version:
        from ratewise import __version__

        say(f"ratewise {__version__}")
        raise typer.Exit


@app.command()
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
    seed: Annotated[int, typer.Option(help="Seed of the cross-fitting folds.")] = 0,
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
        from ratewise.targets.mean.plan import plan as make_plan

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


@app.command()
def draw(
    table: TableArgument,
    plan: Annotated[str, typer.Option(help="The plan's JSON, as `ratewise plan --json` prints it.")],
    seed: Annotated[int, typer.Option(help="Names the draw: the same seed draws the same items anywhere.")],
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", help="File to write, a folder for parts (drawn/), or - for standard output."),
    ] = None,
    id: Annotated[str | None, typer.Option(help="Column with the items' ids; `id`, else the row number.")] = None,
    sheet: Annotated[
        str | None, typer.Option(help="Also write the drawn rows for annotators: shuffled, blind, a column to fill in.")
    ] = None,
    strong: Annotated[str, typer.Option(help="With --sheet: column to fill in; the plan's own.")] = "",
    hide: Annotated[str, typer.Option(help="With --sheet: more columns that annotators must not see.")] = "",
    within_budget: Annotated[
        bool,
        typer.Option("--within-budget/--whole-pool", help="Look at as many items as the plan pays for, or at all."),
    ] = True,
    safe_cells: SafeCells = False,
    engine: Annotated[
        Literal["duckdb", "spark"], typer.Option(help="Who goes through the rows: this process, or a Spark cluster.")
    ] = "duckdb",
    master: Annotated[str | None, typer.Option(help="With --engine spark: the cluster, such as local[4].")] = None,
    format: FormatOption = None,
    json: Json = False,
) -> None:
    """Draw the items that the strong rater gets. Adds the columns `rate` and `selected`.

    Example: ratewise draw pool.csv --plan plan.json --seed 7 -o drawn.csv
    """
    with one_line_errors():
        from ratewise.errors import InputError
        from ratewise.tables import write_table
        from ratewise.tables.spreadsheet import safe_cells as make_safe
        from ratewise.targets.draw_pool import draw_pool
        from ratewise.targets.mean.draw_file import draw_file
        from ratewise.targets.mean.draw_steps import DrawnFile
        from ratewise.targets.mean.drawing import Drawn
        from ratewise.targets.mean.plan_file import believed
        from ratewise.targets.mean.transfer import load_transfer
        from ratewise.targets.slice_draw import is_slice_plan

        drawn: Drawn | DrawnFile
        output = where_to_draw(output, sheet)
        if json and output == "-":
            raise InputError("--json and -o - both want standard output; write the table to a file")
        with believed(plan):
            whole = any((safe_cells, table == "-", format is not None)) or is_slice_plan(plan)
            whole = whole or (sheet is not None and (engine == "spark" or not in_pieces(table, id)))
            check_engine(engine, master, whole=whole, output=output)
            transfer = None if whole else load_transfer(plan)
            if engine == "spark" and transfer is not None:
                drawn = draw_by_spark(
                    table, transfer, output, master=master, seed=seed, id_column=id, within_budget=within_budget
                )
            elif transfer is None or transfer.old is not None:
                held = draw_pool(in_format(table, format), plan, seed=seed, id_column=id, within_budget=within_budget)
                write_table(make_safe(held.table) if safe_cells else held.table, output)
                drawn = held
            else:
                drawn = draw_file(table, transfer, output, seed=seed, id_column=id, within_budget=within_budget)
        asked = None
        if sheet is not None:
            rows = drawn.table if isinstance(drawn, Drawn) else drawn_rows(output)
            asked = write_sheet(rows, sheet, plan=plan, strong=strong, hide=hide, id_column=id, seed=seed)
        if json:
            print_json(
                {
                    "output": output, "items": drawn.items, "selected": drawn.asked,
                    "sheet": sheet, "asked": asked,
                    "expected_spend": drawn.expected_spend, "spend": drawn.spend, "seed": seed,
                    "drift": None if drawn.drift is None else drawn.drift.to_dict(),
                    "notes": list(drawn.notes),
                }
            )  # fmt: skip
        elif output == "-":
            print_notes(drawn.notes)
        else:
            from ratewise.report.text import drawn_text

            print_rich(drawn_text(typed_notes(drawn), output))
            if sheet is not None:
                say(f"{asked:,} questions written to {sheet}. Once it is filled in:")
                say(merge_command(plan, output, sheet))


@app.command()
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
    estimand: Annotated[Estimand, typer.Option(help="Whose mean: the population's, or the pool's own.")] = "population",
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
    seed: Annotated[int, typer.Option(help="Seed of folds and bootstrap.")] = 0,
    format: FormatOption = None,
    json: Json = False,
) -> None:
    """Estimate the mean strong rating, with its interval. The table is drawn, and rated in part.

    Example: ratewise estimate rated.csv --weak judge --strong human --rate rate
    """
    with one_line_errors():
        counted, order = said(positive, scale)
        if by is not None:
            not_with_by(strata=strata, weight=weight, pool_size=pool_size)
            print_slices(
                in_format(table, format),
                by=by, weak=weak, strong=needed(strong, "--strong human"), rate=rate, selected=selected,
                clusters=cluster, bounds=(low, high), weak_cost=weak_cost, strong_cost=strong_cost, shrink=shrink,
                simultaneous=simultaneous, method=method, interval=interval, level=level, estimand=estimand,
                recalibrate=recalibrate, text=words(text), learner=learner, floor=floor, seed=seed, picture=picture,
                as_json=json, positive=counted, scale=order,
            )  # fmt: skip
            return
        only_with_by(shrink=shrink, simultaneous=simultaneous, picture=picture)
        from ratewise.targets.mean.estimation import estimate_table

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

            print_rich(estimate_text(found))


for command in (
    convert,
    merge,
    judge,
    check,
    compare,
    leaderboard,
    regress,
    quantile,
    simulate,
    reproduce,
    train,
    init,
    run,
    status,
    serve,
    people,
    report,
    export,
    verify,
    backup,
    rescue,
):
    app.command()(command)
app.command("import")(take_labels)


@app.command()
def demo(
    output: Annotated[str, typer.Option("--output", "-o", help="Folder for the files it writes.")] = "ratewise-demo",
    seed: Annotated[int, typer.Option(help="Names the made-up pool and the draw.")] = 1,
    serve: Annotated[bool, typer.Option("--serve", help="Open a labelling page to click through instead.")] = False,
    port: Annotated[int, typer.Option(help="With --serve: port to listen at.")] = 8765,
    json: Json = False,
) -> None:
    """Run a whole campaign on a small made-up pool. Its true mean is known.

    Example: ratewise demo
    """
    with one_line_errors():
        if serve:
            check_installed()
            from ratewise.cli.demo_page import serve_demo

            serve_demo(os.path.join(output, "labelling"), seed=seed, port=port, as_json=json)
            return
        from ratewise.cli.demo import run_demo

        run_demo(output, seed=seed, as_json=json)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; wrong usage is one line and exit code 2."""
    from typer.main import get_command

    command = get_command(app)
    given = sys.argv[1:] if arguments is None else arguments
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a pipe that knows few letters gets the rest all the same
    try:
        code = command.main(args=given or ["--help"], prog_name="ratewise", standalone_mode=False)
    except SystemExit as leaving:
        code = leaving.code
    except Exception as error:
        if not hasattr(error, "format_message"):  # click's own errors have one
            raise
        context = getattr(error, "ctx", None)
        asked = "ratewise" if context is None else context.command_path
        say(f"ratewise: {' '.join(error.format_message().split())} (see {asked} --help)", error=True)
        raise SystemExit(2) from None
    if code == STOPPED and arguments is None:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(STOPPED)  # at once: what libraries have to say about an interrupted end is not for users
    raise SystemExit(0 if code is None else code)


if __name__ == "__main__":
    main()
