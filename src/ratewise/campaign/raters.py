"""The raters of a campaign: made, remembered in its store, compared with the last run; how votes count."""

import json
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from ratewise.campaign.seed import secret_seed
from ratewise.campaign.spec.spec import Spec
from ratewise.errors import InputError, RatewiseWarning, StoreError
from ratewise.judges.judge import Memory
from ratewise.judges.verdicts import JudgeVerdict
from ratewise.raters.calling import Caller
from ratewise.raters.kind import Quote, RaterPlace, RaterSpec
from ratewise.raters.people import PeopleSettings
from ratewise.raters.text import secrets_of
from ratewise.store import audit
from ratewise.store.desk import Rule, decided_by, median_of, name_key
from ratewise.store.queue import ANSWERED
from ratewise.store.store import Store


def fact_name(rater: str, name: str) -> str:
    """The name under which a rater's fact is kept in the store."""
    return f"rater {rater}: {name}"


@dataclass(frozen=True, slots=True)
class StoreMemory:
    """What a rater keeps, in the campaign's store; a store that is away for a moment keeps nothing new."""

    store: Store
    rater: str
    step: int

    def recall(self, name: str) -> str | None:
        """A fact of this run or an earlier one; None before the campaign has begun."""
        return self.store.meta(fact_name(self.rater, name)) if self.store.exists() else None

    def keep(self, name: str, value: str) -> None:
        with suppress(StoreError):
            self.store.set_meta(fact_name(self.rater, name), value)

    def tell(self, sentence: str) -> None:
        with suppress(StoreError):
            self.store.note(f"rater {self.rater!r}: {sentence}")

    def earlier(self) -> Iterator[tuple[dict[str, Any], JudgeVerdict]]:
        for first, end in audit.pieces(int(self.store.meta("items") or 0)):
            rows = [r for r in audit.rating_rows(self.store, first, end) if r.step == self.step and r.state == ANSWERED]
            contents = {r.position: r.content for r in audit.item_contents(self.store, first, end)} if rows else {}
            for row in rows:
                verdict = JudgeVerdict(row.value, row.value, row.doubt, Decimal(0), row.note or "", repeated=True)
                yield json.loads(contents[row.position]), verdict


def place_of(spec: Spec, rater: RaterSpec, memory: Memory | None = None) -> RaterPlace:
    """The place of a rater in a campaign. The last one gives verdicts, and on a scale of scores any number in it."""
    believed = rater is spec.raters[-1] and spec.scale.kind != "score"
    return RaterPlace(str(spec.folder), (spec.scale.low, spec.scale.high), strong=believed, memory=memory)


def quote_of(spec: Spec, rater: RaterSpec, memory: Memory | None = None) -> Quote | None:
    """What its items cost by their texts, at prices that are remembered or today's; None where the TOML tells."""
    return rater.quote(place_of(spec, rater, memory)) if rater.is_quoted else None


def check_settings(spec: Spec) -> None:
    """Refuse keys that do not go together, before anything is asked or paid."""
    for rater in spec.raters:
        if wrong := rater.check(str(spec.folder)):
            raise InputError(f"rater {rater.name!r} {wrong}")


def callers_of(spec: Spec, store: Store) -> dict[int, Caller]:
    """A caller for each step but those that others ask."""
    check_settings(spec)
    found = {}
    for step in spec.steps:
        rater = spec.at(step)
        made = rater.make(place_of(spec, rater, StoreMemory(store, rater.name, step)))
        if made is not None:
            limits = (None, None) if rater.own_limits else (rater.timeout, rater.per_minute)
            secrets = secrets_of(rater.own()) | secret_seed(spec)
            found[step] = Caller(
                made, concurrency=rater.concurrency, timeout=limits[0], per_minute=limits[1], secrets=secrets
            )
    return found


def doubtful(spec: Spec) -> float | None:
    """The uncertainty of an item without a weak rating, where the weak rater tells how sure it is; else `None`.

    A column that the user names as the uncertainty comes first.
    """
    weak = spec.weak
    if weak is None or spec.items.uncertainty is not None or not weak.doubts:
        return None
    return knows_nothing(spec)


def knows_nothing(spec: Spec) -> float:
    """The squared error of who is as unsure as can be."""
    return (0.5 * (spec.scale.high - spec.scale.low)) ** 2


CHANGED = "changed on the way: "  # how such a note begins
_FACT = "raters"


def note_raters(spec: Spec, store: Store) -> None:
    """Store what the raters are made of; what differs from the last run becomes a note and a warning."""
    now, old = {rater.name: rater.identity(str(spec.folder)) for rater in spec.raters}, _last_run(store)
    for name, parts in now.items():
        for what in _changed(old.get(name, parts), parts):
            store.note(f"{CHANGED}rater {name!r}: {what}")
            warnings.warn(
                f"rater {name!r} is not what it was at the last run: {what}; ratings from before and after are mixed",
                RatewiseWarning,
                stacklevel=2,
            )
    store.set_meta(_FACT, json.dumps(now, sort_keys=True))


def check_raters(spec: Spec, store: Store) -> None:
    """Refuse a rater that is another one than at the last run, by what it is made of."""
    old = _last_run(store)
    for rater in spec.raters:
        before, now = old.get(rater.name, {}), rater.digests(str(spec.folder))
        for what in (what for what in now if what in before and before[what] != now[what]):
            raise InputError(
                f"rater {rater.name!r} is another one than at the last run, because {what} has changed, and ratings "
                "of two raters cannot be mixed. Put the old one back, or begin another campaign under another name"
            )


def as_stored(spec: Spec, rater: RaterSpec, store: Store) -> bool:
    """Whether a rater is made of the same files as at the last run, and was from the first one on."""
    begun = f"{CHANGED}rater {rater.name!r}: "
    if any(text.startswith(begun) for _, text in store.notes()):
        return False
    now = rater.identity(str(spec.folder))
    return not _changed(_last_run(store).get(rater.name, now), now)


def _last_run(store: Store) -> dict[str, dict[str, str]]:
    """What each rater was made of at the last run, by its name."""
    found: dict[str, dict[str, str]] = json.loads(store.meta(_FACT) or "{}")
    return found


def _changed(old: dict[str, str], new: dict[str, str]) -> list[str]:
    """What changed in a rater's files."""
    names = sorted(old.keys() | new.keys())
    words = {(True, True): "has changed", (True, False): "is gone", (False, True): "is new"}
    return [f"{name} {words[name in old, name in new]}" for name in names if old.get(name) != new.get(name)]


def decides(rater: RaterSpec, person: str) -> bool:
    """Whether this is the person who is asked only where the votes of others split."""
    return rater.referee is not None and name_key(person) == name_key(rater.referee)


def rule_of(rater: RaterSpec) -> Rule:
    """The median of the votes; or with an adjudicator, what all say or what that person says."""
    return median_of(rater.answers) if rater.referee is None else decided_by(rater.answers, rater.referee)


def rules_in_words(spec: Spec) -> tuple[str, ...]:
    """The rule of each rater who is several people, in a sentence."""
    said = []
    for rater in (one for one in spec.raters if isinstance(one, PeopleSettings) and one.votes > 1):
        if rater.adjudicator is not None:
            rule = f"where they differ, {rater.adjudicator} decides"
        elif rater.votes == 2:
            rule = "where they differ, the mean of the two counts"
        else:
            rule = "the median counts, and of an even split the mean of the two middle answers"
        said.append(f"{rater.name}: {rater.votes} people rate each item; {rule}")
    return tuple(said)
