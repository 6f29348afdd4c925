"""Shrinkage of several means toward the overall mean, with intervals that allow for how little is known of it.

The model: y_s ~ N(θ_s, v_s) with v_s known, θ_s ~ N(μ, A). μ and A have flat priors and are integrated out, so the
intervals count that both are estimated; Morris's (1983) formulas approximate the same. A flat prior on A is his choice
too: it shrinks a little less than the best guess of A would, which is what makes the intervals hold on average.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
import scipy
from scipy import special

from ratewise.core.checks import Floats, share
from ratewise.errors import InputError

FEWEST_TO_SHRINK = 4  # with fewer means A has no proper posterior
_POINTS = 400  # of the grid over A


@dataclass(frozen=True, slots=True)
class Shrunk:
    """One mean after shrinking; `weight` is how much of its own value is left."""

    value: float
    standard_error: float
    interval: tuple[float, float]
    weight: float

    def within(self, bounds: tuple[float, float] | None) -> "Shrunk":
        """The value with its interval cut at the ends of the scale."""
        if bounds is None:
            return self
        low, high = bounds
        return replace(self, interval=(max(self.interval[0], low), min(self.interval[1], high)))


@dataclass(frozen=True, slots=True)
class ShrinkModel:
    """Posterior mean of μ and median of sqrt(A)."""

    mean: float
    between: float


def shrunk_means(values: Floats, errors: Floats, *, level: float) -> tuple[ShrinkModel, list[Shrunk]]:
    """Posterior mean, standard deviation and interval of every θ_s.

    Limiting cases: equal values shrink to one value; values far apart for their errors stay as they are.
    """
    share(level, name="level")
    if values.size < FEWEST_TO_SHRINK:
        raise InputError(f"shrinkage needs at least {FEWEST_TO_SHRINK} means; got {values.size}")
    if not np.all(errors > 0):
        raise InputError("shrinkage needs a positive standard error of every mean")
    y, v = values, errors**2
    A, p = _posterior(y, v)
    inverse = 1.0 / (v + A[:, None])  # grid × means
    total = inverse.sum(axis=1)
    mu = (inverse @ y) / total
    kept = A[:, None] * inverse  # 1 − B: the weight of a mean's own value, given A
    centre = kept * y + (1 - kept) * mu[:, None]
    variance = kept * v + (1 - kept) ** 2 / total[:, None]
    value = p @ centre
    sd = np.sqrt(p @ (variance + (centre - value) ** 2))
    ends = [_interval(p, centre[:, s], np.sqrt(variance[:, s]), level) for s in range(y.size)]
    shrunk = [Shrunk(float(value[s]), float(sd[s]), ends[s], float(p @ kept[:, s])) for s in range(y.size)]
    middle = int(np.searchsorted(np.cumsum(p), 0.5))
    return ShrinkModel(float(p @ mu), math.sqrt(float(A[middle]))), shrunk


def _posterior(y: Floats, v: Floats) -> tuple[Floats, Floats]:
    """A grid over A and its posterior probabilities: equal steps in x = A/(A + scale), which ends where A does not."""
    scale = float(np.median(v)) + float(np.var(y))
    x = (np.arange(_POINTS) + 0.5) / _POINTS
    A = scale * x / (1 - x)
    inverse = 1.0 / (v + A[:, None])
    total = inverse.sum(axis=1)
    mu = (inverse @ y) / total
    Q = (inverse * (y - mu[:, None]) ** 2).sum(axis=1)
    log = 0.5 * np.log(inverse).sum(axis=1) - 0.5 * np.log(total) - 0.5 * Q - 2 * np.log(1 - x)  # dA = scale dx/(1−x)²
    p = np.exp(log - log.max())
    return A, p / p.sum()


def _interval(p: Floats, centre: Floats, sd: Floats, level: float) -> tuple[float, float]:
    """Quantiles of the mixture of normals."""

    def beyond(x: float, tail: float) -> float:
        return float(p @ special.ndtr((x - centre) / sd)) - tail

    tail = (1 - level) / 2
    far = -float(special.ndtri(tail / p.size)) * float(sd.max()) + math.ulp(1.0)
    low, high = float(centre.min()) - far, float(centre.max()) + far
    first, last = (float(scipy.optimize.brentq(beyond, low, high, args=(t,), xtol=1e-12)) for t in (tail, 1 - tail))
    return first, last
