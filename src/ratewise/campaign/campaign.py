"""`Campaign`: open it, run it, look at it. A thin door to the engine and the log."""

import asyncio
import json
import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ratewise.campaign.answers import anytime_estimate, estimate_history
from ratewise.campaign.decide import State
from ratewise.campaign.engine import PATIENCE, Engine
from ratewise.campaign.load import file_digest, load_items, stored_form
from ratewise.campaign.money import shown, to_units
from ratewise.campaign.reader import Reader
from ratewise.campaign.spec.changes import changes
from ratewise.campaign.spec.spec import RaterSpec, Spec, read_spec
from ratewise.campaign.status import Status, status_of
from ratewise.campaign.store.log import Store
from ratewise.campaign.unsaved import Unsaved
from ratewise.campaign.verify import Verification, verify_log
from ratewise.core.estimate import Estimate
from ratewise.errors import InputError
from ratewise.learn.diagnostics import Diagnosis, diagnose
from ratewise.raters.calling import Caller
from ratewise.raters.column import ColumnRater
from ratewise.raters.command import CommandRater
from ratewise.raters.protocol import Rater
from ratewise.raters.python import PythonRater
from ratewise.raters.recorded import RecordedRater

Progress = Callable[[Status], None]


@dataclass(frozen=True, slots=True, eq=False)
class Campaign:
    """A campaign by its TOML; nothing is kept here, everything is in its store."""

    spec: Spec

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> "Campaign":
        """Read and check the TOML; a campaign that has begun is checked against it."""
        campaign = cls(read_spec(Path(path)))
        store = campaign._store()
        try:
            if store.exists():
                campaign._check(store)
        finally:
            store.close()
        return campaign

    def run(self, *, progress: Progress | None = None, patience: float = PATIENCE) -> str:
        """Start or go on until the goal is reached; returns why it ended. Ctrl-C finishes the calls under way."""
        callers = [_caller(rater, self.spec) for rater in self.spec.raters]
        store = self._store()
        try:
            self._begin(store)
        except BaseException:
            store.close()
            raise
        engine = Engine(self.spec, store, callers, Unsaved(self._beside(".unsaved.jsonl")), patience=patience)
        if progress is not None:
            engine.tell = lambda state: progress(status_of(self.spec, store, state))
        return _run(engine)

    def _begin(self, store: Store) -> None:
        if not store.exists():
            loaded = load_items(self.spec)
            store.begin(loaded.meta, loaded.rows)
            return
        self._check(store)
        store.upgrade()
        old = self._stored(store)
        if old.goal != self.spec.goal:
            store.set_meta("goal changed", "after looking")
        for sentence in changes(old, self.spec).taken:
            store.note(f"changed: {sentence}")
        store.set_meta("spec", stored_form(self.spec))

    def _check(self, store: Store) -> None:
        """Refuse what would invalidate the statistics, with the reason."""
        found = changes(self._stored(store), self.spec)
        if found.refused:
            raise InputError(
                f"{self.spec.path.name} was changed in a way that a campaign under way cannot take: "
                f"{'; '.join(found.refused)}. Undo that, or begin another campaign under another name"
            )
        with suppress(OSError):
            if file_digest(self.spec.table_path) != store.meta("digest"):
                raise InputError(
                    f"{self.spec.items.table} has changed since the campaign began; items that may be drawn already "
                    "cannot change. Put the old file back, or begin another campaign under another name"
                )
        reserved, spent = store.totals()
        budget = self.spec.goal.budget
        if budget is not None and reserved + spent > to_units(budget):
            raise InputError(
                f"goal.budget of {budget} is below the {shown(reserved + spent)} that are spent or promised already"
            )

    def _stored(self, store: Store) -> Spec:
        return Spec.from_dict(json.loads(store.meta("spec") or "{}"), self.spec.path)

    def _store(self) -> Store:
        return Store.at(self.spec.store, str(self.spec.folder), self.spec.name)

    def _beside(self, ending: str) -> str:
        return str(self.spec.folder / (self.spec.path.stem + ending))

    # Looking

    def _reading(self) -> tuple[Store, Reader, State]:
        store = self._store()
        if not store.exists():
            store.close()
            raise InputError(
                f"the campaign {self.spec.name!r} has not begun; start it with: ratewise run {self.spec.path.name}"
            )
        store.upgrade()
        reader = Reader.of(self.spec, store)
        return store, reader, reader.state()

    def status(self) -> Status:
        """Money, labels, and the estimate of the rounds that are complete."""
        store, _, state = self._reading()
        try:
            return status_of(self.spec, store, state)
        finally:
            store.close()

    def estimate(self) -> Estimate | None:
        """From all complete rounds; its interval is the anytime one where the campaign stopped on what it saw."""
        store, reader, state = self._reading()
        try:
            seen = self.spec.goal.target_se is not None or store.meta("goal changed") is not None
            make = anytime_estimate if seen else estimate_history
            return make(state.history, reader.terms.wanted)
        finally:
            store.close()

    def diagnosis(self) -> Diagnosis | None:
        """What the labels say about the weak rater and the rates; `None` for chains."""
        store, reader, state = self._reading()
        store.close()
        found = estimate_history(state.history, reader.terms.wanted)
        return None if found is None or state.history.seen is None else diagnose(state.history.seen, found)

    def verify(self) -> Verification:
        """Replay everything from the seed and the log."""
        store, reader, _ = self._reading()
        try:
            return verify_log(self.spec, store, reader)
        finally:
            store.close()


def _caller(rater: RaterSpec, spec: Spec) -> Caller:
    made = _rater(rater, str(spec.folder))
    return Caller(made, concurrency=rater.concurrency, timeout=rater.timeout, per_minute=rater.per_minute)


def _rater(rater: RaterSpec, folder: str) -> Rater:
    if rater.kind == "column":
        return ColumnRater(rater.column or "")
    if rater.kind == "python":
        return PythonRater(rater.function or "", folder=folder)
    if rater.kind == "command":
        return CommandRater(rater.command or (), folder=folder, processes=rater.concurrency)
    return RecordedRater(os.path.join(folder, rater.file or ""))


def _run(engine: Engine) -> str:
    """In an event loop of its own; where one is running already (a notebook), in a thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(_with_signals(engine))
    found: list[Any] = []

    def work() -> None:
        try:
            found.append(asyncio.run(engine.run()))
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if isinstance(found[0], BaseException):
        raise found[0]
    return str(found[0])


async def _with_signals(engine: Engine) -> str:
    """The first Ctrl-C lets calls under way finish; the second stops at once."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None

    def stop() -> None:
        if engine.stopping:
            task.cancel()
        engine.stopping = True

    for name in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError, RuntimeError, ValueError):
            loop.add_signal_handler(name, stop)
    try:
        return await engine.run()
    except asyncio.CancelledError:
        return "stopped"
