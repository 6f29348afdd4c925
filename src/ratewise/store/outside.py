"""Questions that leave the store for another labelling tool, and what is known of those that were ever asked."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from ratewise.store import schema as t
from ratewise.store.desk import Desk
from ratewise.store.queue import OPEN
from ratewise.store.store import Store


@dataclass(frozen=True, slots=True)
class AskedOnce:
    """A question that was asked at some time, by where its item stands and its id."""

    position: int
    id: str
    is_open: bool
    value: float | None


def asked(store: Store, step: int) -> list[AskedOnce]:
    """Every question of a step, whether or not it is settled."""
    same = t.items.c.position == t.ratings.c.position
    columns = (t.ratings.c.position, t.items.c.id, t.ratings.c.state, t.ratings.c.value)
    chosen = sa.select(*columns).join(t.items, same).where(t.ratings.c.step == step).order_by(t.ratings.c.position)
    with store.reading() as connection:
        rows = connection.execute(chosen).all()
    return [AskedOnce(row.position, str(row.id), row.state == OPEN, row.value) for row in rows]


def is_item(store: Store, name: str) -> bool:
    """Whether the pool has an item of this id."""
    with store.reading() as connection:
        return connection.scalar(sa.select(t.items.c.position).where(t.items.c.id == name)) is not None


def said_by(store: Store, step: int) -> dict[tuple[int, str], float | None]:
    """What each person said to the questions of a step, by position and name."""
    chosen = sa.select(t.answers.c.position, t.answers.c.annotator, t.answers.c.value).where(t.answers.c.step == step)
    with store.reading() as connection:
        return {(row.position, row.annotator): row.value for row in connection.execute(chosen)}


def taken(desk: Desk, step: int) -> dict[int, int]:
    """How many answers and people in hand each question of a step has now; those with none are left out."""
    live = sa.and_(t.leases.c.step == step, t.leases.c.until > desk.clock())
    out: dict[int, int] = {}
    with desk.store.reading() as connection:
        for table, which in ((t.answers, t.answers.c.step == step), (t.leases, live)):
            counts: Any = sa.select(table.c.position, sa.func.count()).where(which).group_by(table.c.position)
            for position, count in connection.execute(counts):
                out[position] = out.get(position, 0) + count
    return out


def hold(desk: Desk, step: int, positions: Sequence[int], holder: str, *, seconds: float, votes: int) -> None:
    """Keep these questions from the page for a time: as many leases each as it takes votes."""
    until = desk.clock() + seconds
    names = [holder if votes == 1 else f"{holder} ({n})" for n in range(1, votes + 1)]
    rows = [{"position": p, "step": step, "holder": name, "until": until} for p in positions for name in names]
    with desk.store.writing() as connection:
        for name in names:
            connection.execute(t.leases.delete().where(t.leases.c.step == step, t.leases.c.holder == name))
        if rows:
            connection.execute(t.leases.insert(), rows)
