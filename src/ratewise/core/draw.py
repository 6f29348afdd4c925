"""Draws that anyone can replay: ξ_i = 1{r_i < π_i} with r_i a hash of the seed and the item (METHODS section 9).

    r = int(md5(f"{seed}:{id}").hexdigest()[:13], 16) / 2**52

The same item gets the same number on every machine, in every order and after every restart; DuckDB and Spark SQL
compute it too. One number serves a whole chain: ξ_k = 1{r < q_k} is nested because q is.

Published test vector, seed 7: "a" → 0.437309749612953, "42" → 0.6761396172784646, "été" → 0.8100604573814794,
"" → 0.014179774644531351, two hundred times "x" → 0.7080893594920399.
"""

import hashlib
import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ratewise.core.checks import Floats, as_floats
from ratewise.core.ratings import Mask
from ratewise.errors import InputError

try:
    from _md5 import md5  # type: ignore[import-not-found] # CPython's own: half the time of a call through OpenSSL
except ImportError:
    md5 = partial(hashlib.md5, usedforsecurity=False)

_AT_ONCE = 1 << 13  # ids
_ALMOST_ONE = 1 - 1e-12


def uniform(ids: ArrayLike, *, seed: int | str) -> Floats:
    """r in [0, 1) for every id; ids are compared as text, so 7 and "7" are the same item."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer | str):
        raise InputError(f"seed must be a whole number; got {seed!r}")
    array, prefix = _one_dimensional(ids), f"{seed}:".encode()
    out = np.empty(array.size)
    for start in range(0, array.size, _AT_ONCE):
        digests = b"".join([md5(prefix + one).digest() for one in _in_bytes(array[start : start + _AT_ONCE])])
        first = np.frombuffer(digests, dtype=">u8")[::2]  # 13 hexadecimal digits are its first 52 bits
        out[start : start + _AT_ONCE] = (first >> np.uint64(12)).astype(np.float64) / 2.0**52
    return out


def draw(rates: ArrayLike, ids: ArrayLike, *, seed: int | str) -> NDArray[np.bool_]:
    """ξ per item (items × steps for a chain): who gets the strong rating. A higher rate later only adds items."""
    pi = as_floats(rates, name="rates")
    if pi.size and not (pi.min() >= 0 and pi.max() <= 1):
        raise InputError("rates must be in (0, 1] to draw; check the rate column")
    r = uniform(ids, seed=seed)
    if pi.shape[:1] != r.shape:
        raise InputError(f"there are {r.size} ids but {pi.shape[0] if pi.ndim else 1} rates; give one rate per id")
    return np.asarray((r if pi.ndim == 1 else r[:, None]) < pi)


def _one_dimensional(ids: ArrayLike) -> NDArray[Any]:
    """The ids as they are: text in a list is not made one wide array, in which the longest decides the memory."""
    listed = isinstance(ids, list | tuple) and any(isinstance(one, str) for one in ids)
    array = np.array(ids, dtype=object) if listed else np.asarray(ids)
    if array.dtype.kind == "U" and not isinstance(ids, np.ndarray):
        array = np.array(ids, dtype=object)  # as it was, before NumPy drops NULs
    if array.ndim != 1:
        raise InputError(f"ids must be one-dimensional; got {array.ndim} dimensions")
    if array.dtype.kind not in "iubUSOT":
        raise InputError(f"ids must be text or whole numbers; these are {array.dtype}")
    return array


def _in_bytes(piece: NDArray[Any]) -> list[bytes]:
    """Ids as UTF-8. NumPy drops NULs at the end of text, so an id with one there is refused."""
    values: list[Any] = piece.tolist()
    if piece.dtype.kind == "S":
        return values
    kinds = set(map(type, values))
    if any(issubclass(kind, float | np.floating) or kind is type(None) for kind in kinds):
        raise InputError("ids must be text or whole numbers; some are decimal numbers or missing")
    if bytes in kinds:
        raise InputError("ids must be text or whole numbers; some are bytes")
    texts = values if kinds <= {str} else list(map(str, values))
    if "\0" in "".join(texts) and any(text.endswith("\0") for text in texts):
        raise InputError("ids may not contain NUL characters; rename those items")
    try:
        return list(map(str.encode, texts))
    except UnicodeEncodeError:
        raise InputError("ids must be valid text; one has half of a surrogate pair: rename that item") from None


def scaled_to(rates: Floats, total: float, prices: Floats | None = None) -> float:
    """The factor t with Σ p·min(1, t·π) = total, for rates above 0; infinite where every rate would have to be 1.

    Rates that reach 1 stay there and the rest share what is left: exact after as many steps as there are such rounds.
    Prices p are 1 where not given.
    """
    p = np.ones(rates.size) if prices is None else prices
    free = np.ones(rates.size, dtype=np.bool_)
    while True:
        if total >= p.sum() * _ALMOST_ONE or not free.any():
            return math.inf
        t = max(total - float(p[~free].sum()), 0.0) / float((p * rates)[free].sum())
        full = free & (t * rates >= 1.0)
        if not full.any():
            return t
        free &= ~full


def draw_within(rates: Floats, uniforms: Floats, prices: Floats, money: float) -> Mask:
    """Draw those with the smallest r/π, as long as their prices fit into the money (sequential Poisson sampling).

    For rates that are expected to cost the money, the probability of each is π up to terms that vanish with the count
    (largest near π = 1, 0.02 for 200 items of one price). The random sample size of independent draws, which would
    leave money over or ask for more than there is, is gone. Items with rate 1 always come first.
    """
    with np.errstate(divide="ignore"):
        turn = np.where(rates >= 1.0, -1.0, uniforms / rates)
    order = np.argsort(turn, kind="stable")
    drawn = np.zeros(rates.size, dtype=np.bool_)
    drawn[order[np.cumsum(prices[order]) <= money]] = True
    return drawn


def draw_evenly(rates: Floats, uniforms: Floats, groups: NDArray[np.intp], *, start: float) -> Mask:
    """Each item with just its rate, as many in all as the rates sum to, and evenly over groups (systematic sampling).

    Items stand in line by group, in random order within each, every one as long as its rate; a step of 1 from `start`
    in [0, 1) picks who it lands on. The number drawn, in all and from any run of groups, is its expectation rounded up
    or down.
    """
    order = np.lexsort((uniforms, groups))
    line = np.cumsum(rates[order])
    whole = np.round(line[-1]) if line.size else 0.0
    if whole > 0 and abs(line[-1] - whole) < 1e-6 * whole:
        line *= whole / line[-1]  # rounding in the sum may not lose the last one
    steps = np.floor(line + start)
    drawn = np.zeros(rates.size, dtype=np.bool_)
    drawn[order] = np.diff(steps, prepend=np.floor(start)) > 0
    return drawn


# Who is looked at, where that is not everyone: items stand in line by a hash, and plan or money says where it ends.
#
# The place in the line is a second hash of seed and item, `look`, independent of the draw's r; of two items at the
# same place the one with the smaller r comes first. So a line needs no sorted table: where it ends is one pair (look,
# r), and counts by bins of the line, which add up over the parts of a table, say in which bin that is.

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
        return np.asarray((look < self.look) | ((look == self.look) & (r <= self.r)))


EVERYONE = Cut(math.inf, math.inf)
NOBODY = Cut(-1.0, -1.0)


@dataclass(frozen=True, slots=True)
class DrawPrices:
    """Of a weak and of a strong rating; 1 and 0 make a number of items of the money."""

    weak: float
    strong: float

    def cost(self, items: float, drawn: float) -> float:
        return self.weak * items + self.strong * drawn

    def beyond(self, items: NDArray[np.integer], drawn: NDArray[np.integer], money: float) -> Mask:
        """Whether, after so many, another item's two ratings could not both be paid.

        Products, not a running sum of prices: rounding would differ with the order of the parts.
        """
        cost = self.weak * items.astype(np.float64) + self.strong * drawn.astype(np.float64)
        return np.asarray(cost + (self.weak + self.strong) > money * (1 + ROUNDING))


def cut_for_money(
    look: Floats, r: Floats, drawn: Mask, prices: DrawPrices, money: float, *, before: tuple[int, int] = (0, 0)
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
class LineCounts:
    """How many items, and how many drawn ones, stand in each bin of the line, and the sum of their rates."""

    items: Counts
    drawn: Counts
    rates: Floats

    @classmethod
    def of(cls, look: Floats, r: Floats, rates: Floats) -> "LineCounts":
        at = bin_of(look)
        drawn = np.bincount(at[r < rates], minlength=BINS)
        summed = np.asarray(np.bincount(at, weights=rates, minlength=BINS), dtype=np.float64)
        return cls(np.bincount(at, minlength=BINS), drawn, summed)

    def __add__(self, other: "LineCounts") -> "LineCounts":
        return LineCounts(self.items + other.items, self.drawn + other.drawn, self.rates + other.rates)

    def before(self, at: int) -> tuple[int, int]:
        return int(self.items[:at].sum()), int(self.drawn[:at].sum())

    def last_bin(self, prices: DrawPrices, money: float) -> int | None:
        """The first bin after which another item could not be paid; none where all can."""
        stop = prices.beyond(np.cumsum(self.items), np.cumsum(self.drawn), money)
        return int(np.argmax(stop)) if stop.any() else None


def bin_of(look: Floats) -> NDArray[np.intp]:
    """The bin that each item stands in."""
    return (look * BINS).astype(np.intp)
