"""Reads whatever is given as a table into a `Table`."""

import os
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import duckdb
from narwhals.typing import IntoFrame

from ratewise.errors import TableError
from ratewise.tables.adapters import ADAPTERS
from ratewise.tables.cells import Stored
from ratewise.tables.engine import connect, count, no_rows, one_line, reason
from ratewise.tables.formats import BYTE_ORDER_MARK, Format, sniffed
from ratewise.tables.frames import table_from_frame, table_from_mapping
from ratewise.tables.loaders import LOADERS
from ratewise.tables.plain import checked_file, plain_file
from ratewise.tables.table import Table

TableLike: TypeAlias = str | os.PathLike[str] | Mapping[str, Any] | Table | IntoFrame

_STANDARD_INPUT = "standard input"


def read_table(source: TableLike, *, name: str | None = None, format: str | None = None) -> Table:
    """A table from a file, from "-" (standard input) or from memory.

    `source` is a path that ends in .csv, .jsonl, .ndjson, .parquet or .pq (the text formats also in .gz),
    a pandas, Polars or PyArrow table, a mapping of column names to values, or a `Table`, which is returned
    as it is. `name` is what messages call the table. A file is read whole, once. `format` names another tool's
    format, whatever the path ends in: "helm".
    """
    if format is not None:
        return _read_adapted(source, format, name)
    if isinstance(source, Table):
        return source
    if isinstance(source, str | os.PathLike):
        path = os.fsdecode(source)
        return _read_standard_input(name or _STANDARD_INPUT) if path == "-" else _read_file(path, name)
    if isinstance(source, Mapping):
        return table_from_mapping(source, name=name or "table")
    return table_from_frame(source, name=name or "table")


def _read_adapted(source: TableLike, format: str, name: str | None) -> Table:
    if format not in ADAPTERS:
        raise TableError(f"{format!r} is no format; the formats of other tools are {', '.join(map(repr, ADAPTERS))}")
    if not isinstance(source, str | os.PathLike):
        raise TableError(f"{type(source).__name__} is no file of {format!r}; give a path, or leave the format out")
    table = ADAPTERS[format](os.fsdecode(source))
    return table if name is None else replace(table, name=name)


def _read_file(path: str, name: str | None) -> Table:
    form = checked_file(path)
    name = name or one_line(os.path.basename(path))
    with tempfile.TemporaryDirectory(prefix="ratewise-") as folder:
        return _loaded(plain_file(path, form, name, os.path.join(folder, "table")), form, name)


def _read_standard_input(name: str) -> Table:
    data = sys.stdin.buffer.read().removeprefix(BYTE_ORDER_MARK) if sys.stdin else b""
    if not data or data.isspace():
        raise TableError(f"{name} is empty; pass a CSV, JSONL or Parquet table to it")
    form = sniffed(data)
    with tempfile.TemporaryDirectory(prefix="ratewise-") as folder:
        path = os.path.join(folder, "table")
        with open(path, "wb") as file:
            file.write(data)
        del data
        return _loaded(path, form, name)


def _loaded(path: str, form: Format, name: str) -> Table:
    connection = connect()
    try:
        names = LOADERS[form.kind](connection, path, name)
    except (duckdb.Error, OSError) as error:
        why = reason(error).replace(path, name)
        raise TableError(f"{name} cannot be read as {form.kind}: {why}") from error
    rows = count(connection)
    if rows == 0:
        raise no_rows(name)
    cells = {column: Stored(f"c{number}") for number, column in enumerate(names)}
    return Table(name, rows, tuple(names), cells, connection)
