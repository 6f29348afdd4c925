"""The queue for people: questions on loan for a time, and answers that name who gave them.

A lease ends by itself: when its time is up the question is free for others, and nobody has to notice. The clock is an
argument. One who answers after that is heard as long as the question is open.
"""

import json
import secrets
import time
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any, Literal, NamedTuple

import sqlalchemy as sa

from ratewise.store import chain, queries
from ratewise.store import ledger as sql
from ratewise.store import schema as t
from ratewise.store.money import Hourly
from ratewise.store.queue import CHECK, OPEN, UNCHECK, UNDO, Claim, Outcome, now
from ratewise.store.store import Store


@dataclass(frozen=True, slots=True)
class Vote:
    """What one annotator said to a question; no value: cannot tell."""

    annotator: str
    value: float | None
    note: str = ""
    seconds: float | None = None  # that it took; None where nobody timed it


def name_key(name: str) -> str:
    """A name as people are told apart by it: Ben and ben are one person, and have one vote."""
    return " ".join(unicodedata.normalize("NFKC", name).split()).casefold()


@dataclass(frozen=True, slots=True)
class Verdict:
    """The rating of a question that is settled; no value: it is missing."""

    value: float | None


Rule = Callable[[Sequence[Vote]], Verdict | None]  # None: more answers are needed


def one_answer(votes: Sequence[Vote]) -> Verdict | None:
    """The first answer settles."""
    return Verdict(votes[0].value) if votes else None


def median_of(k: int) -> Rule:
    """Settles when k annotators have answered, at their median: for yes and no, the majority.

    Where they are split evenly, the rating is the mean of the two middle answers: of one yes and one no, 0.5. Those who
    cannot tell do not count; if nobody can, the rating is missing.
    """

    def rule(votes: Sequence[Vote]) -> Verdict | None:
        if len(votes) < k:
            return None
        values = [vote.value for vote in votes if vote.value is not None]
        return Verdict(median(values) if values else None)

    return rule


def decided_by(k: int, referee: str) -> Rule:
    """Settles when k others agree; where they do not, the named person decides, who sees none of their answers."""

    def rule(votes: Sequence[Vote]) -> Verdict | None:
        theirs = [vote.value for vote in votes if name_key(vote.annotator) != name_key(referee)]
        if len(theirs) < k:
            return None
        if len(set(theirs)) == 1:
            return Verdict(theirs[0])
        return next((Verdict(vote.value) for vote in votes if name_key(vote.annotator) == name_key(referee)), None)

    return rule


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
        row = queries.CLAIM.first(connection, {"position": position, "step": step})
        if row is None:
            return None
        place, of_step, attempts, name, content, own = row
        prices = None if own is None else tuple(json.loads(own))
        return Claim(place, of_step, attempts + 1, name, content, prices)

    def first_for(self, connection: sa.Connection, person: str, step: int, terms: Terms) -> Claim | None:
        """The question this person has in hand, or the first that they may answer; what they skipped comes last."""
        position = queries.NEXT[terms.splits].scalar(connection, self._which(person, step, terms))
        return None if position is None else self.open_one(connection, position, step)

    def _which(self, person: str, step: int, terms: Terms) -> dict[str, Any]:
        return {"person": person, "step": step, "at": self.clock(), "votes": terms.votes}

    def lend(self, connection: sa.Connection, claim: Claim, person: str, seconds: float) -> Lease:
        """Write the lease down; leases of this question that have ended go."""
        until = self.clock() + seconds
        here = {"here": claim.position, "of_step": claim.step, "person": person, "at": self.clock()}
        queries.END_LEASES.run(connection, here)
        values = {"position": claim.position, "step": claim.step, "holder": person, "until": until}
        queries.LEND.run(connection, values)
        return Lease(claim, person, until)

    def leave_without(self, connection: sa.Connection, person: str, step: int) -> None:
        """Note for a moment that this person asked for a question and got none, for whoever plans the next round."""
        now_at = self.clock()
        here = {"here": queries.NOTHING, "of_step": step, "person": person, "at": now_at}
        queries.END_LEASES.run(connection, here)
        row = {"position": queries.NOTHING, "step": step, "holder": person, "until": now_at + _WAITS}
        queries.LEND.run(connection, row)

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
            queries.END_LEASES.run(connection, {**here, "person": person, "at": 0.0})
            return "more answers are needed"
        paid = price if isinstance(price, int) else price.pay(vote.seconds for vote in votes)
        sql.settle_one(connection, claim, paid, verdict.value, said.note or None)
        queries.ALL_LEASES.run(connection, here)
        return "settled"

    @staticmethod
    def unsay(connection: sa.Connection, claim: Claim, person: str) -> bool:
        """Take out what this person said to the question; False where they said nothing."""
        mine = {"here": claim.position, "of_step": claim.step, "person": person}
        if not queries.UNSAY.change(connection, mine):
            return False
        chain.removed(connection, t.answers, _QUESTION, [[claim.position, claim.step, person]])
        return True

    def free_for(self, connection: sa.Connection, person: str, step: int, terms: Terms) -> int:
        """How many questions this person could be given now, with the one in hand."""
        return int(connection.scalar(queries.COUNT[terms.splits], self._which(person, step, terms)) or 0)


def votes_on(connection: sa.Connection, claim: Claim) -> list[Vote]:
    """What was said to a question so far, in order."""
    rows = queries.VOTES.all(connection, {"position": claim.position, "step": claim.step})
    return [Vote(annotator, value, note or "", seconds) for annotator, value, note, seconds in rows]


def of(table: sa.Table, claim: Claim) -> sa.ColumnElement[bool]:
    """Rows of a table that belong to the question."""
    return sa.and_(table.c.position == claim.position, table.c.step == claim.step)


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
            if queries.IN_HAND.scalar(connection, which) is not None:
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
            row = connection.execute(queries.WHOLE_ROW, {"key": key, "person": person}).first()
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
            row = connection.execute(queries.WHOLE_ROW, {"key": key, "person": person}).first()
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
                last = int(queries.LAST_TURN.scalar(connection, {"of_person": person}) or 0)
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
            queries.ANSWERED.run(connection, {"row": row.number, "of_person": person})
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
                return Undone(reopen(connection, row, self.desk.clock()), said)
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
            return int(queries.DONE.scalar(connection, {"person": person}) or 0)

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
        rows = queries.STATES.all(connection, here)
        if not rows:
            return True
        live = {holder for (holder,) in queries.LIVE.all(connection, here)}
        gone = [number for number, person, state in rows if state == "open" and person not in live]
        if gone:
            connection.execute(t.handed.update().where(t.handed.c.number.in_(gone)).values(state="lapsed"))
        return len(gone) + sum(state in ("skipped", "lapsed") for _, _, state in rows) < tries

    def _key(
        self, connection: sa.Connection, claim: Claim, person: str, *, compares: bool, sides: str | None = None
    ) -> tuple[str, str | None]:
        """The key of a question that a person has in hand; a new one where they had none or it has ended."""
        mine = {"position": claim.position, "step": claim.step, "attempt": claim.attempt, "person": person}
        row = queries.OPEN_KEY.first(connection, mine)
        if row is not None:
            return str(row[0]), row[1]
        if compares and sides is None:
            sides = secrets.choice(("ab", "ba"))
        key = secrets.token_urlsafe(12)
        values = {**mine, "key": key, "sides": sides, "at": self.desk.clock(), "state": "open"}
        queries.HAND.run(connection, values)
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
    found = queries.ROW.first(connection, {"key": key, "person": person})
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
