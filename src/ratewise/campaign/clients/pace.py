"""How fast a rater is asked: one question at first, and more calls at once with every answer that it gives.

A rater that is broken from the start is found out by a few calls in a row, not by as many as it takes at once. One that
breaks later is slowed down to one call, too.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from ratewise.campaign.planner.outcomes import rater_of
from ratewise.campaign.spec.spec import Spec
from ratewise.queue.records import Claim, Outcome
from ratewise.raters.kinds import KINDS

SILENT = 10  # first answers without a rating after which a rater is taken to be down
_SLOW_DOWN = 5  # calls in a row that fail, after which one at a time is asked


@dataclass(slots=True, eq=False)
class Pace:
    """What this process has heard of its raters, by step."""

    spec: Spec
    known: set[int] = field(default_factory=set)  # steps whose rater has given a rating, now or in an earlier run
    _at_once: dict[int, int] = field(init=False, default_factory=dict)
    _in_vain: Counter[int] = field(init=False, default_factory=Counter)  # calls in a row that failed
    _silent: dict[int, list[Claim]] = field(init=False, default_factory=dict)

    def calls(self, step: int) -> int:
        """How many calls the rater may get at once."""
        rater = self.spec.raters[rater_of(self.spec, step)]
        return rater.concurrency if self._is_local(step) else min(self._at_once.get(step, 1), rater.concurrency)

    def batch(self, step: int) -> int:
        """How many questions a call may have; the first call has one."""
        rater = self.spec.raters[rater_of(self.spec, step)]
        return 1 if self.probes(step) else rater.batch

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
                self.known.add(step)
                self._silent.pop(step, None)
                continue
            self._in_vain[step] += o.failed
            if self._in_vain[step] >= _SLOW_DOWN:
                self._at_once.pop(step, None)
            if not o.failed and step not in self.known and not self._is_local(step):
                self._silent.setdefault(step, []).append(o.claim)

    def silent(self) -> list[int]:
        """Steps whose rater has given nothing but empty answers from the start."""
        return [step for step, claims in self._silent.items() if len(claims) >= SILENT]

    def unanswered(self, step: int) -> list[Claim]:
        """Questions that a silent rater was asked; they are forgotten here."""
        return self._silent.pop(step, [])
