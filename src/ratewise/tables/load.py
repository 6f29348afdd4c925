"""Plain CSV, JSONL and Parquet files: into memory, into Parquet files in a temporary folder, or only counted.

A loader makes the table "data" with the columns c0, c1, … of a database out of a plain file, whose path DuckDB takes
literally, and returns the names of the columns. The rows keep the order of the file. A counter keeps no row.
"""

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

import duckdb
from duckdb import DuckDBPyConnection

from ratewise.errors import TableError
from ratewise.tables.cells import Stored
from ratewise.tables.csv_file import copy_csv, count_csv, load_csv
from ratewise.tables.engine import Own, connect, count, for_memory, no_rows, one_line, reason
from ratewise.tables.files import Folder, Format, Kind, checked_file, plain_file
from ratewise.tables.jsonl_file import copy_jsonl, count_jsonl, load_jsonl
from ratewise.tables.parquet import ParquetFiles, count_parquet, load_parquet, parquet_files
from ratewise.tables.table import Table

LOADERS: dict[Kind, Callable[[DuckDBPyConnection, str, str], list[str]]] = {
    "CSV": load_csv,
    "JSONL": load_jsonl,
    "Parquet": load_parquet,
}
COUNTERS: dict[Kind, Callable[[DuckDBPyConnection, str, str], int]] = {
    "CSV": count_csv,
    "JSONL": count_jsonl,
    "Parquet": count_parquet,
}


# A plain CSV, JSONL or Parquet file → a `Table`, read whole, once.


def load_file(path: str, name: str | None = None, kind: Kind | None = None) -> Table:
    """The table of a file, whose format is `kind`, else that of its ending."""
    form = checked_file(path, kind)
    name = name or one_line(os.path.basename(path))
    with tempfile.TemporaryDirectory(prefix="ratewise-") as folder:
        return loaded(plain_file(path, form, name, os.path.join(folder, "table")), form, name)


def loaded(path: str, form: Format, name: str) -> Table:
    """The table of a file that is unpacked already, under a path that DuckDB takes literally."""
    own = Own()
    with own.cursor() as cursor:
        try:
            names = LOADERS[form.kind](cursor, path, name)
        except (duckdb.Error, OSError) as error:
            why = reason(error).replace(path, name)
            raise TableError(f"{name} cannot be read as {form.kind}: {why}") from error
        rows = count(cursor)
    if rows == 0:
        raise no_rows(name)
    cells = {column: Stored(f"c{number}") for number, column in enumerate(names)}
    return Table(name, rows, tuple(names), cells, own)


# CSV and JSONL files → Parquet files in a temporary folder, checked as `read_table` checks them.


_SMALL = 16 * 2**20  # bytes of a file whose rows may be in memory several times over


def staged(kind: Kind, paths: list[str], name: str, folder: Folder, shown: Sequence[str]) -> ParquetFiles:
    """The table of these files of text, whose paths DuckDB takes literally; `shown` is what messages call each."""
    return _staged_jsonl(paths, name, folder) if kind == "JSONL" else _staged_csv(paths, name, folder, shown)


def _staged_jsonl(paths: list[str], name: str, folder: Folder) -> ParquetFiles:
    """One Parquet file of all: the kind of a column is that of its values in every file."""
    target = folder / "part-0"
    with _database(folder / "load.db", name, "JSONL") as connection:
        names = copy_jsonl(connection, paths, name, target)
    return parquet_files([target], name, folder, columns=[names])


def _staged_csv(paths: list[str], name: str, folder: Folder, shown: Sequence[str]) -> ParquetFiles:
    """A Parquet file of each."""
    targets = [folder / f"part-{number}" for number in range(len(paths))]
    names = []
    for path, called, target in zip(paths, shown, targets, strict=True):
        with _memory(path, called) as connection:
            names.append(copy_csv(connection, path, called, target))
        os.unlink(path)  # a copy of our own
    return parquet_files(targets, name, folder, columns=names, shown=shown)


@contextmanager
def _memory(path: str, name: str) -> Iterator[DuckDBPyConnection]:
    """The process's own database for a small file; for a large one, one with a single thread.

    Of several threads all but one would wait with their rows for those before them.
    """
    small = os.path.getsize(path) <= _SMALL
    with _telling(name, "CSV"), for_memory().cursor() if small else connect(threads=1) as connection:
        yield connection


@contextmanager
def _database(place: str, name: str, kind: Kind) -> Iterator[DuckDBPyConnection]:
    """A database to work in, whose file is gone afterwards."""
    try:
        with _telling(name, kind), connect(place) as connection:
            yield connection
    finally:
        for leftover in (place, place + ".wal"):
            with suppress(OSError):
                os.unlink(leftover)


@contextmanager
def _telling(name: str, kind: Kind) -> Iterator[None]:
    try:
        yield
    except (duckdb.Error, OSError) as error:
        raise TableError(f"{name} cannot be read as {kind}: {reason(error)}") from error
