"""What can be saved of a damaged SQLite store: rows that can still be read, and what the record has of the others."""

import os
import sqlite3
import struct
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field
from typing import Any

import sqlalchemy as sa

from ratewise.errors import StoreError
from ratewise.store import chain
from ratewise.store import schema as t
from ratewise.store.archive import copied
from ratewise.store.chain import Entry
from ratewise.store.replay import new_store, rebuild
from ratewise.store.schema import raise_guards

_BEYOND = 5000  # rows that are looked for behind the last one that can be read


@dataclass(slots=True)
class Rescued:
    """How many rows of each table were saved, and what is missing."""

    saved: dict[str, int] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    from_record: int = 0  # rows that only the record still had
    answers: int = 0  # from the file of unsaved answers
    whole: bool = False  # whether the record is whole, so that old heads still fit
    broken: str = ""  # what of it cannot be used, where it is not

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def summary(self) -> str:
        counted = ", ".join(f"{self.saved.get(name, 0):,} {words}" for name, words in _WORDS.items())
        lines = [f"saved: {counted}; {self.from_record:,} rows of them out of the record alone"]
        if self.answers:
            lines.append(f"saved: {self.answers:,} answers that were not in the store")
        if not self.whole:
            lines.append(f"the record was damaged: {self.broken}")
            lines.append("a new record begins, and heads from before do not fit it")
        return "\n".join([*lines, *(f"missing: {what}" for what in self.missing or ["nothing that is known of"])])


_WORDS = {
    "items": "items", "rounds": "rounds", "draws": "draws", "ratings": "ratings", "ledger": "movements of money",
    "events": "notes", "chain": "entries of the record",
}  # fmt: skip


Fill = Callable[[str | None], list[tuple[Any, ...]]]
"""Rows of items from elsewhere, where the table there has this SHA-256."""


def rescue_store(source: str, path: str, *, fill: Fill | None = None) -> Rescued:
    """Make a new store at `path`; items that cannot be read may come from elsewhere."""
    out = Rescued()
    with tempfile.TemporaryDirectory(prefix="ratewise-") as folder:
        copy = copied(source, folder)
        _mend(copy)
        found, lost = _read(copy, os.path.basename(source))
        entries = _unbroken(found.get("chain", []))
        rebuilt = os.path.join(folder, "rebuilt.sqlite") if entries else None
        try:
            rebuild(rebuilt or ":memory:", entries)
        except ValueError:  # its digests fit, and yet it says nothing that can be done: somebody wrote it so
            rebuilt = None
        out.whole = rebuilt is not None and "chain" not in lost and len(entries) == len(found["chain"])
        out.broken = "" if out.whole else _broken(len(entries) if rebuilt else 0, found.get("chain", []))
        with new_store(path) as new:
            for name in ("items", "chain", "workers") if out.whole else found:
                _add(new, name, found.get(name, []))
            if rebuilt is not None:
                out.from_record = _from_record(new, rebuilt, found, whole=out.whole)
            facts = dict(new.execute("SELECT key, value FROM meta WHERE key IN ('digest', 'items')").fetchall())
            new.execute("DELETE FROM items WHERE position >= ?", (int(facts.get("items", 2**31)),))  # of another table
            if fill is not None and ("items" in lost or _count(new, "items") < int(facts.get("items", 0))):
                _add(new, "items", fill(facts.get("digest")))
            out.saved = {name: _count(new, name) for name in t.metadata.tables}
            out.missing = _missing(new, lost, whole=out.whole)
    _finish(path, out)
    return out


_PAGE = 4096  # bytes, as SQLite makes them
_HEADER = b"SQLite format 3\0" + struct.pack(">HBBBBBB", _PAGE, 1, 1, 0, 64, 32, 32)


def _mend(copy: str) -> None:
    """Make a file that SQLite opens of one whose header or end is gone: then all other pages can be read.

    Without its header a file is nothing to SQLite, and neither is one that is shorter than its header says.
    """
    with open(copy, "r+b") as file:
        head, size = file.read(100), file.seek(0, os.SEEK_END)
        if not head.startswith(_HEADER[:16]) and (size + 100) % _PAGE == 0:  # they are not there at all
            file.seek(0)
            rest = file.read()
            file.seek(100)
            file.write(rest)
            size += 100
        pages = -(-size // _PAGE)
        if head.startswith(_HEADER[:16]):
            page, said = struct.unpack(">H10xI", head[16:32])
            size = said * (65536 if page == 1 else page)
        elif size > _PAGE:
            # counters, no free pages, schema format 4, UTF-8; both versions alike, so that the number of pages counts
            more = struct.pack(">IIIIIIIIIIII20xII", 1, pages, 0, 0, 1, 4, 0, 0, 1, 0, 0, 0, 1, 3_040_000)
            file.seek(0)
            file.write(_HEADER + more)
            size = pages * _PAGE
        file.truncate(max(size, file.seek(0, os.SEEK_END)))


def _read(copy: str, shown: str) -> tuple[dict[str, list[tuple[Any, ...]]], set[str]]:
    """All rows that can be read, by table, and the tables of which some cannot."""
    found: dict[str, list[tuple[Any, ...]]] = {}
    lost: set[str] = set()
    try:
        with closing(sqlite3.connect(copy)) as old:
            there = {name for (name,) in old.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            old.text_factory = lambda raw: raw.decode("utf-8", "replace")
            for name in there & set(t.metadata.tables):
                rows, whole = _rows(old, t.metadata.tables[name])
                found[name] = rows
                if not whole:
                    lost.add(name)
    except sqlite3.Error as error:
        raise StoreError(
            f"nothing can be read of {shown} ({error}); take a backup, or make a store of an exported record"
        ) from None
    if not found:
        raise StoreError(f"{shown} has no tables of a campaign; name its store")
    return found, lost


def _rows(old: sqlite3.Connection, table: sa.Table) -> tuple[list[tuple[Any, ...]], bool]:
    """The rows that can be read, found by halving the row numbers around what cannot."""
    cells = ", ".join(f'"{column.name}"' for column in table.columns)
    statement = f"SELECT rowid, {cells} FROM {table.name} NOT INDEXED WHERE rowid BETWEEN ? AND ? ORDER BY rowid"
    try:
        return [row[1:] for row in old.execute(statement, (-(2**62), 2**62))], True
    except sqlite3.Error:
        rows = list(_halves(old, statement, 0, _last(old, table.name, statement)))
        return [row[1:] for row in rows], False


def _last(old: sqlite3.Connection, table: str, statement: str) -> int:
    """The largest row number, or one beyond what can be read."""
    try:
        return int(old.execute(f"SELECT max(rowid) FROM {table} NOT INDEXED").fetchone()[0] or 0)
    except sqlite3.Error:
        last = 0
        with suppress(sqlite3.Error):
            for row in old.execute(statement, (0, 2**62)):
                last = row[0]
        return last + _BEYOND


def _halves(old: sqlite3.Connection, statement: str, low: int, high: int) -> Iterator[tuple[Any, ...]]:
    try:
        yield from old.execute(statement, (low, high)).fetchall()
    except sqlite3.Error:
        if low < high:
            middle = (low + high) // 2
            yield from _halves(old, statement, low, middle)
            yield from _halves(old, statement, middle + 1, high)


def _unbroken(rows: list[tuple[Any, ...]]) -> list[Entry]:
    """Entries from the first one on, as long as each follows from the one before."""
    before, out = chain.START, list[Entry]()
    for row in rows:
        entry = Entry(*row)
        if entry != chain.following(before, entry.body):
            break
        out.append(before := entry)
    return out


def _broken(usable: int, rows: list[tuple[Any, ...]]) -> str:
    """Which entries of the record cannot be used."""
    last = max((int(row[0]) for row in rows), default=0)
    which = f"entries {usable + 1} to {max(last, usable + 1)} cannot be used" if rows else "all of it is gone"
    return f"{which}, and what it held is taken from the tables as they are"


def _add(new: sqlite3.Connection, name: str, rows: list[tuple[Any, ...]]) -> None:
    """Add rows of which none is there yet; what is there stays."""
    if rows:
        if name == "totals":
            new.execute("DELETE FROM totals")
        marks = ", ".join("?" * len(t.metadata.tables[name].columns))
        new.executemany(f"INSERT OR IGNORE INTO {name} VALUES ({marks})", rows)


def _from_record(new: sqlite3.Connection, rebuilt: str, found: dict[str, list[tuple[Any, ...]]], *, whole: bool) -> int:
    """Add what the record has and the tables have not; how many rows that were.

    A record that breaks off is older than the tables: its facts and sums count only where the tables have none.
    """
    more = 0
    with closing(sqlite3.connect(rebuilt)) as right:
        for name in (*(table.name for table in chain.RECORDED), "totals"):
            rows = right.execute(f"SELECT * FROM {name}").fetchall()
            if name == "totals" and not whole and found.get(name):
                continue
            had = _count(new, name) or len(found.get(name, []))
            _add(new, name, rows)
            more += max(_count(new, name) - had, 0) if name not in {"meta", "totals"} else 0
    return more


def _count(new: sqlite3.Connection, name: str) -> int:
    return int(new.execute(f"SELECT count(*) FROM {name}").fetchone()[0])


_NEEDED = {  # the step of a second look is minus its number
    "questions that were drawn": "SELECT count(*) FROM draws d WHERE selected AND NOT EXISTS "
    "(SELECT 1 FROM ratings r WHERE r.position = d.position AND (r.step = d.step OR (d.step < 0 AND r.step > 0)))",
    "payments of ratings": "SELECT count(*) FROM ratings r WHERE state <> 0 AND NOT EXISTS "
    "(SELECT 1 FROM ledger l WHERE l.position = r.position AND l.step = r.step AND l.kind = 'settle')",
    "answers that were paid for, whose questions are open again": "SELECT count(*) FROM ratings r WHERE state = 0 AND "
    "EXISTS (SELECT 1 FROM ledger l WHERE l.kind = 'settle' AND l.position = r.position AND l.step = r.step "
    "AND l.attempt > r.attempts)",
    "ends of rounds": "SELECT count(*) FROM rounds r WHERE items IS NULL AND EXISTS (SELECT 1 FROM rounds l WHERE "
    "l.number > r.number AND (l.items IS NOT NULL OR (json_valid(l.plan) AND l.plan ->> 'look' >= r.number)))",
    "ratings that were paid for": "SELECT count(*) FROM ledger l WHERE kind = 'settle' AND NOT EXISTS "
    "(SELECT 1 FROM ratings r WHERE r.position = l.position AND r.step = l.step)",
}


def _missing(new: sqlite3.Connection, lost: set[str], *, whole: bool) -> list[str]:
    """What is missing, by what the other tables say must be there."""
    out = []
    said = new.execute("SELECT value FROM meta WHERE key = 'items'").fetchone()
    items = _count(new, "items")
    if said is None:
        out.append("the settings of the campaign")
    elif int(said[0]) != items:
        out.append(f"{int(said[0]) - items:,} of {int(said[0]):,} items")
    for what, statement in _NEEDED.items():
        count = new.execute(statement).fetchone()[0]
        if count:
            out.append(f"{count:,} {what}")
    unsure = () if whole else sorted(lost - {"chain"})
    return out + [f"rows of {name}, perhaps: some of its pages cannot be read" for name in unsure]


_SUMS = """
UPDATE totals SET
    spent = (SELECT coalesce(sum(CASE WHEN kind IN ('undo', 'uncheck') THEN -amount ELSE amount END), 0) FROM ledger
        WHERE kind IN ('settle', 'undo', 'texts', 'check', 'uncheck')),
    reserved = (SELECT coalesce(sum(CASE kind WHEN 'unhold' THEN -amount ELSE amount END), 0) FROM ledger AS l
        WHERE kind IN ('hold', 'unhold') OR (kind = 'reserve' AND NOT EXISTS (SELECT 1 FROM ledger AS s
        WHERE s.kind = 'settle' AND s.position = l.position AND s.step = l.step AND s.attempt = l.attempt)))
"""


def _finish(path: str, out: Rescued) -> None:
    """Sums that fit the ledger, guards up, and a new record where the old one is not whole."""
    engine = sa.create_engine(sa.URL.create("sqlite", database=path))
    with engine.begin() as connection:
        if not out.whole:
            connection.exec_driver_sql(_SUMS)
            chain.begin_anew(connection)
        raise_guards(connection)
    engine.dispose()
