"""The record, checked: the chain holds, a head that somebody kept is in it, and the tables are what it says."""

import os
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field

import sqlalchemy as sa

from ratewise.errors import InputError
from ratewise.store import chain
from ratewise.store.compare import differences
from ratewise.store.log import Log
from ratewise.store.rebuild import rebuild

_HEAD = re.compile(r"([1-9]\d{0,17})-([0-9a-f]{40,64})")


@dataclass(slots=True)
class Checked:
    """What was found; `before` are rounds that are older than the record, begun at `since`."""

    entries: int = 0
    head: str = chain.START.head
    before: int = 0
    since: str | None = None
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


def check_record(store: Log, head: str | None = None) -> Checked:
    """Read the whole record once; what cannot be read is told, too."""
    wanted, out = None if head is None else read_head(head), Checked()
    with store.reading() as connection, tempfile.TemporaryDirectory(prefix="ratewise-") as folder:
        path = os.path.join(folder, "record.sqlite")
        digests: list[tuple[int, list[str]]] = []
        try:
            rebuild(path, _walked(connection, wanted, out, digests))
        except ValueError as error:
            out.problems.append(str(error))
        _tell_head(wanted, out)
        if out.entries:
            _items(connection, digests, out)
            out.problems += _tables(connection, path)
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
                out.before, out.since = int(parts[1]), str(parts[2])
        before = entry
        out.entries, out.head = entry.number, entry.head
    if before is chain.START:
        out.problems.append("the store has no record: every entry of it was taken out")


def _tell_head(wanted: tuple[int, str] | None, out: Checked) -> None:
    if wanted is None or out.anchored is not None:
        return
    if wanted[0] > out.entries:
        out.problems.append(
            f"the head is of entry {wanted[0]}, and the record ends with entry {out.entries}: this is an older copy, "
            "or its end was taken out"
        )
    else:
        out.problems.append(
            f"entry {wanted[0]} of the record is not the one of the head: the store was changed since, or it is another"
        )


def _items(connection: sa.Connection, recorded: list[tuple[int, list[str]]], out: Checked) -> None:
    """Check that the rows are those that were loaded."""
    if len(recorded) != 1 or recorded[0][0] != chain.ITEMS_EACH:
        out.problems.append("the record does not say once which items were loaded")
        return
    digests, right = chain.item_digests(connection), recorded[0][1]
    for i in range(max(len(digests), len(right))):
        if digests[i : i + 1] != right[i : i + 1]:
            first = i * chain.ITEMS_EACH
            out.problems.append(
                f"items {first} to {first + chain.ITEMS_EACH - 1}: their rows are not those that were loaded"
            )


def _tables(connection: sa.Connection, path: str) -> list[str]:
    engine = sa.create_engine(sa.URL.create("sqlite", database=path))
    try:
        with engine.connect() as right:
            return list(differences(connection, right))
    finally:
        engine.dispose()
