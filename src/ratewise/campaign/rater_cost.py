"""What one rater may cost, before anyone is asked."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from ratewise.core.result import shown


@shown
@dataclass(frozen=True, slots=True)
class RaterCost:
    """What one rater may cost: by `items` ratings, each of so many calls."""

    name: str
    items: int
    calls: int
    expected: Decimal
    most: Decimal
    priced: str  # where its prices come from
    what: str = "ratings"

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON; amounts as text, so that they stay exact."""
        return {
            "name": self.name, "items": self.items, "calls": self.calls, "cost_expected": f"{self.expected:f}",
            "cost_most": f"{self.most:f}", "priced": self.priced,
        }  # fmt: skip
