"""The client for people: hands out questions of raters of kind "people", and settles their answers."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ratewise.campaign.clients.callers import steps_of
from ratewise.campaign.clients.quality import Checking, Feedback
from ratewise.campaign.planner.outcomes import people_price, rater_of
from ratewise.campaign.raters import decides, rule_of
from ratewise.campaign.spec.spec import RaterSpec, Spec
from ratewise.core.result import shown
from ratewise.errors import InputError
from ratewise.raters.kinds import KINDS
from ratewise.raters.people import PeopleSettings
from ratewise.store.accounts import spellings
from ratewise.store.desk import TRAINING, Desk, Heard, Hidden, HiddenKey, Said, Taken, Terms, Undone, name_key
from ratewise.store.store import Store
from ratewise.tables.blind import seen


def shown_item(spec: Spec, rater: RaterSpec, row: Mapping[str, Any], sides: str | None) -> dict[str, Any]:
    """The columns that people see, in order; the texts of a comparison as "a" and "b", by this person's sides."""
    settings = rater.settings
    assert isinstance(settings, PeopleSettings)
    out = {name: row.get(name) for name in _columns(spec, settings, row)}
    if settings.sides is not None:
        first, second = settings.sides if sides != "ba" else settings.sides[::-1]
        out |= {"a": row.get(first), "b": row.get(second)}
    return out


def _columns(spec: Spec, settings: PeopleSettings, row: Mapping[str, Any]) -> list[str]:
    both = set(settings.sides or ())
    if settings.show:
        return [name for name in settings.show if name not in both]
    return seen(row, hidden=telling(spec) | both)


def telling(spec: Spec) -> set[str]:
    """Columns that would tell what to expect: ids, other raters' ratings, their uncertainty, prices, old labels."""
    named = {rater.name for rater in spec.raters} | {spec.items.id or "id"}
    for rater in spec.raters:
        if rater.kind == "column":
            named |= set(KINDS[rater.kind].columns(rater.settings))
        if rater.price_column is not None:
            named.add(rater.price_column)
    if spec.start is not None:
        named |= {spec.start.labels, spec.start.drawn}
    return named | {name for name in (spec.items.uncertainty, spec.items.clusters) if name is not None}


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
    training: tuple[int, int] | None = None  # of a training item: which it is, of how many

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        told = {name: getattr(self, name) for name in ("key", "item", "kind", "scale", "criterion")}
        if self.training is not None:
            told["training"] = {"number": self.training[0], "of": self.training[1]}
        return told


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
        for _, beside in self._besides():
            _ = beside.known  # what is wrong with the table is said before anybody sees it

    def next(self, person: str) -> Task | None:
        """The question this person has in hand, or another one; None where nothing is to be answered now."""
        for step, rater in self._steps():
            terms = self._terms(person, rater)
            if (beside := self._beside(person, step)) is not None:
                hidden = beside.next(person, terms)
                if hidden is not None:
                    return self._hidden_task(rater, *hidden)
            compares = _settings(rater).sides is not None
            got = self._desk.hand_out(person, step, terms, tries=rater.attempts, compares=compares)
            if got is not None:
                return self._task(rater, got.key, json.loads(got.claim.content), got.sides, got.until)
        return None

    def answer(self, person: str, key: str, reply: Reply) -> Taken:
        """Take an answer, which must be on the scale; saved when this returns."""
        if (hidden := self._hidden_key(person, key)) is not None:
            return self._answer_hidden(person, hidden, reply)
        found = self._desk.of_key(person, key)
        if found is None:
            return "unknown"
        claim, step, sides = found
        k = rater_of(self.spec, step)
        rater = self.spec.raters[k]
        said = self._said(k, reply, sides)
        price = 0 if claim is None else people_price(rater, k, claim)
        return self._desk.answer_key(person, key, said, price=price, rule=rule_of(_settings(rater)))

    def _answer_hidden(self, person: str, hidden: HiddenKey, reply: Reply) -> Taken:
        said = self._said(rater_of(self.spec, hidden.step), reply, hidden.sides)
        return self._checking(hidden.step).answer(person, hidden, said)

    def feedback(self, person: str, key: str) -> Feedback | None:
        """What a learner is told after an answer to a training item; None for every other question."""
        for _, beside in self._besides():
            if beside.settings.training and (told := beside.feedback(person, key)) is not None:
                return told
        return None

    def undo(self, person: str) -> Undone | None:
        """Take back the last answer of this person; what is open again and what was said, or None where it is late."""
        undone = self._desk.undo(person, min(_settings(rater).lease for _, rater in self._steps()))
        return None if undone is None else replace(undone, said=self._as_seen(undone.said))

    def skip(self, person: str, key: str) -> Taken:
        """Leave a question to others."""
        return self._desk.skip(person, key)

    def renew(self, person: str, key: str) -> float | None:
        """Keep a question in hand; until when, or None where it is gone."""
        if (hidden := self._hidden_key(person, key)) is not None:
            return self.clock() + _settings(self.spec.raters[rater_of(self.spec, hidden.step)]).lease
        found = self._desk.of_key(person, key)
        if found is None:
            return None
        rater = self.spec.raters[rater_of(self.spec, found[1])]
        return self._desk.renew(person, key, self._terms(person, rater))

    def done(self, person: str) -> int:
        """How many answers of this person stand."""
        return self._desk.done(person)

    def left(self, person: str) -> int:
        """How many questions are open for this person now."""
        return sum(self._left(person, step, rater) for step, rater in self._steps())

    def _left(self, person: str, step: int, rater: RaterSpec) -> int:
        real = self._desk.left(person, step, self._terms(person, rater))
        beside = self._beside(person, step)
        if beside is None or not beside.settings.hidden_share:
            return real
        return beside.left(person, real, in_hand=self._desk.has_one(person, step))

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
    def _desk(self) -> Desk:
        return Desk(self.store, self.clock)

    def _steps(self) -> Iterator[tuple[int, RaterSpec]]:
        for step in steps_of(self.spec):
            rater = self.spec.raters[rater_of(self.spec, step)]
            if isinstance(rater.settings, PeopleSettings):
                yield step, rater

    def _terms(self, person: str, rater: RaterSpec) -> Terms:
        settings = _settings(rater)
        return Terms(settings.lease, settings.votes, splits=decides(settings, person))

    def _besides(self) -> Iterator[tuple[int, Checking]]:
        """Training, checks and repeats of each step that has any."""
        for step, rater in self._steps():
            if _settings(rater).training or _settings(rater).hidden_share:
                yield step, self._checking(step)

    def _checking(self, step: int) -> Checking:
        return Checking(self.spec, self._desk, step, self.store.meta("campaign") or "")

    def _beside(self, person: str, step: int) -> Checking | None:
        """Those of a step; none for the person who decides where others differ."""
        found = dict(self._besides()).get(step)
        return None if found is None or decides(found.settings, person) else found

    def _hidden_key(self, person: str, key: str) -> HiddenKey | None:
        if not any(True for _ in self._besides()):
            return None
        return Hidden(self._desk).of_key(person, key)

    def _hidden_task(self, rater: RaterSpec, got: HiddenKey, row: Mapping[str, Any]) -> Task:
        lease = _settings(rater).lease
        task = self._task(rater, got.key, row, got.sides, self.clock() + lease)
        of = _settings(rater).training
        return replace(task, training=(-got.position, of)) if got.what == TRAINING else task

    def _said(self, k: int, reply: Reply, sides: str | None) -> Said:
        value = self._value(k, reply.rating, sides)
        return Said(value, reply.comment, _bounded(reply.seconds), sides, reply.flagged or None)

    def _task(self, rater: RaterSpec, key: str, row: Mapping[str, Any], sides: str | None, until: float) -> Task:
        item = shown_item(self.spec, rater, row, sides)
        scale = self.spec.scale
        ends: dict[str, Any] = {"low": scale.low, "high": scale.high}
        if scale.words:
            ends["words"] = dict(scale.words)
        settings = _settings(rater)
        return Task(
            key, rater.name, item, scale.kind, ends, until, sides is not None, settings.lease,
            settings.criterion or "",
        )  # fmt: skip

    def _as_seen(self, said: Said) -> Said:
        """The answer as the person gave it: of a comparison, with the sides that they saw."""
        return said if said.value is None or said.sides != "ba" else replace(said, value=self._turned(said.value))

    def _turned(self, value: float) -> float:
        return self.spec.scale.high + self.spec.scale.low - value

    def _value(self, k: int, rating: object, sides: str | None) -> float | None:
        if rating is None:
            return None
        try:
            value = self.spec.number(k, rating)
        except ValueError as error:
            raise InputError(str(error)) from None
        return self._turned(value) if sides == "ba" else value


def _settings(rater: RaterSpec) -> PeopleSettings:
    assert isinstance(rater.settings, PeopleSettings)
    return rater.settings


def _bounded(seconds: float | None) -> float | None:
    return None if seconds is None else min(max(seconds, 0.0), _LONGEST_ANSWER)


@shown
@dataclass(frozen=True, slots=True)
class Asked:
    """A question for a person: its key, who is to answer, and the item's row."""

    key: str
    rater: str
    item: Mapping[str, Any]
    until: float  # seconds since 1970: then others get it


@dataclass(frozen=True, slots=True)
class People:
    """Hands out questions and takes answers beside the process that plans, or without it."""

    spec: Spec
    desk: Desk

    def next(self, person: str) -> Asked | None:
        """The question this person has in hand, or another one; None where nothing is to be answered now."""
        person = self._spelled(person)
        for step in steps_of(self.spec):
            rater = self.spec.raters[rater_of(self.spec, step)]
            if not isinstance(rater.settings, PeopleSettings):
                continue
            lease = self.desk.lease(person, step, seconds=rater.settings.lease, votes=rater.settings.votes)
            if lease is not None:
                claim = lease.claim
                key = f"{claim.position}:{step}:{claim.attempt}"
                return Asked(key, rater.name, json.loads(claim.content), lease.until)
        return None

    def answer(self, person: str, key: str, rating: object, *, note: str = "") -> Heard:
        """Take an answer, which must be on the scale; None: cannot tell."""
        position, step, attempt = _parts(key)
        claim = self.desk.question(position, step)
        if claim is None or claim.attempt != attempt:
            return "was settled before"
        k = rater_of(self.spec, step)
        rater = self.spec.raters[k]
        if not isinstance(rater.settings, PeopleSettings):
            raise InputError(f"rater {rater.name!r} is not asked here; send the key that came with the question")
        try:
            value = None if rating is None else self.spec.number(k, rating)
        except ValueError as error:
            raise InputError(str(error)) from None
        rule, person = rule_of(rater.settings), self._spelled(person)
        return self.desk.answer(claim, person, Said(value, note), price=people_price(rater, k, claim), rule=rule)

    def _spelled(self, person: str) -> str:
        """The name as it was first written: Ben and ben are one person, and have one vote."""
        return spellings(self.desk.store).get(name_key(person), person)


def _parts(key: str) -> tuple[int, int, int]:
    try:
        position, step, attempt = map(int, key.split(":"))
    except ValueError:
        raise InputError(f"{key[:40]!r} is no key of a question; send the one that came with it") from None
    return position, step, attempt
