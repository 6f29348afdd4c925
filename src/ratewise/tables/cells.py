"""Where the cells of a column live, and the one way to ask DuckDB about them.

A file is kept in its database, as the columns c0, c1, … of the table "data": under names of our own, since
SQL takes "A" and "a" for the same. What came from memory or was added stays in memory and is lent to the
database for the length of a question. Rows have the same order everywhere.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
from duckdb import DuckDBPyConnection

from ratewise.tables.engine import Own
from ratewise.tables.held import Array, Held, held


@dataclass(frozen=True, slots=True)
class Stored:
    """A column of the table "data"."""

    field: str


Cells: TypeAlias = Stored | Array | nw.Series[Any]


@dataclass(frozen=True, slots=True)
class View:
    """Columns that can be asked about together: `SELECT <fields> FROM <source>` on the cursor."""

    cursor: DuckDBPyConnection
    fields: tuple[str, ...]
    source: str

    def kinds(self) -> tuple[str, ...]:
        """The SQL type of each field."""
        types = ", ".join(f"typeof({field})" for field in self.fields)
        row = self.cursor.execute(f"SELECT {types} FROM {self.source} LIMIT 1").fetchone()
        return tuple(map(str, row or ()))

    def fetch(self, **expressions: str) -> dict[str, Array]:
        """One array per expression of `x`, which is the only field; missing values are masked."""
        (field,) = self.fields
        selected = ", ".join(f"{sql} AS {alias}" for alias, sql in expressions.items())
        query = f"SELECT {selected} FROM (SELECT {field} AS x FROM {self.source})"
        return {str(alias): values for alias, values in self.cursor.execute(query).fetchnumpy().items()}

    def text_in(self, row: int, expression: str) -> str:
        """The text of `expression`, which is of `x`, in one row (counted from 0)."""
        (field,) = self.fields
        query = f"SELECT {expression} FROM (SELECT {field} AS x FROM {self.source} LIMIT 1 OFFSET {row:d})"
        return str((self.cursor.execute(query).fetchone() or ("",))[0])


@contextmanager
def opened(connection: DuckDBPyConnection | Own, cells: Mapping[str, Cells]) -> Iterator[View]:
    """A view of the columns, in their order, on a cursor of its own."""
    lent = {name: held(name, column) for name, column in cells.items() if not isinstance(column, Stored)}
    numbers = {name: number for number, name in enumerate(lent)}
    fields = tuple(
        column.field if isinstance(column, Stored) else _field(lent[name], numbers[name])
        for name, column in cells.items()
    )
    with connection.cursor() as cursor:
        if lent:
            cursor.register("lent", _columns(lent))
        sources = ["data"] * (len(lent) < len(cells)) + ["lent"] * bool(lent)
        yield View(cursor, fields, " POSITIONAL JOIN ".join(sources))


def _field(column: Held, number: int) -> str:
    return f"CASE WHEN missing{number} THEN NULL ELSE {column.sql.format(f'value{number}')} END"


def _columns(lent: Mapping[str, Held]) -> dict[str, Array]:
    arrays: dict[str, Array] = {}
    for number, column in enumerate(lent.values()):
        arrays |= {f"value{number}": column.values, f"missing{number}": column.missing}
    return arrays


def unmasked(values: Array) -> Array:
    """An array without a mask: what is missing is NaN among floats and None among anything else."""
    missing = np.ma.getmaskarray(values)
    plain: Array = np.ma.getdata(values)
    if missing.any():
        plain = plain.astype(plain.dtype if plain.dtype.kind == "f" else object)
        plain[missing] = np.nan if plain.dtype.kind == "f" else None
    return plain
