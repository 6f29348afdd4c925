"""The difference of two means from two samples, by the intervals that each of them has.

Squares of distances add up: the lower end is as far below the difference as the first mean's lower end and the second
mean's upper end together (Newcombe 1998 for two proportions; Zou and Donner 2008, "MOVER", in general). Each mean keeps
the interval that suits it, so the difference is right near the ends of a scale, too.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ratewise.core.checks import Floats
from ratewise.core.intervals import Interval
from ratewise.core.ratings import Mask

_SURE = 3.7  # standard deviations: independent draws look like one once in 10,000 times


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


@dataclass(frozen=True, slots=True, eq=False)
class Half:
    """One of two samples: contributions Δ, strong ratings (NaN where there is none), rates, and the pool's size."""

    contributions: Floats
    strong: Floats
    rates: Floats
    pool_size: float

    def at(self, rows: NDArray[np.intp]) -> "Half":
        return Half(self.contributions[rows], self.strong[rows], self.rates[rows], self.pool_size)

    @property
    def rated(self) -> Mask:
        return ~np.isnan(self.strong)


def pool_covariance(a: Half, b: Half, x: Half, y: Half, *, one_draw: bool) -> float:
    """Covariance of two pools' means through the items that both samples have: `x` and `y` are those of `a` and `b`.

    Draws by the same random numbers take the same items, P(ξ₁ξ₂) = min(π₁, π₂): then each item adds
    (H₁ − f₁)(H₂ − f₂)(1/max(π₁, π₂) − 1), estimated from those with both labels. Items that were looked at for both add
    Cov(H₁, H₂)(T₁₂/(T₁T₂) − 1/N), if either pool was looked at in part.

    Limiting cases: independent draws of pools that were looked at whole give 0; the same draw of the same ratings gives
    the variance.
    """
    T, N = float(a.strong.size) * b.strong.size, max(a.pool_size, b.pool_size)
    drawn = 0.0
    if one_draw:
        both = x.rated & y.rated & (np.maximum(x.rates, y.rates) < 1)
        least, most = np.minimum(x.rates, y.rates)[both], np.maximum(x.rates, y.rates)[both]
        off = [(h.contributions - h.strong)[both] * h.rates[both] / (1 - h.rates[both]) for h in (x, y)]
        drawn = float(((1 / most - 1) / least) @ (off[0] * off[1]))
    in_part = a.strong.size < a.pool_size and b.strong.size < b.pool_size
    if not in_part or not x.strong.size:
        return drawn / T
    together = float((x.contributions - a.contributions.mean()) @ (y.contributions - b.contributions.mean()))
    spread = (together - drawn) / x.strong.size
    return drawn / T + spread * (x.strong.size / T - 1 / N)


def looks_like_one_draw(x: Half, y: Half) -> bool:
    """Whether the labels of two samples of the same items look like draws by the same random numbers.

    Draws by numbers of their own have both labels with chance π₁π₂, draws by the same ones with chance min(π₁, π₂).
    """
    use = (x.rates < 1) & (y.rates < 1)
    p, q = x.rates[use], y.rates[use]
    apart, same = float(p @ q), float(np.minimum(p, q).sum())
    seen = float(np.count_nonzero(x.rated[use] & y.rated[use]))
    chance = math.sqrt(float((p * q) @ (1 - p * q)))
    return seen > 0.5 * (apart + same) and seen - apart > _SURE * chance


def _sums(delta: Floats, groups: ArrayLike) -> dict[str, float]:
    names, index = np.unique(np.asarray(groups, dtype=np.str_), return_inverse=True)
    sums = np.bincount(index, weights=delta - delta.mean())
    return dict(zip(names.tolist(), sums.tolist(), strict=True))
