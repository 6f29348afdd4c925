"""Reads the log as it is, for checks and exports; never writes."""

from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa

from ratewise.store import ledger as sql
from ratewise.store import schema as t
from ratewise.store.queue import CHECK, TEXTS, UNCHECK, UNDO
from ratewise.store.store import Store


def item_keys(store: Store, first: int, end: int) -> Sequence[Any]:
    """(position, id, uniform) of items, in order."""
    columns = (t.items.c.position, t.items.c.id, t.items.c.uniform)
    return _between(store, t.items, columns, first, end, t.items.c.position)


def item_contents(store: Store, first: int, end: int) -> Sequence[Any]:
    """(position, id, content) of items, in order."""
    columns = (t.items.c.position, t.items.c.id, t.items.c.content)
    return _between(store, t.items, columns, first, end, t.items.c.position)


def rating_rows(store: Store, first: int, end: int) -> Sequence[Any]:
    """Questions with their outcomes."""
    return _between(store, t.ratings, tuple(t.ratings.c), first, end, t.ratings.c.position, t.ratings.c.step)


def draw_rows(store: Store, first: int, end: int) -> Sequence[Any]:
    """Rates and draws of items that were looked at for the first time."""
    rows = _between(store, t.draws, tuple(t.draws.c), first, end, t.draws.c.position, t.draws.c.step)
    return [row for row in rows if row.step > 0]


def again_rows(store: Store, first: int, end: int) -> Sequence[Any]:
    """Rates and draws of items that were passed over and drawn again; the step is minus the number of the look."""
    rows = _between(store, t.draws, tuple(t.draws.c), first, end, t.draws.c.position, t.draws.c.step)
    return [row for row in rows if row.step < 0]


def answer_rows(store: Store, first: int, end: int) -> Sequence[Any]:
    """What annotators said, by question, in the order they said it."""
    columns = tuple(t.answers.c)
    return _between(store, t.answers, columns, first, end, t.answers.c.position, t.answers.c.step, t.answers.c.id)


def ledger_rows(store: Store, first: int, end: int) -> Sequence[Any]:
    """Movements of money, in order."""
    return _between(store, t.ledger, tuple(t.ledger.c), first, end, t.ledger.c.id)


def unplaced_rows(store: Store) -> Sequence[Any]:
    """Payments that belong to no item: for embeddings of texts, and for hidden checks and repeats."""
    chosen = sa.select(t.ledger).where(t.ledger.c.kind.in_((TEXTS, CHECK, UNCHECK))).order_by(t.ledger.c.id)
    with store.reading() as connection:
        return connection.execute(chosen).all()


def hidden_rows(store: Store) -> Sequence[Any]:
    """Training items, checks and repeats that people were given, in order; those that were undone left out."""
    wanted = sa.and_(t.handed.c.what.is_not(None), t.handed.c.state != "undone")
    with store.reading() as connection:
        return connection.execute(sa.select(t.handed).where(wanted).order_by(t.handed.c.number)).all()


def settled_before(store: Store, position: int, looks: int | None = None) -> int:
    """What the texts and all items before this one have cost; with `looks`, up to so many second looks at them."""
    found = store.settled_before(position)
    if looks is None:
        return found
    paid = sa.select(*sql.exact_sum(t.ledger.c.amount))
    with store.reading() as connection:
        later = sa.and_(
            t.draws.c.position == t.ledger.c.position, t.draws.c.step < -looks, t.draws.c.selected,
            t.ledger.c.kind == "settle", t.ledger.c.step > 0,
        )  # fmt: skip
        seconds = sql.summed(connection.execute(paid.select_from(t.ledger.join(t.draws, later))).one())
        undone = sa.and_(
            t.draws.c.position == t.ledger.c.position, t.draws.c.step < -looks, t.draws.c.selected,
            t.ledger.c.kind == UNDO, t.ledger.c.step > 0,
        )  # fmt: skip
        undone_sum = sql.summed(connection.execute(paid.select_from(t.ledger.join(t.draws, undone))).one())
        return found - seconds + undone_sum


def ledger_sums(store: Store) -> dict[str, int]:
    """Sums of the whole ledger, by kind."""
    kinds = sa.select(t.ledger.c.kind, *sql.exact_sum(t.ledger.c.amount)).group_by(t.ledger.c.kind)
    with store.reading() as connection:
        return {str(kind): sql.summed(parts) for kind, *parts in connection.execute(kinds)}


def freed(store: Store) -> int:
    """Sum of the reservations that were settled."""
    settled = t.ledger.alias()
    both = sa.and_(
        settled.c.kind == "settle", settled.c.position == t.ledger.c.position, settled.c.step == t.ledger.c.step,
        settled.c.attempt == t.ledger.c.attempt,
    )  # fmt: skip
    chosen = sa.select(*sql.exact_sum(t.ledger.c.amount)).join(settled, both)
    with store.reading() as connection:
        return sql.summed(connection.execute(chosen.where(t.ledger.c.kind == "reserve")).one())


def overrun(store: Store) -> int:
    """What was paid above what had been reserved, for calls whose price was known only afterwards."""
    settled = t.ledger.alias()
    both = sa.and_(
        settled.c.kind == "settle", settled.c.position == t.ledger.c.position, settled.c.step == t.ledger.c.step,
        settled.c.attempt == t.ledger.c.attempt, settled.c.amount > t.ledger.c.amount,
    )  # fmt: skip
    chosen = sa.select(*sql.exact_sum(settled.c.amount - t.ledger.c.amount)).select_from(t.ledger)
    with store.reading() as connection:
        return sql.summed(connection.execute(chosen.join(settled, both).where(t.ledger.c.kind == "reserve")).one())


def pieces(items: int, size: int = 10_000) -> Iterator[tuple[int, int]]:
    """(first, end) of so many items at a time."""
    for first in range(0, items, size):
        yield first, min(first + size, items)


def _between(
    store: Store, table: sa.Table, columns: tuple[Any, ...], first: int, end: int, *order: Any
) -> Sequence[Any]:
    chosen = sa.select(*columns).where(table.c.position >= first, table.c.position < end).order_by(*order)
    with store.reading() as connection:
        return connection.execute(chosen).all()
