"""Two stores side by side: each row and cell in which one differs from what the record says."""

import math
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa

from ratewise.store import schema as t
from ratewise.store.adopt import RECORDED, recorded_columns
from ratewise.store.chain import PASSING

_KEYED = {  # what names a row; rows of the others are told by their place in the order they were written
    "meta": ("key",), "rounds": ("number",), "batches": ("first",), "draws": ("position", "step"),
    "ratings": ("position", "step"), "totals": ("only",), "refits": ("round", "first"),
}  # fmt: skip
_LONGEST = 60  # characters of a value that is shown
_AT_ONCE = 2000
_MOST = 200  # differences of one table: the rest is counted by nobody


def differences(found: sa.Connection, right: sa.Connection) -> Iterator[str]:
    """What `found` has otherwise than `right`, a sentence each."""
    for table in (*RECORDED, t.totals):
        for count, sentence in enumerate(_table(table, found, right)):
            if count == _MOST:
                yield f"{table.name}: and more"
                break
            yield sentence


def _table(table: sa.Table, found: sa.Connection, right: sa.Connection) -> Iterator[str]:
    columns = list(table.columns) if table is t.totals else recorded_columns(table)
    names = [column.name for column in columns]
    if table.name not in _KEYED:
        yield from _in_order(table.name, names, _rows(table, columns, found), _rows(table, columns, right))
        return
    keys = [names.index(name) for name in _KEYED[table.name]]
    yield from _by_key(table.name, names, keys, _rows(table, columns, found), _rows(table, columns, right))


def _rows(table: sa.Table, columns: list[sa.Column[Any]], connection: sa.Connection) -> Iterator[tuple[Any, ...]]:
    """The rows as they are stored: a truth value that is 5 is not made 1."""
    plain = [sa.type_coerce(c, sa.Integer) if isinstance(c.type, sa.Boolean) else c for c in columns]
    order = [c.collate("C") if isinstance(c.type, sa.Text) and connection.dialect.name == "postgresql" else c
             for c in table.primary_key.columns]  # fmt: skip
    chosen = sa.select(*plain).order_by(*order)
    if table is t.meta:
        chosen = chosen.where(t.meta.c.key.not_in(PASSING))
    with connection.execute(chosen, execution_options={"yield_per": _AT_ONCE}) as found:
        for row in found:
            yield tuple(row)


def _in_order(
    table: str, names: list[str], found: Iterator[tuple[Any, ...]], right: Iterator[tuple[Any, ...]]
) -> Iterator[str]:
    """Differences up to the first row that differs: after a missing or extra row, all would."""
    number = 0
    while True:
        number += 1
        one, other = next(found, None), next(right, None)
        if one == other:
            if one is None:
                return
            continue
        where = f"{table}, row {number}"
        if one is None:
            yield f"{where} and what follows it is missing; the record has it"
        elif other is None:
            yield f"{where} is not in the record"
        else:
            yield from _cells(where, names, one, other)
        return


def _by_key(
    table: str, names: list[str], keys: list[int],
    found: Iterator[tuple[Any, ...]], right: Iterator[tuple[Any, ...]],
) -> Iterator[str]:  # fmt: skip
    """Differences of both, walked along in the order of their keys."""
    one, other = next(found, None), next(right, None)
    while one is not None or other is not None:
        a = None if one is None else tuple(one[k] for k in keys)
        b = None if other is None else tuple(other[k] for k in keys)
        if a == b:
            assert one is not None
            assert other is not None
            if one != other:
                yield from _cells(_where(table, names, keys, one), names, one, other)
            one, other = next(found, None), next(right, None)
        elif b is None or (a is not None and _before(a, b)):
            assert one is not None
            yield f"{_where(table, names, keys, one)} is not in the record"
            one = next(found, None)
        else:
            assert other is not None
            yield f"{_where(table, names, keys, other)} is missing; the record has it"
            other = next(right, None)


def _before(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    """Whether one key sorts before another, as in SQLite: numbers before text."""
    return [(isinstance(x, str), x) for x in a] < [(isinstance(x, str), x) for x in b]


def _cells(where: str, names: list[str], one: tuple[Any, ...], other: tuple[Any, ...]) -> Iterator[str]:
    for name, a, b in zip(names, one, other, strict=True):
        if a != b:
            at = _parting(a, b)
            yield f"{where}: {name} is {_shown(a, at)}; the record has {_shown(b, at)}"


def _where(table: str, names: list[str], keys: list[int], row: tuple[Any, ...]) -> str:
    return f"{table}, " + ", ".join(f"{names[k]} {_shown(row[k])}" for k in keys)


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
