"""Estimates along streams of items: the value and variance at many stops, from running sums in one pass.

The same difference and power-tuned estimators as `estimate_mean` for two raters, for many streams at once: entry
(i, j) of every array belongs to item j of stream i. What each costs is one cumulative sum per moment, however many
stops there are.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ratewise.core.checks import Floats, as_floats
from ratewise.core.estimate import power_slope, power_terms
from ratewise.core.ratings import Mask

Counts = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class Running:
    """Streams × stops: the estimate, its variance, how many items and strong ratings it rests on, and λ̂."""

    value: Floats
    variance: Floats
    items: Counts
    labels: Counts
    slope: Floats


def running_estimates(
    weak: Floats, strong: Floats, rates: Floats, drawn: Mask, stops: Counts, *, tuned: bool, pool_size: float = math.inf
) -> Running:
    """Mean of Δ over the first `stops` items of each stream (streams × stops, each at least 1).

    Every item's strong rating is given, and counts only where `drawn`. With a pool the variance is that around the
    pool's own mean. Limits: rates of 1 give the plain mean; one item has no variance (NaN).
    """
    G, H = weak, strong
    x, odds = drawn / rates, 1.0 / rates - 1.0  # ξ/π
    A, D = H * x, G * (1.0 - x)  # Δ = A + λ D

    def at(terms: Floats | Mask) -> Floats:
        """Sums over the first items of each stream, at its stops."""
        return np.take_along_axis(np.cumsum(terms, axis=1, dtype=np.float64), stops - 1, axis=1)

    slope = np.ones(stops.shape)
    if tuned:
        top, bottom = power_terms(G, H - G, odds, weight=x, had=np.ones_like(x))
        slope = power_slope(at(top), at(bottom))
    T = stops.astype(np.float64)
    value = (at(A) + slope * at(D)) / T
    if math.isinf(pool_size):
        squares = at(A * A) + 2 * slope * at(A * D) + slope**2 * at(D * D)
        with np.errstate(invalid="ignore", divide="ignore"):
            variance = np.maximum(squares / T - value**2, 0.0) / (T - 1)
    else:
        w = odds * x
        added = at(w * H * H) - 2 * slope * at(w * H * G) + slope**2 * at(w * G * G)
        unseen = np.maximum(1.0 / T - 1.0 / pool_size, 0.0)
        weight = at(x)
        second = np.maximum(at(A * H) - 2 * value * at(A) + value**2 * weight, 0.0)  # of H − θ̂, by inverse rates
        variance = np.maximum(added, 0.0) / T**2 + second / np.maximum(weight, 1e-300) * unseen
    return Running(value, variance, stops, np.asarray(at(drawn), dtype=np.intp), slope)


_ROUNDING = 1e-9  # of a budget: what adding up prices may be off by, far below any price


def without_rounding(paid: ArrayLike, budgets: ArrayLike) -> Floats:
    """A sum that is above its budget by rounding alone is the budget; any other excess stays to be seen."""
    x, B = as_floats(paid, name="paid"), as_floats(budgets, name="budgets")
    return np.where((x > B) & (x <= B * (1 + _ROUNDING)), B, x)


def stops_within(budgets: Floats, drawn: Mask, *, weak_cost: float, strong_cost: float) -> tuple[Counts, Mask]:
    """How many items of each stream fit each budget (streams × budgets), and whether the stream was long enough to say.

    An item is taken up only if both its ratings would still fit, so that no budget is ever exceeded.
    """
    before = weak_cost * np.arange(drawn.shape[1]) + strong_cost * (np.cumsum(drawn, axis=1) - drawn)
    room = budgets * (1 + _ROUNDING) - (weak_cost + strong_cost)
    stops = np.stack([np.searchsorted(row, room, side="right") for row in before])
    return stops, np.asarray(stops < drawn.shape[1])
