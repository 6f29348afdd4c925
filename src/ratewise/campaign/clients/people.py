"""The client for people: hands out questions of raters of kind "people", and settles their answers.

Beside them come training, hidden checks and hidden repeats. Which of a person's questions is a check follows from a
hash of the campaign, the person and how many questions they were given, so that a reload changes nothing and nobody can
foresee it.
"""

import hashlib
import json
import os
import secrets
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

from ratewise.campaign.clients.respondents import Respondent, bounded_seconds, choices_of, respondents
from ratewise.campaign.items import Facts, set_aside
from ratewise.campaign.load import plain_rows
from ratewise.campaign.raters import decides
from ratewise.campaign.spec.spec import Spec
from ratewise.errors import InputError
from ratewise.raters.people import PeopleSettings
from ratewise.raters.scale import RatingScale
from ratewise.store.accounts import spellings
from ratewise.store.desk import (
    TRAINING,
    Desk,
    Handouts,
    Heard,
    LeaseTerms,
    NextCheck,
    Taken,
    Vote,
    name_key,
)
from ratewise.store.queries import Key
from ratewise.store.store import Store
from ratewise.tables import read_table

EXPECTED, WHY = "expected", "why"


@dataclass(frozen=True, slots=True)
class KnownItem:
    """One of them: its row, the rating that it should get, and the reason for learners."""

    row: Mapping[str, Any]
    expected: float
    why: str


def known_items(asked: Respondent, settings: PeopleSettings, like: Mapping[str, Any]) -> tuple[KnownItem, ...]:
    """All of them, in the order of the file; their cells have the kinds of those of `like`, an item of the campaign.

    A number among texts, or a column that is not there, would tell a check from a question.
    """
    if settings.known is None:
        return ()
    path = str(asked.spec.folder / settings.known)
    try:
        stamp = os.stat(path)
    except OSError as error:
        raise InputError(f"known = {settings.known!r} cannot be read: {error.strerror}") from None
    rows = _rows(path, stamp.st_mtime_ns, stamp.st_size)
    needed = [*settings.show, *(settings.sides or ()), EXPECTED]
    if missing := [name for name in needed if rows and name not in rows[0]]:
        raise InputError(f"{settings.known} has no column {missing[0]!r}; known items need: {', '.join(needed)}")
    out = []
    for number, row in enumerate(rows, start=1):
        where = f"{settings.known}, row {number}, column {EXPECTED}: "
        expected = asked.number(row[EXPECTED], where=where)
        cells = {name: _alike(value, like.get(name)) for name, value in row.items() if name not in (EXPECTED, WHY)}
        out.append(KnownItem(cells, expected, "" if row.get(WHY) is None else str(row[WHY])))
    fewest = settings.training + bool(settings.checks)
    if len(out) < fewest:
        raise InputError(
            f"{settings.known} has {len(out)} items; {settings.training} are for training, and hidden checks take "
            f"others, so at least {fewest} are needed"
        )
    return tuple(out)


@lru_cache(maxsize=8)
def _rows(path: str, _: int, __: int) -> tuple[dict[str, Any], ...]:
    """The rows of a file as it is now."""
    return tuple(plain_rows(read_table(path)))


def _alike(value: Any, example: Any) -> Any:
    """The value as the kind of the example: a text as a number or the other way round."""
    if isinstance(example, str) and not isinstance(value, str) and value is not None:
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, str) and isinstance(example, bool | int | float | list | dict):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


GAP = 8  # answers that lie between a question and its repeat, at least
_FURTHEST = 2000  # questions that are looked ahead
_NEAR = 0.1  # of a scale: so near to the known answer is right where a score is given


@dataclass(frozen=True, slots=True)
class Feedback:
    """What a learner is told after an answer; `passed` after the last one."""

    right: bool
    expected: str
    why: str
    number: int
    of: int
    share: float  # right so far in this try
    passed: bool | None = None


def agrees(scale: RatingScale, value: float | None, expected: float) -> bool:
    """Whether an answer is the known one; a score may be off by a tenth of the scale."""
    if value is None:
        return False
    return abs(value - expected) <= (_NEAR * (scale.high - scale.low) if scale.kind == "score" else 0.0)


@dataclass(frozen=True, slots=True)
class Checking:
    """What one rater's people are given beside the questions of the campaign."""

    asked: Respondent
    desk: Desk
    campaign: str  # its id

    @property
    def settings(self) -> PeopleSettings:
        found: PeopleSettings = self.asked.rater
        return found

    @property
    def known(self) -> tuple[KnownItem, ...]:
        return known_items(self.asked, self.settings, json.loads(self.desk.content(0)))

    def next(self, person: str, terms: LeaseTerms) -> tuple[Key, Mapping[str, Any]] | None:
        """What comes instead of a question of the campaign, with its row; None where that is due."""
        known = self.known
        choose = partial(self._choose, person, len(known))
        most = None if self.asked.spec.goal.budget is None else set_aside(self.asked.spec)
        got = self.desk.hand_out_check(person, self.asked.step, terms, choose, price=self._price, most=most)
        if got is None:
            return None
        return got, known[-1 - got.position].row if got.position < 0 else json.loads(self.desk.content(got.position))

    def answer(self, got: Key, said: Vote) -> Taken:
        """Take an answer, which no estimate sees."""
        right = self._agrees(said.annotator, got, said.value)
        return self.desk.answer_check(got.key, said, agrees=right, price=self._price)

    def _agrees(self, person: str, got: Key, value: float | None) -> bool | None:
        if got.what == "repeat":
            before = self.desk.said_before(person, got.position, self.asked.step)
            if before is None or before[0] is None or value is None:
                return None if before is None else before[0] == value
            return agrees(self.asked.spec.scale, value, before[0])
        return agrees(self.asked.spec.scale, value, self.known[-1 - got.position].expected)

    # Training

    def feedback(self, person: str, key: str) -> Feedback | None:
        """What is told after an answer to a training item; None for every other key."""
        got = self.desk.of_key(person, key)
        if got is None or got.what != TRAINING:
            return None
        item, of = self.known[-1 - got.position], self.settings.training
        done = _of_try(self.desk.given(person, self.asked.step)[0], got.attempt)
        share = sum(done) / max(len(done), 1)
        passed = share >= self.settings.pass_mark if len(done) >= of else None
        words = {number: word for word, number in choices_of(self.asked.spec.scale)}
        expected = words.get(item.expected, f"{item.expected:g}")
        return Feedback(bool(got.agrees), expected, item.why, -got.position, of, share, passed)

    def _training(self, seen: Handouts) -> NextCheck | None:
        """The next training item; None where there is no training, or it is passed."""
        of = self.settings.training
        now = max((attempt for attempt, _ in seen.training), default=1)
        done = _of_try(seen, now)
        if of == 0 or (len(done) >= of and sum(done) / len(done) >= self.settings.pass_mark):
            return None
        if len(done) >= of:
            now, done = now + 1, []
        return NextCheck(TRAINING, -1 - len(done), now, self._sides())

    # Checks and repeats

    def _choose(self, person: str, known: int, seen: Handouts) -> NextCheck | None:
        training = self._training(seen)
        if training is not None:
            return training
        what = self._due(person, seen.slot)
        if what == "check":
            left = [-1 - row for row in range(self.settings.training, known) if -1 - row not in seen.checks]
            return None if not left else NextCheck("check", self._first(person, left), sides=self._sides())
        if what == "repeat":
            old = [position for turn, position in seen.answered if turn <= seen.turn - GAP]
            left = [position for position in old if position not in seen.repeated]
            return None if not left else NextCheck("repeat", self._first(person, left), sides=self._sides())
        return None

    def _due(self, person: str, slot: int) -> str:
        number = int(self._hash(person, f"slot {slot}")[:13], 16) / 16**13
        if number < self.settings.checks:
            return "check"
        return "repeat" if number < self.settings.hidden_share else ""

    def _first(self, person: str, positions: list[int]) -> int:
        return min(positions, key=lambda position: self._hash(person, f"item {position}"))

    def _hash(self, person: str, what: str) -> str:
        text = f"{self.campaign}\n{self.asked.step}\n{person}\n{what}"
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def _sides(self) -> str | None:
        return None if self.settings.sides is None else secrets.choice(("ab", "ba"))

    @property
    def _price(self) -> int:
        """The price of an item shared by its votes."""
        of_item = Facts.of(self.desk.store).prices[self.asked.spec.index(self.asked.step)]
        return int(of_item) // self.settings.votes

    def left(self, person: str, real: int, *, in_hand: bool) -> int:
        """Questions that are left for a person, those to come beside the campaign's among them.

        Were they not counted, one that takes nothing from the count would have been a check.
        """
        seen, held = self.desk.given(person, self.asked.step)
        checks = max(len(self.known) - self.settings.training - len(seen.checks), 0)
        turns = deque(sorted(turn for turn, position in seen.answered if position not in seen.repeated))
        out, slot, turn, real = int(held or in_hand), seen.slot, seen.turn + int(held or in_hand), real - int(in_hand)
        turns.extend([turn] if in_hand else [])
        while real > 0 and out < _FURTHEST:
            what = self._due(person, slot)
            if what == "check" and checks:
                checks -= 1
            elif what == "repeat" and turns and turns[0] <= turn - GAP:
                turns.popleft()
            else:
                real -= 1
                turns.append(turn + 1)
            out, slot, turn = out + 1, slot + 1, turn + 1
        return out + real


def _of_try(seen: Handouts, attempt: int) -> list[bool]:
    return [right for number, right in seen.training if number == attempt]


# The page


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
        told = {name: getattr(self, name) for name in ("key", "item", "kind", "scale", "criterion")}
        if self.training is not None:
            told["training"] = {"number": self.training[0], "of": self.training[1]}
        return told


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
            if self.spec.scale.kind == "pairwise" and each.rater.sides is None:
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
                task = _task(each, got.key, each.shown(row, got.sides), self.clock() + each.rater.lease, got.sides)
                is_training = got.what == TRAINING
                return replace(task, training=(-got.position, each.rater.training)) if is_training else task
            compares = each.rater.sides is not None
            real = self._desk.hand_out(person, each.step, terms, tries=each.rater.attempts, compares=compares)
            if real is not None:
                item = each.shown(json.loads(real.claim.content), real.sides)
                return _task(each, real.key, item, real.until, real.sides)
        return None

    def answer(
        self, person: str, key: str, rating: object, *, comment: str = "", seconds: float | None = None,
        flagged: bool = False,
    ) -> Taken:  # fmt: skip
        """Take an answer, which must be on the scale, or None for cannot tell; saved when this returns."""

        def said(each: Respondent, sides: str | None) -> Vote:
            value = each.value(rating, sides)
            return Vote(person, value, comment, bounded_seconds(seconds), sides, flagged or None)

        row = self._desk.of_key(person, key)
        if row is None:
            return "unknown"
        each = Respondent(self.spec, row.step)
        if row.what is not None:
            checking = self._checkings.get(row.step)
            return "too late" if checking is None else checking.answer(row, said(each, row.sides))
        claim = self._desk.question(row.position, row.step)
        price = 0 if claim is None else each.price(claim)
        return self._desk.answer_key(key, said(each, row.sides), price=price, rule=each.rule)

    def feedback(self, person: str, key: str) -> Feedback | None:
        """What a learner is told after an answer to a training item; None for every other question."""
        for checking in self._checkings.values():
            if checking.settings.training and (told := checking.feedback(person, key)) is not None:
                return told
        return None

    def undo(self, person: str) -> Key | None:
        """Take back this person's last answer; what is open again and what was said by their sides, or None if late."""
        undone = self._desk.undo(person, min(each.rater.lease for each in self._people))
        if undone is None or undone.value is None or undone.sides != "ba":
            return undone
        return undone._replace(value=self._people[0].turned(undone.value))

    def skip(self, person: str, key: str) -> Taken:
        return self._desk.skip(person, key)

    def renew(self, person: str, key: str) -> float | None:
        """Keep a question in hand; until when, or None where it is gone."""
        row = self._desk.of_key(person, key)
        if row is None:
            return None
        each = Respondent(self.spec, row.step)
        if row.what is not None:
            return self.clock() + float(each.rater.lease)
        return self._desk.renew(person, key, _terms(each, person))

    def done(self, person: str) -> int:
        return self._desk.done(person)

    def left(self, person: str) -> int:
        out = 0
        for each in self._people:
            real, checking = self._desk.left(person, each.step, _terms(each, person)), self._checking(each, person)
            if checking is not None and checking.settings.hidden_share:
                real = checking.left(person, real, in_hand=self._desk.has_one(person, each.step))
            out += real
        return out

    def shown(self, person: str) -> Iterator[Any]:
        """Every text that this person was shown, the newest item's first."""
        for each in self._people:
            checking = self._checking(each, person)
            for got in reversed(self._desk.handed(person, each.step)):
                if got.position >= 0:
                    yield from each.shown(json.loads(self._desk.content(got.position))).values()
                elif checking is not None:
                    for item in checking.known[-1 - got.position : -got.position]:
                        yield from (*each.shown(item.row).values(), *([item.why] if got.state == "trained" else ()))
        yield self.guidelines

    @property
    def guidelines(self) -> str:
        """The guidelines of all people's raters, as they stand in their files now."""
        texts = []
        for file in filter(None, dict.fromkeys(each.rater.guidelines for each in self._people)):
            try:
                texts.append((self.spec.folder / file).read_text(encoding="utf-8", errors="replace"))
            except OSError:
                texts.append(f"The guidelines ({file}) cannot be read just now.")
        return "\n\n".join(texts)

    @property
    def _people(self) -> list[Respondent]:
        return respondents(self.spec, PeopleSettings)

    @property
    def _desk(self) -> Desk:
        return Desk(self.store, self.clock)

    @property
    def _checkings(self) -> dict[int, Checking]:
        """Training, checks and repeats of each step that has any."""
        has_any = [each for each in self._people if each.rater.training or each.rater.hidden_share]
        return {each.step: Checking(each, self._desk, self.store.meta("campaign") or "") for each in has_any}

    def _checking(self, each: Respondent, person: str) -> Checking | None:
        """Those of a step; none for the person who decides where others differ."""
        return None if decides(each.rater, person) else self._checkings.get(each.step)


def _task(each: Respondent, key: str, item: Mapping[str, Any], until: float, sides: str | None = None) -> Task:
    scale, rater = each.spec.scale, each.rater
    ends: dict[str, Any] = {"low": scale.low, "high": scale.high}
    if scale.words:
        ends["words"] = dict(scale.words)
    if rater.ends:
        ends["ends"] = list(rater.ends)
    claim = rater.criterion or (each.spec.claim if scale.kind == "binary" else None) or ""
    return Task(key, rater.name, item, scale.kind, ends, until, sides is not None, rater.lease, claim)


def _terms(each: Respondent, person: str) -> LeaseTerms:
    return LeaseTerms(each.rater.lease, each.rater.votes, splits=decides(each.rater, person))


@dataclass(frozen=True, slots=True)
class People:
    """The same from Python, with the item's whole row: for programs that have a page of their own."""

    spec: Spec
    desk: Desk

    def next(self, person: str) -> Task | None:
        """The question this person has in hand, or another one; None where nothing is to be answered now."""
        person = self._spelled(person)
        for each in respondents(self.spec, PeopleSettings):
            lease = self.desk.lease(person, each.step, _terms(each, person))
            if lease is not None:
                claim = lease.claim
                key = f"{claim.position}:{each.step}:{claim.attempt}"
                return _task(each, key, json.loads(claim.content), lease.until)
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
        if not isinstance(each.rater, PeopleSettings):
            raise InputError(f"rater {each.rater.name!r} is not asked here; send the key that came with the question")
        return each.settle(self.desk, claim, Vote(self._spelled(person), each.value(rating), note))

    def _spelled(self, person: str) -> str:
        """The name as it was first written: Ben and ben are one person, and have one vote."""
        return spellings(self.desk.store).get(name_key(person), person)
