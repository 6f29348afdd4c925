"""The client for people: hands out questions of raters of kind "people", and settles their answers."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ratewise.campaign.clients.quality import Checking, Feedback
from ratewise.campaign.clients.respondents import Respondent, bounded_seconds, respondents
from ratewise.campaign.raters import decides
from ratewise.campaign.spec.spec import Spec
from ratewise.core.result import Result
from ratewise.errors import InputError
from ratewise.raters.people import PeopleSettings
from ratewise.store.accounts import spellings
from ratewise.store.desk import (
    TRAINING,
    CheckKey,
    Desk,
    Heard,
    LeaseTerms,
    PersonAnswer,
    QualityChecks,
    Taken,
    Undone,
    name_key,
)
from ratewise.store.store import Store


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
class PageAnswer:
    """An answer as it comes from a page: a rating on the scale, or None for cannot tell."""

    rating: object
    comment: str = ""
    seconds: float | None = None
    flagged: bool = False


@dataclass(frozen=True, slots=True)
class Labelling:
    """One campaign's questions for people, by name: one at a time, blind; each answer counts once."""

    spec: Spec
    store: Store
    clock: Callable[[], float] = time.time

    def __post_init__(self) -> None:
        if not self._people:
            raise InputError(
                f'{self.spec.path.name} has no rater of kind = "people", so nobody labels; add one under [[raters]]'
            )
        for each in self._people:
            if self.spec.scale.kind == "pairwise" and each.settings.sides is None:
                raise InputError(
                    f'rater {each.rater.name!r} compares two texts; name their columns: a = "answer_a" and '
                    'b = "answer_b"'
                )
        for checking in self._checkings.values():
            _ = checking.known  # what is wrong with the table is said before anybody sees it

    def next(self, person: str) -> Task | None:
        """The question this person has in hand, or another one; None where nothing is to be answered now."""
        for each in self._people:
            terms = _terms(each, person)
            checking = self._checking(each, person)
            if checking is not None and (hidden := checking.next(person, terms)) is not None:
                got, row = hidden
                task = self._task(each, got.key, row, got.sides, self.clock() + each.settings.lease)
                is_training = got.what == TRAINING
                return replace(task, training=(-got.position, each.settings.training)) if is_training else task
            compares = each.settings.sides is not None
            real = self._desk.hand_out(person, each.step, terms, tries=each.rater.attempts, compares=compares)
            if real is not None:
                return self._task(each, real.key, json.loads(real.claim.content), real.sides, real.until)
        return None

    def answer(self, person: str, key: str, reply: PageAnswer) -> Taken:
        """Take an answer, which must be on the scale; saved when this returns."""
        if (hidden := self._hidden_key(person, key)) is not None:
            said = _said(self._at(hidden.step), reply, hidden.sides)
            return self._checkings[hidden.step].answer(person, hidden, said)
        found = self._desk.of_key(person, key)
        if found is None:
            return "unknown"
        claim, step, sides = found
        each = self._at(step)
        price = 0 if claim is None else each.price(claim)
        return self._desk.answer_key(person, key, _said(each, reply, sides), price=price, rule=each.rule)

    def feedback(self, person: str, key: str) -> Feedback | None:
        """What a learner is told after an answer to a training item; None for every other question."""
        for checking in self._checkings.values():
            if checking.settings.training and (told := checking.feedback(person, key)) is not None:
                return told
        return None

    def undo(self, person: str) -> Undone | None:
        """Take back this person's last answer; what is open again and what was said by their sides, or None if late."""
        undone = self._desk.undo(person, min(each.settings.lease for each in self._people))
        if undone is None or undone.said.value is None or undone.said.sides != "ba":
            return undone
        return replace(undone, said=replace(undone.said, value=self._people[0].turned(undone.said.value)))

    def skip(self, person: str, key: str) -> Taken:
        """Leave a question to others."""
        return self._desk.skip(person, key)

    def renew(self, person: str, key: str) -> float | None:
        """Keep a question in hand; until when, or None where it is gone."""
        if (hidden := self._hidden_key(person, key)) is not None:
            return self.clock() + float(self._at(hidden.step).settings.lease)
        found = self._desk.of_key(person, key)
        return None if found is None else self._desk.renew(person, key, _terms(self._at(found[1]), person))

    def done(self, person: str) -> int:
        """How many answers of this person stand."""
        return self._desk.done(person)

    def left(self, person: str) -> int:
        """How many questions are open for this person now."""
        out = 0
        for each in self._people:
            real, checking = self._desk.left(person, each.step, _terms(each, person)), self._checking(each, person)
            if checking is not None and checking.settings.hidden_share:
                real = checking.left(person, real, in_hand=self._desk.has_one(person, each.step))
            out += real
        return out

    @property
    def guidelines(self) -> str:
        """The guidelines of all people's raters, as they stand in their files now."""
        texts = []
        for file in filter(None, dict.fromkeys(each.settings.guidelines for each in self._people)):
            try:
                texts.append((self.spec.folder / file).read_text(encoding="utf-8", errors="replace"))
            except OSError:
                texts.append(f"The guidelines ({file}) cannot be read just now.")
        return "\n\n".join(texts)

    @property
    def _people(self) -> list[Respondent]:
        return respondents(self.spec, PeopleSettings)

    def _at(self, step: int) -> Respondent:
        return Respondent(self.spec, step)

    @property
    def _desk(self) -> Desk:
        return Desk(self.store, self.clock)

    @property
    def _checkings(self) -> dict[int, Checking]:
        """Training, checks and repeats of each step that has any."""
        has_any = [each for each in self._people if each.settings.training or each.settings.hidden_share]
        return {each.step: Checking(each, self._desk, self.store.meta("campaign") or "") for each in has_any}

    def _checking(self, each: Respondent, person: str) -> Checking | None:
        """Those of a step; none for the person who decides where others differ."""
        return None if decides(each.settings, person) else self._checkings.get(each.step)

    def _hidden_key(self, person: str, key: str) -> CheckKey | None:
        return QualityChecks(self._desk).of_key(person, key) if self._checkings else None

    def _task(self, each: Respondent, key: str, row: Mapping[str, Any], sides: str | None, until: float) -> Task:
        scale, settings = self.spec.scale, each.settings
        ends: dict[str, Any] = {"low": scale.low, "high": scale.high}
        if scale.words:
            ends["words"] = dict(scale.words)
        return Task(
            key, each.rater.name, each.shown(row, sides), scale.kind, ends, until, sides is not None, settings.lease,
            settings.criterion or "",
        )  # fmt: skip


def _terms(each: Respondent, person: str) -> LeaseTerms:
    return LeaseTerms(each.settings.lease, each.settings.votes, splits=decides(each.settings, person))


def _said(each: Respondent, reply: PageAnswer, sides: str | None) -> PersonAnswer:
    value = each.value(reply.rating, sides)
    return PersonAnswer(value, reply.comment, bounded_seconds(reply.seconds), sides, reply.flagged or None)


@dataclass(frozen=True, slots=True, repr=False)
class OpenQuestion(Result):
    """A question for a person: its key, who is to answer, and the item's row."""

    key: str
    rater: str
    item: Mapping[str, Any]
    until: float  # seconds since 1970: then others get it


@dataclass(frozen=True, slots=True)
class People:
    """The same from Python, with the item's whole row: for programs that have a page of their own."""

    spec: Spec
    desk: Desk

    def next(self, person: str) -> OpenQuestion | None:
        """The question this person has in hand, or another one; None where nothing is to be answered now."""
        person = self._spelled(person)
        for each in respondents(self.spec, PeopleSettings):
            lease = self.desk.lease(person, each.step, _terms(each, person))
            if lease is not None:
                claim = lease.claim
                key = f"{claim.position}:{each.step}:{claim.attempt}"
                return OpenQuestion(key, each.rater.name, json.loads(claim.content), lease.until)
        return None

    def answer(self, person: str, key: str, rating: object, *, note: str = "") -> Heard:
        """Take an answer, which must be on the scale; None: cannot tell."""
        try:
            position, step, attempt = map(int, key.split(":"))
        except ValueError:
            raise InputError(f"{key[:40]!r} is no key of a question; send the one that came with it") from None
        claim = self.desk.question(position, step)
        if claim is None or claim.attempt != attempt:
            return "was settled before"
        each = Respondent(self.spec, step)
        if not isinstance(each.settings, PeopleSettings):
            raise InputError(f"rater {each.rater.name!r} is not asked here; send the key that came with the question")
        return each.settle(self.desk, claim, self._spelled(person), PersonAnswer(each.value(rating), note))

    def _spelled(self, person: str) -> str:
        """The name as it was first written: Ben and ben are one person, and have one vote."""
        return spellings(self.desk.store).get(name_key(person), person)
