"""The client in this process: claims questions, calls their raters, and settles what they say.

Answers are committed as they come in, all that are there in one transaction. A rater that is down must not take
thousands of questions with it. It is asked one at a time until it has answered, and then one more at once for each
answer. It is stopped, with its questions kept for the next run,

- where its first answers fail in the same way: a wrong scale or a mistake in its code shows in three of them. Only what
  is paid counts; a strong rater that has given many ratings is believed, and what it fails on then are hard items.
- where items are given up in a row without any answer since their first failure. An answer shows that the rater was
  there, so what had failed before it was heard did so on its own account. When questions were asked says nothing.
- where it gives nothing but empty answers from the start.
- where it asks to wait longer than its `patience`.

Why a rater was stopped is remembered until it has answered again: a run that finds it as it was ends at once.
"""

import asyncio
import json
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from ratewise.campaign.clients.patience import Patience, kept_line
from ratewise.campaign.outcomes import disputed, list_price, lost, outcome_of, reserved
from ratewise.campaign.raters import fact_name
from ratewise.campaign.spec.spec import Spec
from ratewise.errors import OutsideError, RaterDownError, StoreError
from ratewise.raters.calling import Caller
from ratewise.raters.kind import RaterSpec
from ratewise.raters.protocol import Question
from ratewise.store.money import shown, to_money, to_units
from ratewise.store.queue import ANSWERED, MISSING, Claim, Outcome
from ratewise.store.store import Store

_LONGEST_BACKOFF = 60.0
_MANY = 16  # calls at once from which on answers are waited for a moment, to be written down together
_PART = 0.2  # of what a call takes on average: so long is that moment
_LONGEST_GATHER = 0.25  # seconds
_LOOK = 1.0  # seconds between looks at what others did while calls are under way
_STOPPED = "stopped"  # the fact that keeps why a rater was stopped
DOWN = 5  # items given up in a row after which the rater is taken to be down
FIRST = 20  # items that were answered or given up: after them, a rater is believed
SILENT = 10  # first answers without a rating after which a rater is taken to be down
_STILL_SILENT = 3  # of one that was, in an earlier run
_ENOUGH = 3  # first failures of one kind
_ITEMS = 2  # that must have failed before the rater is blamed, where one alone may be hard
_BELIEVED = 5  # ratings without a failure after which a rater that was stopped is one like others
_SLOW_DOWN = 5  # calls in a row that fail, after which one at a time is asked
_CALLS = 20  # before that, chance may do anything to what is spent
_PARTICULAR = re.compile(r"'[^']*'|\"[^\"]*\"|[0-9.]+")  # what differs between failures of one kind
_OFF_SCALE = "off the scale"
_SILENCE = "no rating"
_EMPTY = "a rater that cannot rate an item says so by answering nothing"
_SCALE = (
    "an item without a rating has an empty one; "
    'if it is the scale that is wrong, mend [rating], as in kind = "likert", low = 1, high = 5, and give the campaign '
    'another name, as in name = "second": ratings so far were read on the old scale'
)

Heard = tuple[float, Outcome]  # what came of a question, and when that was heard


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a rater is stopped, in words, and the questions to ask again when it is repaired."""

    kind: str  # by which the next run knows it again
    claims: tuple[Claim, ...]
    what: str
    how: str
    hint: str = _EMPTY


def kind_of(outcome: Outcome) -> str:
    """What a failure has in common with others of its kind: its words, without numbers and quotations."""
    return _OFF_SCALE if outcome.off_scale else " ".join(_PARTICULAR.sub("…", outcome.note or "").split())


class Health:
    """What this process has heard of one rater."""

    def __init__(self, rater: RaterSpec, is_strong: bool, rated: int = 0, stopped: str | None = None) -> None:
        """A strong one's ratings count, and must be on the scale; `stopped` is why it was, in an earlier run."""
        self.rater, self.is_strong, self.stopped = rater, is_strong, stopped
        self.rated = rated  # its ratings in the campaign, those of earlier runs among them
        self._good = 0  # ratings in this run
        self._at_once = 0  # calls that it may get; 0: none of its last ones was answered
        self._failed = 0  # calls in a row
        self._silent: list[Outcome] = []  # first answers, none of them a rating
        self._answered_at: float | None = None
        self._failing: dict[int, float] = {}  # position → when it failed first
        self._suspects: list[tuple[float, Claim]] = []  # given up since an answer
        self._failures: dict[str, list[tuple[Outcome, bool]]] = defaultdict(list)  # that were paid, by kind,
        # each with whether the item was given up
        self._wrong: set[str] = set()  # kinds of failures that stop it
        self._last_failure: Outcome | None = None
        self._too_long: Outcome | None = None  # which asks to wait beyond all patience

    # How much it is asked

    @property
    def calls(self) -> int:
        return self.rater.concurrency if self._is_local else min(max(self._at_once, 1), self.rater.concurrency)

    @property
    def batch(self) -> int:
        """How many questions a call may have: one at first, or as few of a column as show a wrong scale."""
        if self.probes:
            return 1
        return min(self.rater.batch, _ENOUGH) if self._is_local and self.rated < FIRST else self.rater.batch

    @property
    def probes(self) -> bool:
        """Whether it has not answered for some time (or ever); then what it failed on is asked again first."""
        return not self._at_once and not self._is_local

    @property
    def _is_local(self) -> bool:
        """Whether it is a column, which is free and cannot be down."""
        return self.rater.flat_price

    # What it answers

    def see(self, heard: Sequence[Heard], again: Sequence[Outcome]) -> bool:
        """Take note of answers, of which some are asked for `again`; whether why it was stopped can be forgotten."""
        more = {o.claim.position for o in again}
        stopped = self.stopped
        for _, o in heard:
            if o.value is not None:
                self._rating()
            elif o.failed:
                self._failure(o, given_up=o.claim.position not in more)
            else:
                self._silent.append(o)
        if self.rated or self._is_local:
            self._silent.clear()
        self._see_items(heard, more)
        return stopped is not None and self.stopped is None

    def _rating(self) -> None:
        self.rated += 1
        self._good += 1
        self._failed = 0
        self._at_once = max(self._at_once, 1) + 1
        if self._good >= _BELIEVED:
            self.stopped = None

    def _failure(self, o: Outcome, *, given_up: bool) -> None:
        self._last_failure = o
        self._failed += 1
        if o.after > self.rater.patience:
            self._too_long = o
        if self._failed >= _SLOW_DOWN:
            self._at_once = 0
        if not o.paid:
            return
        kind = kind_of(o)
        self._failures[kind].append((o, given_up))
        if self._is_wrong(kind):
            self._wrong.add(kind)

    def _is_wrong(self, kind: str) -> bool:
        if self.stopped == kind:
            return True
        failures = self._failures[kind]
        if not self.rated:
            return len(failures) >= _ENOUGH and len({o.claim.position for o, _ in failures}) >= _ITEMS
        known = len({o.claim.position for o, gone in failures if gone or kind == _OFF_SCALE})
        return self.is_strong and known >= _ENOUGH and self.rated + known <= FIRST

    def _see_items(self, heard: Sequence[Heard], more: set[int]) -> None:
        """Keep the items that were given up and no answer speaks for."""
        answered = [(at, o) for at, o in heard if not o.failed]
        for at, o in answered:
            self._failing.pop(o.claim.position, None)
            self._answered_at = max(at, self._answered_at or 0.0)
        if answered:
            self._suspects = self._suspicious()
        for at, o in heard:
            if o.failed:
                first = self._failing.setdefault(o.claim.position, at)
                if o.claim.position not in more:
                    self._suspects.append((first, o.claim))
                    del self._failing[o.claim.position]

    def _suspicious(self) -> list[tuple[float, Claim]]:
        """Items given up of which nothing shows that the rater was there; of failures of earlier runs, any answer."""
        at = self._answered_at
        return [
            (first, claim) for first, claim in self._suspects
            if at is None or (at < first and claim.attempt <= self.rater.attempts)
        ]  # fmt: skip

    # When it is stopped

    def trouble(self) -> Trouble | None:
        """The first reason to stop it, whose questions are forgotten here; None where there is none."""
        if self._too_long is not None:
            long, self._too_long = self._too_long, None
            what = f"asks to wait {long.after:,.0f} s, and patience = {self.rater.patience:g} allows no more than that"
            hint = "run again when it has recovered, or write a larger patience for it"
            return Trouble(kind_of(long), self.given_up(), what, f", with: {long.note}", hint)
        for kind in sorted(self._wrong):
            failures = self._failures.pop(kind)
            last, _ = failures[-1]
            given_up = (o.claim for o, gone in failures if gone)
            claims = {claim.position: claim for claim in (*given_up, *self.given_up())}
            self._wrong.discard(kind)
            off = last.off_scale
            what = "gave ratings that are not on the scale" if off else "failed in the same way several times"
            said = f", the last time with: {last.note}"
            return Trouble(kind, tuple(claims.values()), what, said, _SCALE if off else _EMPTY)
        if len(self._suspicious()) >= DOWN:
            assert self._last_failure is not None
            down = self.given_up()
            how = f", the last time with: {self._last_failure.note}"
            return Trouble(kind_of(self._last_failure), down, f"failed on {len(down)} items in a row", how)
        if len(self._silent) >= (_STILL_SILENT if self.stopped == _SILENCE else SILENT):
            silent, self._silent = self._silent, []
            why, times = Counter(o.note for o in silent).most_common(1)[0]
            how = f", {'each time' if times == len(silent) else f'{times} times'} with: {why}"
            what = f"gave no rating for any of its first {len(silent)} items"
            hint = "answering nothing is for single items that cannot be rated"
            return Trouble(_SILENCE, tuple(o.claim for o in silent), what, how, hint)
        return None

    def given_up(self) -> tuple[Claim, ...]:
        """Questions to ask again when the rater is back; they are forgotten here."""
        claims = tuple(claim for _, claim in self._suspects)
        self._suspects = []
        return claims


class CallerClient:
    """The raters of this process, the calls under way, and questions that wait for another attempt."""

    def __init__(self, spec: Spec, store: Store, callers: Mapping[int, Caller], patiently: Patience) -> None:
        """`callers` are by step, of the raters that this process can ask."""
        self.spec, self.store, self.callers, self.patiently = spec, store, callers, patiently
        self.worker = 0
        self.settled = 0  # questions that this process has brought to an end
        counts = store.counts()
        self.health = {
            step: Health(
                spec.at(step), step == spec.steps[-1], counts.get(f"{step}:{ANSWERED}", 0), store.meta(self._fact(step))
            )
            for step in spec.steps
        }
        ended = (counts.get(f"{step}:{end}", 0) for step in spec.steps for end in (ANSWERED, MISSING))
        self._before = sum(ended)  # questions that had ended when the run began
        self._keys = f"{spec.name}-{store.meta('campaign') or ''}"  # idempotency keys begin so: no other campaign's do
        self._down: set[int] = set()  # steps whose rater is down
        self._running: dict[asyncio.Task[list[Heard]], Sequence[Claim]] = {}
        self._counts: Counter[int] = Counter()  # running, by step
        self._later: list[tuple[float, Claim]] = []
        self._seconds = 0.0  # that a call takes, on average of the last ones
        self._sums: dict[int, Counter[str]] = {step: Counter() for step in spec.steps}
        """By step: calls, what was paid, listed, and paid in vain."""
        self._told: set[tuple[int, str]] = set()  # what was unusual

    @property
    def budget(self) -> int | None:
        return None if self.spec.goal.budget is None else to_units(self.spec.goal.budget)

    @property
    def running(self) -> bool:
        return bool(self._running)

    @property
    def asked(self) -> int:
        """Questions that were asked, before this run and in it."""
        return self._before + self.settled + sum(map(len, self._running.values()))

    @property
    def waiting(self) -> bool:
        return bool(self._later)

    def recover(self) -> None:
        """Take care of questions of processes that died, and of answers that could not be saved."""
        self._take_in_unsaved()
        dead = self.store.dead(self.worker)
        paid = self._lost(self.store.in_hands_of(dead) if dead else [])
        if paid:
            self.store.settle(paid, self.budget, for_anyone=True)
        if dead:
            self.store.let_go(dead)
        if not self.running and not self.waiting:
            self.store.let_go([self.worker])  # a commit of which only the news was lost

    def _take_in_unsaved(self) -> None:
        unsaved = self.patiently.unsaved
        wrong = unsaved.restore(self.store, self.budget, partial(kept_line, self.spec, self.store, unsaved.campaign))
        if wrong:
            more = f" and {len(wrong) - 1} more" if len(wrong) > 1 else ""
            self.store.note(
                f"{unsaved.path.name}: a line was not taken in, because {wrong[0]}{more}; such lines are kept in "
                f"{unsaved.aside.name}, and their questions are asked again"
            )

    def _lost(self, claims: Sequence[Claim]) -> list[Outcome]:
        """Outcomes of calls that nobody will hear of, where such calls count as paid."""
        return [outcome for claim in claims if (outcome := lost(self.spec, claim)) is not None]

    # Calls

    async def start_calls(self, at: float) -> None:
        """Start as many calls as each rater takes at once; `at` is in seconds since 1970."""
        now = time.monotonic()
        due = [claim for when, claim in self._later if when <= now]
        self._later = [(when, claim) for when, claim in self._later if when > now]
        for claim in due:
            self._start([claim])
        for step in self.callers:
            free = self._free(step)
            if free > 0:
                claims = await self.patiently(
                    partial(self.store.claim, self.worker, step, free, at=at, alone=self._alone(step))
                )
                self._start(claims)

    def _alone(self, step: int) -> str | None:
        """The fact of a rater that its first question finds out; until it is known, nobody asks another one."""
        rater = self.spec.at(step)
        return None if rater.found_out is None else fact_name(rater.name, rater.found_out)

    def _free(self, step: int) -> int:
        """How many more questions the rater of a step may be asked now."""
        taken = self._counts[step]
        health = self.health[step]
        if health.probes:
            taken += sum(claim.step == step for _, claim in self._later)
        return max(health.calls - taken, 0) * health.batch

    def _start(self, claims: Sequence[Claim]) -> None:
        size = self.spec.at(claims[0].step).batch if claims else 1
        for i in range(0, len(claims), size):
            part = claims[i : i + size]
            self._counts[part[0].step] += 1
            self._running[asyncio.create_task(self._ask(part))] = part

    async def _ask(self, claims: Sequence[Claim]) -> list[Heard]:
        step = claims[0].step
        questions = [
            Question(
                f"{self._keys}:{c.id}:{c.step}:{c.attempt}", c.id, json.loads(c.content),
                to_money(reserved(self.spec, c)),
            )
            for c in claims
        ]  # fmt: skip
        started = time.monotonic()
        try:
            said = await self.callers[step].ask(questions)
        finally:
            self._counts[step] -= 1
        heard = time.monotonic()
        self._seconds += 0.05 * (heard - started - self._seconds)
        return [(heard, outcome_of(self.spec, claim, each)) for claim, each in zip(claims, said, strict=True)]

    def _retry(self, claim: Claim, after: float = 0.0) -> None:
        """Ask once more, after a pause that doubles from attempt to attempt; `after` is how long the rater needs."""
        rater = self.spec.at(claim.step)
        failures = (claim.attempt - 1) % rater.attempts
        pause = min(rater.backoff * 2.0 ** min(failures, 60), _LONGEST_BACKOFF)
        self._later.append((time.monotonic() + max(pause, after), replace(claim, attempt=claim.attempt + 1)))

    def forget_retries(self) -> None:
        self._later.clear()

    async def collect(self) -> None:
        """Wait for answers, then write down all that are there."""
        if replies := await self._wait(_LOOK):
            await self._write(replies)

    async def _wait(self, most: float) -> list[Heard]:
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

    def _done(self) -> list[Heard]:
        replies: list[Heard] = []
        for task in [task for task in self._running if task.done()]:
            del self._running[task]
            replies += task.result()
        return replies

    async def _write(self, replies: Sequence[Heard]) -> None:
        outcomes = [outcome for _, outcome in replies]
        again = await self.patiently(partial(self._settle, outcomes), unsaved=outcomes)
        self.settled += len(outcomes) - len(again)
        for o in again:
            self._retry(o.claim, o.after)
        steps = sorted({o.claim.step for o in outcomes})
        for step in steps:
            heard = [reply for reply in replies if reply[1].claim.step == step]
            if self.health[step].see(heard, [o for o in again if o.claim.step == step]):
                await self.patiently(partial(self.store.set_meta, self._fact(step), None))
        await self.patiently(partial(self._see_prices, outcomes))
        for step in steps:
            trouble = self.health[step].trouble()
            if trouble is not None:
                await self._stop_for(step, trouble)
        if too_dear := [o for o in outcomes if o.charged is not None]:
            more = f" (and {len(too_dear) - 1} more: the report has them)" if len(too_dear) > 1 else ""
            raise OutsideError(
                f"{disputed(self.spec, too_dear[0])}{more}. Nothing more is asked. Ask whoever bills you, then run "
                "again to go on with what is counted; where calls may cost so much, begin another campaign with a "
                "max_price or prices that cover it"
            )

    def _settle(self, outcomes: Sequence[Outcome]) -> list[Outcome]:
        """Write answers down and pay, with a note of each dispute in the same transaction; those to be asked again."""
        disputes = [disputed(self.spec, o) for o in outcomes if o.charged is not None]
        return self.store.settle(outcomes, self.budget, notes=disputes)

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
        """Note once, for each rater, what is unusual about what this process has paid it."""
        for o in outcomes:
            listed = list_price(self.spec, o.claim)
            in_vain = o.paid if o.value is None else 0
            self._sums[o.claim.step].update(calls=1, paid=o.paid, listed=listed, in_vain=in_vain)
        for o in outcomes:
            for kind, words in self._unusual(o):
                if (o.claim.step, kind) not in self._told:
                    self._told.add((o.claim.step, kind))
                    self.store.note(words)

    def _unusual(self, o: Outcome) -> Iterator[tuple[str, str]]:
        """(kind, words) of each thing that is unusual."""
        name, sums = self.spec.at(o.claim.step).name, self._sums[o.claim.step]
        if sums["calls"] >= _CALLS and 3 * sums["in_vain"] > sums["paid"]:
            wasted = f"{shown(sums['in_vain'])} of the {shown(sums['paid'])} paid to rater {name!r} in this run"
            yield "in vain", f"unusual spending: {wasted} went to calls that brought no rating"
        if sums["calls"] >= _CALLS and sums["paid"] > 2 * sums["listed"]:
            calls = f"rater {name!r} was paid {shown(sums['paid'])} for {sums['calls']:,} calls in this run"
            yield "dear", f"unusual spending: {calls}, which cost {shown(sums['listed'])} by its price"

    # Ending

    async def finish(self, seconds: float) -> None:
        """Wait for running calls, which are paid for: answers that come in time are kept, even where the run fails."""
        self.patiently.seconds = 0.0
        self.forget_retries()
        if self._running:
            await asyncio.wait(self._running, timeout=seconds)
        with suppress(OutsideError):
            await self._write(self._done())
        with suppress(StoreError):
            for step in self._down:
                self._reopen(self.health[step].given_up())

    async def close(self) -> None:
        """Keep the answers that are there, and free the other questions for the next run."""
        self.patiently.seconds = 0.0
        outcomes = [outcome for _, outcome in self._done()]
        cut = [claim for claims in self._running.values() for claim in claims]
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        self._running.clear()
        self.forget_retries()
        for caller in self.callers.values():
            await caller.close()
        outcomes += self._lost(cut)
        with suppress(StoreError):
            if outcomes:
                await self.patiently(partial(self._settle, outcomes), unsaved=outcomes)
            if self.worker:
                self.store.leave(self.worker)
