"""`merge`, and what `draw` does with --sheet: labelling in a spreadsheet."""

import json as json_format
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ratewise.cli.console import one_line_errors, print_json, print_notes, say
from ratewise.cli.options import Json, Positive, Scale, in_format, said, words

if TYPE_CHECKING:
    from ratewise.questions.sheets import Merged
    from ratewise.tables import Table

Id = Annotated[str | None, typer.Option(help="Column with the items' ids; `id`, else the row number.")]


def where_to_draw(output: str | None, sheet: str | None) -> str:
    """The file for rates and draws: the one named, else one beside the sheet."""
    from ratewise.errors import InputError
    from ratewise.questions.sheets import drawn_beside, refuse_existing

    if sheet is not None:
        refuse_existing(sheet)
    if output is not None:
        return output
    if sheet is None:
        raise InputError("name the file to write with -o drawn.csv, or a sheet to fill in with --sheet labels.csv")
    return drawn_beside(sheet)


def in_pieces(table: str, id: str | None) -> bool:
    """Whether a pool is large, and has ids that name its rows: then a sheet needs the drawn rows alone."""
    from ratewise.questions.large import large_relation

    relation = large_relation(table)
    return relation is not None and (id or "id") in relation.columns


def drawn_rows(output: str) -> "Table":
    """The rows that were drawn, from the file or folder that a draw has written."""
    from ratewise.tables import open_relation

    return open_relation(output).where("selected")


def write_sheet(
    drawn: "Table",
    sheet: str,
    *,
    plan: str | None,
    strong: str,
    hide: str,
    show: str,
    id_column: str | None,
    seed: int,
) -> tuple[int, list[str]]:
    """Write the drawn rows for annotators; returns how many there are, and which columns are kept from them."""
    from ratewise.questions.people import strong_columns
    from ratewise.questions.sheets import FILL, OF_THE_DRAW, blind_sheet
    from ratewise.tables import write_table

    named = {} if plan is None else _columns_of(plan)
    fill = words(strong) or strong_columns(drawn, named.get("strong") or FILL)
    hidden = [column for column in (named.get("weak"), named.get("uncertainty")) if column] + words(hide)
    made = blind_sheet(drawn, seed=seed, fill=fill, hide=hidden, show=words(show), id_column=id_column)
    write_table(made, sheet)
    return made.rows, [name for name in drawn.columns if name not in {*made.columns, *OF_THE_DRAW}]


def merge_command(plan: str | None, drawn: str, sheet: str) -> str:
    """What to type when the sheet is filled in, with the meaning of words that the plan knows."""
    try:
        said = {} if plan is None else json_format.loads(Path(plan).read_text(encoding="utf-8"))["transfer"]["words"]
    except (OSError, ValueError, AttributeError, KeyError, TypeError):
        said = {}
    typed = ["ratewise", "merge", drawn, sheet, "-o", "rated.csv"]
    if said.get("positive"):
        typed += ["--positive", ",".join(said["positive"])]
    elif said.get("scale"):
        typed += ["--scale", ",".join(f"{word}={value:g}" for word, value in said["scale"].items())]
    return shlex.join(typed)


def _columns_of(plan: str) -> dict[str, Any]:
    """The columns that the plan was made with; empty where the plan cannot be read."""
    try:
        found = json_format.loads(Path(plan).read_text(encoding="utf-8")).get("inputs", {})
    except (OSError, ValueError, AttributeError):
        return {}
    return found if isinstance(found, dict) else {}


def merge(
    pool: Annotated[str, typer.Argument(help="The table that `ratewise draw` wrote.")],
    sheet: Annotated[str, typer.Argument(help="The sheet of `ratewise draw --sheet`, filled in.")],
    output: Annotated[str, typer.Option("--output", "-o", help="File to write; - for CSV on standard output.")],
    strong: Annotated[str, typer.Option(help="Column of the sheet that was filled in; found if absent.")] = "",
    id: Id = None,
    low: Annotated[float | None, typer.Option(help="Lowest possible rating; a lower one is refused.")] = None,
    high: Annotated[float | None, typer.Option(help="Highest possible rating; a higher one is refused.")] = None,
    positive: Positive = None,
    scale: Scale = None,
    format: Annotated[
        str | None, typer.Option(help="Format of the sheet, if its content and ending are not to decide: label_studio.")
    ] = None,
    json: Json = False,
) -> None:
    """Bring a sheet's answers back into the drawn table, by id. What does not fit is refused.

    Example: ratewise merge drawn.csv labels.csv -o rated.parquet
    """
    with one_line_errors():
        from ratewise.errors import InputError
        from ratewise.questions.sheets import drawn_for, merge_large, merge_sheet
        from ratewise.tables import write_table

        if json and output == "-":
            raise InputError("--json and -o - both want standard output; write the table to a file")
        counted, order = said(positive, scale)
        filled = in_format(sheet, format)
        options: dict[str, Any] = {
            "fill": words(strong), "id_column": id, "bounds": (low, high), "positive": counted, "scale": order,
        }  # fmt: skip
        merged = merge_large(pool, filled, output, **options)
        if merged is None:
            merged = merge_sheet(drawn_for(pool, sheet, id_column=id), filled, **options)
            write_table(merged.table, output)
        following, calibrated = _estimate_command(merged, output, positive=positive, scale=scale)
        if json:
            print_json(
                {
                    "output": output, "answers": merged.answers, "waiting": merged.waiting,
                    "columns": list(merged.columns), "notes": list(merged.notes), "next": following,
                }
            )  # fmt: skip
            return
        print_notes(merged.notes)
        if output != "-":
            left = f"; still without one: {merged.waiting:,} of those drawn" if merged.waiting else ""
            print(f"{merged.answers:,} answers brought back, written to {output}{left}.")
            say(f"Next: {following}")
            if calibrated:
                say("weak_calibrated is the weak rating as the plan corrected it; the rates were made for it.")


def _estimate_command(merged: "Merged", output: str, *, positive: str | None, scale: str | None) -> tuple[str, bool]:
    """What to type when the answers are back, and whether it takes the weak rating that the plan calibrated."""
    from ratewise.campaign.spec.guess import guess_weak

    calibrated = "weak_calibrated" in merged.table.columns
    weak = "weak_calibrated" if calibrated else guess_weak(merged.table, merged.columns)
    typed = ["ratewise", "estimate", "rated.csv" if output == "-" else output]
    typed += [] if weak is None else ["--weak", weak]
    typed += ["--strong", ",".join(merged.columns)]
    for option, value in (("--positive", positive), ("--scale", scale)):
        typed += [] if value is None else [option, value]
    return shlex.join(typed), calibrated
