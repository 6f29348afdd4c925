"""The rows of a SQLite file, read from its pages without SQLite, which gives a table up where a page of it is damaged.

A page of a table says which row numbers it holds, and the page above it which ones it should hold. So a page that
stands where another belongs is seen, and rows are found although the pages above them, or the schema, are gone: their
columns tell the table. The format is on SQLite's page "Database File Format".
"""

import mmap
import re
import struct
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from ratewise.store import schema as t

_MAGIC = b"SQLite format 3\0"
_PAGE = 4096  # bytes, as SQLite makes pages
_ABOVE, _LEAF = 5, 13  # kinds of pages of a table
_WIDTHS = (0, 1, 2, 3, 4, 6, 8)  # bytes of a number by its code
_END = 2**63
_BROKEN = (IndexError, ValueError, struct.error)  # what a damaged page reads as

Row = tuple[Any, ...]
_Numbered = tuple[str, int, Row]  # (table, number of the row, cells); of other tables the name is ""


@dataclass(slots=True)
class StoredRows:
    """Rows by table, each once and in the order of their numbers, and the tables of which some cannot be read."""

    rows: dict[str, list[Row]]
    lost: set[str]
    foreign: bool  # whether the file has tables, none of them a campaign's
    log_lost: bool  # whether pages of the write-ahead log cannot be read


@dataclass(slots=True)
class _Place:
    """A page in a tree, and the row numbers that belong there: above `low`, up to `high`."""

    page: int
    low: int = -1
    high: int = _END


def read_pages(path: str) -> StoredRows:
    """All rows of a store's tables in the file and its write-ahead log."""
    data = _mapped(Path(path))
    log = Path(f"{path}-wal").read_bytes() if Path(f"{path}-wal").exists() else b""
    said = struct.unpack(">H", data[16:18].ljust(2, b"\0"))[0]
    held = _held(_Pages(data, log, said if said.bit_count() == 1 and said >= 512 else _PAGE))
    return held if any(held.rows.values()) or said == _PAGE else _held(_Pages(data, log, _PAGE))


def _held(pages: "_Pages") -> StoredRows:
    above = {n: places for n in range(1, pages.count + 1) if (places := _children(pages, n))}
    leaves = {n: _rows(pages, n) for n in range(1, pages.count + 1) if pages.kind(n) == _LEAF}
    below = {place.page for places in above.values() for place in places}
    roots = {str(row[1]): row[3] for rows, _ in leaves.values() for name, _, row in rows if name == _SCHEMA}
    trees = [list(_tree(above, _Place(n), set())) for n in sorted({*above, *leaves} - below - pages.free)]
    found: dict[str, dict[int, Row]] = {name: {} for name in t.metadata.tables}
    strays: list[_Numbered] = []
    holes: list[tuple[str, _Place]] = []
    for places in sorted(trees, key=len, reverse=True):  # pages that nothing leads to come last
        kinds = Counter(name for place in places for name, _, _ in leaves.get(place.page, _NOTHING)[0])
        table = max(kinds, key=lambda name: kinds[name], default="")
        for place in places:
            rows, whole = leaves.get(place.page, _NOTHING)
            right = [row for row in rows if row[0] == table and place.low < row[1] <= place.high]
            for _, number, row in right if table in found else ():
                found[table].setdefault(number, row)
            if len(right) < len(rows) and len({name for name, _, _ in rows}) == 1:  # a whole page of elsewhere
                strays += rows
            if not whole or len(right) < len(rows) or (len(places) > 1 and not rows):
                holes.append((table, place))
    for name, number, row in strays:
        found.get(name, {}).setdefault(number, row)
    lost = {name for name, place in holes if name in found and not _is_filled(found[name], place)}
    lost |= {name for name, rows in found.items() if not rows and leaves.get(roots.get(name, 0)) != ([], True)}
    return StoredRows(
        rows={name: [rows[number] for number in sorted(rows)] for name, rows in found.items() if rows or name in roots},
        lost=lost,
        foreign=bool(roots) and not roots.keys() & found.keys(),
        log_lost=pages.log_lost,
    )


def _is_filled(rows: dict[int, Row], place: _Place) -> bool:
    """Whether rows of pages elsewhere are all that belong in a place."""
    return place.high - place.low <= len(rows) and all(n in rows for n in range(place.low + 1, place.high + 1))


class _Pages:
    """The file's pages, counted from 1, as the write-ahead log has them; what is not there is zeros."""

    def __init__(self, data: mmap.mmap | bytes, log: bytes, size: int) -> None:
        self._bytes, self.size = data, size
        headed = data[:16] == _MAGIC
        self._gone = 100 if not headed and len(data) % size == size - 100 else 0  # the file's header is
        self._newer, self.log_lost = _logged(log, size)
        self.count = max(-(-(len(data) + self._gone) // size), *self._newer, 0)
        self.free = self._freed() if headed else set()

    def __getitem__(self, number: int) -> bytes:
        if number in self._newer:
            return self._newer[number]
        start = (number - 1) * self.size - self._gone
        found = self._bytes[max(start, 0) : max(start + self.size, 0)]
        return (bytes(max(-start, 0)) + found).ljust(self.size, b"\0")

    def kind(self, number: int) -> int:
        return self[number][_start(number)]

    def _freed(self) -> set[int]:
        """Pages that were given back, and still hold what they held."""
        out: set[int] = set()
        (trunk,) = struct.unpack(">I", self[1][32:36])
        while 0 < trunk <= self.count and trunk not in out:
            following, many = struct.unpack(">II", self[trunk][:8])
            out.add(trunk)
            out.update(n for (n,) in struct.iter_unpack(">I", self[trunk][8 : 8 + 4 * min(many, self.size // 4 - 2)]))
            trunk = following
        return out


def _mapped(path: Path) -> mmap.mmap | bytes:
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if path.stat().st_size else b""


def _logged(log: bytes, size: int) -> tuple[dict[int, bytes], bool]:
    """Pages as the commits in a write-ahead log left them, and whether some page of these commits cannot be read.

    Each page has a sum that follows from the sum before it, so those behind a damaged one can be told, too.
    """
    out, lost = dict[int, bytes](), set[int]()
    if len(log) < 32:
        return out, False
    order, salts, sums = ">" if log[3] & 1 else "<", log[16:24], log[24:32]
    pages, damaged = dict[int, bytes](), set[int]()  # of a transaction
    for at in range(32, len(log) - size - 23, size + 24):
        head, page = log[at : at + 24], log[at + 24 : at + 24 + size]
        number, commit = struct.unpack(">II", head[:8])
        right = head[8:16] == salts and _sums(page, _sums(head[:8], sums, order), order) == head[16:24]
        sums = head[16:24]
        if not right:  # or of an earlier round of the log: then nothing of this one follows
            damaged.add(number)
            continue
        pages[number] = page
        if commit:
            out |= pages
            lost = (lost | damaged) - pages.keys()
            pages, damaged = {}, set()
    return out, bool(lost)


def _sums(raw: bytes, before: bytes, order: str) -> bytes:
    one, other = struct.unpack(">II", before)
    for a, b in struct.iter_unpack(f"{order}II", raw):
        one = (one + a + other) & 0xFFFFFFFF
        other = (other + b + one) & 0xFFFFFFFF
    return struct.pack(">II", one, other)


def _start(number: int) -> int:
    """Where a page begins: the first has the file's header before it."""
    return 100 if number == 1 else 0


def _cells(page: bytes, start: int, width: int) -> Iterator[int]:
    """Where each cell of a page stands; `width` are the bytes before the list of places."""
    (count,) = struct.unpack_from(">H", page, start + 3)
    for (place,) in struct.iter_unpack(">H", page[start + width : start + width + 2 * count]):
        yield place


def _children(pages: _Pages, number: int) -> list[_Place]:
    """The pages below a page, with the row numbers that belong into each."""
    page, start, out = pages[number], _start(number), list[_Place]()
    if page[start] != _ABOVE:
        return out
    low = -1
    with suppress(*_BROKEN):
        for at in _cells(page, start, 12):
            high = _number(page, at + 4)[0]
            out.append(_Place(struct.unpack_from(">I", page, at)[0], low, high))
            low = high
    return [*out, _Place(struct.unpack_from(">I", page, start + 8)[0], low)]


def _tree(above: dict[int, list[_Place]], place: _Place, seen: set[int]) -> Iterator[_Place]:
    """The places of leaves below a page; each page of the tree once."""
    if place.page in seen:
        yield _Place(0, place.low, place.high)
    elif place.page in above:
        seen.add(place.page)
        for child in above[place.page]:
            yield from _tree(above, _Place(child.page, max(child.low, place.low), min(child.high, place.high)), seen)
    else:
        seen.add(place.page)
        yield place


_NOTHING: tuple[list[_Numbered], bool] = ([], False)


def _rows(pages: _Pages, number: int) -> tuple[list[_Numbered], bool]:
    """The rows of a page, and whether these are all."""
    page, start, out, whole = pages[number], _start(number), list[_Numbered](), True
    for at in _cells(page, start, 8):
        try:
            size, begin = _number(page, at)
            row, begin = _number(page, begin)
            cells = _record(_payload(pages, page, size, begin))
            fits = _TABLES[len(cells)]
            out.append(next((name, row, made) for name, fit in fits if (made := fit(row, cells)) is not None))
        except (*_BROKEN, KeyError, StopIteration):
            whole = False
    rising = all(one[1] < next_[1] for one, next_ in pairwise(out))
    return out, whole and rising


def _number(raw: bytes, at: int) -> tuple[int, int]:
    """A number of one to nine bytes, and where it ends."""
    value = 0
    for i in range(8):
        value = value << 7 | raw[at + i] & 0x7F
        if raw[at + i] < 0x80:
            return value, at + i + 1
    value = value << 8 | raw[at + 8]
    return value - 2**64 * (value >= _END), at + 9


def _payload(pages: _Pages, page: bytes, size: int, at: int) -> bytes:
    """All bytes of a row: those that its page has no room for are on pages that follow one another."""
    room = pages.size
    if not 0 <= size <= pages.count * room:
        raise ValueError(size)
    most, least = room - 35, (room - 12) * 32 // 255 - 23
    here = size if size <= most else least + (size - least) % (room - 4)
    here = least if here > most else here
    parts, left = [page[at : at + here]], size - here
    if left:
        (following,) = struct.unpack_from(">I", page, at + here)
        while left > 0:
            if not 0 < following <= pages.count:
                raise ValueError(following)
            more = pages[following]
            parts.append(more[4 : min(room, 4 + left)])
            left -= room - 4
            (following,) = struct.unpack_from(">I", more)
    found = b"".join(parts)
    if len(found) != size:
        raise ValueError(size)
    return found


def _record(raw: bytes) -> list[Any]:
    """The cells of a row."""
    at_value, at = _number(raw, 0)
    end, out = at_value, list[Any]()
    while at < end:
        code, at = _number(raw, at)
        width = _WIDTHS[code] if code < 7 else 8 if code == 7 else 0 if code < 10 else (code - 12) // 2
        part = raw[at_value : at_value + width]
        if code in (10, 11) or code < 0 or len(part) != width:
            raise ValueError(code)
        at_value += width
        if code >= 12:
            out.append(part.decode("utf-8", "replace") if code % 2 else part)
        elif code == 7:
            out.append(struct.unpack(">d", part)[0])
        else:
            out.append(None if code == 0 else code - 8 if code >= 8 else int.from_bytes(part, "big", signed=True))
    if at != end:
        raise ValueError(at)
    return out


# Which table a row is of: all differ in the number of their columns or in what these hold

_SCHEMA = "sqlite_schema"
_Fit = Callable[[int, list[Any]], Row | None]


def _fit(table: sa.Table) -> _Fit:
    """A function of a row's number and cells: the row as SQLite gives it; None where it is of no such table."""
    kinds = [(_KINDS[type(column.type)], column.nullable) for column in table.columns]
    keys = list(table.primary_key)
    numbered = len(keys) == 1 and isinstance(keys[0].type, sa.Integer)  # such a key is the number of the row
    at = list(table.columns).index(keys[0])

    def fit(number: int, cells: list[Any]) -> Row | None:
        if numbered and cells[at] is not None:
            return None
        row = [number if numbered and i == at else cell for i, cell in enumerate(cells)]
        for i, (kind, nullable) in enumerate(kinds):
            if kind is float and type(row[i]) is int:  # as SQLite stores those without a fraction
                row[i] = float(row[i])
            if type(row[i]) is not kind and not (nullable and row[i] is None):
                return None
        special = _SPECIAL.get(table.name)
        return None if special and not special(row) else tuple(row)

    return fit


def _fit_schema(_: int, cells: list[Any]) -> Row | None:
    fits = [type(cell) for cell in cells[:4]] == [str, str, str, int] and cells[0] == "table"
    return tuple(cells) if fits else None


_KINDS: dict[type, type] = {
    sa.Integer: int, sa.SmallInteger: int, sa.BigInteger: int, sa.Boolean: int, sa.Float: float, sa.Text: str,
    sa.LargeBinary: bytes,
}  # fmt: skip
_SPECIAL: dict[str, Callable[[list[Any]], bool]] = {  # of tables whose columns are alike
    "chain": lambda row: re.fullmatch("[0-9a-f]{64}", row[2]) is not None,
    "events": lambda row: re.match(r"\d{4}-\d\d-\d\dT", row[1]) is not None,
    "totals": lambda row: row[0] == 1,
}
_TABLES: dict[int, list[tuple[str, _Fit]]] = {5: [(_SCHEMA, _fit_schema)]}  # by their number of columns
for _table in t.metadata.sorted_tables:
    _TABLES.setdefault(len(_table.columns), []).append((_table.name, _fit(_table)))
