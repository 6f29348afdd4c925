"""Whatever is given as a table → a `Table`."""

import gzip
import os
import re
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

import duckdb
from narwhals.typing import IntoFrame

from ratewise.errors import TableError
from ratewise.tables.cells import Stored
from ratewise.tables.engine import connect, no_rows, one_line, reason
from ratewise.tables.formats import BYTE_ORDER_MARK, Format, format_of, sniffed
from ratewise.tables.frames import table_from_frame, table_from_mapping
from ratewise.tables.load import LOADERS, count
from ratewise.tables.table import Table

TableLike: TypeAlias = str | os.PathLike[str] | Mapping[str, Any] | Table | IntoFrame

_STANDARD_INPUT = "standard input"
_GLOB = re.compile(r"[*?\[]")


def read_table(source: TableLike, *, name: str | None = None) -> Table:
    """A table from a file, from "-" (standard input) or from memory.

    `source` is a path that ends in .csv, .jsonl, .ndjson, .parquet or .pq (the text formats also in .gz),
    a pandas, Polars or PyArrow table, a mapping of column names to values, or a `Table`, which is returned
    as it is. `name` is what messages call the table. A file is read whole, once.
    """
    if isinstance(source, Table):
        return source
    if isinstance(source, str | os.PathLike):
        path = os.fsdecode(source)
        return _read_standard_input(name or _STANDARD_INPUT) if path == "-" else _read_file(path, name)
    if isinstance(source, Mapping):
        return table_from_mapping(source, name=name or "table")
    return table_from_frame(source, name=name or "table")


def _read_file(path: str, name: str | None) -> Table:
    shown = one_line(path)
    if os.path.isdir(path):
        raise TableError(f"{shown} is a directory; give the path of a table in it")
    if not os.path.exists(path):
        raise TableError(f"{shown} does not exist; check the path")
    form = format_of(path)
    if not os.path.isfile(path):
        raise TableError(f"{shown} is not a regular file; give - and pass the table to standard input")
    if os.path.getsize(path) == 0:
        raise TableError(f"{shown} is empty; a table has a header and rows")
    name = name or one_line(os.path.basename(path))
    with _plain(path, form, name) as plain:
        return _loaded(plain, form, name)


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


@contextmanager
def _plain(path: str, form: Format, name: str) -> Iterator[str]:
    """The path of the same table, unpacked, under a name that DuckDB takes literally; of a CSV file, a copy.

    DuckDB would take *, ? and [ for a pattern and stumble over a byte order mark in JSONL, and some of its
    versions read a gzip file that is cut off as if it were whole.
    """
    path = os.path.abspath(path)
    with tempfile.TemporaryDirectory(prefix="ratewise-") as folder:
        plain = os.path.join(folder, "table")
        try:
            if form.gzipped or form.kind == "CSV" or (form.kind == "JSONL" and _marked(path)):
                _unpack(path, plain, gzipped=form.gzipped)
            elif _GLOB.search(path) or not path.isprintable():
                _link(path, plain)
            else:
                plain = path
        except (OSError, EOFError, zlib.error) as error:
            raise TableError(f"{name} cannot be read: {reason(error)}") from error
        yield plain


def _marked(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(len(BYTE_ORDER_MARK)) == BYTE_ORDER_MARK


def _unpack(path: str, plain: str, *, gzipped: bool) -> None:
    with gzip.open(path) if gzipped else open(path, "rb") as packed, open(plain, "wb") as file:
        file.write(packed.read(len(BYTE_ORDER_MARK)).removeprefix(BYTE_ORDER_MARK))
        shutil.copyfileobj(packed, file, 1 << 20)


def _link(path: str, plain: str) -> None:
    try:
        os.symlink(path, plain)
    except (OSError, NotImplementedError):  # Windows gives links to administrators only
        shutil.copyfile(path, plain)


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
