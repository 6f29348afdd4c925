"""The actions that the planner may ask for."""

from dataclasses import dataclass

from ratewise.campaign.history import RoundPlan


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
class Draw:
    """Write down rates and draws of these items, and ask for what was drawn."""

    first: int
    end: int


@dataclass(frozen=True, slots=True)
class DrawAgain:
    """Write down a second draw of items that were passed over, and ask for what was drawn."""


@dataclass(frozen=True, slots=True)
class Refit:
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


Action = Open | Refit | TakeUp | Draw | DrawAgain | Close | GiveUp | Wait | Done
