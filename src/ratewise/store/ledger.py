"""Small pieces of SQL that the log is made of."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.dialects import postgresql, sqlite

from ratewise.errors import StoreError
from ratewise.store import chain, queries
from ratewise.store import schema as t
from ratewise.store.money import MOST, to_money
from ratewise.store.queue import (
    ANSWERED,
    CHECK,
    MISSING,
    OPEN,
    UNCHECK,
    Claim,
    Entry,
    Floats,
    NewDraws,
    Outcome,
    now,
    settlement,
)

KNOWN = "was there already"
_AT_ONCE = 10_000  # values in one IN (…)
_QUESTION = ("position", "step")
_PART = 10**9  # amounts are added by their billions and what is left of them

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
    """The UPDATE of a question's row, which changes it only while the question is open; values are to be added."""
    return t.ratings.update().where(t.ratings.c.position == claim.position, t.ratings.c.step == claim.step, open_ones)


def given_up(claim: Claim) -> sa.Update:
    """The UPDATE of a question that was given up, only in an open round; a weak one only before its item is drawn."""
    return not_acted_upon(claim.position, claim.step).where(t.ratings.c.state == MISSING)


def not_acted_upon(position: int, step: int) -> sa.Update:
    """The UPDATE of a question, only in an open round and while nothing has followed from its answer."""
    first = sa.select(sa.func.min(t.rounds.c.first)).where(t.rounds.c["items"].is_(None)).scalar_subquery()
    last = sa.select(sa.func.min(t.draws.c.step)).scalar_subquery()  # of second looks, the latest
    again = sa.exists().where(
        t.draws.c.position == position, t.draws.c.step == last, t.draws.c.step < 0, t.draws.c.selected
    )
    drawn = sa.select(t.batches.c.drawn).where(t.batches.c.first <= position, t.batches.c.end > position)
    return t.ratings.update().where(
        t.ratings.c.position == position, t.ratings.c.step == step,
        first.is_not(None), sa.or_(t.ratings.c.position >= first, again),
        sa.true() if step else ~drawn.scalar_subquery(),
    )  # fmt: skip


def still_asked(connection: sa.Connection, first: int, end: int, step: int) -> bool:
    """Whether raters before this step have questions without an answer among these items."""
    here = sa.and_(t.ratings.c.position >= first, t.ratings.c.position < end, t.ratings.c.step < step)
    return bool(connection.scalar(sa.select(sa.exists().where(open_ones, here))))


def free(workers: Sequence[int]) -> sa.Update:
    """The UPDATE that takes open questions out of the hands of these workers, so that anyone may claim them."""
    return t.ratings.update().where(open_ones, t.ratings.c.worker.in_(workers)).values(worker=None)


def within(table: sa.Table, positions: Sequence[int]) -> sa.ColumnElement[bool]:
    """The condition that a row's position is one of these, in several IN (…), as databases limit the size of one."""
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


def write_ledger(connection: sa.Connection, rows: Sequence[Entry | tuple[str, None, int, None, int]]) -> None:
    """(kind, position, step, attempt, amount) each; money for a hidden check belongs to no item."""
    at = now()
    written = [
        {"kind": kind, "position": p, "step": s, "attempt": a, "amount": amount, "at": at}
        for kind, p, s, a, amount in rows
    ]
    if written:
        chain.insert(connection, t.ledger, written)


def totals(connection: sa.Connection) -> tuple[int, int]:
    """(reserved, spent); where their row was taken out, nothing: `verify` tells that it is missing."""
    row = connection.execute(queries.TOTALS).first()
    return (0, 0) if row is None else (int(row.reserved), int(row.spent))


def paid_beside(connection: sa.Connection) -> int:
    """What was paid for hidden checks and repeats; their rows of the ledger name no item."""
    sums = sa.select(t.ledger.c.kind, *exact_sum(t.ledger.c.amount)).where(t.ledger.c.position.is_(None))
    found = {kind: summed(parts) for kind, *parts in connection.execute(sums.group_by(t.ledger.c.kind))}
    return found.get(CHECK, 0) - found.get(UNCHECK, 0)


def exact_sum(amount: sa.ColumnElement[int]) -> tuple[sa.ColumnElement[int], sa.ColumnElement[int]]:
    """Two sums for `summed`: SQLite adds in 64 bits, and what was reserved and freed again leaves those."""
    part = sa.literal_column(str(_PART), sa.BigInteger)
    return sa.func.coalesce(sa.func.sum(amount // part), 0), sa.func.coalesce(sa.func.sum(amount % part), 0)


def summed(parts: Sequence[Any]) -> int:
    """What `exact_sum` has found."""
    whole, rest = parts
    return int(whole) * _PART + int(rest)


def spend(connection: sa.Connection, reserve: int, budget: int | None) -> bool:
    """Bind more money, only if all stays within the budget and the cap; the row's lock makes others wait their turn.

    The cap is in the row itself, so that one who lowers it is heard by every process at its next purchase.
    """
    room = MOST if budget is None else min(budget, MOST)
    if reserve > room:
        return False
    left = sa.func.coalesce(t.totals.c.cap, MOST) - t.totals.c.reserved - t.totals.c.spent
    bound_now = t.totals.c.reserved + t.totals.c.spent
    change = t.totals.update().where(left >= reserve, bound_now <= min(room - reserve, MOST))
    if connection.execute(change.values(reserved=t.totals.c.reserved + reserve)).rowcount != 1:
        return False
    _moved(connection, reserve, 0)
    return True


def move(connection: sa.Connection, reserve: int, spend: int) -> None:
    """Change the sums by what was promised before and is now paid, given back or asked for again."""
    most = {"most_reserved": min(MOST - reserve, MOST), "most_spent": min(MOST - spend, MOST)}
    if queries.MOVE.change(connection, {"reserve": reserve, "spend": spend, **most}) != 1:
        raise StoreError(
            f"raters have charged more than the {to_money(MOST):,f} that a campaign can count; nothing more is written "
            "down. Count in a larger unit of money, in another campaign"
        )
    _moved(connection, reserve, spend)


def _moved(connection: sa.Connection, reserve: int, spend: int) -> None:
    """The sums have changed, so their row is locked, and the record says by how much."""
    chain.has_turn(connection)
    chain.add(connection, ["moved", reserve, spend])


def cap(connection: sa.Connection) -> int | None:
    """The budget as the database has it."""
    found: int | None = connection.scalar(sa.select(t.totals.c.cap))
    return found


def set_cap(connection: sa.Connection, budget: int | None, *, was: int | None) -> bool:
    """Change the cap; False where it is new and below what is bound already. One that stays is not recorded again."""
    old: int | None = connection.scalar(sa.select(t.totals.c.cap).with_for_update())
    chain.has_turn(connection)
    change = t.totals.update().values(cap=budget)
    if budget is not None and budget != was:
        change = change.where(t.totals.c.reserved + t.totals.c.spent <= budget)
    if connection.execute(change).rowcount != 1:
        return False
    if budget != old:
        chain.changed(connection, t.totals, ["only"], ["cap"], [[budget, 1]])
    return True


def least(*caps: int | None) -> int | None:
    """The smallest that is given; None where there is no limit."""
    return min((one for one in caps if one is not None), default=None)


def bound(connection: sa.Connection) -> int:
    """What is spent or reserved; others wait until this transaction ends."""
    row = queries.BOUND.first(connection, {})
    if row is None:
        raise exc.NoResultFound
    chain.has_turn(connection)
    return int(row[0]) + int(row[1])


def take_turn(connection: sa.Connection) -> None:
    """Others who write wait until this transaction ends; asked for twice, it is one turn."""
    if not chain.is_locked(connection):
        bound(connection)


def settle_one(connection: sa.Connection, claim: Claim, paid: int, value: float | None, note: str | None) -> None:
    """What `settle` does for one question that is open and not asked again: a person's answer is to take no time."""
    here = {"p": claim.position, "s": claim.step, "attempt": claim.attempt}
    held = queries.HELD.scalar(connection, here)
    if held is None:
        raise StoreError(
            f"the ledger holds no money for item {claim.position}, which is open; restore it from a backup"
        )
    state, failed, at = MISSING if value is None else ANSWERED, claim.attempt - 1, now()
    new = {"state": state, "value": value, "note": note, "attempts": failed, "at": at}
    queries.ANSWER.run(connection, {**here, **{f"new_{name}": each for name, each in new.items()}})
    chain.changed(connection, t.ratings, _QUESTION, list(new), [[*new.values(), claim.position, claim.step]])
    write_ledger(connection, [("settle", claim.position, claim.step, claim.attempt, paid)])
    move(connection, -int(held), paid)


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
            "doubt": o.doubt, "attempts": o.claim.attempt - (not o.failed)}  # fmt: skip


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
            doubt=bind("doubt"),
            attempts=bind("attempts"),
            worker=None,
            at=at,
        )
    )
    connection.execute(change, done)
    columns = ["state", "value", "note", "attempts"] + ["doubt"] * any(x["doubt"] is not None for x in done)
    rows = [[*(x[name] for name in columns), at, x["p"], x["s"]] for x in done]
    chain.changed(connection, t.ratings, _QUESTION, [*columns, "at"], rows)


def settle(
    connection: sa.Connection, outcomes: Sequence[Outcome], budget: int | None, *, for_anyone: bool = False
) -> list[Outcome]:
    """Write answers down and pay; returns those to be asked again, by the same worker unless they are for anyone."""
    hands: dict[str, Any] = {"worker": None} if for_anyone else {}
    held = still_open(connection, [o.claim for o in outcomes])
    again = any(o.again is not None for o in outcomes)
    bound_now, cap_now = (bound(connection), cap(connection)) if again else (0, None)
    found = settlement(outcomes, held, bound=bound_now, budget=least(cap_now, budget))
    write_answers(connection, [answer(o) for o in found.done])
    for o in found.again:
        connection.execute(one(o.claim).values(attempts=o.claim.attempt, note=o.note, **hands))
    if found.again:
        failed = [[o.claim.attempt, o.note, o.claim.position, o.claim.step] for o in found.again]
        chain.changed(connection, t.ratings, _QUESTION, ["attempts", "note"], failed)
    write_ledger(connection, found.entries)
    move(connection, found.reserved, found.spent)
    return found.again


def settle_known(connection: sa.Connection, new: NewDraws) -> None:
    """Strong ratings that were there before they were asked for."""
    assert new.known is not None
    last = new.end - 1
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
