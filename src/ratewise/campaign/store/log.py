"""The log of a campaign: the only place with SQL. Each method is one transaction: a kill leaves it done or undone."""

import json
import os
import socket
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import sqlalchemy as sa

from ratewise.campaign.decide import Batch, OpenRound
from ratewise.campaign.history import Looked, RoundPlan, Units
from ratewise.campaign.store import schema as t
from ratewise.campaign.store import statements as sql
from ratewise.campaign.store.connection import Database, connect, damaged, told
from ratewise.campaign.store.records import Claim, Outcome, RoundRow, now
from ratewise.core.checks import Floats
from ratewise.core.ratings import Mask
from ratewise.errors import InputError, RatewiseError
from ratewise.learn.rating_model import Covariates

_LONGEST_NOTE = 2000


class Store:
    """A campaign's log, in SQLite or PostgreSQL."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._write = database.engine.execution_options(writes=True)
        self._read = database.engine
        self._moment: sa.Connection | None = None

    @classmethod
    def at(cls, store: str, folder: str, name: str) -> "Store":
        """By the form of `store`: a file beside the TOML, or postgresql://…"""
        return cls(connect(store, folder, name))

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """One transaction that writes."""
        with told(self.database.shown), self._write.begin() as connection:
            yield connection

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """One consistent look."""
        if self._moment is not None:
            with told(self.database.shown):
                yield self._moment
            return
        with told(self.database.shown), self._read.begin() as connection:
            yield connection

    @contextmanager
    def still(self) -> Iterator[None]:
        """All that is read inside is of one moment, whatever others write meanwhile."""
        level = {"isolation_level": "REPEATABLE READ"} if self.database.shared else {}
        with told(self.database.shown), self._read.execution_options(**level).begin() as connection:
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

    def begin(self, meta: dict[str, str], rows: Iterable[Sequence[Any]]) -> None:
        """Make the tables and load the items, all or nothing; does nothing where another process was first."""
        with told(self.database.shown), self.database.creating() as connection:
            t.migrate(connection)
            if connection.scalar(sql.meta("spec")) is None:
                self.database.load(connection, t.items, rows)
                connection.execute(t.meta.insert(), [{"key": key, "value": value} for key, value in meta.items()])

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
        """Change one; `None` forgets it."""
        with self.writing() as connection:
            sql.set_meta(connection, key, value)

    def note(self, text: str) -> None:
        """Something that users should know of."""
        with self.writing() as connection:
            connection.execute(t.events.insert().values(at=now(), text=text[:_LONGEST_NOTE]))

    def notes(self) -> list[tuple[str, str]]:
        """(when, what), in order."""
        with self.reading() as connection:
            rows = connection.execute(sa.select(t.events.c.at, t.events.c.text).order_by(t.events.c.id)).all()
        return [(at, text) for at, text in rows]

    # Taking part

    def enter(self) -> None:
        """Refused where another process runs the campaign and only one may."""
        with told(self.database.shown):
            self.database.join()

    def join(self) -> int:
        """Take part; returns this worker's number."""
        self.enter()
        with self.writing() as connection:
            values = {"host": socket.gethostname(), "process": os.getpid(), "joined_at": now()}
            number = connection.scalar(t.workers.insert().values(values).returning(t.workers.c.number))
        assert number is not None
        with told(self.database.shown):
            self.database.hold(number)
        return int(number)

    def leads(self) -> bool:
        """Whether this process plans."""
        with told(self.database.shown):
            return self.database.lead()

    @contextmanager
    def sound(self) -> Iterator[None]:
        """An error that nobody expects may come from a damaged file: then that is what is said."""
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

    def running(self) -> bool:
        """Whether some process runs the campaign."""
        with told(self.database.shown):
            return self.database.running()

    def leave(self, worker: int) -> None:
        """Say good-bye; questions in hand are free for others."""
        with self.writing() as connection:
            connection.execute(t.workers.update().where(t.workers.c.number == worker).values(left_at=now()))
            connection.execute(sql.free([worker]))

    def let_go(self, workers: Sequence[int]) -> None:
        """Questions that these have, dead or unaware of it, are free for anyone."""
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
        """Their questions: perhaps asked, not answered."""
        with self.reading() as connection:
            return sql.claims(connection, t.ratings.c.worker.in_(workers))

    # Money

    def totals(self) -> tuple[int, int]:
        """(reserved, spent)."""
        with self.reading() as connection:
            return sql.totals(connection)

    # Rounds

    def rounds(self, after: int = 0) -> list[RoundRow]:
        """Rounds with a number above `after`, in order."""
        chosen = sa.select(t.rounds).where(t.rounds.c.number > after).order_by(t.rounds.c.number)
        with self.reading() as connection:
            rows = connection.execute(chosen).all()
        return [RoundRow(r.number, r.first, RoundPlan.from_json(r.plan), r.factor, r.items) for r in rows]

    def open_round(self, number: int, first: int, plan: RoundPlan) -> None:
        """Freeze a round's policy."""
        with self.writing() as connection:
            connection.execute(
                t.rounds.insert().values(number=number, first=first, plan=plan.to_json(), opened_at=now())
            )

    def close_round(self, number: int, items: int) -> None:
        """All its answers are in."""
        with self.writing() as connection:
            connection.execute(
                t.rounds.update().where(t.rounds.c.number == number).values(items=items, closed_at=now())
            )

    def batches(self, number: int) -> tuple[Batch, ...]:
        """What a round has taken up."""
        chosen = sa.select(t.batches).where(t.batches.c.round == number).order_by(t.batches.c.first)
        with self.reading() as connection:
            return tuple(Batch(b.first, b.end, b.drawn, b.cost) for b in connection.execute(chosen))

    def open_questions(self) -> tuple[int, int]:
        """(weak, strong): how many have no answer yet."""
        counted = sa.select(t.ratings.c.step, sa.func.count()).where(sql.open_ones).group_by(t.ratings.c.step)
        with self.reading() as connection:
            found = {int(step): int(n) for step, n in connection.execute(counted)}
        return found.get(0, 0), sum(n for step, n in found.items() if step > 0)

    def take_up(
        self, round_: OpenRound, first: int, end: int, weak: Units | None, hold: int, cost: int, budget: int | None
    ) -> bool:
        """Ask for weak ratings at these prices and hold money for the rest; False where the budget forbids it."""
        reserve = 0 if weak is None else int(weak.sum())
        with self.writing() as connection:
            if not sql.move(connection, reserve + hold, 0, budget):
                return False
            connection.execute(
                t.batches.insert().values(first=first, end=end, round=round_.number, drawn=False, cost=cost)
            )
            sql.write_ledger(connection, [("hold" if hold >= 0 else "unhold", first, None, None, abs(hold))])
            if weak is not None:
                sql.ask(connection, zip(range(first, end), [0] * (end - first), weak.tolist(), strict=True))
        return True

    def draw(
        self, round_: OpenRound, first: int, rates: Floats, selected: Mask, prices: Units, hold: int,
        factor: float | None,
    ) -> None:  # fmt: skip
        """Write down rates and draws, and ask for what was drawn; the money held for it is given back or reserved."""
        n, steps = rates.shape
        rows = [
            {"position": first + i, "step": k + 1, "rate": rate, "selected": drawn}
            for k in range(steps)
            for i, (rate, drawn) in enumerate(zip(rates[:, k].tolist(), selected[:, k].tolist(), strict=True))
        ]
        index, step = np.nonzero(selected)
        amounts = prices[index, step]
        cost = int(amounts.sum())
        with self.writing() as connection:
            connection.execute(t.draws.insert(), rows)
            sql.ask(connection, zip((first + index).tolist(), (step + 1).tolist(), amounts.tolist(), strict=True))
            sql.write_ledger(connection, [("unhold", first, None, None, hold)])
            sql.drawn(connection, round_, first, first + n, cost, exact=factor is not None)
            if factor is not None:
                connection.execute(t.rounds.update().where(t.rounds.c.number == round_.number).values(factor=factor))
            sql.move(connection, cost - hold, 0, None)

    # Questions and answers

    def claim(self, worker: int, step: int, limit: int) -> list[Claim]:
        """Up to so many questions that nobody asks yet, to be asked by this worker; what failed before comes last."""
        chosen = (
            sa.select(t.ratings.c.position)
            .where(sql.open_ones, t.ratings.c.step == step, t.ratings.c.worker.is_(None))
            .order_by(t.ratings.c.position)
            .limit(limit)
            .with_for_update(skip_locked=True)
        )
        with self.writing() as connection:
            positions = connection.scalars(chosen.where(t.ratings.c.attempts == 0)).all()
            positions = positions or connection.scalars(chosen).all()
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
        hands: dict[str, Any] = {"worker": None} if for_anyone else {}
        with self.writing() as connection:
            open_ones = sql.still_open(connection, [o.claim for o in outcomes])
            again, reserve, freed, paid = [], 0, 0, 0
            rows: list[tuple[str, int, int | None, int | None, int]] = []
            done: list[dict[str, Any]] = []
            for o in outcomes:
                c = o.claim
                if (c.position, c.step, c.attempt) not in open_ones:
                    continue
                held = open_ones[c.position, c.step, c.attempt]
                rows.append(("settle", c.position, c.step, c.attempt, o.paid))
                freed, paid = freed + held, paid + o.paid
                if o.again is not None and sql.may(connection, reserve - freed + paid + o.again, budget):
                    rows.append(("reserve", c.position, c.step, c.attempt + 1, o.again))
                    reserve += o.again
                    again.append(o)
                else:
                    done.append(sql.answer(o))
            sql.write_answers(connection, done)
            for o in again:
                connection.execute(sql.one(o.claim).values(attempts=o.claim.attempt, note=o.note, **hands))
            sql.write_ledger(connection, rows)
            sql.move(connection, reserve - freed, paid, None)
        return again

    def reopen(self, claims: Sequence[tuple[Claim, int]], budget: int | None) -> int:
        """Ask again what was given up, each at its price: the rater was down. No more than the budget holds: how many.

        What has been acted upon stays as it is: weak ratings of drawn items, and everything of closed rounds.
        """
        count = 0
        with self.writing() as connection:
            for c, price in claims:
                fits = sql.may(connection, price, budget)
                if fits and connection.execute(sql.given_up(c).values(state=t.OPEN, worker=None)).rowcount:
                    sql.write_ledger(connection, [("reserve", c.position, c.step, c.attempt + 1, price)])
                    sql.move(connection, price, 0, None)
                    count += 1
        return count

    # Reading

    def looked(self, first: int, end: int, steps: int, *, uncertainty: bool, columns: int | None) -> Looked:
        """Items from `first` to before `end`, with all that is known of them."""
        n = end - first
        with self.reading() as connection:
            items = connection.execute(
                sa.select(t.items.c.uniform, t.items.c.numbers)
                .where(t.items.c.position >= first, t.items.c.position < end)
                .order_by(t.items.c.position)
            ).all()
            answers = connection.execute(
                sa.select(t.ratings.c.position, t.ratings.c.step, t.ratings.c.value)
                .where(t.ratings.c.position >= first, t.ratings.c.position < end, t.ratings.c.value.is_not(None))
            ).all()  # fmt: skip
            drawn = connection.execute(
                sa.select(t.draws.c.position, t.draws.c.step, t.draws.c.rate, t.draws.c.selected)
                .where(t.draws.c.position >= first, t.draws.c.position < end)
            ).all()  # fmt: skip
        values = np.full((n, steps + 1), np.nan)
        for position, step, value in answers:
            values[position - first, step] = value
        rates, selected = np.ones((n, steps)), np.zeros((n, steps), dtype=np.bool_)
        for position, step, rate, chosen in drawn:
            rates[position - first, step - 1], selected[position - first, step - 1] = rate, chosen
        numbers = sql.numbers(items, n)
        own = None if not uncertainty else numbers[:, 0]
        features = None if columns is None else numbers[:, int(uncertainty) :]
        uniform = np.array([row.uniform for row in items], dtype=np.float64)
        return Looked(Covariates(values[:, 0], features, own), uniform, rates, selected, values[:, 1:])

    def item_prices(self, first: int, end: int) -> list[str | None]:
        """Of each item, as JSON; None where prices do not differ."""
        chosen = (
            sa.select(t.items.c.prices)
            .where(t.items.c.position >= first, t.items.c.position < end)
            .order_by(t.items.c.position)
        )
        with self.reading() as connection:
            return list(connection.scalars(chosen))

    def counts(self) -> dict[str, int]:
        """For people: how many questions of each step are in which state, and failed calls."""
        state = sa.select(t.ratings.c.step, t.ratings.c.state, sa.func.count()).group_by(
            t.ratings.c.step, t.ratings.c.state
        )
        with self.reading() as connection:
            out = {f"{step}:{kind}": n for step, kind, n in connection.execute(state)}
            out["failed"] = connection.scalar(sa.select(sa.func.coalesce(sa.func.sum(t.ratings.c.attempts), 0))) or 0
            out["looked"] = connection.scalar(sa.select(sa.func.coalesce(sa.func.max(t.batches.c.end), 0))) or 0
        return out
