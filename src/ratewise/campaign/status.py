"""Where a campaign stands, and what a run gives back: money, questions, and what can be said already."""

import html
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from ratewise.campaign.answers import Answers, labels_short
from ratewise.campaign.estimates import Look, answers_to_stop, anytime_estimate, final_answers, final_estimate
from ratewise.campaign.learner import LEARNER
from ratewise.campaign.planner import State
from ratewise.campaign.raters import rules_in_words
from ratewise.campaign.spec.spec import Spec
from ratewise.core.document import Bar, Fact, FactTable, Part
from ratewise.core.estimate import Estimate
from ratewise.core.result import Result, fields_in_json
from ratewise.judges.judge import told_of_servers
from ratewise.store.money import amount, in_currency, to_money
from ratewise.store.queue import ANSWERED, MISSING, OPEN, TEXTS
from ratewise.store.store import Store

IF_YOU_LOOK = "if you looked before"  # the name of the wider interval, wherever both are shown
_BAR = 24  # signs of the money's bar


def ends_of(e: Estimate) -> str:
    """An estimate's interval."""
    return "none" if e.interval is None else f"{e.interval[0]:.4f} to {e.interval[1]:.4f}"


@dataclass(frozen=True, slots=True, repr=False)
class Status(Result):
    """A campaign's status. Amounts are exact; the estimate, of complete rounds, may be looked at any time."""

    name: str
    campaign: str  # random, made when it began: in its keys, its report and its files
    ended: str | None  # why nothing more is bought
    pool: int
    looked: int
    rounds: int
    budget: Decimal | None
    spent: Decimal
    reserved: Decimal
    labels: int
    pending: int  # strong ratings asked for, no answer yet
    missing: int  # that will not come
    failed_calls: int
    estimate: Estimate | None  # with the interval that may be looked at
    final: Estimate | None  # with the interval that the campaign ends with: narrower where no look decides anything
    expected_se: float | None  # when all the money is spent
    waits_for: str | None = None  # a process that plans and shows no sign of life
    spent_by: dict[str, Decimal] | None = None  # of each rater; not told while a run goes on
    refit: dict[str, Any] | None = None  # of the last one: the labels it was trained on, and whether it is used
    votes: tuple[str, ...] = ()  # a sentence for each rater of whose answers several make one rating
    servers: tuple[str, ...] = ()  # a sentence for each judge whose server answers as another model
    answers: Answers | None = None  # of its question, where that is not the mean; with the interval that leads
    currency: str | None = None  # of all amounts
    asking: tuple[str, ...] = ()  # a sentence for each rater before the last who is being asked
    short: str | None = None  # which answers the money that is left will not reach

    @property
    def lead(self) -> Estimate | None:
        """What every view shows first: the interval that may be looked at, and once it has ended the final one."""
        return self.estimate if self.ended is None else self.final

    @property
    def lead_words(self) -> str:
        """What the interval that leads is good for."""
        if self.ended is None:
            return "from the rounds that are complete; look as often as you like"
        if self.lead is None or self.lead.interval_method.startswith("anytime"):
            return "final; it holds even if somebody looked on the way"
        return "final: the campaign has ended"

    @property
    def for_looks(self) -> Estimate | None:
        """Once it has ended: the interval for those who looked on the way, where that is not the final one itself."""
        if self.ended is None or self.estimate is None or self.final is None:
            return None
        looked = self.final.interval_method.startswith("anytime") or self.estimate.interval == self.final.interval
        return None if looked else self.estimate

    @property
    def left(self) -> Decimal | None:
        """Money that is neither spent nor promised."""
        return None if self.budget is None else self.budget - self.spent - self.reserved

    def summary(self) -> str:
        of = "" if self.budget is None else f" of {self.budget:f}"
        known = "no round is complete yet" if self.lead is None else self.lead.summary()
        known = known if self.answers is None else self.answers.summary()
        parts = (self.ended or "not at its end", f"{self.spent:f}{of} spent", known, *self.servers)
        return f"{self.name}: {'; '.join(parts)}"

    def state(self, running: bool | None) -> str:
        """How it ended, or whether a process works on it, where that is known."""
        return self.ended or {None: "not at its end", True: "running"}.get(
            running, "stopped; go on with `ratewise run`"
        )

    def so_far(self) -> list[Fact]:
        """What is waited for, and money, items and ratings so far."""
        rounds = f"in {self.rounds:,} complete round{'' if self.rounds == 1 else 's'}"
        asked = f", {self.pending:,} asked for" if self.pending else ""
        held = "will not come (the interval holds whatever they would have been)"
        gone = f", {self.missing:,} {held}" if self.missing else ""
        rows: list[Fact] = [] if self.waits_for is None else [("waits", self.waits_for, "warning")]
        rows += [("judge", line, "warning") for line in self.servers]
        rows += [("money", self._money()), ("items", f"{self.looked:,} of {self.pool:,} looked at, {rounds}")]
        rows += [("asking", line) for line in self.asking]
        rows.append(("strong ratings", f"{self.labels:,} in{asked}{gone}"))
        rows += [("failed calls", f"{self.failed_calls:,}, of all raters")] if self.failed_calls else []
        return rows + [("votes", line) for line in self.votes]

    def other_intervals(self) -> list[Fact]:
        """Those beside the one that leads, and what they are for."""
        rows: list[Fact] = [] if self.for_looks is None else [(IF_YOU_LOOK, ends_of(self.for_looks))]
        if self.lead is not None and self.ended is None and self.final is not None:
            why = "if it ended now, and nobody stops it on what they see"
            rows += [("final", ends_of(self.final)), ("", why, "quiet")]
        return rows + self._expected()

    def _expected(self) -> list[Fact]:
        if self.expected_se is None or self.ended is not None:
            return []
        return [("at the end", f"standard error of about {self.expected_se:.4f}")]

    def document(self, *, running: bool | None = None) -> list[Part]:
        """Where it stands; `running` says whether a process works on it, where that is known."""
        rows: list[Fact] = [
            ("campaign", f"{self.name}: {self.state(running)}", "strong"),
            ("id", self.campaign, "quiet"),
        ]
        for row in self.so_far():
            rows.append(
                ("money", Bar(self._bar() + self._money(), html.escape(self._money()))) if row[0] == "money" else row
            )
        if self.short is not None:
            rows.append(("not reached", self.short, "warning"))
        if self.answers is not None:
            return [*self.answers.document(), FactTable(rows + self._expected())]
        if self.lead is None:
            rows.append(("estimate", "none before the first round is complete"))
        else:
            rows += [
                ("estimate", f"{self.lead.value:.4f}", "strong"),
                (f"{self.lead.level:.0%} interval", ends_of(self.lead), "strong"), ("", self.lead_words, "quiet"),
            ]  # fmt: skip
        return [FactTable(rows + self.other_intervals())]

    def _bar(self) -> str:
        if self.budget is None:
            return ""
        filled = round(min(float((self.spent + self.reserved) / self.budget), 1.0) * _BAR)
        return "█" * filled + "░" * (_BAR - filled) + " "

    def _money(self) -> str:
        if self.budget is None or self.left is None:
            return f"{self._told(self.spent)} spent, {self._told(self.reserved)} promised; no limit"
        promised = f", {self._told(self.reserved)} promised" if self.reserved else ""
        return f"{self._told(self.spent)} of {self._told(self.budget)} spent{promised}, {self._told(self.left)} left"

    def _told(self, exact: Decimal) -> str:
        return in_currency(amount(exact), self.currency)

    def to_dict(self) -> dict[str, Any]:
        out = fields_in_json(self) | {"left": None if self.left is None else f"{self.left:f}"}
        beside = {"short": self.short, "currency": self.currency, "asking": list(self.asking)}
        answers = {} if self.answers is None else {"answers": [one.to_dict() for one in self.answers.answers]}
        return (
            {name: value for name, value in out.items() if name != "answers" and name not in beside}
            | answers
            | {name: value for name, value in beside.items() if value}
        )


def telling(
    spec: Spec, store: Store, progress: Callable[[Status], None], *, every: float = 0.25
) -> Callable[[State], None]:
    """What is told of each state of a run: its status, once in so many seconds."""
    last = -math.inf

    def tell(state: State) -> None:
        nonlocal last
        if time.monotonic() - last >= every:
            progress(status_of(spec, store, state))
            last = time.monotonic()

    return tell


def status_of(spec: Spec, store: Store, state: State, *, by_rater: bool = False) -> Status:
    """The status from the log and the state it makes; what each rater was paid takes a walk through the ledger."""
    counts = store.counts()
    strong = state.terms.later_raters
    reserved, spent = store.totals()
    look = look_at(store, state)
    ended = store.meta("ended") is not None
    return Status(
        name=spec.name,
        campaign=store.meta("campaign") or "",
        ended=store.meta("ended"),
        pool=state.terms.pool,
        looked=counts["looked"],
        rounds=state.history.rounds,
        budget=spec.goal.budget,
        spent=to_money(spent),
        reserved=to_money(reserved),
        labels=counts.get(f"{strong}:{ANSWERED}", 0),
        pending=counts.get(f"{strong}:{OPEN}", 0),
        missing=counts.get(f"{strong}:{MISSING}", 0),
        failed_calls=counts["failed"],
        estimate=anytime_estimate(state.history, state.terms.wanted, more=state.overlaps),
        final=final_estimate(state.history, state.terms.wanted, look),
        expected_se=None if state.open is None else state.open.plan.expected_se,
        waits_for=store.waits_for(),
        spent_by=_spent_by(spec, store) if by_rater else None,
        refit={"labels": state.history.taught, "used": state.history.uses_refit} if state.history.refits else None,
        votes=rules_in_words(spec),
        servers=told_of_servers([text for _, text in store.notes()]),
        currency=spec.currency,
        asking=_asking(spec, counts),
        answers=answers_at(state, look if ended else Look(anytime=True, more=state.overlaps)),
        short=None if ended else _short(state, spent + reserved),
    )


def _asking(spec: Spec, counts: dict[str, int]) -> tuple[str, ...]:
    """How far a round of a judge is: what is answered, and what is still open."""
    open_ = {rater.name: (counts.get(f"{k}:{ANSWERED}", 0), counts.get(f"{k}:{OPEN}", 0))
             for k, rater in enumerate(spec.raters[:-1])}  # fmt: skip
    return tuple(f"{name}: {done:,} ratings in, {more:,} still to come" for name, (done, more) in open_.items() if more)


def answers_at(state: State, look: Look) -> Answers | None:
    """The answers of a question at this look; `None` for a mean of which nothing is to be decided."""
    wanted = state.terms.wanted
    if wanted.question.kind == "mean" and not wanted.decides:
        return None
    return final_answers(state.history, wanted, look)


def _short(state: State, spent: int) -> str | None:
    """Which answers the money will not reach, once a round is complete: how many labels more each would take."""
    terms, wanted = state.terms, state.terms.wanted
    found = answers_to_stop(state.history, wanted) if wanted.goals.within and state.history.labels > 1 else None
    labels = None if found is None else labels_short(found, pool=wanted.estimand == "pool")
    if not labels or terms.budget is None or not terms.prices[-1]:
        return None
    pays = max(terms.budget - spent, 0) / terms.prices[-1]
    if (sum(labels.values()) if wanted.question.kind == "slices" else max(labels.values())) <= pays:
        return None
    needs = sorted(labels.items(), key=lambda one: -one[1])[:_MOST_SHORT]
    each = ", ".join(f"{name} needs about {math.ceil(more):,} more labels" for name, more in needs)
    return f"{each}; the money pays for {int(pays):,}"


_MOST_SHORT = 5


def look_at(store: Store, state: State) -> Look:
    """Which interval the campaign ends with."""
    changed, ended = (store.meta(key) is not None for key in ("goal changed", "ended"))
    return Look.of(state.terms.wanted, changed=changed, ended=ended, more=state.overlaps)


def _spent_by(spec: Spec, store: Store) -> dict[str, Decimal]:
    paid, texts = store.paid_by_step(), store.ledger_sums().get(TEXTS, 0)
    raters = {rater.name: to_money(paid.get(step, 0)) for step, rater in enumerate(spec.raters)}
    return raters | ({LEARNER: to_money(texts)} if texts else {})


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Ending(Result):
    """The end of a run. It equals its reason, so that it can be compared with a text.

    All of it is here: the store may be deleted.
    """

    reason: str  # why nothing more was bought: the budget is spent, every item has been looked at, …
    spent: Decimal  # in all, over all runs
    status: Status = field(repr=False)  # money, labels and rounds
    estimate: Estimate | None = field(repr=False)  # the result; `None` before the first round is complete

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON: the status, the reason and the result."""
        found = None if self.estimate is None else self.estimate.to_dict()
        return {**self.status.to_dict(), "reason": str(self.reason), "result": found}

    def summary(self) -> str:
        """One line for people."""
        known = "no round is complete yet" if self.estimate is None else self.estimate.summary()
        return f"{self.reason}; {self.spent:f} spent; {known}"

    def __str__(self) -> str:
        return str(self.reason)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Ending):
            return (self.reason, self.spent) == (other.reason, other.spent)
        return self.reason == other if isinstance(other, str) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.reason)
