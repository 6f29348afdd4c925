"""Which raters of a chain are worth having, item by item: pool adjacent violators (METHODS section 2, step 1)."""

import numpy as np

from ratewise.core.checks import Floats


def gains(error: Floats) -> Floats:
    """Gain of each step, e_k = u_{k-1} − u_k with u_K = 0; `error` holds u_0 … u_{K-1} in its columns."""
    after = np.zeros_like(error)
    after[:, :-1] = error[:, 1:]
    return error - after


def pooled_gain_per_cost(gain: Floats, cost: Floats) -> Floats:
    """Gain per cost of the block each step belongs to, items × steps; never increases along the chain.

    A step whose gain per cost is not below its predecessor's shares one block with it. That is antitonic
    regression of e/c with weights c, whose value at k is min over i ≤ k of max over j ≥ k of the mean of
    i … j; chains are short, so the formula is used as it stands, vectorised over items. The last block holds
    u_j − 0 ≥ 0, so every value is at least 0 even where a later rater is worse than an earlier one.
    """
    n, K = gain.shape
    if K == 1:
        return _mean(gain[:, 0], np.broadcast_to(cost, gain.shape)[:, 0])[:, None]
    cost = np.broadcast_to(cost, gain.shape)
    pooled = np.full((n, K), np.inf)
    for i in range(K):
        e, c = np.cumsum(gain[:, i:], axis=1), np.cumsum(cost[:, i:], axis=1)  # sums from i, so that nothing cancels
        best = np.full(n, -np.inf)  # max over j ≥ k of mean(i … j), filled from the far end
        for k in range(K - 1, i - 1, -1):
            best = np.maximum(best, _mean(e[:, k - i], c[:, k - i]))
            pooled[:, k] = np.minimum(pooled[:, k], best)
    return np.asarray(np.maximum(pooled, 0.0))  # rounding of cumulative sums may leave −1e-17


def _mean(e: Floats, c: Floats) -> Floats:
    """e / c, and the limit for free steps: worth everything where they do not hurt."""
    out = np.where(e >= 0, np.inf, -np.inf)
    np.divide(e, c, out=out, where=c > 0)
    return out
