"""How many rows a table has, without keeping one of them."""

import os
from collections import Counter
from collections.abc import Mapping

import duckdb

from ratewise.errors import TableError
from ratewise.tables.adapters import adapted
from ratewise.tables.engine import Own, no_rows, reason
from ratewise.tables.formats import Kind
from ratewise.tables.loaders import COUNTERS
from ratewise.tables.places import Folder, files_of, kind_of, name_of, plain_files, shown
from ratewise.tables.read import TableLike, read_table
from ratewise.tables.relation import Relation, open_relation
from ratewise.tables.spark import is_spark
from ratewise.tables.table import Table


def count_rows(source: TableLike | Relation, *, name: str | None = None) -> int:
    """The rows of a table, at least 1: a file, a folder of files, a pattern, or anything else that can be read.

    Parquet files say how many they have; CSV and JSONL files are read through, and checked as `read_table` does.
    """
    if isinstance(source, str | os.PathLike) and os.fsdecode(source) != "-":
        return _rows_of_files(os.fsdecode(source), name)
    if isinstance(source, str | os.PathLike | Mapping | Table):
        return read_table(source, name=name).rows
    relation = open_relation(source, name=name)
    return relation.count() or _refuse(relation.name)


def count_groups(source: TableLike | Relation, column: str) -> dict[str, int]:
    """How many rows each value of a column has, as text, "" where it is missing; in files, only counts are kept."""
    if not (isinstance(source, str | os.PathLike | Relation) or is_spark(source)) or source == "-":
        source = read_table(source)
    relation = open_relation(source)
    relation.refuse_unknown([column])
    if not relation.takes_sql:
        texts = relation.table(column).texts(column, missing="allow")
        return dict(sorted(Counter(texts.tolist()).items()))
    text = relation.text_in_sql(column)
    found = relation.ask(f"SELECT {text} AS name, count(*) AS n FROM {relation.source_in_sql()} GROUP BY 1 ORDER BY 1")
    return {str(name): int(n) for name, n in zip(found["name"].tolist(), found["n"].tolist(), strict=True)}


def _rows_of_files(path: str, name: str | None) -> int:
    found = adapted(path)
    if found is not None:
        return found.table.rows
    files, name, folder = files_of(path), name or name_of(path), Folder()
    kind = kind_of(files)
    called = [shown(file, files, name) for file in files]
    counted = zip(plain_files(files, name, folder), called, strict=True)
    return sum(_rows_of_file(kind, file, each) for file, each in counted) or _refuse(name)


def _rows_of_file(kind: Kind, path: str, name: str) -> int:
    own = Own()  # what is laid down on the way goes with it
    with own.cursor() as cursor:
        try:
            return COUNTERS[kind](cursor, path, name)
        except (duckdb.Error, OSError) as error:
            raise TableError(f"{name} cannot be read as {kind}: {reason(error).replace(path, name)}") from error


def _refuse(name: str) -> int:
    raise no_rows(name)
