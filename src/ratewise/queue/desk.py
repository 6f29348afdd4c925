"""The queue for people: questions on loan for a time, and answers that name who gave them.

A lease ends by itself: when its time is up the question is free for others, and nobody has to notice. The clock is an
argument. One who answers after that is heard as long as the question is open.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import sqlalchemy as sa

from ratewise.queue import chain
from ratewise.queue import schema as t
from ratewise.queue import statements as sql
from ratewise.queue.records import Claim, Outcome, now
from ratewise.queue.store import Store
from ratewise.queue.votes import Rule, Vote, one_answer

Heard = Literal["settled", "more answers are needed", "was settled before"]
_QUESTION = ["position", "step", "annotator"]


@dataclass(frozen=True, slots=True)
class Lease:
    """A question in the hands of a person, until a moment in seconds since 1970."""

    claim: Claim
    holder: str
    until: float


@dataclass(frozen=True, slots=True)
class Terms:
    """How questions of a step are lent: for how long, for how many votes, and who decides where votes split."""

    seconds: float
    votes: int = 1
    splits: bool = False  # lend only questions that have all their votes and are open still


@dataclass(frozen=True, slots=True)
class Said:
    """One answer: its value, None for cannot tell, and what the page knows of how it was given."""

    value: float | None
    note: str = ""
    seconds: float | None = None
    sides: str | None = None
    flagged: bool | None = None


@dataclass(frozen=True, slots=True)
class Desk:
    """Where people get questions and hand in answers."""

    store: Store
    clock: Callable[[], float] = time.time

    def lease(self, person: str, step: int, *, seconds: float, votes: int = 1) -> Lease | None:
        """The question this person has in hand, for some more time; or else the first that wants an answer of theirs.

        No more people have a question in hand than it takes votes, and nobody gets one twice.
        """
        terms = Terms(seconds, votes)
        with self.store.writing() as connection:
            sql.bound(connection)  # one after the other
            found = self.first_for(connection, person, step, terms)
            return None if found is None else self.lend(connection, found, person, seconds)

    def renew(self, lease: Lease, *, seconds: float) -> Lease | None:
        """Extend the lease; None where it has ended."""
        until = self.clock() + seconds
        mine = sa.and_(of(t.leases, lease.claim), t.leases.c.holder == lease.holder, t.leases.c.until > self.clock())
        with self.store.writing() as connection:
            kept = connection.execute(t.leases.update().where(mine).values(until=until)).rowcount
        return Lease(lease.claim, lease.holder, until) if kept else None

    def give_back(self, lease: Lease) -> None:
        """Free the question for others, and for this person, too."""
        mine = sa.and_(of(t.leases, lease.claim), t.leases.c.holder == lease.holder)
        with self.store.writing() as connection:
            connection.execute(t.leases.delete().where(mine))

    def free_all(self, person: str) -> None:
        """Free whatever a person has in hand, who will not come back."""
        with self.store.writing() as connection:
            connection.execute(t.leases.delete().where(t.leases.c.holder == person))

    def answer(
        self, claim: Claim, person: str, value: float | None, *, note: str = "", price: int = 0, rule: Rule = one_answer
    ) -> Heard:
        """Write down what a person says; where the rule says so, the rating is settled and its price paid.

        Until then the same person may answer again, which replaces what they said.
        """
        with self.store.writing() as connection:
            sql.bound(connection)
            return self.hear(connection, claim, person, Said(value, note), price=price, rule=rule)

    def question(self, position: int, step: int) -> Claim | None:
        """A question that is open; None where it is not."""
        with self.store.reading() as connection:
            return self.open_one(connection, position, step)

    def open(self, step: int) -> list[Claim]:
        """All questions of a step that are open and in no process's hands, in the order of the items."""
        with self.store.reading() as connection:
            return sql.claims(connection, sa.and_(t.ratings.c.step == step, t.ratings.c.worker.is_(None)))

    def settled(self, step: int) -> dict[str, float | None]:
        """What was answered for a step, by the item's id; None where it was that nobody can tell."""
        same = t.items.c.position == t.ratings.c.position
        chosen = sa.select(t.items.c.id, t.ratings.c.value).join(t.ratings, same).where(t.ratings.c.step == step)
        with self.store.reading() as connection:
            return {str(item): value for item, value in connection.execute(chosen.where(~sql.open_ones))}

    def votes(self, claim: Claim) -> list[Vote]:
        """What was said to a question so far, in order."""
        with self.store.reading() as connection:
            return votes_on(connection, claim)

    # Inside a transaction

    def open_one(self, connection: sa.Connection, position: int, step: int) -> Claim | None:
        """A question that is open; None where it is not."""
        found = sql.claims(connection, sa.and_(t.ratings.c.step == step, t.ratings.c.position == position))
        return found[0] if found else None

    def first_for(
        self, connection: sa.Connection, person: str, step: int, terms: Terms, *,
        but: sa.ColumnElement[bool] | None = None,
    ) -> Claim | None:  # fmt: skip
        """The question this person has in hand, or the first that they may answer; `but` leaves some for later."""
        found = self._first(connection, step, self._in_hand(person, step))
        if found is not None:
            return found
        free = self._free(person, step, terms)
        if but is not None:
            found = self._first(connection, step, sa.and_(free, ~but))
        return found or self._first(connection, step, free)

    def lend(self, connection: sa.Connection, claim: Claim, person: str, seconds: float) -> Lease:
        """Write the lease down; leases of this question that have ended go."""
        until = self.clock() + seconds
        ended = sa.or_(t.leases.c.holder == person, t.leases.c.until <= self.clock())
        connection.execute(t.leases.delete().where(of(t.leases, claim), ended))
        values = {"position": claim.position, "step": claim.step, "holder": person, "until": until}
        connection.execute(t.leases.insert().values(values))
        return Lease(claim, person, until)

    def hear(
        self, connection: sa.Connection, claim: Claim, person: str, said: Said, *, price: int, rule: Rule
    ) -> Heard:
        """Write an answer down and settle the question where the rule says so."""
        if not sql.still_open(connection, [claim]):
            return "was settled before"
        self.unsay(connection, claim, person)
        row = {"annotator": person, "value": said.value, "note": said.note or None, "at": now()}
        more = {"seconds": said.seconds, "sides": said.sides, "flagged": said.flagged}
        row |= {name: value for name, value in more.items() if value is not None}
        chain.insert(connection, t.answers, [{"position": claim.position, "step": claim.step, **row}])
        connection.execute(t.leases.delete().where(of(t.leases, claim), t.leases.c.holder == person))
        verdict = rule(votes_on(connection, claim))
        if verdict is None:
            return "more answers are needed"
        sql.settle(connection, [Outcome(claim, price, verdict.value, said.note or None)], None)
        connection.execute(t.leases.delete().where(of(t.leases, claim)))
        return "settled"

    @staticmethod
    def unsay(connection: sa.Connection, claim: Claim, person: str) -> bool:
        """Take out what this person said to the question; False where they said nothing."""
        mine = sa.and_(of(t.answers, claim), t.answers.c.annotator == person)
        if not connection.execute(t.answers.delete().where(mine)).rowcount:
            return False
        chain.removed(connection, t.answers, _QUESTION, [[claim.position, claim.step, person]])
        return True

    def free_for(self, connection: sa.Connection, person: str, step: int, terms: Terms) -> int:
        """How many questions this person could be given now, with the one in hand."""
        which = sa.or_(self._in_hand(person, step), self._free(person, step, terms))
        counted = sa.select(sa.func.count()).select_from(t.ratings)
        return int(connection.scalar(counted.where(sql.open_ones, t.ratings.c.step == step, which)) or 0)

    def _in_hand(self, person: str, step: int) -> sa.ColumnElement[bool]:
        live = sa.and_(t.leases.c.step == step, t.leases.c.holder == person, t.leases.c.until > self.clock())
        return t.ratings.c.position.in_(sa.select(t.leases.c.position).where(live))

    def _free(self, person: str, step: int, terms: Terms) -> sa.ColumnElement[bool]:
        """Questions in no process's hands that want another answer, and have none of this person."""
        here = sa.and_(t.answers.c.position == t.ratings.c.position, t.answers.c.step == step)
        said = sa.exists().where(here, t.answers.c.annotator == person)
        answered = sa.select(sa.func.count()).select_from(t.answers).where(here).scalar_subquery()
        live = sa.and_(
            t.leases.c.position == t.ratings.c.position, t.leases.c.step == step, t.leases.c.until > self.clock()
        )
        lent = sa.select(sa.func.count()).select_from(t.leases).where(live).scalar_subquery()
        wanted = sa.and_(answered >= terms.votes, lent < 1) if terms.splits else answered + lent < terms.votes
        return sa.and_(t.ratings.c.worker.is_(None), ~said, wanted)

    @staticmethod
    def _first(connection: sa.Connection, step: int, which: sa.ColumnElement[bool]) -> Claim | None:
        chosen = sa.select(t.ratings.c.position).where(sql.open_ones, t.ratings.c.step == step, which)
        position = connection.scalar(chosen.order_by(t.ratings.c.position).limit(1))
        if position is None:
            return None
        (claim,) = sql.claims(connection, sa.and_(t.ratings.c.step == step, t.ratings.c.position == position))
        return claim


def votes_on(connection: sa.Connection, claim: Claim) -> list[Vote]:
    """What was said to a question so far, in order."""
    rows = connection.execute(sa.select(t.answers).where(of(t.answers, claim)).order_by(t.answers.c.id))
    return [Vote(row.annotator, row.value, row.note or "") for row in rows]


def of(table: sa.Table, claim: Claim) -> sa.ColumnElement[bool]:
    """Rows of a table that belong to the question."""
    return sa.and_(table.c.position == claim.position, table.c.step == claim.step)
