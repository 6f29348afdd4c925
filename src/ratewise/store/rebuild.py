"""The tables as the record says they are: all its changes, made again in a SQLite file of its own."""

import os
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.schema import CreateIndex, CreateTable

from ratewise.store import schema as t
from ratewise.store.chain import Change, Entry


def rebuild(path: str | os.PathLike[str], entries: Iterable[Entry]) -> None:
    """Make the file and play the entries into it; a ValueError names an entry that cannot be played."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for pragma in ("synchronous = OFF", "journal_mode = MEMORY"):
            connection.execute(f"PRAGMA {pragma}")
        connection.execute("BEGIN")
        _make(connection)
        connection.execute("COMMIT")  # the tables are there even if an entry cannot be played
        connection.execute("BEGIN")
        for entry in entries:
            try:
                for change in entry.changes:
                    play(connection, change)
            except (sqlite3.Error, ValueError, TypeError, IndexError, OverflowError) as error:
                raise ValueError(f"entry {entry.number} of the record cannot be played again: {error}") from None
        connection.execute("COMMIT")


def make_tables(path: str | os.PathLike[str]) -> None:
    """A store of this version with nothing in it, and no guards yet."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN")  # one transaction, so that the disk is waited for once
        _make(connection)
        connection.execute("COMMIT")


def _make(connection: sqlite3.Connection) -> None:
    for statement in _definitions():
        connection.execute(statement)
    connection.execute("INSERT INTO totals (only, reserved, spent) VALUES (1, 0, 0)")
    connection.execute("INSERT INTO meta (key, value) VALUES ('version', ?)", (str(t.VERSION),))


@cache
def _definitions() -> tuple[str, ...]:
    """The tables and indexes in SQLite's words."""
    dialect = sa.create_engine("sqlite://").dialect
    made: list[list[CreateTable | CreateIndex]] = [
        [CreateTable(table), *(CreateIndex(index) for index in sorted(table.indexes, key=lambda i: str(i.name)))]
        for table in t.metadata.sorted_tables
    ]
    return tuple(str(one.compile(dialect=dialect)) for each in made for one in each)


def play(connection: sqlite3.Connection, change: Change) -> None:
    """Make one change again."""
    kind, *parts = change
    if kind == "+":
        table, columns, rows = parts
        marks = ", ".join("?" * len(columns))
        names = ", ".join(_names(table, columns))
        connection.executemany(f"INSERT INTO {_table(table).name} ({names}) VALUES ({marks})", rows)
    elif kind == "=":
        table, keys, columns, rows = parts
        settings = ", ".join(f"{name} = ?" for name in _names(table, columns))
        _each(connection, f"UPDATE {_table(table).name} SET {settings} WHERE {_where(table, keys)}", rows)
    elif kind == "-":
        table, keys, rows = parts
        connection.executemany(f"DELETE FROM {_table(table).name} WHERE {_where(table, keys)}", rows)
    elif kind == "moved":
        connection.execute("UPDATE totals SET reserved = reserved + ?, spent = spent + ?", parts)
    elif kind not in {"items", "before"}:
        raise ValueError(f"{str(kind)[:40]!r} is no kind of change")


def _each(connection: sqlite3.Connection, statement: str, rows: Sequence[Sequence[Any]]) -> None:
    """Change each row that is said to have changed; all of them must be there."""
    if connection.executemany(statement, rows).rowcount != len(rows):
        raise ValueError("it changes a row that was never added")


def _where(table: str, keys: Sequence[str]) -> str:
    return " AND ".join(f"{name} = ?" for name in _names(table, keys))


def _table(name: str) -> sa.Table:
    """The table of a name; names come from a file that others may have written, so only ours are taken."""
    if name not in t.metadata.tables:
        raise ValueError(f"{str(name)[:40]!r} is no table")
    return t.metadata.tables[name]


def _names(table: str, columns: Sequence[str]) -> list[str]:
    known = _table(table).columns
    for name in columns:
        if name not in known:
            raise ValueError(f"{str(name)[:40]!r} is no column of {table}")
    return [f'"{name}"' for name in columns]
