"""The raters of a campaign: made, remembered in its store, compared with the last run; how votes count."""

import json
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from ratewise.campaign.seed import secret_seed
from ratewise.campaign.spec.spec import RaterSpec, Spec
from ratewise.errors import InputError, RatewiseWarning, StoreError
from ratewise.judges.judge import Memory
from ratewise.judges.verdicts import JudgeVerdict
from ratewise.raters.calling import Caller
from ratewise.raters.kind import SETTINGS, Quote, RaterKind, RaterPlace
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
    return RaterPlace(
        str(spec.folder), rater.concurrency, rater.timeout, rater.per_minute, (spec.scale.low, spec.scale.high),
        strong=believed, flat_price=not is_quoted(rater), memory=memory,
    )  # fmt: skip


def is_quoted(rater: RaterSpec) -> bool:
    """Whether its prices come from the items' texts."""
    return rater.settings.quotes and rater.price is None and rater.price_column is None


def quote_of(spec: Spec, rater: RaterSpec, memory: Memory | None = None) -> Quote | None:
    """What its items cost by their texts, at prices that are remembered or today's; None where the TOML tells."""
    return rater.settings.quote(place_of(spec, rater, memory)) if is_quoted(rater) else None


def check_settings(spec: Spec) -> None:
    """Refuse settings that do not go together, before anything is asked or paid."""
    for rater in spec.raters:
        wrong = rater.settings.check(str(spec.folder))
        if wrong:
            raise InputError(f"rater {rater.name!r} {wrong}")


def callers_of(spec: Spec, store: Store) -> dict[int, Caller]:
    """A caller for each step but those that others ask."""
    check_settings(spec)
    raters = ((step, spec.at(step)) for step in spec.steps)
    made = {step: _caller(rater, spec, StoreMemory(store, rater.name, step)) for step, rater in raters}
    return {step: caller for step, caller in made.items() if caller is not None}


def _caller(rater: RaterSpec, spec: Spec, memory: Memory) -> Caller | None:
    made = rater.settings.make(place_of(spec, rater, memory))
    if made is None:
        return None
    secrets = secrets_of(rater.settings.to_dict()) | secret_seed(spec)
    if rater.settings.own_limits:
        return Caller(made, concurrency=rater.concurrency, timeout=None, secrets=secrets)
    return Caller(
        made, concurrency=rater.concurrency, timeout=rater.timeout, per_minute=rater.per_minute, secrets=secrets
    )


def doubtful(spec: Spec) -> float | None:
    """The uncertainty of an item without a weak rating, where the weak rater tells how sure it is; else `None`.

    A column that the user names as the uncertainty comes first.
    """
    weak = spec.weak
    if weak is None or spec.items.uncertainty is not None or not weak.settings.doubts:
        return None
    return knows_nothing(spec)


def knows_nothing(spec: Spec) -> float:
    """The squared error of who is as unsure as can be."""
    return (0.5 * (spec.scale.high - spec.scale.low)) ** 2


CHANGED = "changed on the way: "  # how such a note begins
_FACT = "raters"


def note_raters(spec: Spec, store: Store) -> None:
    """Store what the raters are made of; what differs from the last run becomes a note and a warning."""
    now, old = {rater.name: _made_of(spec, rater) for rater in spec.raters}, _last_run(store)
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
        before, now = old.get(rater.name, {}), rater.settings.digests(str(spec.folder))
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
    now = _made_of(spec, rater)
    return not _changed(_last_run(store).get(rater.name, now), now)


def _made_of(spec: Spec, rater: RaterSpec) -> dict[str, str]:
    return rater.settings.identity(str(spec.folder))


def _last_run(store: Store) -> dict[str, dict[str, str]]:
    """What each rater was made of at the last run, by its name."""
    found: dict[str, dict[str, str]] = json.loads(store.meta(_FACT) or "{}")
    return found


def _changed(old: dict[str, str], new: dict[str, str]) -> list[str]:
    """What changed in a rater's files; changed settings have a note of their own."""
    names = sorted((old.keys() | new.keys()) - {SETTINGS})
    words = {(True, True): "has changed", (True, False): "is gone", (False, True): "is new"}
    return [f"{name} {words[name in old, name in new]}" for name in names if old.get(name) != new.get(name)]


def decides(settings: RaterKind, person: str) -> bool:
    """Whether this is the person who is asked only where the votes of others split."""
    return settings.adjudicator is not None and name_key(person) == name_key(settings.adjudicator)


def rule_of(settings: RaterKind) -> Rule:
    """The median of the votes; or with an adjudicator, what all say or what that person says."""
    if settings.adjudicator is not None:
        return decided_by(settings.votes, settings.adjudicator)
    return median_of(settings.votes)


def rules_in_words(spec: Spec) -> tuple[str, ...]:
    """The rule of each rater who is several people, in a sentence."""
    return tuple(
        f"{rater.name}: {rater.settings.votes} people rate each item; {_where_they_differ(rater.settings)}"
        for rater in spec.raters
        if rater.settings.votes > 1
    )


def _where_they_differ(settings: RaterKind) -> str:
    if settings.adjudicator is not None:
        return f"where they differ, {settings.adjudicator} decides"
    if settings.votes == 2:
        return "where they differ, the mean of the two counts"
    return "the median counts, and of an even split the mean of the two middle answers"
