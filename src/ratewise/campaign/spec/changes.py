"""What may change in a campaign that has begun: stopping rules and how raters are called, never what was drawn by."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from ratewise.campaign.spec.spec import SecretSeed, Spec
from ratewise.raters.keys import TomlTable, keys_of, plain, quoted
from ratewise.raters.kind import RaterSpec
from ratewise.raters.text import concealed, safe_text, safe_words

_OLD_SCALE = "ratings so far are on the old scale"
_TABLES = ("items", "goal", "rating", "raters")  # whose keys are compared one by one


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
    for change in _keys("", old, new):
        if change.key not in (*_TABLES, "store"):
            yield change
    yield from _keys("items.", old.items, new.items)
    yield Change("rating.kind", old.scale.kind, new.scale.kind, "ratings so far are of the old kind")
    for end in ("low", "high", "positive", "words") if old.scale.kind == new.scale.kind else ():
        yield Change(f"rating.{end}", getattr(old.scale, end), getattr(new.scale, end), _OLD_SCALE)
    yield from _keys("goal.", old.goal, new.goal)
    names, now = (tuple(rater.name for rater in spec.raters) for spec in (old, new))
    yield Change("raters", names, now, reason="ratings so far belong to the old ones, in their old order")
    by_name = {rater.name: rater for rater in new.raters}
    for rater in old.raters:
        if rater.name in by_name:
            yield from _rater(rater, by_name[rater.name])


def _rater(old: RaterSpec, new: RaterSpec) -> Iterator[Change]:
    same_price = (old.price, old.price_column) == (new.price, new.price_column)
    for change in _keys(f"raters.{old.name}.", old, new):
        key = change.key.rpartition(".")[2]
        if old.kind != new.kind and key != "kind":  # its other keys and their defaults are another kind's
            continue
        if same_price or key not in ("max_price", "failed_price"):  # whose defaults move with the price
            yield change


def _keys(within: str, old: TomlTable, new: TomlTable) -> Iterator[Change]:
    """Each key that both tables have, with the reason why it may not change."""
    theirs = keys_of(type(new))
    for key, said in keys_of(type(old)).items():
        if key in theirs:
            name = "start.from" if key == "teacher" else within + key
            yield Change(name, getattr(old, key), getattr(new, key), said.fixed, said.note)


def _safe(value: object) -> object:
    """The value without what may be a secret, since a command's arguments appear in the report."""
    if isinstance(value, tuple) and all(isinstance(word, str) for word in value):
        return safe_words(value)
    return safe_text(value) if isinstance(value, str) else value


def _shown(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, SecretSeed):
        return f"${value.env}"
    if isinstance(value, TomlTable):
        return "[" + ", ".join(f"{name} = {_shown(part)}" for name, part in value) + "]"
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_shown, value)) + "]"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{name} = {_shown(part)}" for name, part in value.items()) + " }"
    if isinstance(value, Decimal):
        return plain(value)
    if isinstance(value, datetime):
        return value.isoformat()
    return quoted(value) if isinstance(value, str) else f"{value!r}"
