"""The one scalar behind every optimal policy (METHODS section 2, steps 2 and 3), found exactly.

A policy is q = clip(t·r, f, 1) with r = sqrt(gain per cost) of each entry (an item, or an item's step in a
chain), f the floor and t the scalar to find. With m = probability weight × cost of an entry,

    cost(t) = c_0 + Σ m q        Var(t) = V + Σ m r² (1/q − 1)        J = cost · Var

and all of it follows from sums over three regions: entries at the floor, in between, and at 1. As a function of
t² (for J), of t (for the cost) or of 1/t (for the variance) each equation is piecewise linear, so a Newton step
from within the right piece lands on the root itself: no grid, no tolerance to choose, no sort.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ratewise.core.checks import Floats

_CHUNK = 1 << 15  # entries summed at a time, so that temporaries stay in the cache
_MOST_STEPS = 200  # Newton needs about five; with a floor some bisections come between
_ROUNDING = 1e-12  # a Newton step this small (relative) is rounding in the sums over millions of entries


@dataclass(frozen=True, slots=True)
class Regions:
    """Sums over the entries at the floor (mass, gain), in between (mass·r) and at 1 (mass, gain)."""

    floor_mass: float
    floor_gain: float
    middle_root: float
    one_mass: float
    below_one_gain: float


@dataclass(frozen=True, slots=True, eq=False)
class Entries:
    """r and m of every entry, with their totals; `mass` is one number when all entries share it."""

    root: Floats
    mass: float | Floats
    total_mass: float
    total_root: float
    total_gain: float

    @classmethod
    def of(cls, root: Floats, mass: float | Floats) -> "Entries":
        """Entries with their totals summed up."""
        _, total_root, total_gain = cls(root, mass, 0.0, 0.0, 0.0)._clipped(math.inf)
        total_mass = mass * root.size if isinstance(mass, float) else float(np.sum(mass))
        return cls(root, mass, total_mass, total_root, total_gain)

    def regions(self, t: float, floor: float) -> Regions:
        """The three regions' sums at scale t."""
        if t <= 0:
            at_floor = Regions(self.total_mass, self.total_gain, 0.0, 0.0, self.total_gain)
            return at_floor if floor > 0 else Regions(0.0, 0.0, self.total_root, 0.0, self.total_gain)
        at_least, root_below, gain_below = self._at(1.0 / t)
        if floor <= 0:
            return Regions(0.0, 0.0, root_below, at_least, gain_below)
        above_floor, root_floor, gain_floor = self._at(floor / t)
        return Regions(
            self.total_mass - above_floor,
            gain_floor,
            root_below - root_floor,
            at_least,
            gain_below,
        )

    def _at(self, h: float) -> tuple[float, float, float]:
        """Mass with r ≥ h; Σ m r and Σ m r² of the entries below h."""
        at_least, root, gain = self._clipped(h)
        return at_least, root - at_least * h, gain - at_least * h * h

    def _clipped(self, h: float) -> tuple[float, float, float]:
        """Σ m [r ≥ h], Σ m min(r, h), Σ m min(r, h)², in one pass over cache-sized pieces."""
        at_least = root = gain = 0.0
        for start in range(0, self.root.size, _CHUNK):
            r = self.root[start : start + _CHUNK]
            x = np.minimum(r, h)
            if isinstance(self.mass, float):
                at_least += float(np.count_nonzero(r >= h))
                root += float(x.sum())
                gain += float(np.multiply(x, x, out=x).sum())  # no dot: BLAS would start threads for it
            else:
                m = self.mass[start : start + _CHUNK]
                at_least += float(m.sum(where=r >= h))
                mx = m * x
                root += float(mx.sum())
                gain += float(np.multiply(mx, x, out=x).sum())
        if isinstance(self.mass, float):
            return self.mass * at_least, self.mass * root, self.mass * gain
        return at_least, root, gain


@dataclass(frozen=True, slots=True)
class Problem:
    """What is minimised: V, the cost of looking at an item, and the floor on every rate."""

    entries: Entries
    variance: float
    weak_cost: float
    floor: float

    def cost(self, t: float) -> float:
        """Cost per item, c_0 + Σ m q."""
        return self._cost(self.entries.regions(t, self.floor), t)

    def item_variance(self, t: float) -> float:
        """Var(Δ) = V + Σ m r² (1/q − 1)."""
        return self._variance(self.entries.regions(t, self.floor), t)

    def _cost(self, a: Regions, t: float) -> float:
        return self.weak_cost + self.floor * a.floor_mass + t * a.middle_root + a.one_mass

    def _variance(self, a: Regions, t: float) -> float:
        over = a.middle_root / t if a.middle_root > 0 else 0.0
        floor = a.floor_gain / self.floor if a.floor_gain > 0 else 0.0
        return self.variance - a.below_one_gain + floor + over

    # J: F(s) = s·Var − cost with s = t². dJ/ds has the sign of F, and F crosses zero once (docs/statistics.md).

    def best_scale(self) -> float:
        """The t of least J; 0 when looking at ever more items keeps paying (c_0 = 0, no floor, V ≥ E[u])."""
        high = (self.weak_cost + self.entries.total_mass) / self.variance
        if high == 0 or self._no_least():
            return 0.0
        return math.sqrt(_root(self._best_step, start=high, low=0.0, high=high))

    def _no_least(self) -> bool:
        """F(s) = s (V − E[u]) near 0 when nothing is paid per item: no positive root unless V < E[u]."""
        free = self.weak_cost == 0 and self.floor == 0
        return free and self.variance >= self.entries.total_gain * (1 - 1e-12)

    def _best_step(self, s: float) -> tuple[float, float]:
        """F(s), and the root of the line that F follows at s."""
        a = self.entries.regions(math.sqrt(s), self.floor)
        floor = a.floor_gain / self.floor if a.floor_gain > 0 else 0.0
        slope = self.variance - a.below_one_gain + floor
        fixed = self.weak_cost + a.one_mass + self.floor * a.floor_mass
        return slope * s - fixed, fixed / slope if slope > 0 else math.nan

    # The pool's end: a given cost per item, linear in t; or a given variance per item, linear in 1/t.

    def scale_for_cost(self, cost: float, *, low: float) -> float:
        """The t ≥ low that costs exactly `cost` per item; `cost` must be below what all rates at 1 cost."""

        def step(t: float) -> tuple[float, float]:
            a = self.entries.regions(t, self.floor)
            rest = cost - self.weak_cost - self.floor * a.floor_mass - a.one_mass
            return self._cost(a, t) - cost, rest / a.middle_root if a.middle_root > 0 else math.nan

        return _root(step, start=low, low=low, high=self._scale_at_one())

    def scale_for_variance(self, variance: float, *, low: float) -> float:
        """The t ≥ low at which an item's variance is `variance`, which must be above V."""

        def step(y: float) -> tuple[float, float]:  # y = 1/t
            a = self.entries.regions(1.0 / y, self.floor)
            flat = self._variance(Regions(a.floor_mass, a.floor_gain, 0.0, a.one_mass, a.below_one_gain), 1.0)
            rest = variance - flat
            return self._variance(a, 1.0 / y) - variance, (rest / a.middle_root if a.middle_root > 0 else math.nan)

        high = 1.0 / low if low > 0 else self._inverse_scale_above(variance)
        return 1.0 / _root(step, start=high, low=1.0 / self._scale_at_one(), high=high)

    def _scale_at_one(self) -> float:
        """A t at which every entry that gains anything is at 1."""
        root = self.entries.root
        return (1.0 + 1e-9) / float(root.min(where=root > 0, initial=math.inf))

    def _inverse_scale_above(self, variance: float) -> float:
        y = 1.0 / self._scale_at_one()
        while self.item_variance(1.0 / y) < variance and y < 1e300:
            y *= 4.0
        return y


def _root(step: Callable[[float], tuple[float, float]], *, start: float, low: float, high: float) -> float:
    """Root of a piecewise linear function that is below 0 left of it and above 0 right of it.

    `step(x)` gives the value at x and the root of the line the function follows there. Newton's step is taken
    while it stays between the bounds known so far, else their middle; the search ends when x stops moving.
    """
    x = start
    for _ in range(_MOST_STEPS):
        value, proposal = step(x)
        if value == 0 or abs(proposal - x) <= _ROUNDING * x:
            return proposal if value else x
        low, high = (x, high) if value < 0 else (low, x)
        if not low <= proposal <= high:  # also when there is no proposal (nan)
            proposal = 0.5 * (low + high)
        x = proposal
    return x
