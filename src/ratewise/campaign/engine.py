"""The loop around planner and clients: plan, ask, write down; until nothing more is to be bought.

Everything is written before it is acted upon: an item's rate and draw before its strong rating is asked for, money
before it is spent.
"""

import asyncio
import math
import signal
import threading
import time
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from typing import Any

from ratewise.campaign import planner as p
from ratewise.campaign.clients.callers import CallerClient
from ratewise.campaign.clients.patience import PATIENCE, Patience
from ratewise.campaign.clients.respondents import respondents
from ratewise.campaign.clients.sheets import exchange_sheets
from ratewise.campaign.head import keep_head
from ratewise.campaign.learner import keep, refit_of, texts_of
from ratewise.campaign.log import Reader
from ratewise.campaign.snapshot import reader_of
from ratewise.campaign.spec.spec import Spec
from ratewise.errors import OutsideError, StoreError
from ratewise.learn.cross_fit import Trainer
from ratewise.raters.calling import Caller
from ratewise.raters.kind import RaterSpec
from ratewise.raters.sheet import SheetSettings
from ratewise.store.store import Store
from ratewise.store.unsaved import Unsaved


class Paused(StrEnum):
    """Why a run ended before the campaign did; the next one goes on."""

    STOPPED = "stopped"
    WAITING = "waiting for answers"


class _StoppedError(Exception):
    """The run was stopped while a model was trained."""


GRACE = 60.0  # seconds that calls under way have to finish when a run is stopped or fails
_POLL = 0.05  # seconds between looks at what others did
_LONGEST_POLL = 1.0  # where others may take hours
_PLAN_EVERY = 0.5  # seconds after which the planner looks again while calls are under way
_HEAD_EVERY = 0.25  # seconds between looks at the record's head
_IDLE = 60  # looks after which there must be something to do, where nobody else is at work


FETCHED: dict[type[RaterSpec], Callable[[Spec, Store], tuple[int, str]]] = {SheetSettings: exchange_sheets}
"""Kinds of raters to whom a run itself sends questions, and whose answers it fetches: how many came, and what is waited
for in words, empty where nothing is."""


class Engine:
    """One process's part in a campaign: it plans where no other process does, and asks the raters it can ask."""

    client: CallerClient
    reader: Reader

    def __init__(
        self, spec: Spec, store: Store, callers: Mapping[int, Caller], unsaved: Unsaved, *, patience: float = PATIENCE,
        wait: bool = True, stop: threading.Event | None = None, trainer: Trainer | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:  # fmt: skip
        """`callers` are by step; with `wait` for answers that others give; whoever wants the run to end sets `stop`.

        The `trainer` is there where a model is trained on the labels of closed rounds.
        """
        self.spec, self.store, self.callers, self.unsaved = spec, store, callers, unsaved
        self.patience, self.wait, self.trainer, self.clock = patience, wait, trainer, clock
        self.stop = threading.Event() if stop is None else stop
        self.tell: Callable[[p.State], None] | None = None  # told when something has changed
        self._stopped_at = self._recovered_at = 0.0
        self._cut = 0  # round whose money ran out
        self._idle = 0  # looks in a row that found nothing to do
        self._alone = 0  # of these, the last ones that found nobody else at work either
        self._planned_at = self._head_at = -math.inf
        self._next_plan = 0  # after so many answers there may be something to plan

    async def run(self) -> str:
        """Plan, ask and write down until nothing is left to buy, or the run is stopped: the reason why it ended."""
        patiently = Patience(self.unsaved, self.patience)
        self.client = await patiently(lambda: CallerClient(self.spec, self.store, self.callers, patiently))
        try:
            self.reader = reader_of(self.spec, self.store)
            self.client.worker = await patiently(self.store.join)
            await patiently(self.client.recover)
            if not self.store.database.shared:
                self.unsaved.reserve(sum(rater.concurrency * rater.batch for rater in self.spec.raters))
            while (reason := await self._turn(patiently)) is None:
                self._keep_head()
            return reason
        except OutsideError:
            await self.client.finish(GRACE)
            raise
        finally:
            await self.client.close()
            self._keep_head(last=True)
            self.unsaved.release()
            self.store.close()

    def _keep_head(self, *, last: bool = False) -> None:
        """Write down beside the TOML, now and then, what was seen of the record."""
        if last or time.monotonic() - self._head_at >= _HEAD_EVERY:
            self._head_at = time.monotonic()
            with suppress(StoreError):  # one that is away for a moment
                keep_head(self.spec, self.store, self.client.asked)

    async def _turn(self, patiently: Patience) -> str | None:
        """Plan, ask what is due, and wait for what comes; the reason where the run ends."""
        client, reason = self.client, None
        if not self.stop.is_set():
            if self._plan_is_due():
                reason = await self._plan(patiently)
            now = self.clock().timestamp()
            if self.reader.terms.is_late(now):
                client.forget_retries()  # after the deadline nothing is asked
            else:
                await client.start_calls(now)
        if client.running or (client.waiting and not self.stop.is_set()):
            if self.stop.is_set():  # calls have a while to end: a timeout may be days
                self._stopped_at = self._stopped_at or time.monotonic()
                if time.monotonic() - self._stopped_at > GRACE:
                    return Paused.STOPPED
            await client.collect()
            self._idle = self._alone = 0
            return None
        return Paused.STOPPED if self.stop.is_set() else reason or await self._for_answers(patiently)

    async def _for_answers(self, patiently: Patience) -> str | None:
        """Fetch answers, or rest while others answer; the reason where the run ends without them."""
        taken, awaited = 0, list[str]()
        kinds = [kind for kind in FETCHED if respondents(self.spec, kind)]
        if bool(kinds) and await patiently(self.store.leads):
            for kind in kinds:
                more, words = await patiently(partial(FETCHED[kind], self.spec, self.store))
                taken, awaited = taken + more, [*awaited, *filter(None, [words])]
        if taken:
            return None
        waiting = await patiently(self._for_others)
        if awaited and not (waiting and self.wait):
            return "; ".join(awaited)
        if waiting and not self.wait:
            return Paused.WAITING
        self._idle += 1
        await asyncio.sleep(min(_POLL * max(self._idle / _IDLE, 1.0), _LONGEST_POLL))
        if time.monotonic() - self._recovered_at > 20 * _POLL:
            await patiently(self.client.recover)
            self._recovered_at = time.monotonic()
        return None

    def _for_others(self) -> bool:
        """Whether the rest is with others: people, other processes, or whoever plans."""
        known = {*self.client.callers, *(each.step for kind in FETCHED for each in respondents(self.spec, kind))}
        elsewhere = [step for step in self.spec.steps if step not in known]
        if self.store.open_elsewhere(self.client.worker, elsewhere):
            self._alone = 0
            return True
        self._alone += 1
        if self._alone > _IDLE and not self.store.database.shared:
            raise StoreError(
                "the log waits for answers that nobody can be asked for, so it is damaged; `ratewise verify` "
                "says where, and a backup helps: nothing was changed"
            )
        return False

    # Planning

    async def _plan(self, patiently: Patience) -> str | None:
        """Do what the planner says until it waits; the reason where it is done."""
        if not await patiently(self.store.leads):
            ended = await patiently(lambda: self.store.meta("ended"))
            return ended if ended is not None and not any((await patiently(self.store.open_by_step)).values()) else None
        while True:
            # As one: after a failure the log is looked at again, which may have what was thought to have failed.
            action = await patiently(self._step)
            if isinstance(action, p.Done):
                return str(action)
            if action is p.Command.WAIT:
                self._planned_at = time.monotonic()
                return None
            if action is p.Command.TRAIN:
                try:
                    await self._refit(patiently)
                except _StoppedError:
                    return None

    async def _refit(self, patiently: Patience) -> None:
        """Train in a thread, while answers go on coming in, and write the refit down; one that is cut is repeated."""
        assert self.trainer is not None
        rows = await patiently(lambda: texts_of(self.spec, self.store))
        made = await asyncio.to_thread(refit_of, self.reader.history, rows, self.trainer, self._go_on)
        await patiently(lambda: keep(self.store, made))

    def _go_on(self) -> None:
        """Raise where the run is to end: training may take minutes."""
        if self.stop.is_set():
            raise _StoppedError

    def _plan_is_due(self) -> bool:
        """Whether to ask the planner again: not at every answer while it waits for several. Others may answer, too."""
        soon = time.monotonic() - self._planned_at < _PLAN_EVERY
        return not (self.client.running and soon and self.client.settled < self._next_plan)

    def _step(self) -> p.Action:
        state = self.reader.state(self.clock().timestamp())
        if state.open is not None and self._cut == state.open.number:
            state = replace(state, cut=True)
        if self.tell is not None:
            self.tell(state)
        action = p.decide(state)
        self._next_plan = self.client.settled + min((n for n in (state.weak_open, state.strong_open) if n), default=0)
        if self.reader.carry_out(state, action):
            return action
        if isinstance(action, p.DrawItems) or action in {p.Command.GIVE_UP, p.Command.CLOSE}:
            return p.Command.WAIT  # others have in hand what is left, or took it back
        assert state.open is not None
        self._cut = state.open.number
        return action


_LAST_WORDS = 1.0  # seconds that tasks have to end once nobody waits for them


def run_to_end(work: Coroutine[Any, Any, str]) -> str:
    """Like `asyncio.run`, but does not wait for ever for a task that swallows its cancellation."""
    loop = asyncio.new_event_loop()
    try:
        asyncio.set_event_loop(loop)
        return loop.run_until_complete(work)
    finally:
        try:
            tasks = asyncio.all_tasks(loop)
            for task in tasks:
                task.cancel()
            if tasks:
                loop.run_until_complete(asyncio.wait(tasks, timeout=_LAST_WORDS))
            for task in tasks:
                if task.done():
                    task.cancelled() or task.exception()  # looked at, so that nobody complains
                else:
                    task._log_destroy_pending = False  # type: ignore[attr-defined]
            loop.run_until_complete(loop.shutdown_asyncgens())
        finally:
            asyncio.set_event_loop(None)
            loop.close()


def run_engine(engine: Engine) -> str:
    """Run in an event loop of its own, or in a thread where a loop is already running (a notebook)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return run_to_end(_with_signals(engine))
    found: list[str | BaseException] = []

    def work() -> None:
        try:
            found.append(run_to_end(engine.run()))
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        thread.join()
    except KeyboardInterrupt:  # calls under way finish, as everywhere
        engine.stop.set()
        thread.join()
    if isinstance(found[0], BaseException):
        raise found[0]
    return found[0]


async def _with_signals(engine: Engine) -> str:
    """Handle signals: the first Ctrl-C lets running calls finish, the second stops at once."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None

    def stop() -> None:
        if engine.stop.is_set():
            task.cancel()
        engine.stop.set()

    for name in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError, RuntimeError, ValueError):  # Windows, or not the main thread: no handlers
            loop.add_signal_handler(name, stop)
    try:
        return await engine.run()
    except asyncio.CancelledError:
        return Paused.STOPPED
