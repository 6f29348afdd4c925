"""Pairs unlike those seen: the limiting cases of the docstring."""

import numpy as np
import pytest

from ratewise.questions.comparison import unseen_variance, widened
from ratewise.questions.estimation import estimate_mean

ONES = np.ones(50)
D = np.r_[np.zeros(48), 1.0, -1.0]


def extra(d=D, rates=ONES, *, items=50, pool_size=np.inf, reach=None, codes=None):
    return unseen_variance(d, rates, items=items, pool_size=pool_size, reach=reach, codes=codes)


def test_limiting_cases():
    assert extra() == pytest.approx(1 / 50**2)  # Agresti and Min's
    assert extra(pool_size=50.0) == 0.0
    assert extra(np.arange(50.0)) == 0.0
    assert extra(np.zeros(50)) == 0.0
    assert extra(np.zeros(50), reach=1.0) == pytest.approx(1 / 50**2)
    assert extra(rates=0.5 * ONES) > extra()
    assert extra(codes=np.arange(50) // 5) == pytest.approx(5 * extra())


def test_the_interval_is_wider_and_the_standard_error_is_not():
    found = estimate_mean(np.zeros(50), D, 1.0, interval="t")
    wider = widened(found, extra())
    assert wider.interval[1] - wider.interval[0] > found.interval[1] - found.interval[0]
    assert wider.standard_error == found.standard_error
    assert wider.degrees_of_freedom > found.degrees_of_freedom
    assert widened(found, 0.0) is found
