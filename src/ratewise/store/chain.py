"""The record: every transaction adds one entry to a chain, and each entry's digest is made of it and the one before.

    digest of entry n = SHA-256(digest of entry n − 1, newline, n, newline, body of entry n), in hexadecimal digits

The body is a JSON list of changes, in the order they were made:

    ["+", table, columns, rows]              rows that were added
    ["=", table, keys, columns, rows]        rows that were changed: new values first, then the keys' values
    ["-", table, keys, rows]                 rows that were taken out, by their keys
    ["moved", reserved, spent]               what was added to the sums
    ["items", size, digests]                 items as they were loaded: a digest for so many rows each
    ["before", rounds, moment]               what follows in this entry was written before there was this record

An entry is written by the transaction whose changes it holds, so a kill leaves both or neither. On PostgreSQL several
processes write at once: an entry is added under the lock of the row that keeps the sums, which is held until the
commit, so entries stand in the order of the commits. A table or column is recorded unless BOOKKEEPING names it.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import sqlalchemy as sa

from ratewise.store import queries as q
from ratewise.store import schema as t
from ratewise.store.queue import now

BOOKKEEPING = ("workers", "leases", "sessions", "ratings.worker")  # tables and columns that are not recorded,
PASSING = (
    "version",
    "leader",
    "leading",
    "address",
)  # and facts: who works, where it is served, has a question in hand or is signed in now
ITEMS_EACH = 100  # items that share a digest
_OTHERWISE = ("items", "totals", "chain")  # recorded by digests, by what was added, and by being the record
RECORDED = tuple(each for each in t.metadata.sorted_tables if each.name not in {*BOOKKEEPING, *_OTHERWISE})
_CHANGES, _LOCKED = "ratewise.changes", "ratewise.locked"  # of a connection: of the transaction it is in
_ROWS = 5000  # items read at once
_AT_ONCE = 10_000  # rows in one change
_SHOWN = 40  # digits of a digest in a head: 160 bits
_DIGEST = q.Query("SELECT digest FROM chain WHERE number = :number")
_LAST = q.Query("SELECT number, digest FROM chain ORDER BY number DESC LIMIT 1")

Change = list[Any]


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the chain as it is stored."""

    number: int
    body: str
    digest: str

    @property
    def changes(self) -> list[Change]:
        """What it says was changed; a ValueError where it is no record of changes."""
        try:
            found = json.loads(self.body)
        except RecursionError:
            raise ValueError("it is nested too deeply") from None
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
    connection.info.update({_CHANGES: [], _LOCKED: False})


def seal(connection: sa.Connection) -> None:
    """Add the entry to the chain, at the end of the transaction; none where nothing was changed."""
    if changes := connection.info[_CHANGES]:
        take_turn(connection)
        _append(connection, changes)
    del connection.info[_CHANGES]


def _append(connection: sa.Connection, changes: Sequence[Change]) -> None:
    new = following(last(connection), json.dumps(changes, ensure_ascii=False, separators=(",", ":")))
    row = {"number": new.number, "body": new.body, "digest": new.digest}
    q.insertion("chain", tuple(row)).many(connection, [row])


def lock(connection: sa.Connection) -> q.Row | None:
    """(reserved, spent, cap), locked: others who write money wait until this transaction ends."""
    connection.info[_LOCKED] = True
    return q.LOCK.first(connection)


def take_turn(connection: sa.Connection) -> None:
    """Others who write wait until this transaction ends; asked for twice, it is one turn."""
    if not connection.info[_LOCKED]:
        lock(connection)


def add(connection: sa.Connection, change: Change) -> None:
    """Record a change that the caller makes."""
    connection.info[_CHANGES].append(change)


def insert(connection: sa.Connection, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Add rows with the same columns each, and record it; those that get a number get it in the record's order."""
    if rows:
        if t.metadata.tables[table].autoincrement_column is not None:
            take_turn(connection)
        columns = tuple(rows[0])
        q.insertion(table, columns).many(connection, rows)
        add(connection, ["+", table, list(columns), [list(row.values()) for row in rows]])


def update(
    connection: sa.Connection, table: str, keys: Sequence[str], rows: Sequence[Mapping[str, Any]], also: str = ""
) -> None:
    """Give the rows with these keys their other values, and record it; what `also` says besides is not recorded."""
    if rows:
        columns = tuple(name for name in rows[0] if name not in keys)
        q.update(table, tuple(keys), columns, also).many(connection, rows)
        values = [[row[name] for name in (*columns, *keys)] for row in rows]
        add(connection, ["=", table, list(keys), list(columns), values])


def delete(connection: sa.Connection, table: str, row: Mapping[str, Any]) -> bool:
    """Take out the row with these keys, and record it; False where there is none."""
    if not q.deletion(table, tuple(row)).change(connection, **row):
        return False
    add(connection, ["-", table, list(row), [list(row.values())]])
    return True


def begin_anew(connection: sa.Connection) -> None:
    """A first entry with everything that the tables hold, where the old record cannot be used."""
    rounds = int(connection.scalar(sa.select(sa.func.count()).select_from(t.rounds)) or 0)
    connection.execute(t.chain.delete())
    _append(connection, [["before", rounds, now()], *everything(connection)])


def recorded_columns(table: sa.Table) -> list[sa.Column[Any]]:
    """All but bookkeeping, and numbers that the database gives: their order is that of the record."""
    return [c for c in table.columns if str(c) not in BOOKKEEPING and c is not table.autoincrement_column]


def everything(connection: sa.Connection) -> Iterator[Change]:
    """The changes that lead from nothing to the tables as they are."""
    yield ["items", ITEMS_EACH, item_digests(connection)]
    for table in RECORDED:
        columns = recorded_columns(table)
        chosen = sa.select(*columns).order_by(*table.primary_key.columns)
        if table is t.meta:
            chosen = chosen.where(t.meta.c.key.not_in(PASSING))
        names = [column.name for column in columns]
        for part in connection.execute(chosen).partitions(_AT_ONCE):
            yield ["+", table.name, names, [list(row) for row in part]]
    reserved, spent, cap = connection.execute(sa.select(t.totals.c.reserved, t.totals.c.spent, t.totals.c.cap)).one()
    yield ["moved", reserved, spent]
    if cap is not None:
        yield ["=", t.totals.name, ["only"], ["cap"], [[cap, 1]]]


# Reading


def last(connection: sa.Connection) -> Entry:
    """The entry at the end, without its body; number 0 where there is none."""
    row = _LAST.first(connection)
    return START if row is None else Entry(row[0], "", row[1])


def holds(connection: sa.Connection, head: str) -> bool:
    """Whether the entry of a head is there."""
    number, _, digits = head.partition("-")
    row = _DIGEST.first(connection, number=int(number)) if number.isdecimal() else None
    return number == "0" or (row is not None and bool(digits) and str(row[0]).startswith(digits))


def entries(connection: sa.Connection) -> Iterator[Entry]:
    """All of them, in order."""
    chosen = sa.select(t.chain.c.number, t.chain.c.body, t.chain.c.digest).order_by(t.chain.c.number)
    with connection.execute(chosen, execution_options={"yield_per": 100}) as found:
        for row in found:
            yield Entry(*row)


# Items

_AS_JSON = json.JSONEncoder(ensure_ascii=False).encode


def row_bytes(row: Sequence[Any]) -> bytes:
    """A row of the items, without any doubt where a cell ends."""
    position, name, uniform, numbers, prices, content = row
    coded = None if numbers is None else bytes(numbers).hex()
    return _AS_JSON([position, str(name), uniform, coded, prices, content]).encode("utf-8", "surrogatepass")


def item_digests(connection: sa.Connection) -> list[str]:
    """Digests of the items as they are stored, in their order: one for every so many rows."""
    return list(digests_of(item_rows(connection)))


def digests_of(rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """A digest for every so many rows of items."""
    each = (hashlib.sha256(row_bytes(row)).digest() for row in rows)
    while part := b"".join(islice(each, ITEMS_EACH)):
        yield hashlib.sha256(part).hexdigest()


def item_rows(connection: sa.Connection) -> Iterator[Sequence[Any]]:
    """All items by position; straight from SQLite, which halves the time that a large table takes."""
    chosen = sa.select(t.items).order_by(t.items.c.position)
    if connection.dialect.name == "sqlite":
        driver: Any = connection.connection.driver_connection
        yield from driver.execute(str(chosen.compile(connection)))
        return
    with connection.execute(chosen, execution_options={"yield_per": _ROWS}) as found:
        yield from found
