"""The record against the tables: its chain is checked, its changes are made again in a file, and both are compared."""

import heapq
import math
import os
import re
import sqlite3
import tempfile
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import groupby, zip_longest
from operator import itemgetter
from typing import Any

import sqlalchemy as sa

from ratewise.errors import InputError
from ratewise.store import chain
from ratewise.store import schema as t
from ratewise.store.chain import Change, Entry
from ratewise.store.sqlite import sqlite_dialect
from ratewise.store.store import Store

# Made again


def rebuild(path: str | os.PathLike[str], entries: Iterable[Entry]) -> None:
    """Make the file and play the entries into it; a ValueError names an entry that cannot be played."""
    with new_store(path) as connection:
        for entry in entries:
            try:
                for change in entry.changes:
                    play(connection, change)
            except (sqlite3.Error, ValueError, TypeError, IndexError, OverflowError) as error:
                raise ValueError(f"entry {entry.number} of the record cannot be played again: {error}") from None


@contextmanager
def new_store(path: str | os.PathLike[str]) -> Iterator[sqlite3.Connection]:
    """A store with nothing in it and no guards yet, to be filled in one go; its tables stay whatever happens."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for pragma in ("synchronous = OFF", "journal_mode = MEMORY"):
            connection.execute(f"PRAGMA {pragma}")
        connection.execute("BEGIN")
        for statement in t.definitions(sqlite_dialect()[0]):
            connection.execute(statement)
        connection.execute("INSERT INTO totals (only, reserved, spent) VALUES (1, 0, 0)")
        connection.execute("INSERT INTO meta (key, value) VALUES ('version', ?)", (str(t.FORMAT),))
        connection.execute("COMMIT")
        connection.execute("BEGIN")
        yield connection
        connection.execute("COMMIT")


def play(connection: sqlite3.Connection, change: Change) -> None:
    """Make one change again. Names come from a file that others may have written, so only ours are taken."""
    kind, *parts = change
    if kind == "moved":
        connection.execute("UPDATE totals SET reserved = reserved + ?, spent = spent + ?", parts)
    elif kind in ("+", "=", "-"):
        name, *lists, rows = parts  # of columns: those added; keys and those changed; keys
        if name not in t.metadata.tables:
            raise ValueError(f"{str(name)[:40]!r} is no table")
        for column in (column for each in lists for column in each):
            if column not in t.metadata.tables[name].columns:
                raise ValueError(f"{str(column)[:40]!r} is no column of {name}")
        first, *others = ([f'"{column}"' for column in each] for each in lists)
        where = " AND ".join(f"{column} = ?" for column in first)
        statement = f"DELETE FROM {name} WHERE {where}"
        if kind == "+":
            statement = f"INSERT INTO {name} ({', '.join(first)}) VALUES ({', '.join('?' * len(first))})"
        elif kind == "=":
            settings = ", ".join(f"{column} = ?" for column in others[0])
            statement = f"UPDATE {name} SET {settings} WHERE {where}"
        if connection.executemany(statement, rows).rowcount != len(rows) and kind == "=":
            raise ValueError("it changes a row that was never added")
    elif kind not in {"items", "before"}:
        raise ValueError(f"{str(kind)[:40]!r} is no kind of change")


# Compared

_LONGEST = 60  # characters of a value that is shown
_AT_ONCE = 2000
_MOST = 200  # differences of one table: the rest is counted by nobody
_Marked = tuple[list[Any], bool, tuple[Any, ...]]  # (key, whether it is of the record, row)


def differences(found: sa.Connection, right: sa.Connection) -> Iterator[str]:
    """What `found` has otherwise than `right`, a sentence each."""
    for table in (*chain.RECORDED, t.totals):
        with closing(_of_table(table, found, right)) as sentences:
            for count, sentence in enumerate(sentences):
                if count == _MOST:
                    yield f"{table.name}: and more"
                    break
                yield sentence


def _of_table(table: sa.Table, found: sa.Connection, right: sa.Connection) -> Generator[str, None, None]:
    """Differences of one table. Rows whose number the database gave are told by their place, up to the first."""
    columns = list(table.columns) if table is t.totals else chain.recorded_columns(table)
    names = [column.name for column in columns]
    keys = [names.index(column.name) for column in table.primary_key if column.name in names]

    with closing(_rows(table, columns, found)) as ours, closing(_rows(table, columns, right)) as recorded:
        if all(one == other for one, other in zip_longest(ours, recorded)):  # as most tables are, and quickly told
            return

    def marked(connection: sa.Connection, of_record: bool) -> Generator[_Marked, None, None]:
        """Rows with what they are sorted by: their keys as in SQLite, numbers before text, or their place."""
        for number, row in enumerate(_rows(table, columns, connection), start=1):
            yield [(isinstance(x, str), x) for x in ([row[k] for k in keys] or [number])], of_record, row

    # closed here, with their cursors: one of them may be left in the middle where the other's file is damaged
    with closing(marked(found, False)) as ours, closing(marked(right, True)) as recorded:
        both = heapq.merge(ours, recorded, key=itemgetter(0))
        for place, group in groupby(both, key=itemgetter(0)):
            rows = {of_record: row for _, of_record, row in group}
            one, other = rows.get(False), rows.get(True)
            if one == other:
                continue
            row = one or other or ()
            named = ", ".join(f"{names[k]} {_shown(row[k])}" for k in keys) if keys else f"row {place[0][1]}"
            where = f"{table.name}, {named}"
            if one is None:
                yield f"{where}{'' if keys else ' and what follows it'} is missing; the record has it"
            elif other is None:
                yield f"{where} is not in the record"
            else:
                for name, a, b in zip(names, one, other, strict=True):
                    if a != b:
                        at = _parting(a, b)
                        yield f"{where}: {name} is {_shown(a, at)}; the record has {_shown(b, at)}"
            if not keys:
                return


def _rows(
    table: sa.Table, columns: list[sa.Column[Any]], connection: sa.Connection
) -> Generator[tuple[Any, ...], None, None]:
    """The rows as they are stored: a truth value that is 5 is not made 1."""
    plain = [sa.type_coerce(c, sa.Integer) if isinstance(c.type, sa.Boolean) else c for c in columns]
    order = [c.collate("C") if isinstance(c.type, sa.Text) and connection.dialect.name == "postgresql" else c
             for c in table.primary_key.columns]  # fmt: skip
    chosen = sa.select(*plain).order_by(*order)
    if table is t.meta:
        chosen = chosen.where(t.meta.c.key.not_in(chain.PASSING))
    with connection.execute(chosen, execution_options={"yield_per": _AT_ONCE}) as found:
        for row in found:
            yield tuple(row)


def _parting(a: object, b: object) -> int:
    """Where to begin showing two long texts: a little before they differ."""
    if not (isinstance(a, str) and isinstance(b, str)) or max(len(a), len(b)) <= _LONGEST:
        return 0
    same = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    return max(same - _LONGEST // 3, 0)


def _shown(value: object, start: int = 0) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return "no finite number"
    text = repr(value[start:] if start and isinstance(value, str) else value)
    text = "..." * bool(start) + text
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


# Checked

_HEAD = re.compile(r"([1-9]\d{0,17})-([0-9a-f]{40,64})")


@dataclass(slots=True)
class Checked:
    """What was found; `before` are rounds that are older than the record."""

    entries: int = 0
    head: str = chain.START.head
    before: int = 0
    anchored: int | None = None  # the entry of the head that was given
    problems: list[str] = field(default_factory=list)


def read_head(text: str) -> tuple[int, str]:
    """(number, digits) of a head as status, report and export print it."""
    found = _HEAD.fullmatch(text.strip().lower())
    if found is None:
        raise InputError(
            f"{text[:60]!r} is no head of a record; copy it whole from a status or a report: a number, a dash, and "
            "40 digits from 0 to f"
        )
    return int(found[1]), found[2]


def check_record(store: Store, head: str | None = None) -> Checked:
    """Read the whole record once; what cannot be read is told, too."""
    wanted, out = None if head is None else read_head(head), Checked()
    with store.reading() as connection, tempfile.TemporaryDirectory(prefix="ratewise-") as folder:
        path = os.path.join(folder, "record.sqlite")
        digests: list[tuple[int, list[str]]] = []
        try:
            rebuild(path, _walked(connection, wanted, out, digests))
        except ValueError as error:
            out.problems.append(str(error))
        if wanted is not None and out.anchored is None:
            out.problems.append(
                f"entry {wanted[0]} of the record is not the one of the head: the store was changed since, or it is "
                "another"
                if wanted[0] <= out.entries
                else f"the head is of entry {wanted[0]}, and the record ends with entry {out.entries}: this is an "
                "older copy, or its end was taken out"
            )
        if out.entries:
            _items(connection, digests, out)
            engine = sa.create_engine(sa.URL.create("sqlite", database=path))
            try:
                with engine.connect() as right:
                    out.problems += differences(connection, right)
            finally:
                engine.dispose()
    return out


def _walked(
    connection: sa.Connection, wanted: tuple[int, str] | None, out: Checked, digests: list[tuple[int, list[str]]]
) -> Iterator[chain.Entry]:
    """Each entry, when its digest is checked; facts in it are noted on the way."""
    before = chain.START
    for entry in chain.entries(connection):
        if entry.number != before.number + 1:
            out.problems.append(f"the record goes from entry {before.number} to {entry.number}: some are missing")
        if entry.digest != chain.digest_of(before.digest, entry.number, entry.body):
            out.problems.append(f"entry {entry.number} of the record was changed: its digest is of something else")
        if wanted is not None and entry.number == wanted[0] and entry.digest.startswith(wanted[1]):
            out.anchored = entry.number
        yield entry
        for kind, *parts in entry.changes:
            if kind == "items":
                digests.append((int(parts[0]), list(parts[1])))
            if kind == "before":
                out.before = int(parts[0])
        before = entry
        out.entries, out.head = entry.number, entry.head
    if before is chain.START:
        out.problems.append("the store has no record: every entry of it was taken out")


def _items(connection: sa.Connection, recorded: list[tuple[int, list[str]]], out: Checked) -> None:
    if len(recorded) != 1 or recorded[0][0] != chain.ITEMS_EACH:
        out.problems.append("the record does not say once which items were loaded")
        return
    for i, (digest, right) in enumerate(zip_longest(chain.item_digests(connection), recorded[0][1])):
        if digest != right:
            first = i * chain.ITEMS_EACH
            out.problems.append(
                f"items {first} to {first + chain.ITEMS_EACH - 1}: their rows are not those that were loaded"
            )
