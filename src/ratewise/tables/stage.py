"""CSV and JSONL files → Parquet files in a temporary folder, checked as `read_table` checks them, in flat memory."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import duckdb
from duckdb import DuckDBPyConnection

from ratewise.errors import TableError
from ratewise.tables.engine import connect, quoted_text, reason
from ratewise.tables.formats import Kind
from ratewise.tables.loaders.csv_file import load_csv
from ratewise.tables.loaders.jsonl_file import load_jsonl
from ratewise.tables.loaders.names import refuse_other_columns
from ratewise.tables.parquet import ParquetFiles, parquet_files
from ratewise.tables.places import Folder


def staged(kind: Kind, paths: list[str], name: str, folder: Folder, shown: Sequence[str]) -> ParquetFiles:
    """The table of these files of text, whose paths DuckDB takes literally; `shown` is what messages call each."""
    return _staged_jsonl(paths, name, folder) if kind == "JSONL" else _staged_csv(paths, name, folder, shown)


def _staged_jsonl(paths: list[str], name: str, folder: Folder) -> ParquetFiles:
    """One Parquet file of all: the kind of a column is that of its values in every file."""
    target = folder / "part-0"
    with _database(folder, name, "JSONL") as connection:
        names = load_jsonl(connection, paths, name)
        _copy(connection, range(len(names)), target)
    return parquet_files([target], name, folder, columns=names)


def _staged_csv(paths: list[str], name: str, folder: Folder, shown: Sequence[str]) -> ParquetFiles:
    """A Parquet file of each, with the columns in the order of the first."""
    targets = [folder / f"part-{number}" for number in range(len(paths))]
    names: list[str] = []
    for path, called, target in zip(paths, shown, targets, strict=True):
        with _database(folder, called, "CSV") as connection:
            found = load_csv(connection, path, called)
            names = names or found
            refuse_other_columns([(shown[0], names), (called, found)])
            _copy(connection, [found.index(column) for column in names], target)
        os.unlink(path)  # a copy of our own
    return parquet_files(targets, name, folder, columns=names)


@contextmanager
def _database(folder: Folder, name: str, kind: Kind) -> Iterator[DuckDBPyConnection]:
    """A database on the disk, to load a table into that memory may not hold; it is gone afterwards."""
    place = folder / "load.db"
    try:
        with connect(place) as connection:
            yield connection
    except (duckdb.Error, OSError) as error:
        raise TableError(f"{name} cannot be read as {kind}: {reason(error)}") from error
    finally:
        for leftover in (place, place + ".wal"):
            with suppress(OSError):
                os.unlink(leftover)


def _copy(connection: DuckDBPyConnection, columns: Sequence[int], target: str) -> None:
    selected = ", ".join(f"c{column} AS c{number}" for number, column in enumerate(columns))
    connection.execute(f"COPY (SELECT {selected} FROM data) TO {quoted_text(target)} (FORMAT parquet)")
