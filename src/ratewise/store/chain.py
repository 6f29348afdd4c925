"""The record: every transaction adds one entry to a chain, and each entry's digest is made of it and the one before.

    digest of entry n = SHA-256(digest of entry n − 1, newline, n, newline, body of entry n), in hexadecimal digits

The body is a JSON list of changes, in the order they were made:

    ["+", table, columns, rows]              rows that were added
    ["=", table, keys, columns, rows]        rows that were changed: new values first, then the keys' values
    ["-", table, keys, rows]                 rows that were taken out, by their keys
    ["moved", reserved, spent]               what was added to the sums
    ["items", size, digests]                 items as they were loaded: a digest for so many rows each
    ["before", version, rounds, moment]      what follows in this entry was written before there was a record

An entry is written by the transaction whose changes it holds, so a kill leaves both or neither. On PostgreSQL several
processes write at once: an entry is added under the lock of the row that keeps the sums, which is held until the
commit, so entries stand in the order of the commits. Who has a question in hand or leads is not recorded: it passes.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from ratewise.store import schema as t
from ratewise.store.queries import insertion

PASSING = ("version", "leader", "leading")  # facts that are not recorded: they come and go with processes
ITEMS_EACH = 100  # items that share a digest
_PAGES = "ratewise.record"
_ROWS = 5000  # items read at once
_SHOWN = 40  # digits of a digest in a head: 160 bits

Change = list[Any]


@dataclass(slots=True)
class _Pages:
    """What a transaction has changed so far, and whether it has the lock of the sums."""

    changes: list[Change] = field(default_factory=list)
    locked: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the chain as it is stored."""

    number: int
    body: str
    digest: str

    @property
    def changes(self) -> list[Change]:
        """What it says was changed; a ValueError where it is no record of changes."""
        found = json.loads(self.body)
        if not isinstance(found, list) or not all(isinstance(change, list) and change for change in found):
            raise ValueError("it is no list of changes")
        return found

    @property
    def head(self) -> str:
        """What stands for everything up to this entry."""
        return f"{self.number}-{self.digest[:_SHOWN]}"


START = Entry(0, "", "")


def digest_of(before: str, number: int, body: str) -> str:
    """The digest of an entry after the one with the digest `before`."""
    return hashlib.sha256(f"{before}\n{number}\n{body}".encode("utf-8", "surrogatepass")).hexdigest()


def following(before: Entry, body: str) -> Entry:
    """The entry with this body after another one."""
    number = before.number + 1
    return Entry(number, body, digest_of(before.digest, number, body))


# Writing


def start(connection: sa.Connection) -> None:
    """Begin an entry, with the transaction."""
    connection.info[_PAGES] = _Pages()


def seal(connection: sa.Connection) -> None:
    """Add the entry to the chain, at the end of the transaction; none where nothing was changed."""
    pages: _Pages = connection.info.pop(_PAGES)
    if pages.changes:
        _wait_turn(connection, pages)
        append(connection, pages.changes)


def append(connection: sa.Connection, changes: Sequence[Change]) -> None:
    """One more entry; nobody else may be adding one."""
    body = json.dumps(changes, ensure_ascii=False, separators=(",", ":"))
    new = following(last(connection), body)
    mark = "%s" if connection.dialect.name == "postgresql" else "?"
    statement = f"INSERT INTO chain (number, body, digest) VALUES ({mark}, {mark}, {mark})"
    _execute(connection, statement, (new.number, new.body, new.digest))


def has_turn(connection: sa.Connection) -> None:
    """The sums' row is locked by what was done just now."""
    connection.info[_PAGES].locked = True


def is_locked(connection: sa.Connection) -> bool:
    """Whether this transaction has locked the sums' row already."""
    pages: _Pages = connection.info[_PAGES]
    return pages.locked


def _wait_turn(connection: sa.Connection, pages: _Pages) -> None:
    """Others who write wait from here on until this transaction ends."""
    if connection.dialect.name == "postgresql" and not pages.locked:
        connection.exec_driver_sql("SELECT 1 FROM totals FOR UPDATE")
    pages.locked = True


def add(connection: sa.Connection, change: Change) -> None:
    """Record a change that the caller makes."""
    connection.info[_PAGES].changes.append(change)


def insert(connection: sa.Connection, table: sa.Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Add rows with the same columns each, and record it; those that get a number get it in the record's order."""
    if rows:
        if table.autoincrement_column is not None:
            _wait_turn(connection, connection.info[_PAGES])
        if len(rows) == 1:
            insertion(table, tuple(rows[0])).run(connection, rows[0])
        else:
            connection.execute(table.insert(), rows)
        add(connection, ["+", table.name, list(rows[0]), [list(row.values()) for row in rows]])


def changed(
    connection: sa.Connection, table: sa.Table, keys: Sequence[str], columns: Sequence[str], rows: Iterable[list[Any]]
) -> None:
    """Record rows that the caller changes: new values first, then the keys' values."""
    add(connection, ["=", table.name, list(keys), list(columns), list(rows)])


def removed(connection: sa.Connection, table: sa.Table, keys: Sequence[str], rows: Iterable[list[Any]]) -> None:
    """Record rows that the caller takes out."""
    add(connection, ["-", table.name, list(keys), list(rows)])


# Reading


def last(connection: sa.Connection) -> Entry:
    """The entry at the end, without its body; number 0 where there is none."""
    row = _execute(connection, "SELECT number, digest FROM chain ORDER BY number DESC LIMIT 1", ()).fetchone()
    return START if row is None else Entry(row[0], "", row[1])


def entries(connection: sa.Connection) -> Iterator[Entry]:
    """All of them, in order."""
    chosen = sa.select(t.chain.c.number, t.chain.c.body, t.chain.c.digest).order_by(t.chain.c.number)
    with connection.execute(chosen, execution_options={"yield_per": 100}) as found:
        for row in found:
            yield Entry(*row)


def _execute(connection: sa.Connection, statement: str, values: tuple[Any, ...]) -> Any:
    """Straight to SQLite, since two statements more in every transaction are to cost little."""
    if connection.dialect.name == "sqlite":
        driver = connection.connection.driver_connection
        assert driver is not None
        return driver.execute(statement, values)
    return connection.exec_driver_sql(statement, values or None)


# Items


_AS_JSON = json.JSONEncoder(ensure_ascii=False).encode


def row_bytes(row: Sequence[Any]) -> bytes:
    """A row of the items, without any doubt where a cell ends."""
    position, name, uniform, numbers, prices, content = row
    coded = None if numbers is None else bytes(numbers).hex()
    return _AS_JSON([position, str(name), uniform, coded, prices, content]).encode("utf-8", "surrogatepass")


def item_digests(connection: sa.Connection) -> list[str]:
    """Digests of the items as they are stored, in their order: one for every so many rows."""
    out, now, count = [], hashlib.sha256(), 0
    for row in _item_rows(connection):
        now.update(hashlib.sha256(row_bytes(row)).digest())
        count += 1
        if count % ITEMS_EACH == 0:
            out.append(now.hexdigest())
            now = hashlib.sha256()
    return [*out, now.hexdigest()] if count % ITEMS_EACH else out


def _item_rows(connection: sa.Connection) -> Iterator[Sequence[Any]]:
    """All items by position; straight from SQLite, which halves the time that a large table takes."""
    chosen = sa.select(t.items).order_by(t.items.c.position)
    if connection.dialect.name == "sqlite":
        yield from _execute(connection, str(chosen.compile(connection)), ())
        return
    with connection.execute(chosen, execution_options={"yield_per": _ROWS}) as found:
        yield from found
