"""Tells whether the rater is down or items are hard. An item is given up after some attempts, unless the rater is down.

A rater that answers one question shows that it was there: what had failed before that answer was heard did so on its
own account. When questions were asked says nothing: many are asked at once, and the rater may go down while they are
under way. What failed without such a sign is suspect, and some of that in a row is a rater that is down.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from ratewise.campaign.clients.calls import Reply
from ratewise.campaign.planner.outcomes import rater_of
from ratewise.campaign.spec.spec import Spec
from ratewise.store.queue import Claim, Outcome

DOWN = 5  # items given up in a row after which the rater is taken to be down


@dataclass(slots=True, eq=False)
class Health:
    """What this process has seen of its raters, by step."""

    spec: Spec
    _first: dict[tuple[int, int], float] = field(init=False, default_factory=dict)  # when items that fail first did
    _good: dict[int, float] = field(init=False, default_factory=dict)  # when the last good answer was heard
    _given_up: dict[int, list[tuple[float, Claim]]] = field(init=False, default_factory=dict)  # since a good answer

    def see(self, replies: Sequence[Reply], outcomes: Sequence[Outcome], again: Sequence[Outcome]) -> None:
        """Take note of replies and what was made of them; `again` are asked once more."""
        more = {_key(o.claim) for o in again}
        for reply, o in zip(replies, outcomes, strict=True):
            if not o.failed:
                self._first.pop(_key(o.claim), None)
                self._good[o.claim.step] = max(reply.heard, self._good.get(o.claim.step, 0.0))
        for step in {o.claim.step for o in outcomes if not o.failed}:
            self._given_up[step] = self._suspects(step)
        for reply, o in zip(replies, outcomes, strict=True):
            first = self._first.setdefault(_key(o.claim), reply.heard) if o.failed else 0.0
            if o.failed and _key(o.claim) not in more:
                self._given_up.setdefault(o.claim.step, []).append((first, o.claim))
                del self._first[_key(o.claim)]

    def down(self) -> list[int]:
        """Steps whose rater is down."""
        return [step for step in self._given_up if len(self._suspects(step)) >= DOWN]

    def given_up(self, step: int) -> list[Claim]:
        """Questions to ask again when the rater is back; they are forgotten here."""
        return [claim for _, claim in self._given_up.pop(step, [])]

    def _suspects(self, step: int) -> list[tuple[float, Claim]]:
        return [(first, c) for first, c in self._given_up.get(step, []) if not self._was_there(c, first)]

    def _was_there(self, claim: Claim, first: float) -> bool:
        """Whether the rater has answered anything since then; for failures of an earlier run, anything at all."""
        good = self._good.get(claim.step)
        rater = self.spec.raters[rater_of(self.spec, claim.step)]
        return good is not None and (good >= first or claim.attempt > rater.attempts)


def _key(claim: Claim) -> tuple[int, int]:
    return claim.position, claim.step
