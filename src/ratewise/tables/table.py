"""The table itself: a frozen record of named columns that are converted when they are asked for.

It is made of a file (`tables/read.py`), of a mapping of arrays, or through Narwhals of a frame: pandas, Polars, PyArrow
and other engines. Nothing is copied or converted before it is asked for.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from dataclasses import replace as changed
from difflib import get_close_matches
from types import NoneType
from typing import Any

import duckdb
import narwhals as nw
import numpy as np
import numpy.typing as npt
from duckdb import DuckDBPyConnection
from narwhals.exceptions import DuplicateError

from ratewise.core.result import FrameKind, frame_of_columns
from ratewise.errors import TableError
from ratewise.tables import cells as convert
from ratewise.tables.cells import Array, Cells, Missing, Texts, View, held, opened, unmasked
from ratewise.tables.engine import Own, for_memory, no_rows, reason


def different(names: list[str], table: str) -> list[str]:
    """The names, if there is one at least and no two are the same."""
    if not names:
        raise TableError(f"{table} has no columns; there is nothing to work on")
    if len(set(names)) < len(names):
        raise TableError(f"{table} has two columns with the name {repeated(names)!r}; rename one")
    return names


def repeated(names: Iterable[str]) -> str:
    """A name that is there twice."""
    return Counter(names).most_common(1)[0][0]


def refuse_other_columns(files: Sequence[tuple[str, list[str]]]) -> None:
    """Files that are one table have the same columns, in any order; each is given with its name."""
    (first, names), *others = files
    for file, found in others:
        odd = sorted(set(names) ^ set(found))
        if odd:
            has, lacks = (first, file) if odd[0] in names else (file, first)
            raise TableError(f"{lacks} has no column {odd[0]!r}, which {has} has; add it, or leave the file out")


# The table itself


_MOST_LISTED = 40


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Rows and named columns, at least one of each; made by `read_table`, never changed.

    Every column keeps the values it came with. A table from memory refers to what it was made from and
    does not copy it.
    """

    name: str
    rows: int
    columns: tuple[str, ...]
    _cells: Mapping[str, Cells] = field(repr=False)
    _connection: DuckDBPyConnection | Own = field(repr=False)
    _frame: nw.DataFrame[Any] | None = field(repr=False, default=None)

    def numbers(self, column: str, *, missing: Missing = "error") -> npt.NDArray[np.float64]:
        """The column as finite float64; with `missing="allow"`, NaN where there is no value.

        Truth values are 1 and 0, and so are the words true and false; text must be a number in every row.
        """
        cells = self._cells.get(column)
        if isinstance(cells, np.ndarray) and cells.dtype.kind in "biuf":
            return convert.checked(cells.astype(np.float64), self._place(column), missing=missing)
        with self._view(column) as view:
            return convert.numbers(view, self._place(column), missing=missing)

    def texts(self, column: str, *, missing: Missing = "error") -> Texts:
        """The column as text; with `missing="allow"`, "" where there is no value.

        Whole numbers have no decimal point: 7, not 7.0. An object array, because DuckDB hands the texts
        over as Python strings and the callers put them into sets and dictionaries: a StringDType array
        would be built from them and taken apart again.
        """
        with self._view(column) as view:
            return convert.texts(view, self._place(column), missing=missing)

    def ids(self, column: str | None = None) -> Texts:
        """One text per row, all different: of `column`, else of "id" if there is one, else "0", "1", …"""
        if column is None and "id" not in self.columns:
            with self._connection.cursor() as cursor:
                numbered = cursor.execute(f"SELECT CAST(range AS VARCHAR) AS id FROM range({self.rows:d})")
                return numbered.fetchnumpy()["id"].astype(object)
        column = "id" if column is None else column
        with self._view(column) as view:
            convert.check_ids(view, self._place(column))
            return convert.texts(view, self._place(column), missing="error")

    def check_ids(self, column: str) -> None:
        """Refuse a column of ids in which one is missing or repeated."""
        with self._view(column) as view:
            convert.check_ids(view, self._place(column))

    def with_columns(self, columns: Mapping[str, npt.ArrayLike], *, replace: bool = False) -> "Table":
        """This table with columns added at its end; with `replace=True`, those that exist change in place."""
        taken = [name for name in columns if name in self.columns]
        if taken and not replace:
            raise TableError(
                f"{self.name} has a column {taken[0]!r} already; choose another name, or pass replace=True"
            )
        added = {name: self._checked(name, values) for name, values in columns.items()}
        cells = {**self._cells, **added}
        return changed(self, columns=tuple(cells), _cells=cells)

    def to_native(self) -> Any:
        """The kind of object that came in: pandas, Polars or PyArrow; a dictionary of arrays for the rest.

        In the dictionary, what is missing is NaN among floats and None among anything else.
        """
        if self._frame is None:
            return self.arrays()
        added = {name: column for name, column in self._cells.items() if isinstance(column, np.ndarray)}
        series = [_series(name, values, self._frame) for name, values in added.items()]
        return self._frame.with_columns(*series).to_native()

    def to_frame(self, kind: FrameKind | None = None) -> Any:
        """A pandas, Polars or PyArrow frame; by default of the kind that came in, else the first that is installed."""
        if kind is None and self._frame is not None:
            return self.to_native()
        return frame_of_columns(self.arrays(), kind)

    def arrays(self) -> dict[str, Array]:
        """Every column as an array of the kind it came with; what is missing is as `to_native` says."""
        return {name: self._array(name, column) for name, column in self._cells.items()}

    def _array(self, name: str, column: Cells) -> Array:
        if isinstance(column, np.ndarray):
            return column
        with self._view(name) as view:
            text = view.kinds() == ("JSON",)
            return unmasked(view.fetch(x=convert.text_sql("JSON") if text else "x")["x"])

    def _checked(self, name: str, values: npt.ArrayLike) -> Array:
        array = np.asarray(values)
        if array.shape != (self.rows,):
            raise TableError(
                f"column {name!r} has the shape {array.shape}; {self.name} needs a row of {self.rows} values"
            )
        held(name, array)
        return array

    def _place(self, column: str) -> str:
        return f"column {column!r} of {self.name}"

    @contextmanager
    def _view(self, column: str) -> Iterator[View]:
        if column not in self._cells:
            raise no_column(self.name, column, self.columns)
        try:
            with opened(self._connection, {column: self._cells[column]}) as view:
                yield view
        except duckdb.Error as error:
            raise TableError(f"{self._place(column)} cannot be read: {reason(error)}") from error


def refuse_unknown(table: str, columns: tuple[str, ...], wanted: Iterable[str]) -> None:
    """Refuse columns that are not there, with the names of those that are."""
    for column in wanted:
        if column not in columns:
            raise no_column(table, column, columns)


def no_column(table: str, column: str, columns: tuple[str, ...]) -> TableError:
    """The complaint about a column that is not there, with the one that may have been meant."""
    close = get_close_matches(column, columns, n=1)
    listed = ", ".join(map(repr, columns[:_MOST_LISTED]))
    more = len(columns) - _MOST_LISTED
    ending = f" and {more} more" if more > 0 else ""
    meant = f"did you mean {close[0]!r}? " if close else ""
    return TableError(f"{table} has no column {column!r}; {meant}its columns are {listed}{ending}")


def _series(name: str, values: Array, frame: nw.DataFrame[Any]) -> nw.Series[Any]:
    """An array as a column for a frame; times go in at the resolution that all of them know."""
    if values.dtype.kind in "mM" and np.datetime_data(values.dtype)[0] not in {"ms", "us", "ns"}:
        values = values.astype(f"{values.dtype.kind}8[us]")
    return nw.new_series(name, np.ascontiguousarray(values), backend=frame.implementation)


_SCALARS = {str, int, float, bool, NoneType}


# Of frames and mappings


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
        names = getattr(source, "column_names", None) or list(source.columns)  # PyArrow has another word for it
        raise TableError(f"{name} has two columns with the name {repeated(names)!r}; rename one") from error
    except TypeError as error:
        raise TableError(
            f"{type(source).__name__} is not a table; give a path, - for standard input, a pandas, Polars or"
            " PyArrow table, or a mapping of column names to values"
        ) from error


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
    for column in columns:
        if not isinstance(column, str):
            raise TableError(f"the column {column!r} of {name} is not named by text; name it {str(column)!r}")
    return tuple(different(list(columns), name))


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
