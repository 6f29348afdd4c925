"""What may change in a campaign that has begun: stopping rules and how raters are called, never what was drawn by."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from ratewise.campaign.spec.fields import keys_of, plain, quoted
from ratewise.campaign.spec.spec import Goal, InputsSpec, ItemsSpec, RaterSpec, SecretSeed, Spec, StartSpec
from ratewise.raters.text import concealed, safe_text, safe_words

_SAME = "it must still be the same rater"
_DRAWN = "items were drawn from the table as it was"
_ORDERED = "items were put into their order by it"
_PAID = "ratings were chosen and paid for at the old price"
_CHOSEN = "ratings were chosen by what they could cost"
_OLD_SCALE = "ratings so far are on the old scale"
_TOP = {  # why a key may not change; "": it may
    "name": "it names the store",
    "seed": "the draws would be others",
    "method": "the draws so far followed the old one",
    "estimand": "it would be chosen after looking at ratings",
    "level": "",
    "currency": "",
    "claim": "",
}
_PRICES = ("price", "price_column", "max_price", "failed_price")


@dataclass(frozen=True, slots=True)
class Change:
    """One key that differs between two specs, and why a campaign that has begun cannot take that, if so."""

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


def changes(old: Spec, new: Spec) -> list[Change]:
    """Compare the spec a campaign began with to the one it is to go on with; where the store is does not matter."""
    # What is stored has marks instead of secrets.
    return [change for change in _compared(old, new) if concealed(change.old) != concealed(change.new)]


def _compared(old: Spec, new: Spec) -> Iterator[Change]:
    yield from _keys("", old, new, _TOP)
    yield from _keys("items.", old.items, new.items, dict.fromkeys(keys_of(ItemsSpec), _DRAWN))
    yield from _keys("", old, new, {"learner": _DRAWN, "inputs": _ORDERED, "start": _ORDERED})
    yield Change("start.from", old.teacher, new.teacher, reason="plans went by what it taught")
    yield from _keys("rating.", old.scale, new.scale, {"kind": "ratings so far are of the old kind"})
    if old.scale.kind == new.scale.kind:
        ends = dict.fromkeys(("low", "high", "positive", "words"), _OLD_SCALE)
        yield from _keys("rating.", old.scale, new.scale, ends)
    yield from _keys("goal.", old.goal, new.goal, dict.fromkeys(keys_of(Goal), ""))
    names, now = (tuple(rater.name for rater in spec.raters) for spec in (old, new))
    yield Change("raters", names, now, reason="ratings so far belong to the old ones, in their old order")
    by_name = {rater.name: rater for rater in new.raters}
    for rater in old.raters:
        if rater.name in by_name:
            yield from _rater(rater, by_name[rater.name])


def _rater(old: RaterSpec, new: RaterSpec) -> Iterator[Change]:
    within, kind = f"raters.{old.name}.", type(old.settings)
    yield from _keys(within, old, new, {"kind": "the ratings so far came from the old one"})
    if old.kind != new.kind:  # its other keys and their defaults are another kind's
        return
    yield from _keys(within, old.settings, new.settings, kind.fixed)
    yield from _keys(within, old, new, {"price": _PAID, "price_column": _PAID})
    calls = (key for key in keys_of(RaterSpec) if key not in ("name", "kind", *_PRICES))
    yield from _keys(within, old, new, dict.fromkeys(calls, ""))
    for key in (key for key in keys_of(kind) if key not in kind.fixed):
        note = _SAME if key in kind.leads_to else ""
        yield Change(within + key, getattr(old.settings, key), getattr(new.settings, key), note=note)
    if (old.price, old.price_column) == (new.price, new.price_column):  # else their defaults move with the price
        yield from _keys(within, old, new, {"max_price": _CHOSEN, "failed_price": ""})


def _keys(within: str, old: object, new: object, reasons: Mapping[str, str]) -> Iterator[Change]:
    """Each of the keys, with the reason why it may not change; "" where it may."""
    for key, reason in reasons.items():
        yield Change(within + key, getattr(old, key), getattr(new, key), reason)


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
