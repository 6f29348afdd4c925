"""Tables of Spark: questions in SQL that Spark answers, and functions of rows that run where the rows are.

Only answers come over to this process. PySpark is asked for nothing until a table of its own is given.
"""

import os
import secrets
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from ratewise.errors import TableError
from ratewise.tables.cells import Array, NumberSql
from ratewise.tables.engine import reason
from ratewise.tables.relation import Relation
from ratewise.tables.table import refuse_unknown

_WHOLE = ("tinyint", "smallint", "int", "bigint")
_FLOATS = ("float", "double")
_BITS_OF_ROW = 7  # hexadecimal digits of a hash that stands for a row's number: its products fit into 64 bits


def is_spark(source: object) -> bool:
    """Whether this is a DataFrame of Spark, classic or by Spark Connect; does not import it."""
    return any(
        kind.__module__.startswith("pyspark.sql.") and kind.__name__ == "DataFrame" for kind in type(source).__mro__
    )


def start(master: str | None) -> Any:
    """The Spark session of this process, started if there is none."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise TableError('Spark is not installed; type: pip install "ratewise[spark]"') from None
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else workers take the system's Python
    builder = SparkSession.builder.appName("ratewise").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.session.timeZone", "UTC").config("spark.pyspark.python", sys.executable)
    try:
        return (builder if master is None else builder.master(master)).getOrCreate()
    except Exception as error:
        raise TableError(f"Spark does not start: {reason(error)}; check --master, and that Java 17 is there") from error


def read_spark(session: Any, path: str) -> Any:
    """A folder, file or pattern as a table of Spark; Parquet, unless it ends like CSV or JSONL."""
    lower = path.lower().removesuffix(".gz")
    try:
        if lower.endswith(".csv"):
            return session.read.option("header", True).option("escape", '"').option("multiLine", True).csv(path)
        if lower.endswith((".jsonl", ".ndjson")):
            return session.read.json(path)
        return session.read.parquet(path)
    except Exception as error:
        raise TableError(f"{path} cannot be read by Spark: {reason(error)}") from error


def with_value(frame: Any, columns: Sequence[str]) -> Any:
    """The rows that have a value in one of these columns, as an Arrow table in memory."""
    refuse_unknown("table", tuple(frame.columns), columns)
    kinds = dict(frame.dtypes)
    nan = {column: f" AND NOT isnan({_quoted(column)})" if kinds[column] in _FLOATS else "" for column in columns}
    conditions = " OR ".join(f"({_quoted(column)} IS NOT NULL{nan[column]})" for column in columns)
    try:
        return frame.where(conditions).toArrow()
    except Exception as error:
        raise TableError(f"the rows with a rating cannot be fetched from Spark: {_own_words(error)}") from error


@dataclass(frozen=True, slots=True, eq=False)
class SparkTable:
    """A DataFrame of Spark, to be asked as a `Relation` is."""

    name: str
    frame: Any
    columns: tuple[str, ...]
    _view: str = field(default_factory=lambda: f"ratewise_{secrets.token_hex(8)}")

    @classmethod
    def of(cls, frame: Any, name: str) -> "SparkTable":
        """The table of a frame."""
        table = cls(name, frame, tuple(frame.columns))
        frame.createOrReplaceTempView(table._view)
        return table

    def count(self) -> int:
        """The number of rows."""
        return int(self._computed(self.frame.count))

    def ask(self, query: str) -> Mapping[str, Array]:
        """The answer to a question in SQL."""
        rows = self._computed(lambda: self.frame.sparkSession.sql(query).collect())
        columns = rows[0].asDict().keys() if rows else ()
        found = {}
        for column in columns:
            values = np.empty(len(rows), dtype=object)
            values[:] = [row[column] for row in rows]
            found[column] = values
        return found

    def source_in_sql(self) -> str:
        """What a question in SQL selects from."""
        return self._view

    @property
    def row_in_sql(self) -> str | None:
        """A number for every row by the hash of its id, in place of an order that Spark does not have."""
        if "id" not in self.columns:
            return None
        digits = f"substring(md5(CAST({_quoted('id')} AS STRING)), 1, {_BITS_OF_ROW})"
        return f"CAST(conv({digits}, 16, 10) AS BIGINT)"

    def number_in_sql(self, column: str) -> NumberSql:
        """A column as numbers; nothing is known of it before it is read."""
        kind, value = self._kind(column), _quoted(column)
        if kind in _FLOATS:
            return NumberSql(f"CASE WHEN isnan({value}) THEN NULL ELSE CAST({value} AS DOUBLE) END")
        if kind in (*_WHOLE, "boolean") or kind.startswith("decimal"):
            return NumberSql(f"CAST({value} AS DOUBLE)")
        raise TableError(
            f"column {column!r} of {self.name} holds {kind} where numbers belong; convert it in Spark first"
        )

    def text_in_sql(self, column: str) -> str:
        """The SQL of a column as text, "" where missing."""
        if self._kind(column) in _FLOATS:
            raise TableError(f"column {column!r} of {self.name} holds decimal numbers where groups belong")
        return f"coalesce(CAST({_quoted(column)} AS STRING), '')"

    def refuse_unknown(self, columns: Sequence[str]) -> None:
        """Refuse columns that are not there, with the names of those that are."""
        refuse_unknown(self.name, self.columns, columns)

    def check_ids(self, column: str) -> None:
        """Refuse a column of ids in which one is missing or repeated."""
        kind = self._kind(column)
        if kind not in (*_WHOLE, "string"):
            raise TableError(f"column {column!r} of {self.name} holds {kind}; ids are text or whole numbers")
        ids = f"SELECT nullif(CAST({_quoted(column)} AS STRING), '') AS one FROM {self._view}"
        found = self.ask(f"SELECT one AS id FROM ({ids}) t GROUP BY one HAVING count(*) > 1 OR one IS NULL LIMIT 1")
        if found:
            value = found["id"][0]
            problem = "rows without a value" if value is None else f"the id {value!r} more than once"
            raise TableError(f"column {column!r} of {self.name} has {problem}; give every row an id of its own")

    def mapped(self, do: Callable[[Iterator[Any]], Iterator[Any]], schema: Any, columns: Sequence[str] = ()) -> Any:
        """What a function makes of the Arrow batches of every partition, lazily."""
        frame = self.frame.select(*map(_quoted, columns)) if columns else self.frame
        return frame.mapInArrow(do, schema)

    def collected(self, frame: Any) -> list[Any]:
        """The rows of a small frame."""
        return list(self._computed(frame.collect))

    def _computed(self, do: Callable[[], Any]) -> Any:
        try:
            return do()
        except Exception as error:
            raise TableError(f"{self.name} cannot answer: {_own_words(error)}") from error

    def _kind(self, column: str) -> str:
        return str(dict(self.frame.dtypes)[column])


SqlTable: TypeAlias = Relation | SparkTable
"""A table that answers questions in SQL where it is."""


def _own_words(error: Exception) -> str:
    """What our own code said on a worker, or Spark's first line."""
    for line in str(error).splitlines():
        _, found, words = line.partition("ratewise.errors.")
        if found:
            return words.partition(": ")[2]
    return reason(error)


def _quoted(column: str) -> str:
    return "`" + column.replace("`", "``") + "`"
