"""What can be saved of a damaged SQLite store: rows that can still be read, and what the record has of the others."""

import os
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, dataclass, field
from typing import Any

import sqlalchemy as sa

from ratewise.errors import StoreError
from ratewise.store import chain
from ratewise.store import schema as t
from ratewise.store.archive import copied
from ratewise.store.chain import BOOKKEEPING, Entry
from ratewise.store.pages import StoredRows, read_pages
from ratewise.store.replay import new_store, rebuild
from ratewise.store.schema import raise_guards


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
        held = _read(copied(source, folder), os.path.basename(source))
        found = held.rows
        entries = _unbroken(found.get("chain", []))
        rebuilt = os.path.join(folder, "rebuilt.sqlite") if entries else None
        try:
            rebuild(rebuilt or ":memory:", entries)
        except ValueError:  # its digests fit, and yet it says nothing that can be done: somebody wrote it so
            rebuilt = None
        out.broken = _broken(entries if rebuilt else [], held, rebuilt)
        out.whole = not out.broken
        with new_store(path) as new:
            for name in ("chain", "workers") if out.whole else found.keys() - {"items"}:
                _add(new, name, found.get(name, []))
            if rebuilt is not None:
                out.from_record = _from_record(new, rebuilt, found, whole=out.whole)
            facts = dict(new.execute("SELECT key, value FROM meta WHERE key = 'digest' OR value NOT GLOB '*[^0-9]*'"))
            items, wrong = _items(found.get("items", []), entries, facts, fill)
            _add(new, "items", items)
            out.saved = {name: _count(new, name) for name in t.metadata.tables}
            out.missing = _missing(new, held, whole=out.whole) + wrong
    _finish(path, out)
    return out


def _read(copy: str, shown: str) -> StoredRows:
    """All rows that can be read."""
    held = read_pages(copy)
    if held.foreign:
        raise StoreError(f"{shown} has no tables of a campaign; name its store")
    if not any(held.rows.values()):
        raise StoreError(f"nothing can be read of {shown}; take a backup, or make a store of an exported record")
    return held


def _items(
    rows: list[tuple[Any, ...]], entries: list[Entry], facts: dict[str, str], fill: Fill | None
) -> tuple[list[tuple[Any, ...]], list[str]]:
    """Items as they were loaded, where need be from elsewhere, and which are others by the record's digests."""
    number, each = int(facts.get("items", 2**31)), chain.ITEMS_EACH
    held = {row[0]: row for row in rows if row[0] < number}
    recorded = (change for entry in entries[:1] for change in entry.changes)
    digests: list[Any] = next((parts[1] for kind, *parts in recorded if kind == "items"), [])

    def positions(group: int) -> range:
        return range(group * each, min((group + 1) * each, number))

    def fits(group: int, rows: dict[int, tuple[Any, ...]]) -> bool:
        return list(chain.digests_of(rows[i] for i in positions(group) if i in rows)) == digests[group : group + 1]

    wrong = [group for group in range(len(digests)) if not fits(group, held)]
    if fill is not None and (wrong or len(held) < int(facts.get("items", 0))):
        other = {row[0]: row for row in fill(facts.get("digest"))}
        held = {**other, **held} if not digests else held
        held |= {i: row for i, row in other.items() if i // each in wrong and fits(i // each, other)}
        wrong = [group for group in wrong if not fits(group, held)]
    return list(held.values()), [
        f"items {positions(group)[0]:,} to {positions(group)[-1]:,} as they were loaded: some of their rows are others"
        for group in wrong
        if all(i in held for i in positions(group))
    ]


def _unbroken(rows: list[tuple[Any, ...]]) -> list[Entry]:
    """Entries from the first one on, as long as each follows from the one before."""
    before, out = chain.START, list[Entry]()
    for row in rows:
        entry = Entry(*row)
        if entry != chain.following(before, entry.body):
            break
        out.append(before := entry)
    return out


_GROWING = ("rounds", "batches", "draws", "ratings", "ledger", "events", "handed", "refits")  # no row is taken out


def _broken(usable: list[Entry], held: StoredRows, rebuilt: str | None) -> str:
    """Which entries of the record cannot be used; "" where all can be, and the tables do not go on behind them."""
    rows, what = held.rows.get("chain", []), "what it held is taken from the tables as they are"
    if not rows:
        return f"all of it is gone, and {what}"
    last = max(int(row[0]) for row in rows)
    if rebuilt is None or len(usable) < len(rows):
        return f"entries {len(usable) + 1} to {max(last, len(usable) + 1)} cannot be used, and {what}"
    with closing(sqlite3.connect(rebuilt)) as right:
        behind = [name for name in _GROWING if len(held.rows.get(name, [])) > _count(right, name)]
    if behind or "chain" in held.lost:
        return f"entries after {last} cannot be read, and {what}"
    return ""


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


def _missing(new: sqlite3.Connection, held: StoredRows, *, whole: bool) -> list[str]:
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
    if held.log_lost:
        out.append("what was written last, perhaps: pages of the write-ahead log cannot be read")
    unsure = () if whole else sorted(held.lost - {"chain", "items", *BOOKKEEPING})
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
