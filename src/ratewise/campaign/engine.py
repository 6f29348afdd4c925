"""The loop around the decision: plan, ask, write down; until nothing more is to be bought.

Everything is written before it is acted upon: an item's rate and draw before its strong rating is asked for, money
before it is spent. Answers are committed as they come in, all that are there in one transaction.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

from ratewise.campaign import planner as d
from ratewise.campaign.acting import carry_out
from ratewise.campaign.calls import Calls, Reply
from ratewise.campaign.health import Health
from ratewise.campaign.planner.outcomes import lost, outcome_of, rater_of, reserved
from ratewise.campaign.reader import Reader
from ratewise.campaign.snapshot import reader_of
from ratewise.campaign.spec.spec import Spec
from ratewise.errors import OutsideError, RaterDownError, StoreError
from ratewise.queue.money import shown
from ratewise.queue.records import Claim, Outcome
from ratewise.queue.store import Store
from ratewise.queue.unsaved import Unsaved
from ratewise.raters.calling import Caller

PATIENCE = 60.0  # seconds to wait for a store that is gone, before giving up with everything kept
_POLL = 0.05  # seconds between looks at what other processes did
_IDLE = 60  # looks after which there must be something to do, where nobody else is at work
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
    calls: Calls = field(init=False)
    health: Health = field(init=False)
    worker: int = field(init=False, default=0)
    stopping: bool = field(init=False, default=False)
    _cut: int = field(init=False, default=0)  # round whose money ran out
    _down: set[int] = field(init=False, default_factory=set)  # steps whose rater is down
    _dear: set[str] = field(init=False, default_factory=set)  # raters that charged more than was reserved

    async def run(self) -> str:
        """Until done; returns the reason. Raises `RaterDownError` or `StoreError` with everything done so far kept."""
        self.calls, self.health = Calls(self.spec, self.callers), Health(self.spec)
        try:
            self.reader = reader_of(self.spec, self.store)
            self.worker = await self.patiently(self.store.join)
            await self.patiently(self._recover)
            if not self.store.database.shared:
                self.unsaved.reserve(sum(rater.concurrency * rater.batch for rater in self.spec.raters))
            return await self._loop()
        except OutsideError:
            await self._finish()
            raise
        finally:
            await self._close()

    async def _loop(self) -> str:
        looked, idle = 0.0, 0
        while True:
            reason = None
            if not self.stopping:
                reason = await self._plan()
                await self._start_calls()
            if self.calls.running or (self.calls.waiting and not self.stopping):
                await self._collect()
                idle = 0
            elif self.stopping:
                return "stopped"
            elif reason is not None:
                return reason
            else:  # others have the rest in hand
                idle += 1
                if idle > _IDLE and not self.store.database.shared:
                    raise StoreError(
                        "the log waits for answers that nobody can be asked for, so it is damaged; `ratewise verify` "
                        "says where, and a backup helps: nothing was changed"
                    )
                await asyncio.sleep(_POLL)
                if time.monotonic() - looked > 20 * _POLL:
                    await self.patiently(self._recover)
                    looked = time.monotonic()

    # Planning

    async def _plan(self) -> str | None:
        """Do what the decision says until it waits; the reason where it is done."""
        if not await self.patiently(self.store.leads):
            ended = await self.patiently(lambda: self.store.meta("ended"))
            return ended if ended is not None and not any(await self.patiently(self.store.open_questions)) else None
        while True:
            # As one: after a failure the log is looked at again, which may have what was thought to have failed.
            action = await self.patiently(self._step)
            if isinstance(action, d.Done):
                return action.reason
            if isinstance(action, d.Wait):
                return None

    def _step(self) -> d.Action:
        state = replace(self.reader.state(), now=self.clock())
        if state.open is not None and self._cut == state.open.number:
            state = replace(state, cut=True)
        if self.tell is not None:
            self.tell(state)
        action = d.decide(state)
        if not carry_out(self.store, self.reader.items, state, action):
            assert state.open is not None
            self._cut = state.open.number
        return action

    # Asking

    def _recover(self) -> None:
        """Questions of processes that died, and answers that could not be saved, are taken care of."""
        self.unsaved.restore(self.store, self.reader.terms.budget)
        dead = self.store.dead(self.worker)
        outcomes = [lost(self.spec, claim) for claim in self.store.in_hands_of(dead)] if dead else []
        paid = [outcome for outcome in outcomes if outcome is not None]
        if paid:
            self.store.settle(paid, self.reader.terms.budget, for_anyone=True)
        if dead:
            self.store.let_go(dead)
        if not self.calls.running and not self.calls.waiting:
            self.store.let_go([self.worker])  # a commit of which only the news was lost
        self._check_cap()

    async def _start_calls(self) -> None:
        """As many calls as each rater takes at once."""
        self.calls.start_due()
        for step in range(0 if self.spec.steps > 1 else 1, max(self.spec.steps, 2)):
            free = self.calls.free(step)
            if free > 0:
                claims = await self.patiently(partial(self.store.claim, self.worker, step, free))
                if claims:
                    self.calls.start(claims)

    async def _collect(self) -> None:
        """Wait for answers, then write down all that are there."""
        replies = await self.calls.wait(20 * _POLL)
        if replies:
            await self._write(replies)

    async def _write(self, replies: Sequence[Reply]) -> None:
        outcomes = [outcome_of(self.spec, reply.claim, reply.said) for reply in replies]
        settle = partial(self.store.settle, outcomes, self.reader.terms.budget)
        again = await self.patiently(settle, unsaved=outcomes)
        for o in again:
            self.calls.retry(o.claim)
        self.health.see(replies, outcomes, again)
        await self.patiently(partial(self._see_prices, outcomes))
        for step in self.health.down():
            await self._stop_for(step, next(o for o in reversed(outcomes) if o.failed))

    async def _stop_for(self, step: int, last: Outcome) -> None:
        """The questions of a rater that is down stay open for the next run."""
        rater = self.spec.raters[rater_of(self.spec, step)]
        self._down.add(step)
        claims = self.health.given_up(step)
        kept = await self.patiently(partial(self._reopen, claims))
        poor = "" if kept == len(claims) else f", {len(claims) - kept} of them without money left to be asked again"
        message = (
            f"rater {rater.name!r} failed on {len(claims)} items in a row{poor}, the last time with: {last.note}; mend "
            "it and run again: everything so far is kept, and what was given up is asked again (a rater that cannot "
            "rate an item says so by answering nothing)"
        )
        await self.patiently(partial(self.store.note, message))
        raise RaterDownError(message)

    def _reopen(self, claims: Sequence[Claim]) -> int:
        return self.store.reopen([(claim, reserved(self.spec, claim)) for claim in claims], self.reader.terms.budget)

    # Money

    def _see_prices(self, outcomes: Sequence[Outcome]) -> None:
        """Prices that are known only afterwards may be above what was reserved; then nothing is asked past the cap."""
        over = [o for o in outcomes if o.paid > reserved(self.spec, o.claim)]
        for o in over:
            rater = self.spec.raters[rater_of(self.spec, o.claim.step)]
            if rater.name not in self._dear:
                self._dear.add(rater.name)
                self.store.note(
                    f"rater {rater.name!r} charged {shown(o.paid)} for item {o.claim.id!r}, more than the "
                    f"{shown(reserved(self.spec, o.claim))} that were reserved as the most a call can cost"
                )
        if over:
            self._check_cap()

    def _check_cap(self) -> None:
        bound, budget = sum(self.store.totals()), self.reader.terms.budget
        if budget is not None and bound > budget:
            raise OutsideError(
                f"raters charged more than was reserved for them: {shown(bound)} are spent or promised, and the "
                f"budget is {shown(budget)}; nothing more is asked. Raise goal.budget and run again: everything so "
                "far is kept"
            )

    # Failing and ending

    async def patiently(self, action: Callable[[], _T], *, unsaved: Sequence[Outcome] = ()) -> _T:
        """Try again while the store is gone for a moment; answers in hand are put into a file if it stays away."""
        started, pause = time.monotonic(), 0.05
        try:
            while True:
                try:
                    return action()
                except StoreError as error:
                    if not error.may_pass or time.monotonic() - started >= self.patience:
                        raise
                await asyncio.sleep(pause)
                pause = min(2 * pause, 2.0)
        except BaseException as error:
            if unsaved and not self.unsaved.keep(unsaved) and isinstance(error, StoreError):
                raise StoreError(
                    f"{error}; {len(unsaved)} answers could not be kept anywhere and will be asked for again"
                ) from error
            raise

    async def _finish(self) -> None:
        """Calls under way are paid for: what they bring is kept, even where the run fails."""
        self.patience = 0.0
        replies = await self.calls.finish()
        with suppress(OutsideError):
            await self._write(replies)
        with suppress(StoreError):
            for step in self._down:
                self._reopen(self.health.given_up(step))

    async def _close(self) -> None:
        """Answers that are there are kept; the rest is free to be asked by the next run."""
        self.patience = 0.0
        replies, cut = await self.calls.stop()
        outcomes = [outcome_of(self.spec, reply.claim, reply.said) for reply in replies]
        outcomes += [outcome for outcome in (lost(self.spec, c) for c in cut) if outcome is not None]
        with suppress(StoreError):
            if outcomes:
                settle = partial(self.store.settle, outcomes, self.reader.terms.budget)
                await self.patiently(settle, unsaved=outcomes)
            if self.worker:
                self.store.leave(self.worker)
        self.unsaved.release()
        self.store.close()
