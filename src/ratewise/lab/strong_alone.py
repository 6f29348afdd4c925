"""Strong ratings alone in many trials at once: the mean of each, with the interval that `estimate_mean` gives it."""

import math

import numpy as np
from scipy import special

from ratewise.core.checks import Floats
from ratewise.core.mean.estimate import estimate_mean
from ratewise.core.mean.interval_choice import MANY_LABELS, sits_at_an_end
from ratewise.lab.trials import RATING_BOUNDS


def strong_alone(H: Floats, *, level: float, pool_size: float) -> tuple[Floats, Floats, Floats]:
    """Mean and interval of every row of ratings, trials × labels; nothing is excluded where there is no interval.

    Rows that need the score interval are few in kind (0/1 ratings differ by their sum alone) or in number, so each is
    made once by `estimate_mean`; Student's interval of the others is computed for all at once.
    """
    n = H.shape[1]
    stream = math.isinf(pool_size)
    value, variance = H.mean(axis=1), H.var(axis=1) * (n / max(n - 1, 1) if stream else 1.0)  # as `spread` has it
    left = 1.0 if stream else 1.0 - n / pool_size
    p = 0.5 + level / 2
    quantile = float(special.stdtrit(n - 1, p) if 1 < n < MANY_LABELS else special.ndtri(p))
    half = quantile * np.sqrt(variance * left / n)
    low, high = value - half, value + half
    binary = bool(np.all((H == 0) | (H == 1)))
    known: dict[float, tuple[float, float]] = {}
    for i in range(len(H)):
        if left > 0 and (binary or sits_at_an_end(H[i], RATING_BOUNDS)):
            key = float(H[i].sum()) if binary else float(i)
            if key not in known:
                known[key] = _interval(H[i], level, pool_size)
            low[i], high[i] = known[key]
    return value, low, high


def _interval(h: Floats, level: float, pool_size: float) -> tuple[float, float]:
    pool = math.isfinite(pool_size)
    found = estimate_mean(
        np.zeros(h.size), h, 1.0, level=level, bounds=RATING_BOUNDS, estimand="pool" if pool else "population",
        pool_size=pool_size if pool else None,
    )  # fmt: skip
    return found.interval if found.interval is not None else RATING_BOUNDS
