"""A campaign's store is opened, begun once with its items, and gone on with as its TOML allows.

A campaign never begins beside a store in which it has begun already, and takes no change that would invalidate its
statistics. A store whose tables make no sense is an error of one line.
"""

import json
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from decimal import Decimal
from pathlib import Path

from ratewise.campaign.head import check_head
from ratewise.campaign.learner import READING, Lesson, book_texts, learner_of
from ratewise.campaign.load import is_same, load_items, pays_for_all, stored_form
from ratewise.campaign.more_budget import warning_of
from ratewise.campaign.raters import check_raters, doubtful, note_raters
from ratewise.campaign.seed import check_secret
from ratewise.campaign.snapshot import Snapshot, reader_of
from ratewise.campaign.spec.changes import changes
from ratewise.campaign.spec.read import spec_of
from ratewise.campaign.spec.spec import Spec
from ratewise.campaign.verify import UNREADABLE, verify_log
from ratewise.design.teacher import Teacher, enough_to_teach
from ratewise.errors import AlreadyBegunError, InputError, RatewiseError, RatewiseWarning, SpecError, StoreError
from ratewise.learn.features import Coding
from ratewise.learn.texts import TextReading
from ratewise.raters.text import one_line, without_secrets
from ratewise.store.archive import readable, stores_of
from ratewise.store.money import shown, to_units
from ratewise.store.store import Store
from ratewise.store.unsaved import Unsaved


def check_going_on(spec: Spec, store: Store) -> None:
    """Refuse what would invalidate the statistics, with the reason."""
    old = stored_spec(spec, store)
    refused = [change.sentence for change in changes(old, spec) if change.reason]
    if refused:
        raise InputError(
            f"{spec.path.name} was changed in a way that a campaign under way cannot take: "
            f"{'; '.join(refused)}. Undo that, or begin another campaign under another name"
        )
    check_raters(spec, store)
    if not same_table(spec, store):
        raise InputError(
            f"{spec.items.table} has changed since the campaign began; items that may be drawn already "
            "cannot change. Put the old file back, or begin another campaign under another name"
        )
    bound, budget = sum(store.totals()), spec.goal.budget
    if budget is not None and budget != old.goal.budget and bound > to_units(budget):
        raise _below(budget, bound)


def take_changes(spec: Spec, store: Store) -> None:
    """Check the TOML, and write what changed in it into the store."""
    check_going_on(spec, store)
    book_texts(spec, store)
    check_secret(spec, store)
    old = stored_spec(spec, store)
    if (old.goal, old.level) != (spec.goal, spec.level):
        _change_goal(spec, store, old)
    for change in changes(old, spec):
        store.note(f"changed: {change.sentence}")
    set_cap(spec, store, old.goal.budget)
    store.set_meta("spec", stored_form(spec))


def _change_goal(spec: Spec, store: Store, old: Spec) -> None:
    """Write down that the goal was changed after looking; warn where more money is not expected to help."""
    before = Snapshot(old, store, reader_of(old, store)).estimate  # the result by the old goal
    store.set_meta("goal changed", "after looking")
    store.set_meta("ended", None)
    if old.goal.budget != spec.goal.budget:
        if not spec.asks and (warning := warning_of(spec, store, before)) is not None:  # which is about the mean
            warnings.warn(warning, RatewiseWarning, stacklevel=2)
        prices = json.loads(store.meta("prices") or "[0]")
        warn_of_budget(store, pays_for_all(spec, int(store.meta("items") or 0), float(prices[-1])))


def warn_of_budget(store: Store, doubt: str | None) -> None:
    """Tell, before anything is bought, that a budget would rate the whole pool, and write it down."""
    if doubt is not None:
        store.note(doubt)
        warnings.warn(doubt, RatewiseWarning, stacklevel=2)


def set_cap(spec: Spec, store: Store, old: Decimal | None) -> None:
    """Write the budget into the store, where every process reads it."""
    budget = spec.goal.budget
    if not store.set_cap(_units(budget), was=_units(old)):
        raise _below(budget, sum(store.totals()))


def stored_spec(spec: Spec, store: Store) -> Spec:
    """The TOML as it was last taken in."""
    try:
        return spec_of({**json.loads(store.meta("spec") or "{}"), "store": spec.store}, spec.path)
    except SpecError as error:
        reason = error.mistakes[0]
        raise StoreError(
            f"the TOML that the campaign began with cannot be read back from its store ({reason})"
        ) from None


def edits(spec: Spec, stored: Spec, store: Store) -> tuple[str, ...]:
    """Sentences on what differs from the store: the TOML's keys, and the table."""
    found = sorted(changes(stored, spec), key=lambda change: bool(change.reason))
    other = () if same_table(spec, store) else (f"{spec.items.table} is not the table that was loaded",)
    return (*(change.sentence for change in found), *other)


def same_table(spec: Spec, store: Store) -> bool:
    """Whether the table is the one that was loaded; one that is gone counts as the same, since nothing reads it."""
    with suppress(OSError):
        return is_same(spec.table_path, store.meta("digest"))
    return True


def _units(amount: Decimal | None) -> int | None:
    return None if amount is None else to_units(amount)


def _below(budget: Decimal | None, bound: int) -> InputError:
    return InputError(
        f"goal.budget of {budget} is below the {shown(bound)} that are spent or promised already; raise it"
    )


def begin(
    spec: Spec, store: Store, lesson: Callable[[], Lesson | None], *, new: bool, after_restore: bool = False
) -> None:
    """Load the items where nobody has, or take in what changed in the TOML.

    `lesson` says what a finished campaign hands on; it is asked only where the items are loaded.
    """
    if not new and not store.exists():
        check_neighbours(spec)
    store.enter()  # first, so that one that is refused has changed nothing
    if store.exists():
        check_head(spec, store, after_restore=after_restore)
        take_changes(spec, store)
    else:
        _load(spec, store, lesson())
    note_raters(spec, store)


def _load(spec: Spec, store: Store, lesson: Lesson | None) -> None:
    loaded = load_items(spec, lesson)
    store.begin(loaded.meta, loaded.rows, paid=loaded.paid)
    book_texts(spec, store)
    set_cap(spec, store, None)
    for note in loaded.notes:
        store.note(note)
    warn_of_budget(store, loaded.doubt)


def check_neighbours(spec: Spec) -> None:
    """Refuse to begin where the campaign has begun in another store: a slip in `store` must not buy it twice."""
    beside, unsaved = stores_of(spec.name, str(spec.folder)), _unsaved_path(spec)
    kept = unsaved.exists() and bool(unsaved.read_bytes().strip())
    found = ", ".join(beside) or (unsaved.name if kept else "")
    if found:
        raise AlreadyBegunError(
            f"the campaign {spec.name!r} has begun already: {found} lies beside it, and its store "
            f"{without_secrets(spec.store)} is not there. Name the old store, or begin anew with: "
            f"ratewise run {spec.path.name} --new"
        )


def unsaved_of(spec: Spec, store: Store) -> Unsaved:
    """The file that keeps answers while the store cannot be written."""
    return Unsaved(_unsaved_path(spec), store.meta("campaign") or "")


def _unsaved_path(spec: Spec) -> Path:
    return spec.folder / (spec.path.stem + ".unsaved.jsonl")


def is_sound(spec: Spec) -> bool:
    """Whether the whole log can be replayed; called only after something has gone wrong."""
    store = Store.at(spec.store, str(spec.folder), spec.name)
    try:
        if not store.exists():
            return True
        with store.still():
            return verify_log(spec, store, reader_of(spec, store)).passed
    except (RatewiseError, *UNREADABLE):
        return False
    finally:
        store.close()


@contextmanager
def opened(spec: Spec, *, looking: bool = False) -> Iterator[Store]:
    """Open the store; to look at a store that cannot be written, such as an archive, a copy is opened."""
    with ExitStack() as held:
        where = spec.store
        if looking and "://" not in where:
            where = held.enter_context(readable(os.path.join(spec.folder, where)))
        store = Store.at(where, str(spec.folder), spec.name)
        held.callback(store.close)
        try:
            with store.sound():
                yield store
        except RatewiseError:
            raise
        except UNREADABLE as error:
            if is_sound(spec):
                raise
            reason = one_line(f"{type(error).__name__}: {error}", 120)
            raise StoreError(
                f"the log of {spec.name!r} is damaged: what it says does not fit together ({reason}); `ratewise "
                "verify` may say where, and a backup helps: nothing was changed"
            ) from error


@contextmanager
def opened_begun(spec: Spec, *, looking: bool = False) -> Iterator[Store]:
    """Open the store of a campaign that has begun; an InputError where it has not."""
    with opened(spec, looking=looking) as store:
        if not store.exists():
            raise InputError(f"the campaign {spec.name!r} has not begun; start it with: ratewise run {spec.path.name}")
        yield store


def lesson_of(now: Snapshot, pupil: Spec) -> Lesson | None:
    """What the campaign has to teach, `None` where it has too few labels of items with weak ratings.

    An InputError where it is not finished, or is about something else.
    """
    old, where = now.spec, f"start.from in {pupil.path.name}: the campaign {now.spec.name!r}"
    if now.store.meta("ended") is None:
        raise InputError(f"{where} has not ended; let it end with: ratewise run {old.path.name}")
    if len(old.raters) != 2 or now.facts.inputs is not None:
        raise InputError(f"{where} has strata, or not one weak and one strong rater; leave start.from out")
    if old.scale != pupil.scale:
        raise InputError(f"{where} has another rating scale; leave start.from out, or make [rating] the same")
    if (old.items.features, old.items.uncertainty) != (pupil.items.features, pupil.items.uncertainty):
        raise InputError(f"{where} has other features or another uncertainty; make them the same under [items]")
    if (old.items.text, learner_of(old).identity) != (pupil.items.text, learner_of(pupil).identity):
        raise InputError(f"{where} learns from other texts, or in another way; make items.text and [learner] the same")
    if (doubtful(old) is None) != (doubtful(pupil) is None):
        raise InputError(f"{where} has a weak rater that tells its uncertainty, or this one has; leave start.from out")
    seen = now.state.history.seen
    if seen is None or not enough_to_teach(seen):
        return None
    coded = tuple(Coding.from_dict(one) for one in json.loads(now.store.meta("codings") or "[]"))
    kept = now.store.meta(READING) if old.items.text else None
    reading = None if kept is None else TextReading.from_dict(json.loads(kept))  # how its texts became numbers
    return Lesson(Teacher.of(old.name, seen), coded, reading)
