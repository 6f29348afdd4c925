"""The trial of dear raters in a chain: they rate part of the start, and the rest only if they may be worth their price.

Every rater rates the start, so that all can be compared. Where a rater takes a large part of the budget for that, it
is first tried on fewer items. It stays if, at the upper end of what these items allow, it would beat the best that can
be done without it. The items come in random order, and all raters rate them, so nothing is lost or biased.
"""

import math
from collections.abc import Sequence

import numpy as np

from ratewise.core.checks import Floats
from ratewise.core.policy import optimal_policy

_MOST = 0.02  # of the money: what trying dear raters may take before anything is known of them
_SAVES = 2 / 3  # of the start: a trial of more items than this saves too little
_FEWEST = 8  # items that a rater is tried on, at least
_KNOWN = 5  # items with both ratings, without which nothing is known
_HOPE = 0.5  # standard errors by which a rater may be better than it looks
_LEAST = 1e-6  # of the price of a strong rating, and of its variance: nothing is free, and nobody perfect


def on_trial(prices: Sequence[float], start: int, money: float) -> tuple[int, ...]:
    """Raters after the first, by number, that would take a large part of the money in a start of so many items."""
    return tuple(k for k in range(1, len(prices) - 1) if prices[k] * start > _MOST * money)


def trial_items(prices: Sequence[float], start: int, money: float) -> int:
    """Items of a start that dear raters are tried on; all of them where there are no such raters."""
    dear = sum(prices[k] for k in on_trial(prices, start, money))
    tried = start if dear == 0 else max(int(_MOST * money / dear), _FEWEST)
    return tried if tried <= _SAVES * start else start


def hopes(said: Floats, strong: Floats, prices: Sequence[float], tried: Sequence[int]) -> tuple[float, ...]:
    """Of each rater but the last: its expected squared error, if it is as good as it may be, over that without it.

    `said` are the ratings, items × raters before the last. Below 1: it may be worth its price. 0: it was not tried, or
    nothing is known of it yet.
    """
    c = [max(price / prices[-1], _LEAST) for price in prices[:-1]]
    left_open = [_left_open(one, strong) for one in said.T]
    others = [_of_pair(u, c[j]) for j, u in enumerate(left_open) if j not in tried]
    without = min([1.0, *others])
    out = [0.0] * len(c)
    for k in tried:
        best = _at_best(said[:, k], strong)
        if best is not None:
            with_first = _of_chain((left_open[0], min(best, left_open[0])), (c[0], c[k]))
            out[k] = min(_of_pair(best, c[k]), with_first) / without
    return tuple(out)


def worth_trying(found: Sequence[float]) -> tuple[int, ...]:
    """Raters, by number, that may be worth their price."""
    return tuple(k for k, hope in enumerate(found) if hope < 1)


def _left_open(said: Floats, strong: Floats) -> float:
    """Share of the variance that a rater leaves open, corrected for the line that was fitted; 1 if nothing is known."""
    r, n = _correlation(said, strong)
    return 1.0 if n < _KNOWN else min((1.0 - r * r) * (n - 1) / (n - 2), 1.0)


def _at_best(said: Floats, strong: Floats) -> float | None:
    """The same by the upper end of its correlation (Fisher's z); `None` where nothing is known."""
    r, n = _correlation(said, strong)
    if n < _KNOWN or np.ptp(strong[~np.isnan(strong)]) == 0:
        return None
    z = math.atanh(min(abs(r), 1.0 - _LEAST)) + _HOPE / math.sqrt(n - 3)
    return 1.0 - math.tanh(z) ** 2


def _correlation(said: Floats, strong: Floats) -> tuple[float, int]:
    use = ~np.isnan(said) & ~np.isnan(strong)
    n = int(np.count_nonzero(use))
    if n < _KNOWN or np.ptp(said[use]) == 0 or np.ptp(strong[use]) == 0:
        return 0.0, n
    return float(np.corrcoef(said[use], strong[use])[0, 1]), n


def _of_pair(u: float, cost: float) -> float:
    """Squared error of a weak rater of this price over that of strong ratings alone, with one rate for all."""
    return _of_chain((u,), (cost,))


def _of_chain(u: tuple[float, ...], costs: tuple[float, ...]) -> float:
    errors = np.maximum(np.array([u]), _LEAST)
    policy = optimal_policy(errors, variance=1.0, weak_cost=costs[0], strong_cost=[*costs[1:], 1.0])
    return policy.error_times_budget
