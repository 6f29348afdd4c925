"""Estimates along streams: at every stop what `estimate_mean` says of the same prefix, and never a budget exceeded."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratewise.core.running import running_estimates, stops_within, without_rounding
from ratewise.questions.estimation import estimate_mean

METHOD = {False: "difference", True: "power-tuned"}
STREAMS, ITEMS = 3, 240


def streams(seed, *, shift, streams=STREAMS, items=ITEMS, least=0.04):
    """Skewed ratings off zero, a weak rater with another scale, unequal rates, some of them 1."""
    rng = np.random.default_rng(seed)
    H = rng.gamma(2.0, 1.5, (streams, items)) + shift
    G = 0.6 * H + rng.normal(1.0, 1.0, H.shape)
    pi = np.clip(rng.beta(1.5, 4, H.shape), least, 1)
    pi[rng.random(H.shape) < 0.1] = 1.0
    return G, H, pi, rng.random(H.shape) < pi


def one_by_one(G, H, pi, drawn, stops, *, tuned, pool_size=None):
    """Value, standard error, labels and λ̂ by `estimate_mean` on every prefix."""
    found = np.empty((4, *stops.shape))
    for (i, k), stop in np.ndenumerate(stops):
        prefix = (i, slice(0, stop))
        e = estimate_mean(
            G[prefix], np.where(drawn, H, np.nan)[prefix], pi[prefix], method=METHOD[tuned], interval="normal",
            estimand="population" if pool_size is None else "pool", pool_size=pool_size,
        )  # fmt: skip
        found[:, i, k] = e.value, math.nan if e.standard_error is None else e.standard_error, e.labels, e.slope
    return found


def stops_of(seed, drawn, count=9):
    """Stops in any order, some of them twice, from the second label of every stream on."""
    rng = np.random.default_rng(seed)
    first = int(np.argmax(np.cumsum(drawn, axis=1) >= 2, axis=1).max()) + 1
    some = rng.integers(first, drawn.shape[1] + 1, (len(drawn), count))
    return np.concatenate([some, some[:, :2], np.full((len(drawn), 1), drawn.shape[1])], axis=1)


@pytest.mark.parametrize("tuned", [False, True], ids=METHOD.values())
@pytest.mark.parametrize("shift", [0.0, 40.0, -7.0])
def test_every_stop_is_the_estimate_of_the_prefix(tuned, shift):
    data = streams(2003, shift=shift)
    stops = stops_of(2011, data[-1])
    found = running_estimates(*data, stops, tuned=tuned)
    value, error, labels, slope = one_by_one(*data, stops, tuned=tuned)
    np.testing.assert_allclose(found.value, value, rtol=1e-9)
    np.testing.assert_allclose(np.sqrt(found.variance), error, rtol=1e-9)
    np.testing.assert_allclose(found.slope, slope, rtol=1e-9)
    np.testing.assert_array_equal(found.labels, labels)
    np.testing.assert_array_equal(found.items, stops)


@pytest.mark.parametrize("tuned", [False, True], ids=METHOD.values())
@pytest.mark.parametrize("shift", [0.0, 40.0, -7.0])
@pytest.mark.parametrize("pool", [ITEMS, 1000])
def test_every_stop_is_the_estimate_of_a_pool(tuned, shift, pool):
    data = streams(2017, shift=shift)
    stops = stops_of(2027, data[-1])
    found = running_estimates(*data, stops, tuned=tuned, pool_size=pool)
    value, error, labels, _ = one_by_one(*data, stops, tuned=tuned, pool_size=pool)
    np.testing.assert_allclose(found.value, value, rtol=1e-9)
    np.testing.assert_array_equal(found.labels, labels)
    # Var(H) must be around the estimate, as in core.intervals.spread, not around the ratio mean.
    np.testing.assert_allclose(np.sqrt(found.variance), error, rtol=1e-9)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32), tuned=st.booleans(), shift=st.floats(-20, 20), items=st.integers(3, 40))
def test_any_stream_at_any_stop(seed, tuned, shift, items):
    data = streams(seed, shift=shift, streams=2, items=items, least=0.2)
    stops = np.tile(np.arange(1, items + 1), (2, 1))
    found = running_estimates(*data, stops, tuned=tuned)
    enough = (found.labels >= 2) & (found.variance > 0)
    for (i, k), stop in np.ndenumerate(stops):
        if not enough[i, k]:
            continue
        one = tuple(x[i : i + 1, :stop] for x in data)
        value, error, _, slope = one_by_one(*one, np.array([[stop]]), tuned=tuned)[:, 0, 0]
        size = np.abs(one[1]).max() + np.abs(one[0]).max()
        assert found.slope[i, k] == pytest.approx(slope, rel=1e-9, abs=1e-9)
        assert found.value[i, k] == pytest.approx(value, rel=1e-9, abs=1e-9 * size)
        assert math.sqrt(found.variance[i, k]) == pytest.approx(error, rel=1e-6, abs=1e-7 * size)


def test_streams_know_nothing_of_each_other():
    data = streams(2029, shift=5.0)
    stops = stops_of(2039, data[-1])
    together = running_estimates(*data, stops, tuned=True)
    for i in range(STREAMS):
        alone = running_estimates(*(x[i : i + 1] for x in data), stops[i : i + 1], tuned=True)
        for name in ("value", "variance", "items", "labels", "slope"):
            np.testing.assert_array_equal(getattr(alone, name)[0], getattr(together, name)[i])


@pytest.mark.parametrize("tuned", [False, True], ids=METHOD.values())
def test_what_comes_after_a_stop_does_not_matter(tuned):
    data = streams(2053, shift=5.0)
    stops = np.array([[50, 20, 50], [7, 50, 33], [50, 49, 48]])
    short = running_estimates(*(x[:, :50] for x in data), stops, tuned=tuned)
    long = running_estimates(*data, stops, tuned=tuned)
    np.testing.assert_array_equal(short.value, long.value)
    np.testing.assert_array_equal(short.variance, long.variance)


@pytest.mark.parametrize("tuned", [False, True], ids=METHOD.values())
def test_strong_ratings_that_were_not_drawn_do_not_matter(tuned):
    G, H, pi, drawn = streams(2063, shift=5.0)
    stops = stops_of(2069, drawn)
    first = running_estimates(G, H, pi, drawn, stops, tuned=tuned)
    other = running_estimates(G, np.where(drawn, H, 1e3), pi, drawn, stops, tuned=tuned)
    np.testing.assert_allclose(other.value, first.value, rtol=1e-12)
    np.testing.assert_allclose(other.variance, first.variance, rtol=1e-12)


@pytest.mark.parametrize("tuned", [False, True], ids=METHOD.values())
def test_rates_of_one_give_the_plain_mean(tuned):
    G, H, pi, _ = streams(2081, shift=30.0)
    stops = np.array([[2, 100, ITEMS]] * STREAMS)
    found = running_estimates(G, H, np.ones_like(pi), np.ones(H.shape, dtype=bool), stops, tuned=tuned)
    for (i, k), stop in np.ndenumerate(stops):
        assert found.value[i, k] == pytest.approx(H[i, :stop].mean(), rel=1e-12)
        assert found.variance[i, k] == pytest.approx(H[i, :stop].var(ddof=1) / stop, rel=1e-9)
    assert np.all(found.slope == 1)


def test_one_item_has_no_variance():
    G, H, pi, drawn = streams(2083, shift=3.0)
    found = running_estimates(G, H, pi, drawn, np.ones((STREAMS, 1), dtype=np.intp), tuned=False)
    assert np.all(np.isnan(found.variance))
    np.testing.assert_allclose(found.value[:, 0], (G + (H - G) * drawn / pi)[:, 0])


def test_a_pool_that_is_rated_whole_is_exact():
    G, H, pi, _ = streams(2087, shift=3.0)
    stops = np.full((STREAMS, 1), ITEMS)
    found = running_estimates(G, H, np.ones_like(pi), np.ones(H.shape, dtype=bool), stops, tuned=True, pool_size=ITEMS)
    np.testing.assert_allclose(found.value[:, 0], H.mean(axis=1), rtol=1e-12)
    assert np.all(found.variance == 0)


@pytest.mark.parametrize("tuned", [False, True], ids=METHOD.values())
@pytest.mark.parametrize("pool", [60, 300, math.inf])
def test_no_variance_is_below_zero(tuned, pool):
    """Residuals that are 0 but for rounding: λ̂ turns a constant weak rating into the only strong rating seen."""
    rng = np.random.default_rng(2099)
    for weak in rng.uniform(0.1, 0.9, 50):
        G, H, pi = (np.full((5, 60), x) for x in (weak, 1.0, 0.1))
        found = running_estimates(
            G, H, pi, rng.random((5, 60)) < 0.1, np.tile(np.arange(2, 61), (5, 1)), tuned=tuned, pool_size=pool
        )
        # In a pool Σ w (H − λG)² is expanded, and may come out as −1e-17.
        assert found.variance.min() >= 0


# Budgets


def count_items(budget, drawn, c_g, c_h):
    """One item after the other, prices as exact fractions of what the floats mean in decimals."""
    from fractions import Fraction

    B, g, h = (Fraction(str(x)) for x in (budget, c_g, c_h))
    spent, taken = Fraction(0), 0
    for d in drawn:
        if spent + g + h > B:
            break
        spent += g + (h if d else 0)
        taken += 1
    assert spent <= B
    return taken


@pytest.mark.parametrize(("weak_cost", "strong_cost"), [(0.1, 1.0), (0.05, 1.0), (0.3, 0.7), (3.0, 1.0), (0.0, 2.5)])
def test_budgets_item_by_item(weak_cost, strong_cost):
    rng = np.random.default_rng(2089)
    drawn = rng.random((4, 400)) < np.array([0.05, 0.3, 0.9, 1.0])[:, None]
    budgets = np.array([60.0, strong_cost + weak_cost, 17.3, 4.0, 33.3, 4.0])  # in any order, one of them twice
    stops, enough = stops_within(budgets, drawn, weak_cost=weak_cost, strong_cost=strong_cost)
    for (i, k), stop in np.ndenumerate(stops):
        expected = count_items(budgets[k], drawn[i], weak_cost, strong_cost)
        assert stop == expected, (i, budgets[k])
        assert enough[i, k] == (expected < drawn.shape[1])


def test_a_budget_that_is_exactly_hit_is_spent():
    """0.1 thirty times is 3.0000000000000004 in floats: what fits in decimals must fit."""
    none = np.zeros((1, 100), dtype=bool)
    stops, _ = stops_within(np.array([4.0]), none, weak_cost=0.1, strong_cost=1.0)
    assert stops[0, 0] == 30  # thirty items cost 3; the thirtieth is taken up at 2.9, with 1.1 to spare
    every = np.ones((1, 100), dtype=bool)
    stops, _ = stops_within(np.array([1.1 * k for k in range(1, 60)]), every, weak_cost=0.1, strong_cost=1.0)
    np.testing.assert_array_equal(stops[0], np.arange(1, 60))


def test_just_below_is_not_enough():
    every = np.ones((1, 100), dtype=bool)
    stops, _ = stops_within(np.array([1.0999, 10.9999, 11.0]), every, weak_cost=0.1, strong_cost=1.0)
    assert stops.tolist() == [[0, 9, 10]]


@settings(max_examples=200, deadline=None)
@given(
    pattern=st.lists(st.booleans(), min_size=1, max_size=80),
    weak=st.integers(0, 400),
    strong=st.integers(1, 400),
    budget=st.integers(1, 20_000),
)
def test_any_stream_within_any_budget(pattern, weak, strong, budget):
    """Prices and budgets with two decimals."""
    B, c_g, c_h = budget / 100, weak / 100, strong / 100
    drawn = np.array([pattern])
    stops, enough = stops_within(np.array([B]), drawn, weak_cost=c_g, strong_cost=c_h)
    expected = count_items(B, pattern, c_g, c_h)
    assert stops[0, 0] == expected
    assert enough[0, 0] == (expected < len(pattern))
    assert c_g * expected + c_h * sum(pattern[:expected]) <= B * (1 + 1e-9)


def test_every_stream_has_its_own_stop():
    drawn = np.array([[True] * 50, [False] * 50, [True, False] * 25])
    stops, enough = stops_within(np.array([10.0, 5.0]), drawn, weak_cost=0.25, strong_cost=1.0)
    assert stops.tolist() == [[8, 4], [36, 16], [12, 5]]
    assert enough.all()


def test_only_rounding_is_taken_off_a_sum_of_prices():
    """A real excess must stay visible: else no test of a hard cap could ever fail."""
    paid, budgets = np.array([9.0, 10.0, 10.0 + 1e-12, 10.1]), np.full(4, 10.0)
    np.testing.assert_array_equal(without_rounding(paid, budgets), [9.0, 10.0, 10.0, 10.1])
