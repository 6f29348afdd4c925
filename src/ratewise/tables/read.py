"""Reads whatever is given as a table into a `Table`."""

import os
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from narwhals.typing import IntoFrame

from ratewise.errors import TableError
from ratewise.tables.adapters import adapted
from ratewise.tables.formats import BYTE_ORDER_MARK, sniffed
from ratewise.tables.frames import table_from_frame, table_from_mapping
from ratewise.tables.load import load_file, loaded
from ratewise.tables.table import Table

TableLike: TypeAlias = str | os.PathLike[str] | Mapping[str, Any] | Table | IntoFrame

_STANDARD_INPUT = "standard input"


def read_table(source: TableLike, *, name: str | None = None, format: str | None = None) -> Table:
    """A table from a file, from "-" (standard input) or from memory.

    `source` is a path that ends in .csv, .jsonl, .ndjson, .parquet or .pq (the text formats also in .gz),
    a pandas, Polars or PyArrow table, a mapping of column names to values, or a `Table`, which is returned
    as it is. `name` is what messages call the table. A file is read whole, once. A file that another tool wrote (a
    log of inspect_ai, results of promptfoo, …) is known by its content; `format` insists on one: "inspect_ai",
    "lm_eval", "helm", "openai_evals", "promptfoo", "langfuse", "arena" or "label_studio".
    """
    if format is not None and not isinstance(source, str | os.PathLike):
        raise TableError(f"{type(source).__name__} is no file of {format!r}; give a path, or leave the format out")
    if isinstance(source, Table):
        return source
    if isinstance(source, str | os.PathLike):
        path = os.fsdecode(source)
        piped = path == "-" and format is None
        return _read_standard_input(name or _STANDARD_INPUT) if piped else _read_path(path, format, name)
    if isinstance(source, Mapping):
        return table_from_mapping(source, name=name or "table")
    return table_from_frame(source, name=name or "table")


def _read_path(path: str, format: str | None, name: str | None) -> Table:
    """Another tool's file, by its content or because its format is named; else a plain table."""
    found = adapted(path, format)
    if found is None:
        return load_file(path, name)
    return found.table if name is None else replace(found.table, name=name)


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
        return loaded(path, form, name)
