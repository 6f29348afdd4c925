"""The client for the labelling page: hands out one question at a time, blind, and takes answers that count once."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ratewise.campaign.clients.blind import shown_item
from ratewise.campaign.clients.callers import steps_of
from ratewise.campaign.planner.outcomes import rater_of
from ratewise.campaign.planner.prices import list_price
from ratewise.campaign.spec.spec import RaterSpec, Spec
from ratewise.campaign.voting import rule_of
from ratewise.errors import InputError
from ratewise.queue.desk import Desk, Said, Terms
from ratewise.queue.handed import Counter, Handed, Taken
from ratewise.queue.store import Store
from ratewise.raters.people import PeopleSettings

LONGEST_COMMENT = 4000  # characters
_LONGEST_ANSWER = 3600.0  # seconds that an answer can have taken


@dataclass(frozen=True, slots=True)
class Task:
    """A question as one person sees it."""

    key: str
    rater: str
    item: Mapping[str, Any]
    kind: str
    scale: Mapping[str, Any]
    until: float  # seconds since 1970: then others may get it
    compares: bool = False  # whether the item has two sides, "a" and "b"
    lease: float = 600.0  # seconds without a sign of life
    criterion: str = ""  # what is judged, in a sentence

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {name: getattr(self, name) for name in ("key", "item", "kind", "scale", "criterion")}


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer as it comes from a page: a rating on the scale, or None for cannot tell."""

    rating: object
    comment: str = ""
    seconds: float | None = None
    flagged: bool = False


@dataclass(frozen=True, slots=True)
class Labelling:
    """One campaign's questions for people, by name."""

    spec: Spec
    store: Store
    clock: Callable[[], float] = time.time

    def __post_init__(self) -> None:
        found = [rater for _, rater in self._steps()]
        if not found:
            raise InputError(
                f'{self.spec.path.name} has no rater of kind = "people", so nobody labels; add one under [[raters]]'
            )
        if self.spec.scale.kind == "pairwise":
            for rater in found:
                if _settings(rater).sides is None:
                    raise InputError(
                        f'rater {rater.name!r} compares two texts; name their columns: a = "answer_a" and '
                        'b = "answer_b"'
                    )

    def next(self, person: str) -> Task | None:
        """The question this person has in hand, or another one; None where nothing is to be answered now."""
        for step, rater in self._steps():
            terms = self._terms(person, rater)
            compares = _settings(rater).sides is not None
            got = self._counter.hand_out(person, step, terms, tries=rater.attempts, compares=compares)
            if got is not None:
                return self._task(rater, got)
        return None

    def answer(self, person: str, key: str, reply: Reply) -> Taken:
        """Take an answer, which must be on the scale; saved when this returns."""
        found = self._counter.of_key(person, key)
        if found is None:
            return "unknown"
        claim, step, sides = found
        k = rater_of(self.spec, step)
        rater = self.spec.raters[k]
        said = Said(
            self._value(k, reply.rating, sides), reply.comment, _bounded(reply.seconds), sides, reply.flagged or None
        )
        price = 0 if claim is None else list_price(rater, k, claim)
        return self._counter.answer(person, key, said, price=price, rule=rule_of(_settings(rater)))

    def undo(self, person: str) -> str | None:
        """Take back the last answer of this person; the key that is open again, or None where it is too late."""
        return self._counter.undo(person, min(_settings(rater).lease for _, rater in self._steps()))

    def skip(self, person: str, key: str) -> Taken:
        """Leave a question to others."""
        return self._counter.skip(person, key)

    def renew(self, person: str, key: str) -> float | None:
        """Keep a question in hand; until when, or None where it is gone."""
        found = self._counter.of_key(person, key)
        if found is None:
            return None
        rater = self.spec.raters[rater_of(self.spec, found[1])]
        return self._counter.renew(person, key, self._terms(person, rater))

    def done(self, person: str) -> int:
        """How many answers of this person stand."""
        return self._counter.done(person)

    def left(self, person: str) -> int:
        """How many questions are open for this person now."""
        return sum(self._counter.left(person, step, self._terms(person, rater)) for step, rater in self._steps())

    @property
    def guidelines(self) -> str:
        """The guidelines of all people's raters, as they stand in their files now."""
        files = dict.fromkeys(_settings(rater).guidelines for _, rater in self._steps())
        texts = []
        for file in filter(None, files):
            try:
                texts.append((self.spec.folder / file).read_text(encoding="utf-8", errors="replace"))
            except OSError:
                texts.append(f"The guidelines ({file}) cannot be read just now.")
        return "\n\n".join(texts)

    @property
    def _counter(self) -> Counter:
        return Counter(Desk(self.store, self.clock))

    def _steps(self) -> Iterator[tuple[int, RaterSpec]]:
        for step in steps_of(self.spec):
            rater = self.spec.raters[rater_of(self.spec, step)]
            if isinstance(rater.settings, PeopleSettings):
                yield step, rater

    def _terms(self, person: str, rater: RaterSpec) -> Terms:
        settings = _settings(rater)
        return Terms(settings.lease, settings.votes, splits=person == settings.adjudicator)

    def _task(self, rater: RaterSpec, got: Handed) -> Task:
        item = shown_item(self.spec, rater, json.loads(got.claim.content), got.sides)
        scale = self.spec.scale
        ends: dict[str, Any] = {"low": scale.low, "high": scale.high}
        if scale.words:
            ends["words"] = dict(scale.words)
        settings = _settings(rater)
        return Task(
            got.key, rater.name, item, scale.kind, ends, got.until, got.sides is not None, settings.lease,
            settings.criterion or "",
        )  # fmt: skip

    def _value(self, k: int, rating: object, sides: str | None) -> float | None:
        if rating is None:
            return None
        try:
            value = self.spec.number(k, rating)
        except ValueError as error:
            raise InputError(str(error)) from None
        return self.spec.scale.high + self.spec.scale.low - value if sides == "ba" else value


def _settings(rater: RaterSpec) -> PeopleSettings:
    assert isinstance(rater.settings, PeopleSettings)
    return rater.settings


def _bounded(seconds: float | None) -> float | None:
    return None if seconds is None else min(max(seconds, 0.0), _LONGEST_ANSWER)
