"""Copies of a store: its record as one text file and back, a backup that can go on, one to look at, and neighbours.

A record is lines of JSON, all that is needed to check a campaign anywhere:

{"ratewise record": 1}
{"item": [position, id, random number, numbers in hexadecimal digits, prices, row]}      a line for each item
{"entry": number, "body": "…", "digest": "…"}                                            a line for each entry
"""

import json
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import quote

import sqlalchemy as sa

from ratewise.errors import InputError
from ratewise.store import chain
from ratewise.store import schema as t
from ratewise.store.connection import told
from ratewise.store.replay import new_store, play
from ratewise.store.schema import raise_guards
from ratewise.store.sqlite import SQLite
from ratewise.store.store import Store

FIRST_LINE = '{"ratewise record": 1}'
_AT_ONCE = 2000


def write_record(store: Store, file: TextIO) -> None:
    """Everything that was loaded and written, as lines of JSON."""
    print(FIRST_LINE, file=file)
    with store.reading() as connection:
        for row in chain.item_rows(connection):
            print('{"item": ' + chain.row_bytes(row).decode() + "}", file=file)
        for entry in chain.entries(connection):
            line = {"entry": entry.number, "body": entry.body, "digest": entry.digest}
            print(json.dumps(line, ensure_ascii=False), file=file)


def store_of_record(source: str, path: str) -> None:
    """Make a store of the file that `write_record` has written; what cannot be read is an InputError."""
    try:
        with new_store(path) as connection:
            for row in _lines(source):
                if "item" in row:
                    position, name, uniform, numbers, prices, content = row["item"]
                    blob = None if numbers is None else bytes.fromhex(numbers)
                    cells = (position, name, uniform, blob, prices, content)
                    connection.execute("INSERT INTO items VALUES (?, ?, ?, ?, ?, ?)", cells)
                else:
                    entry = chain.Entry(int(row["entry"]), str(row["body"]), str(row["digest"]))
                    connection.execute("INSERT INTO chain VALUES (?, ?, ?)", (entry.number, entry.body, entry.digest))
                    for change in entry.changes:
                        play(connection, change)
    except (ValueError, KeyError, TypeError, IndexError, OverflowError, RecursionError, sqlite3.Error) as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{os.path.basename(source)} is no whole record ({reason}); export it again") from None


def _lines(source: str) -> Iterator[dict[str, Any]]:
    with open(source, encoding="utf-8", errors="strict") as file:
        if file.readline().strip() != FIRST_LINE:
            raise ValueError("its first line is another one")
        for line in file:
            if line.strip():
                row = json.loads(line)
                if not isinstance(row, dict):
                    raise ValueError("a line is no object")
                yield row


# Copies


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


def back_up(store: Store, path: str) -> None:
    """A consistent copy as one SQLite file, while others write; a file that is there is not written over."""
    if os.path.exists(path):
        raise InputError(f"{path} is there already; name another file")
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise InputError(f"{path} cannot be written: there is no folder {folder}; make it first")
    database = store.database
    with told(database.shown), tempfile.TemporaryDirectory(prefix=".ratewise-", dir=folder) as own:
        copy = os.path.join(own, "copy.sqlite")
        if isinstance(database, SQLite):  # its own backup includes the write-ahead log
            with closing(sqlite3.connect(database.path)) as old, closing(sqlite3.connect(copy)) as new:
                old.backup(new)
                new.execute("PRAGMA journal_mode = DELETE")  # one file, without a log beside it
        else:
            _table_by_table(store, copy)
        os.replace(copy, path)


def _table_by_table(store: Store, path: str) -> None:
    """Copy one moment of a PostgreSQL store into a SQLite file that a campaign can continue with."""
    with new_store(path):
        pass
    engine = sa.create_engine(sa.URL.create("sqlite", database=path))
    with store.still(), store.reading() as old, engine.begin() as new:
        for filled in (t.meta, t.totals):
            new.execute(filled.delete())
        for table in t.metadata.sorted_tables:
            found = old.execute(sa.select(table), execution_options={"yield_per": _AT_ONCE})
            for part in found.mappings().partitions():
                new.execute(table.insert(), [dict(row) for row in part])
        raise_guards(new)
    engine.dispose()


# Stores beside a campaign that is about to begin: it may be there already, under another file name

_HEADER = b"SQLite format 3\0"
_MOST_FILES = 1000  # looked at in a folder


def stores_of(name: str, folder: str) -> list[str]:
    """Files in a folder in which a campaign of this name has begun, with their names; none is written."""
    return sorted(path.name for path in _files(folder) if _campaign_in(path) == name)


def _files(folder: str) -> Iterator[Path]:
    with suppress(OSError):
        for number, entry in enumerate(os.scandir(folder)):
            if number >= _MOST_FILES:
                return
            if entry.is_file() and not entry.name.endswith((".lock", "-wal", "-shm", "-journal")):
                yield Path(entry.path)


def _campaign_in(path: Path) -> str | None:
    """The name of the campaign in a file; None where it is no store."""
    with suppress(OSError, sqlite3.Error, ValueError, TypeError, AttributeError):
        with path.open("rb") as file:
            if file.read(len(_HEADER)) != _HEADER:
                return None
        with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)) as connection:
            (spec,) = connection.execute("SELECT value FROM meta WHERE key = 'spec'").fetchone()
        return str(json.loads(spec).get("name"))
    return None
