"""Is a mean at least so much? Yes, no or cannot tell from its interval, and how many labels would tell."""

import math
from typing import Literal

from scipy import special

from ratewise.core.intervals import Interval

GateVerdict = Literal["yes", "no", "cannot tell"]
POWER = 0.8  # chance that the labels asked for will tell
_MOST_TIMES = 1000.0  # more than so many times the labels is not worth saying


def gate(interval: Interval | None, bar: float) -> GateVerdict:
    """Yes where all of the interval is at or above the bar, no where all of it is below.

    A two-sided interval at level 1 − α is wrong on one side with probability α/2: so often, at most, is a yes wrong
    whatever the truth is below the bar, and a no whatever it is above.
    """
    if interval is None or not interval[0] <= interval[1]:
        return "cannot tell"
    if interval[0] >= bar:
        return "yes"
    return "no" if interval[1] < bar else "cannot tell"


def times_to_tell(
    value: float, interval: Interval, bar: float, *, level: float, bounds: Interval | None = None
) -> float | None:
    """How many times the labels would tell with 80 % chance if the mean is as estimated; `None` if hardly any would.

    Widths fall as one over the root of the labels. On a bounded scale the variance is smaller near its ends: it is
    taken at the bar for the test and at the estimate for the chance, as for a proportion.
    """
    z, more = float(special.ndtri(0.5 + level / 2)), float(special.ndtri(POWER))
    end = interval[0] if value > bar else interval[1]
    gap, width = abs(value - bar), abs(value - end)
    if gap <= 0 or not math.isfinite(width):
        return None
    times = (width * (1 + more / z) / gap) ** 2
    if bounds is not None:
        times = _bounded(value, end, bar, bounds, z, more) or times
    return max(times, 1.0) if times <= _MOST_TIMES else None


def _bounded(value: float, end: float, bar: float, bounds: Interval, z: float, more: float) -> float | None:
    """Factor on the labels by a score test: what the bar takes, over what put the interval's end where it is."""
    low, high = bounds
    v, e, b = (min(max((x - low) / (high - low), 0.0), 1.0) for x in (value, end, bar))
    if not (0 < e < 1 and 0 < b < 1) or v in (e, b):
        return None
    there = z * z * e * (1 - e) / (v - e) ** 2
    return ((z * math.sqrt(b * (1 - b)) + more * math.sqrt(v * (1 - v))) / (v - b)) ** 2 / there


def labels_to_tell(labels: int, times: float, *, pool_size: float = math.inf) -> int:
    """Labels times this factor, rounded up to two digits; at most the pool, for the pool's own mean.

    Its squared error goes with 1/n − 1/N instead of 1/n.
    """
    if math.isfinite(pool_size):
        more = 1.0 / ((1.0 / labels - 1.0 / pool_size) / times + 1.0 / pool_size) if labels < pool_size else labels
        return min(rounded_up(max(more, labels + 1)), max(int(pool_size), labels))
    return rounded_up(max(times * labels, labels + 1))


def rounded_up(x: float) -> int:
    """The number rounded up to two digits: more would pretend to be exact."""
    unit = 10 ** max(math.floor(math.log10(max(x, 1.0))) - 1, 0)
    return int(math.ceil(x / unit - 1e-9) * unit)
