"""Tells whether the rater is down or items are hard. An item is given up after some attempts, unless the rater is down.

A rater that answers one question shows that it was there: what had failed before that answer was heard did so on its
own account. When questions were asked says nothing: many are asked at once, and the rater may go down while they are
under way. What failed without such a sign is suspect, and some of that in a row is a rater that is down.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ratewise.campaign.planner.outcomes import list_price, rater_of
from ratewise.campaign.spec.spec import Spec
from ratewise.raters.kinds import KINDS
from ratewise.raters.protocol import Answer, Failure
from ratewise.store.money import shown
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


DOWN = 5  # items given up in a row after which the rater is taken to be down


@dataclass(frozen=True, slots=True)
class Reply:
    """What a rater said to a question, and when it was heard."""

    claim: Claim
    said: Answer | Failure
    heard: float


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
