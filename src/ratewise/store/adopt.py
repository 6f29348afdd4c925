"""A store that is older than the record: all that it holds becomes the first entry, said to be from before."""

from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa

from ratewise.store import chain
from ratewise.store import schema as t
from ratewise.store.queue import now

RECORDED = (t.meta, t.rounds, t.batches, t.draws, t.ratings, t.ledger, t.events, t.answers, t.refits)
_NOT_RECORDED = {"ratings": ("worker",), "ledger": ("id",), "events": ("id",), "answers": ("id",)}
_AT_ONCE = 10_000  # rows in one change


def recorded_columns(table: sa.Table) -> list[sa.Column[Any]]:
    """All but who has a question in hand, and numbers that the database gives."""
    return [column for column in table.columns if column.name not in _NOT_RECORDED.get(table.name, ())]


def adopt(connection: sa.Connection, version: int) -> None:
    """Begin the record of a store of an older version; does nothing where it has begun."""
    spec = connection.scalar(sa.select(t.meta.c.value).where(t.meta.c.key == "spec"))
    if spec is None or chain.last(connection).number:
        return
    rounds = int(connection.scalar(sa.select(sa.func.count()).select_from(t.rounds)) or 0)
    chain.append(connection, [["before", version, rounds, now()], *everything(connection)])


def everything(connection: sa.Connection) -> Iterator[chain.Change]:
    """The changes that lead from nothing to the tables as they are."""
    yield ["items", chain.ITEMS_EACH, chain.item_digests(connection)]
    for table in RECORDED:
        columns = recorded_columns(table)
        chosen = sa.select(*columns).order_by(*table.primary_key.columns)
        if table is t.meta:
            chosen = chosen.where(t.meta.c.key.not_in(chain.PASSING))
        names = [column.name for column in columns]
        for part in connection.execute(chosen).partitions(_AT_ONCE):
            yield ["+", table.name, names, [list(row) for row in part]]
    reserved, spent, cap = connection.execute(sa.select(t.totals.c.reserved, t.totals.c.spent, t.totals.c.cap)).one()
    yield ["moved", reserved, spent]
    if cap is not None:
        yield ["=", t.totals.name, ["only"], ["cap"], [[cap, 1]]]
