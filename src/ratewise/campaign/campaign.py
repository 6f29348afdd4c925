"""`Campaign`: open it, run it, look at it. A thin door to the engine and the log."""

import asyncio
import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ratewise.campaign.clients.patience import PATIENCE
from ratewise.campaign.clients.people import People
from ratewise.campaign.ending import Ending
from ratewise.campaign.engine import Engine, Paused
from ratewise.campaign.export import export_answers, export_items, export_ledger
from ratewise.campaign.load import file_digest, load_items, stored_form
from ratewise.campaign.raised import expected_of, reported
from ratewise.campaign.snapshot import Snapshot, reader_of
from ratewise.campaign.spec.changes import changes
from ratewise.campaign.spec.spec import RaterSpec, Spec, read_spec
from ratewise.campaign.start import Start
from ratewise.campaign.status import Status, Watch
from ratewise.campaign.story import Chapter
from ratewise.campaign.verification import Verification
from ratewise.core.mean.estimate import Estimate
from ratewise.errors import InputError, SpecError, StoreError
from ratewise.queue.desk import Desk
from ratewise.queue.money import shown, to_money, to_units
from ratewise.queue.store import Store
from ratewise.queue.unsaved import Unsaved
from ratewise.raters.calling import Caller
from ratewise.raters.kind import Place
from ratewise.raters.kinds import KINDS
from ratewise.rounds.diagnostics import Diagnosis
from ratewise.tables import Table, write_table

Progress = Callable[[Status], None]


@dataclass(frozen=True, slots=True, eq=False)
class Campaign:
    """A campaign by its TOML; nothing is kept here, everything is in its store."""

    spec: Spec

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> "Campaign":
        """Read and check the TOML; a campaign that has begun is checked against it."""
        campaign = cls(read_spec(Path(path)))
        with campaign._store() as store:
            if store.exists():
                campaign._check(store)
        return campaign

    def begin(self) -> None:
        """Check and load the items without asking anyone; `run` does it, too, where it was not done."""
        with self._store() as store:
            self._begin(store)

    def run(self, *, progress: Progress | None = None, patience: float = PATIENCE, wait: bool = True) -> Ending:
        """Start or go on until the goal is reached; returns why it ended. Ctrl-C finishes the calls under way.

        Answers that others give, such as people, are waited for; or with `wait=False` the run ends where nothing else
        is to be done, and the next one goes on.
        """
        callers = [_caller(rater, self.spec) for rater in self.spec.raters]
        with self._store() as store:
            self._begin(store)
            engine = Engine(
                self.spec, store, callers, Unsaved(self._beside(".unsaved.jsonl")), patience=patience, wait=wait
            )
            if progress is not None:
                engine.tell = Watch(self.spec, store, progress)
            return Ending(_run(engine), to_money(store.totals()[1]), self.look)

    @contextmanager
    def people(self) -> Iterator[People]:
        """Hand out questions to people and take their answers, whether or not the campaign runs meanwhile."""
        with self._store() as store:
            self._check_begun(store)
            store.upgrade()
            yield People(self.spec, Desk(store))

    def _begin(self, store: Store) -> None:
        store.enter()  # first, so that one that is refused has changed nothing
        if not store.exists():
            loaded = load_items(self.spec)
            store.begin(loaded.meta, loaded.rows)
            if "start" in loaded.meta:
                store.note(Start.from_json(loaded.meta["start"]).summary())
            return
        self._check(store)
        store.upgrade()
        old = self._stored(store)
        if (old.goal, old.level) != (self.spec.goal, self.spec.level):
            before = reported(old, store)
            store.set_meta("goal changed", "after looking")
            store.set_meta("ended", None)
            found = expected_of(self.spec, store, before) if old.goal.budget != self.spec.goal.budget else None
            if found is not None:
                found.warn()
        for sentence in changes(old, self.spec).taken:
            store.note(f"changed: {sentence}")
        store.set_meta("spec", stored_form(self.spec))

    def _check(self, store: Store) -> None:
        """Refuse what would invalidate the statistics, with the reason."""
        old = self._stored(store)
        found = changes(old, self.spec)
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
        bound, budget = sum(store.totals()), self.spec.goal.budget
        if budget is not None and budget != old.goal.budget and bound > to_units(budget):
            raise InputError(
                f"goal.budget of {budget} is below the {shown(bound)} that are spent or promised already; raise it"
            )

    def _stored(self, store: Store) -> Spec:
        try:
            return Spec.from_dict(json.loads(store.meta("spec") or "{}"), self.spec.path)
        except SpecError as error:
            reason = error.mistakes[0]
            raise StoreError(
                f"the TOML that the campaign began with cannot be read back from its store ({reason})"
            ) from None

    @contextmanager
    def _store(self) -> Iterator[Store]:
        store = Store.at(self.spec.store, str(self.spec.folder), self.spec.name)
        try:
            with store.sound():
                yield store
        finally:
            store.close()

    def _beside(self, ending: str) -> Path:
        return self.spec.folder / (self.spec.path.stem + ending)

    # Looking

    @contextmanager
    def look(self) -> Iterator[Snapshot]:
        """The campaign at one moment, even while it is written: status, estimate and report of it agree."""
        with self.watch() as look:
            yield look()

    @contextmanager
    def watch(self) -> Iterator[Callable[[], Snapshot]]:
        """For looking again and again: each call is a look at its moment, and reads only what is new since the last."""
        with self._store() as store, ExitStack() as moment:
            self._check_begun(store)
            store.upgrade()
            reader = reader_of(self.spec, store, keeps=True)

            def look() -> Snapshot:
                moment.close()
                moment.enter_context(store.still())
                return Snapshot(self.spec, store, reader)

            yield look

    def _check_begun(self, store: Store) -> None:
        if not store.exists():
            raise InputError(
                f"the campaign {self.spec.name!r} has not begun; start it with: ratewise run {self.spec.path.name}"
            )

    def status(self) -> Status:
        """Money, labels, and the estimate of the rounds that are complete."""
        with self.look() as now:
            return now.status

    def estimate(self) -> Estimate | None:
        """From all complete rounds; its interval is the anytime one where the campaign stopped on what it saw."""
        with self.look() as now:
            return now.estimate

    def diagnosis(self) -> Diagnosis | None:
        """What the labels say about the weak rater and the rates; `None` for chains."""
        with self.look() as now:
            return now.diagnosis

    def verify(self) -> Verification:
        """Replay everything from the seed and the log."""
        with self.look() as now:
            return now.verification

    def story(self) -> list[Chapter]:
        """Round by round: what was bought, and what was known after it."""
        with self.look() as now:
            return now.story

    def notes(self) -> list[tuple[str, str]]:
        """(when, what): things worth knowing that happened on the way."""
        with self.look() as now:
            return now.notes

    def is_running(self) -> bool:
        """Whether some process plans it."""
        with self.look() as now:
            return now.is_running

    def export(self, path: str | os.PathLike[str], *, ledger: bool = False, answers: bool = False) -> Table:
        """Write what was looked at, or the ledger, or who said what; the ending of `path` names the format."""
        if ledger and answers:
            raise InputError("the ledger and the answers are two tables; export one of them at a time")
        with self.look() as now:
            if ledger:
                table = export_ledger(self.spec, now.store, now.facts.items)
            elif answers:
                table = export_answers(self.spec, now.store, now.facts.items)
            else:
                end = now.state.history.items if now.state.open is None else now.state.open.end
                table = export_items(self.spec, now.store, end, now.pooled)
        write_table(table, path)
        return table


def _caller(rater: RaterSpec, spec: Spec) -> Caller | None:
    make = KINDS[rater.kind].make
    if make is None:
        return None
    made = make(rater.settings, Place(str(spec.folder), rater.concurrency))
    return Caller(made, concurrency=rater.concurrency, timeout=rater.timeout, per_minute=rater.per_minute)


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
    try:
        thread.join()
    except KeyboardInterrupt:  # calls under way finish, as everywhere
        engine.stopping = True
        thread.join()
    if isinstance(found[0], BaseException):
        raise found[0]
    assert isinstance(found[0], str)
    return found[0]


async def _with_signals(engine: Engine) -> str:
    """The first Ctrl-C lets calls under way finish; the second stops at once."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None

    def stop() -> None:
        if engine.stopping:
            task.cancel()
        engine.stopping = True

    for name in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError, RuntimeError, ValueError):  # Windows, or not the main thread: no handlers
            loop.add_signal_handler(name, stop)
    try:
        return await engine.run()
    except asyncio.CancelledError:
        return Paused.STOPPED
