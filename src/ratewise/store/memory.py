"""The queue in memory, for rehearsals: its methods do on arrays what those of `Store` do. No call fails here."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ratewise.store.money import total
from ratewise.store.queue import (
    ANSWERED,
    MISSING,
    OPEN,
    AgainRows,
    Batch,
    Claim,
    Entry,
    Floats,
    ItemRows,
    Mask,
    NewBatch,
    NewDraws,
    Outcome,
    Refit,
    RoundRow,
    Units,
    fits,
    people_short,
)
from ratewise.store.store import Store

_UNASKED = -1


class MemoryQueue:
    """Items by position, raters by step: 0 is the weak one, the last one is right."""

    def __init__(self, uniform: Floats, *, later_raters: int, numbers: Floats | None = None) -> None:
        n, shape = uniform.size, (uniform.size, later_raters + 1)
        self.uniform, self.numbers = uniform, np.empty((n, 0)) if numbers is None else numbers
        self.values: Floats = np.full(shape, np.nan)
        self.doubts: Floats = np.full(shape, np.nan)
        self.states = np.full(shape, _UNASKED, dtype=np.int8)
        self.workers = np.zeros(shape, dtype=np.int64)  # who has the question in hand; 0: nobody
        self.rates: Floats = np.ones((n, later_raters))
        self.selected: Mask = np.zeros((n, later_raters), dtype=np.bool_)
        self._moves: list[tuple[str, Units, Units, Units]] = []  # (kind, positions, steps, amounts) of the ledger
        self.waiting: set[int] = set()  # workers who got no question
        self._held: Units = np.zeros(shape, dtype=np.int64)  # reserved for the open attempt
        self._facts: dict[str, str] = {}
        self._again: dict[int, AgainRows] = {}
        self._rounds: list[RoundRow] = []
        self._refits: dict[int, Refit] = {}
        self._batches: dict[int, list[Batch]] = {}
        self._reserved = self._spent = 0
        self._open = np.zeros(shape[1], dtype=np.int64)  # questions without an answer, by step

    # Facts and sums

    def meta(self, key: str) -> str | None:
        return self._facts.get(key)

    def set_meta(self, key: str, value: str | None) -> None:
        self._facts.pop(key, None)
        if value is not None:
            self._facts[key] = value

    def totals(self) -> tuple[int, int]:
        return self._reserved, self._spent

    def failed_before(self, position: int) -> int:
        return 0

    def settled_before(self, position: int) -> int:
        return sum(total(paid[p < position]) for kind, p, _, paid in self._moves if kind == "settle")

    @property
    def ledger(self) -> list[Entry]:
        """Its rows as a store has them: money that is held for a batch is of no rater, and nothing is asked twice."""
        return [
            (kind, p, s, 1, amount) if s != _UNASKED else (kind, p, None, None, amount)
            for kind, *columns in self._moves
            for p, s, amount in zip(*(column.tolist() for column in columns), strict=True)
        ]

    # Rounds

    def paid_beside(self) -> int:
        """Nobody is checked in memory."""
        return 0

    def rounds(self, after: int = 0) -> list[RoundRow]:
        return self._rounds[after:]

    def batches(self, number: int) -> tuple[Batch, ...]:
        return tuple(self._batches.get(number, ()))

    def open_round(self, number: int, first: int, plan: str) -> None:
        assert number == len(self._rounds) + 1
        self._rounds.append(RoundRow(number, first, plan, None, None))

    def close_round(self, number: int, items: int) -> bool:
        if any(self.open_by_step(self._rounds[number - 1].first + items).values()):
            return False
        self._rounds[number - 1] = self._rounds[number - 1]._replace(items=items)
        return True

    def refit_rounds(self) -> list[int]:
        return list(self._refits)

    def refit(self, number: int) -> Refit:
        return self._refits[number]

    def keep_refit(self, refit: Refit) -> bool:
        """Keep a refit, as exactly as a store does; False where there is one of these rounds already."""
        if refit.round in self._refits:
            return False
        self._refits[refit.round] = replace(refit, predictions=refit.predictions.astype(np.float32).astype(np.float64))
        return True

    def take_up(self, batch: NewBatch, budget: int | None) -> bool:
        more = batch.hold + (0 if batch.weak is None else total(batch.weak))
        if not fits(self._reserved + self._spent, more, budget):
            return False
        self._batches.setdefault(batch.round, []).append(Batch(batch.first, batch.end, False, batch.cost))
        self._hold("hold" if batch.hold >= 0 else "unhold", batch.first, batch.hold)
        if batch.weak is not None:
            here = np.arange(batch.first, batch.end)
            self._ask(here, np.zeros_like(here), batch.weak)
        return True

    def draw(self, new: NewDraws) -> bool:
        if np.any(self.states[new.first : new.first + len(new.rates), : new.step] == OPEN):
            return False
        here, columns = slice(new.first, new.first + len(new.rates)), slice(new.step - 1, new.end - 1)
        self.rates[here, columns], self.selected[here, columns] = new.rates, new.selected
        index, step = np.nonzero(new.selected)
        self._ask(new.first + index, step + new.step, new.prices[index, step])
        self._hold("unhold", new.first, -new.release)
        cost, batches = dict(new.costs), self._batches[new.round]
        for k, b in enumerate(batches):
            if new.first <= b.first < new.first + len(new.rates):
                drawn = b.first in cost
                batches[k] = replace(b, drawn=b.drawn or drawn, cost=cost.get(b.first, b.cost), steps=new.end - 1)
        if new.factor is not None:
            self._rounds[new.round - 1] = self._rounds[new.round - 1]._replace(factor=new.factor)
        if new.known is not None:
            rows = np.flatnonzero(new.selected[:, -1] & ~np.isnan(new.known))
            self._settle(new.first + rows, np.full(rows.size, new.end - 1), new.known[rows], np.zeros_like(rows))
        return True

    def draw_again(self, number: int, look: int, new: AgainRows, budget: int | None) -> bool:
        assert new.prices is not None
        positions, amounts = new.positions[new.selected], new.prices[new.selected]
        if not fits(self._reserved + self._spent, total(amounts), budget):
            return False
        self._again[look] = new
        self._ask(positions, np.full(positions.size, self.rates.shape[1]), amounts)
        self._rounds[number - 1] = self._rounds[number - 1]._replace(factor=new.factor)
        return True

    def again(self, look: int) -> AgainRows:
        none = AgainRows(np.empty(0, dtype=np.intp), np.empty(0), np.empty(0, dtype=np.bool_))
        return self._again.get(look, none)

    def _hold(self, kind: str, first: int, amount: int) -> None:
        self._moves.append((kind, np.array([first]), np.array([_UNASKED]), np.array([abs(amount)])))
        self._reserved += amount

    def _ask(self, positions: Units, steps: Units, prices: Units) -> None:
        self.states[positions, steps] = OPEN
        self._open += np.bincount(steps, minlength=self._open.size)
        self._held[positions, steps] = prices
        self._reserved += total(prices)
        self._moves.append(("reserve", positions, steps, prices))

    # Questions and answers

    def open_by_step(self, before: int | None = None) -> dict[int, int]:
        if before is None or not self._open.any():
            return dict(enumerate(self._open.tolist()))
        return dict(enumerate(np.count_nonzero(self.states[:before] == OPEN, axis=0).tolist()))

    def demand(self, step: int, votes: int, at: float) -> int:
        """Here each question takes one vote, and workers are the people."""
        asked = self.states[:, step] == OPEN
        at_work = set(self.workers[asked, step].tolist()) - {0}
        free = int(np.count_nonzero(asked & (self.workers[:, step] == 0)))
        return people_short(free, len(at_work | self.waiting), 0 if free else len(self.waiting - at_work))

    def item_rows(self, first: int, end: int, later_raters: int) -> ItemRows:
        assert later_raters == self.rates.shape[1]
        here = slice(first, end)
        return ItemRows(
            self.uniform[here], self.numbers[here], self.values[here].copy(), self.rates[here].copy(),
            self.selected[here].copy(), self.doubts[here].copy(),
        )  # fmt: skip

    def claim(self, worker: int, step: int, limit: int, *, at: float = 0.0) -> list[Claim]:
        free = np.flatnonzero((self.states[:, step] == OPEN) & (self.workers[:, step] == 0))[:limit]
        self.workers[free, step] = worker
        return [Claim(p, step, 1, str(p), "{}", None) for p in free.tolist()]

    def settle(self, outcomes: Sequence[Outcome], budget: int | None) -> list[Outcome]:
        for o in outcomes:
            p, s = np.array([o.claim.position]), np.array([o.claim.step])
            if self.states[p, s] == OPEN:
                self._settle(p, s, np.array([np.nan if o.value is None else o.value]), np.array([o.paid]))
                self.doubts[p, s] = np.nan if o.doubt is None else o.doubt
        return []

    def give_up(self, reason: str) -> int:
        p, s = np.nonzero((self.states == OPEN) & (self.workers == 0))
        self._settle(p, s, np.full(p.size, np.nan), np.zeros_like(p))
        return int(p.size)

    def answer_all(self, ratings: Floats, steps: int | None = None, *, doubts: Floats | None = None) -> None:
        """Everyone answers what is open, each at the price reserved; `ratings` is items × steps, NaN for no answer.

        With `steps`, only the first so many raters do. With `doubts`, they say how unsure they are.
        """
        if self._open[:steps].any():
            p, s = np.nonzero(self.states[:, :steps] == OPEN)
            self._settle(p, s, ratings[p, s], self._held[p, s])
            if doubts is not None:
                self.doubts[p, s] = doubts[p, s]

    def _settle(self, positions: Units, steps: Units, values: Floats, paid: Units) -> None:
        """Write answers down, NaN for one that will not come, and pay."""
        here = positions, steps
        self._reserved, self._spent = self._reserved - total(self._held[here]), self._spent + total(paid)
        self._open -= np.bincount(steps, minlength=self._open.size)
        self.states[here] = np.where(np.isnan(values), MISSING, ANSWERED)
        self.values[here], self.workers[here], self._held[here] = values, 0, 0
        self._moves.append(("settle", positions, steps, paid))


PlanningQueue = Store | MemoryQueue  # what keeps rounds, batches, draws and sums for the planner
