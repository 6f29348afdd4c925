"""Questions for people: lent for a time, answered under the name of the one who has them, settled by votes.

A lease ends by itself: when its time is up the question is free for others, and nobody has to notice. The clock is an
argument. One who answers after that is heard as long as the question is open.

On the page, a question is handed out under a key of its own, so that every answer counts once and can be taken back. A
key belongs to one person and one question. The same answer sent twice under a key is one answer; what is sent under a
key whose answer was taken back is refused, and the question has a new key by then. Each transaction is whole or not at
all, so that a server may be killed at any moment.

Training items, checks with known answers and repeats of a person's own questions have keys as all questions have, so
that nobody can tell them apart, and what is said to them stays with the key: it never reaches the tables that the
estimate is made of. Checks and repeats are paid like answers.
"""

import secrets
import time
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from statistics import median
from typing import Any, Literal, cast

import sqlalchemy as sa

from ratewise.store import chain
from ratewise.store import ledger as sql
from ratewise.store import queries as q
from ratewise.store.money import Hourly
from ratewise.store.queries import Key
from ratewise.store.queue import Claim, Outcome, now
from ratewise.store.store import Store

Price = int | Hourly  # of an item, however many answer; or by the time that each of them takes
Heard = Literal["settled", "more answers are needed", "was settled before"]
Taken = Literal["new", "same", "another", "too late", "unknown"]
What = Literal["training", "check", "repeat"]
TRAINING: Literal["training"] = "training"
_WAITS = 10.0  # seconds that one who got no question is taken to wait; pages ask again every two


# Votes


@dataclass(frozen=True, slots=True)
class Vote:
    """What one annotator said to a question, None for cannot tell, and what the page knows of how it was given."""

    annotator: str
    value: float | None
    note: str = ""
    seconds: float | None = None  # that it took; None where nobody timed it
    sides: str | None = None  # of a comparison, as this person saw it
    flagged: bool | None = None  # for others to look at


Settled = tuple[float | None]  # the rating of a question that is settled; None: it is missing
Rule = Callable[[Sequence[Vote]], Settled | None]  # None: more answers are needed


def name_key(name: str) -> str:
    """A name as people are told apart by it: Ben and ben are one person, and have one vote."""
    return " ".join(unicodedata.normalize("NFKC", name).split()).casefold()


def one_answer(votes: Sequence[Vote]) -> Settled | None:
    """The first answer settles."""
    return (votes[0].value,) if votes else None


def median_of(k: int) -> Rule:
    """Settles when k annotators have answered, at their median: for yes and no, the majority.

    Where they are split evenly, the rating is the mean of the two middle answers: of one yes and one no, 0.5. Those who
    cannot tell do not count; if nobody can, the rating is missing.
    """

    def rule(votes: Sequence[Vote]) -> Settled | None:
        if len(votes) < k:
            return None
        values = [vote.value for vote in votes if vote.value is not None]
        return (median(values) if values else None,)

    return rule


def decided_by(k: int, referee: str) -> Rule:
    """Settles when k others agree; where they do not, the named person decides, who sees none of their answers."""

    def rule(votes: Sequence[Vote]) -> Settled | None:
        theirs = [vote.value for vote in votes if name_key(vote.annotator) != name_key(referee)]
        if len(theirs) < k:
            return None
        if len(set(theirs)) == 1:
            return (theirs[0],)
        return next(((vote.value,) for vote in votes if name_key(vote.annotator) == name_key(referee)), None)

    return rule


# Leases, keys and answers


@dataclass(frozen=True, slots=True)
class Lease:
    """A question in the hands of a person, until a moment in seconds since 1970; on the page, under its key."""

    claim: Claim
    holder: str
    until: float
    key: str = ""
    sides: str | None = None  # of a comparison, as they are to see it


@dataclass(frozen=True, slots=True)
class LeaseTerms:
    """How questions of a step are lent: for how long, for how many votes, and who decides where votes split."""

    seconds: float
    votes: int = 1
    splits: bool = False  # lend only questions that have all their votes and are open still


@dataclass(frozen=True, slots=True)
class NextCheck:
    """A question to hand out that is no vote; a known item has a position below 0, −1 for the first."""

    what: What
    position: int
    attempt: int = 0  # of training: which try it is
    sides: str | None = None


@dataclass(frozen=True, slots=True)
class Handouts:
    """What one person was given of a step so far, in order."""

    slot: int  # how many questions, training left out
    turn: int  # answers so far
    checks: frozenset[int]
    repeated: frozenset[int]
    answered: tuple[tuple[int, int], ...]  # (turn, position) of their answers to questions of the campaign
    training: tuple[tuple[int, bool], ...]  # (try, right) of training items that are done

    @classmethod
    def of(cls, rows: Sequence[Key]) -> "Handouts":
        """From the rows of a person and step."""
        real = [row for row in rows if row.what is None]
        done = [row for row in rows if row.what == TRAINING and row.state != "open"]
        return cls(
            len(rows) - sum(row.what == TRAINING for row in rows), max((row.turn or 0 for row in rows), default=0),
            frozenset(row.position for row in rows if row.what == "check"),
            frozenset(row.position for row in rows if row.what == "repeat"),
            tuple((row.turn or 0, row.position) for row in real if row.state == "answered"),
            tuple((row.attempt, bool(row.agrees)) for row in done),
        )  # fmt: skip


Choose = Callable[[Handouts], NextCheck | None]


class Desk:
    """Where people get questions and hand in answers."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.time) -> None:
        self.store, self.clock = store, clock

    @contextmanager
    def _turn(self) -> Iterator[sa.Connection]:
        """A transaction that writes when all others have: one person after the other."""
        with self.store.writing() as connection:
            chain.take_turn(connection)
            yield connection

    # By the question

    def lease(self, person: str, step: int, terms: LeaseTerms) -> Lease | None:
        """The question this person has in hand, for some more time; or else the first that wants an answer of theirs.

        No more people have a question in hand than it takes votes, and nobody gets one twice.
        """
        with self._turn() as connection:
            found = self._first(connection, person, step, terms)
            return None if found is None else self._lend(connection, found, person, terms.seconds)

    def free_all(self, person: str) -> None:
        """Free whatever a person has in hand, who will not come back."""
        with self.store.writing() as connection:
            _free(connection, holder=person)

    def hold(self, step: int, positions: Sequence[int], holder: str, *, seconds: float, votes: int) -> None:
        """Keep these questions from the page for a time: as many leases each as it takes votes."""
        names = [holder if votes == 1 else f"{holder} ({n})" for n in range(1, votes + 1)]
        more = {"step": step, "until": self.clock() + seconds}
        rows = [{"position": p, "holder": name, **more} for p in positions for name in names]
        with self.store.writing() as connection:
            for name in names:
                _free(connection, step=step, holder=name)
            if rows:
                q.insertion("leases", tuple(rows[0])).many(connection, rows)

    def answer(self, claim: Claim, said: Vote, *, price: Price = 0, rule: Rule = one_answer) -> Heard:
        """Write down what a person says; where the rule says so, the rating is settled and its price paid.

        Until then the same person may answer again, which replaces what they said.
        """
        with self._turn() as connection:
            now_open = _open(connection, claim.position, claim.step)
            if now_open is None or now_open.attempt != claim.attempt:
                return "was settled before"
            return self._hear(connection, claim, said, price=price, rule=rule)

    def question(self, position: int, step: int) -> Claim | None:
        """A question that is open; None where it is not."""
        return self.store.read(_open, position, step)

    def open(self, step: int) -> list[Claim]:
        """All questions of a step that are open and in no process's hands, in the order of the items."""
        return self.store.read(sql.claims, q.UNCLAIMED_OF_STEP, step=step)

    def settled(self, step: int) -> dict[str, float | None]:
        """What was answered for a step, by the item's id; None where it was that nobody can tell."""
        return {str(item): value for item, value in self.store.read(q.SETTLED.all, step=step)}

    def taken(self, step: int) -> dict[int, int]:
        """How many answers and people in hand each question of a step has now; those with none are left out."""
        out: dict[int, int] = {}
        with self.store.reading() as connection:
            counts = (*q.ANSWERED.all(connection, step=step), *q.LENT.all(connection, step=step, at=self.clock()))
        for position, count in counts:
            out[position] = out.get(position, 0) + count
        return out

    # By the key

    def hand_out(
        self, person: str, step: int, terms: LeaseTerms, *, tries: int, compares: bool = False
    ) -> Lease | None:
        """The question this person has in hand under its key, or the next one; None where there is none.

        What they skipped comes last. One that so many were given without an answer is given up, and missing.
        """
        with self._turn() as connection:
            found = self._first(connection, person, step, terms)
            while found is not None and not self._has_tries(connection, found, tries):
                gone = Outcome(found, 0, note=f"given up: {tries} were given it, none answered")
                sql.settle(connection, [gone], None)
                _free(connection, position=found.position, step=found.step)
                found = self._first(connection, person, step, terms)
            if found is None:
                return None
            lease = self._lend(connection, found, person, terms.seconds)
            key, sides = self._key(connection, found, person, compares=compares)
            return replace(lease, key=key, sides=sides)

    def renew(self, person: str, key: str, terms: LeaseTerms) -> float | None:
        """Some more time for the question; None where it is settled, or others have it by now."""
        with self.store.writing() as connection:
            row = _row(connection, person, key)
            claim = None if row is None else _open(connection, row.position, row.step)
            if row is None or claim is None or row.state != "open" or claim.attempt != row.attempt:
                return None
            if row.position not in q.IN_HAND.column(connection, person=person, step=row.step, at=self.clock()):
                chain.take_turn(connection)
                again = self.could_have(connection, person, row.step, terms)
                if again is None or again.position != row.position:
                    return None
            return self._lend(connection, claim, person, terms.seconds).until

    def skip(self, person: str, key: str) -> Taken:
        """Leave the question to others; this person gets it again when nothing else is left."""
        with self._turn() as connection:
            row = _row(connection, person, key)
            if row is None:
                return "unknown"
            if row.state != "open":
                return "same" if row.state == "skipped" else "too late"
            _change(connection, row, state="skipped")
            _free(connection, position=row.position, step=row.step, holder=person)
            return "new"

    def answer_key(self, key: str, said: Vote, *, price: Price, rule: Rule) -> Taken:
        """Take an answer: the same again changes nothing, another one to an answered key is refused."""
        with self._turn() as connection:
            row = _row(connection, said.annotator, key)
            if row is None:
                return "unknown"
            if row.state == "answered":
                before = _said(connection, row)
                same = before is not None and (before[0], before[1] or "") == (said.value, said.note)
                return "same" if same else "another"
            claim = _open(connection, row.position, row.step)
            if row.state == "undone" or claim is None or claim.attempt != row.attempt:
                return "too late"
            if isinstance(price, Hourly):
                said = replace(said, seconds=price.counted(said.seconds, self.clock() - row.at))
            self._hear(connection, claim, said, price=price, rule=rule)
            _change(connection, row, state="answered", turn=_next_turn(connection, said.annotator))
            return "new"

    def undo(self, person: str, seconds: float) -> Key | None:
        """Take back this person's last answer and its payment: what had been said, under its question's new key.

        None where it is too late: when the round is closed, or when somebody was drawn by the answer.
        """
        with self._turn() as connection:
            found = q.LAST_ANSWERED.first(connection, person=person)
            if found is None:
                return None
            row = Key(*found)
            if row.what is not None:
                _free(connection, holder=person)
                _change(connection, row, state="undone")
                sql.pay_beside(connection, row.step, -(row.paid or 0))
                again = NextCheck(cast(What, row.what), row.position, row.attempt, row.sides)
                return row._replace(key=_new_check(connection, again, person, row.step, self.clock()))
            claim = _open(connection, row.position, row.step)
            if claim is None:
                if not sql.take_back(connection, row.position, row.step, row.attempt):
                    return None
                claim = _open(connection, row.position, row.step)
            before = _said(connection, row)
            assert claim is not None
            assert before is not None
            _unsay(connection, claim, person)
            _change(connection, row, state="undone")
            q.END_OTHERS.change(connection, person=person, position=claim.position, step=claim.step)
            self._lend(connection, claim, person, seconds)
            key, _ = self._key(connection, claim, person, compares=row.sides is not None, sides=row.sides)
            value, note, *_, sides, flagged = before
            return row._replace(key=key, value=value, note=note, sides=sides, flagged=flagged)

    def of_key(self, person: str, key: str) -> Key | None:
        """The row of this person's key; None where it is no key of theirs."""
        return self.store.read(_row, person, key)

    def done(self, person: str) -> int:
        """How many answers this person has given that stand."""
        return int(self.store.read(q.DONE.scalar, person=person))

    def left(self, person: str, step: int, terms: LeaseTerms) -> int:
        """How many questions are open for this person now, with the one in hand."""
        which = {"person": person, "step": step, "at": self.clock(), "votes": terms.votes}
        return int(self.store.read(q.LEFT[terms.splits].scalar, **which))

    def has_one(self, person: str, step: int) -> bool:
        """Whether this person has a question of the campaign in hand."""
        return self.store.read(q.IN_HAND.first, person=person, step=step, at=self.clock()) is not None

    # Training, checks and repeats

    def hand_out_check(
        self, person: str, step: int, terms: LeaseTerms, choose: Choose, *, price: int, most: int | None
    ) -> Key | None:
        """The one this person has in hand, or the one that is chosen now; None: a question of the campaign is due.

        Checks and repeats come only where a question of the campaign could come instead, and at their price all of them
        cost no more than `most`; None: no limit.
        """
        with self._turn() as connection:
            rows = _given(connection, person, step)
            held = next((row for row in rows if row.what is not None and row.state == "open"), None)
            if held is not None:
                return held
            if q.IN_HAND.first(connection, person=person, step=step, at=self.clock()) is not None:
                return None
            chosen = choose(Handouts.of(rows))
            if chosen is None:
                return None
            if chosen.what != TRAINING:
                bound = sql.paid_beside(connection) + (int(q.OPEN_CHECKS.scalar(connection)) + 1) * price
                if most is not None and bound > most:
                    return None
                if not self.could_have(connection, person, step, terms):
                    return None
            return _row(connection, person, _new_check(connection, chosen, person, step, self.clock()))

    def given(self, person: str, step: int) -> tuple[Handouts, bool]:
        """What a person was given so far, and whether they have a question in hand that is no vote."""
        rows = self.handed(person, step)
        return Handouts.of(rows), any(row.what is not None and row.state == "open" for row in rows)

    def handed(self, person: str, step: int) -> list[Key]:
        """All questions that this person was given, in order."""
        return self.store.read(_given, person, step)

    def said_before(self, person: str, position: int, step: int) -> tuple[float | None] | None:
        """What this person has said to a question of the campaign; None where nothing stands."""
        row = self.store.read(q.SAID.first, position=position, step=step, person=person)
        return None if row is None else (row[0],)

    def content(self, position: int) -> str:
        """The row of an item, as JSON."""
        return str(self.store.read(q.CONTENT.scalar, position=position))

    def answer_check(self, key: str, said: Vote, *, agrees: bool | None, price: int) -> Taken:
        """Take what is said to a question that is no vote, once; answers as `answer_key` does."""
        with self._turn() as connection:
            row = _row(connection, said.annotator, key)
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
                values |= {"state": "answered", "turn": _next_turn(connection, row.person), "paid": price}
                sql.pay_beside(connection, row.step, price)
            _change(connection, row, **values)
            return "new"

    # Inside a transaction

    def _first(self, connection: sa.Connection, person: str, step: int, terms: LeaseTerms) -> Claim | None:
        """The question this person has in hand, or the first that they may answer; what they skipped comes last.

        Where there is none, it is noted for a moment, for whoever plans the next round.
        """
        found = self.could_have(connection, person, step, terms)
        if found is None:
            self._write_lease(connection, q.NOTHING, step, person, _WAITS)
        return found

    def could_have(self, connection: sa.Connection, person: str, step: int, terms: LeaseTerms) -> Claim | None:
        """The question that this person would be given now; None where there is none."""
        which = {"person": person, "step": step, "at": self.clock(), "votes": terms.votes}
        position = q.NEXT[terms.splits].scalar(connection, **which)
        return None if position is None else _open(connection, position, step)

    def _lend(self, connection: sa.Connection, claim: Claim, person: str, seconds: float) -> Lease:
        return Lease(claim, person, self._write_lease(connection, claim.position, claim.step, person, seconds))

    def _write_lease(self, connection: sa.Connection, position: int, step: int, person: str, seconds: float) -> float:
        """Write the lease down until the moment that is returned; leases of this question that have ended go."""
        at = self.clock()
        q.END_LEASES.change(connection, position=position, step=step, person=person, at=at)
        row = {"position": position, "step": step, "holder": person, "until": at + seconds}
        q.insertion("leases", tuple(row)).many(connection, [row])
        return at + seconds

    def _hear(self, connection: sa.Connection, claim: Claim, said: Vote, *, price: Price, rule: Rule) -> Heard:
        """Write an answer to an open question down, and settle it where the rule says so."""
        votes, person = _votes(connection, claim), said.annotator
        for vote in [vote for vote in votes if name_key(vote.annotator) == name_key(person)]:
            _unsay(connection, claim, vote.annotator)
            votes.remove(vote)
        row: dict[str, Any] = {
            "position": claim.position, "step": claim.step, "annotator": person, "value": said.value,
            "note": said.note or None, "at": now(),
        }  # fmt: skip
        more = {"seconds": said.seconds, "sides": said.sides, "flagged": said.flagged}
        row |= {name: value for name, value in more.items() if value is not None}
        chain.insert(connection, "answers", [row])
        votes.append(said)
        settled = rule(votes)
        if settled is None:
            _free(connection, position=claim.position, step=claim.step, holder=person)
            return "more answers are needed"
        paid = price if isinstance(price, int) else price.pay(vote.seconds for vote in votes)
        sql.settle(connection, [Outcome(claim, paid, settled[0], said.note or None)], None)
        _free(connection, position=claim.position, step=claim.step)
        return "settled"

    def _has_tries(self, connection: sa.Connection, claim: Claim, tries: int) -> bool:
        """Whether the question may be handed out once more; those who let its time run out are noted first."""
        here = {"position": claim.position, "step": claim.step}
        rows = q.STATES.all(connection, **here, attempt=claim.attempt)
        live = set(q.LIVE.column(connection, **here, at=self.clock())) if rows else set()
        gone = [key for key, person, state in rows if state == "open" and person not in live]
        chain.update(connection, "handed", ["key"], [{"state": "lapsed", "key": key} for key in gone])
        return len(gone) + sum(state in ("skipped", "lapsed") for _, _, state in rows) < tries

    def _key(
        self, connection: sa.Connection, claim: Claim, person: str, *, compares: bool, sides: str | None = None
    ) -> tuple[str, str | None]:
        """(key, sides) of a question that a person has in hand; new where they had no key or it has ended."""
        mine = {"position": claim.position, "step": claim.step, "attempt": claim.attempt, "person": person}
        row = q.OPEN_KEY.first(connection, **mine)
        if row is not None:
            return row[0], row[1]
        if compares and sides is None:
            sides = secrets.choice(("ab", "ba"))
        return _new_key(connection, {**mine, "sides": sides, "at": self.clock()}), sides


def _open(connection: sa.Connection, /, position: int, step: int) -> Claim | None:
    return next(iter(sql.claims(connection, q.CLAIM, position=position, step=step)), None)


def _votes(connection: sa.Connection, /, claim: Claim) -> list[Vote]:
    rows = q.VOTES.all(connection, position=claim.position, step=claim.step)
    return [Vote(annotator, value, note or "", seconds) for annotator, value, note, seconds in rows]


def _unsay(connection: sa.Connection, claim: Claim, person: str) -> None:
    chain.delete(connection, "answers", {"position": claim.position, "step": claim.step, "annotator": person})


def _free(connection: sa.Connection, **which: int | str) -> None:
    """End the leases with these columns."""
    q.deletion("leases", tuple(which)).change(connection, **which)


def _row(connection: sa.Connection, /, person: str, key: str) -> Key | None:
    """The row of a person's key; another's key is no key of theirs."""
    found = q.ROW.first(connection, key=key, person=person)
    return None if found is None else Key(*found)


def _new_key(connection: sa.Connection, row: dict[str, Any]) -> str:
    new = {**row, "key": secrets.token_urlsafe(12), "state": "open"}
    chain.insert(connection, "handed", [new])
    return str(new["key"])


def _change(connection: sa.Connection, row: Key, **values: Any) -> None:
    chain.update(connection, "handed", ["key"], [{**values, "key": row.key}])


def _next_turn(connection: sa.Connection, person: str) -> int:
    return int(q.LAST_TURN.scalar(connection, person=person)) + 1


def _said(connection: sa.Connection, row: Key) -> q.Row | None:
    """(value, note, seconds, sides, flagged) that the person of a key has said; None where nothing stands."""
    return q.SAID.first(connection, position=row.position, step=row.step, person=row.person)


def _given(connection: sa.Connection, /, person: str, step: int) -> list[Key]:
    return [Key(*row) for row in q.GIVEN.all(connection, person=person, step=step)]


def _new_check(connection: sa.Connection, chosen: NextCheck, person: str, step: int, at: float) -> str:
    row = {"person": person, "position": chosen.position, "step": step, "attempt": chosen.attempt}
    return _new_key(connection, {**row, "sides": chosen.sides, "at": at, "what": chosen.what})
