"""Intervals that all hold at once: the quantile of the largest of several dependent normal errors."""

import numpy as np
from numpy.typing import NDArray

from ratewise.core.checks import Floats

_DRAWS = 20_000  # the quantile is then right to about 0.5 %
_AT_ONCE = 1 << 22  # numbers held at a time


def normal_draws(covariance: Floats, *, seed: int, draws: int = _DRAWS) -> Floats:
    """Draws × components with this covariance, which may be singular; half are the others' mirror images."""
    e, Q = np.linalg.eigh(covariance)
    factor = Q * np.sqrt(np.maximum(e, 0.0))
    half = np.random.default_rng(seed).standard_normal((draws // 2, e.size)) @ factor.T
    return np.concatenate([half, -half])


def simultaneous_quantile(covariance: Floats, level: float, *, seed: int = 0) -> float:
    """c with P(max_j |Z_j| / sd_j ≤ c) = level. Components of sd 0 do not count.

    One component gives the normal quantile. Never above Bonferroni's, which it nears for many independent ones.
    """
    sd = np.sqrt(np.diag(covariance))
    use = sd > 0
    if not use.any():
        return 0.0
    Z = normal_draws(covariance[np.ix_(use, use)], seed=seed)
    return float(np.quantile(np.abs(Z / sd[use]).max(axis=1), level))


def largest_statistics(covariance: Floats, contrasts: NDArray[np.intp], *, seed: int = 0) -> Floats:
    """Draws of max |Z_i − Z_j| / sd over the given pairs (pairs × 2), for all differences at once."""
    i, j = contrasts.T
    sd = np.sqrt(np.maximum(covariance[i, i] + covariance[j, j] - 2 * covariance[i, j], 0.0))
    use = sd > 0
    Z = normal_draws(covariance, seed=seed)
    out = np.zeros(Z.shape[0])
    step = max(1, _AT_ONCE // max(int(use.sum()), 1))
    for start in range(0, Z.shape[0], step):
        z = Z[start : start + step]
        out[start : start + step] = np.abs((z[:, i[use]] - z[:, j[use]]) / sd[use]).max(axis=1, initial=0.0)
    return out
