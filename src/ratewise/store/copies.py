"""Copies of a store: one to look at where the original may not be written, and a backup that can go on."""

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager

import sqlalchemy as sa

from ratewise.errors import InputError
from ratewise.store import schema as t
from ratewise.store.connection import told
from ratewise.store.guards import raise_guards
from ratewise.store.log import Log
from ratewise.store.rebuild import make_tables
from ratewise.store.sqlite import SQLite

_AT_ONCE = 2000


@contextmanager
def readable(path: str) -> Iterator[str]:
    """The file itself, or where it or its folder may not be written a copy, which SQLite needs to read it."""
    if not os.path.exists(path) or (_writable(path) and _writable(os.path.dirname(os.path.abspath(path)))):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="ratewise-") as folder:
        yield copied(path, folder)


def copied(path: str, folder: str) -> str:
    """The file and its write-ahead log, under the same name in another folder."""
    copy = os.path.join(folder, os.path.basename(path))
    for ending in ("", "-wal"):
        if os.path.exists(path + ending):
            shutil.copyfile(path + ending, copy + ending)
    return copy


def _writable(path: str) -> bool:
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def back_up(store: Log, path: str) -> None:
    """A consistent copy as one SQLite file, while others write; a file that is there is not written over."""
    if os.path.exists(path):
        raise InputError(f"{path} is there already; name another file")
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise InputError(f"{path} cannot be written: there is no folder {folder}; make it first")
    database = store.database
    with told(database.shown), tempfile.TemporaryDirectory(prefix=".ratewise-", dir=folder) as own:
        copy = os.path.join(own, "copy.sqlite")
        if isinstance(database, SQLite):
            _with_sqlite(database.path, copy)
        else:
            _table_by_table(store, copy)
        os.replace(copy, path)


def _with_sqlite(source: str, path: str) -> None:
    """Copy by SQLite's own backup, which includes the write-ahead log."""
    with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(path)) as new:
        old.backup(new)
        new.execute("PRAGMA journal_mode = DELETE")  # one file, without a log beside it


def _table_by_table(store: Log, path: str) -> None:
    """Copy one moment of a PostgreSQL store into a SQLite file that a campaign can continue with."""
    make_tables(path)
    engine = sa.create_engine(sa.URL.create("sqlite", database=path))
    with store.still(), store.reading() as old, engine.begin() as new:
        for made in (t.meta, t.totals):
            new.execute(made.delete())
        for table in t.metadata.sorted_tables:
            found = old.execute(sa.select(table), execution_options={"yield_per": _AT_ONCE})
            for part in found.mappings().partitions():
                new.execute(table.insert(), [dict(row) for row in part])
        raise_guards(new)
    engine.dispose()
