"""Fieller's set by trying every ratio, and its limiting cases."""

import json

import numpy as np
import pytest

from ratewise.questions.comparison import lift, ratio

COVARIANCE = np.array([[0.04, 0.01], [0.01, 0.09]])


@pytest.mark.parametrize(("a", "b"), [(2.0, 3.0), (-2.0, 3.0), (2.0, -3.0)])
def test_the_ends_are_where_the_test_begins_to_reject(a, b):
    found = ratio(a, b, COVARIANCE, quantile=1.96, level=0.95)
    assert found.value == a / b
    for rho in found.interval:
        spread = COVARIANCE[0, 0] - 2 * rho * COVARIANCE[0, 1] + rho**2 * COVARIANCE[1, 1]
        assert (a - rho * b) ** 2 == pytest.approx(1.96**2 * spread)
    assert found.interval[0] < found.value < found.interval[1]


def test_limiting_cases():
    known = ratio(2.0, 4.0, np.diag([0.04, 0.0]), quantile=2.0, level=0.95)
    assert known.interval == pytest.approx((0.4, 0.6))
    assert "is 0 or too close" in ratio(1.0, 0.0, COVARIANCE, quantile=2.0, level=0.95).reason
    unbounded = ratio(1.0, 0.1, COVARIANCE, quantile=2.0, level=0.95)
    assert (unbounded.value, unbounded.interval) == (10.0, None)
    assert "errors of the two means are unknown" in ratio(1.0, 2.0, np.zeros((2, 2)), quantile=2.0, level=0.95).reason


def test_a_lift_is_above_0_where_the_first_is_higher():
    up, down = (
        ratio(3.0, 2.0, COVARIANCE, quantile=1.0, level=0.7),
        ratio(-1.0, -2.0, COVARIANCE, quantile=1.0, level=0.7),
    )
    assert lift(up, 2.0).value == pytest.approx(0.5)
    assert lift(down, -2.0).value == pytest.approx(0.5)
    assert lift(down, -2.0).interval[0] < 0.5 < lift(down, -2.0).interval[1]
    assert json.loads(json.dumps(lift(up, 2.0).to_dict()))["level"] == 0.7


def test_a_second_mean_that_is_all_but_0_gives_no_ratio():
    found = ratio(1.0, 1e-320, np.zeros((2, 2)), quantile=1.96, level=0.95)
    assert (found.value, found.interval) == (None, None)
    assert found.reason
