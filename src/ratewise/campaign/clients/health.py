"""What a process learns of a rater: how much it may be asked at once, when it is down, and what it costs.

One that is down must not take thousands of questions with it. It is asked one at a time until it has answered, and then
one more at once for each answer. It is stopped, with its questions kept for the next run,

- where its first answers fail in the same way: a wrong scale or a mistake in its code shows in three of them. Only what
  is paid counts; a strong rater that has given many ratings is believed, and what it fails on then are hard items.
- where items are given up in a row without any answer since their first failure. An answer shows that the rater was
  there, so what had failed before it was heard did so on its own account. When questions were asked says nothing.
- where it gives nothing but empty answers from the start.

Why a rater was stopped is remembered until it has answered again: a run that finds it as it was ends at once.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ratewise.campaign.planner.outcomes import list_price, worst_price
from ratewise.campaign.spec.spec import RaterSpec
from ratewise.raters.protocol import Answer, Failure
from ratewise.store.money import shown
from ratewise.store.queue import Claim, Outcome

DOWN = 5  # items given up in a row after which the rater is taken to be down
FIRST = 20  # items that were answered or given up: after them, a rater is believed
SILENT = 10  # first answers without a rating after which a rater is taken to be down
_STILL_SILENT = 3  # of one that was, in an earlier run
_ENOUGH = 3  # first failures of one kind
_ITEMS = 2  # that must have failed before the rater is blamed, where one alone may be hard
_BELIEVED = 5  # ratings without a failure after which a rater that was stopped is one like others
_SLOW_DOWN = 5  # calls in a row that fail, after which one at a time is asked
_CALLS = 20  # before that, chance may do anything to what is spent
_PARTICULAR = re.compile(r"'[^']*'|\"[^\"]*\"|[0-9.]+")  # what differs between failures of one kind
_OFF_SCALE = "off the scale"
_SILENCE = "no rating"
_EMPTY = "a rater that cannot rate an item says so by answering nothing"
_SCALE = (
    "an item without a rating has an empty one; "
    'if it is the scale that is wrong, mend [rating], as in kind = "likert", low = 1, high = 5, and give the campaign '
    'another name, as in name = "second": ratings so far were read on the old scale'
)


@dataclass(frozen=True, slots=True)
class HeardReply:
    """What a rater said to a question, and when it was heard."""

    claim: Claim
    said: Answer | Failure
    heard: float


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a rater is stopped, in words, and the questions to ask again when it is repaired."""

    kind: str  # by which the next run knows it again
    claims: tuple[Claim, ...]
    what: str
    how: str
    hint: str = _EMPTY


def kind_of(outcome: Outcome) -> str:
    """What a failure has in common with others of its kind: its words, without numbers and quotations."""
    return _OFF_SCALE if outcome.off_scale else " ".join(_PARTICULAR.sub("…", outcome.note or "").split())


@dataclass(slots=True, eq=False)
class Health:
    """What this process has heard of one rater."""

    rater: RaterSpec
    is_strong: bool  # whether its ratings count, and must be on the scale
    rated: int = 0  # its ratings in the campaign, those of earlier runs among them
    stopped: str | None = None  # why, in an earlier run
    _good: int = field(init=False, default=0)  # ratings in this run
    _at_once: int = field(init=False, default=0)  # calls that it may get; 0: none of its last ones was answered
    _failed: int = field(init=False, default=0)  # calls in a row
    _silent: list[Outcome] = field(init=False, default_factory=list)  # first answers, none of them a rating
    _answered_at: float | None = field(init=False, default=None)
    _failing: dict[int, float] = field(init=False, default_factory=dict)  # position → when it failed first
    _suspects: list[tuple[float, Claim]] = field(init=False, default_factory=list)  # given up since an answer
    _calls: dict[str, list[Claim]] = field(init=False, default_factory=lambda: defaultdict(list))  # failed, by kind
    _given_up: dict[str, list[Claim]] = field(init=False, default_factory=lambda: defaultdict(list))  # of these
    _wrong: set[str] = field(init=False, default_factory=set)  # kinds of failures that stop it
    _last: dict[str, Outcome] = field(init=False, default_factory=dict)  # failure by kind
    _last_failure: Outcome | None = field(init=False, default=None)

    # How much it is asked

    @property
    def calls(self) -> int:
        """How many calls it may get at once."""
        return self.rater.concurrency if self._is_local else min(max(self._at_once, 1), self.rater.concurrency)

    @property
    def batch(self) -> int:
        """How many questions a call may have: one at first, or as few of a column as show a wrong scale."""
        if self.probes:
            return 1
        return min(self.rater.batch, _ENOUGH) if self._is_local and self.rated < FIRST else self.rater.batch

    @property
    def probes(self) -> bool:
        """Whether it has not answered for some time (or ever); then what it failed on is asked again first."""
        return not self._at_once and not self._is_local

    @property
    def _is_local(self) -> bool:
        """Whether it is a column, which is free and cannot be down."""
        return self.rater.settings.flat_price

    # What it answers

    def see(self, heard: Sequence[tuple[HeardReply, Outcome]], again: Sequence[Outcome]) -> bool:
        """Take note of answers, of which some are asked for `again`; whether why it was stopped can be forgotten."""
        more = {o.claim.position for o in again}
        stopped = self.stopped
        for _, o in heard:
            if o.value is not None:
                self._rating()
            elif o.failed:
                self._failure(o, given_up=o.claim.position not in more)
            else:
                self._silent.append(o)
        if self.rated or self._is_local:
            self._silent.clear()
        self._see_items(heard, more)
        return stopped is not None and self.stopped is None

    def _rating(self) -> None:
        self.rated += 1
        self._good += 1
        self._failed = 0
        self._at_once = max(self._at_once, 1) + 1
        if self._good >= _BELIEVED:
            self.stopped = None

    def _failure(self, o: Outcome, *, given_up: bool) -> None:
        self._last_failure = o
        self._failed += 1
        if self._failed >= _SLOW_DOWN:
            self._at_once = 0
        if not o.paid:
            return
        kind = kind_of(o)
        self._last[kind] = o
        self._calls[kind].append(o.claim)
        if given_up:
            self._given_up[kind].append(o.claim)
        if self._is_wrong(kind):
            self._wrong.add(kind)

    def _is_wrong(self, kind: str) -> bool:
        if self.stopped == kind:
            return True
        calls, given_up = self._calls[kind], self._given_up[kind]
        if not self.rated:
            return len(calls) >= _ENOUGH and len({claim.position for claim in calls}) >= _ITEMS
        return self.is_strong and len(given_up) >= _ENOUGH and self.rated + len(given_up) <= FIRST

    def _see_items(self, heard: Sequence[tuple[HeardReply, Outcome]], more: set[int]) -> None:
        """Keep the items that were given up and no answer speaks for."""
        answered = [reply for reply, o in heard if not o.failed]
        for reply in answered:
            self._failing.pop(reply.claim.position, None)
            self._answered_at = max(reply.heard, self._answered_at or 0.0)
        if answered:
            self._suspects = self._suspicious()
        for reply, o in heard:
            if o.failed:
                first = self._failing.setdefault(o.claim.position, reply.heard)
                if o.claim.position not in more:
                    self._suspects.append((first, o.claim))
                    del self._failing[o.claim.position]

    def _suspicious(self) -> list[tuple[float, Claim]]:
        """Items given up of which nothing shows that the rater was there; of failures of earlier runs, any answer."""
        at = self._answered_at
        return [
            (first, claim) for first, claim in self._suspects
            if at is None or (at < first and claim.attempt <= self.rater.attempts)
        ]  # fmt: skip

    # When it is stopped

    def trouble(self) -> Trouble | None:
        """The first reason to stop it, whose questions are forgotten here; None where there is none."""
        for kind in sorted(self._wrong):
            last = self._last[kind]
            claims = {c.position: c for c in (*self._given_up.pop(kind, ()), *self.given_up())}
            self._wrong.discard(kind)
            self._calls.pop(kind)
            off = last.off_scale
            what = "gave ratings that are not on the scale" if off else "failed in the same way several times"
            said = f", the last time with: {last.note}"
            return Trouble(kind, tuple(claims.values()), what, said, _SCALE if off else _EMPTY)
        if len(self._suspicious()) >= DOWN:
            assert self._last_failure is not None
            down = self.given_up()
            how = f", the last time with: {self._last_failure.note}"
            return Trouble(kind_of(self._last_failure), down, f"failed on {len(down)} items in a row", how)
        if len(self._silent) >= (_STILL_SILENT if self.stopped == _SILENCE else SILENT):
            silent, self._silent = self._silent, []
            why, times = Counter(o.note for o in silent).most_common(1)[0]
            how = f", {'each time' if times == len(silent) else f'{times} times'} with: {why}"
            what = f"gave no rating for any of its first {len(silent)} items"
            hint = "answering nothing is for single items that cannot be rated"
            return Trouble(_SILENCE, tuple(o.claim for o in silent), what, how, hint)
        return None

    def given_up(self) -> tuple[Claim, ...]:
        """Questions to ask again when the rater is back; they are forgotten here."""
        claims = tuple(claim for _, claim in self._suspects)
        self._suspects = []
        return claims


@dataclass(slots=True, eq=False)
class Spending:
    """What this process has paid one rater; warns once where it is probably not meant."""

    rater: RaterSpec
    k: int  # its number
    _calls: int = field(init=False, default=0)
    _paid: int = field(init=False, default=0)
    _listed: int = field(init=False, default=0)  # what they cost by its price
    _in_vain: int = field(init=False, default=0)  # paid for no rating
    _told: set[str] = field(init=False, default_factory=set)

    def see(self, outcomes: Sequence[Outcome]) -> list[str]:
        """Add what was paid; returns new warnings."""
        for o in outcomes:
            self._calls += 1
            self._paid += o.paid
            self._listed += list_price(self.rater, self.k, o.claim)
            self._in_vain += o.paid if o.value is None else 0
        new = [(kind, words) for kind, words in self._unusual(outcomes) if kind not in self._told]
        found = dict(reversed(new))  # the first of each kind
        self._told |= found.keys()
        return [found[kind] for kind in dict.fromkeys(kind for kind, _ in new)]

    def _unusual(self, outcomes: Sequence[Outcome]) -> Iterator[tuple[str, str]]:
        """(kind, words) of each thing that is unusual."""
        name, paid = self.rater.name, shown(self._paid)
        for o in outcomes:
            if o.paid > (most := worst_price(self.rater, self.k, o.claim)):
                yield (
                    "above",
                    f"rater {name!r} charged {shown(o.paid)} for item {o.claim.id!r}, more than the {shown(most)} that "
                    "were reserved as the most a call can cost",
                )
        if self._calls < _CALLS:
            return
        if 3 * self._in_vain > self._paid:
            wasted = f"{shown(self._in_vain)} of the {paid} paid to rater {name!r} in this run"
            yield "in vain", f"unusual spending: {wasted} went to calls that brought no rating"
        if self._paid > 2 * self._listed:
            calls = f"rater {name!r} was paid {paid} for {self._calls:,} calls in this run"
            yield "dear", f"unusual spending: {calls}, which cost {shown(self._listed)} by its price"
