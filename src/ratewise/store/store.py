"""The log of a campaign in SQLite or PostgreSQL: rounds, questions, claims and money.

Each method is one transaction, whole or not at all; several within `writing` are one together. What the planner needs
`MemoryQueue` has, too.
"""

import base64
import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import numpy as np
import sqlalchemy as sa
from sqlalchemy import exc

from ratewise.errors import InputError, RatewiseError, StoreError
from ratewise.store import chain
from ratewise.store import ledger as sql
from ratewise.store import queries as q
from ratewise.store import schema as t
from ratewise.store.connection import Database, damaged, told
from ratewise.store.money import total
from ratewise.store.postgresql import PostgreSQL
from ratewise.store.queue import (
    CHECK,
    TEXTS,
    UNCHECK,
    UNDO,
    AgainRows,
    Batch,
    Claim,
    ItemRows,
    NewBatch,
    NewDraws,
    Outcome,
    Refit,
    RoundRow,
    now,
    people_short,
)
from ratewise.store.sqlite import LEADER, SQLite, is_alive, this_process

KNOWN = "was there already"  # of a rating that nobody was asked for
_LONGEST_NOTE = 2000
_P = ParamSpec("_P")
_Found = TypeVar("_Found")


class Store:
    """The queue in a database."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._write = database.engine.execution_options(writes=True)
        self._read = database.engine
        self._moment: sa.Connection | None = None
        self._own = threading.local()  # the transactions that this thread is in

    @classmethod
    def at(cls, store: str, folder: str, name: str) -> Self:
        """The store by the form of `store`: a file beside the TOML, or postgresql://…"""
        scheme, is_address, place = store.partition("://")
        if not is_address:
            return cls(SQLite(os.path.join(folder, store)))
        if scheme not in ("postgresql", "postgresql+psycopg", "postgres"):
            raise InputError(f"store {scheme}:// is not known; name a file, or postgresql://…")
        return cls(PostgreSQL(f"postgresql+psycopg://{place}", name))

    # Transactions

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """One transaction and one entry of the record for everything that this thread reads and writes inside."""
        own: sa.Connection | None = getattr(self._own, "writes", None)
        if own is not None:
            yield own
            return
        self.database.check_present()
        with told(self.database.shown), self._write.begin() as connection:
            chain.start(connection)
            with self._kept("writes", connection):
                yield connection
            chain.seal(connection)

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """One consistent look for everything that this thread reads inside."""
        own: sa.Connection | None = getattr(self._own, "writes", None) or getattr(self._own, "reads", None)
        own = own or self._moment
        with told(self.database.shown):
            if own is not None:
                yield own
                return
            with self._read.begin() as connection, self._kept("reads", connection):
                yield connection

    @contextmanager
    def _kept(self, name: str, connection: sa.Connection) -> Iterator[None]:
        setattr(self._own, name, connection)
        try:
            yield
        finally:
            setattr(self._own, name, None)

    def read(
        self, query: Callable[Concatenate[sa.Connection, _P], _Found], *args: _P.args, **values: _P.kwargs
    ) -> _Found:
        """What a query finds, as in `read(q.FACT.scalar, key="spec")`."""
        with self.reading() as connection:
            return query(connection, *args, **values)

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
        return self._ask(self.database.damage)

    def _ask(self, question: Callable[_P, _Found], *args: _P.args, **values: _P.kwargs) -> _Found:
        """What the database says of itself."""
        with told(self.database.shown):
            return question(*args, **values)

    def exists(self) -> bool:
        """Whether the campaign has begun."""
        with told(self.database.shown):
            if not self.database.exists():
                return False
            with self._read.begin() as connection:
                found = set(sa.inspect(connection).get_table_names())
                if found and not {"meta", "items", "ratings", "ledger"} <= found:
                    raise InputError(
                        f"{self.database.shown} is a database, but no campaign of ratewise; nothing was changed: name "
                        "another file as the store"
                    )
                if not found:
                    return False
                t.check_format(connection)
                return q.FACT.first(connection, key="spec") is not None

    def begin(self, meta: dict[str, str], rows: Iterable[Sequence[Any]], *, paid: int = 0) -> None:
        """Make the tables and load the items, all or nothing; does nothing where another process was first.

        `paid` is what the texts' embeddings have cost: the first entry of the ledger.
        """
        with told(self.database.shown), self.database.creating() as connection:
            t.create(connection)
            if q.FACT.first(connection, key="spec") is None:
                chain.start(connection)
                self.database.load(connection, t.items, rows)  # in any order
                chain.add(connection, ["items", chain.ITEMS_EACH, chain.item_digests(connection)])
                facts = {"campaign": t.new_campaign_id(), **meta}
                chain.insert(connection, "meta", [{"key": key, "value": value} for key, value in facts.items()])
                if paid:
                    chain.insert(connection, "ledger", [{"kind": TEXTS, "amount": paid, "at": now()}])
                    sql.move(connection, 0, paid)
                chain.seal(connection)

    def close(self) -> None:
        self.database.leave()

    # Facts and notes

    def meta(self, key: str) -> str | None:
        """A fact about the campaign."""
        found: str | None = self.read(q.FACT.scalar, key=key)
        return found

    def set_meta(self, key: str, value: str | None) -> None:
        """Change a fact; `None` forgets it."""
        with self.writing() as connection:
            sql.set_meta(connection, key, value)

    def note(self, text: str) -> None:
        with self.writing() as connection:
            chain.insert(connection, "events", [{"at": now(), "text": text[:_LONGEST_NOTE]}])

    def notes(self) -> list[tuple[str, str]]:
        """(when, what), in order."""
        return [(at, text) for at, text in self.read(q.NOTES.all)]

    def head(self) -> str:
        return self.read(chain.last).head

    def holds(self, head: str) -> bool:
        """Whether a head is one of this record."""
        return self.read(chain.holds, head)

    # Taking part

    def enter(self) -> None:
        """Begin to plan; refused where another process plans and only one may."""
        self._ask(self.database.join)
        # A lock file may be deleted, but the process that plans is in the store as well.
        if not self.database.shared and self.exists() and is_alive(self.meta(LEADER)):
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
            number = int(
                q.NEW_WORKER.scalar(connection, host=socket.gethostname(), process=os.getpid(), joined_at=now())
            )
            if planning and not self.database.shared:
                sql.set_meta(connection, LEADER, this_process())
        self._ask(self.database.hold, number)
        return number

    def leads(self) -> bool:
        return self._ask(self.database.lead)

    def running(self) -> bool:
        return self._ask(self.database.running)

    def waits_for(self) -> str | None:
        """The process that plans, in words, where it shows no sign of life."""
        return self._ask(self.database.silent_leader)

    def leave(self, worker: int) -> None:
        """Leave; claimed questions are free for others."""
        with self.writing() as connection:
            q.update("workers", ("number",), ("left_at",)).change(connection, number=worker, left_at=now())
            q.FREE_WORKERS.change(connection, workers=[worker])
            if q.FACT.scalar(connection, key=LEADER) == this_process():
                sql.set_meta(connection, LEADER, None)

    def let_go(self, workers: Sequence[int]) -> None:
        with self.writing() as connection:
            q.FREE_WORKERS.change(connection, workers=list(workers))

    def dead(self, worker: int) -> list[int]:
        """Others that had questions in hand when they died."""
        others = [n for n in self.read(q.AT_WORK.column) if n != worker]
        return self._ask(self.database.dead, others) if others else []

    def in_hands_of(self, workers: Sequence[int]) -> list[Claim]:
        """Questions of these workers: perhaps asked, not answered."""
        return self.read(sql.claims, q.CLAIMS_OF, workers=list(workers))

    # Money

    def totals(self) -> tuple[int, int]:
        """(reserved, spent)."""
        return self.read(sql.totals)

    def set_cap(self, budget: int | None, *, was: int | None) -> bool:
        """Write the cap where every process reads it; False where a new cap is below what is already committed."""
        with self.writing() as connection:
            return sql.set_cap(connection, budget, was=was)

    def ledger_sums(self) -> dict[str, int]:
        """Sums of the whole ledger, by kind."""
        return self._sums(q.SUMS)

    def freed(self) -> int:
        """Sum of the reservations that were settled."""
        return self._sums(q.SUMS_FREED).get("reserve", 0)

    def paid_by_step(self) -> dict[int, int]:
        """What each rater was paid, what was undone left out; raters without a payment are absent."""
        signs = {"settle": 1, CHECK: 1, UNDO: -1, UNCHECK: -1}
        paid: dict[int, int] = {}
        for (kind, step), amount in self._sums(q.SUMS_BY_STEP).items():
            if kind in signs:
                paid[int(step)] = paid.get(int(step), 0) + signs[kind] * amount
        return paid

    def paid_beside(self) -> int:
        """What was paid for hidden checks and repeats, which belong to no round."""
        return self.read(sql.paid_beside)

    def failed_before(self, position: int) -> int:
        """What failed calls about items before this one have cost."""
        return _paid(self._sums(q.SUMS_FAILED, position=position))

    def settled_before(self, position: int, looks: int | None = None) -> int:
        """What the texts and all items before this one have cost; with `looks`, up to so many second looks at them."""
        later = {} if looks is None else self._sums(q.SUMS_LATER, step=-looks)
        texts = self._sums(q.SUMS_BESIDE).get(TEXTS, 0)
        return texts + _paid(self._sums(q.SUMS_BEFORE, position=position)) - _paid(later)

    def _sums(self, query: q.Query, **values: int) -> dict[Any, int]:
        return q.exact(self.read(query.all, **values))

    # Rounds

    def rounds(self, after: int = 0) -> list[RoundRow]:
        """Rounds with a number above `after`, in order."""
        return [RoundRow(*row) for row in self.read(q.ROUNDS.all, after=after)]

    def open_round(self, number: int, first: int, plan: str) -> None:
        """Freeze a round's policy."""
        with self.writing() as connection:
            row = {"number": number, "first": first, "plan": plan, "opened_at": now()}
            chain.insert(connection, "rounds", [row])

    def close_round(self, number: int, items: int) -> bool:
        """Close the oldest open round, whose answers are all in; False where somebody has just taken one back."""
        with self.writing() as connection:
            chain.take_turn(connection)  # nobody answers or undoes meanwhile
            first = q.FIRST_OF.scalar(connection, number=number)
            if first is None:
                raise exc.NoResultFound
            if q.OPEN_BEFORE.first(connection, before=first + items) is not None:
                return False
            row = {"items": items, "closed_at": now(), "number": number}
            chain.update(connection, "rounds", ["number"], [row])
        return True

    def batches(self, number: int) -> tuple[Batch, ...]:
        rows = self.read(q.BATCHES.all, number=number)
        return tuple(Batch(first, end, bool(drawn), cost, steps) for first, end, drawn, cost, steps in rows)

    def refit_rounds(self) -> list[int]:
        """After how many closed rounds there was a refit, in order."""
        return self.read(q.REFIT_ROUNDS.column)

    def refit(self, number: int) -> Refit:
        ((labels, packed),) = self.read(q.REFIT.all, round=number)
        try:
            predictions = np.frombuffer(base64.b64decode(packed, validate=True), dtype="<f4").astype(np.float64)
        except ValueError:
            predictions = np.empty(0)
        if not predictions.size or not np.all(np.isfinite(predictions)):
            raise StoreError(f"the refit after round {number} is not whole in the store; restore it from a backup")
        return Refit(number, labels, predictions)

    def keep_refit(self, refit: Refit) -> bool:
        """Write a refit down, four bytes for each item; False where there is one of these rounds already.

        It never changes, so that rates can be replayed without the model and without training again.
        """
        packed = base64.b64encode(refit.predictions.astype("<f4").tobytes()).decode()
        with self.writing() as connection:
            chain.take_turn(connection)
            if refit.round in q.REFIT_ROUNDS.column(connection):
                return False
            row = {"round": refit.round, "labels": refit.labels, "predictions": packed, "at": now()}
            chain.insert(connection, "refits", [row])
        return True

    def take_up(self, batch: NewBatch, budget: int | None) -> bool:
        """Ask for weak ratings and hold money for the rest; False where the budget forbids it."""
        first, end, weak, hold = batch.first, batch.end, batch.weak, batch.hold
        with self.writing() as connection:
            if not sql.reserve(connection, (0 if weak is None else total(weak)) + hold, budget):
                return False
            row = {"first": first, "end": end, "round": batch.round, "drawn": False, "cost": batch.cost}
            chain.insert(connection, "batches", [row])
            sql.write_ledger(connection, [("hold" if hold >= 0 else "unhold", first, None, None, abs(hold))])
            if weak is not None:
                sql.ask(connection, range(first, end), [0] * (end - first), weak.tolist())
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
        with self.writing() as connection:
            chain.take_turn(connection)
            end = new.first + int(new.rates.shape[0])
            if q.IS_ASKED.scalar(connection, first=new.first, end=end, step=new.step):
                return False
            chain.insert(connection, "draws", rows)
            sql.ask(connection, (new.first + index).tolist(), (step + new.step).tolist(), amounts.tolist())
            sql.write_ledger(connection, [("unhold", new.first, None, None, new.release)])
            drawn = [{"drawn": True, "cost": cost, "first": first} for first, cost in new.costs]
            chain.update(connection, "batches", ["first"], drawn)
            if new.factor is not None:
                chain.update(connection, "rounds", ["number"], [{"factor": new.factor, "number": new.round}])
            sql.move(connection, total(amounts) - new.release, 0)
            if new.known is not None:
                there = new.first + np.flatnonzero(new.selected[:, -1] & ~np.isnan(new.known))
                asked = sql.claims(connection, q.CLAIMS_AT, step=new.end - 1, positions=there.tolist())
                known = [Outcome(claim, 0, float(new.known[claim.position - new.first]), KNOWN) for claim in asked]
                sql.settle(connection, known, None)
        return True

    def draw_again(self, number: int, look: int, new: AgainRows, budget: int | None) -> bool:
        """Write down a round's draw of items passed over, and ask for what was drawn; False if the budget forbids it.

        The draws of the second look number n have the step −n; the rating asked for is that of the last rater.
        """
        assert new.prices is not None
        amounts, drawn = new.prices[new.selected], new.positions[new.selected].tolist()
        columns = (new.positions.tolist(), new.rates.tolist(), new.selected.tolist())
        rows = [
            {"position": p, "step": -look, "rate": rate, "selected": chosen}
            for p, rate, chosen in zip(*columns, strict=True)
        ]
        with self.writing() as connection:
            if not sql.reserve(connection, total(amounts), budget):
                return False
            last = int(q.LAST_STEP.scalar(connection) or 1)
            chain.insert(connection, "draws", rows)
            sql.ask(connection, drawn, [last] * len(drawn), amounts.tolist())
            chain.update(connection, "rounds", ["number"], [{"factor": new.factor, "number": number}])
        return True

    def again(self, look: int) -> AgainRows:
        """The draws of a second look; none where it was not made yet."""
        rows = self.read(q.AGAIN.all, step=-look)
        positions, rates, selected = zip(*rows, strict=True) if rows else ((), (), ())
        return AgainRows(
            np.array(positions, dtype=np.intp), np.array(rates, dtype=np.float64), np.array(selected, dtype=np.bool_)
        )

    # Questions and answers

    def open_by_step(self, before: int | None = None) -> dict[int, int]:
        """How many questions of each rater have no answer yet; raters without any are absent.

        With `before`, only questions about items before that one.
        """
        return dict(self.read(q.OPEN_BY_STEP.all) if before is None else self.read(q.OPEN_BEFORE.all, before=before))

    def demand(self, step: int, votes: int, at: float) -> int:
        """How many people there are, where they are short of a step's questions, else 0; each takes so many votes."""
        ((asked, answered, lent, people, waiting),) = self.read(q.DEMAND.all, step=step, at=at, votes=votes)
        return people_short(max(votes * asked - answered - lent, 0), people, waiting)

    def claim(
        self, worker: int, step: int, limit: int, *, at: float = 0.0, alone: str | None = None
    ) -> list[Claim]:  # fmt: skip
        """Up to so many questions that nobody asks yet, to be asked by this worker; what failed before comes last.

        What people have in hand at this time, in seconds since 1970, is left to them. Until the fact `alone` is known,
        one question of the step is asked at a time, whatever the number of processes.
        """
        which = {"step": step, "at": at, "limit": limit}
        with self.writing() as connection:
            if alone is not None and q.FACT.first(connection, key=alone) is None:
                chain.take_turn(connection)
                if q.IN_HANDS.first(connection, step=step) is not None:
                    return []
                which["limit"] = 1
            positions = q.FRESH.column(connection, **which) or q.FREE.column(connection, **which)
            q.TAKE.change(connection, worker=worker, step=step, positions=positions)
            return sql.claims(connection, q.CLAIMS_AT, step=step, positions=positions)

    def settle(
        self, outcomes: Sequence[Outcome], budget: int | None, *, for_anyone: bool = False, notes: Sequence[str] = ()
    ) -> list[Outcome]:
        """Write answers down and pay; returns those to be asked again, by this process unless they are for anyone.

        What others have settled already stays so. The `notes` are kept with the answers, or neither is.
        """
        with self.writing() as connection:
            again = sql.settle(connection, outcomes, budget, for_anyone=for_anyone)
            for text in notes:
                self.note(text)
        return again

    def give_up(self, reason: str) -> int:
        """Give up open questions that nobody has claimed, at no cost; returns how many there were."""
        with self.writing() as connection:
            claims = sql.claims(connection, q.UNCLAIMED)
            sql.settle(connection, [Outcome(c, 0, note=f"given up: {reason}") for c in claims], None)
        return len(claims)

    def reopen(self, claims: Sequence[tuple[Claim, int]], budget: int | None) -> tuple[int, int]:
        """Ask again what was given up, each at its price: the rater was down. How many, and how many are too dear.

        What has been acted upon stays as it is: weak ratings of drawn items, and everything of closed rounds. It is in
        neither number.
        """
        with self.writing() as connection:
            opened = [sql.reopen(connection, claim, price, budget) for claim, price in claims]
        return opened.count(True), opened.count(False)

    def open_elsewhere(self, worker: int, steps: Sequence[int]) -> int:
        """Questions without an answer that others see to: those of these steps, and those in other workers' hands."""
        return int(self.read(q.ELSEWHERE.scalar, steps=list(steps), worker=worker))

    # Reading

    def item_rows(self, first: int, end: int, later_raters: int) -> ItemRows:
        """Items from `first` to before `end`, with all that is known of them."""
        n, here = end - first, {"first": first, "end": end}
        with self.reading() as connection:
            items = q.ITEMS.all(connection, **here)
            answers = q.ANSWERS.all(connection, **here)
            drawn = q.DRAWS.all(connection, **here)
        if len(items) != n:
            raise StoreError(f"{n - len(items)} items are missing from the store; restore it from a backup")
        blob = b"".join(numbers or b"" for _, numbers in items)
        numbers = np.frombuffer(blob, dtype="<f8").astype(np.float64).reshape(n, -1) if blob else np.empty((n, 0))
        values = np.full((n, later_raters + 1), np.nan)
        doubts = np.full_like(values, np.nan)
        for position, step, value, doubt in answers:
            values[position - first, step] = value
            doubts[position - first, step] = np.nan if doubt is None else doubt
        rates, selected = np.ones((n, later_raters)), np.zeros((n, later_raters), dtype=np.bool_)
        for position, step, rate, chosen in drawn:
            rates[position - first, step - 1], selected[position - first, step - 1] = rate, chosen
        uniform = np.array([uniform for uniform, _ in items], dtype=np.float64)
        return ItemRows(uniform, numbers, values, rates, selected, doubts)

    def item_prices(self, first: int, end: int) -> list[str | None]:
        """Prices of each item, as JSON; None where prices do not differ."""
        return self.read(q.PRICES.column, first=first, end=end)

    def prices_of(self, position: int) -> tuple[int, ...] | None:
        """Prices of one item; None where prices do not differ."""
        (found,) = self.item_prices(position, position + 1)
        return None if found is None else tuple(json.loads(found))

    def in_hand(self) -> set[str]:
        """People who have a question in hand now."""
        return set(self.read(q.HOLDERS.column, at=time.time()))

    def counts(self) -> dict[str, int]:
        """How many questions of each step are in which state, and failed calls, for people."""
        with self.reading() as connection:
            out = {f"{step}:{kind}": n for step, kind, n in q.COUNTS.all(connection)}
            out["failed"] = int(q.FAILED.scalar(connection))
            out["looked"] = int(q.LOOKED.scalar(connection))
        return out


def _paid(sums: dict[str, int]) -> int:
    return sums.get("settle", 0) - sums.get(UNDO, 0)
