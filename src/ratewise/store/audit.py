"""Reads the log as it is, for checks and exports; never writes."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import sqlalchemy as sa

from ratewise.store import queries as q
from ratewise.store import schema as t
from ratewise.store.queue import CHECK, TEXTS, UNCHECK
from ratewise.store.store import Store

Rows = Sequence[Any]


def item_keys(store: Store, first: int, end: int) -> Rows:
    """(position, id, uniform) of items, in order."""
    return _between(store, first, end, t.items.c.position, t.items.c.id, t.items.c.uniform)


def item_contents(store: Store, first: int, end: int) -> Rows:
    """(position, id, content) of items, in order."""
    return _between(store, first, end, t.items.c.position, t.items.c.id, t.items.c.content)


def rating_rows(store: Store, first: int, end: int) -> Rows:
    """Questions with their outcomes."""
    return _between(store, first, end, *t.ratings.c)


def draw_rows(store: Store, first: int, end: int) -> Rows:
    """Rates and draws of items that were looked at for the first time."""
    return [row for row in _between(store, first, end, *t.draws.c) if row.step > 0]


def again_rows(store: Store, first: int, end: int) -> Rows:
    """Rates and draws of items that were passed over and drawn again; the step is minus the number of the look."""
    return [row for row in _between(store, first, end, *t.draws.c) if row.step < 0]


def answer_rows(store: Store, first: int, end: int) -> Rows:
    """What annotators said, by question, in the order they said it."""
    return sorted(_between(store, first, end, *t.answers.c), key=lambda row: (row.position, row.step, row.id))


def ledger_rows(store: Store, first: int, end: int) -> Rows:
    """Movements of money, in order."""
    return _between(store, first, end, *t.ledger.c)


def unplaced_rows(store: Store) -> Rows:
    """Payments that belong to no item: for embeddings of texts, and for hidden checks and repeats."""
    return _all(store, sa.select(t.ledger).where(t.ledger.c.kind.in_((TEXTS, CHECK, UNCHECK))).order_by(t.ledger.c.id))


def hidden_rows(store: Store) -> Rows:
    """Training items, checks and repeats that people were given, in order; those that were undone left out."""
    wanted = sa.and_(t.handed.c.what.is_not(None), t.handed.c.state != "undone")
    return _all(store, sa.select(t.handed).where(wanted).order_by(t.handed.c.number))


def pieces(items: int, size: int = 10_000) -> Iterator[tuple[int, int]]:
    """(first, end) of so many items at a time."""
    for first in range(0, items, size):
        yield first, min(first + size, items)


def walk(rows: Callable[[Store, int, int], Rows], store: Store, items: int) -> Iterator[Any]:
    """The rows of so many items by one of these functions, read in pieces."""
    for first, end in pieces(items):
        yield from rows(store, first, end)


def _between(store: Store, first: int, end: int, *columns: sa.Column[Any]) -> Rows:
    table: Any = columns[0].table
    chosen = sa.select(*columns).where(table.c.position >= first, table.c.position < end)
    return _all(store, chosen.order_by(*table.primary_key.columns))


def _all(store: Store, chosen: sa.Select[Any]) -> Rows:
    with store.reading() as connection:
        return connection.execute(chosen).all()


def asked(store: Store, step: int) -> dict[str, int]:
    """The place of every item that was asked about in a step, by its id, whether or not it is settled."""
    with store.reading() as connection:
        return {str(item): position for item, position in q.ASKED.all(connection, step=step)}


def is_item(store: Store, name: str) -> bool:
    """Whether the pool has an item of this id."""
    with store.reading() as connection:
        return q.IS_ITEM.first(connection, id=name) is not None


def said_by(store: Store, step: int) -> dict[tuple[int, str], float | None]:
    """What each person said to the questions of a step, by position and name."""
    with store.reading() as connection:
        return {(position, person): value for position, person, value in q.SAID_BY.all(connection, step=step)}
