"""Differences made of two intervals, against published figures and brute force."""

import math

import numpy as np
import pytest

from ratewise.core.ratings import Ratings
from ratewise.questions.comparison import (
    difference_interval,
    looks_like_one_draw,
    pool_covariance,
    shared_covariance,
)


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


def halves(rng, *, one, looked=None):
    """Two systems on a pool of 400 items at rates of their own, by one draw or by two; and the two errors."""
    world = np.random.default_rng(9)
    hard = world.random(400)
    h = np.stack([3 + 2 * hard + world.normal(0, 0.4, 400), 5 - 4 * hard + world.normal(0, 0.4, 400)])
    f = h.mean(axis=1)[:, None] + 0.2 * (h - h.mean(axis=1)[:, None])
    rates = np.stack([0.2 + 0.2 * hard, 0.5 - 0.3 * hard])
    r = rng.random((2, 400))
    use = np.arange(400) if looked is None else rng.permutation(400)[:looked]
    found, errors = [], []
    for k in (0, 1):
        drawn = (r[0] if one else r[k]) < rates[k]
        delta = f[k] + np.where(drawn, (h[k] - f[k]) / rates[k], 0.0)
        found.append(Ratings(delta[use], np.where(drawn, h[k], np.nan)[use], rates[k][use]))
        errors.append(delta[use].mean() - h[k].mean())
    return found, errors


@pytest.mark.parametrize("one", [True, False])
@pytest.mark.parametrize("looked", [None, 150])
def test_the_covariance_of_two_pools_is_that_of_their_errors(one, looked):
    rng, errors, found = np.random.default_rng(3), [], []
    for _ in range(1500):
        (a, b), both = halves(rng, one=one, looked=looked)
        errors.append(both)
        found.append(pool_covariance(a, b, a, b, pools=(400.0, 400.0), one_draw=looks_like_one_draw(a, b)))
    products = np.prod(errors, axis=1)
    gap, chance = np.mean(found) - products.mean(), math.hypot(products.std(), np.std(found)) / math.sqrt(1500)
    assert abs(gap) < 3.9 * chance
    if one or looked is not None:  # and the check can fail: what was taken for nothing is there
        assert abs(products.mean()) > 3.9 * products.std() / math.sqrt(1500)
    else:
        assert np.mean(found) == 0


def test_one_draw_is_told_from_two():
    rng = np.random.default_rng(4)
    assert all(looks_like_one_draw(*halves(rng, one=True)[0]) for _ in range(200))
    assert not any(looks_like_one_draw(*halves(rng, one=False)[0]) for _ in range(200))


def test_the_same_draw_of_the_same_ratings_has_its_variance():
    (a, _), _ = halves(np.random.default_rng(5), one=True)
    use = ~np.isnan(a.strong)
    f = a.weak - (a.weak - a.strong) / (1 - a.rates)
    drawn = (a.strong - f)[use] ** 2 * ((1 - a.rates) / a.rates**2)[use]
    assert pool_covariance(a, a, a, a, pools=(400.0, 400.0), one_draw=True) == pytest.approx(drawn.sum() / 400**2)
