"""Money and questions inside a transaction: what is reserved, asked, settled and paid.

Money is bound in one place, `reserve`, which every purchase beyond what was promised before goes through, and paid in
one place, `settle`.
"""

import json
from collections.abc import Iterable, Sequence

import sqlalchemy as sa
from sqlalchemy import exc

from ratewise.errors import StoreError
from ratewise.store import chain
from ratewise.store import queries as q
from ratewise.store.money import MOST, to_money
from ratewise.store.queue import (
    ANSWERED,
    CHECK,
    MISSING,
    OPEN,
    UNCHECK,
    UNDO,
    Attempt,
    Claim,
    Entry,
    Outcome,
    fits,
    now,
)

QUESTION = ("position", "step")


# Facts


def set_meta(connection: sa.Connection, key: str, value: str | None) -> None:
    """Change a fact; `None` forgets it. Processes that start together may do so at the same moment."""
    if q.FACT.scalar(connection, key=key) == value:
        return
    if key not in chain.PASSING:
        chain.add(connection, ["-", "meta", ["key"], [[key]]])
        chain.add(connection, ["+", "meta", ["key", "value"], [] if value is None else [[key, value]]])
    if value is None:
        q.deletion("meta", ("key",)).change(connection, key=key)
    else:
        q.SET_FACT.change(connection, key=key, value=value)


# Sums


def totals(connection: sa.Connection) -> tuple[int, int]:
    """(reserved, spent); where their row was taken out, nothing: `verify` tells that it is missing."""
    row = q.TOTALS.first(connection)
    return (0, 0) if row is None else (int(row[0]), int(row[1]))


def bound(connection: sa.Connection) -> tuple[int, int | None]:
    """(spent or reserved, cap); others wait until this transaction ends."""
    row = chain.lock(connection)
    if row is None:
        raise exc.NoResultFound
    reserved, spent, cap = row
    return int(reserved) + int(spent), cap


def reserve(connection: sa.Connection, amount: int, budget: int | None) -> bool:
    """Bind more money, if all stays within the budget and the cap.

    The cap is in the database, so that one who lowers it is heard by every process at its next purchase.
    """
    now_bound, cap = bound(connection)
    if not fits(now_bound, amount, budget, cap):
        return False
    move(connection, amount, 0)
    return True


def move(connection: sa.Connection, reserve: int, spend: int) -> None:
    """Change the sums by what was promised before and is now paid, given back or asked for again."""
    if reserve == spend == 0:
        return
    chain.take_turn(connection)
    most = {"most_reserved": min(MOST - reserve, MOST), "most_spent": min(MOST - spend, MOST)}
    if q.MOVE.change(connection, reserve=reserve, spend=spend, **most) != 1:
        raise StoreError(
            f"raters have charged more than the {to_money(MOST):,f} that a campaign can count; nothing more is written "
            "down. Count in a larger unit of money, in another campaign"
        )
    chain.add(connection, ["moved", reserve, spend])


def set_cap(connection: sa.Connection, budget: int | None, *, was: int | None) -> bool:
    """Change the cap; False where it is new and below what is bound already. One that stays is not recorded again."""
    now_bound, old = bound(connection)
    if budget is not None and budget != was and now_bound > budget:
        return False
    if budget != old:
        chain.update(connection, "totals", ["only"], [{"cap": budget, "only": 1}])
    return True


def write_ledger(connection: sa.Connection, entries: Iterable[Entry]) -> None:
    """Rows of the ledger, as they stand from now on."""
    names, at = ("kind", "position", "step", "attempt", "amount"), now()
    chain.insert(connection, "ledger", [{**dict(zip(names, entry, strict=True)), "at": at} for entry in entries])


def paid_beside(connection: sa.Connection) -> int:
    """What was paid for hidden checks and repeats; their rows of the ledger name no item."""
    found = q.exact(q.SUMS_BESIDE.all(connection))
    return found.get(CHECK, 0) - found.get(UNCHECK, 0)


def pay_beside(connection: sa.Connection, step: int, amount: int) -> None:
    """Pay for a hidden check or repeat, or take back what was paid for it, below 0."""
    if amount:
        row = {"kind": CHECK if amount > 0 else UNCHECK, "step": step, "amount": abs(amount), "at": now()}
        chain.insert(connection, "ledger", [row])
        move(connection, 0, amount)


# Questions


def claims(connection: sa.Connection, /, query: q.Query, **values: object) -> list[Claim]:
    """Open questions with their items."""
    return [
        Claim(position, step, attempts + 1, name, content, None if prices is None else tuple(json.loads(prices)))
        for position, step, attempts, name, content, prices in query.all(connection, **values)
    ]


def ask(connection: sa.Connection, positions: Sequence[int], steps: Sequence[int], prices: Sequence[int]) -> None:
    """Open questions and write down what is reserved for each."""
    asked = list(zip(positions, steps, prices, strict=True))
    rows = [{"position": p, "step": s, "state": OPEN, "attempts": 0} for p, s, _ in asked]
    chain.insert(connection, "ratings", rows)
    write_ledger(connection, [("reserve", p, s, 1, amount) for p, s, amount in asked])


def settle(
    connection: sa.Connection, outcomes: Sequence[Outcome], budget: int | None, *, for_anyone: bool = False
) -> list[Outcome]:
    """Write answers down and pay; returns those to be asked again, by the same worker unless they are for anyone.

    What is settled already stays so. A failed attempt is followed by another if budget and cap hold it once this one is
    paid.
    """
    held = held_money(connection, [o.claim for o in outcomes])
    now_bound, cap = bound(connection) if any(o.again is not None for o in outcomes) else (0, None)
    entries: list[Entry] = []
    done: list[Outcome] = []
    again: list[Outcome] = []
    reserved = spent = 0
    for o in outcomes:
        c = o.claim
        if (c.position, c.step, c.attempt) not in held:
            continue
        entries.append(("settle", c.position, c.step, c.attempt, o.paid))
        reserved, spent = reserved - held[c.position, c.step, c.attempt], spent + o.paid
        if o.again is not None and fits(now_bound + reserved + spent, o.again, budget, cap):
            entries.append(("reserve", c.position, c.step, c.attempt + 1, o.again))
            reserved += o.again
            again.append(o)
        else:
            done.append(o)
    chain.update(connection, "ratings", QUESTION, _answers(done), "worker = NULL")
    failed = [
        {"attempts": o.claim.attempt, "note": o.note, "position": o.claim.position, "step": o.claim.step} for o in again
    ]
    chain.update(connection, "ratings", QUESTION, failed, "worker = NULL" if for_anyone else "")
    write_ledger(connection, entries)
    move(connection, reserved, spent)
    return again


def held_money(connection: sa.Connection, asked: Sequence[Claim]) -> dict[Attempt, int]:
    """Claims whose question is still at that attempt, with what is reserved for it; locked until the commit."""
    out: dict[Attempt, int] = {}
    for step in {c.step for c in asked}:
        positions = [c.position for c in asked if c.step == step]
        for position, attempt, amount in q.HELD.all(connection, step=step, positions=positions):
            if amount is None:
                raise StoreError(
                    f"the ledger holds no money for item {position}, which is open; restore it from a backup"
                )
            out[position, step, attempt] = int(amount)
    return out


def _answers(done: Sequence[Outcome]) -> list[dict[str, object]]:
    at, doubted = now(), any(o.doubt is not None for o in done)
    return [
        {
            "state": MISSING if o.value is None else ANSWERED, "value": o.value, "note": o.note,
            "attempts": o.claim.attempt - (not o.failed), **({"doubt": o.doubt} if doubted else {}), "at": at,
            "position": o.claim.position, "step": o.claim.step,
        }
        for o in done
    ]  # fmt: skip


def reopen(connection: sa.Connection, claim: Claim, price: int, budget: int | None) -> bool | None:
    """Ask again what was given up: False where it is too dear, None where something has followed from it already."""
    pending = q.IS_PENDING.first(connection, position=claim.position, step=claim.step)
    if pending is None or pending[0] != MISSING:
        return None
    if not reserve(connection, price, budget):
        return False
    row = {"state": OPEN, "attempts": claim.attempt, "position": claim.position, "step": claim.step}
    chain.update(connection, "ratings", QUESTION, [row], "worker = NULL")
    write_ledger(connection, [("reserve", claim.position, claim.step, claim.attempt + 1, price)])
    return True


def take_back(connection: sa.Connection, position: int, step: int, attempt: int) -> bool:
    """Open a settled question again and take its payment back; False where something has followed from it already."""
    here = {"position": position, "step": step}
    settled = q.LAST_PAID.scalar(connection, **here)
    if settled != attempt or q.IS_PENDING.first(connection, **here) is None:
        return False
    empty = {"state": OPEN, "value": None, "note": None, "at": None, "attempts": settled}
    chain.update(connection, "ratings", QUESTION, [{**empty, **here}], "worker = NULL")
    paid = {kind: int(amount) for kind, amount in q.PAID_AT.all(connection, **here, attempt=settled)}
    write_ledger(
        connection,
        [(UNDO, position, step, settled, paid["settle"]), ("reserve", position, step, settled + 1, paid["reserve"])],
    )
    move(connection, paid["reserve"], -paid["settle"])
    return True
