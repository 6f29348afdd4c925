"""Tables that are read whole, also those that lie in several files; large ones with a word on the memory they take."""

import os
import warnings

from ratewise.errors import RatewiseWarning
from ratewise.tables import read
from ratewise.tables.adapters import adapted
from ratewise.tables.places import files_among
from ratewise.tables.relation import Relation, open_relation
from ratewise.tables.table import Table

_MANY = 5_000_000  # rows from which on it is worth a word
_BYTES = 300  # that a row of some columns takes, with what is computed from it; measured by benchmarks/scale.py


def read_table(source: read.TableLike, *, name: str | None = None, format: str | None = None) -> Table:
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
    if format is None and isinstance(source, str | os.PathLike):
        path = os.fsdecode(source)
        if os.path.isdir(path) and files_among(path):
            return read_several(path, name=name)
    return read.read_table(source, name=name, format=format)


def read_several(path: str, *, name: str | None = None) -> Table:
    """The table in the files of a folder or a pattern."""
    found = adapted(path, name=name)
    return in_memory(open_relation(path, name=name)) if found is None else found.table


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
