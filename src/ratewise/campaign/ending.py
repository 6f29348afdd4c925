"""What a run of a campaign gives back: why it ended, what was spent, and what is known."""

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from ratewise.campaign.status import Status
from ratewise.core.estimate import Estimate
from ratewise.core.result import shown


@shown
@dataclass(frozen=True, slots=True, eq=False)
class Ending:
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
