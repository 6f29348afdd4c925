"""Small pieces of SQL that the log is made of."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from ratewise.errors import StoreError
from ratewise.queue import chain, reading
from ratewise.queue import schema as t
from ratewise.queue.records import ANSWERED, MISSING, OPEN, Claim, Floats, NewDraws, Outcome, now
from ratewise.queue.settlement import Entry, settlement

KNOWN = "was there already"
_AT_ONCE = 10_000  # values in one IN (…)
_QUESTION = ("position", "step")

open_ones = t.ratings.c.state == OPEN


def meta(key: str) -> sa.Select[Any]:
    """One fact."""
    return sa.select(t.meta.c.value).where(t.meta.c.key == key)


def set_meta(connection: sa.Connection, key: str, value: str | None) -> None:
    """Change a fact; `None` forgets it. Processes that start together may do so at the same moment."""
    if connection.scalar(meta(key)) == value:
        return
    if key not in chain.PASSING:
        chain.removed(connection, t.meta, ["key"], [[key]])
        chain.add(connection, ["+", "meta", ["key", "value"], [] if value is None else [[key, value]]])
    if value is None:
        connection.execute(t.meta.delete().where(t.meta.c.key == key))
        return
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    values = insert(t.meta).values(key=key, value=value)
    connection.execute(values.on_conflict_do_update(index_elements=["key"], set_={"value": values.excluded.value}))


def one(claim: Claim) -> sa.Update:
    """A question that is still open."""
    return t.ratings.update().where(t.ratings.c.position == claim.position, t.ratings.c.step == claim.step, open_ones)


def given_up(claim: Claim) -> sa.Update:
    """A question without an answer in the open round; a weak one only where its item is not drawn yet."""
    position, step = claim.position, claim.step
    first = sa.select(t.rounds.c.first).where(t.rounds.c["items"].is_(None)).scalar_subquery()
    last = sa.select(sa.func.min(t.draws.c.step)).scalar_subquery()  # of second looks, the latest
    again = sa.exists().where(
        t.draws.c.position == position, t.draws.c.step == last, t.draws.c.step < 0, t.draws.c.selected
    )
    drawn = sa.select(t.batches.c.drawn).where(t.batches.c.first <= position, t.batches.c.end > position)
    return t.ratings.update().where(
        t.ratings.c.position == position, t.ratings.c.step == step, t.ratings.c.state == MISSING,
        first.is_not(None), sa.or_(t.ratings.c.position >= first, again),
        sa.true() if step else ~drawn.scalar_subquery(),
    )  # fmt: skip


def free(workers: Sequence[int]) -> sa.Update:
    """Questions in the hands of these workers, open to anyone."""
    return t.ratings.update().where(open_ones, t.ratings.c.worker.in_(workers)).values(worker=None)


def within(table: sa.Table, positions: Sequence[int]) -> sa.ColumnElement[bool]:
    """In a few IN (…) of what databases take at once."""
    parts = [positions[i : i + _AT_ONCE] for i in range(0, len(positions), _AT_ONCE)]
    return sa.or_(*(table.c.position.in_(part) for part in parts))


def claims(connection: sa.Connection, which: sa.ColumnElement[bool]) -> list[Claim]:
    """Open questions with their items."""
    chosen = (
        sa.select(
            t.ratings.c.position,
            t.ratings.c.step,
            t.ratings.c.attempts,
            t.items.c.id,
            t.items.c.content,
            t.items.c.prices,
        )
        .join(t.items, t.items.c.position == t.ratings.c.position)
        .where(open_ones, which)
        .order_by(t.ratings.c.position, t.ratings.c.step)
    )
    return [
        Claim(
            r.position,
            r.step,
            r.attempts + 1,
            r.id,
            r.content,
            None if r.prices is None else tuple(json.loads(r.prices)),
        )
        for r in connection.execute(chosen)
    ]


def ask(connection: sa.Connection, questions: Iterable[tuple[int, int, int]]) -> None:
    """(position, step, price): open a question and reserve its price."""
    asked = list(questions)
    if asked:
        rows = [{"position": p, "step": s, "state": OPEN, "attempts": 0} for p, s, _ in asked]
        chain.insert(connection, t.ratings, rows)
        write_ledger(connection, [("reserve", p, s, 1, amount) for p, s, amount in asked])


def write_ledger(connection: sa.Connection, rows: Sequence[Entry]) -> None:
    """(kind, position, step, attempt, amount) each."""
    at = now()
    written = [
        {"kind": kind, "position": p, "step": s, "attempt": a, "amount": amount, "at": at}
        for kind, p, s, a, amount in rows
    ]
    if written:
        chain.insert(connection, t.ledger, written)


def totals(connection: sa.Connection) -> tuple[int, int]:
    """(reserved, spent); where their row was taken out, nothing: `verify` tells that it is missing."""
    row = connection.execute(reading.TOTALS).first()
    return (0, 0) if row is None else (int(row.reserved), int(row.spent))


def move(connection: sa.Connection, reserve: int, spend: int, budget: int | None) -> bool:
    """Change the sums; with a budget, only if they stay within it. The row's lock makes others wait their turn."""
    change = t.totals.update().values(reserved=t.totals.c.reserved + reserve, spent=t.totals.c.spent + spend)
    if budget is not None:
        change = change.where(t.totals.c.reserved + t.totals.c.spent + reserve + spend <= budget)
    if connection.execute(change).rowcount != 1:
        return False
    chain.has_turn(connection)
    chain.add(connection, ["moved", reserve, spend])
    return True


def bound(connection: sa.Connection) -> int:
    """What is spent or reserved; others wait until this transaction ends."""
    row = connection.execute(sa.select(t.totals.c.reserved, t.totals.c.spent).with_for_update()).one()
    chain.has_turn(connection)
    return int(row.reserved) + int(row.spent)


def still_open(connection: sa.Connection, claims: Sequence[Claim]) -> dict[tuple[int, int, int], int]:
    """Claims whose question is still at that attempt, with what is reserved for it; locked until the commit."""
    out: dict[tuple[int, int, int], int] = {}
    for step in {c.step for c in claims}:
        positions = [c.position for c in claims if c.step == step]
        rows = connection.execute(
            sa.select(t.ratings.c.position, t.ratings.c.attempts)
            .where(open_ones, t.ratings.c.step == step, within(t.ratings, positions))
            .with_for_update()
        ).all()
        reserved = connection.execute(
            sa.select(t.ledger.c.position, t.ledger.c.attempt, t.ledger.c.amount)
            .where(t.ledger.c.kind == "reserve", t.ledger.c.step == step, within(t.ledger, positions))
        ).all()  # fmt: skip
        amounts = {(r.position, r.attempt): int(r.amount) for r in reserved}
        for p, a in rows:
            if (p, a + 1) not in amounts:
                raise StoreError(f"the ledger holds no money for item {p}, which is open; restore it from a backup")
            out[p, step, a + 1] = amounts[p, a + 1]
    return out


def answer(o: Outcome) -> dict[str, Any]:
    """A row for `write_answers`."""
    state = MISSING if o.value is None else ANSWERED
    return {"p": o.claim.position, "s": o.claim.step, "state": state, "value": o.value, "note": o.note,
            "attempts": o.claim.attempt - (not o.failed)}  # fmt: skip


def write_answers(connection: sa.Connection, done: Sequence[dict[str, Any]]) -> None:
    """Answers, or that there is none."""
    if not done:
        return
    bind, at = sa.bindparam, now()
    change = (
        t.ratings.update()
        .where(t.ratings.c.position == bind("p"), t.ratings.c.step == bind("s"))
        .values(
            state=bind("state"),
            value=bind("value"),
            note=bind("note"),
            attempts=bind("attempts"),
            worker=None,
            at=at,
        )
    )
    connection.execute(change, done)
    rows = [[x["state"], x["value"], x["note"], x["attempts"], at, x["p"], x["s"]] for x in done]
    chain.changed(connection, t.ratings, _QUESTION, ["state", "value", "note", "attempts", "at"], rows)


def settle(
    connection: sa.Connection, outcomes: Sequence[Outcome], budget: int | None, *, for_anyone: bool = False
) -> list[Outcome]:
    """Write answers down and pay; returns those to be asked again, by the same worker unless they are for anyone."""
    hands: dict[str, Any] = {"worker": None} if for_anyone else {}
    held = still_open(connection, [o.claim for o in outcomes])
    bound_now = bound(connection) if any(o.again is not None for o in outcomes) else 0
    found = settlement(outcomes, held, bound=bound_now, budget=budget)
    write_answers(connection, [answer(o) for o in found.done])
    for o in found.again:
        connection.execute(one(o.claim).values(attempts=o.claim.attempt, note=o.note, **hands))
    if found.again:
        failed = [[o.claim.attempt, o.note, o.claim.position, o.claim.step] for o in found.again]
        chain.changed(connection, t.ratings, _QUESTION, ["attempts", "note"], failed)
    write_ledger(connection, found.entries)
    move(connection, found.reserved, found.spent, None)
    return found.again


def settle_known(connection: sa.Connection, new: NewDraws) -> None:
    """Strong ratings that were there before they were asked for."""
    assert new.known is not None
    last = new.rates.shape[1]
    rows = np.flatnonzero(new.selected[:, -1] & ~np.isnan(new.known))
    if rows.size:
        here = within(t.ratings, (new.first + rows).tolist())
        asked = claims(connection, sa.and_(t.ratings.c.step == last, here))
        values = [float(new.known[claim.position - new.first]) for claim in asked]
        settle(connection, [Outcome(c, 0, value, KNOWN) for c, value in zip(asked, values, strict=True)], None)


def numbers(items: Sequence[Any], n: int) -> Floats:
    """Items × columns."""
    blob = b"".join(row.numbers or b"" for row in items)
    if len(items) != n:
        raise StoreError(f"{n - len(items)} items are missing from the store; restore it from a backup")
    return np.frombuffer(blob, dtype="<f8").astype(np.float64).reshape(n, -1) if blob else np.empty((n, 0))
