"""CSV and JSONL files → Parquet files in a temporary folder, checked as `read_table` checks them.

CSV is streamed. JSONL goes through a database on the disk, whose cache grows with the file."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import duckdb
from duckdb import DuckDBPyConnection

from ratewise.errors import TableError
from ratewise.tables.engine import connect, for_memory, reason
from ratewise.tables.formats import Kind
from ratewise.tables.loaders.csv_file import copy_csv
from ratewise.tables.loaders.jsonl_file import copy_jsonl
from ratewise.tables.parquet import ParquetFiles, parquet_files
from ratewise.tables.places import Folder

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
