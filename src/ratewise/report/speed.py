"""How fast a campaign goes while it runs: ratings and money a minute, and about how long it still takes."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from ratewise.campaign.status import Status

_FEWEST = 5.0  # seconds after which a rate is told


@dataclass(slots=True)
class Speed:
    """Compares each status with the first one that it saw."""

    clock: Callable[[], float] = time.monotonic
    _first: tuple[float, int, float] | None = field(init=False, default=None)  # (when, ratings, spent)

    def words(self, status: Status) -> str:
        """The speed in words; empty in the first seconds and where nothing moves."""
        now, ratings, spent = self.clock(), status.looked + status.labels, float(status.spent)
        if self._first is None or self._first[1] > ratings:
            self._first = now, ratings, spent
        seconds, more = now - self._first[0], ratings - self._first[1]
        if seconds < _FEWEST or more <= 0:
            return ""
        paid = (spent - self._first[2]) / seconds
        left = min(_left(status, more / seconds), _money_left(status, paid))
        said = f"{60 * more / seconds:,.0f} items and labels a minute, {60 * paid:,.4g} of money a minute"
        return said if math.isinf(left) else f"{said}; at most about {_span(left)} left"


def _left(status: Status, rate: float) -> float:
    """Seconds until every item is looked at and has a label, at this rate."""
    return (2 * status.pool - status.looked - status.labels) / rate


def _money_left(status: Status, rate: float) -> float:
    """Seconds until the money is spent, at this rate; infinite where there is no limit."""
    return math.inf if status.left is None or rate <= 0 else float(status.left + status.reserved) / rate


def _span(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
