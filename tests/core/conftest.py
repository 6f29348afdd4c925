"""What the tests of the core share: METHODS section 2 written out a second time, item by item."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest


def _per_item_and_step(values: Any, n: int, K: int) -> np.ndarray:
    array = np.asarray(values, dtype=float)
    if array.ndim == 1 and K == 1 and array.size == n:
        array = array[:, None]
    return np.broadcast_to(array, (n, K))


@pytest.fixture(scope="session")
def by_hand() -> Callable[..., tuple[float, float]]:
    """Cost per item and Var(Δ) of any rates: loops and exact sums, nothing of ratewise."""

    def cost_and_variance(
        rates: Any, error: Any, *, variance: float, weak_cost: Any, strong_cost: Any, weights: Any = None
    ) -> tuple[float, float]:
        q, u = np.array(rates, dtype=float), np.array(error, dtype=float)
        q, u = (q[:, None], u[:, None]) if u.ndim == 1 else (q, u)
        n, K = u.shape
        c = _per_item_and_step(strong_cost, n, K)
        c_0 = np.broadcast_to(np.asarray(weak_cost, dtype=float), (n,))
        w = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
        w = w / math.fsum(w)
        cost, spread = [], [variance]
        for i in range(n):
            cost.append(w[i] * c_0[i])
            for k in range(K):
                cost.append(w[i] * c[i, k] * q[i, k])
                after = u[i, k + 1] if k + 1 < K else 0.0
                spread.append(w[i] * (u[i, k] - after) * (1.0 / q[i, k] - 1.0))
        return math.fsum(cost), math.fsum(spread)

    return cost_and_variance
