"""`Campaign`: open it, run it, look at it. A thin door to the engine and the log."""

import asyncio
import html
import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from ratewise.campaign.clients.incoming import How, Incoming, Received
from ratewise.campaign.clients.labelling import Labelling
from ratewise.campaign.clients.outgoing import Outgoing, SentOut
from ratewise.campaign.clients.patience import PATIENCE, wait_for
from ratewise.campaign.clients.people import People
from ratewise.campaign.damage import UNREADABLE, damaged_log, is_sound
from ratewise.campaign.ending import Ending
from ratewise.campaign.engine import Engine, Paused
from ratewise.campaign.event_loop import run_to_end
from ratewise.campaign.lesson import Lesson
from ratewise.campaign.load import load_items, stored_form
from ratewise.campaign.made import callers_of
from ratewise.campaign.own_files import check_output
from ratewise.campaign.pool import is_same, taken_in
from ratewise.campaign.raised import expected_of, reported
from ratewise.campaign.raters_seen import check_raters, note_raters
from ratewise.campaign.recorded import check_chain
from ratewise.campaign.refits import trainer_of
from ratewise.campaign.seed import check_secret, digest_of, reveal, seed_of
from ratewise.campaign.snapshot import Snapshot, reader_of
from ratewise.campaign.spec.changes import changes
from ratewise.campaign.spec.spec import SecretSeed, Spec, read_spec
from ratewise.campaign.start import Start
from ratewise.campaign.status import Status, Watch
from ratewise.campaign.story import Chapter
from ratewise.campaign.taking_out import export_folder, export_record, export_table
from ratewise.campaign.teaching import lesson_of
from ratewise.campaign.texts import book_texts
from ratewise.campaign.verification import Verification
from ratewise.core.mean.estimate import Estimate
from ratewise.core.small_picture import band_picture
from ratewise.errors import AlreadyBegunError, InputError, RatewiseError, SpecError, StoreError
from ratewise.queue.copies import back_up, readable
from ratewise.queue.desk import Desk
from ratewise.queue.money import shown, to_money, to_units
from ratewise.queue.neighbours import stores_of
from ratewise.queue.store import Store
from ratewise.queue.unsaved import Unsaved
from ratewise.raters.secrets import without_secrets
from ratewise.rounds.diagnostics import Diagnosis
from ratewise.rounds.teacher import Teacher
from ratewise.tables import Table

Progress = Callable[[Status], None]


@dataclass(frozen=True, slots=True, eq=False)
class Campaign:
    """A campaign by its TOML; nothing is kept here, everything is in its store."""

    spec: Spec

    @classmethod
    def at(cls, path: str | os.PathLike[str]) -> "Campaign":
        """Open a campaign only to look at it: the TOML is read, and `look` reports where it differs from the store."""
        return cls(read_spec(Path(path)))

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, patience: float = 0.0) -> "Campaign":
        """Read and check the TOML; a campaign that has begun is checked against it.

        A store that is gone for a moment, such as a server that restarts, is waited for as long as `patience` says.
        """
        campaign = cls.at(path)
        wait_for(campaign.check, patience)
        return campaign

    def check(self) -> None:
        """Check a campaign that has begun against its TOML; what it cannot take is an InputError."""
        with self._store(looking=True) as store:
            if store.exists():
                self._check(store)

    def begin(self, *, new: bool = False) -> None:
        """Check and load the items without asking anyone; `run` does it, too, where it was not done."""
        with self._store() as store:
            self._begin(store, new=new)

    def begin_secretly(self, *, new: bool = False) -> str | None:
        """Begin if the seed is secret; returns its SHA-256, to be told before any question is asked, else `None`."""
        if not isinstance(self.spec.seed, SecretSeed):
            return None
        self.begin(new=new)
        return digest_of(seed_of(self.spec))

    def run(
        self, *, progress: Progress | None = None, patience: float = PATIENCE, wait: bool = True, new: bool = False,
        stop: threading.Event | None = None,
    ) -> Ending:  # fmt: skip
        """Start or go on until the goal is reached; returns why it ended. Ctrl-C finishes the calls under way.

        Answers that others give, such as people, are waited for; or with `wait=False` the run ends where nothing else
        is to be done, and the next one goes on. With `new=True` it begins though a store of the same name lies beside.
        When `stop` is set by another thread, calls under way finish, too.
        """
        with self._store() as store:
            trainer = trainer_of(self.spec)
            callers = wait_for(lambda: callers_of(self.spec, store), patience)
            wait_for(lambda: self._begin(store, new=new), patience)
            engine = Engine(
                self.spec, store, callers, self._unsaved(store), patience=patience, wait=wait, stop=stop,
                trainer=trainer,
            )  # fmt: skip
            if progress is not None:
                engine.tell = Watch(self.spec, store, progress)
            reason = _run(engine)
            reveal(self.spec, store)
            return Ending(reason, to_money(store.totals()[1]), self.look)

    @contextmanager
    def people(self) -> Iterator[People]:
        """Hand out questions to people and take their answers, whether or not the campaign runs meanwhile."""
        with self._store() as store:
            self._check_begun(store)
            store.upgrade()
            yield People(self.spec, Desk(store))

    @contextmanager
    def labelling(self) -> Iterator[Labelling]:
        """The questions for people behind the labelling page; begins the campaign where nobody has."""
        if not self.has_begun():
            self.begin()
        with self._store() as store:
            store.upgrade()
            yield Labelling(self.spec, store)

    def export_questions(self, path: str | os.PathLike[str], *, rater: str | None = None, hold: float = 0.0) -> SentOut:
        """Write people's open questions for another labelling tool: .json for Label Studio, else a table to fill in.

        Nothing in the files tells the weak rating, the rate or the item's id. For `hold` hours the page does not hand
        the same questions out.
        """
        with self._desk() as desk:
            return Outgoing(self.spec, desk).write(os.fspath(path), rater=rater, hold=hold)

    def import_answers(
        self, path: str | os.PathLike[str], *, rater: str | None = None, question: str = "rating",
        person: str | None = None, leave_out: bool = False,
    ) -> Received:  # fmt: skip
        """Take finished labels back: Label Studio's JSON or JSON_MIN, or a table. Each counts once, at its own rate.

        Labels of items that were not drawn are refused, since they would bias the estimate; with `leave_out=True` they
        are left aside. `question` is the column or the question that holds the rating.
        """
        with self._desk() as desk:
            return Incoming(self.spec, desk).read(os.fspath(path), How(rater, question, person, leave_out))

    @contextmanager
    def _desk(self) -> Iterator[Desk]:
        with self._store() as store:
            self._check_begun(store)
            store.upgrade()
            yield Desk(store)

    def _begin(self, store: Store, *, new: bool) -> None:
        if not new and not store.exists():
            self._check_neighbours()
        store.enter()  # first, so that one that is refused has changed nothing
        if not store.exists():
            loaded = load_items(self.spec, self._lesson())
            store.begin(loaded.meta, loaded.rows, paid=loaded.paid)
            book_texts(self.spec, store)
            self._set_cap(store, None)
            if "pool" in loaded.meta:
                store.note(taken_in(self.spec, int(loaded.meta["pool"]), int(loaded.meta["items"])))
            if "start" in loaded.meta:
                store.note(Start.from_json(loaded.meta["start"]).summary())
            if "teacher" in loaded.meta:
                teacher = Teacher.from_json(loaded.meta["teacher"])
                store.note(f"{teacher.strong.size:,} labels of the campaign {teacher.campaign!r} teach this one")
            if "text note" in loaded.meta:
                store.note(loaded.meta["text note"])
            note_raters(self.spec, store)
            return
        self._check(store)
        store.upgrade()
        book_texts(self.spec, store)
        check_secret(self.spec, store)
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
        self._set_cap(store, old.goal.budget)
        store.set_meta("spec", stored_form(self.spec))
        note_raters(self.spec, store)

    def _lesson(self) -> Lesson | None:
        """What a finished campaign hands on, where the TOML names one."""
        if self.spec.teacher is None:
            return None
        with Campaign.at(self.spec.folder / self.spec.teacher).look() as now:
            return lesson_of(now, self.spec)

    def has_begun(self) -> bool:
        """Whether its store is there."""
        with self._store() as store:
            return store.exists()

    def check_new(self) -> None:
        """Raise `AlreadyBegunError` where it is about to begin beside another store of the same name."""
        if not self.has_begun():
            self._check_neighbours()

    def _check_neighbours(self) -> None:
        """Refuse to begin where the campaign has begun in another store: a slip in `store` must not buy it twice."""
        beside, unsaved = stores_of(self.spec.name, str(self.spec.folder)), self._beside(".unsaved.jsonl")
        kept = unsaved.exists() and bool(unsaved.read_bytes().strip())
        found = ", ".join(beside) or (unsaved.name if kept else "")
        if found:
            raise AlreadyBegunError(
                f"the campaign {self.spec.name!r} has begun already: {found} lies beside it, and its store "
                f"{without_secrets(self.spec.store)} is not there. Name the old store, or begin anew with: "
                f"ratewise run {self.spec.path.name} --new"
            )

    def _set_cap(self, store: Store, old: Decimal | None) -> None:
        """Write the budget into the store, where every process reads it."""
        budget = self.spec.goal.budget
        if not store.set_cap(_units(budget), was=_units(old)):
            raise _below(budget, sum(store.totals()))

    def _check(self, store: Store) -> None:
        """Refuse what would invalidate the statistics, with the reason."""
        old = self._stored(store)
        found = changes(old, self.spec)
        if found.refused:
            raise InputError(
                f"{self.spec.path.name} was changed in a way that a campaign under way cannot take: "
                f"{'; '.join(found.refused)}. Undo that, or begin another campaign under another name"
            )
        check_raters(self.spec, store)
        if self._other_table(store):
            raise InputError(
                f"{self.spec.items.table} has changed since the campaign began; items that may be drawn already "
                "cannot change. Put the old file back, or begin another campaign under another name"
            )
        bound, budget = sum(store.totals()), self.spec.goal.budget
        if budget is not None and budget != old.goal.budget and bound > to_units(budget):
            raise _below(budget, bound)

    def _other_table(self, store: Store) -> tuple[str, ...]:
        """A warning where the table is not the one that was loaded; empty where it is the same, or gone."""
        with suppress(OSError):
            if not is_same(self.spec.table_path, store.meta("digest")):
                return (f"{self.spec.items.table} is not the table that was loaded",)
        return ()

    def _stored(self, store: Store) -> Spec:
        try:
            return Spec.from_dict(json.loads(store.meta("spec") or "{}"), self.spec.path)
        except SpecError as error:
            reason = error.mistakes[0]
            raise StoreError(
                f"the TOML that the campaign began with cannot be read back from its store ({reason})"
            ) from None

    @contextmanager
    def _store(self, *, looking: bool = False) -> Iterator[Store]:
        """Open the store; to look at a store that cannot be written, such as an archive, a copy is opened."""
        with ExitStack() as held:
            where = self.spec.store
            if looking and "://" not in where:
                where = held.enter_context(readable(os.path.join(self.spec.folder, where)))
            store = Store.at(where, str(self.spec.folder), self.spec.name)
            held.callback(store.close)
            try:
                with store.sound():
                    yield store
            except RatewiseError:
                raise
            except UNREADABLE as error:
                if not is_sound(self.spec):
                    raise damaged_log(self.spec, error) from error
                raise

    def _unsaved(self, store: Store) -> Unsaved:
        return Unsaved(self._beside(".unsaved.jsonl"), store.meta("campaign") or "")

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
        """A view to look through repeatedly: each call is a new look, and reads only what was added since the last."""
        with self._store(looking=True) as store, ExitStack() as moment:
            self._check_begun(store)
            store.upgrade()
            kept = replace(self._stored(store), store=self.spec.store)
            found = changes(kept, self.spec)
            edited = (*found.taken, *found.refused, *self._other_table(store))
            reader = reader_of(kept, store, keeps=True)

            def look() -> Snapshot:
                moment.close()
                moment.enter_context(store.still())
                return Snapshot(kept, store, reader, edited)

            yield look

    def _check_begun(self, store: Store) -> None:
        if not store.exists():
            raise InputError(
                f"the campaign {self.spec.name!r} has not begun; start it with: ratewise run {self.spec.path.name}"
            )

    def _repr_html_(self) -> str:
        """Where it stands, and the interval over money, for notebooks."""
        if not self.has_begun():
            name = html.escape(self.spec.name)
            return f"<p>{name} has not begun; start it with <code>campaign.run()</code></p>"
        with self.look() as now:
            known = [(float(to_money(c.spent)), c.estimate) for c in now.story if c.estimate is not None]
            points = [(spent, e.value, *e.interval) for spent, e in known if e.interval is not None]
            drawn = band_picture(points, f"Interval after each round over money spent. {now.status.summary()}")
            return now.status._repr_html_() + drawn

    def status(self) -> Status:
        """Money, labels, and the estimate of the rounds that are complete."""
        with self.look() as now:
            return now.status

    def estimate(self) -> Estimate | None:
        """The estimate from all complete rounds; its interval is anytime-valid if the campaign stopped on its data."""
        with self.look() as now:
            return now.estimate

    def diagnosis(self) -> Diagnosis | None:
        """What the labels say about the weak rater and the rates; `None` for chains."""
        with self.look() as now:
            return now.diagnosis

    def verify(self, *, head: str | None = None) -> Verification:
        """Replay everything from the seed and the log, and compare it with the record and with a head from it."""
        try:
            with self.look() as now:
                return now.verify(head)
        except StoreError as error:
            return self._verify_record(head, error)

    def _verify_record(self, head: str | None, error: StoreError) -> Verification:
        """Verify the record of a store that cannot be replayed; raises `error` where the record shows nothing wrong."""
        found = Verification()
        with self._store(looking=True) as store:
            check_chain(store, head, found)
        if found.passed:
            raise error
        found.differ(f"the rest cannot be replayed: {error}")
        return found

    def head(self) -> str:
        """Digest of everything written so far; keep it elsewhere, and `verify` finds later changes to the store."""
        with self.look() as now:
            return now.head

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

    def export(
        self,
        path: str | os.PathLike[str],
        *,
        ledger: bool = False,
        answers: bool = False,
        safe_cells: bool = False,
    ) -> Table:
        """Write what was looked at, or the ledger, or who said what; the ending of `path` names the format.

        With `safe_cells`, texts that a spreadsheet would run as formulas get an apostrophe before them.
        """
        with self.look() as now:
            return export_table(now, path, ledger=ledger, answers=answers, safe_cells=safe_cells)

    def export_record(self, path: str | os.PathLike[str]) -> str:
        """Write the whole record, which `ratewise verify` checks anywhere; returns its head."""
        with self.look() as now:
            return export_record(now, path)

    def export_folder(self, folder: str | os.PathLike[str]) -> tuple[tuple[str, ...], str]:
        """Write all tables and the record, of one moment; returns the files' names and the head."""
        with self.look() as now:
            return export_folder(now, folder)

    def backup(self, path: str | os.PathLike[str]) -> str:
        """Copy the store into one SQLite file, while others write; returns the head of the copy's record."""
        check_output(self.spec, path)
        with self._store(looking=True) as store:
            self._check_begun(store)
            store.upgrade()
            back_up(store, os.fspath(path))
        copy = Store.at(os.path.abspath(path), "", self.spec.name)
        try:
            return copy.head()
        finally:
            copy.close()


def _units(amount: Decimal | None) -> int | None:
    return None if amount is None else to_units(amount)


def _below(budget: Decimal | None, bound: int) -> InputError:
    return InputError(
        f"goal.budget of {budget} is below the {shown(bound)} that are spent or promised already; raise it"
    )


def _run(engine: Engine) -> str:
    """Run in an event loop of its own, or in a thread where a loop is already running (a notebook)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return run_to_end(_with_signals(engine))
    found: list[Any] = []

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
        engine.stopping = True
        thread.join()
    if isinstance(found[0], BaseException):
        raise found[0]
    assert isinstance(found[0], str)
    return found[0]


async def _with_signals(engine: Engine) -> str:
    """Handle signals: the first Ctrl-C lets running calls finish, the second stops at once."""
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
