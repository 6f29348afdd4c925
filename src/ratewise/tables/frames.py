"""Frames and other engines (pandas, Polars, PyArrow, DuckDB, Dask, Spark) through Narwhals, and mappings of arrays.

Nothing is copied or converted here: a column is converted when it is asked for.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import NoneType
from typing import Any

import narwhals as nw
import numpy as np
from duckdb import DuckDBPyRelation
from narwhals.exceptions import DuplicateError

from ratewise.errors import TableError
from ratewise.tables.cells import Array, unmasked
from ratewise.tables.engine import for_memory, no_rows, reason, shortened
from ratewise.tables.files import Folder
from ratewise.tables.parquet import ParquetFiles, parquet_files
from ratewise.tables.table import Table

_SCALARS = {str, int, float, bool, NoneType}


def table_from_frame(source: Any, *, name: str) -> Table:
    """A table that refers to a frame; a lazy one is collected first."""
    frame = frame_of(source, name)
    frame = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
    columns = named(frame.columns, name)
    if len(frame) == 0:
        raise no_rows(name)
    return Table(name, len(frame), columns, {column: frame[column] for column in columns}, for_memory(), frame)


def frame_of(source: Any, name: str) -> nw.DataFrame[Any] | nw.LazyFrame[Any]:
    """The frame, or the engine's table, as Narwhals knows it."""
    try:
        frame: nw.DataFrame[Any] | nw.LazyFrame[Any] = nw.from_native(source)
        return frame
    except DuplicateError as error:
        raise TableError(f"{name} has two columns with the name {_twice(source)}; rename one") from error
    except TypeError as error:
        raise TableError(
            f"{type(source).__name__} is not a table; give a path, - for standard input, a pandas, Polars or"
            " PyArrow table, or a mapping of column names to values"
        ) from error


def _twice(source: Any) -> str:
    """The name that a frame has twice; PyArrow's frames list theirs under another name."""
    names = getattr(source, "column_names", None) or list(source.columns)
    return repr(Counter(names).most_common(1)[0][0])


def table_from_mapping(source: Mapping[str, Any], *, name: str) -> Table:
    """A table of the arrays; a column is anything that NumPy takes for one row of values."""
    columns = named(list(source), name)
    arrays = {column: _array(column, source[column], name) for column in columns}
    lengths = {column: len(values) for column, values in arrays.items()}
    rows = lengths[columns[0]]
    for column, length in lengths.items():
        if length != rows:
            raise TableError(
                f"column {column!r} of {name} has {length} rows, but column {columns[0]!r} has {rows};"
                " all columns must be of one length"
            )
    if rows == 0:
        raise no_rows(name)
    return Table(name, rows, columns, arrays, for_memory())


def named(columns: Sequence[Any], name: str) -> tuple[str, ...]:
    """The names of a table's columns: at least one, and all of them text."""
    if not columns:
        raise TableError(f"{name} has no columns; there is nothing to work on")
    for column in columns:
        if not isinstance(column, str):
            raise TableError(f"the column {column!r} of {name} is not named by text; name it {str(column)!r}")
    return tuple(columns)


def _array(column: str, values: Any, name: str) -> Array:
    """One dimension; a list of mixed values keeps them as they are, where NumPy would make them all text."""
    try:
        array = np.asarray(values, dtype=object if _texts_among_scalars(values) else None)
        if array.dtype.kind in "US" and not isinstance(values, np.ndarray):
            array = np.asarray(values, dtype=object)
    except ValueError as error:
        raise TableError(f"column {column!r} of {name} is not a row of values: {error}") from error
    if array.ndim != 1:
        raise TableError(f"column {column!r} of {name} has {array.ndim} dimensions; a column has one")
    return array


def _texts_among_scalars(values: Any) -> bool:
    """Whether a list holds text, beside numbers and gaps at most: NumPy would make every cell as wide as the widest."""
    kinds = set(map(type, values)) if isinstance(values, list | tuple) else set()
    return str in kinds and kinds <= _SCALARS


# Frames in memory and other engines (Polars, pandas, PyArrow, DuckDB, Dask, Spark), asked through Narwhals.


_ROWS = "ratewise_rows"


@dataclass(frozen=True, slots=True, eq=False)
class FrameTable:
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
class EngineTable:
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
