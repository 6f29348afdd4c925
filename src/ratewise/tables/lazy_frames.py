"""Frames in memory and other engines (Polars, pandas, PyArrow, DuckDB, Dask, Spark), asked through Narwhals."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from duckdb import DuckDBPyRelation

from ratewise.errors import TableError
from ratewise.tables.cells import unmasked
from ratewise.tables.engine import reason, shortened
from ratewise.tables.frames import table_from_frame
from ratewise.tables.held import Array
from ratewise.tables.parquet import ParquetFiles, parquet_files
from ratewise.tables.places import Folder
from ratewise.tables.table import Table

_ROWS = "ratewise_rows"


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """A frame in memory, whose rows have an order."""

    name: str
    columns: tuple[str, ...]
    held: nw.DataFrame[Any]

    def count(self) -> int:
        """The frame's rows."""
        return len(self.held)

    def frame(self) -> nw.LazyFrame[Any]:
        """The table for expressions."""
        return self.held.lazy()

    def table(self, columns: Sequence[str]) -> Table:
        """These columns as a table; nothing is copied."""
        return table_from_frame(self.held.select(*columns).to_native(), name=self.name)

    def scan(self, columns: Sequence[str], size: int) -> Iterator[Table]:
        """These columns, `size` rows at a time."""
        picked = self.held.select(*columns)
        for start in range(0, len(picked), size):
            name = f"{self.name} from row {start + 1:,} on"
            yield table_from_frame(picked[start : start + size].to_native(), name=name)

    def check_ids(self, column: str) -> None:
        """Refuse a column of ids that is missing or repeated somewhere."""
        self.table([column]).check_ids(column)


@dataclass(frozen=True, slots=True, eq=False)
class Engine:
    """A table of another engine, whose rows may come in any order; only answers come over to this process."""

    name: str
    columns: tuple[str, ...]
    asked: nw.LazyFrame[Any]

    def count(self) -> int:
        """The table's rows, counted by the engine."""
        return int(answer(self.name, self.asked.select(nw.len().alias("rows")))["rows"][0])

    def frame(self) -> nw.LazyFrame[Any]:
        """The table for expressions."""
        return self.asked

    def table(self, columns: Sequence[str]) -> Table:
        """These columns as a table, fetched together so that their rows belong together."""
        with one_complaint(self.name):
            found = self.asked.select(*columns).collect()
        return table_from_frame(found.to_native(), name=self.name)

    def scan(self, columns: Sequence[str], size: int) -> Iterator[Table]:
        """These columns, `size` rows at a time, if the engine keeps the order of rows."""
        if self.asked.implementation is not nw.Implementation.POLARS:
            raise TableError(f"the rows of {self.name} have no order; name a column that gives one: order='id'")
        return spooled(self.name, self.asked.select(*columns)).scan(columns, size)

    def check_ids(self, column: str) -> None:
        """Refuse a column of ids that is missing or repeated somewhere; the engine counts."""
        groups = self.asked.group_by(column).agg(nw.len().alias(_ROWS))
        found = answer(self.name, groups.filter(nw.col(column).is_null() | (nw.col(_ROWS) > 1)).head(1))
        if len(found[column]):
            value = found[column][0]
            problem = "rows without a value" if value is None else f"the id {shortened(str(value))} more than once"
            raise TableError(f"column {column!r} of {self.name} has {problem}; give every row an id of its own")


def spooled(name: str, frame: nw.LazyFrame[Any]) -> ParquetFiles:
    """What an engine computes, written once to a temporary Parquet file: from then on its rows have an order."""
    folder = Folder()
    path = folder / "part-0"
    with one_complaint(name):
        frame.sink_parquet(path)
    return parquet_files([path], name, folder)


def answer(name: str, asked: nw.LazyFrame[Any]) -> dict[str, Array]:
    """A small result as arrays; what is missing is NaN among floats and None among anything else."""
    with one_complaint(name):
        native = asked.to_native()
        if isinstance(native, DuckDBPyRelation):  # by itself: Narwhals would need PyArrow
            return {str(column): unmasked(values) for column, values in native.fetchnumpy().items()}
        found = asked.collect()
    if len(found) == 0:
        return {column: np.empty(0, dtype=object) for column in found.columns}
    return table_from_frame(found.to_native(), name=name).arrays()


@contextmanager
def one_complaint(name: str) -> Iterator[None]:
    """Turn whatever an engine raises into a one-line error about the table."""
    try:
        yield
    except TableError:
        raise
    except Exception as error:
        raise TableError(f"{name} cannot answer: {reason(error)}") from error
