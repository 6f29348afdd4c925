"""Estimates from closed rounds: one for the end, and one that may be looked at after every round.

Looking again and again and stopping when one likes what one sees voids a plain interval. A round's estimate is all
there is to see until the next one closes, so it is enough to share the error among the rounds: the interval after
round k has level 1 − α/(k(k+1)), and the chance that any of them, ever, misses is at most α.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from ratewise.campaign.history import History
from ratewise.core.checks import Floats
from ratewise.core.estimate import Estimate
from ratewise.core.names import Estimand
from ratewise.errors import InputError
from ratewise.learn.auto import estimate_seen
from ratewise.learn.estimation import estimate_mean


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be estimated."""

    level: float
    estimand: Estimand
    pool: int
    bounds: tuple[float, float]
    target_se: float | None = None


def level_of_look(level: float, look: int) -> float:
    """Of the interval after this many rounds, so that all of them hold together."""
    return 1.0 - (1.0 - level) / (look * (look + 1))


def target_of_look(wanted: Wanted, look: int) -> float:
    """The standard error at which the interval after this many rounds is as narrow as asked for."""
    assert wanted.target_se is not None
    plain, strict = (float(special.ndtri(0.5 + x / 2)) for x in (wanted.level, level_of_look(wanted.level, look)))
    return wanted.target_se * plain / strict


def estimate_history(history: History, wanted: Wanted, *, level: float | None = None) -> Estimate | None:
    """From all closed rounds; `None` before the first strong rating."""
    if history.labels == 0:
        return None
    pool = float(wanted.pool) if wanted.estimand == "pool" else None
    given = wanted.level if level is None else level
    missing = history.looked.missing
    try:
        if history.seen is not None:
            return estimate_seen(
                history.seen, level=given, estimand=wanted.estimand, pool_size=pool, missing=missing,
                bounds=wanted.bounds,
            )  # fmt: skip
        return _chain(history, wanted, given, pool)
    except InputError as error:
        if "missing" in str(error):
            return None
        raise


def _chain(history: History, wanted: Wanted, level: float, pool: float | None) -> Estimate:
    looked = history.looked
    strong, asked = looked.values[:, -1], looked.selected[:, -1]
    if history.alone:
        weak: Floats = np.zeros(strong.size)
        rates: Floats = np.ones(strong.size)
    else:
        weak, rates = np.column_stack([looked.x.weak, looked.values[:, :-1]]), looked.rates
        for k in range(1, weak.shape[1]):  # a rater that gave up says what the one before said
            gap = looked.selected[:, k - 1] & np.isnan(weak[:, k])
            weak[gap, k] = weak[gap, k - 1]
    return estimate_mean(
        weak, strong, rates, selected=asked, level=level, estimand=wanted.estimand, pool_size=pool,
        bounds=wanted.bounds,
    )  # fmt: skip


def anytime_estimate(history: History, wanted: Wanted) -> Estimate | None:
    """The estimate with the interval that may be looked at after every round."""
    if history.rounds == 0:
        return None
    found = estimate_history(history, wanted, level=level_of_look(wanted.level, history.rounds))
    if found is None:
        return None
    return replace(found, level=wanted.level, interval_method=f"anytime ({found.interval_method})")


def is_precise(history: History, wanted: Wanted) -> bool:
    """Whether the interval that may be looked at is as narrow as the target asks."""
    if wanted.target_se is None:
        return False
    found = anytime_estimate(history, wanted)
    if found is None or found.interval is None:
        return False
    half = 0.5 * (found.interval[1] - found.interval[0])
    return half <= float(special.ndtri(0.5 + wanted.level / 2)) * wanted.target_se


def money_to_precision(history: History, wanted: Wanted, spent: float, *, start: float, least: float) -> float:
    """What the precision is expected to take, as if squared error fell as one over the money.

    At most as much again as was spent, since little is known at first; `start` while nothing is.
    """
    found = estimate_history(history, wanted) if history.labels > 1 else None
    if found is None or not found.standard_error or spent <= 0:
        return start
    target = target_of_look(wanted, history.rounds + 1)
    more = spent * ((found.standard_error / target) ** 2 - 1.0) * 1.05  # a little more than expected saves a round
    return min(max(more, least), spent) if math.isfinite(more) else start
