"""Raters that changed on the way: what each is made of is stored by every run, and the next one compares."""

import json
import warnings

from ratewise.campaign.spec.raters import RaterSpec
from ratewise.campaign.spec.spec import Spec
from ratewise.errors import InputError, RatewiseWarning
from ratewise.raters.kind import SETTINGS, identity
from ratewise.raters.kinds import KINDS
from ratewise.store.store import Log

CHANGED = "changed on the way: "  # how such a note begins
_FACT = "raters"


def note_raters(spec: Spec, store: Log) -> None:
    """Store what the raters are made of; what differs from the last run becomes a note and a warning."""
    now = {r.name: identity(KINDS[r.kind], r.settings, str(spec.folder)) for r in spec.raters}
    stored = store.meta(_FACT)
    old: dict[str, dict[str, str]] = {} if stored is None else json.loads(stored)
    for name, parts in now.items():
        for what in _changed(old.get(name, parts), parts):
            store.note(f"{CHANGED}rater {name!r}: {what}")
            warnings.warn(
                f"rater {name!r} is not what it was at the last run: {what}; ratings from before and after are mixed",
                RatewiseWarning,
                stacklevel=2,
            )
    store.set_meta(_FACT, json.dumps(now, sort_keys=True))


def check_raters(spec: Spec, store: Log) -> None:
    """Refuse a rater that is another one than at the last run, by what it is made of."""
    stored = store.meta(_FACT)
    old: dict[str, dict[str, str]] = {} if stored is None else json.loads(stored)
    for rater in spec.raters:
        before, now = old.get(rater.name, {}), KINDS[rater.kind].digests(rater.settings, str(spec.folder))
        for what in (what for what in now if what in before and before[what] != now[what]):
            raise InputError(
                f"rater {rater.name!r} is another one than at the last run, because {what} has changed, and ratings "
                "of two raters cannot be mixed. Put the old one back, or begin another campaign under another name"
            )


def as_stored(spec: Spec, rater: RaterSpec, store: Log) -> bool:
    """Whether a rater is made of the same files as at the last run, and was from the first one on."""
    stored = store.meta(_FACT)
    old = None if stored is None else json.loads(stored).get(rater.name)
    begun = f"{CHANGED}rater {rater.name!r}: "
    if any(text.startswith(begun) for _, text in store.notes()):
        return False
    return old is None or not _changed(old, identity(KINDS[rater.kind], rater.settings, str(spec.folder)))


def _changed(old: dict[str, str], new: dict[str, str]) -> list[str]:
    """What changed in a rater's files; changed settings have a note of their own."""
    names = sorted((old.keys() | new.keys()) - {SETTINGS})
    words = {(True, True): "has changed", (True, False): "is gone", (False, True): "is new"}
    return [f"{name} {words[name in old, name in new]}" for name in names if old.get(name) != new.get(name)]
