"""Warns once about spending that is probably not meant: calls without an answer, or dearer than listed."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ratewise.campaign.planner.outcomes import list_price, rater_of
from ratewise.campaign.spec.spec import Spec
from ratewise.store.money import shown
from ratewise.store.queue import Outcome

_CALLS = 20  # before that, chance may do anything


@dataclass(slots=True, eq=False)
class Spending:
    """What this process has paid its raters, by step."""

    spec: Spec
    _calls: Counter[int] = field(init=False, default_factory=Counter)
    _paid: Counter[int] = field(init=False, default_factory=Counter)
    _listed: Counter[int] = field(init=False, default_factory=Counter)
    _in_vain: Counter[int] = field(init=False, default_factory=Counter)  # paid for no rating
    _told: set[tuple[int, str]] = field(init=False, default_factory=set)

    def see(self, outcomes: Sequence[Outcome]) -> list[str]:
        """Add what was paid; returns new warnings."""
        for o in outcomes:
            step, k = o.claim.step, rater_of(self.spec, o.claim.step)
            self._calls[step] += 1
            self._paid[step] += o.paid
            self._listed[step] += list_price(self.spec.raters[k], k, o.claim)
            self._in_vain[step] += o.paid if o.value is None else 0
        found = [one for step in {o.claim.step for o in outcomes} for one in self._unusual(step)]
        new = [(step, kind, words) for step, kind, words in found if (step, kind) not in self._told]
        self._told |= {(step, kind) for step, kind, _ in new}
        return [words for _, _, words in new]

    def _unusual(self, step: int) -> Iterator[tuple[int, str, str]]:
        """(step, kind, words) of each thing that is unusual."""
        if self._calls[step] < _CALLS:
            return
        name, paid = self.spec.raters[rater_of(self.spec, step)].name, self._paid[step]
        if 3 * self._in_vain[step] > paid:
            wasted = f"{shown(self._in_vain[step])} of the {shown(paid)} paid to rater {name!r} in this run"
            yield step, "in vain", f"unusual spending: {wasted} went to calls that brought no rating"
        if paid > 2 * self._listed[step]:
            calls = f"rater {name!r} was paid {shown(paid)} for {self._calls[step]:,} calls in this run"
            yield step, "dear", f"unusual spending: {calls}, which cost {shown(self._listed[step])} by its price"
