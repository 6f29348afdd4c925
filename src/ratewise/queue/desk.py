"""The queue for people: questions on loan for a time, and answers that name who gave them.

A lease ends by itself: when its time is up the question is free for others, and nobody has to notice. The clock is an
argument. One who answers after that is heard as long as the question is open.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import sqlalchemy as sa

from ratewise.queue import chain
from ratewise.queue import schema as t
from ratewise.queue import statements as sql
from ratewise.queue.records import Claim, Outcome, now
from ratewise.queue.store import Store
from ratewise.queue.votes import Rule, Vote, one_answer

Heard = Literal["settled", "more answers are needed", "was settled before"]


@dataclass(frozen=True, slots=True)
class Lease:
    """A question in the hands of a person, until a moment in seconds since 1970."""

    claim: Claim
    holder: str
    until: float


@dataclass(frozen=True, slots=True)
class Desk:
    """Where people get questions and hand in answers."""

    store: Store
    clock: Callable[[], float] = time.time

    def lease(self, person: str, step: int, *, seconds: float, votes: int = 1) -> Lease | None:
        """The question this person has in hand, for some more time; or else the first that wants an answer of theirs.

        No more people have a question in hand than it takes votes, and nobody gets one twice.
        """
        with self.store.writing() as connection:
            sql.bound(connection)  # one after the other
            mine = t.ratings.c.position.in_(self._live(step).where(t.leases.c.holder == person))
            found = self._first(connection, step, mine) or self._first(
                connection, step, self._free(person, step, votes)
            )
            if found is None:
                return None
            until = self.clock() + seconds
            here = sa.and_(t.leases.c.position == found.position, t.leases.c.step == step)
            ended = sa.or_(t.leases.c.holder == person, t.leases.c.until <= self.clock())
            connection.execute(t.leases.delete().where(here, ended))
            values = {"position": found.position, "step": step, "holder": person, "until": until}
            connection.execute(t.leases.insert().values(values))
        return Lease(found, person, until)

    def renew(self, lease: Lease, *, seconds: float) -> Lease | None:
        """Extend the lease; None where it has ended."""
        until = self.clock() + seconds
        mine = sa.and_(_of(t.leases, lease.claim), t.leases.c.holder == lease.holder, t.leases.c.until > self.clock())
        with self.store.writing() as connection:
            kept = connection.execute(t.leases.update().where(mine).values(until=until)).rowcount
        return Lease(lease.claim, lease.holder, until) if kept else None

    def give_back(self, lease: Lease) -> None:
        """Free the question for others, and for this person, too."""
        mine = sa.and_(_of(t.leases, lease.claim), t.leases.c.holder == lease.holder)
        with self.store.writing() as connection:
            connection.execute(t.leases.delete().where(mine))

    def answer(
        self, claim: Claim, person: str, value: float | None, *, note: str = "", price: int = 0, rule: Rule = one_answer
    ) -> Heard:
        """Write down what a person says; where the rule says so, the rating is settled and its price paid.

        Until then the same person may answer again, which replaces what they said.
        """
        with self.store.writing() as connection:
            sql.bound(connection)
            if not sql.still_open(connection, [claim]):
                return "was settled before"
            mine = sa.and_(_of(t.answers, claim), t.answers.c.annotator == person)
            if connection.execute(t.answers.delete().where(mine)).rowcount:
                keys, row = ["position", "step", "annotator"], [claim.position, claim.step, person]
                chain.removed(connection, t.answers, keys, [row])
            said = {"annotator": person, "value": value, "note": note or None, "at": now()}
            chain.insert(connection, t.answers, [{"position": claim.position, "step": claim.step, **said}])
            connection.execute(t.leases.delete().where(_of(t.leases, claim), t.leases.c.holder == person))
            verdict = rule(self._votes(connection, claim))
            if verdict is None:
                return "more answers are needed"
            sql.settle(connection, [Outcome(claim, price, verdict.value, note or None)], None)
            connection.execute(t.leases.delete().where(_of(t.leases, claim)))
        return "settled"

    def question(self, position: int, step: int) -> Claim | None:
        """A question that is open; None where it is not."""
        here = sa.and_(t.ratings.c.position == position, t.ratings.c.step == step)
        with self.store.reading() as connection:
            return self._first(connection, step, here)

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
            return self._votes(connection, claim)

    @staticmethod
    def _votes(connection: sa.Connection, claim: Claim) -> list[Vote]:
        rows = connection.execute(sa.select(t.answers).where(_of(t.answers, claim)).order_by(t.answers.c.id))
        return [Vote(row.annotator, row.value, row.note or "") for row in rows]

    def _live(self, step: int) -> sa.Select[Any]:
        return sa.select(t.leases.c.position).where(t.leases.c.step == step, t.leases.c.until > self.clock())

    def _free(self, person: str, step: int, votes: int) -> sa.ColumnElement[bool]:
        """Questions in no process's hands that want another answer, and have none of this person."""
        said = sa.select(t.answers.c.position).where(t.answers.c.step == step)
        here = sa.and_(t.answers.c.position == t.ratings.c.position, t.answers.c.step == step)
        answered = sa.select(sa.func.count()).select_from(t.answers).where(here).scalar_subquery()
        live = sa.and_(
            t.leases.c.position == t.ratings.c.position, t.leases.c.step == step, t.leases.c.until > self.clock()
        )
        lent = sa.select(sa.func.count()).select_from(t.leases).where(live).scalar_subquery()
        return sa.and_(
            t.ratings.c.worker.is_(None),
            t.ratings.c.position.not_in(said.where(t.answers.c.annotator == person)),
            answered + lent < votes,
        )

    @staticmethod
    def _first(connection: sa.Connection, step: int, which: sa.ColumnElement[bool]) -> Claim | None:
        chosen = sa.select(t.ratings.c.position).where(sql.open_ones, t.ratings.c.step == step, which)
        position = connection.scalar(chosen.order_by(t.ratings.c.position).limit(1))
        if position is None:
            return None
        (claim,) = sql.claims(connection, sa.and_(t.ratings.c.step == step, t.ratings.c.position == position))
        return claim


def _of(table: sa.Table, claim: Claim) -> sa.ColumnElement[bool]:
    return sa.and_(table.c.position == claim.position, table.c.step == claim.step)
