"""What may change in a campaign that has begun: stopping rules and how raters are called, never what was drawn by."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from ratewise.campaign.spec.fields import keys_of, plain, quoted
from ratewise.campaign.spec.spec import InputsSpec, RaterSpec, SecretSeed, Spec, StartSpec
from ratewise.raters.kinds import KINDS
from ratewise.raters.text import concealed, safe_text, safe_words

_SAME = "it must still be the same rater"
_DRAWN = "items were drawn from the table as it was"
_PAID = "ratings were chosen and paid for at the old price"
_CALLS = ("concurrency", "batch", "timeout", "attempts", "backoff", "per_minute", "lost_calls")
_REFUSED_TOP = {
    "name": "it names the store",
    "seed": "the draws would be others",
    "method": "the draws so far followed the old one",
    "estimand": "it would be chosen after looking at ratings",
}
_REFUSED_RATER = {
    "price": _PAID,
    "price_column": _PAID,
}


@dataclass(frozen=True, slots=True)
class Changes:
    """What differs between two specs, a sentence for each: what is taken, and what a begun campaign refuses and why."""

    taken: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Change:
    key: str
    old: Any
    new: Any
    reason: str = ""  # why it is refused
    note: str = ""  # what to mind where it is taken

    @property
    def sentence(self) -> str:
        why = self.reason or self.note
        old, new = (_shown(_safe(value)) for value in (self.old, self.new))
        return f"{self.key} from {old} to {new}" + (f": {why}" if why else "")


def changes(old: Spec, new: Spec) -> Changes:
    """Compare the spec a campaign began with to the one it is to go on with; where the store is does not matter."""
    found = [
        change
        for change in (*_top(old, new), *_tables(old, new), *_raters(old.raters, new.raters))
        if concealed(change.old) != concealed(change.new)  # what is stored has marks instead of secrets
    ]
    return Changes(
        tuple(change.sentence for change in found if not change.reason),
        tuple(change.sentence for change in found if change.reason),
    )


def _top(old: Spec, new: Spec) -> Iterator[_Change]:
    for key, reason in _REFUSED_TOP.items():
        yield _between(key, old, new, reason=reason)
    for key in ("level", "currency", "claim"):
        yield _between(key, old, new)


def _tables(old: Spec, new: Spec) -> Iterator[_Change]:
    for key in ("table", "format", "at_most", "id", "features", "text", "uncertainty", "clusters"):
        yield _between(key, old.items, new.items, within="items.", reason=_DRAWN)
    yield _Change("learner", old.learner, new.learner, reason=_DRAWN)
    yield _Change("inputs", old.inputs, new.inputs, reason="items were put into their order by it")
    yield _Change("start", old.start, new.start, reason="items were put into their order by it")
    yield _Change("start.from", old.teacher, new.teacher, reason="plans went by what it taught")
    yield _between("kind", old.scale, new.scale, within="rating.", reason="ratings so far are of the old kind")
    if old.scale.kind == new.scale.kind:
        for key in ("low", "high", "positive", "words"):
            yield _between(key, old.scale, new.scale, within="rating.", reason="ratings so far are on the old scale")
    for key in ("budget", "target_se", "within", "deadline", "unanswered"):
        yield _between(key, old.goal, new.goal, within="goal.")


def _raters(old: tuple[RaterSpec, ...], new: tuple[RaterSpec, ...]) -> Iterator[_Change]:
    """Compare raters by name, in their order."""
    names, now = tuple(rater.name for rater in old), tuple(rater.name for rater in new)
    yield _Change("raters", names, now, reason="ratings so far belong to the old ones, in their old order")
    by_name = {rater.name: rater for rater in new}
    for rater in old:
        if rater.name in by_name:
            yield from _rater(rater, by_name[rater.name])


def _rater(old: RaterSpec, new: RaterSpec) -> Iterator[_Change]:
    within = f"raters.{old.name}."
    yield _between("kind", old, new, within=within, reason="the ratings so far came from the old one")
    if old.kind != new.kind:  # its other keys and their defaults are another kind's
        return
    kind = KINDS[old.kind]
    own = keys_of(kind.settings)
    for key in kind.fixed:
        yield _between(key, old.settings, new.settings, within=within, reason=kind.fixed[key])
    for key, reason in _REFUSED_RATER.items():
        yield _between(key, old, new, within=within, reason=reason)
    for key in _CALLS:
        yield _between(key, old, new, within=within)
    for key in (key for key in own if key not in kind.fixed):
        yield _between(key, old.settings, new.settings, within=within, note=_SAME if key in kind.leads_to else "")
    if (old.price, old.price_column) == (new.price, new.price_column):  # else their defaults move with the price
        yield _between("max_price", old, new, within=within, reason="ratings were chosen by what they could cost")
        yield _between("failed_price", old, new, within=within)


def _between(key: str, old: object, new: object, *, within: str = "", reason: str = "", note: str = "") -> _Change:
    return _Change(within + key, getattr(old, key), getattr(new, key), reason, note)


def _safe(value: object) -> object:
    """The value without what may be a secret, since a command's arguments appear in the report."""
    if isinstance(value, tuple) and all(isinstance(word, str) for word in value):
        return safe_words(value)
    return safe_text(value) if isinstance(value, str) else value


def _shown(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, InputsSpec | StartSpec):
        return "[" + ", ".join(f"{name} = {_shown(getattr(value, name))}" for name in value.__slots__) + "]"
    if isinstance(value, SecretSeed):
        return f"${value.env}"
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_shown, value)) + "]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {_shown(part)}" for name, part in value.items()) + " }"
    if isinstance(value, Decimal):
        return plain(value)
    if isinstance(value, datetime):
        return value.isoformat()
    return quoted(value) if isinstance(value, str) else f"{value!r}"
