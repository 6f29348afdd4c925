"""`draw` and `merge`: the items that the strong rater gets, on a sheet for people, and their answers back."""

import json as json_format
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ratewise.cli.console import print_json, print_notes, say, tell, written
from ratewise.cli.options import (
    argument,
    command,
    in_format,
    option,
    refuse,
    refuse_two_outputs,
    required,
    words,
)
from ratewise.errors import InputError

if TYPE_CHECKING:
    from ratewise.questions.drawing import Drawn, DrawnFile
    from ratewise.tables import Table
    from ratewise.tables.words import Scale

Engine = Literal["duckdb", "spark"]


@command(
    "table seed plan at_random output id sheet strong hide show within_budget safe_cells engine master format json",
    seed=required("Names the draw: the same seed draws the same items anywhere.", int),
    plan=option("The plan's JSON, as `ratewise plan --json` prints it.", show_default=False),
    at_random=option("Instead of a plan: so many rows at random, all at one rate.", int | None, None, "--at-random"),
    output=option(
        "File to write, a folder for parts (drawn/), or - for standard output.", str | None, None, "--output", "-o"
    ),
    sheet=option("Also write the drawn rows for annotators: shuffled, blind, a column to fill in."),
    strong=option("With --sheet: the column to fill in. Default: the plan's.", str, "", read=words),
    hide=option("With --sheet: more columns that annotators must not see.", str, "", read=words),
    show=option("With --sheet: the only columns that annotators see.", str, "", read=words),
    within_budget=option(
        "Keep within the plan's money, or give every item of the pool its chance.",
        bool,
        True,
        "--within-budget/--whole-pool",
    ),
    engine=option("What goes through the rows: this process, or a Spark cluster.", Engine, "duckdb"),
    master=option("With --engine spark: the cluster, such as local[4]."),
)
def draw(
    *, table: str, seed: int, plan: str | None, at_random: int | None, output: str | None, id: str | None,
    sheet: str | None, strong: list[str], hide: list[str], show: list[str], within_budget: bool, safe_cells: bool,
    engine: Engine, master: str | None, format: str | None, json: bool,
) -> None:  # fmt: skip
    """Draw the items that the strong rater gets. Adds the columns `rate` and `selected`.

    Example: ratewise draw pool.csv --plan plan.json --seed 7 -o drawn.csv

    A first draw, without a plan: ratewise draw pool.csv --at-random 50 --seed 7 -o drawn.csv --sheet labels.csv
    """
    from ratewise.questions.drawing import Drawn, draw_at_random
    from ratewise.questions.sheets import drawn_beside, refuse_existing
    from ratewise.tables import open_relation, read_table, write_table
    from ratewise.tables.write import safe_cells as make_safe

    one = (plan is None) != (at_random is None)
    refuse(not one, "draw takes a plan or a number: --plan plan.json, or --at-random 50 for a first draw")
    if sheet is not None:
        refuse_existing(sheet)
        output = drawn_beside(sheet) if output is None else output
    if output is None:
        raise InputError("name the file to write with -o drawn.csv, or a sheet to fill in with --sheet labels.csv")
    refuse_two_outputs(output, json=json)
    drawn: Drawn | DrawnFile
    if plan is None:
        both = engine == "spark" or (safe_cells and output == "-")
        refuse(both, "--at-random goes without --engine spark; with --safe-cells, name a file: -o drawn.csv")
        pool = open_relation(table, format=format)
        drawn = draw_at_random(pool, at_random or 0, output, seed=seed, id_column=id)
        if safe_cells:
            write_table(make_safe(read_table(output)), output)
    else:
        drawn = _drawn_by_plan(
            table, plan, output, seed=seed, id_column=id, within_budget=within_budget, safe_cells=safe_cells,
            engine=engine, master=master, format=format, sheet=sheet,
        )  # fmt: skip
    asked, hidden = None, list[str]()
    if sheet is not None:
        rows = drawn.table if isinstance(drawn, Drawn) else open_relation(output).where("selected")
        asked, hidden = _write_sheet(rows, sheet, plan, fill=strong, hide=hide, show=show, id_column=id, seed=seed)
    if output == "-":
        print_notes(drawn.notes)
        return
    counts = {
        "output": output, "items": drawn.items, "selected": drawn.asked, "sheet": sheet, "asked": asked,
        "hidden": hidden, "expected_spend": drawn.expected_spend, "spend": drawn.spend, "seed": seed,
        "drift": None if drawn.drift is None else drawn.drift.to_dict(), "notes": list(drawn.notes),
    }  # fmt: skip
    tell(counts, written(drawn.summary(), output, drawn.notes), json=json)
    if sheet is not None and not json:
        blind = f" Not shown in it: {', '.join(hidden)}." if hidden else ""
        say(f"{asked:,} questions written to {sheet}.{blind} Once it is filled in:")
        meant = _of_plan(plan, "transfer").get("words") or {}  # of words that the plan knows
        say(shlex.join(["ratewise", "merge", output, sheet, "-o", "rated.csv", *_typed_words(**meant)]))


def _drawn_by_plan(
    table: str, plan: str, output: str, *, safe_cells: bool, engine: Engine, master: str | None, format: str | None,
    sheet: str | None, **how: Any,
) -> "Drawn | DrawnFile":  # fmt: skip
    """Write the drawn table. It is held in memory only where it must be; else its rows pass through."""
    from ratewise.errors import TableError
    from ratewise.questions.drawing import draw_file, draw_pool, draw_spark, slice_policies
    from ratewise.questions.rated import large_relation
    from ratewise.questions.transfer import load_transfer, plan_errors
    from ratewise.tables import write_table
    from ratewise.tables.engine import reason
    from ratewise.tables.spark import read_spark, start
    from ratewise.tables.write import safe_cells as make_safe

    refuse(engine != "spark" and master is not None, "--master is for --engine spark; add it, or leave --master out")
    with plan_errors(plan):
        whole = any((safe_cells, table == "-", format is not None)) or slice_policies(plan) is not None
        if (
            sheet is not None and not whole
        ):  # of a large pool with ids that name its rows, it needs the drawn rows alone
            pool = None if engine == "spark" else large_relation(table)
            whole = pool is None or (how["id_column"] or "id") not in pool.columns
        if engine == "spark":
            refuse(
                whole,
                "--engine spark draws a table that lies in files by a plan of one mean: leave out --sheet, "
                "--safe-cells and standard input, and plan without --by",
            )
            refuse(not output.endswith("/"), f"Spark writes a folder; type -o {output}/ for one")
            frame, drawn = draw_spark(read_spark(start(master), table), load_transfer(plan), **how)
            try:
                frame.write.parquet(output)
            except Exception as error:
                raise TableError(f"{output} cannot be written by Spark: {reason(error)}") from error
            return drawn
        transfer = None if whole else load_transfer(plan)
        if transfer is None or transfer.old is not None:
            held = draw_pool(in_format(table, format), plan, **how)
            write_table(make_safe(held.table) if safe_cells else held.table, output)
            return held
        return draw_file(table, transfer, output, **how)


# Sheets for people


def _write_sheet(
    drawn: "Table", sheet: str, plan: str | None, *, fill: list[str], hide: list[str], show: list[str], **how: Any
) -> tuple[int, list[str]]:
    """Write the drawn rows for annotators; returns how many there are, and which columns are kept from them."""
    from ratewise.questions.rated import strong_columns
    from ratewise.questions.sheets import FILL, OF_THE_DRAW, blind_sheet
    from ratewise.tables import write_table

    named = _of_plan(plan, "inputs")
    fill = fill or strong_columns(drawn, named.get("strong") or FILL)
    hidden = [column for column in (named.get("weak"), named.get("uncertainty")) if column] + hide
    made = blind_sheet(drawn, fill=fill, hide=hidden, show=show, **how)
    write_table(made, sheet)
    return made.rows, [name for name in drawn.columns if name not in {*made.columns, *OF_THE_DRAW}]


def _typed_words(positive: list[str] | None = None, scale: "Scale" = None) -> list[str]:
    """The options that say what words mean."""
    if positive:
        return ["--positive", ",".join(positive)]
    if isinstance(scale, Mapping):
        scale = [f"{word}={value:g}" for word, value in scale.items()]
    return ["--scale", ",".join(scale)] if scale else []


def _of_plan(plan: str | None, part: str) -> dict[str, Any]:
    """A part of the plan's JSON; empty where there is none that can be read."""
    try:
        found = {} if plan is None else json_format.loads(Path(plan).read_text(encoding="utf-8"))[part]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return found if isinstance(found, dict) else {}


@command(
    "pool sheet output strong id low high positive scale format json",
    pool=argument("The table that `ratewise draw` wrote."),
    sheet=argument("The sheet of `ratewise draw --sheet`, filled in."),
    strong=option("Column of the sheet that was filled in; found if absent.", str, "", read=words),
    low=option("Lowest possible rating; a lower one is refused.", float | None),
    high=option("Highest possible rating; a higher one is refused.", float | None),
    format=option("Format of the sheet, if its content and ending are not to decide: label_studio."),
)  # fmt: skip
def merge(
    *, pool: str, sheet: str, output: str, strong: list[str], id: str | None, positive: list[str] | None,
    scale: "Scale", format: str | None, json: bool, **options: Any,
) -> None:  # fmt: skip
    """Bring a sheet's answers back into the drawn table, by id. What does not fit is refused.

    Example: ratewise merge drawn.csv labels.csv -o rated.parquet
    """
    from ratewise.campaign.spec.guess import guess_weak
    from ratewise.questions.sheets import drawn_for, merge_files, merge_sheet
    from ratewise.tables import write_table

    refuse_two_outputs(output, json=json)
    options |= {"positive": positive, "scale": scale, "fill": strong, "id_column": id}
    filled = in_format(sheet, format)
    merged = merge_files(pool, filled, output, **options)
    if merged is None:
        merged = merge_sheet(drawn_for(pool, sheet, id_column=id), filled, **options)
        write_table(merged.table, output)
    calibrated = "weak_calibrated" in merged.table.columns
    weak = "weak_calibrated" if calibrated else guess_weak(merged.table, merged.columns)
    typed = ["ratewise", "estimate", "rated.csv" if output == "-" else output]
    typed += [] if weak is None else ["--weak", weak]
    following = shlex.join([*typed, "--strong", ",".join(merged.columns), *_typed_words(positive, scale)])
    if json:
        print_json({
            "output": output, "answers": merged.answers, "waiting": merged.waiting,
            "columns": list(merged.columns), "notes": list(merged.notes), "next": following,
        })  # fmt: skip
        return
    print_notes(merged.notes)
    if output != "-":
        left = f"; still without one: {merged.waiting:,} of those drawn" if merged.waiting else ""
        say(f"{merged.answers:,} answers brought back, written to {output}{left}.")
        say(f"Next: {following}")
        if calibrated:
            say("weak_calibrated is the weak rating as the plan corrected it; the rates were made for it.")
