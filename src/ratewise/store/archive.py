"""The record as one text file, and a store made of such a file: what is needed to check a campaign anywhere.

{"ratewise record": 1}
{"item": [position, id, random number, numbers in hexadecimal digits, prices, row]}      a line for each item
{"entry": number, "body": "…", "digest": "…"}                                            a line for each entry
"""

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any, TextIO

import sqlalchemy as sa

from ratewise.errors import InputError
from ratewise.store import chain
from ratewise.store import schema as t
from ratewise.store.log import Log
from ratewise.store.rebuild import play, rebuild

FIRST_LINE = '{"ratewise record": 1}'
_AT_ONCE = 2000


def write_record(store: Log, file: TextIO) -> None:
    """Everything that was loaded and written, as lines of JSON."""
    print(FIRST_LINE, file=file)
    with store.reading() as connection:
        chosen = sa.select(t.items).order_by(t.items.c.position)
        for row in connection.execute(chosen, execution_options={"yield_per": _AT_ONCE}):
            print('{"item": ' + chain.row_bytes(row).decode() + "}", file=file)
        for entry in chain.entries(connection):
            line = {"entry": entry.number, "body": entry.body, "digest": entry.digest}
            print(json.dumps(line, ensure_ascii=False), file=file)


def store_of_record(source: str, path: str) -> None:
    """Make a store of the file that `write_record` has written; what cannot be read is an InputError."""
    try:
        rebuild(path, ())
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute("BEGIN")
            for row in _lines(source):
                if "item" in row:
                    _add_item(connection, row["item"])
                else:
                    _add_entry(connection, chain.Entry(int(row["entry"]), str(row["body"]), str(row["digest"])))
            connection.execute("COMMIT")
    except (ValueError, KeyError, TypeError, IndexError, sqlite3.Error) as error:
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


def _add_entry(connection: sqlite3.Connection, entry: chain.Entry) -> None:
    connection.execute("INSERT INTO chain VALUES (?, ?, ?)", (entry.number, entry.body, entry.digest))
    for change in entry.changes:
        play(connection, change)


def _add_item(connection: sqlite3.Connection, cells: list[Any]) -> None:
    position, name, uniform, numbers, prices, content = cells
    blob = None if numbers is None else bytes.fromhex(numbers)
    connection.execute("INSERT INTO items VALUES (?, ?, ?, ?, ?, ?)", (position, name, uniform, blob, prices, content))
