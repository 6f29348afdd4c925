"""`Campaign`: open it, run it, look at it. A thin door to the engine and the log."""

import html
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from ratewise.campaign.answers import Answers
from ratewise.campaign.clients.files import Received, SentOut, take_labels, write_questions
from ratewise.campaign.clients.patience import PATIENCE, wait_for
from ratewise.campaign.clients.people import Labelling, People
from ratewise.campaign.engine import Engine, run_engine
from ratewise.campaign.export import check_output, export_folder, export_record, export_table, items_table, table_asked
from ratewise.campaign.learner import Lesson, trainer_of
from ratewise.campaign.lifecycle import (
    begin,
    check_going_on,
    check_neighbours,
    edits,
    lesson_of,
    opened,
    opened_begun,
    stored_spec,
    unsaved_of,
)
from ratewise.campaign.raters import callers_of
from ratewise.campaign.seed import digest_of, reveal, seed_of
from ratewise.campaign.snapshot import Chapter, Snapshot, reader_of
from ratewise.campaign.spec.read import read_spec
from ratewise.campaign.spec.spec import SecretSeed, Spec
from ratewise.campaign.status import Ending, Status, telling
from ratewise.campaign.verify import Verification, check_chain
from ratewise.core.chart import ChartLine, lines_picture
from ratewise.core.estimate import Estimate
from ratewise.design.diagnostics import Diagnosis
from ratewise.errors import InputError, StoreError
from ratewise.store.archive import back_up
from ratewise.store.desk import Desk
from ratewise.store.money import to_money
from ratewise.store.store import Store
from ratewise.tables import Table

Progress = Callable[[Status], None]


@dataclass(frozen=True, slots=True, eq=False)
class Campaign:
    """A campaign by its TOML; nothing is kept here, everything is in its store."""

    spec: Spec

    def __post_init__(self) -> None:
        if not isinstance(self.spec, Spec):
            raise InputError(f"a campaign is opened by its file: Campaign.open({self.spec!r})")

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
        with opened(self.spec, looking=True) as store:
            if store.exists():
                check_going_on(self.spec, store)

    def begin(self, *, new: bool = False, after_restore: bool = False) -> None:
        """Check and load the items without asking anyone; `run` does it, too, where it was not done."""
        with opened(self.spec) as store:
            begin(self.spec, store, self._lesson, new=new, after_restore=after_restore)

    def begin_secretly(self, *, new: bool = False, after_restore: bool = False) -> str | None:
        """Begin if the seed is secret; returns its SHA-256, to be told before any question is asked, else `None`."""
        if not isinstance(self.spec.seed, SecretSeed):
            return None
        self.begin(new=new, after_restore=after_restore)
        return digest_of(seed_of(self.spec))

    def run(
        self, *, progress: Progress | None = None, patience: float = PATIENCE, wait: bool = True, new: bool = False,
        stop: threading.Event | None = None, after_restore: bool = False,
    ) -> Ending:  # fmt: skip
        """Start or go on until the goal is reached; returns why it ended. Ctrl-C finishes the calls under way.

        Answers that others give, such as people, are waited for; or with `wait=False` the run ends where nothing else
        is to be done, and the next one goes on. With `new=True` it begins though a store of the same name lies beside.
        When `stop` is set by another thread, calls under way finish, too. A store that is older than what was seen of
        it is refused; with `after_restore=True` the run goes on from it, and asks again what was asked since.
        """
        with opened(self.spec) as store:
            trainer = trainer_of(self.spec)
            callers = wait_for(lambda: callers_of(self.spec, store), patience)
            wait_for(lambda: begin(self.spec, store, self._lesson, new=new, after_restore=after_restore), patience)
            engine = Engine(
                self.spec, store, callers, unsaved_of(self.spec, store), patience=patience, wait=wait,
                stop=stop or threading.Event(), trainer=trainer,
            )  # fmt: skip
            if progress is not None:
                engine.tell = telling(self.spec, store, progress)
            reason = run_engine(engine)
            reveal(self.spec, store)
            spec = stored_spec(self.spec, store)
            with store.still():
                now = Snapshot(spec, store, engine.reader)
                return Ending(reason, to_money(store.totals()[1]), now.status, now.estimate)

    @contextmanager
    def people(self) -> Iterator[People]:
        """Hand out questions to people and take their answers, whether or not the campaign runs meanwhile."""
        with opened_begun(self.spec) as store:
            yield People(self.spec, Desk(store))

    @contextmanager
    def labelling(self) -> Iterator[Labelling]:
        """The questions for people behind the labelling page; begins the campaign where nobody has."""
        if not self.has_begun():
            self.begin()
        with opened(self.spec) as store:
            yield Labelling(self.spec, store)

    def export_questions(self, path: str | os.PathLike[str], *, rater: str | None = None, hold: float = 0.0) -> SentOut:
        """Write people's open questions for another labelling tool: .json for Label Studio, else a table to fill in.

        Nothing in the files tells the weak rating, the rate or the item's id. For `hold` hours the page does not hand
        the same questions out.
        """
        with opened_begun(self.spec) as store:
            return write_questions(self.spec, Desk(store), os.fspath(path), rater=rater, hold=hold)

    def import_answers(
        self, path: str | os.PathLike[str], *, rater: str | None = None, question: str = "rating",
        person: str | None = None, leave_out: bool = False,
    ) -> Received:  # fmt: skip
        """Take finished labels back: Label Studio's JSON or JSON_MIN, or a table. Each counts once, at its own rate.

        Labels of items that were not drawn are refused, since they would bias the estimate; with `leave_out=True` they
        are left aside. `question` is the column or the question that holds the rating.
        """
        with opened_begun(self.spec) as store:
            return take_labels(
                self.spec, Desk(store), os.fspath(path), rater=rater, question=question, person=person,
                leave_out=leave_out,
            )  # fmt: skip

    def _lesson(self) -> Lesson | None:
        """What a finished campaign hands on, where the TOML names one."""
        if self.spec.teacher is None:
            return None
        with Campaign.at(self.spec.folder / self.spec.teacher).look() as now:
            return lesson_of(now, self.spec)

    def has_begun(self) -> bool:
        """Whether its store is there."""
        with opened(self.spec, looking=True) as store:
            return store.exists()

    def check_new(self) -> None:
        """Raise `AlreadyBegunError` where it is about to begin beside another store of the same name."""
        if not self.has_begun():
            check_neighbours(self.spec)

    # Looking

    @contextmanager
    def look(self) -> Iterator[Snapshot]:
        """The campaign at one moment, even while it is written: status, estimate and report of it agree."""
        with self.watch() as look:
            yield look()

    @contextmanager
    def watch(self) -> Iterator[Callable[[], Snapshot]]:
        """A view to look through repeatedly: each call is a new look, and reads only what was added since the last."""
        with opened_begun(self.spec, looking=True) as store, ExitStack() as moment:
            kept = stored_spec(self.spec, store)
            edited = edits(self.spec, kept, store)
            reader = reader_of(kept, store, keeps=True)

            def look() -> Snapshot:
                moment.close()
                moment.enter_context(store.still())
                return Snapshot(kept, store, reader, edited)

            yield look

    def _repr_html_(self) -> str:
        """Where it stands, and the interval over money, for notebooks."""
        if not self.has_begun():
            name = html.escape(self.spec.name)
            return f"<p>{name} has not begun; start it with <code>campaign.run()</code></p>"
        with self.look() as now:
            known = [(float(to_money(c.spent)), c.estimate) for c in now.story if c.estimate is not None]
            line = ChartLine(
                "estimate", [(spent, e.value, *e.interval) for spent, e in known if e.interval is not None], True
            )
            said = f"Interval after each round over money spent. {now.status.summary()}"
            drawn = lines_picture([line], said, x_name="money spent →", y_name="mean strong rating")
            return now.status._repr_html_() + drawn

    def status(self) -> Status:
        """Money, labels, and the estimate of the rounds that are complete."""
        with self.look() as now:
            return now.status

    def estimate(self) -> Estimate | None:
        """The estimate from all complete rounds; its interval is anytime-valid if the campaign stopped on its data."""
        with self.look() as now:
            return now.estimate

    def answers(self) -> Answers | None:
        """The answers of its question from all complete rounds, each with its interval; `None` for a plain mean."""
        with self.look() as now:
            return now.answers

    def diagnosis(self) -> Diagnosis | None:
        """What the labels say about the weak rater and the rates; `None` for chains."""
        with self.look() as now:
            return now.diagnosis

    def verify(self, *, head: str | None = None) -> Verification:
        """Replay everything from the seed and the log, and compare it with the record and with a head from it."""
        try:
            with self.look() as now:
                return now.verify(head)
        except StoreError as error:  # the record of a store that cannot be replayed may still show what is wrong
            found = Verification()
            with opened(self.spec, looking=True) as store:
                check_chain(store, head, found)
            if found.passed:
                raise
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
        self, path: str | os.PathLike[str], *, ledger: bool = False, answers: bool = False, safe_cells: bool = False
    ) -> Table:
        """Write what was looked at, or the ledger, or who said what; the ending of `path` names the format.

        With `safe_cells`, texts that a spreadsheet would run as formulas get an apostrophe before them.
        """
        with self.look() as now:
            return export_table(now, path, table_asked(ledger=ledger, answers=answers), safe_cells=safe_cells)

    def table(self) -> Table:
        """What `export` writes, without a file: `estimate_table` and `check` of it say what the campaign reports."""
        with self.look() as now:
            if now.pooled is None:
                raise InputError(f"campaign {self.spec.name!r} has no estimate yet: go on with it first")
            return items_table(now)

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
        with opened_begun(self.spec, looking=True) as store:
            back_up(store, os.fspath(path))
        copy = Store.at(os.path.abspath(path), "", self.spec.name)
        try:
            return copy.head()
        finally:
            copy.close()
