"""Frames and other engines (pandas, Polars, PyArrow, DuckDB, Dask, Spark) through Narwhals, and mappings of arrays.

Nothing is copied or converted here: a column is converted when it is asked for.
"""

from collections.abc import Mapping, Sequence
from types import NoneType
from typing import Any

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError

from ratewise.errors import TableError
from ratewise.tables.cells import Array
from ratewise.tables.engine import for_memory, no_rows
from ratewise.tables.table import Table, different, repeated

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
