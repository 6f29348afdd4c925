"""Training, hidden checks and hidden repeats: when they come, what is right, and what they cost.

Which of a person's questions is a check follows from a hash of the campaign, the person and how many questions they
were given, so that a reload changes nothing and nobody can foresee it.
"""

import hashlib
import json
import secrets
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from ratewise.campaign.clients.choices import choices_of
from ratewise.campaign.clients.known import KnownItem, known_items
from ratewise.campaign.items import Facts, set_aside
from ratewise.campaign.planner.outcomes import rater_of
from ratewise.campaign.spec.raters import RaterSpec
from ratewise.campaign.spec.spec import Spec
from ratewise.raters.people import PeopleSettings
from ratewise.raters.scale import RatingScale
from ratewise.store.desk import TRAINING, Chosen, Desk, Hidden, HiddenKey, Purse, Said, Seen, Taken, Terms

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

    spec: Spec
    desk: Desk
    step: int
    campaign: str  # its id

    @property
    def rater(self) -> RaterSpec:
        """Whose people they are."""
        return self.spec.raters[rater_of(self.spec, self.step)]

    @property
    def settings(self) -> PeopleSettings:
        """Its keys in the TOML."""
        found = self.rater.settings
        assert isinstance(found, PeopleSettings)
        return found

    @property
    def is_on(self) -> bool:
        """Whether anything of it is asked for."""
        return bool(self.settings.training or self.settings.hidden_share)

    @property
    def known(self) -> tuple[KnownItem, ...]:
        """Items with known answers."""
        like = json.loads(self._hidden.content(0))
        return known_items(self.spec, rater_of(self.spec, self.step), self.settings, like)

    @property
    def _hidden(self) -> Hidden:
        return Hidden(self.desk)

    def next(self, person: str, terms: Terms) -> tuple[HiddenKey, Mapping[str, Any]] | None:
        """What comes instead of a question of the campaign, with its row; None where that is due."""
        known = self.known
        choose = partial(self._choose, person, len(known))
        got = self._hidden.hand_out(person, self.step, terms, choose, self._purse)
        return None if got is None else (got, self._row(got, known))

    def _row(self, got: HiddenKey, known: tuple[KnownItem, ...]) -> Mapping[str, Any]:
        if got.position >= 0:
            found: Mapping[str, Any] = json.loads(self._hidden.content(got.position))
            return found
        return known[-1 - got.position].row

    def answer(self, person: str, got: HiddenKey, said: Said) -> Taken:
        """Take an answer, which no estimate sees."""
        right = self._agrees(person, got, said.value)
        return self._hidden.answer(person, got.key, said, agrees=right, price=self._purse.price)

    def _agrees(self, person: str, got: HiddenKey, value: float | None) -> bool | None:
        if got.what == "repeat":
            before = self._hidden.said_before(person, got.position, self.step)
            if before is None or before[0] is None or value is None:
                return None if before is None else before[0] == value
            return agrees(self.spec.scale, value, before[0])
        return agrees(self.spec.scale, value, self.known[-1 - got.position].expected)

    # Training

    def feedback(self, person: str, key: str) -> Feedback | None:
        """What is told after an answer to a training item; None for every other key."""
        got = self._hidden.of_key(person, key)
        if got is None or got.what != TRAINING:
            return None
        item, of = self.known[-1 - got.position], self.settings.training
        done = _of_try(self._hidden.seen(person, self.step)[0], got.attempt)
        share = sum(done) / max(len(done), 1)
        passed = share >= self.settings.pass_mark if len(done) >= of else None
        return Feedback(
            bool(got.agrees), _word(self.spec.scale, item.expected), item.why, -got.position, of, share, passed
        )

    def _training(self, seen: Seen) -> Chosen | None:
        """The next training item; None where there is no training, or it is passed."""
        of = self.settings.training
        now = max((attempt for attempt, _ in seen.training), default=1)
        done = _of_try(seen, now)
        if of == 0 or (len(done) >= of and sum(done) / len(done) >= self.settings.pass_mark):
            return None
        if len(done) >= of:
            now, done = now + 1, []
        return Chosen(TRAINING, -1 - len(done), now, self._sides())

    # Checks and repeats

    def _choose(self, person: str, known: int, seen: Seen) -> Chosen | None:
        training = self._training(seen)
        if training is not None:
            return training
        what = self._due(person, seen.slot)
        if what == "check":
            left = [-1 - row for row in range(self.settings.training, known) if -1 - row not in seen.checks]
            return None if not left else Chosen("check", self._first(person, left), sides=self._sides())
        if what == "repeat":
            old = [position for turn, position in seen.answered if turn <= seen.turn - GAP]
            left = [position for position in old if position not in seen.repeated]
            return None if not left else Chosen("repeat", self._first(person, left), sides=self._sides())
        return None

    def _due(self, person: str, slot: int) -> str:
        number = int(self._hash(person, f"slot {slot}")[:13], 16) / 16**13
        if number < self.settings.checks:
            return "check"
        return "repeat" if number < self.settings.hidden_share else ""

    def _first(self, person: str, positions: list[int]) -> int:
        return min(positions, key=lambda position: self._hash(person, f"item {position}"))

    def _hash(self, person: str, what: str) -> str:
        text = f"{self.campaign}\n{self.step}\n{person}\n{what}"
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def _sides(self) -> str | None:
        return None if self.settings.sides is None else secrets.choice(("ab", "ba"))

    @property
    def _purse(self) -> Purse:
        """The price of an item shared by its votes, and the money that is set aside."""
        facts = Facts.of(self.desk.store)
        price = int(facts.prices[rater_of(self.spec, self.step)]) // self.settings.votes
        return Purse(price, None if self.spec.goal.budget is None else set_aside(self.spec))

    def left(self, person: str, real: int, *, in_hand: bool) -> int:
        """Questions that are left for a person, those to come beside the campaign's among them.

        Were they not counted, one that takes nothing from the count would have been a check.
        """
        seen, held = self._hidden.seen(person, self.step)
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


def _of_try(seen: Seen, attempt: int) -> list[bool]:
    return [right for number, right in seen.training if number == attempt]


def _word(scale: RatingScale, value: float) -> str:
    words = {number: word for word, number in choices_of(scale)}
    return words.get(value, f"{value:g}")
