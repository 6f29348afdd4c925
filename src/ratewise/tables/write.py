"""Writes tables and small text files, whole or not at all."""

import csv
import io
import json
import os
import re
import secrets
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import duckdb
import numpy as np

from ratewise.errors import TableError
from ratewise.tables.cells import no_nan_sql, opened, text_sql
from ratewise.tables.engine import one_line, quoted_name, quoted_text, reason
from ratewise.tables.files import Format, Kind, format_of
from ratewise.tables.table import Table, table_from_mapping

_OPTIONS: dict[Kind, str] = {
    "CSV": "FORMAT csv, HEADER false, DELIMITER ',', QUOTE '\"', ESCAPE '\"', NULLSTR ''",
    "JSONL": "FORMAT json",
    "Parquet": "FORMAT parquet",
}
_SPECIAL = r"[\",\r\n]|^\s|\s$|^\ufeff"
_SPECIAL_ALONE = _SPECIAL + "|^$"  # an empty line would be no header


def write_table(table: Table, path: str | os.PathLike[str]) -> None:
    """The table as CSV, JSONL or Parquet by the ending of `path`; "-" is CSV on standard output.

    Numbers are written so that they are read back exactly; what is missing is an empty cell or null. A file
    is put in place when it is complete, and what was there before stays until then.
    """
    place = os.fsdecode(path)
    if place == "-":
        to_standard_output(lambda temporary: copy_table(table, temporary, Format("CSV")))
        return
    form = format_of(place)
    with replacing(place) as temporary:
        copy_table(table, temporary, form)


def to_standard_output(write: Callable[[str], None]) -> None:
    """What is written to a path, on standard output when it is complete."""
    with tempfile.TemporaryDirectory(prefix="ratewise-") as folder:
        temporary = os.path.join(folder, "table")
        try:
            write(temporary)
            with open(temporary, "rb") as file:
                shutil.copyfileobj(file, sys.stdout.buffer, 1 << 20)
            sys.stdout.buffer.flush()
        except (duckdb.Error, OSError) as error:
            raise TableError(f"standard output cannot be written: {reason(error)}") from error


@contextmanager
def replacing(place: str, *, folder: bool = False) -> Iterator[str]:
    """A path beside the target, file or new folder, which takes its place at the end; nothing is left on failure."""
    target = os.path.realpath(place)
    above = os.path.dirname(target)
    if os.path.isdir(target) and not folder:
        raise TableError(f"{one_line(place)} is a directory; give the path of a file")
    if not os.path.isdir(above):
        raise TableError(f"{one_line(place)} cannot be written: the folder {one_line(above)} does not exist")
    temporary = os.path.join(above, f".ratewise-{secrets.token_hex(8)}.tmp")
    try:
        if folder:
            os.mkdir(temporary)
        yield temporary
        os.replace(temporary, target)  # an empty folder may be there
    except (duckdb.Error, OSError, UnicodeError) as error:
        why = reason(error).replace(temporary, one_line(place))
        raise TableError(f"{one_line(place)} cannot be written: {why}") from error
    finally:
        with suppress(OSError):
            shutil.rmtree(temporary) if folder else os.unlink(temporary)


def copy_table(table: Table, path: str, form: Format, *, header: bool = True) -> None:
    """Write one file at a path that nobody reads yet; `header` is the line of names in CSV."""
    _refuse_names(table, form.kind)
    names = table.columns
    options = [_OPTIONS[form.kind], "USE_TMP_FILE false"]
    if form.kind != "Parquet":
        options.append(f"COMPRESSION {'gzip' if form.gzipped else 'none'}")
    if form.kind == "CSV":  # SQL could not spell all names: they go in front as text
        if header:
            special = _SPECIAL_ALONE if len(names) == 1 else _SPECIAL  # could be taken for something else
            spelled = ",".join(quoted_name(name) if re.search(special, name) else name for name in names)
            options.append(f"PREFIX {quoted_text(spelled + chr(10))}, SUFFIX '\n'")
        names = tuple(f"c{number}" for number in range(len(names)))
    with opened(table._connection, table._cells) as view:
        fields = [_field(*about, form.kind) for about in zip(view.fields, view.kinds(), strict=True)]
        if form.kind == "CSV" and len(fields) == 1:  # an empty line would be no row to most readers; "" is one
            fields = [f"coalesce(CAST({fields[0]} AS VARCHAR), '')"]
        selected = ", ".join(f"{sql} AS {quoted_name(name)}" for sql, name in zip(fields, names, strict=True))
        query = f"SELECT {selected} FROM {view.source}"
        view.cursor.execute(f"COPY ({query}) TO {quoted_text(path)} ({', '.join(options)})")


def _field(field: str, sql_type: str, kind: Kind) -> str:
    if sql_type in {"FLOAT", "DOUBLE"}:
        return f"CASE WHEN {no_nan_sql(field)} THEN {field} END"
    if sql_type == "JSON" and kind != "JSONL":  # most readers of Parquet take its JSON for bytes
        return text_sql(sql_type, field)
    return field


def _refuse_names(table: Table, kind: Kind) -> None:
    """DuckDB cannot write every name to every format."""
    seen: dict[str, str] = {}
    for name in table.columns:
        if "\0" in name:
            raise TableError(f"the name of column {name!r} of {table.name} cannot be written; rename it")
        if kind == "CSV":
            continue
        if not name:
            raise TableError(f"a column of {table.name} has no name; name it, or write CSV instead of {kind}")
        if name.lower() in seen:
            raise TableError(
                f"columns {seen[name.lower()]!r} and {name!r} of {table.name} differ in capitals only;"
                f" rename one, or write CSV instead of {kind}"
            )
        seen[name.lower()] = name


# Writing small text files as safely as tables.


def check_folder(path: str | os.PathLike[str] | None) -> None:
    """Refuse a file whose folder is not there, before long work is done for it; `None` is no file."""
    name = "" if path is None else os.fspath(path)
    folder = os.path.dirname(name)
    if folder and not os.path.isdir(folder):
        raise TableError(f"{name!r} cannot be written: the folder {folder!r} does not exist; make it first")


def make_folder(folder: str) -> None:
    """Make a folder for what a command writes."""
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise TableError(f"{folder} cannot be made: {error.strerror}; choose another folder with -o") from None


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a whole file or leave what was there."""
    with replacing(os.fsdecode(path)) as temporary, open(temporary, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)


def write_rows(path: str | os.PathLike[str], rows: Sequence[Mapping[str, Any]]) -> None:
    """Rows with the same names each, as CSV; numbers with all their digits."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(path, text.getvalue())


# Cells that a spreadsheet would run as formulas, made plain text and brought back.


# apostrophes before the sign count too, so that every text can be told from the one that was made safe
_FORMULA = re.compile(r"'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")  # the last four: = + - @ in full width


def safe_cells(table: Table) -> Table:
    """The table with an apostrophe before every text that begins like a formula; numbers stay numbers."""
    return _changed(table, lambda text: f"'{text}" if _FORMULA.match(text) else text)


def plain_cells(table: Table) -> Table:
    """The table before `safe_cells`; one that a spreadsheet has taken the apostrophes from already is the same."""
    return _changed(table, plain_text)


def plain_text(text: str) -> str:
    """The text before an apostrophe was put before it."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


def _changed(table: Table, change: Callable[[str], str]) -> Table:
    columns = {change(name): values for name, values in table.arrays().items()}
    for name, values in columns.items():
        if values.dtype.kind in "OUST":
            columns[name] = np.empty(len(values), dtype=object)
            columns[name][:] = [change(cell) if isinstance(cell, str) else cell for cell in values.tolist()]
    return table_from_mapping(columns, name=table.name)


# Ratings for inspect_ai's `precomputed_scores`


_LINES = (".jsonl", ".ndjson")


def write_precomputed_scores(table: Table, column: str, path: str) -> int:
    """Write one record for every row that has a rating; returns how many there are.

    The sample's id is in `sample_id` where the table was read from a log, else in `id`; `epoch` is written where the
    table has it.
    """
    lower = path.lower()
    if not lower.endswith((".json", ".jsonl")):
        raise TableError(f"{path!r} is no place for scores; inspect_ai reads .json and .jsonl: name the file so")
    ids = table.texts("sample_id") if "sample_id" in table.columns else table.ids()
    epochs = table.numbers("epoch") if "epoch" in table.columns else None
    values: list[Any]
    try:  # numbers where all are, else words
        values = [None if x != x else x for x in table.numbers(column, missing="allow").tolist()]  # noqa: PLR0124
    except TableError:
        values = [text or None for text in table.texts(column, missing="allow")]
    records = []
    for row, value in enumerate(values):
        if value is not None:
            epoch = {} if epochs is None else {"epoch": int(epochs[row])}
            records.append({"id": str(ids[row]), **epoch, "value": value})
    if not records:
        raise TableError(f"column {column!r} of {table.name} has no rating; rate some rows first")
    lines = [json.dumps(record, ensure_ascii=False) for record in records]
    text = "\n".join(lines) if lower.endswith(_LINES) else "[\n" + ",\n".join(lines) + "\n]"
    write_text(path, text + "\n")
    return len(records)
