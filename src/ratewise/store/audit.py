"""Reads the log as it is, for checks and exports; never writes."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import sqlalchemy as sa

from ratewise.store import queries as q
from ratewise.store import schema as t
from ratewise.store.queue import CHECK, TEXTS, UNCHECK
from ratewise.store.store import Store

Rows = Sequence[Any]
RowsBetween = Callable[[Store, int, int], Rows]  # of items from the first to before the second


def _rows(*columns: sa.Column[Any], where: sa.ColumnElement[bool] | None = None) -> RowsBetween:
    """Reads these columns of items from one to before another, in the order of their keys."""
    table: Any = columns[0].table
    chosen = sa.select(*columns) if where is None else sa.select(*columns).where(where)
    ordered = chosen.order_by(*((table.c.position, table.c.step) if table is t.answers else ()), *table.primary_key)

    def read(store: Store, first: int, end: int) -> Rows:
        return _all(store, ordered.where(table.c.position >= first, table.c.position < end))

    return read


item_keys = _rows(t.items.c.position, t.items.c.id, t.items.c.uniform)
item_contents = _rows(t.items.c.position, t.items.c.id, t.items.c.content)
rating_rows = _rows(*t.ratings.c)  # questions with their outcomes
draw_rows = _rows(*t.draws.c, where=t.draws.c.step > 0)  # of items that were looked at for the first time
again_rows = _rows(*t.draws.c, where=t.draws.c.step < 0)  # passed over, then drawn again; the step is −look
answer_rows = _rows(*t.answers.c)  # what annotators said, by question, in the order they said it
ledger_rows = _rows(*t.ledger.c)  # movements of money, in order


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


def walk(rows: RowsBetween, store: Store, items: int) -> Iterator[Any]:
    """The rows of so many items by one of these functions, read in pieces."""
    for first, end in pieces(items):
        yield from rows(store, first, end)


def _all(store: Store, chosen: sa.Select[Any]) -> Rows:
    with store.reading() as connection:
        return connection.execute(chosen).all()


def asked(store: Store, step: int) -> dict[str, int]:
    """The place of every item that was asked about in a step, by its id, whether or not it is settled."""
    return {str(item): position for item, position in store.read(q.ASKED.all, step=step)}


def is_item(store: Store, name: str) -> bool:
    """Whether the pool has an item of this id."""
    return store.read(q.IS_ITEM.first, id=name) is not None


def said_by(store: Store, step: int) -> dict[tuple[int, str], float | None]:
    """What each person said to the questions of a step, by position and name."""
    return {(position, person): value for position, person, value in store.read(q.SAID_BY.all, step=step)}
