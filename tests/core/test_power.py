"""λ: what the weak ratings are worth, from nothing to everything."""

import numpy as np
import pytest

from ratewise.core.m_estimation import LOSSES, tuned_power
from ratewise.core.ratings import ratings
from ratewise.errors import InputError

from ..worlds import lopsided_regression


def power(weak, strong, rates, X):
    return tuned_power(X, LOSSES["linear"], ratings(weak, strong, rates))


def test_a_perfect_rater_is_used_and_noise_is_not():
    X, _, h, _, asked = lopsided_regression(3, "linear", T=3000)
    strong, noise = np.where(asked, h, np.nan), np.random.default_rng(4).normal(size=3000)
    pi = np.full(3000, 0.3)
    asked = np.random.default_rng(8).random(3000) < pi
    strong = np.where(asked, h, np.nan)
    assert power(h, strong, pi, X) == pytest.approx(1.0, abs=0.15)
    assert power(noise, strong, pi, X) < 0.3


def test_nothing_is_tuned_where_all_are_rated_and_chains_are_refused():
    X, g, h, pi, _ = lopsided_regression(3, "linear", T=100)
    assert power(g, h, 1.0, X) == 1.0
    chain = ratings(np.column_stack([g, g]), h, np.ones((100, 2)))
    with pytest.raises(InputError, match="one weak rater"):
        tuned_power(X, LOSSES["linear"], chain)
    assert 0 <= power(g, np.where(np.arange(100) % 2 == 0, h, np.nan), np.maximum(pi, 0.1), X) <= 1 / (1 - 0.1)
