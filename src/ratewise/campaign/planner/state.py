"""What decisions are made from, the terms of a campaign and what its log says now, and the actions that they are."""

from dataclasses import dataclass
from datetime import datetime

from ratewise.campaign.estimates import Target
from ratewise.campaign.history import History, RoundPlan
from ratewise.design.teacher import Teacher
from ratewise.store.money import PLACES
from ratewise.store.queue import Batch, Units

UNIT = 10.0**-PLACES


@dataclass(frozen=True, slots=True, eq=False)
class CampaignTerms:
    """What a campaign is about, as far as decisions need it; money in units."""

    prices: tuple[float, ...]  # mean list price of each rater
    budget: int | None
    wanted: Target
    alone: bool  # strong ratings alone, from the start
    deadline: datetime | None = None  # nothing is asked from this moment on
    gives_up: bool = False  # whether questions without an answer by then are given up
    again: bool = False  # whether items that were passed over may be drawn again, once all were looked at
    most: int = 0  # the most that one strong rating can cost
    first: int = 0  # items that the first round consists of: their strong ratings were there already
    teacher: Teacher | None = None  # a finished campaign, whose labels stand in for those to come
    votes: int = 0  # where people are the last rater and nobody is to wait: answers that a question takes
    aside: int | None = None  # of the budget, for hidden checks and repeats, whose money no round sees; None: no such
    refit: bool = False  # whether a model is trained on the labels of closed rounds

    @property
    def pool(self) -> int:
        """Number of items there are."""
        return self.wanted.pool

    @property
    def later_raters(self) -> int:
        """How many raters come after the first; 1 where there is just one, who is the strong one."""
        return max(len(self.prices) - 1, 1)

    @property
    def weak_cost(self) -> float:
        """Cost of a weak rating; 0 where there is no weak rater."""
        return 0.0 if self.alone else self.prices[0] * UNIT

    @property
    def costs(self) -> tuple[float, ...]:
        """Cost of each rater after the first."""
        return tuple(p * UNIT for p in (self.prices[-1:] if self.alone else self.prices[1:]))


@dataclass(frozen=True, slots=True, eq=False)
class OpenRound:
    """The round that is under way."""

    number: int
    first: int
    plan: RoundPlan
    batches: tuple[Batch, ...] = ()
    factor: float | None = None

    @property
    def end(self) -> int:
        """The first item that is not taken up."""
        return self.batches[-1].end if self.batches else self.first

    @property
    def cost(self) -> int:
        """What was committed, at worst."""
        return sum(batch.cost for batch in self.batches)

    @property
    def left(self) -> int:
        """The round's money that is not committed yet."""
        return self.plan.spend - self.cost

    @property
    def drawn(self) -> bool:
        """Whether everything that it has taken up is drawn."""
        return bool(self.batches) and all(batch.drawn for batch in self.batches)


@dataclass(frozen=True, slots=True, eq=False)
class Ahead:
    """What the next round could be planned from while answers of open ones are out."""

    taken: History  # closed rounds, and the open ones without their answers
    people: int  # at work
    spent: int  # on closed rounds


@dataclass(frozen=True, slots=True, eq=False)
class Overlap:
    """Rounds whose answers are out while the next one is planned: only what was closed before them may be used."""

    closed: History
    cost: int  # what they may cost, at worst
    people: int  # at work


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """What the log says now."""

    terms: CampaignTerms
    history: History
    spent: int  # settled
    open: OpenRound | None
    weak_open: int = 0  # questions to raters before the last one, without an answer yet
    strong_open: int = 0
    worst: Units | None = None  # of the next items that are not taken up: the most each can cost, items × raters
    failed: int = 0  # what failed calls of closed rounds have cost
    cut: bool = False  # the money for another batch is not there: failed calls were paid from it
    now: datetime | None = None  # the time; None: before every deadline
    behind: tuple[OpenRound, ...] = ()  # rounds before the one under way that wait for their last answers, in order
    oldest_open: int = 0  # questions of the first of these without an answer yet
    before: History | None = None  # all rounds before the one under way, those behind without answers
    ahead: Ahead | None = None  # where people are short of questions while the round under way waits for answers
    overlap: Overlap | None = None  # where the next round is planned while others are open: `history` has these, too

    @property
    def oldest(self) -> OpenRound | None:
        """The open round that closes first."""
        return self.behind[0] if self.behind else self.open

    @property
    def overlaps(self) -> bool:
        """Whether a round is open that was open when the last one closed: the campaign does not stop there."""
        opened = () if self.open is None else (*self.behind, self.open)
        return any(each.plan.look < self.history.rounds for each in opened)

    @property
    def free(self) -> int:
        """What the labels that were there already would have cost."""
        return round(min(self.terms.first, self.history.items) * self.terms.prices[-1])

    @property
    def late(self) -> bool:
        """Whether the deadline has passed."""
        return self.now is not None and is_late(self.terms, self.now)


def is_late(terms: CampaignTerms, now: datetime) -> bool:
    """Whether nothing may be asked any more."""
    return terms.deadline is not None and now >= terms.deadline


@dataclass(frozen=True, slots=True, eq=False)
class Open:
    """Freeze a policy."""

    plan: RoundPlan


@dataclass(frozen=True, slots=True)
class TakeUp:
    """Ask for weak ratings of these items, and hold money for the strong ones."""

    first: int
    end: int


@dataclass(frozen=True, slots=True)
class DrawItems:
    """Write down rates and draws of these items, and ask for what was drawn."""

    first: int
    end: int


@dataclass(frozen=True, slots=True)
class DrawAgain:
    """Write down a second draw of items that were passed over, and ask for what was drawn."""


@dataclass(frozen=True, slots=True)
class Train:
    """Train a model on the labels of closed rounds, and write down what it predicts of every item."""


@dataclass(frozen=True, slots=True)
class Close:
    """All answers of the round are in."""


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Count unanswered questions that nobody has claimed as missing; they are not paid for."""

    reason: str


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait for answers."""


@dataclass(frozen=True, slots=True)
class Done:
    """The campaign is done; nothing more is to be bought."""

    reason: str


Action = Open | Train | TakeUp | DrawItems | DrawAgain | Close | GiveUp | Wait | Done
