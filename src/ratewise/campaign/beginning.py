"""Begins a campaign: its items are loaded once, never beside a store in which it has begun already."""

from collections.abc import Callable
from pathlib import Path

from ratewise.campaign.going_on import set_cap, take_changes, warn_of_budget
from ratewise.campaign.lesson import Lesson, too_little
from ratewise.campaign.load import load_items
from ratewise.campaign.pool import taken_in
from ratewise.campaign.raters_seen import note_raters
from ratewise.campaign.spec.spec import Spec
from ratewise.campaign.start import Start
from ratewise.campaign.texts import book_texts
from ratewise.design.teacher import Teacher
from ratewise.errors import AlreadyBegunError
from ratewise.raters.text import without_secrets
from ratewise.store.archive import stores_of
from ratewise.store.store import Store
from ratewise.store.unsaved import Unsaved


def begin(spec: Spec, store: Store, lesson: Callable[[], Lesson | None], *, new: bool) -> None:
    """Load the items where nobody has, or take in what changed in the TOML.

    `lesson` says what a finished campaign hands on; it is asked only where the items are loaded.
    """
    if not new and not store.exists():
        check_neighbours(spec)
    store.enter()  # first, so that one that is refused has changed nothing
    if store.exists():
        take_changes(spec, store)
    else:
        _load(spec, store, lesson())
    note_raters(spec, store)


def _load(spec: Spec, store: Store, lesson: Lesson | None) -> None:
    loaded = load_items(spec, lesson)
    meta = loaded.meta
    store.begin(meta, loaded.rows, paid=loaded.paid)
    book_texts(spec, store)
    set_cap(spec, store, None)
    if "pool" in meta:
        store.note(taken_in(spec, int(meta["pool"]), int(meta["items"])))
    if "start" in meta:
        store.note(Start.from_json(meta["start"]).summary())
    if "teacher" in meta:
        teacher = Teacher.from_json(meta["teacher"])
        store.note(f"{teacher.strong.size:,} labels of the campaign {teacher.campaign!r} teach this one")
    elif spec.teacher is not None:
        store.note(too_little(spec.teacher))
    warn_of_budget(store, loaded.doubt)
    if "text note" in meta:
        store.note(meta["text note"])


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
