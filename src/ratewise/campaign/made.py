"""Raters as a campaign makes them: where they are, their limits, and what they remember in its store."""

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass

from ratewise.campaign.seed import secret_seed
from ratewise.campaign.spec.raters import RaterSpec
from ratewise.campaign.spec.spec import Spec
from ratewise.errors import InputError, StoreError
from ratewise.judges.memory import Memory, Rated
from ratewise.raters.calling import Caller
from ratewise.raters.kind import Place, Quote
from ratewise.raters.kinds import KINDS
from ratewise.raters.text import secrets_of
from ratewise.store import audit
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
        """Keep a fact."""
        with suppress(StoreError):
            self.store.set_meta(fact_name(self.rater, name), value)

    def tell(self, sentence: str) -> None:
        """Add a note to the campaign."""
        with suppress(StoreError):
            self.store.note(f"rater {self.rater!r}: {sentence}")

    def earlier(self) -> Iterator[Rated]:
        """Its ratings so far."""
        for first, end in audit.pieces(int(self.store.meta("items") or 0)):
            rows = [r for r in audit.rating_rows(self.store, first, end) if r.step == self.step and r.state == ANSWERED]
            contents = {r.position: r.content for r in audit.item_contents(self.store, first, end)} if rows else {}
            for row in rows:
                yield Rated(json.loads(contents[row.position]), row.value, row.doubt, row.note or "")


def place_of(spec: Spec, rater: RaterSpec, memory: Memory | None = None) -> Place:
    """The place of a rater in a campaign. The last one gives verdicts, and on a scale of scores any number in it."""
    believed = rater is spec.raters[-1] and spec.scale.kind != "score"
    return Place(
        str(spec.folder), rater.concurrency, rater.timeout, rater.per_minute, (spec.scale.low, spec.scale.high),
        strong=believed, flat_price=not is_quoted(rater), memory=memory,
    )  # fmt: skip


def is_quoted(rater: RaterSpec) -> bool:
    """Whether its prices come from the items' texts."""
    return KINDS[rater.kind].quote is not None and rater.price is None and rater.price_column is None


def quote_of(spec: Spec, rater: RaterSpec, memory: Memory | None = None) -> Quote | None:
    """What its items cost by their texts, at prices that are remembered or today's; None where the TOML tells."""
    quote = KINDS[rater.kind].quote
    return None if quote is None or not is_quoted(rater) else quote(rater.settings, place_of(spec, rater, memory))


def check_settings(spec: Spec) -> None:
    """Refuse settings that do not go together, before anything is asked or paid."""
    for rater in spec.raters:
        wrong = KINDS[rater.kind].check(rater.settings, str(spec.folder))
        if wrong:
            raise InputError(f"rater {rater.name!r} {wrong}")


def callers_of(spec: Spec, store: Store) -> list[Caller | None]:
    """A caller for each rater; None where others ask it."""
    check_settings(spec)
    first = 0 if len(spec.raters) > 1 else 1
    return [_caller(rater, spec, StoreMemory(store, rater.name, first + k)) for k, rater in enumerate(spec.raters)]


def _caller(rater: RaterSpec, spec: Spec, memory: Memory) -> Caller | None:
    kind = KINDS[rater.kind]
    if kind.make is None:
        return None
    made = kind.make(rater.settings, place_of(spec, rater, memory))
    secrets = secrets_of(asdict(rater.settings)) | secret_seed(spec)
    if kind.own_limits:
        return Caller(made, concurrency=rater.concurrency, timeout=None, secrets=secrets)
    return Caller(
        made, concurrency=rater.concurrency, timeout=rater.timeout, per_minute=rater.per_minute, secrets=secrets
    )
