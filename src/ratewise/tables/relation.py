"""What can be asked of a table without loading it.

    pool = open_relation("answers/*.parquet")
    pool.count()
    pool.aggregate({"rows": nw.len(), "mean": pool.number("judge").mean()}, by=["model"])
    for part in pool.scan("id", "judge"):
        part.numbers("judge")

Expressions are Narwhals': the same ones for files, folders, frames and engines.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import narwhals as nw

from ratewise.errors import TableError
from ratewise.tables.cells import Array
from ratewise.tables.condense import Plain
from ratewise.tables.frames import answer, one_complaint, spooled
from ratewise.tables.parquet import ParquetFiles, Told, first_rows
from ratewise.tables.pieces import Piece, pieces_of
from ratewise.tables.spark import SparkTable
from ratewise.tables.table import Table, no_column

BATCH = 1 << 19
"""Rows that `scan` hands out at a time."""


class RowSource(Protocol):
    """What stands behind a relation: files, a frame or an engine. Columns that it is asked for are there."""

    @property
    def name(self) -> str:
        """What messages call the table."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names, in order."""

    def count(self) -> int:
        """The number of rows."""

    def frame(self) -> nw.LazyFrame[Any]:
        """The table for expressions."""

    def table(self, columns: Sequence[str]) -> Table:
        """These columns in memory."""

    def scan(self, columns: Sequence[str], size: int) -> Iterator[Table]:
        """These columns, `size` rows at a time."""

    def check_ids(self, column: str) -> None:
        """Refuse a column of ids in which one is missing or repeated."""


@dataclass(frozen=True, slots=True, eq=False)
class Relation:
    """Rows and named columns that stay where they are; made by `open_relation`."""

    name: str
    columns: tuple[str, ...]
    _asked: RowSource = field(repr=False)
    _spark: SparkTable | None = field(repr=False, default=None)

    def count(self) -> int:
        """The number of rows."""
        return self._asked.count()

    def aggregate(self, expressions: Mapping[str, nw.Expr], *, by: Sequence[str] = ()) -> dict[str, Array]:
        """One value of each expression, by name, or one for each group; groups are sorted, that of no value is last.

        In the arrays, what is missing is NaN among floats and None among anything else.
        """
        self.refuse_unknown(by)
        values = [expression.alias(name) for name, expression in expressions.items()]
        frame = self._asked.frame()
        with one_complaint(self.name):
            asked = frame.group_by(*by).agg(*values).sort(*by, nulls_last=True) if by else frame.select(*values)
        return answer(self.name, asked)

    def number(self, column: str) -> nw.Expr:
        """The column as a number in an expression, by the rules of `Table.numbers`; missing where there is none."""
        self.refuse_unknown([column])
        dtype, value = self._asked.frame().collect_schema()[column], nw.col(column)
        if dtype == nw.String or dtype.is_float():
            value = _parsed(value) if dtype == nw.String else value.cast(nw.Float64)
            return nw.when(~value.is_nan()).then(value)
        if dtype.is_numeric() or dtype == nw.Boolean:
            return value.cast(nw.Float64)
        raise TableError(f"column {column!r} of {self.name} holds {dtype} values where numbers belong")

    def table(self, *columns: str) -> Table:
        """The columns (all of them where none is named) in memory, as they are now."""
        self.refuse_unknown(columns)
        return self._asked.table(columns or self.columns)

    def scan(self, *columns: str, rows: int = BATCH, order: str | None = None) -> Iterator[Table]:
        """The columns in batches of at most `rows` rows: in the order of the files or the frame, or of a column.

        Rows of another engine have an order only by a column. Sorting, and scanning an engine, writes the columns to
        a temporary file first; `order` should have no ties.
        """
        columns = columns or self.columns
        self.refuse_unknown(columns if order is None else (*columns, order))
        if rows < 1:
            raise TableError(f"a batch has at least 1 row; got rows={rows}")
        if order is None:
            return self._asked.scan(columns, rows)
        ordered = self._asked.frame().sort(order, nulls_last=True).select(*columns)
        return spooled(self.name, ordered).scan(columns, rows)

    def pieces(self, rows: int | None = None) -> list[Piece]:
        """All rows in pieces that can be hashed, and written with columns added; a table in memory goes to a file."""
        asked = self._asked
        if not isinstance(asked, ParquetFiles):
            asked = spooled(self.name, asked.frame())
        return pieces_of(asked, rows)

    def where(self, column: str) -> Table:
        """The rows whose number in this column is not 0, in memory; of a table in files, only these are loaded."""
        self.refuse_unknown([column])
        files = self._asked if isinstance(self._asked, ParquetFiles) else spooled(self.name, self._asked.frame())
        return files.where(column)

    def first_by(self, column: str, *, seed: str, rows: int) -> "Relation":
        """So many rows with the smallest r of seed and id, in their order here; the table itself is left alone."""
        self.refuse_unknown([column])
        files = self._asked if isinstance(self._asked, ParquetFiles) else spooled(self.name, self._asked.frame())
        return Relation(self.name, self.columns, first_rows(files, column, seed=seed, most=rows))

    @property
    def in_files(self) -> bool:
        """Whether the table lies in Parquet files, or was put there."""
        return isinstance(self._asked, ParquetFiles)

    @property
    def takes_sql(self) -> bool:
        """Whether questions in SQL can be asked: of files, and of Spark."""
        return self.in_files or self._spark is not None

    def ask(self, query: str) -> Mapping[str, Array]:
        """The answer to a question in SQL about `source_in_sql`."""
        return self._sql().ask(query)

    def source_in_sql(self) -> str:
        """What a question in SQL selects from; its columns are named by the other methods."""
        return self._sql().numbered()

    def told(self, columns: Sequence[str]) -> dict[str, Told]:
        """What files say about these columns at their ends: their ranges, and how many rows have a value."""
        files = self._asked
        return files.told(columns) if isinstance(files, ParquetFiles) else {column: Told() for column in columns}

    @property
    def row_in_sql(self) -> str | None:
        """The SQL of each row's number from 0; of a table without an order, of a hash of its id, if it has one."""
        return "row" if self._spark is None else self._spark.row_in_sql("id")

    def numbers_in_sql(self, columns: Sequence[str]) -> dict[str, str] | None:
        """The SQL of these columns as numbers, NULL where missing; nothing where one of them holds something else."""
        return self._sql().numbers_in_sql(columns)

    def plain_in_sql(self, column: str) -> Plain | None:
        """Cheaper SQL of a column of a file that holds numbers already; else nothing."""
        files = self._asked
        return files.plain_in_sql(column) if isinstance(files, ParquetFiles) else None

    def text_in_sql(self, column: str) -> str:
        """The SQL of a column as text, "" where missing."""
        return self._sql().text_in_sql(column)

    def _sql(self) -> ParquetFiles | SparkTable:
        if self._spark is not None:
            return self._spark
        if not isinstance(self._asked, ParquetFiles):
            raise TableError(f"{self.name} does not lie in files; write it to Parquet first")
        return self._asked

    def check_ids(self, column: str) -> None:
        """Refuse a column of ids in which one is missing or repeated."""
        self.refuse_unknown([column])
        self._asked.check_ids(column)

    def refuse_unknown(self, columns: Sequence[str]) -> None:
        """Refuse columns that are not there, with the names of those that are."""
        for column in columns:
            if column not in self.columns:
                raise no_column(self.name, column, self.columns)


def _parsed(text: nw.Expr) -> nw.Expr:
    """The number that a text stands for."""
    bare = text.str.strip_chars(" \t\r\n\u00a0").str.to_lowercase()
    true_or_digits = nw.when(bare == "false").then(nw.lit("0")).otherwise(bare)
    digits = nw.when(bare == "true").then(nw.lit("1")).otherwise(true_or_digits)
    return nw.when(digits != "").then(digits).cast(nw.Float64)
