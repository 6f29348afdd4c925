"""Differences made of two intervals, against published figures and brute force."""

import math

import numpy as np
import pytest

from ratewise.core.mean.two_samples import difference_interval, shared_covariance


def wilson(x, n, z=1.959963985):
    p = x / n
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return middle - half, middle + half


@pytest.mark.parametrize(
    ("x1", "n1", "x2", "n2", "expected"),
    [  # Newcombe (1998), Statistics in Medicine 17, table II, method 10
        (56, 70, 48, 80, (0.0524, 0.3339)),
        (9, 10, 3, 10, (0.1705, 0.8090)),
        (5, 56, 0, 29, (-0.0381, 0.1926)),
        (10, 10, 0, 10, (0.6075, 1.0)),
    ],
)
def test_newcombes_own_examples(x1, n1, x2, n2, expected):
    found = difference_interval((x1 / n1, x2 / n2), (wilson(x1, n1), wilson(x2, n2)))
    assert found == pytest.approx(expected, abs=6e-5)


def test_limiting_cases():
    assert difference_interval((5.0, 3.0), ((2.0, 8.0), (-1.0, 7.0))) == pytest.approx((-3.0, 7.0))
    assert difference_interval((5.0, 3.0), ((4.0, 7.0), (3.0, 3.0))) == pytest.approx((1.0, 4.0))
    assert difference_interval((5.0, 3.0), ((4.0, 6.0), (2.0, 4.0)), 1.0) == pytest.approx((2.0, 2.0))


def test_a_value_beyond_its_own_interval_adds_nothing_on_that_side():
    low, high = difference_interval((1.02, 0.5), ((0.9, 1.0), (0.4, 0.6)))
    assert low < 0.52 < high


def test_the_covariance_of_shared_items_is_that_of_the_means():
    """Three of four items shared, in another order: against the covariance of means over many draws."""
    rng = np.random.default_rng(2)
    errors, found = [], []
    for _ in range(4000):
        common = rng.normal(size=60)
        a = 5 + common + rng.normal(size=60)
        b = 2 + 2 * np.concatenate([common[59:14:-1], rng.normal(size=15)]) + rng.normal(size=60)
        ids = [f"i{k}" for k in range(60)]
        other = ids[59:14:-1] + [f"new{k}" for k in range(15)]
        errors.append((a.mean() - 5, b.mean() - 2))
        found.append(shared_covariance((a, b), (ids, other)))
    exact = 2 * 45 / 60**2
    assert np.mean(found) == pytest.approx(exact * (1 - 1 / 60), rel=0.02)
    assert np.mean(np.prod(errors, axis=1)) == pytest.approx(exact, rel=0.1)


def test_nothing_shared_has_no_covariance():
    assert shared_covariance((np.arange(3.0), np.arange(4.0)), (["a", "b", "c"], ["d", "e", "f", "g"])) == 0.0
