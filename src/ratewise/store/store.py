"""The log of a campaign: rounds, questions, claims and money. Each method is one transaction, whole or not at all."""

import base64
import json
import os
import socket
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
import sqlalchemy as sa

from ratewise.errors import InputError, RatewiseError, StoreError
from ratewise.store import chain, queries
from ratewise.store import ledger as sql
from ratewise.store import schema as t
from ratewise.store.connection import Database, connect, damaged, told
from ratewise.store.money import total
from ratewise.store.queue import (
    CHECK,
    OPEN,
    TEXTS,
    UNCHECK,
    UNDO,
    AgainRows,
    Batch,
    Claim,
    Demand,
    Floats,
    ItemRows,
    NewAgain,
    NewBatch,
    NewDraws,
    Outcome,
    Refit,
    RoundRow,
    now,
)
from ratewise.store.sqlite import LEADER, is_alive, this_process

_LONGEST_NOTE = 2000


class Log:
    """A campaign's tables in SQLite or PostgreSQL, and what is common to all that is done with them."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._write = database.engine.execution_options(writes=True)
        self._read = database.engine
        self._moment: sa.Connection | None = None
        self._shared = threading.local()  # a transaction that several writes of this thread go into

    @classmethod
    def at(cls, store: str, folder: str, name: str) -> Self:
        """The log by the form of `store`: a file beside the TOML, or postgresql://…"""
        return cls(connect(store, folder, name))

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """One transaction that writes; what it changes is one entry of the record."""
        shared: sa.Connection | None = getattr(self._shared, "connection", None)
        if shared is not None:
            yield shared
            return
        self.database.check_present()
        with told(self.database.shown), self._write.begin() as connection:
            chain.start(connection)
            yield connection
            chain.seal(connection)

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """One consistent look."""
        shared: sa.Connection | None = getattr(self._shared, "connection", None)
        if shared is not None:
            yield shared
            return
        if self._moment is not None:
            with told(self.database.shown):
                yield self._moment
            return
        with told(self.database.shown), self._read.begin() as connection:
            yield connection

    @contextmanager
    def together(self) -> Iterator[None]:
        """Everything that this thread reads and writes inside is one transaction, and one entry of the record."""
        with self.writing() as connection, self._sharing(connection):
            yield

    @contextmanager
    def glancing(self) -> Iterator[None]:
        """Everything that this thread reads inside is read in one look."""
        with self.reading() as connection, self._sharing(connection):
            yield

    @contextmanager
    def _sharing(self, connection: sa.Connection) -> Iterator[None]:
        self._shared.connection = connection
        try:
            yield
        finally:
            self._shared.connection = None

    @contextmanager
    def still(self) -> Iterator[None]:
        """Hold one moment: everything read inside is of it, whatever others write meanwhile."""
        level = {"isolation_level": "REPEATABLE READ"} if self.database.shared else {}
        with told(self.database.shown), self._read.execution_options(**level).begin() as connection:
            if self.database.shared:  # a look may take its time; what writes may not
                connection.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = 0")
            self._moment = connection
            try:
                yield
            finally:
                self._moment = None

    def exists(self) -> bool:
        """Whether the campaign has begun."""
        with told(self.database.shown):
            if not self.database.exists():
                return False
            with self._read.begin() as connection:
                if t.is_foreign(connection):
                    raise InputError(
                        f"{self.database.shown} is a database, but no campaign of ratewise; nothing was changed: name "
                        "another file as the store"
                    )
                return t.version_of(connection) > 0 and connection.scalar(sql.meta("spec")) is not None

    def close(self) -> None:
        """Give locks and connections back."""
        self.database.leave()

    # Beginning

    def begin(self, meta: dict[str, str], rows: Iterable[Sequence[Any]], *, paid: int = 0) -> None:
        """Make the tables and load the items, all or nothing; does nothing where another process was first.

        `paid` is what the texts' embeddings have cost: the first entry of the ledger.
        """
        with told(self.database.shown), self.database.creating() as connection:
            t.migrate(connection)
            if connection.scalar(sql.meta("spec")) is None:
                chain.start(connection)
                self.database.load(connection, t.items, rows)  # in any order
                chain.add(connection, ["items", chain.ITEMS_EACH, chain.item_digests(connection)])
                facts = {"campaign": t.new_campaign_id(), **meta}
                chain.insert(connection, t.meta, [{"key": key, "value": value} for key, value in facts.items()])
                if paid:
                    chain.insert(connection, t.ledger, [{"kind": TEXTS, "amount": paid, "at": now()}])
                    sql.move(connection, 0, paid)
                chain.seal(connection)

    def upgrade(self) -> None:
        """Bring a campaign of an older version to this one."""
        with self.reading() as connection:
            current = t.version_of(connection) == t.VERSION
        if not current:
            with told(self.database.shown), self.database.creating() as connection:
                t.migrate(connection)

    def meta(self, key: str) -> str | None:
        """A fact about the campaign."""
        with self.reading() as connection:
            found: str | None = connection.scalar(sql.meta(key))
        return found

    def set_meta(self, key: str, value: str | None) -> None:
        """Change a fact; `None` forgets it."""
        with self.writing() as connection:
            sql.set_meta(connection, key, value)

    def note(self, text: str) -> None:
        """Add a note for users."""
        with self.writing() as connection:
            chain.insert(connection, t.events, [{"at": now(), "text": text[:_LONGEST_NOTE]}])

    def notes(self) -> list[tuple[str, str]]:
        """(when, what), in order."""
        with self.reading() as connection:
            rows = connection.execute(sa.select(t.events.c.at, t.events.c.text).order_by(t.events.c.id)).all()
        return [(at, text) for at, text in rows]

    def head(self) -> str:
        """Digest of everything written so far."""
        with self.reading() as connection:
            return chain.last(connection).head

    @contextmanager
    def sound(self) -> Iterator[None]:
        """Check an unexpected error against the file: if it is damaged, say that instead."""
        try:
            yield
        except RatewiseError:
            raise
        except Exception as error:
            found = self.damage() or [str(error)] * isinstance(error, json.JSONDecodeError)
            if found:
                raise damaged(self.database.shown, found[0]) from error
            raise

    def damage(self) -> list[str]:
        """What the database finds wrong with its own files."""
        with told(self.database.shown):
            return self.database.damage()


_EACH = 20_000  # items in one row

ROUNDS = sa.select(t.refits.c.round).where(t.refits.c.first == 0).order_by(t.refits.c.round)
_ONE = sa.select(t.refits).where(t.refits.c.round == sa.bindparam("number")).order_by(t.refits.c.first)


def keep(connection: sa.Connection, refit: Refit) -> bool:
    """Write a refit down; False where there is one of these rounds already."""
    sql.take_turn(connection)
    if connection.scalar(sa.select(sa.exists().where(t.refits.c.round == refit.round))):
        return False
    at = now()
    rows = [
        {"round": refit.round, "first": first, "labels": refit.labels, "at": at,
         "predictions": _packed(refit.predictions[first : first + _EACH])}
        for first in range(0, refit.predictions.size, _EACH)
    ]  # fmt: skip
    chain.insert(connection, t.refits, rows)
    return True


def read(connection: sa.Connection, number: int) -> Refit:
    """The refit after so many closed rounds."""
    rows = connection.execute(_ONE, {"number": number}).all()
    parts, at = [], 0
    for row in rows:
        part = _unpacked(row.predictions)
        if row.first != at or not np.all(np.isfinite(part)):
            raise StoreError(f"the refit after round {number} is not whole in the store; restore it from a backup")
        parts.append(part)
        at += part.size
    return Refit(number, int(rows[0].labels), np.concatenate(parts))


def _packed(predictions: Floats) -> str:
    return base64.b64encode(predictions.astype("<f4").tobytes()).decode()


def _unpacked(text: str) -> Floats:
    try:
        return np.frombuffer(base64.b64decode(text, validate=True), dtype="<f4").astype(np.float64)
    except ValueError:
        return np.array([np.nan])


class Store(Log):
    """The queue in SQLite or PostgreSQL."""

    # Taking part

    def enter(self) -> None:
        """Begin to plan; refused where another process plans and only one may."""
        with told(self.database.shown):
            self.database.join()
        if not self.database.shared:
            self._check_alone()

    def _check_alone(self) -> None:
        """Check that no other process plans: its lock file may be deleted, but its number is in the store as well."""
        if self.exists() and is_alive(self.meta(LEADER)):
            self.database.leave()
            raise StoreError(
                f"another process is running the campaign in {self.database.shown}, though its lock file is gone; wait "
                "for it, or look with `ratewise status`"
            )

    def join(self, *, planning: bool = True) -> int:
        """Take part; returns this worker's number. One that does not plan may claim and answer beside one that does."""
        if planning:
            self.enter()
        with self.writing() as connection:
            values = {"host": socket.gethostname(), "process": os.getpid(), "joined_at": now()}
            number = connection.scalar(t.workers.insert().values(values).returning(t.workers.c.number))
            if planning and not self.database.shared:
                sql.set_meta(connection, LEADER, this_process())
        assert number is not None
        with told(self.database.shown):
            self.database.hold(number)
        return int(number)

    def leads(self) -> bool:
        """Whether this process plans."""
        with told(self.database.shown):
            return self.database.lead()

    def running(self) -> bool:
        """Whether some process plans."""
        with told(self.database.shown):
            return self.database.running()

    def waits_for(self) -> str | None:
        """The process that plans, in words, where it shows no sign of life."""
        with told(self.database.shown):
            return self.database.silent_leader()

    def leave(self, worker: int) -> None:
        """Leave; claimed questions are free for others."""
        with self.writing() as connection:
            connection.execute(t.workers.update().where(t.workers.c.number == worker).values(left_at=now()))
            connection.execute(sql.free([worker]))
            if connection.scalar(sql.meta(LEADER)) == this_process():
                sql.set_meta(connection, LEADER, None)

    def let_go(self, workers: Sequence[int]) -> None:
        """Free the questions of these workers, which are dead or do not know it."""
        with self.writing() as connection:
            connection.execute(sql.free(workers))

    def dead(self, worker: int) -> list[int]:
        """Others that had questions in hand when they died."""
        held = sa.select(t.ratings.c.worker).where(sql.open_ones, t.ratings.c.worker.is_not(None)).distinct()
        with self.reading() as connection:
            others = [n for n in connection.scalars(held) if n != worker]
        with told(self.database.shown):
            return self.database.dead(others) if others else []

    def in_hands_of(self, workers: Sequence[int]) -> list[Claim]:
        """Questions of these workers: perhaps asked, not answered."""
        with self.reading() as connection:
            return sql.claims(connection, t.ratings.c.worker.in_(workers))

    # Money

    def totals(self) -> tuple[int, int]:
        """(reserved, spent)."""
        with self.reading() as connection:
            return sql.totals(connection)

    def paid_by_step(self) -> dict[int, int]:
        """What each rater was paid, what was undone left out; raters without a payment are absent."""
        paid: dict[int, int] = {}
        sums = sa.select(t.ledger.c.kind, t.ledger.c.step, *sql.exact_sum(t.ledger.c.amount))
        asked = sums.where(t.ledger.c.kind.in_(("settle", UNDO, CHECK, UNCHECK))).group_by(
            t.ledger.c.kind, t.ledger.c.step
        )
        with self.reading() as connection:
            for kind, step, *parts in connection.execute(asked):
                paid[int(step)] = paid.get(int(step), 0) + (-1 if kind in (UNDO, UNCHECK) else 1) * sql.summed(parts)
        return paid

    def paid_beside(self) -> int:
        """What was paid for hidden checks and repeats, which belong to no round."""
        with self.reading() as connection:
            return sql.paid_beside(connection)

    def failed_before(self, position: int) -> int:
        """What failed calls about items before this one have cost."""
        same = sa.and_(t.ratings.c.position == t.ledger.c.position, t.ratings.c.step == t.ledger.c.step)
        failed = sa.and_(
            t.ledger.c.kind == "settle", t.ledger.c.attempt <= t.ratings.c.attempts, t.ratings.c.attempts > 0
        )
        paid = sa.select(*sql.exact_sum(t.ledger.c.amount)).select_from(t.ledger.join(t.ratings, same))
        with self.reading() as connection:
            found = sql.summed(connection.execute(paid.where(failed, t.ledger.c.position < position)).one())
            undone = sa.select(*sql.exact_sum(t.ledger.c.amount)).where(t.ledger.c.kind == UNDO)
            return found - sql.summed(connection.execute(undone.where(t.ledger.c.position < position)).one())

    def settled_before(self, position: int) -> int:
        """What the texts and all items before this one have cost."""
        paid, here = sa.select(*sql.exact_sum(t.ledger.c.amount)), t.ledger.c.position < position
        of = (t.ledger.c.kind == "settle", here), (t.ledger.c.kind == TEXTS,), (t.ledger.c.kind == UNDO, here)
        with self.reading() as connection:
            settled, texts, undone = (sql.summed(connection.execute(paid.where(*each)).one()) for each in of)
        return settled + texts - undone

    def set_cap(self, budget: int | None, *, was: int | None) -> bool:
        """Write the cap where every process reads it; False where a new cap is below what is already committed."""
        with self.writing() as connection:
            return sql.set_cap(connection, budget, was=was)

    # Rounds

    def rounds(self, after: int = 0) -> list[RoundRow]:
        """Rounds with a number above `after`, in order."""
        with self.reading() as connection:
            rows = connection.execute(queries.ROUNDS, {"after": after}).all()
        return [RoundRow(r.number, r.first, r.plan, r.factor, r.items) for r in rows]

    def open_round(self, number: int, first: int, plan: str) -> None:
        """Freeze a round's policy."""
        with self.writing() as connection:
            row = {"number": number, "first": first, "plan": plan, "opened_at": now()}
            chain.insert(connection, t.rounds, [row])

    def close_round(self, number: int, items: int) -> bool:
        """Close the oldest open round, whose answers are all in; False where somebody has just taken one back."""
        with self.writing() as connection:
            sql.bound(connection)  # nobody answers or undoes meanwhile
            first = connection.scalars(sa.select(t.rounds.c.first).where(t.rounds.c.number == number)).one()
            if connection.execute(queries.OPEN_BEFORE, {"before": first + items}).first() is not None:
                return False
            at = now()
            connection.execute(t.rounds.update().where(t.rounds.c.number == number).values(items=items, closed_at=at))
            chain.changed(connection, t.rounds, ["number"], ["items", "closed_at"], [[items, at, number]])
        return True

    def refit_rounds(self) -> list[int]:
        """After how many closed rounds there was a refit, in order."""
        with self.reading() as connection:
            return list(connection.scalars(ROUNDS))

    def refit(self, number: int) -> Refit:
        """The refit after so many closed rounds."""
        with self.reading() as connection:
            return read(connection, number)

    def keep_refit(self, refit: Refit) -> bool:
        """Write a refit down; False where there is one of these rounds already."""
        with self.writing() as connection:
            return keep(connection, refit)

    def batches(self, number: int) -> tuple[Batch, ...]:
        """What a round has taken up."""
        with self.reading() as connection:
            rows = connection.execute(queries.BATCHES, {"number": number})
            return tuple(Batch(b.first, b.end, b.drawn, b.cost, b.steps) for b in rows)

    def open_questions(self) -> tuple[int, int]:
        """(weak, strong): how many have no answer yet."""
        found = self.open_by_step()
        return found.get(0, 0), sum(n for step, n in found.items() if step > 0)

    def open_by_step(self, before: int | None = None) -> dict[int, int]:
        """How many questions of each rater have no answer yet; raters without any are absent.

        With `before`, only questions about items before that one.
        """
        asked, given = (queries.OPEN_BY_STEP, {}) if before is None else (queries.OPEN_BEFORE, {"before": before})
        with self.reading() as connection:
            return {int(step): int(n) for step, n in connection.execute(asked, given)}

    def demand(self, step: int, votes: int, at: float) -> Demand:
        """What people want of a step at this time, in seconds since 1970; each question takes so many votes."""
        with self.reading() as connection:
            row = connection.execute(queries.DEMAND, {"step": step, "at": at, "votes": votes}).one()
        return Demand(max(votes * row.asked - row.answered - row.lent, 0), row.people, row.waiting)

    def take_up(self, batch: NewBatch, budget: int | None) -> bool:
        """Ask for weak ratings and hold money for the rest; False where the budget forbids it."""
        first, end, weak, hold = batch.first, batch.end, batch.weak, batch.hold
        with self.writing() as connection:
            if not sql.spend(connection, (0 if weak is None else total(weak)) + hold, budget):
                return False
            row = {"first": first, "end": end, "round": batch.round, "drawn": False, "cost": batch.cost}
            chain.insert(connection, t.batches, [row])
            sql.write_ledger(connection, [("hold" if hold >= 0 else "unhold", first, None, None, abs(hold))])
            if weak is not None:
                sql.ask(connection, zip(range(first, end), [0] * (end - first), weak.tolist(), strict=True))
        return True

    def draw(self, new: NewDraws) -> bool:
        """Write down rates and draws, and ask for what was drawn; the money held for it is given back or reserved.

        False where somebody has just taken back an answer that the draw was to follow.
        """
        rows = [
            {"position": new.first + i, "step": new.step + k, "rate": rate, "selected": drawn}
            for k in range(new.rates.shape[1])
            for i, (rate, drawn) in enumerate(zip(new.rates[:, k].tolist(), new.selected[:, k].tolist(), strict=True))
        ]
        index, step = np.nonzero(new.selected)
        amounts = new.prices[index, step]
        end = new.first + int(new.rates.shape[0])
        with self.writing() as connection:
            sql.bound(connection)
            if sql.still_asked(connection, new.first, end, new.step):
                return False
            chain.insert(connection, t.draws, rows)
            sql.ask(
                connection, zip((new.first + index).tolist(), (step + new.step).tolist(), amounts.tolist(), strict=True)
            )
            sql.write_ledger(connection, [("unhold", new.first, None, None, new.release)])
            for first, cost in new.costs:
                connection.execute(t.batches.update().where(t.batches.c.first == first).values(drawn=True, cost=cost))
            if drawn := [[True, cost, first] for first, cost in new.costs]:
                chain.changed(connection, t.batches, ["first"], ["drawn", "cost"], drawn)
            if new.factor is not None:
                connection.execute(t.rounds.update().where(t.rounds.c.number == new.round).values(factor=new.factor))
                chain.changed(connection, t.rounds, ["number"], ["factor"], [[new.factor, new.round]])
            sql.move(connection, total(amounts) - new.release, 0)
            if new.known is not None:
                sql.settle_known(connection, new)
        return True

    def draw_again(self, new: NewAgain, budget: int | None) -> bool:
        """Write down a second draw of items passed over, and ask for what was drawn; False if the budget forbids it.

        The draws of the second look number n have the step −n; the rating asked for is that of the last rater.
        """
        rows, chosen = new.rows, new.rows.selected
        positions = rows.positions.tolist()
        written = [
            {"position": p, "step": -new.look, "rate": rate, "selected": drawn}
            for p, rate, drawn in zip(positions, rows.rates.tolist(), chosen.tolist(), strict=True)
        ]
        amounts = new.prices[chosen]
        with self.writing() as connection:
            if not sql.spend(connection, total(amounts), budget):
                return False
            last = connection.scalar(sa.select(sa.func.max(t.draws.c.step)))
            chain.insert(connection, t.draws, written)
            asked = rows.positions[chosen].tolist()
            sql.ask(connection, zip(asked, [int(last or 1)] * len(asked), amounts.tolist(), strict=True))
            connection.execute(t.rounds.update().where(t.rounds.c.number == new.round).values(factor=new.factor))
            chain.changed(connection, t.rounds, ["number"], ["factor"], [[new.factor, new.round]])
        return True

    def again(self, look: int) -> AgainRows:
        """The draws of a second look; none where it was not made yet."""
        chosen = sa.select(t.draws).where(t.draws.c.step == -look).order_by(t.draws.c.position)
        with self.reading() as connection:
            rows = connection.execute(chosen).all()
        return AgainRows(
            np.array([r.position for r in rows], dtype=np.intp), np.array([r.rate for r in rows], dtype=np.float64),
            np.array([r.selected for r in rows], dtype=np.bool_),
        )  # fmt: skip

    # Questions and answers

    def claim(self, worker: int, step: int, limit: int, *, at: float = 0.0) -> list[Claim]:
        """Up to so many questions that nobody asks yet, to be asked by this worker; what failed before comes last.

        What people have in hand at this time, in seconds since 1970, is left to them.
        """
        which = {"step": step, "at": at, "limit": limit}
        with self.writing() as connection:
            positions = connection.scalars(queries.FRESH, which).all()
            positions = positions or connection.scalars(queries.FREE, which).all()
            if not positions:
                return []
            connection.execute(
                t.ratings.update()
                .where(t.ratings.c.step == step, sql.within(t.ratings, positions), sql.open_ones)
                .values(worker=worker)
            )
            mine = sa.and_(t.ratings.c.step == step, sql.within(t.ratings, positions), t.ratings.c.worker == worker)
            return sql.claims(connection, mine)

    def settle(self, outcomes: Sequence[Outcome], budget: int | None, *, for_anyone: bool = False) -> list[Outcome]:
        """Write answers down and pay; returns those to be asked again, by this process unless they are for anyone.

        What others have settled already stays so.
        """
        with self.writing() as connection:
            return sql.settle(connection, outcomes, budget, for_anyone=for_anyone)

    def give_up(self, reason: str) -> int:
        """Give up open questions that nobody has claimed, at no cost; returns how many there were."""
        with self.writing() as connection:
            claims = sql.claims(connection, t.ratings.c.worker.is_(None))
            sql.settle(connection, [Outcome(c, 0, note=f"given up: {reason}") for c in claims], None)
        return len(claims)

    def reopen(self, claims: Sequence[tuple[Claim, int]], budget: int | None) -> tuple[int, int]:
        """Ask again what was given up, each at its price: the rater was down. How many, and how many are too dear.

        What has been acted upon stays as it is: weak ratings of drawn items, and everything of closed rounds. It is in
        neither number.
        """
        count = too_dear = 0
        with self.writing() as connection:
            for c, price in claims:
                cap = sql.least(sql.cap(connection), budget)
                fits = cap is None or sql.bound(connection) + price <= cap
                again = sql.given_up(c).values(state=OPEN, worker=None, attempts=c.attempt)
                if not fits:
                    too_dear += 1
                elif connection.execute(again).rowcount:
                    reopened = [OPEN, c.attempt, c.position, c.step]
                    chain.changed(connection, t.ratings, ["position", "step"], ["state", "attempts"], [reopened])
                    sql.write_ledger(connection, [("reserve", c.position, c.step, c.attempt + 1, price)])
                    sql.move(connection, price, 0)
                    count += 1
        return count, too_dear

    # Reading

    def open_elsewhere(self, worker: int, steps: Sequence[int]) -> int:
        """Questions without an answer that others see to: those of these steps, and those in other workers' hands."""
        theirs = sa.and_(t.ratings.c.worker.is_not(None), t.ratings.c.worker != worker)
        counted = sa.select(sa.func.count()).where(sql.open_ones, sa.or_(t.ratings.c.step.in_(steps), theirs))
        with self.reading() as connection:
            return int(connection.scalar(counted) or 0)

    def item_rows(self, first: int, end: int, later_raters: int) -> ItemRows:
        """Items from `first` to before `end`, with all that is known of them."""
        n = end - first
        with self.reading() as connection:
            here = {"first": first, "end": end}
            items = connection.execute(queries.ITEMS, here).all()
            answers = connection.execute(queries.ANSWERS, here).all()
            drawn = connection.execute(queries.DRAWS, here).all()
        values = np.full((n, later_raters + 1), np.nan)
        doubts = np.full_like(values, np.nan)
        for position, step, value, doubt in answers:
            values[position - first, step] = value
            doubts[position - first, step] = np.nan if doubt is None else doubt
        rates, selected = np.ones((n, later_raters)), np.zeros((n, later_raters), dtype=np.bool_)
        for position, step, rate, chosen in drawn:
            rates[position - first, step - 1], selected[position - first, step - 1] = rate, chosen
        uniform = np.array([row.uniform for row in items], dtype=np.float64)
        return ItemRows(uniform, sql.numbers(items, n), values, rates, selected, doubts)

    def item_prices(self, first: int, end: int) -> list[str | None]:
        """Prices of each item, as JSON; None where prices do not differ."""
        with self.reading() as connection:
            return list(connection.scalars(queries.PRICES, {"first": first, "end": end}))

    def prices_of(self, position: int) -> tuple[int, ...] | None:
        """Prices of one item; None where prices do not differ."""
        (found,) = self.item_prices(position, position + 1)
        return None if found is None else tuple(json.loads(found))

    def in_hand(self) -> set[str]:
        """People who have a question in hand now."""
        with self.reading() as connection:
            live = sa.and_(t.leases.c.until > time.time(), t.leases.c.position != queries.NOTHING)
            return set(connection.scalars(sa.select(t.leases.c.holder).where(live)))

    def counts(self) -> dict[str, int]:
        """How many questions of each step are in which state, and failed calls, for people."""
        state = sa.select(t.ratings.c.step, t.ratings.c.state, sa.func.count()).group_by(
            t.ratings.c.step, t.ratings.c.state
        )
        with self.reading() as connection:
            out = {f"{step}:{kind}": n for step, kind, n in connection.execute(state)}
            failed = connection.scalar(sa.select(sa.func.coalesce(sa.func.sum(t.ratings.c.attempts), 0))) or 0
            undone = connection.scalar(sa.select(sa.func.count()).where(t.ledger.c.kind == UNDO)) or 0
            out["failed"] = failed - undone
            out["looked"] = connection.scalar(sa.select(sa.func.coalesce(sa.func.max(t.batches.c.end), 0))) or 0
        return out
