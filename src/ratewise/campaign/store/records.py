"""What the store hands out and takes in."""

from dataclasses import dataclass
from datetime import UTC, datetime

from ratewise.campaign.history import RoundPlan


@dataclass(frozen=True, slots=True)
class Claim:
    """A question that this process asks."""

    position: int
    step: int  # number of the rater
    attempt: int
    id: str
    content: str
    prices: tuple[int, ...] | None  # of this item, where prices differ


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a claim: a value, or none with a note; `again` asks once more."""

    claim: Claim
    paid: int
    value: float | None = None
    note: str | None = None
    failed: bool = False
    again: int | None = None  # after a failure: money to reserve for another attempt


@dataclass(frozen=True, slots=True)
class RoundRow:
    """A round as it is stored."""

    number: int
    first: int
    plan: RoundPlan
    factor: float | None
    items: int | None


def now() -> str:
    """For people to read; nothing is decided by it."""
    return datetime.now(UTC).isoformat(timespec="seconds")
