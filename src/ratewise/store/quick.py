"""Statements that run for every answer of a person, handed to the driver as text: SQLAlchemy writes them once.

Making a statement ready to run takes SQLAlchemy ten times as long as SQLite takes to run it. Values go in as they are,
so these statements are for numbers and texts, and rows come back as plain tuples.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.dialects.postgresql import psycopg
from sqlalchemy.dialects.sqlite import pysqlite

Row = tuple[Any, ...]
_DIALECTS: dict[str, sa.Dialect] = {
    "sqlite": pysqlite.dialect(paramstyle="named"),
    "postgresql": psycopg.dialect(),  # type: ignore[no-untyped-call]
}


@dataclass(frozen=True, slots=True)
class Quick:
    """A statement of SQLAlchemy that is written out once for each kind of database."""

    statement: sa.Select[Any] | sa.Insert | sa.Update | sa.Delete
    _texts: dict[str, tuple[str, dict[str, Any]]] = field(default_factory=dict, repr=False, compare=False)

    def all(self, connection: sa.Connection, values: Mapping[str, Any]) -> Sequence[Row]:
        """All rows."""
        found: Sequence[Row] = self._run(connection, values).fetchall()
        return found

    def first(self, connection: sa.Connection, values: Mapping[str, Any]) -> Row | None:
        """The first row; None where there is none."""
        found: Row | None = self._run(connection, values).fetchone()
        return found

    def scalar(self, connection: sa.Connection, values: Mapping[str, Any]) -> Any:
        """The first column of the first row; None where there is none."""
        row = self.first(connection, values)
        return None if row is None else row[0]

    def change(self, connection: sa.Connection, values: Mapping[str, Any]) -> int:
        """How many rows were changed."""
        return int(self._run(connection, values).rowcount)

    def run(self, connection: sa.Connection, values: Mapping[str, Any]) -> None:
        """Run it, whatever comes of it."""
        self._run(connection, values)

    def _run(self, connection: sa.Connection, values: Mapping[str, Any]) -> Any:
        name = connection.dialect.name
        if name not in self._texts:
            self._texts[name] = _written(self.statement, name)
        text, fixed = self._texts[name]
        driver: Any = connection.connection.driver_connection
        try:
            return driver.execute(text, {**fixed, **values})
        except driver_error(connection) as error:
            raise translated(connection, text, error) from error


def driver_error(connection: sa.Connection) -> type[Exception]:
    """What the driver raises."""
    found: type[Exception] = connection.dialect.dbapi.Error  # type: ignore[union-attr]
    return found


def translated(connection: sa.Connection, text: str, error: Exception) -> Exception:
    """The driver's error as SQLAlchemy would raise it; a connection that is gone is not used again."""
    gone = connection.dialect.is_disconnect(error, None, None)  # type: ignore[arg-type]
    if gone:
        connection.invalidate(error)
    made: Exception = exc.DBAPIError.instance(
        text, None, error, driver_error(connection), connection_invalidated=gone, dialect=connection.dialect
    )
    return made


def _written(statement: sa.Select[Any] | sa.Insert | sa.Update | sa.Delete, name: str) -> tuple[str, dict[str, Any]]:
    """The text with names for its values, and the values that are always the same."""
    written = statement.compile(dialect=_DIALECTS[name])
    return str(written), {key: value for key, value in written.params.items() if value is not None}


@cache
def insertion(table: sa.Table, columns: tuple[str, ...]) -> Quick:
    """Adds a row with these columns; a number that the database gives it is not asked back."""
    return Quick(table.insert().values({name: sa.bindparam(name) for name in columns}).inline())
