"""The queue for people: questions on loan for a time, and answers that name who gave them.

A lease ends by itself: when its time is up the question is free for others, and nobody has to notice. The clock is an
argument. One who answers after that is heard as long as the question is open.
"""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import sqlalchemy as sa

from ratewise.store import chain, lending
from ratewise.store import schema as t
from ratewise.store import statements as sql
from ratewise.store.hourly import Hourly
from ratewise.store.records import Claim, now
from ratewise.store.store import Store
from ratewise.store.votes import Rule, Vote, name_key, one_answer

Price = int | Hourly  # of an item, however many answer; or by the time that each of them takes
Heard = Literal["settled", "more answers are needed", "was settled before"]
_WAITS = 10.0  # seconds that one who got no question is taken to wait; pages ask again every two
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
            sql.take_turn(connection)  # one after the other
            found = self.first_for(connection, person, step, terms)
            if found is None:
                self.leave_without(connection, person, step)
                return None
            return self.lend(connection, found, person, seconds)

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
        self,
        claim: Claim,
        person: str,
        value: float | None,
        *,
        note: str = "",
        price: Price = 0,
        rule: Rule = one_answer,
    ) -> Heard:
        """Write down what a person says; where the rule says so, the rating is settled and its price paid.

        Until then the same person may answer again, which replaces what they said.
        """
        return self.take(claim, person, Said(value, note), price=price, rule=rule)

    def take(self, claim: Claim, person: str, said: Said, *, price: Price = 0, rule: Rule = one_answer) -> Heard:
        """The same for an answer with all that is known of how it was given."""
        with self.store.writing() as connection:
            sql.take_turn(connection)
            now_open = self.open_one(connection, claim.position, claim.step)
            if now_open is None or now_open.attempt != claim.attempt:
                return "was settled before"
            return self.hear(connection, claim, person, said, price=price, rule=rule)

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
        row = lending.CLAIM.first(connection, {"position": position, "step": step})
        if row is None:
            return None
        place, of_step, attempts, name, content, own = row
        prices = None if own is None else tuple(json.loads(own))
        return Claim(place, of_step, attempts + 1, name, content, prices)

    def first_for(self, connection: sa.Connection, person: str, step: int, terms: Terms) -> Claim | None:
        """The question this person has in hand, or the first that they may answer; what they skipped comes last."""
        position = lending.NEXT[terms.splits].scalar(connection, self._which(person, step, terms))
        return None if position is None else self.open_one(connection, position, step)

    def _which(self, person: str, step: int, terms: Terms) -> dict[str, Any]:
        return {"person": person, "step": step, "at": self.clock(), "votes": terms.votes}

    def lend(self, connection: sa.Connection, claim: Claim, person: str, seconds: float) -> Lease:
        """Write the lease down; leases of this question that have ended go."""
        until = self.clock() + seconds
        here = {"here": claim.position, "of_step": claim.step, "person": person, "at": self.clock()}
        lending.END_LEASES.run(connection, here)
        values = {"position": claim.position, "step": claim.step, "holder": person, "until": until}
        lending.LEND.run(connection, values)
        return Lease(claim, person, until)

    def leave_without(self, connection: sa.Connection, person: str, step: int) -> None:
        """Note for a moment that this person asked for a question and got none, for whoever plans the next round."""
        now_at = self.clock()
        here = {"here": lending.NOTHING, "of_step": step, "person": person, "at": now_at}
        lending.END_LEASES.run(connection, here)
        row = {"position": lending.NOTHING, "step": step, "holder": person, "until": now_at + _WAITS}
        lending.LEND.run(connection, row)

    def hear(
        self, connection: sa.Connection, claim: Claim, person: str, said: Said, *, price: Price, rule: Rule
    ) -> Heard:
        """Write an answer to an open question down, and settle it where the rule says so."""
        votes = votes_on(connection, claim)
        for vote in [vote for vote in votes if name_key(vote.annotator) == name_key(person)]:
            self.unsay(connection, claim, vote.annotator)
            votes.remove(vote)
        row = {"annotator": person, "value": said.value, "note": said.note or None, "at": now()}
        more = {"seconds": said.seconds, "sides": said.sides, "flagged": said.flagged}
        row |= {name: value for name, value in more.items() if value is not None}
        chain.insert(connection, t.answers, [{"position": claim.position, "step": claim.step, **row}])
        here = {"here": claim.position, "of_step": claim.step}
        votes.append(Vote(person, said.value, said.note, said.seconds))
        verdict = rule(votes)
        if verdict is None:
            lending.END_LEASES.run(connection, {**here, "person": person, "at": 0.0})
            return "more answers are needed"
        paid = price if isinstance(price, int) else price.pay(vote.seconds for vote in votes)
        sql.settle_one(connection, claim, paid, verdict.value, said.note or None)
        lending.ALL_LEASES.run(connection, here)
        return "settled"

    @staticmethod
    def unsay(connection: sa.Connection, claim: Claim, person: str) -> bool:
        """Take out what this person said to the question; False where they said nothing."""
        mine = {"here": claim.position, "of_step": claim.step, "person": person}
        if not lending.UNSAY.change(connection, mine):
            return False
        chain.removed(connection, t.answers, _QUESTION, [[claim.position, claim.step, person]])
        return True

    def free_for(self, connection: sa.Connection, person: str, step: int, terms: Terms) -> int:
        """How many questions this person could be given now, with the one in hand."""
        return int(connection.scalar(lending.COUNT[terms.splits], self._which(person, step, terms)) or 0)


def votes_on(connection: sa.Connection, claim: Claim) -> list[Vote]:
    """What was said to a question so far, in order."""
    rows = lending.VOTES.all(connection, {"position": claim.position, "step": claim.step})
    return [Vote(annotator, value, note or "", seconds) for annotator, value, note, seconds in rows]


def of(table: sa.Table, claim: Claim) -> sa.ColumnElement[bool]:
    """Rows of a table that belong to the question."""
    return sa.and_(table.c.position == claim.position, table.c.step == claim.step)
