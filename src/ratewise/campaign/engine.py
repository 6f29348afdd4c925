"""The loop around the decision: plan, ask, write down; until nothing more is to be bought.

Everything is written before it is acted upon: an item's rate and draw before its strong rating is asked for, money
before it is spent. Answers are committed as they come in, all that are there in one transaction.
"""

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from typing import TypeVar

from ratewise.campaign import decide as d
from ratewise.campaign.history import Units
from ratewise.campaign.money import to_units
from ratewise.campaign.reader import Reader, list_price, worst_price
from ratewise.campaign.spec.spec import Spec
from ratewise.campaign.store.log import Store
from ratewise.campaign.store.records import Claim, Outcome
from ratewise.campaign.unsaved import Unsaved
from ratewise.errors import RaterDownError, StoreError
from ratewise.raters.calling import Caller
from ratewise.raters.protocol import Answer, Failure, Question

PATIENCE = 60.0  # seconds to wait for a store that is gone, before giving up with everything kept
_DOWN = 5  # items given up in a row after which the rater is taken to be down, not the items to be bad
_POLL = 0.05  # seconds between looks at what other processes did
_LONGEST_BACKOFF = 60.0
_T = TypeVar("_T")


@dataclass(slots=True, eq=False)
class Engine:
    """One process's part in a campaign."""

    spec: Spec
    store: Store
    callers: Sequence[Caller]  # one for each rater
    unsaved: Unsaved
    patience: float = PATIENCE
    tell: Callable[[d.State], None] | None = None  # told when something has changed
    clock: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))
    reader: Reader = field(init=False)
    worker: int = field(init=False, default=0)
    stopping: bool = field(init=False, default=False)
    _tasks: dict[asyncio.Task[list[Answer | Failure]], list[Claim]] = field(init=False, default_factory=dict)
    _calls: dict[int, int] = field(init=False, default_factory=dict)  # under way, by step
    _given_up: dict[int, list[Claim]] = field(init=False, default_factory=dict)  # in a row, by step
    _cut: int = field(init=False, default=0)  # round whose money ran out

    async def run(self) -> str:
        """Until done; returns the reason. Raises `RaterDownError` or `StoreError` with everything done so far kept."""
        self.reader = Reader.of(self.spec, self.store)
        self.worker = self.patiently(self.store.join)
        try:
            self._recover()
            return await self._loop()
        finally:
            await self._end()

    async def _loop(self) -> str:
        looked = 0.0
        while True:
            reason = None if self.stopping else self._plan()
            self._start_calls(reason)
            if self._tasks:
                await self._collect()
            elif self.stopping:
                return "stopped"
            elif reason is not None:
                return reason
            else:  # others have the rest in hand
                await asyncio.sleep(_POLL)
                if time.monotonic() - looked > 20 * _POLL:
                    self._recover()
                    looked = time.monotonic()

    # Planning

    def _plan(self) -> str | None:
        """Do what the decision says until it waits; the reason where it is done."""
        if not self.patiently(self.store.leads):
            ended = self.patiently(lambda: self.store.meta("ended"))
            return ended if ended is not None and not any(self.patiently(self.store.open_questions)) else None
        while True:
            state = self.patiently(self.reader.state)
            state = self._with_cut(state)
            if self.tell is not None:
                self.tell(state)
            action = d.decide(state)
            if self._late() and isinstance(action, d.Open):
                action = d.Done("the deadline has passed")
            if isinstance(action, d.Done):
                self.patiently(partial(self.store.set_meta, "ended", action.reason))
                return action.reason
            if isinstance(action, d.Wait):
                return None
            self._do(state, action)

    def _with_cut(self, state: d.State) -> d.State:
        cut = state.open is not None and (self._cut == state.open.number or self._late())
        return replace(state, cut=True) if cut else state

    def _late(self) -> bool:
        return self.spec.goal.deadline is not None and self.clock() >= self.spec.goal.deadline

    def _do(self, state: d.State, action: d.Action) -> None:
        now = state.open
        if isinstance(action, d.Open):
            first = self.reader.history.items
            if state.history.rounds == 0:
                self.patiently(lambda: self.store.set_meta("ended", None))
            self.patiently(lambda: self.store.open_round(state.history.rounds + 1, first, action.plan))
            return
        assert now is not None
        if isinstance(action, d.TakeUp):
            assert state.worst is not None
            self._take_up(now, action, state.worst[: action.end - action.first])
        elif isinstance(action, d.Draw):
            self._draw(now, action)
        elif isinstance(action, d.Close):
            self.patiently(lambda: self.store.close_round(now.number, now.end - now.first))

    def _take_up(self, now: d.OpenRound, action: d.TakeUp, worst: Units) -> None:
        weak = worst[:, 0] if now.plan.weak else None
        weak_cost = 0 if weak is None else int(weak.sum())
        strong = int(worst[:, 1:].sum()) if now.plan.weak else int(worst[:, -1].sum())
        cost, hold = weak_cost + strong, strong
        if now.plan.exact:  # the whole round's money is held at once, and weak ratings are paid out of it
            cost, hold = weak_cost, (now.plan.spend if not now.batches else 0) - weak_cost
        taken = self.patiently(
            lambda: self.store.take_up(now, action.first, action.end, weak, hold, cost, self.reader.terms.budget)
        )
        if not taken:
            self._cut = now.number

    def _draw(self, now: d.OpenRound, action: d.Draw) -> None:
        looked = self.patiently(lambda: self.reader.looked(action.first, action.end))
        worst = self.patiently(lambda: self.reader.worst(action.first, action.end))
        drawn = d.draw_batch(self.reader.history, now, looked, worst)
        prices = worst[:, 1:] if worst.shape[1] > 1 else worst
        weak = int(worst[:, 0].sum()) if now.plan.weak else 0
        hold = now.plan.spend - weak if now.plan.exact else int(prices.sum() if now.plan.weak else prices[:, -1].sum())
        self.patiently(
            lambda: self.store.draw(
                now, action.first, drawn.rates, drawn.selected, prices[:, -looked.rates.shape[1] :], hold, drawn.factor
            )
        )

    # Asking

    def _recover(self) -> None:
        """Questions of processes that died, and answers that could not be saved, are taken care of."""
        self.unsaved.restore(self.store, self.reader.terms.budget)
        claims = self.patiently(lambda: self.store.in_dead_hands(self.worker))
        lost = [c for c in claims if self.spec.raters[self._rater(c.step)].lost_calls == "count as paid"]
        if lost:
            outcomes = [self._failed(c, Failure("lost when its process died")) for c in lost]
            self.patiently(lambda: self.store.settle(outcomes, self.reader.terms.budget))
        if claims:
            self.patiently(lambda: self.store.free(claims))

    def _rater(self, step: int) -> int:
        """The number of the rater of a step; the strong one where only it is asked."""
        return step if self.spec.steps > 1 else 0

    def _start_calls(self, reason: str | None) -> None:
        """As many calls as each rater takes at once."""
        if self.stopping:
            return
        for step in range(0 if self.spec.steps > 1 else 1, max(self.spec.steps, 2)):
            rater = self.spec.raters[self._rater(step)]
            free = rater.concurrency - self._calls.get(step, 0)
            if free <= 0:
                continue
            claims = self.patiently(partial(self.store.claim, self.worker, step, free * rater.batch))
            for i in range(0, len(claims), rater.batch):
                self._call(claims[i : i + rater.batch], 0.0)

    def _call(self, claims: list[Claim], delay: float) -> None:
        step = claims[0].step
        if not delay:
            self._calls[step] = self._calls.get(step, 0) + 1
        self._tasks[asyncio.create_task(self._ask(step, claims, delay))] = claims

    async def _ask(self, step: int, claims: list[Claim], delay: float) -> list[Answer | Failure]:
        questions = [
            Question(f"{self.spec.name}:{c.id}:{step}:{c.attempt}", c.id, json.loads(c.content)) for c in claims
        ]
        if delay:
            await asyncio.sleep(delay)
            return await self.callers[self._rater(step)].ask(questions)
        try:
            return await self.callers[self._rater(step)].ask(questions)
        finally:
            self._calls[step] -= 1

    async def _collect(self) -> None:
        """Wait for answers, then write down all that are there."""
        await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED, timeout=20 * _POLL)
        finished = [task for task in self._tasks if task.done()]
        outcomes: list[Outcome] = []
        for task in finished:
            claims = self._tasks.pop(task)
            outcomes += [self._outcome(c, answer) for c, answer in zip(claims, task.result(), strict=True)]
        if outcomes:
            again = self.patiently(lambda: self.store.settle(outcomes, self.reader.terms.budget), unsaved=outcomes)
            self._retry(again)
            self._watch(outcomes, {(o.claim.position, o.claim.step) for o in again})

    def _outcome(self, claim: Claim, answer: Answer | Failure) -> Outcome:
        if isinstance(answer, Failure):
            return self._failed(claim, answer)
        k = self._rater(claim.step)
        rater, scale = self.spec.raters[k], self.spec.scale
        paid = list_price(rater, k, claim) if answer.price is None else to_units(answer.price)
        if answer.value is None:
            return Outcome(claim, paid, note=answer.note or "no answer")
        try:
            value = scale.strong(answer.value) if k == self.spec.steps - 1 else scale.weak(answer.value)
        except ValueError as error:
            return self._failed(claim, Failure(str(error), answer.price if answer.price is not None else None), paid)
        return Outcome(claim, paid, value, answer.note or None)

    def _failed(self, claim: Claim, failure: Failure, paid: int | None = None) -> Outcome:
        """Paid all the same; asked again as long as attempts are left."""
        k = self._rater(claim.step)
        rater = self.spec.raters[k]
        said: Decimal | None = failure.price if failure.price is not None else rater.failed_price
        if paid is None:
            paid = list_price(rater, k, claim) if said is None else to_units(said)
        again = worst_price(rater, k, claim) if claim.attempt < rater.attempts else None
        return Outcome(claim, paid, note=failure.reason, failed=True, again=again)

    def _retry(self, again: Sequence[Outcome]) -> None:
        for o in again:
            rater = self.spec.raters[self._rater(o.claim.step)]
            delay = min(rater.backoff * 2 ** (o.claim.attempt - 1), _LONGEST_BACKOFF)
            self._call([replace(o.claim, attempt=o.claim.attempt + 1)], max(delay, 1e-3))

    def _watch(self, outcomes: Sequence[Outcome], again: set[tuple[int, int]]) -> None:
        """A rater that gives up on one item after another is down: its questions stay open for the next run."""
        for o in outcomes:
            step = o.claim.step
            if not o.failed:
                self._given_up[step] = []
            elif (o.claim.position, step) not in again:
                self._given_up.setdefault(step, []).append(o.claim)
                if len(self._given_up[step]) >= _DOWN:
                    self._stop_for(step, o)

    def _stop_for(self, step: int, last: Outcome) -> None:
        k = self._rater(step)
        rater = self.spec.raters[k]
        claims = self._given_up[step]
        self.patiently(lambda: self.store.reopen(claims, worst_price(rater, k, last.claim)))
        message = (
            f"rater {rater.name!r} failed on {len(claims)} items in a row, the last time with: {last.note}; mend it "
            "and run again: everything so far is kept, and these items will be asked again"
        )
        self.patiently(lambda: self.store.note(message))
        raise RaterDownError(message)

    # Failing and ending

    def patiently(self, action: Callable[[], _T], *, unsaved: Sequence[Outcome] = ()) -> _T:
        """Try again while the store is gone for a moment; answers in hand are put into a file if it stays away."""
        started, pause = time.monotonic(), 0.05
        while True:
            try:
                return action()
            except StoreError as error:
                if not error.may_pass or time.monotonic() - started > self.patience:
                    if unsaved:
                        self.unsaved.keep(unsaved)
                    raise
                time.sleep(pause)
                pause = min(2 * pause, 2.0)

    async def _end(self) -> None:
        """Answers that are there are kept; the rest is free to be asked by the next run."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for caller in self.callers:
            await caller.close()
        with suppress(StoreError):
            if self.worker:
                self.store.leave(self.worker)
        self.store.close()
