"""What ratings cost, where their prices are known."""

from dataclasses import dataclass

from ratewise.core.checks import number
from ratewise.core.messages import Message, argument
from ratewise.errors import InputError


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices of one weak and one strong rating; both or neither, unless strong ratings stand alone."""

    weak: float | None = None
    strong: float | None = None

    def spend(self, weak: int, strong: int, *, alone: bool = False) -> float | None:
        """What so many ratings cost; `None` where no prices are given."""
        weak_cost = 0.0 if alone and self.strong is not None else self.weak
        if weak_cost is None and self.strong is None:
            return None
        if weak_cost is None or self.strong is None:
            both = f"{argument('weak_cost')} and {argument('strong_cost')}"
            raise InputError(Message(f"give both {both} to know the spend, or neither"))
        c_g = number(weak_cost, name="weak_cost", minimum=0)
        c_h = number(self.strong, name="strong_cost", minimum=0)
        return weak * c_g + strong * c_h
