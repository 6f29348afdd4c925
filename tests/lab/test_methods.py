"""The methods' strategies by hand, and strong ratings alone; whole simulations are in test_obvious_loop.py."""

import math

import numpy as np
import pytest

from ratewise.lab.methods import Known, Lab, active_fixed, oracle, paper_active, paper_random, strong_alone, uniform
from ratewise.lab.trials import Setting
from ratewise.questions.estimation import estimate_mean

from .tables import TABLE, population_of


@pytest.fixture(scope="module")
def known():
    return Known.of(TABLE["g"], TABLE["h"])


def test_what_is_known_is_what_the_table_says(known):
    assert known.variance == pytest.approx(TABLE["h"].var())
    np.testing.assert_allclose(known.squared_error, (TABLE["h"] - known.weak) ** 2)
    np.testing.assert_allclose(known.claimed_error, known.weak * (1 - known.weak))
    rates = np.full(known.weak.size, 0.25)
    assert known.variance_per_item(rates) == pytest.approx(known.variance + 3 * known.squared_error.mean())


def test_rates_of_each_method(known):
    g = known.weak
    rows = np.arange(g.size)
    one = paper_random(known, 0.05).rates(rows, g)
    M = known.squared_error.mean()
    assert np.ptp(one) == 0
    assert one[0] == pytest.approx(np.sqrt(0.05 * M / (known.variance - M)))
    active = paper_active(known, 0.05).rates(rows, g)
    below = active < 1
    np.testing.assert_allclose((active / np.sqrt(g * (1 - g)))[below], (active / np.sqrt(g * (1 - g)))[below][0])
    assert uniform(known, 0.3).mean_rate == pytest.approx(0.3)
    assert active_fixed(known, 0.3).rates(rows, g).mean() == pytest.approx(0.3, abs=0.02)
    right = oracle(known, 0.05)
    np.testing.assert_array_equal(right.rates(rows, g), right.expected)


def test_a_lab_plays_every_method_it_was_given():
    setting = Setting(0.05, (20.0, 40.0), 30, "stream", 0.95, 0.1, 3)
    found = Lab.of(population_of(TABLE), setting, ("base", "ppi++"), None).run(range(4))
    assert {name: outcome.value.shape for name, outcome in found.items()} == {"base": (4, 2), "ppi++": (4, 2)}
    assert np.all(found["ppi++"].spend <= [20.0, 40.0])


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
