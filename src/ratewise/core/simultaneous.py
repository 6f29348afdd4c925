"""Intervals that all hold at once: the quantile of the largest of several dependent normal errors."""

import numpy as np

from ratewise.core.checks import Floats

_DRAWS = 20_000  # the quantile is then right to about 0.5 %
_PAIR_DRAWS = 5000


def normal_draws(covariance: Floats, *, seed: int, draws: int = _DRAWS) -> Floats:
    """Draws × components with this covariance, which may be singular."""
    e, Q = np.linalg.eigh(covariance)
    factor = Q * np.sqrt(np.maximum(e, 0.0))
    return np.asarray(np.random.default_rng(seed).standard_normal((draws, e.size)) @ factor.T)


def largest_errors(covariance: Floats, *, seed: int = 0) -> Floats:
    """Draws of max_j |Z_j| / sd_j; components of sd 0 do not count."""
    sd = np.sqrt(np.diag(covariance))
    use = sd > 0
    if not use.any():
        return np.zeros(1)
    Z = normal_draws(covariance[np.ix_(use, use)], seed=seed)
    return np.asarray(np.abs(Z / sd[use]).max(axis=1))


def simultaneous_quantile(covariance: Floats, level: float, *, seed: int = 0) -> float:
    """c with P(max_j |Z_j| / sd_j ≤ c) = level. Components of sd 0 do not count.

    One component gives the normal quantile. Never above Bonferroni's, which it nears for many independent ones.
    """
    return float(np.quantile(largest_errors(covariance, seed=seed), level))


def largest_differences(covariance: Floats, *, seed: int = 0) -> Floats:
    """Draws of max |Z_i − Z_j| / sd over all pairs of components; pairs that differ by a constant do not count."""
    Z = np.ascontiguousarray(normal_draws(covariance, seed=seed, draws=_PAIR_DRAWS).T)
    d = np.diag(covariance)
    out = np.zeros(Z.shape[1])
    for i in range(d.size - 1):  # over components, not items
        variance = d[i] + d[i + 1 :] - 2 * covariance[i, i + 1 :]
        use = variance > 1e-12 * (d[i] + d[i + 1 :])
        if use.any():
            gaps = np.abs(Z[i + 1 :][use] - Z[i])
            gaps /= np.sqrt(variance[use])[:, None]
            np.maximum(out, gaps.max(axis=0), out=out)
    return out
