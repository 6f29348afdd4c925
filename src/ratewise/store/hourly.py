"""Pay by the hour: what an item costs by the seconds that people took, up to a limit for each answer."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

_HOUR = 3600  # seconds


@dataclass(frozen=True, slots=True)
class Hourly:
    """An hour's pay in units; of one answer at most so many seconds count, and so many where nobody timed it."""

    hour: int
    most: float
    expected: float

    def counted(self, seconds: float | None, since: float) -> float:
        """Seconds of an answer that count: as the page has timed it, and no more than passed since it was given."""
        timed = self.expected if seconds is None else seconds
        return min(max(timed, 0.0), max(since, 0.0), self.most)

    def pay(self, seconds: Iterable[float | None]) -> int:
        """What answers that took so long cost together, each rounded up to a unit."""
        return sum(self._pay_one(self.expected if each is None else min(each, self.most)) for each in seconds)

    def _pay_one(self, seconds: float) -> int:
        return math.ceil(self.hour * Fraction(str(seconds)) / _HOUR)  # exact: never above what was reserved
