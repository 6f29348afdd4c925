"""Calls to raters: those under way, and those that wait for their next attempt."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ratewise.campaign.clients.pace import Pace
from ratewise.campaign.planner.outcomes import rater_of
from ratewise.campaign.spec.spec import Spec
from ratewise.raters.calling import Caller
from ratewise.raters.protocol import Answer, Failure, Question
from ratewise.store.queue import Claim

_LONGEST_BACKOFF = 60.0
_MANY = 16  # calls at once from which on answers are waited for a moment, to be written down together
_PART = 0.2  # of what a call takes on average: so long is that moment
_LONGEST_GATHER = 0.25  # seconds


@dataclass(frozen=True, slots=True)
class Reply:
    """What a rater said to a question, and when it was heard."""

    claim: Claim
    said: Answer | Failure
    heard: float


_Task = asyncio.Task[list[Reply]]


@dataclass(slots=True, eq=False)
class Calls:
    """Running calls, at most as many at once as each rater takes; a step is the number of its rater."""

    spec: Spec
    callers: Sequence[Caller | None]  # one for each rater; None where others ask it
    keys: str  # what idempotency keys begin with: never another campaign's
    pace: Pace
    _running: dict[_Task, Sequence[Claim]] = field(init=False, default_factory=dict)
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
        if self.pace.probes(step):
            taken += sum(claim.step == step for _, claim in self._later)
        return max(self.pace.calls(step) - taken, 0) * self.pace.batch(step)

    def start(self, claims: Sequence[Claim]) -> None:
        """Ask these, all of one step."""
        size = self.spec.raters[rater_of(self.spec, claims[0].step)].batch
        for i in range(0, len(claims), size):
            self._counts[claims[0].step] += 1
            part = claims[i : i + size]
            self._running[asyncio.create_task(self._ask(part))] = part

    def retry(self, claim: Claim, after: float = 0.0) -> None:
        """Ask once more, after a pause that doubles from attempt to attempt; `after` is how long the rater needs."""
        rater = self.spec.raters[rater_of(self.spec, claim.step)]
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

    async def wait(self, most: float) -> list[Reply]:
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

    async def finish(self, most: float) -> list[Reply]:
        """Replies of running calls that come within so many seconds; nothing is asked again."""
        self._later.clear()
        if self._running:
            await asyncio.wait(self._running, timeout=most)
        return self._done()

    async def stop(self) -> tuple[list[Reply], list[Claim]]:
        """Replies that are there, and claims whose calls were cut off."""
        replies = self._done()
        cut = [claim for claims in self._running.values() for claim in claims]
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        self._running.clear()
        self._later.clear()
        for caller in self.callers:
            if caller is not None:
                await caller.close()
        return replies, cut

    def _done(self) -> list[Reply]:
        replies: list[Reply] = []
        for task in [task for task in self._running if task.done()]:
            del self._running[task]
            replies += task.result()
        return replies

    async def _ask(self, claims: Sequence[Claim]) -> list[Reply]:
        step = claims[0].step
        questions = [Question(f"{self.keys}:{c.id}:{c.step}:{c.attempt}", c.id, json.loads(c.content)) for c in claims]
        caller = self.callers[rater_of(self.spec, step)]
        assert caller is not None
        started = time.monotonic()
        try:
            said = await caller.ask(questions)
        finally:
            self._counts[step] -= 1
        heard = time.monotonic()
        self._seconds += 0.05 * (heard - started - self._seconds)
        return [Reply(claim, each, heard) for claim, each in zip(claims, said, strict=True)]
