"""How fast a rater is asked: one question at first, and more calls at once with every answer that it gives.

A rater that is broken from the start is found out by a few calls in a row, not by as many as it takes at once. One that
breaks later is slowed down to one call, too.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ratewise.campaign.clients.first_answers import ENOUGH, FIRST
from ratewise.campaign.planner.outcomes import rater_of
from ratewise.campaign.spec.spec import Spec
from ratewise.raters.kinds import KINDS
from ratewise.store.queue import Outcome

SILENT = 10  # first answers without a rating after which a rater is taken to be down
_STILL_SILENT = 3  # of one that was, in an earlier run
_SLOW_DOWN = 5  # calls in a row that fail, after which one at a time is asked


@dataclass(slots=True, eq=False)
class Pace:
    """What this process has heard of its raters, by step."""

    spec: Spec
    rated: Mapping[int, int]  # ratings of the campaign by step, those of earlier runs among them
    was_silent: set[int] = field(default_factory=set)  # steps whose rater was taken to be down for that
    _at_once: dict[int, int] = field(init=False, default_factory=dict)
    _in_vain: Counter[int] = field(init=False, default_factory=Counter)  # calls in a row that failed
    _silent: dict[int, list[Outcome]] = field(init=False, default_factory=dict)

    def calls(self, step: int) -> int:
        """How many calls the rater may get at once."""
        rater = self.spec.raters[rater_of(self.spec, step)]
        return rater.concurrency if self._is_local(step) else min(self._at_once.get(step, 1), rater.concurrency)

    def batch(self, step: int) -> int:
        """How many questions a call may have: one at first, or as few of a column as show a wrong scale."""
        rater = self.spec.raters[rater_of(self.spec, step)]
        is_new = self._is_local(step) and self.rated[step] < FIRST
        return 1 if self.probes(step) else min(rater.batch, ENOUGH) if is_new else rater.batch

    def probes(self, step: int) -> bool:
        """Whether the rater has not answered for some time (or ever); then what it failed on is asked again first."""
        return step not in self._at_once and not self._is_local(step)

    def _is_local(self, step: int) -> bool:
        """Whether the rater is a column, which is free and cannot be down."""
        rater = self.spec.raters[rater_of(self.spec, step)]
        return KINDS[rater.kind].flat_price(rater.settings)

    def see(self, outcomes: Sequence[Outcome]) -> None:
        """Take note of what was answered."""
        for o in outcomes:
            step = o.claim.step
            if o.value is not None:
                self._in_vain[step] = 0
                self._at_once[step] = self._at_once.get(step, 1) + 1
                self._silent.pop(step, None)
                continue
            self._in_vain[step] += o.failed
            if self._in_vain[step] >= _SLOW_DOWN:
                self._at_once.pop(step, None)
            if not o.failed and not self.rated[step] and not self._is_local(step):
                self._silent.setdefault(step, []).append(o)

    def silent(self) -> list[int]:
        """Steps whose rater has given nothing but empty answers from the start."""
        return [step for step, given in self._silent.items() if len(given) >= self._most_silent(step)]

    def _most_silent(self, step: int) -> int:
        return _STILL_SILENT if step in self.was_silent else SILENT

    def unanswered(self, step: int) -> list[Outcome]:
        """What a silent rater has answered to its questions; it is forgotten here."""
        return self._silent.pop(step, [])
