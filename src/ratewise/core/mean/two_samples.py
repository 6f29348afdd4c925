"""The difference of two means from two samples, by the intervals that each of them has.

Squares of distances add up: the lower end is as far below the difference as the first mean's lower end and the second
mean's upper end together (Newcombe 1998 for two proportions; Zou and Donner 2008, "MOVER", in general). Each mean keeps
the interval that suits it, so the difference is right near the ends of a scale, too.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ratewise.core.checks import Floats
from ratewise.core.mean.intervals import Interval


def difference_interval(
    values: tuple[float, float], intervals: tuple[Interval, Interval], correlation: float = 0.0
) -> Interval:
    """Ends of the interval for the first mean less the second.

    Limiting cases: symmetric intervals without correlation give ± the root of the sum of squares; a second mean that is
    known gives the first one's interval, moved.
    """
    (a, b), ((a_low, a_high), (b_low, b_high)) = values, intervals
    below = _together(a - a_low, b_high - b, correlation)
    above = _together(a_high - a, b - b_low, correlation)
    return a - b - below, a - b + above


def _together(x: float, y: float, correlation: float) -> float:
    x, y = max(x, 0.0), max(y, 0.0)  # an estimate beyond the scale lies outside its own interval
    return math.sqrt(max(x * x + y * y - 2 * correlation * x * y, 0.0))


def shared_covariance(contributions: Sequence[Floats], groups: Sequence[ArrayLike]) -> float:
    """Covariance of two estimates through the items (or clusters) that both have, told by name.

    Σ over names of the two sums of Δ − θ̂, over T₁ T₂: unbiased up to 1/T, whether the labels of the two were drawn
    together or apart. No name in both: 0.
    """
    first, second = (_sums(delta, names) for delta, names in zip(contributions, groups, strict=True))
    total = math.fsum(x * second[name] for name, x in first.items() if name in second)
    return total / (contributions[0].size * contributions[1].size)


def _sums(delta: Floats, groups: ArrayLike) -> dict[str, float]:
    names, index = np.unique(np.asarray(groups, dtype=np.str_), return_inverse=True)
    sums = np.bincount(index, weights=delta - delta.mean())
    return dict(zip(names.tolist(), sums.tolist(), strict=True))
