"""`ratewise convert`: other tools' files as flat tables, and ratings back to inspect_ai."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ratewise.cli.console import one_line_errors, print_json, print_notes, print_rich
from ratewise.cli.options import FormatOption, Json, SafeCells

if TYPE_CHECKING:
    from ratewise.tables.adapters import Imported


def convert(
    table: Annotated[
        str,
        typer.Argument(
            help="File that another tool wrote, a folder of such files, or a CSV, JSONL or Parquet table; - for "
            "standard input."
        ),
    ],
    output: Annotated[str, typer.Option("--output", "-o", help="File to write; - for CSV on standard output.")],
    format: FormatOption = None,
    scores: Annotated[
        str | None,
        typer.Option(
            help="Write this column's ratings instead, as .json or .jsonl for inspect_ai's precomputed_scores."
        ),
    ] = None,
    safe_cells: SafeCells = False,
    json: Json = False,
) -> None:
    """Turn a file that another tool wrote into a flat table. It says what became which column.

    Known by their content: logs of inspect_ai (.eval, .json), samples and results of lm-evaluation-harness, HELM's
    per_instance_stats.json, records of OpenAI evals, results of promptfoo (.json, .jsonl), scores of Langfuse, exports
    of Braintrust, test runs of DeepEval, votes of Chatbot Arena and MT-Bench, annotations of Label Studio (JSON,
    JSON_MIN). Any other command takes these files, too, also packed (.gz), in folders, and from standard input.

    Example: ratewise convert logs/run.eval -o items.parquet
    """
    with one_line_errors():
        from ratewise.errors import InputError
        from ratewise.tables import write_table
        from ratewise.tables.read import check_format, opened_file
        from ratewise.tables.table import Table
        from ratewise.tables.write import check_folder
        from ratewise.tables.write import safe_cells as make_safe

        if json and output == "-":
            raise InputError("--json and -o - both want standard output; write the table to a file")
        check_folder(output)
        check_format(table, format)
        opened = opened_file(table, format=format)
        found = None if isinstance(opened, Table) else opened
        flat = opened if isinstance(opened, Table) else opened.table
        if scores is not None:
            _write_scores(flat, scores, output, as_json=json)
            return
        write_table(make_safe(flat) if safe_cells else flat, output)
        notes = () if found is None else found.notes
        if json:
            print_json(_document(flat, found, output))
            return
        if output != "-":
            print_rich(_text(flat, found, output))
        print_notes(notes)


def _write_scores(table: Any, column: str, output: str, *, as_json: bool) -> None:
    from ratewise.tables.write import write_precomputed_scores

    written = write_precomputed_scores(table, column, output)
    if as_json:
        print_json({"output": output, "scores": written})
    else:
        print_rich(f"{written:,} scores written to {output}, for precomputed_scores of inspect_ai.")


def _document(table: Any, found: "Imported | None", output: str) -> dict[str, Any]:
    became = [] if found is None else [each.to_dict() for each in found.became]
    plain = [{"column": name, "role": "more", "source": name} for name in table.columns]
    return {
        "output": output, "tool": None if found is None else found.tool, "rows": table.rows,
        "columns": became or plain, "notes": [] if found is None else list(found.notes),
    }  # fmt: skip


def _text(table: Any, found: "Imported | None", output: str) -> Any:
    """What became which column, and how many rows there are."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    if found is None:
        return Text(f"{table.name} is a plain table: {table.rows:,} rows written to {output}, its columns as they are.")
    shown = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in ("column", "is", "from"):
        shown.add_column(name)
    for each in found.became:
        shown.add_row(Text(each.column), "" if each.role == "more" else each.role, Text(each.source))
    return Group(Text(f"{found.tool}: {table.rows:,} rows written to {output}."), Text(), shown)
