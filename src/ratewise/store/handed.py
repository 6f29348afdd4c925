"""Questions handed out to people under keys of their own, so that every answer counts once and can be taken back.

A key belongs to one person and one question. The same answer sent twice under a key is one answer; what is sent under
a key whose answer was taken back is refused, and the question has a new key by then. Each transaction is whole or
not at all, so that a server may be killed at any moment.
"""

import secrets
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import sqlalchemy as sa

from ratewise.store import chain, hidden, lending
from ratewise.store import schema as t
from ratewise.store import statements as sql
from ratewise.store.desk import Desk, Price, Said, Terms, of
from ratewise.store.hidden import Taken
from ratewise.store.hourly import Hourly
from ratewise.store.records import OPEN, UNDO, Claim, Outcome
from ratewise.store.votes import Rule


@dataclass(frozen=True, slots=True)
class Handed:
    """A question in a person's hands: its key, and the sides of a comparison as they are to see it."""

    key: str
    claim: Claim
    sides: str | None
    until: float


@dataclass(frozen=True, slots=True)
class Undone:
    """An answer that was taken back: the new key of its question, and what had been said."""

    key: str
    said: Said


@dataclass(frozen=True, slots=True)
class Counter:
    """Hands out keys and takes answers; the desk keeps the leases behind them."""

    desk: Desk

    def hand_out(self, person: str, step: int, terms: Terms, *, tries: int, compares: bool = False) -> Handed | None:
        """The question this person has in hand under its key, or the next one; None where there is none.

        What they skipped comes last. One that so many were given without an answer is given up, and missing.
        """
        with self.desk.store.writing() as connection:
            sql.take_turn(connection)  # one after the other
            while True:
                found = self.desk.first_for(connection, person, step, terms)
                if found is None or self._has_tries(connection, found, tries):
                    break
                sql.settle(
                    connection, [Outcome(found, 0, note=f"given up: {tries} were given it, none answered")], None
                )
                connection.execute(t.leases.delete().where(of(t.leases, found)))
            if found is None:
                self.desk.leave_without(connection, person, step)
                return None
            lease = self.desk.lend(connection, found, person, terms.seconds)
            key, sides = self._key(connection, found, person, compares=compares)
            return Handed(key, found, sides, lease.until)

    def renew(self, person: str, key: str, terms: Terms) -> float | None:
        """Some more time for the question; None where it is settled, or others have it by now."""
        with self.desk.store.writing() as connection:
            row = _row(connection, person, key)
            claim = None if row is None else self.desk.open_one(connection, row.position, row.step)
            if row is None or claim is None or row.state != "open" or claim.attempt != row.attempt:
                return None
            if row.position not in self._mine(connection, person, row.step):
                sql.take_turn(connection)
                again = self.desk.first_for(connection, person, row.step, terms)
                if again is None or again.position != row.position:
                    return None
            return self.desk.lend(connection, claim, person, terms.seconds).until

    def skip(self, person: str, key: str) -> Taken:
        """Leave the question to others; this person gets it again when nothing else is left."""
        with self.desk.store.writing() as connection:
            sql.take_turn(connection)
            row = _row(connection, person, key)
            if row is None:
                return "unknown"
            if row.state != "open":
                return "same" if row.state == "skipped" else "too late"
            _change(connection, row, "skipped")
            mine = sa.and_(t.leases.c.position == row.position, t.leases.c.step == row.step)
            connection.execute(t.leases.delete().where(mine, t.leases.c.holder == person))
            return "new"

    def answer(self, person: str, key: str, said: Said, *, price: Price, rule: Rule) -> Taken:
        """Take an answer: the same again changes nothing, another one to an answered key is refused."""
        with self.desk.store.writing() as connection:
            sql.take_turn(connection)
            row = _row(connection, person, key)
            if row is None:
                return "unknown"
            if row.state == "answered":
                before = _said(connection, row, person)
                same = before is not None and (before.value, before.note) == (said.value, said.note)
                return "same" if same else "another"
            claim = self.desk.open_one(connection, row.position, row.step)
            if row.state == "undone" or claim is None or claim.attempt != row.attempt:
                return "too late"
            if isinstance(price, Hourly):
                said = replace(said, seconds=price.counted(said.seconds, self.desk.clock() - row.at))
            self.desk.hear(connection, claim, person, said, price=price, rule=rule)
            lending.ANSWERED.run(connection, {"row": row.number, "of_person": person})
            return "new"

    def undo(self, person: str, seconds: float) -> Undone | None:
        """Take back this person's last answer and its payment; None where it is too late.

        It is too late when the round is closed, or when somebody was drawn by the answer.
        """
        with self.desk.store.writing() as connection:
            sql.take_turn(connection)
            mine = sa.and_(t.handed.c.person == person, t.handed.c.state == "answered")
            row = connection.execute(sa.select(t.handed).where(mine).order_by(t.handed.c.turn.desc()).limit(1)).first()
            if row is not None and row.what is not None:
                connection.execute(t.leases.delete().where(t.leases.c.holder == person))
                said = Said(row.value, row.note or "", row.seconds, row.sides, row.flagged)
                return Undone(hidden.reopen(connection, row, self.desk.clock()), said)
            if row is None or not _reopened(connection, row):
                return None
            claim = self.desk.open_one(connection, row.position, row.step)
            before = _said(connection, row, person)
            assert claim is not None
            assert before is not None
            self.desk.unsay(connection, claim, person)
            _change(connection, row, "undone")
            self._give_others_back(connection, person, claim)
            self.desk.lend(connection, claim, person, seconds)
            key, _ = self._key(connection, claim, person, compares=row.sides is not None, sides=row.sides)
            return Undone(key, before)

    def of_key(self, person: str, key: str) -> tuple[Claim | None, int, str | None] | None:
        """(open question, step, sides) of a person's key; None where it is no key of theirs."""
        with self.desk.store.reading() as connection:
            row = _row(connection, person, key)
            if row is None:
                return None
            return self.desk.open_one(connection, row.position, row.step), int(row.step), row.sides

    def done(self, person: str) -> int:
        """How many answers this person has given that stand."""
        with self.desk.store.reading() as connection:
            return int(lending.DONE.scalar(connection, {"person": person}) or 0)

    def left(self, person: str, step: int, terms: Terms) -> int:
        """How many questions are open for this person now."""
        with self.desk.store.reading() as connection:
            return self.desk.free_for(connection, person, step, terms)

    def has_one(self, person: str, step: int) -> bool:
        """Whether this person has a question of the campaign in hand."""
        with self.desk.store.reading() as connection:
            return bool(self._mine(connection, person, step))

    # Inside a transaction

    def _mine(self, connection: sa.Connection, person: str, step: int) -> set[int]:
        live = sa.and_(t.leases.c.holder == person, t.leases.c.step == step, t.leases.c.until > self.desk.clock())
        return set(connection.scalars(sa.select(t.leases.c.position).where(live)))

    def _give_others_back(self, connection: sa.Connection, person: str, claim: Claim) -> None:
        """A person has one question in hand: the one that they go back to."""
        others = sa.or_(t.leases.c.position != claim.position, t.leases.c.step != claim.step)
        connection.execute(t.leases.delete().where(t.leases.c.holder == person, others))

    def _has_tries(self, connection: sa.Connection, claim: Claim, tries: int) -> bool:
        """Whether the question may be handed out once more; those who let its time run out are noted first."""
        here = {"position": claim.position, "step": claim.step, "attempt": claim.attempt, "at": self.desk.clock()}
        rows = lending.STATES.all(connection, here)
        if not rows:
            return True
        live = {holder for (holder,) in lending.LIVE.all(connection, here)}
        gone = [number for number, person, state in rows if state == "open" and person not in live]
        if gone:
            connection.execute(t.handed.update().where(t.handed.c.number.in_(gone)).values(state="lapsed"))
        return len(gone) + sum(state in ("skipped", "lapsed") for _, _, state in rows) < tries

    def _key(
        self, connection: sa.Connection, claim: Claim, person: str, *, compares: bool, sides: str | None = None
    ) -> tuple[str, str | None]:
        """The key of a question that a person has in hand; a new one where they had none or it has ended."""
        mine = {"position": claim.position, "step": claim.step, "attempt": claim.attempt, "person": person}
        row = lending.OPEN_KEY.first(connection, mine)
        if row is not None:
            return str(row[0]), row[1]
        if compares and sides is None:
            sides = secrets.choice(("ab", "ba"))
        key = secrets.token_urlsafe(12)
        values = {**mine, "key": key, "sides": sides, "at": self.desk.clock(), "state": "open"}
        lending.HAND.run(connection, values)
        return key, sides


class Key(NamedTuple):
    """The row of a key, as `lending.KEY` names its columns."""

    number: int
    position: int
    step: int
    attempt: int
    sides: str | None
    at: float
    state: str


def _row(connection: sa.Connection, person: str, key: str) -> Key | None:
    """The row of a person's key; another's key is no key of theirs."""
    found = lending.ROW.first(connection, {"key": key, "person": person})
    return None if found is None else Key(*found)


def _change(connection: sa.Connection, row: Any, state: str, **more: int) -> None:
    connection.execute(t.handed.update().where(t.handed.c.number == row.number).values(state=state, **more))


def _said(connection: sa.Connection, row: Any, person: str) -> Said | None:
    here = sa.and_(t.answers.c.position == row.position, t.answers.c.step == row.step, t.answers.c.annotator == person)
    found = connection.execute(sa.select(t.answers).where(here)).first()
    return None if found is None else Said(found.value, found.note or "", found.seconds, found.sides, found.flagged)


def _reopened(connection: sa.Connection, row: Any) -> bool:
    """Open the question again and take its payment back, where it is settled; False where that is too late."""
    here = sa.and_(t.ratings.c.position == row.position, t.ratings.c.step == row.step)
    rating = connection.execute(sa.select(t.ratings.c.state, t.ratings.c.attempts).where(here).with_for_update()).one()
    if rating.state == OPEN:
        return True  # more votes are wanted, so nothing was paid
    settled = connection.scalar(
        sa.select(sa.func.max(t.ledger.c.attempt)).where(
            t.ledger.c.position == row.position, t.ledger.c.step == row.step, t.ledger.c.kind == "settle"
        )
    )
    if settled != row.attempt:
        return False
    values: dict[str, Any] = {"state": OPEN, "value": None, "note": None, "at": None, "attempts": settled}
    if not connection.execute(sql.not_acted_upon(row.position, row.step).values(worker=None, **values)).rowcount:
        return False
    chain.changed(
        connection, t.ratings, ["position", "step"], list(values), [[*values.values(), row.position, row.step]]
    )
    amounts = _amounts(connection, row.position, row.step, settled)
    entries = [(UNDO, row.position, row.step, settled, amounts["settle"])]
    sql.write_ledger(connection, [*entries, ("reserve", row.position, row.step, settled + 1, amounts["reserve"])])
    sql.move(connection, amounts["reserve"], -amounts["settle"])
    return True


def _amounts(connection: sa.Connection, position: int, step: int, attempt: int) -> dict[str, int]:
    here = sa.and_(t.ledger.c.position == position, t.ledger.c.step == step, t.ledger.c.attempt == attempt)
    rows = connection.execute(sa.select(t.ledger.c.kind, t.ledger.c.amount).where(here))
    return {str(kind): int(amount) for kind, amount in rows}
