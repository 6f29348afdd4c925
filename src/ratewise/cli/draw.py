"""`ratewise draw`: the items that the strong rater gets, in memory, in pieces or by Spark."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ratewise.cli.console import one_line_errors, print_json, print_notes, print_rich, say, typed_notes
from ratewise.cli.engines import check_engine, draw_by_spark
from ratewise.cli.options import FormatOption, Json, SafeCells, TableArgument, in_format
from ratewise.cli.sheets import drawn_rows, in_pieces, merge_command, where_to_draw, write_sheet

if TYPE_CHECKING:
    from ratewise.questions.drawing import Drawn, DrawnFile

Engine = Literal["duckdb", "spark"]


def draw(
    table: TableArgument,
    seed: Annotated[int, typer.Option(help="Names the draw: the same seed draws the same items anywhere.")],
    plan: Annotated[
        str | None, typer.Option(help="The plan's JSON, as `ratewise plan --json` prints it.", show_default=False)
    ] = None,
    at_random: Annotated[
        int | None, typer.Option("--at-random", help="Instead of a plan: so many rows at random, all at one rate.")
    ] = None,
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
    show: Annotated[str, typer.Option(help="With --sheet: the only columns that annotators see.")] = "",
    within_budget: Annotated[
        bool,
        typer.Option("--within-budget/--whole-pool", help="Look at as many items as the plan pays for, or at all."),
    ] = True,
    safe_cells: SafeCells = False,
    engine: Annotated[
        Engine, typer.Option(help="Who goes through the rows: this process, or a Spark cluster.")
    ] = "duckdb",
    master: Annotated[str | None, typer.Option(help="With --engine spark: the cluster, such as local[4].")] = None,
    format: FormatOption = None,
    json: Json = False,
) -> None:
    """Draw the items that the strong rater gets. Adds the columns `rate` and `selected`.

    Example: ratewise draw pool.csv --plan plan.json --seed 7 -o drawn.csv

    A first draw, without a plan: ratewise draw pool.csv --at-random 50 --seed 7 -o drawn.csv --sheet labels.csv
    """
    with one_line_errors():
        from ratewise.errors import InputError
        from ratewise.questions.drawing import Drawn

        if (plan is None) == (at_random is None):
            raise InputError("draw takes a plan or a number: --plan plan.json, or --at-random 50 for a first draw")
        output = where_to_draw(output, sheet)
        if json and output == "-":
            raise InputError("--json and -o - both want standard output; write the table to a file")
        drawn: Drawn | DrawnFile
        if plan is None:
            if engine == "spark" or (safe_cells and output == "-"):
                raise InputError(
                    "--at-random goes without --engine spark; with --safe-cells, name a file: -o drawn.csv"
                )
            drawn = _at_random(
                table, at_random or 0, output, seed=seed, id_column=id, safe_cells=safe_cells, format=format
            )
        else:
            drawn = _drawn(
                table, plan, output, seed=seed, id_column=id, within_budget=within_budget, safe_cells=safe_cells,
                engine=engine, master=master, format=format, sheet=sheet,
            )  # fmt: skip
        asked, hidden = None, list[str]()
        if sheet is not None:
            rows = drawn.table if isinstance(drawn, Drawn) else drawn_rows(output)
            asked, hidden = write_sheet(
                rows, sheet, plan=plan, strong=strong, hide=hide, show=show, id_column=id, seed=seed
            )
        if json:
            print_json(
                {
                    "output": output, "items": drawn.items, "selected": drawn.asked,
                    "sheet": sheet, "asked": asked, "hidden": hidden,
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
                blind = f" Not shown in it: {', '.join(hidden)}." if hidden else ""
                say(f"{asked:,} questions written to {sheet}.{blind} Once it is filled in:")
                say(merge_command(plan, output, sheet))


def _at_random(
    table: str, count: int, output: str, *, seed: int, id_column: str | None, safe_cells: bool, format: str | None
) -> "DrawnFile":  # fmt: skip
    """Write the table with a simple random sample of its rows drawn."""
    from ratewise.questions.draw_file import draw_at_random
    from ratewise.tables import open_relation, read_table, write_table
    from ratewise.tables.write import safe_cells as make_safe

    pool = open_relation(table, format=format)
    drawn = draw_at_random(pool, count, output, seed=seed, id_column=id_column)
    if safe_cells:
        write_table(make_safe(read_table(output)), output)
    return drawn


def _drawn(
    table: str, plan: str, output: str, *,
    seed: int, id_column: str | None, within_budget: bool, safe_cells: bool, engine: Engine, master: str | None,
    format: str | None, sheet: str | None,
) -> "Drawn | DrawnFile":  # fmt: skip
    """Write the drawn table. It is held in memory only where it must be; else its rows pass through."""
    from ratewise.questions.draw_file import draw_file
    from ratewise.questions.draw_pool import draw_pool
    from ratewise.questions.slice_plan import is_slice_plan
    from ratewise.questions.transfer import believed, load_transfer
    from ratewise.tables import write_table
    from ratewise.tables.write import safe_cells as make_safe

    with believed(plan):
        whole = any((safe_cells, table == "-", format is not None)) or is_slice_plan(plan)
        whole = whole or (sheet is not None and (engine == "spark" or not in_pieces(table, id_column)))
        check_engine(engine, master, whole=whole, output=output)
        transfer = None if whole else load_transfer(plan)
        if engine == "spark" and transfer is not None:
            return draw_by_spark(
                table, transfer, output, master=master, seed=seed, id_column=id_column, within_budget=within_budget
            )
        if transfer is None or transfer.old is not None:
            held = draw_pool(
                in_format(table, format), plan, seed=seed, id_column=id_column, within_budget=within_budget
            )
            write_table(make_safe(held.table) if safe_cells else held.table, output)
            return held
        return draw_file(table, transfer, output, seed=seed, id_column=id_column, within_budget=within_budget)
