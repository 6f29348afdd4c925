"""The client in this process: claims questions, calls their raters, and settles what they say.

Answers are committed as they come in, all that are there in one transaction.
"""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

from ratewise.campaign.clients.health import Health, HeardReply, Spending, Trouble
from ratewise.campaign.clients.patience import KeptLine, Patience
from ratewise.campaign.planner.outcomes import lost, outcome_of, rater_of, reserved
from ratewise.campaign.raters import fact_name
from ratewise.campaign.spec.spec import Spec
from ratewise.errors import OutsideError, RaterDownError, StoreError
from ratewise.raters.calling import Caller
from ratewise.raters.protocol import Question
from ratewise.store.money import shown, to_units
from ratewise.store.queue import ANSWERED, Claim, Outcome
from ratewise.store.store import Store

_LONGEST_BACKOFF = 60.0
_MANY = 16  # calls at once from which on answers are waited for a moment, to be written down together
_PART = 0.2  # of what a call takes on average: so long is that moment
_LONGEST_GATHER = 0.25  # seconds
_LOOK = 1.0  # seconds between looks at what others did while calls are under way
_STOPPED = "stopped"  # the fact that keeps why a rater was stopped


@dataclass(slots=True, eq=False)
class Calls:
    """Calls under way, at most as many at once as each rater takes, and questions that wait for another attempt."""

    spec: Spec
    callers: Mapping[int, Caller]  # by step
    health: Mapping[int, Health]
    keys: str  # what idempotency keys begin with: never another campaign's
    _running: dict[asyncio.Task[list[HeardReply]], Sequence[Claim]] = field(init=False, default_factory=dict)
    _counts: Counter[int] = field(init=False, default_factory=Counter)  # running, by step
    _later: list[tuple[float, Claim]] = field(init=False, default_factory=list)
    _seconds: float = field(init=False, default=0.0)  # that a call takes, on average of the last ones

    @property
    def running(self) -> bool:
        """Whether any call is running."""
        return bool(self._running)

    @property
    def waiting(self) -> bool:
        """Whether any question waits for another attempt."""
        return bool(self._later)

    def free(self, step: int) -> int:
        """How many more questions the rater of a step may be asked now."""
        taken = self._counts[step]
        health = self.health[step]
        if health.probes:
            taken += sum(claim.step == step for _, claim in self._later)
        return max(health.calls - taken, 0) * health.batch

    def start(self, claims: Sequence[Claim]) -> None:
        """Ask these, all of one step."""
        size = self.spec.at(claims[0].step).batch
        for i in range(0, len(claims), size):
            self._counts[claims[0].step] += 1
            part = claims[i : i + size]
            self._running[asyncio.create_task(self._ask(part))] = part

    def retry(self, claim: Claim, after: float = 0.0) -> None:
        """Ask once more, after a pause that doubles from attempt to attempt; `after` is how long the rater needs."""
        rater = self.spec.at(claim.step)
        failures = (claim.attempt - 1) % rater.attempts
        pause = min(rater.backoff * 2.0 ** min(failures, 60), _LONGEST_BACKOFF)
        self._later.append((time.monotonic() + max(pause, after), replace(claim, attempt=claim.attempt + 1)))

    def start_due(self) -> None:
        """Ask again what has waited long enough."""
        now = time.monotonic()
        for when, claim in self._later:
            if when <= now:
                self.start([claim])
        self._later = [(when, claim) for when, claim in self._later if when > now]

    async def wait(self, most: float) -> list[HeardReply]:
        """Replies that are there, after at most so many seconds; earlier where a retry is due."""
        due = min((when for when, _ in self._later), default=float("inf")) - time.monotonic()
        pause = max(min(most, due), 0.0)
        if self._running:
            done, _ = await asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED, timeout=pause)
            if len(self._running) >= _MANY and len(done) < len(self._running) // 2:
                # A commit for some answers together costs as much as one for each of them.
                await asyncio.sleep(min(_PART * self._seconds, _LONGEST_GATHER))
        else:
            await asyncio.sleep(pause)
        return self._done()

    def forget_retries(self) -> None:
        """Drop the questions that wait for another attempt; they are not asked again here."""
        self._later.clear()

    async def finish(self, most: float) -> list[HeardReply]:
        """Replies of running calls that come within so many seconds; nothing is asked again."""
        self.forget_retries()
        if self._running:
            await asyncio.wait(self._running, timeout=most)
        return self._done()

    async def stop(self) -> tuple[list[HeardReply], list[Claim]]:
        """Replies that are there, and claims whose calls were cut off."""
        replies = self._done()
        cut = [claim for claims in self._running.values() for claim in claims]
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        self._running.clear()
        self._later.clear()
        for caller in self.callers.values():
            await caller.close()
        return replies, cut

    def _done(self) -> list[HeardReply]:
        replies: list[HeardReply] = []
        for task in [task for task in self._running if task.done()]:
            del self._running[task]
            replies += task.result()
        return replies

    async def _ask(self, claims: Sequence[Claim]) -> list[HeardReply]:
        step = claims[0].step
        questions = [Question(f"{self.keys}:{c.id}:{c.step}:{c.attempt}", c.id, json.loads(c.content)) for c in claims]
        started = time.monotonic()
        try:
            said = await self.callers[step].ask(questions)
        finally:
            self._counts[step] -= 1
        heard = time.monotonic()
        self._seconds += 0.05 * (heard - started - self._seconds)
        return [HeardReply(claim, each, heard) for claim, each in zip(claims, said, strict=True)]


@dataclass(slots=True, eq=False)
class CallerClient:
    """The raters of this process, and the questions it has claimed."""

    spec: Spec
    store: Store
    callers: Sequence[Caller | None]  # one for each rater; None where others ask it
    patiently: Patience
    worker: int = field(init=False, default=0)
    calls: Calls = field(init=False)
    health: dict[int, Health] = field(init=False)  # by step
    spending: dict[int, Spending] = field(init=False)
    settled: int = field(init=False, default=0)  # questions that this process has brought to an end
    _down: set[int] = field(init=False, default_factory=set)  # steps whose rater is down

    def __post_init__(self) -> None:
        spec, counts = self.spec, self.store.counts()
        self.health = {
            step: Health(
                spec.at(step), step == spec.steps[-1], counts.get(f"{step}:{ANSWERED}", 0),
                self.store.meta(self._fact(step)),
            )
            for step in spec.steps
        }  # fmt: skip
        self.spending = {step: Spending(spec.at(step), rater_of(spec, step)) for step in spec.steps}
        asked = {step: self.callers[rater_of(spec, step)] for step in spec.steps}
        callers = {step: caller for step, caller in asked.items() if caller is not None}
        self.calls = Calls(spec, callers, self.health, f"{spec.name}-{self.store.meta('campaign') or ''}")

    @property
    def budget(self) -> int | None:
        """The budget in units."""
        return None if self.spec.goal.budget is None else to_units(self.spec.goal.budget)

    @property
    def steps(self) -> list[int]:
        """The steps whose rater is asked by this client."""
        return list(self.calls.callers)

    def recover(self) -> None:
        """Take care of questions of processes that died, and of answers that could not be saved."""
        self._take_in_unsaved()
        dead = self.store.dead(self.worker)
        paid = self._lost(self.store.in_hands_of(dead) if dead else [])
        if paid:
            self.store.settle(paid, self.budget, for_anyone=True)
        if dead:
            self.store.let_go(dead)
        if not self.calls.running and not self.calls.waiting:
            self.store.let_go([self.worker])  # a commit of which only the news was lost
        self._check_cap()

    def _take_in_unsaved(self) -> None:
        unsaved = self.patiently.unsaved
        wrong = unsaved.restore(self.store, self.budget, KeptLine(self.spec, self.store, unsaved.campaign))
        if wrong:
            more = f" and {len(wrong) - 1} more" if len(wrong) > 1 else ""
            self.store.note(
                f"{unsaved.path.name}: a line was not taken in, because {wrong[0]}{more}; such lines are kept in "
                f"{unsaved.aside.name}, and their questions are asked again"
            )

    def _lost(self, claims: Sequence[Claim]) -> list[Outcome]:
        """Outcomes of calls that nobody will hear of, where such calls count as paid."""
        return [outcome for claim in claims if (outcome := lost(self.spec, claim)) is not None]

    async def start_calls(self, at: float) -> None:
        """Start as many calls as each rater takes at once; `at` is in seconds since 1970."""
        self.calls.start_due()
        for step in self.steps:
            free = self.calls.free(step)
            if free > 0:
                claims = await self.patiently(partial(self.store.claim, self.worker, step, free, at=at))
                if claims:
                    self.calls.start(claims)

    async def collect(self) -> None:
        """Wait for answers, then write down all that are there."""
        replies = await self.calls.wait(_LOOK)
        if replies:
            await self._write(replies)

    async def _write(self, replies: Sequence[HeardReply]) -> None:
        outcomes = [outcome_of(self.spec, reply.claim, reply.said) for reply in replies]
        again = await self.patiently(partial(self.store.settle, outcomes, self.budget), unsaved=outcomes)
        self.settled += len(outcomes) - len(again)
        for o in again:
            self.calls.retry(o.claim, o.after)
        steps = sorted({o.claim.step for o in outcomes})
        for step in steps:
            heard = [(reply, o) for reply, o in zip(replies, outcomes, strict=True) if o.claim.step == step]
            if self.health[step].see(heard, [o for o in again if o.claim.step == step]):
                await self.patiently(partial(self.store.set_meta, self._fact(step), None))
        await self.patiently(partial(self._see_prices, outcomes))
        for step in steps:
            trouble = self.health[step].trouble()
            if trouble is not None:
                await self._stop_for(step, trouble)

    def _fact(self, step: int) -> str:
        return fact_name(self.spec.at(step).name, _STOPPED)

    async def _stop_for(self, step: int, trouble: Trouble) -> None:
        """Stop asking a rater that is down, and remember why; its questions stay open for the next run."""
        self._down.add(step)
        again, too_dear = await self.patiently(partial(self._reopen, trouble.claims))
        await self.patiently(partial(self.store.set_meta, self._fact(step), trouble.kind))
        poor = f", {too_dear} of them without money left to be asked again" if too_dear else ""
        acted_upon = len(trouble.claims) - again - too_dear
        late = f"; {acted_upon} of them stay missing, as the campaign has gone on without them" if acted_upon else ""
        message = (
            f"rater {self.spec.at(step).name!r} {trouble.what}{poor}{trouble.how}; repair it and run again: everything "
            f"so far is kept, and what was given up is asked again{late} ({trouble.hint})"
        )
        await self.patiently(partial(self.store.note, message))
        raise RaterDownError(message)

    def _reopen(self, claims: Sequence[Claim]) -> tuple[int, int]:
        return self.store.reopen([(claim, reserved(self.spec, claim)) for claim in claims], self.budget)

    # Money

    def _see_prices(self, outcomes: Sequence[Outcome]) -> None:
        """Note what is unusual about prices; past the cap, nothing is asked."""
        for step in sorted({o.claim.step for o in outcomes}):
            for warning in self.spending[step].see([o for o in outcomes if o.claim.step == step]):
                self.store.note(warning)
        if any(o.paid > reserved(self.spec, o.claim) for o in outcomes):
            self._check_cap()

    def _check_cap(self) -> None:
        bound, budget = sum(self.store.totals()), self.budget
        if budget is not None and bound > budget:
            raise OutsideError(
                f"raters charged more than was reserved for them: {shown(bound)} are spent or promised, and the "
                f"budget is {shown(budget)}; nothing more is asked. Raise goal.budget and run again: everything so "
                "far is kept"
            )

    # Ending

    async def finish(self, seconds: float) -> None:
        """Wait for running calls, which are paid for: answers that come in time are kept, even where the run fails."""
        self.patiently.seconds = 0.0
        replies = await self.calls.finish(seconds)
        with suppress(OutsideError):
            await self._write(replies)
        with suppress(StoreError):
            for step in self._down:
                self._reopen(self.health[step].given_up())

    async def close(self) -> None:
        """Keep the answers that are there, and free the other questions for the next run."""
        self.patiently.seconds = 0.0
        replies, cut = await self.calls.stop()
        outcomes = [outcome_of(self.spec, reply.claim, reply.said) for reply in replies] + self._lost(cut)
        with suppress(StoreError):
            if outcomes:
                await self.patiently(partial(self.store.settle, outcomes, self.budget), unsaved=outcomes)
            if self.worker:
                self.store.leave(self.worker)
