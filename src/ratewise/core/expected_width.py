"""The width that an interval will have, rehearsed before anything is bought.

Near the ends of the scale an interval is as wide as the mistakes that may hide where labels are few, which no variance
says. So labels are drawn by the planned rates from ratings that are likely, and `estimate_mean` says how wide it gets.
"""

import numpy as np

from ratewise.core.checks import Floats
from ratewise.core.estimate import estimate_rated
from ratewise.core.how import How
from ratewise.core.ratings import Rated

_REHEARSALS = 11  # their median moves by a tenth of the width or less from one seed to the next
_MOST_ROWS = 400  # different items; more would not move the median
_MOST_LABELS = 2000  # with more of them nothing hides


def expected_half_width(
    weak: Floats, chance: Floats, rates: Floats, *, items: float, pool_size: float | None, level: float
) -> float | None:
    """Median half-width of the interval for 0/1 ratings when `items` are looked at, each row standing for as many.

    `chance` is that of a 1, `rates` are those of the draw, and `pool_size` is given where the pool's own mean is asked
    for. `None` where labels are so many that ± z standard errors say it, or too few to draw one.
    """
    if items * float(rates.mean()) > _MOST_LABELS or items * float(rates.mean()) < 1:
        return None
    rng = np.random.default_rng(17)
    at = np.argsort(rates + 1e-9 * weak, kind="stable")
    at = at[np.linspace(0, at.size - 1, int(min(at.size, _MOST_ROWS, items))).round().astype(np.intp)]
    g, p, pi = weak[at], chance[at], rates[at]
    found = [_rehearsed(g, p, pi, items, pool_size, level, rng) for _ in range(_REHEARSALS)]
    known = [half for half in found if half is not None]
    return float(np.median(known)) if known else None


def _rehearsed(
    g: Floats, p: Floats, pi: Floats, items: float, pool_size: float | None, level: float, rng: np.random.Generator
) -> float | None:
    stands = np.floor(items / g.size + rng.random(g.size)).astype(np.int64)  # for whole items
    drawn = rng.binomial(stands, pi)
    each, rest = np.repeat(np.arange(g.size), drawn), np.flatnonzero(stands - drawn)
    if each.size < 2:
        return None
    rows = np.concatenate([each, rest])
    strong = np.concatenate([(rng.random(each.size) < p[each]) * 1.0, np.full(rest.size, np.nan)])
    counts = np.concatenate([np.ones(each.size), (stands - drawn)[rest].astype(np.float64)])
    looked = float(counts.sum())
    how = How(
        level=level, estimand="population" if pool_size is None else "pool",
        pool_size=None if pool_size is None else max(pool_size, looked),
    )  # fmt: skip
    found = estimate_rated(Rated(g[rows], strong, pi[rows], counts=counts), how)
    return None if found.low is None or found.high is None else (found.high - found.low) / 2
