"""Many trials at once are what `estimate_mean` says of each."""

import math

import numpy as np
import pytest

from ratewise.lab.methods import strong_alone
from ratewise.questions.estimation import estimate_mean


@pytest.mark.parametrize("kind", ["binary", "real", "nearly all at an end"])
@pytest.mark.parametrize("pool_size", [math.inf, 90.0])
def test_every_row_is_estimate_mean(kind, pool_size):
    rng = np.random.default_rng(5)
    H = rng.random((12, 40))
    if kind == "binary":
        H = (H < 0.8).astype(float)
    if kind == "nearly all at an end":
        H = np.where(H < 0.95, 1.0, H)
    value, low, high = strong_alone(H, level=0.9, pool_size=pool_size)
    pool = {} if math.isinf(pool_size) else {"estimand": "pool", "pool_size": pool_size}
    for i, h in enumerate(H):
        right = estimate_mean(np.zeros(40), h, 1.0, level=0.9, bounds=(0, 1), **pool)
        assert value[i] == pytest.approx(right.value)
        assert (low[i], high[i]) == pytest.approx(right.interval)


def test_a_pool_that_is_rated_whole_is_known():
    value, low, high = strong_alone(np.array([[0.0, 1.0, 1.0]]), level=0.95, pool_size=3.0)
    assert low == high == value
