"""`scaled_to` and `draw_within` at one price: rates brought to a sum, and exactly that many items drawn by them."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ratewise.core.draw import draw_evenly, draw_within, scaled_to

from ..bounds import FALSE_ALARM


def draw_exactly(rates, uniforms, count):
    return draw_within(rates, uniforms, np.ones(rates.size), count)


quick = settings(derandomize=True, max_examples=150, deadline=None, database=None)


def by_bisection(rates, total):
    """The factor, found by halving: Σ min(1, t·π) rises with t."""
    low, high = 0.0, 1.0
    while np.minimum(1.0, high * rates).sum() < total:
        high *= 2
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if np.minimum(1.0, middle * rates).sum() < total else (low, middle)
    return high


@pytest.mark.parametrize("total", [0.3, 1, 7.5, 40, 77, 99, 99.9])
def test_the_factor_is_that_of_bisection(total):
    """Lopsided: rates over five powers of ten, so that rates reach 1 in several steps."""
    rates = 10.0 ** np.random.default_rng(701).uniform(-5, 0, 100)
    t = scaled_to(rates, total)
    assert t == pytest.approx(by_bisection(rates, total), rel=1e-9)
    assert np.minimum(1.0, t * rates).sum() == pytest.approx(total, rel=1e-9)


@quick
@given(st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=30), st.floats(0.0, 0.999))
def test_any_rates_come_to_the_total(rates, share):
    pi, total = np.array(rates), share * len(rates)
    t = scaled_to(pi, total)
    assert t >= 0
    assert np.minimum(1.0, t * pi).sum() == pytest.approx(total, rel=1e-9, abs=1e-12)


def test_limits_of_the_factor():
    rates = np.array([0.1, 0.7, 0.2])
    assert scaled_to(rates, 3) == math.inf
    assert scaled_to(rates, 5.5) == math.inf
    assert scaled_to(rates, 0) == 0
    assert scaled_to(rates, 1.0) == pytest.approx(1.0, rel=1e-12)  # nothing to do
    assert scaled_to(rates, 0.5) == pytest.approx(0.5, rel=1e-12)  # scales down as well
    assert scaled_to(np.array([1.0, 0.02, 0.02]), 1.5) == pytest.approx(12.5)  # one is full: 0.5 shared by the others


@pytest.mark.parametrize("count", [0, 1, 13, 59, 60])
def test_exactly_the_count_is_drawn(count):
    rng = np.random.default_rng(709)
    rates = rng.beta(0.4, 2, 60)
    pi = np.minimum(1.0, rates * scaled_to(rates, count)) if count < 60 else np.ones(60)
    for _ in range(50):
        assert np.count_nonzero(draw_exactly(pi, rng.random(60), count)) == count


def test_items_of_rate_1_are_always_in():
    """Also with the worst random number, and however many there are beside tiny rates with the best one."""
    pi = np.array([1.0, 1e-9, 1.0, 0.5, 1.0, 0.5])
    r = np.array([1 - 2**-53, 0.0, 0.9, 0.01, 0.99, 0.02])
    assert draw_exactly(pi, r, 3).tolist() == [True, False, True, False, True, False]
    assert draw_exactly(pi, r, 4)[[0, 1, 2, 4]].all()  # r = 0 is the next in line


def test_items_of_rate_0_come_last():
    """With a random number above 0; r/0 is infinite and must not warn."""
    pi = np.array([0.0, 0.4, 0.0, 0.6])
    assert draw_exactly(pi, np.array([0.001, 0.999, 0.5, 0.999]), 2).tolist() == [False, True, False, True]


@pytest.mark.parametrize(("count", "items"), [(12, 40), (60, 200)])
def test_every_item_is_drawn_about_as_often_as_its_rate_says(count, items):
    """Frequencies over 20,000 draws against π, with noise of the stated false-alarm rate.

    Up to π = 0.6 the error is of order 1/count. Towards π = 1 it is not: E[min(1, π·T)] falls short by up to
    0.4 standard deviations of the threshold T, which shrink with sqrt(count).
    """
    rng, draws = np.random.default_rng(719), 20_000
    rates = rng.gamma(0.7, 1.0, items) + 0.02
    pi = np.minimum(1.0, rates * scaled_to(rates, count))
    drawn = np.zeros(items)
    for _ in range(draws):
        drawn += draw_exactly(pi, rng.random(items), count)
    threshold = np.sqrt(np.sum(pi * (1 - pi))) / pi[pi < 1].sum()
    allowed = np.where(pi < 0.6, 0.35 / count, 0.5 * threshold * pi)

    def fits(expected):
        noise = stats.norm.isf(FALSE_ALARM / items / 2) * np.sqrt(expected * (1 - expected) / draws)
        return np.all(np.abs(drawn / draws - expected) <= allowed + noise)

    assert fits(pi)
    assert not fits(np.minimum(1.0, pi**2 * scaled_to(pi**2, count)))  # rates ∝ π² would be noticed
    assert not fits(np.full(items, count / items))
    assert np.any(pi == 1)
    assert np.all(drawn[pi == 1] == draws)
    assert drawn.sum() == count * draws


@quick
@given(st.integers(0, 2**32), st.integers(2, 40), st.data())
def test_more_money_only_adds_items(seed, items, data):
    """Same random numbers, rates scaled up to a larger count: nobody drawn before is left out."""
    few = data.draw(st.integers(0, items - 1))
    many = data.draw(st.integers(few, items))
    rng = np.random.default_rng(seed)
    rates, r = 10.0 ** rng.uniform(-4, 0, items), rng.random(items)

    def drawn(count):
        t = scaled_to(rates, count)
        pi = np.minimum(1.0, rates * t) if math.isfinite(t) else np.ones(items)
        return draw_exactly(pi, r, count)

    assert np.all(drawn(few) <= drawn(many))


# Evenly over groups


def even_world(seed=1, n=300):
    rng = np.random.default_rng(seed)
    rates = rng.uniform(0.02, 1.0, n) ** 2
    return rates * (60 / rates.sum()), rng.integers(0, 7, n), rng


def test_evenly_draws_as_many_as_the_rates_sum_to():
    rates, groups, rng = even_world()
    for start in (0.0, 0.3, 0.999999):
        assert draw_evenly(rates, rng.random(300), groups, start=start).sum() == 60


def test_evenly_draws_every_group_s_share():
    rates, groups, rng = even_world()
    for _ in range(50):
        drawn = draw_evenly(rates, rng.random(300), groups, start=rng.random())
        for group in range(7):
            assert abs(drawn[groups == group].sum() - rates[groups == group].sum()) < 1


def test_evenly_keeps_every_rate():
    """20,000 draws: beyond 5 standard errors for one of 300 items happens about once in 5,000 runs."""
    rates, groups, rng = even_world()
    hits = np.zeros(300)
    for _ in range(20_000):
        hits += draw_evenly(rates, rng.random(300), groups, start=rng.random())
    z = (hits / 20_000 - rates) / np.sqrt(rates * (1 - rates) / 20_000)
    assert np.abs(z).max() < 5


def test_evenly_takes_rate_one_and_leaves_rate_nothing():
    rates = np.array([1.0, 1e-300, 1.0, 0.5, 0.5])
    for start in np.linspace(0, 0.99, 12):
        drawn = draw_evenly(rates, np.arange(5.0) / 5, np.zeros(5, dtype=np.intp), start=start)
        assert drawn[[0, 2]].all()
        assert not drawn[1]
        assert drawn[3:].sum() == 1
    assert draw_evenly(np.empty(0), np.empty(0), np.empty(0, dtype=np.intp), start=0.2).size == 0
