"""Strong ratings alone in many trials at once: the mean of each, with the interval that `estimate_mean` gives it."""

import math

import numpy as np

from ratewise.core.checks import Floats
from ratewise.core.estimate import estimate_mean
from ratewise.lab.trials import RATING_BOUNDS


def strong_alone(H: Floats, *, level: float, pool_size: float) -> tuple[Floats, Floats, Floats]:
    """Mean and interval of every row of ratings, trials × labels; nothing is excluded where there is no interval.

    Rows with the same ratings have the same interval, which is made once.
    """
    known: dict[bytes, tuple[float, float]] = {}
    ends = np.empty((len(H), 2))
    for i, row in enumerate(np.sort(H, axis=1)):
        key = row.tobytes()
        if key not in known:
            known[key] = _interval(row, level, pool_size)
        ends[i] = known[key]
    return H.mean(axis=1), ends[:, 0], ends[:, 1]


def _interval(h: Floats, level: float, pool_size: float) -> tuple[float, float]:
    pool = math.isfinite(pool_size)
    found = estimate_mean(
        np.zeros(h.size), h, 1.0, level=level, bounds=RATING_BOUNDS, estimand="pool" if pool else "population",
        pool_size=pool_size if pool else None,
    )  # fmt: skip
    return found.interval if found.interval is not None else RATING_BOUNDS
