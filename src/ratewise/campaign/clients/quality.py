"""Training, hidden checks and hidden repeats: when they come, what is right, and what they cost.

Which of a person's questions is a check follows from a hash of the campaign, the person and how many questions they
were given, so that a reload changes nothing and nobody can foresee it.
"""

import hashlib
import json
import os
import secrets
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from ratewise.campaign.clients.respondents import Respondent, choices_of
from ratewise.campaign.items import Facts, set_aside
from ratewise.campaign.load import plain_rows
from ratewise.campaign.planner.outcomes import rater_of
from ratewise.errors import InputError
from ratewise.raters.people import PeopleSettings
from ratewise.raters.scale import RatingScale
from ratewise.store.desk import (
    TRAINING,
    CheckKey,
    CheckMoney,
    Desk,
    Handouts,
    LeaseTerms,
    NextCheck,
    PersonAnswer,
    QualityChecks,
    Taken,
)
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
        """The keys of the rater in the TOML."""
        found: PeopleSettings = self.asked.settings
        return found

    @property
    def known(self) -> tuple[KnownItem, ...]:
        """Items with known answers."""
        return known_items(self.asked, self.settings, json.loads(self._hidden.content(0)))

    @property
    def _hidden(self) -> QualityChecks:
        return QualityChecks(self.desk)

    def next(self, person: str, terms: LeaseTerms) -> tuple[CheckKey, Mapping[str, Any]] | None:
        """What comes instead of a question of the campaign, with its row; None where that is due."""
        known = self.known
        choose = partial(self._choose, person, len(known))
        got = self._hidden.hand_out(person, self.asked.step, terms, choose, self._purse)
        return None if got is None else (got, self._row(got, known))

    def _row(self, got: CheckKey, known: tuple[KnownItem, ...]) -> Mapping[str, Any]:
        if got.position >= 0:
            found: Mapping[str, Any] = json.loads(self._hidden.content(got.position))
            return found
        return known[-1 - got.position].row

    def answer(self, person: str, got: CheckKey, said: PersonAnswer) -> Taken:
        """Take an answer, which no estimate sees."""
        right = self._agrees(person, got, said.value)
        return self._hidden.answer(person, got.key, said, agrees=right, price=self._purse.price)

    def _agrees(self, person: str, got: CheckKey, value: float | None) -> bool | None:
        if got.what == "repeat":
            before = self._hidden.said_before(person, got.position, self.asked.step)
            if before is None or before[0] is None or value is None:
                return None if before is None else before[0] == value
            return agrees(self.asked.spec.scale, value, before[0])
        return agrees(self.asked.spec.scale, value, self.known[-1 - got.position].expected)

    # Training

    def feedback(self, person: str, key: str) -> Feedback | None:
        """What is told after an answer to a training item; None for every other key."""
        got = self._hidden.of_key(person, key)
        if got is None or got.what != TRAINING:
            return None
        item, of = self.known[-1 - got.position], self.settings.training
        done = _of_try(self._hidden.seen(person, self.asked.step)[0], got.attempt)
        share = sum(done) / max(len(done), 1)
        passed = share >= self.settings.pass_mark if len(done) >= of else None
        return Feedback(
            bool(got.agrees), _word(self.asked.spec.scale, item.expected), item.why, -got.position, of, share, passed
        )

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
    def _purse(self) -> CheckMoney:
        """The price of an item shared by its votes, and the money that is set aside."""
        spec = self.asked.spec
        price = int(Facts.of(self.desk.store).prices[rater_of(spec, self.asked.step)]) // self.settings.votes
        return CheckMoney(price, None if spec.goal.budget is None else set_aside(spec))

    def left(self, person: str, real: int, *, in_hand: bool) -> int:
        """Questions that are left for a person, those to come beside the campaign's among them.

        Were they not counted, one that takes nothing from the count would have been a check.
        """
        seen, held = self._hidden.seen(person, self.asked.step)
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


def _word(scale: RatingScale, value: float) -> str:
    words = {number: word for word, number in choices_of(scale)}
    return words.get(value, f"{value:g}")
