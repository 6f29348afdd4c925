"""Who is looked at, where that is not everyone: items stand in line by a hash, and plan or money says where it ends.

The place in the line is a second hash of seed and item, `look`, independent of the draw's r; of two items at the same
place the one with the smaller r comes first. So a line needs no sorted table: where it ends is one pair (look, r), and
counts by bins of the line, which add up over the parts of a table, say in which bin that is.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ratewise.core.checks import Floats
from ratewise.core.ratings import Mask

BINS = 4096
ROUNDING = 1e-12  # of a budget: what a sum of prices may be above it by rounding alone

_QUOTIENT = 1e-9  # of a number of items: what a budget over a price may be off by after all that leads to it


def whole_items(items: float) -> float:
    """Whole items of a number that money pays for: rounded down, unless rounding alone put it below a whole number."""
    return math.floor(items * (1 + _QUOTIENT)) if math.isfinite(items) else items


Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Cut:
    """The last item in line that is looked at: its place, and its r; or one such pair for every item."""

    look: float | Floats
    r: float | Floats

    def keeps(self, look: Floats, r: Floats) -> Mask:
        """Whether items stand before the cut, or at it."""
        return np.asarray((look < self.look) | ((look == self.look) & (r <= self.r)))


EVERYONE = Cut(math.inf, math.inf)
NOBODY = Cut(-1.0, -1.0)


@dataclass(frozen=True, slots=True)
class Prices:
    """Of a weak and of a strong rating."""

    weak: float
    strong: float

    def cost(self, items: float, drawn: float) -> float:
        """What so many items cost of which so many are drawn."""
        return self.weak * items + self.strong * drawn

    def beyond(self, items: NDArray[np.integer], drawn: NDArray[np.integer], money: float) -> Mask:
        """Whether, after so many, another item's two ratings could not both be paid.

        Products, not a running sum of prices: rounding would differ with the order of the parts.
        """
        cost = self.weak * items.astype(np.float64) + self.strong * drawn.astype(np.float64)
        return np.asarray(cost + (self.weak + self.strong) > money * (1 + ROUNDING))


def cut_after(look: Floats, r: Floats, count: int) -> Cut:
    """The cut that keeps so many items, or all where there are fewer."""
    count = min(count, look.size)
    if count <= 0:
        return NOBODY
    place = float(np.partition(look, count - 1)[count - 1])
    left = count - int(np.count_nonzero(look < place))
    return Cut(place, float(np.sort(r[look == place])[left - 1]))


def cut_for_money(
    look: Floats, r: Floats, drawn: Mask, prices: Prices, money: float, *, before: tuple[int, int] = (0, 0)
) -> Cut:
    """The cut before the first item whose two ratings could not both be paid; `before` items and draws stand in front.

    Whether an item is taken up does not hang on its own draw, so that rates stay what they are.
    """
    order = np.lexsort((r, look))
    items = before[0] + np.arange(look.size)
    taken = before[1] + np.cumsum(drawn[order]) - drawn[order]
    stop = prices.beyond(items, taken, money)
    lasts = int(np.argmax(stop)) if stop.any() else look.size
    if lasts == 0:
        return NOBODY if look.size == 0 else Cut(float(look[order[0]]), -1.0)
    last = order[lasts - 1]
    return Cut(float(look[last]), float(r[last]))


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """How many items, and how many drawn ones, stand in each bin of the line, and the sum of their rates."""

    items: Counts
    drawn: Counts
    rates: Floats

    @classmethod
    def of(cls, look: Floats, r: Floats, rates: Floats) -> "Line":
        """The line of these items."""
        at = bin_of(look)
        drawn = np.bincount(at[r < rates], minlength=BINS)
        summed = np.asarray(np.bincount(at, weights=rates, minlength=BINS), dtype=np.float64)
        return cls(np.bincount(at, minlength=BINS), drawn, summed)

    def __add__(self, other: "Line") -> "Line":
        return Line(self.items + other.items, self.drawn + other.drawn, self.rates + other.rates)

    def before(self, at: int) -> tuple[int, int]:
        """Items and drawn ones in all bins before this one."""
        return int(self.items[:at].sum()), int(self.drawn[:at].sum())

    def bin_after(self, count: int) -> int:
        """The bin that the item of this number, counted from 1, stands in."""
        return int(np.searchsorted(np.cumsum(self.items), count))

    def bin_for_money(self, prices: Prices, money: float) -> int:
        """The first bin after which another item could not be paid; the last one where all can."""
        stop = prices.beyond(np.cumsum(self.items), np.cumsum(self.drawn), money)
        return int(np.argmax(stop)) if stop.any() else BINS - 1


def bin_of(look: Floats) -> NDArray[np.intp]:
    """The bin that each item stands in."""
    return (look * BINS).astype(np.intp)
