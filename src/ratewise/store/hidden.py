"""Questions that people answer and that are no votes: training, checks with known answers, repeats of their own.

They have keys as all questions have, so that nobody can tell them apart, and what is said to them stays with the key:
it never reaches the tables that the estimate is made of. Checks and repeats are paid like answers.
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import sqlalchemy as sa

from ratewise.store import lending
from ratewise.store import schema as t
from ratewise.store import statements as sql
from ratewise.store.desk import Desk, Said, Terms
from ratewise.store.records import CHECK, UNCHECK

What = Literal["training", "check", "repeat"]
Taken = Literal["new", "same", "another", "too late", "unknown"]
TRAINING: Literal["training"] = "training"
_b = sa.bindparam
_mine = sa.and_(t.handed.c.person == _b("person"), t.handed.c.step == _b("step"))
_ALL = sa.select(t.handed).where(_mine, t.handed.c.state != "undone").order_by(t.handed.c.number)
_OPEN = sa.select(sa.func.count()).where(t.handed.c.what.in_(("check", "repeat")), t.handed.c.state == "open")


@dataclass(frozen=True, slots=True)
class Chosen:
    """A question to hand out; a known item has a position below 0, −1 for the first."""

    what: What
    position: int
    attempt: int = 0  # of training: which try it is
    sides: str | None = None


@dataclass(frozen=True, slots=True)
class HiddenKey:
    """One of them in a person's hands."""

    key: str
    what: str
    position: int
    step: int
    attempt: int
    sides: str | None
    agrees: bool | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """What one person was given of a step so far, in order."""

    slot: int  # how many questions, training left out
    turn: int  # answers so far
    checks: frozenset[int]
    repeated: frozenset[int]
    answered: tuple[tuple[int, int], ...]  # (turn, position) of their answers to questions of the campaign
    training: tuple[tuple[int, bool], ...]  # (try, right) of training items that are done

    @classmethod
    def of(cls, rows: list[Any]) -> "Seen":
        """From the rows of a person and step."""
        real = [row for row in rows if row.what is None]
        done = [row for row in rows if row.what == TRAINING and row.state != "open"]
        return cls(
            len(rows) - sum(row.what == TRAINING for row in rows), max((row.turn or 0 for row in rows), default=0),
            frozenset(row.position for row in rows if row.what == "check"),
            frozenset(row.position for row in rows if row.what == "repeat"),
            tuple((row.turn, row.position) for row in real if row.state == "answered"),
            tuple((row.attempt, bool(row.agrees)) for row in done),
        )  # fmt: skip


Choose = Callable[[Seen], Chosen | None]


@dataclass(frozen=True, slots=True)
class Purse:
    """What one of them costs, and how much all of them may; None: no limit."""

    price: int
    most: int | None


@dataclass(frozen=True, slots=True)
class Hidden:
    """Hands them out and takes what is said."""

    desk: Desk

    def hand_out(self, person: str, step: int, terms: Terms, choose: Choose, purse: Purse) -> HiddenKey | None:
        """The one this person has in hand, or the one that is chosen now; None: a question of the campaign is due.

        Checks and repeats come only where a question of the campaign could come instead, and money is there for them.
        """
        with self.desk.store.writing() as connection:
            sql.bound(connection)  # one after the other
            rows = list(connection.execute(_ALL, {"person": person, "step": step}))
            held = next((row for row in rows if row.what is not None and row.state == "open"), None)
            if held is not None:
                return _key(held)
            which = {"person": person, "step": step, "at": self.desk.clock(), "votes": terms.votes}
            if lending.IN_HAND.scalar(connection, which) is not None:
                return None
            chosen = choose(Seen.of(rows))
            if chosen is None:
                return None
            if chosen.what != TRAINING and not self._may_come(connection, person, step, terms, purse):
                return None
            return _insert(connection, chosen, person, step, self.desk.clock())

    def _may_come(self, connection: sa.Connection, person: str, step: int, terms: Terms, purse: Purse) -> bool:
        """Whether a check costs no more than there is, and stands for a question that could have come."""
        return _affords(connection, purse) and self.desk.first_for(connection, person, step, terms) is not None

    def of_key(self, person: str, key: str) -> HiddenKey | None:
        """The one that this person's key stands for; None for every other key."""
        with self.desk.store.reading() as connection:
            row = connection.execute(lending.WHOLE_ROW, {"key": key, "person": person}).first()
        return None if row is None or row.what is None else _key(row)

    def seen(self, person: str, step: int) -> tuple[Seen, bool]:
        """What a person was given so far, and whether they have one of these in hand."""
        with self.desk.store.reading() as connection:
            rows = list(connection.execute(_ALL, {"person": person, "step": step}))
        return Seen.of(rows), any(row.what is not None and row.state == "open" for row in rows)

    def said_before(self, person: str, position: int, step: int) -> tuple[float | None] | None:
        """What this person has said to a question of the campaign; None where nothing stands."""
        here = sa.and_(t.answers.c.position == position, t.answers.c.step == step, t.answers.c.annotator == person)
        with self.desk.store.reading() as connection:
            row = connection.execute(sa.select(t.answers.c.value).where(here)).first()
        return None if row is None else (row.value,)

    def content(self, position: int) -> str:
        """The row of an item, as JSON."""
        with self.desk.store.reading() as connection:
            return str(connection.scalar(sa.select(t.items.c.content).where(t.items.c.position == position)))

    def answer(self, person: str, key: str, said: Said, *, agrees: bool | None, price: int) -> Taken:
        """Take what is said, once; answers as `Counter.answer` does."""
        with self.desk.store.writing() as connection:
            sql.bound(connection)
            row = connection.execute(lending.WHOLE_ROW, {"key": key, "person": person}).first()
            if row is None or row.what is None:
                return "unknown"
            if row.state in ("answered", "trained"):
                return "same" if (row.value, row.note) == (said.value, said.note or None) else "another"
            if row.state == "undone":
                return "too late"
            values: dict[str, Any] = {
                "value": said.value, "note": said.note or None, "seconds": said.seconds, "flagged": said.flagged,
                "agrees": agrees, "state": "trained",
            }  # fmt: skip
            if row.what != TRAINING:
                last = int(lending.LAST_TURN.scalar(connection, {"of_person": person}) or 0)
                values |= {"state": "answered", "turn": last + 1, "paid": price}
                _pay(connection, row.step, price)
            connection.execute(t.handed.update().where(t.handed.c.number == row.number).values(values))
            return "new"


def reopen(connection: sa.Connection, row: Any, at: float) -> str:
    """Take back what was said to a check or a repeat, with its payment; its new key."""
    connection.execute(t.handed.update().where(t.handed.c.number == row.number).values(state="undone"))
    if row.paid:
        sql.write_ledger(connection, [(UNCHECK, None, row.step, None, row.paid)])
        sql.move(connection, 0, -row.paid)
    return _insert(connection, Chosen(row.what, row.position, row.attempt, row.sides), row.person, row.step, at).key


def _insert(connection: sa.Connection, chosen: Chosen, person: str, step: int, at: float) -> HiddenKey:
    key = secrets.token_urlsafe(12)
    values = {"key": key, "person": person, "position": chosen.position, "step": step, "attempt": chosen.attempt,
              "sides": chosen.sides, "at": at, "state": "open", "what": chosen.what}  # fmt: skip
    connection.execute(t.handed.insert(), values)
    return HiddenKey(key, chosen.what, chosen.position, step, chosen.attempt, chosen.sides)


def _key(row: Any) -> HiddenKey:
    agrees = None if row.agrees is None else bool(row.agrees)
    return HiddenKey(row.key, row.what, row.position, row.step, row.attempt, row.sides, agrees)


def _pay(connection: sa.Connection, step: int, price: int) -> None:
    if price:
        sql.write_ledger(connection, [(CHECK, None, step, None, price)])
        sql.move(connection, 0, price)


def _affords(connection: sa.Connection, purse: Purse) -> bool:
    """Whether there is money for one more, with those that people have in hand."""
    if purse.most is None:
        return True
    waiting = int(connection.scalar(_OPEN) or 0)
    return sql.paid_beside(connection) + (waiting + 1) * purse.price <= purse.most
