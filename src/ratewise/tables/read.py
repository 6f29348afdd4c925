"""Reads whatever is given as a table into a `Table`."""

import os
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from narwhals.typing import IntoFrame

from ratewise.errors import TableError
from ratewise.tables.adapters import ADAPTERS, Imported, adapted
from ratewise.tables.adapters.json_file import GZIPPED, UNREADABLE
from ratewise.tables.engine import reason
from ratewise.tables.formats import BYTE_ORDER_MARK, NAMED, Format, ending_of, sniffed
from ratewise.tables.frames import table_from_frame, table_from_mapping
from ratewise.tables.load import load_file, loaded
from ratewise.tables.plain import unpack
from ratewise.tables.table import Table

TableLike: TypeAlias = str | os.PathLike[str] | Mapping[str, Any] | Table | IntoFrame

_STANDARD_INPUT = "standard input"
_START = 1 << 12  # bytes that tell a format


def read_table(source: TableLike, *, name: str | None = None, format: str | None = None) -> Table:
    """A table from a file, from "-" (standard input) or from memory, as `whole.read_table` says; of folders, only those
    of another tool's files.
    """
    check_format(source, format)
    if isinstance(source, Table):
        return source
    if isinstance(source, str | os.PathLike):
        found = opened_file(os.fsdecode(source), format=format, name=name)
        return found if isinstance(found, Table) else replace(found.table, name=name or found.table.name)
    if isinstance(source, Mapping):
        return table_from_mapping(source, name=name or "table")
    return table_from_frame(source, name=name or "table")


def check_format(source: TableLike, format: str | None) -> None:
    """Refuse a format that nobody knows, and one of something that is no file."""
    if format is None:
        return
    if format not in NAMED and format not in ADAPTERS:
        raise TableError(
            f"{format!r} is no format; the formats of other tools are {', '.join(map(repr, ADAPTERS))}, and those of "
            f"plain tables {', '.join(map(repr, NAMED))}"
        )
    if not isinstance(source, str | os.PathLike):
        raise TableError(f"{type(source).__name__} is no file of {format!r}; give a path, or leave the format out")


def opened_file(path: str, *, format: str | None = None, name: str | None = None) -> Imported | Table:
    """What lies in a file, in a folder of another tool's files or in "-" (standard input): known by its content, unless
    a format is named. Of another tool's table, it is also told what became which column.
    """
    kind = None if format is None else NAMED.get(format)
    if path != "-":
        found = None if kind is not None else adapted(path, format, name=name)
        return load_file(path, name, kind) if found is None else found
    name = name or _STANDARD_INPUT
    with tempfile.TemporaryDirectory(prefix="ratewise-") as folder:
        file, start = _from_standard_input(folder, name)
        found = None if kind is not None else adapted(file, format, name=name)
        return loaded(file, sniffed(start) if kind is None else Format(kind), name) if found is None else found


def _from_standard_input(folder: str, name: str) -> tuple[str, bytes]:
    """Standard input as a file, unpacked, under an ending of its content; and what it begins with."""
    data = sys.stdin.buffer.read() if sys.stdin else b""
    if not data or data.removeprefix(BYTE_ORDER_MARK).isspace():
        raise TableError(f"{name} is empty; pass a CSV, JSONL or Parquet table to it")
    came, plain = os.path.join(folder, "came"), os.path.join(folder, "plain")
    with open(came, "wb") as file:
        file.write(data)
    gzipped = data.startswith(GZIPPED)
    del data
    try:
        unpack(came, plain, gzipped=gzipped)
    except UNREADABLE as error:
        raise TableError(f"{name} cannot be read: {reason(error)}") from error
    os.unlink(came)
    with open(plain, "rb") as file:
        start = file.read(_START)
    path = os.path.join(folder, "table" + ending_of(start))
    os.rename(plain, path)
    return path, start
