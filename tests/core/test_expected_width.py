"""Rehearsed widths against the exact binomial, against real draws, and where none is needed."""

import numpy as np
import pytest
from scipy import stats

from ratewise.core import estimate
from ratewise.questions.estimation import estimate_mean


def expected_half_width(weak, chance, rates, *, seen=1e6, labels=None, **how):
    """The rehearsed half-width after a pilot that has so many labels with these chances."""
    ones = seen * float(np.mean(chance))
    return estimate.expected_half_width(weak, chance, rates, ends=(seen - ones, ones), labels=labels, **how)


def test_strong_ratings_alone_have_the_exact_binomials_width():
    """The median number of ones of 100 at 0.9 is 90: the width is that of 90 of 100, mid-way to the mid-p test."""
    chance = np.full(300, 0.9)
    half = expected_half_width(np.full(300, 0.5), chance, np.ones(300), items=100, pool_size=None, level=0.95)
    exact = (stats.beta.ppf(0.975, 91, 10) - stats.beta.ppf(0.025, 90, 11)) / 2
    assert 0.85 * exact < half < 1.1 * exact


def tenths(rng, size):
    p = rng.beta(4, 0.4, size)
    return np.round(p, 1), p


@pytest.mark.parametrize("pool", [True, False])
@pytest.mark.parametrize("floor", [0.02, 0.1])
def test_it_is_the_width_that_draws_give(pool, floor):
    """Median of 15 real draws of 3,000 items, within 15 % of the rehearsed one."""
    rng = np.random.default_rng(5)
    weak, p = tenths(rng, 3000)
    rates = np.clip(0.5 * np.sqrt(weak * (1 - weak)), floor, 1)
    found = []
    for _ in range(15):
        h = (rng.random(3000) < p).astype(float)
        strong = np.where(rng.random(3000) < rates, h, np.nan)
        e = estimate_mean(weak, strong, rates, estimand="pool" if pool else "population")
        found.append((e.high - e.low) / 2)
    size = 3000.0 if pool else None
    half = expected_half_width(weak, p, rates, items=3000, pool_size=size, level=0.95)
    assert half == pytest.approx(np.median(found), rel=0.15)


def test_a_low_floor_is_wide_where_the_judge_speaks_in_tenths():
    """What may hide at 1.0 counts; the variance alone would have the low floor."""
    rng = np.random.default_rng(6)
    weak, p = tenths(rng, 3000)

    def half(score, floor):
        root = np.maximum(np.sqrt(score * (1 - score)), 1e-4)
        rates = np.clip(np.maximum(0.15 * root / root.mean(), floor * 0.15), 0, 1)
        return expected_half_width(score, p, rates, items=3000, pool_size=3000.0, level=0.95)

    assert half(weak, 0.1) > 1.3 * half(weak, 0.5)
    assert half(p, 0.1) < 1.15 * half(p, 0.5)


def test_none_where_labels_are_many_or_none():
    one = np.full(10, 0.5)
    assert expected_half_width(one, one, one, items=10_000, pool_size=None, level=0.95) is None
    assert expected_half_width(one, one, one, items=1, pool_size=None, level=0.95) is None


def test_it_is_the_same_again():
    rng = np.random.default_rng(7)
    weak, p = tenths(rng, 500)
    first, second = (
        expected_half_width(weak, p, np.full(500, 0.3), items=400.5, pool_size=None, level=0.9) for _ in range(2)
    )
    assert first == second


def test_a_small_pilot_leaves_the_mean_open_on_the_side_where_it_was_too_good():
    """A pilot without a mistake in 100 goes with a mean of 0.993 at the middle, not with one of 1."""
    known, open_ = (
        expected_half_width(
            np.full(300, 0.5), np.full(300, p), np.ones(300), seen=seen, items=1000, pool_size=None, level=0.95
        )
        for p, seen in ((0.9999, 1e6), (1 - 1e-9, 100))
    )
    exact = stats.beta.ppf(0.975, 994, 7) - stats.beta.ppf(0.025, 993, 8)
    assert known < 0.5 * open_
    assert open_ == pytest.approx(exact / 2, rel=0.35)


def test_where_dear_items_may_be_more_the_money_ends_earlier():
    """The same rates over few rows and over many: few leave open how many labels the items take."""
    rates = np.array([0.02] * 9 + [0.82])
    widths = [
        expected_half_width(
            np.repeat(0.5, 10 * k),
            np.full(10 * k, 0.5),
            np.repeat(rates, k),
            items=2000,
            labels=200,
            pool_size=2000,
            level=0.95,
        )
        for k in (1, 30)
    ]
    assert widths[0] > 1.02 * widths[1]
