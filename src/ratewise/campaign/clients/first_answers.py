"""The first answers decide: a wrong scale or a mistake in a rater's code shows in three of them.

What costs nothing may be tried for longer (`Health`), and a strong rater that has given many ratings is believed: what
it fails on then are hard items. Of other raters, any rating shows that they are there. Why a rater was stopped is
remembered until it has answered again, so that a run that finds it as it was ends with its first failure.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from ratewise.store.queue import Claim, Outcome

ENOUGH = 3  # failures of one kind
_ITEMS = 2  # that must have failed before the rater is blamed, where one alone may be hard
FIRST = 20  # items that were answered or given up: after them, a rater is believed
_BELIEVED = 5  # ratings without a failure after which a rater that was stopped is one like others
_PARTICULAR = re.compile(r"'[^']*'|\"[^\"]*\"|[0-9.]+")  # what differs between failures of one kind


def kind_of(outcome: Outcome) -> str:
    """What a failure has in common with others of its kind: its words, without numbers and quotations."""
    return "off the scale" if outcome.off_scale else " ".join(_PARTICULAR.sub("…", outcome.note or "").split())


@dataclass(slots=True, eq=False)
class FirstAnswers:
    """What this process has heard of its raters, by step."""

    strong: int  # the step whose ratings count, and must be on the scale
    rated: Counter[int]  # ratings of the campaign so far, those of earlier runs among them
    remembered: dict[int, str]  # why a rater was stopped in an earlier run
    _good: Counter[int] = field(init=False, default_factory=Counter)  # ratings in this run
    _calls: dict[tuple[int, str], list[Claim]] = field(init=False, default_factory=lambda: defaultdict(list))
    _given_up: dict[tuple[int, str], list[Claim]] = field(init=False, default_factory=lambda: defaultdict(list))
    _wrong: set[tuple[int, str]] = field(init=False, default_factory=set)

    def see(self, outcomes: Sequence[Outcome], again: Sequence[Outcome]) -> list[int]:
        """Take note of answers, of which some are asked for `again`; returns steps whose rater can be forgotten."""
        more = {(o.claim.position, o.claim.step) for o in again}
        forgotten = []
        for o in outcomes:
            step = o.claim.step
            if o.value is not None:
                self.rated[step] += 1
                self._good[step] += 1
                if self._good[step] >= _BELIEVED and self.remembered.pop(step, None) is not None:
                    forgotten.append(step)
            elif o.failed and o.paid:
                key = step, kind_of(o)
                self._calls[key].append(o.claim)
                if (o.claim.position, step) not in more:
                    self._given_up[key].append(o.claim)
                if self._is_wrong(*key):
                    self._wrong.add(key)
        return forgotten

    def wrong(self) -> list[tuple[int, str]]:
        """(step, kind) of raters that are not to be asked any more."""
        return sorted(self._wrong)

    def given_up(self, step: int, kind: str) -> list[Claim]:
        """Questions to ask again when the rater is repaired; they are forgotten here."""
        self._wrong.discard((step, kind))
        self._calls.pop((step, kind), None)
        return self._given_up.pop((step, kind), [])

    def _is_wrong(self, step: int, kind: str) -> bool:
        if self.remembered.get(step) == kind:
            return True
        calls, given_up = self._calls[step, kind], self._given_up[step, kind]
        if not self.rated[step]:
            return len(calls) >= ENOUGH and len({claim.position for claim in calls}) >= _ITEMS
        return step == self.strong and len(given_up) >= ENOUGH and self.rated[step] + len(given_up) <= FIRST
