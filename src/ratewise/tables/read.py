"""Opens whatever holds a table: into memory (`read_table`), where it is (`open_relation`), or only to count rows."""

import os
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

import narwhals as nw
from narwhals.typing import IntoFrame

from ratewise.errors import RatewiseWarning, TableError
from ratewise.tables.adapters import ADAPTERS, Imported, adapted
from ratewise.tables.adapters.source import GZIPPED, UNREADABLE
from ratewise.tables.engine import no_rows, reason
from ratewise.tables.files import (
    BYTE_ORDER_MARK,
    NAMED,
    Folder,
    Kind,
    ending_of,
    files_among,
    files_of,
    kind_of,
    name_of,
    plain_files,
    shown,
    sniffed,
    unpack,
)
from ratewise.tables.load import counted, load_file, loaded, staged
from ratewise.tables.relation import Relation, refuse_bomb, relation_of_files
from ratewise.tables.spark import SparkTable, SqlTable, is_spark
from ratewise.tables.table import Table, frame_of, named, table_from_frame, table_from_mapping
from ratewise.tables.write import write_table

TableLike: TypeAlias = str | os.PathLike[str] | Mapping[str, Any] | Table | IntoFrame
Found = TypeVar("Found")

_STANDARD_INPUT = "standard input"
_START = 1 << 12  # bytes that tell a format
_MANY = 5_000_000  # rows from which on it is worth a word
_BYTES = 300  # that a row of some columns takes, with what is computed from it; measured by benchmarks/scale.py


def read_table(source: TableLike, *, name: str | None = None, format: str | None = None) -> Table:
    """A table from a file, a folder of files, from "-" (standard input) or from memory.

    `source` is a path that ends in .csv, .jsonl, .ndjson, .parquet or .pq (the text formats also in .gz), in .xlsx (the
    extra `xlsx`) or .json (a list of objects), a folder of tables, a pandas, Polars or PyArrow table, a mapping of
    column names to values, or a `Table`, which is returned as it is. `name` is what messages call the table. A file is
    read whole, once. A file that another tool wrote (a log of inspect_ai, results of promptfoo, …), or a folder of such
    files, is known by its content; `format` insists on one: "inspect_ai", "lm_eval", "helm", "openai_evals",
    "promptfoo", "langfuse", "braintrust", "deepeval", "arena" or "label_studio"; or on a plain table, whatever its
    ending is: "csv", "jsonl", "json", "excel" or "parquet".

    A CSV file may have semicolons or tabs between its cells, and decimal commas where it has semicolons. What lies in
    an object of JSON is a column by its path, such as scores.Human.
    """
    check_format(source, format)
    path = os.fsdecode(source) if isinstance(source, str | os.PathLike) else None
    if isinstance(source, Table):
        return source
    if path is not None:
        found = opened_file(path, format=format, name=name)
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
        if found is None and format is None and os.path.isdir(path) and files_among(path):
            return in_memory(refuse_bomb(_over_files(path, name, staged)))
        return load_file(path, name, kind) if found is None else found
    name = name or _STANDARD_INPUT
    folder = Folder()
    file, start = _from_standard_input(folder.path, name)
    found = None if kind is not None else adapted(file, format, name=name)
    return loaded(file, kind or sniffed(start), name, folder) if found is None else found


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


def in_memory(relation: Relation) -> Table:
    """All rows of a relation, in memory; a warning says how much of that many rows take."""
    rows = relation.count()
    if rows > _MANY:
        warnings.warn(
            f"{relation.name} has {rows:,} rows and is read whole, which takes about {rows * _BYTES / 1e9:,.0f} GB of "
            "memory; docs/guides/scale.md says what works without",
            RatewiseWarning,
            stacklevel=3,
        )
    return relation.table()


def open_relation(source: "TableLike | Relation", *, name: str | None = None, format: str | None = None) -> Relation:
    """A relation over whatever holds a table: a file, a folder of files, a pattern such as "pool/*.parquet", a frame of
    pandas, Polars or PyArrow, a relation of DuckDB or another engine that Narwhals knows, or a `Table`.

    Parquet files are asked where they are; anything else is written to a temporary file, which is gone with the
    relation. `name` is what messages call the table; `format` insists on a format, as `read_table` knows them.
    """
    if isinstance(source, Relation):
        return source
    if format is not None:
        source = read_table(source, name=name, format=format)
    if isinstance(source, str | os.PathLike) and os.fsdecode(source) != "-":
        path = os.fsdecode(source)
        found = adapted(path, name=name)
        return _over_files(path, name, staged) if found is None else _over_table(found.table)
    if not isinstance(source, str | os.PathLike | Mapping | Table):
        frame = frame_of(source, name or "table")
        if isinstance(frame, nw.LazyFrame):
            named(frame.collect_schema().names(), name or "table")
            return _spooled(name or "table", frame)
    return _over_table(read_table(source, name=name))


def _over_files(path: str, name: str | None, do: Callable[[Kind, list[str], str, Folder, list[str]], Found]) -> Found:
    """What `staged` or `counted` makes of the files at a path."""
    files, folder = files_of(path), Folder()
    kind = kind_of(files)
    name = name or name_of(path)
    return do(kind, plain_files(files, name, folder), name, folder, [shown(file, files, name) for file in files])


def _over_table(table: Table) -> Relation:
    folder = Folder()
    path = folder / "table.parquet"
    write_table(table, path)
    return relation_of_files([path], table.name, folder)


def _spooled(name: str, frame: nw.LazyFrame[Any]) -> Relation:
    """What an engine computes, written once to a temporary Parquet file: from then on its rows have an order."""
    folder = Folder()
    path = folder / "part-0"
    try:
        frame.sink_parquet(path)
    except Exception as error:
        raise TableError(f"{name} cannot answer: {reason(error)}") from error
    return relation_of_files([path], name, folder)


# Only counted


def count_rows(source: TableLike | Relation, *, name: str | None = None) -> int:
    """The rows of a table, at least 1: a file, a folder of files, a pattern, or anything else that can be read."""
    if isinstance(source, str | os.PathLike) and os.fsdecode(source) != "-":
        path = os.fsdecode(source)
        found = adapted(path, name=name)
        return _over_files(path, name, counted) if found is None else found.table.rows
    if isinstance(source, str | os.PathLike | Mapping | Table):
        return read_table(source, name=name).rows
    if not isinstance(source, Relation):
        frame = frame_of(source, name or "table")
        if isinstance(frame, nw.LazyFrame) and frame.implementation is not nw.Implementation.DUCKDB:  # need not compute
            return int(frame.select(nw.len()).collect().item()) or _refuse(name or "table")
    return open_relation(source, name=name).count()


def count_groups(source: TableLike | SqlTable, column: str) -> dict[str, int]:
    """How many rows each value of a column has, as text, "" where it is missing; in files, only counts are kept."""
    if is_spark(source):
        source = SparkTable.of(source, "table")
    elif isinstance(source, str | os.PathLike) and os.fsdecode(source) != "-":
        source = open_relation(source)
    if not isinstance(source, SqlTable):
        texts = read_table(source).texts(column, missing="allow")
        return dict(sorted(Counter(texts.tolist()).items()))
    source.refuse_unknown([column])
    text = source.text_in_sql(column)
    found = source.ask(f"SELECT {text} AS name, count(*) AS n FROM {source.source_in_sql()} GROUP BY 1 ORDER BY 1")
    return {str(name): int(n) for name, n in zip(found["name"].tolist(), found["n"].tolist(), strict=True)}


def _refuse(name: str) -> int:
    raise no_rows(name)
