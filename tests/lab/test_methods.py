"""The methods' strategies by hand; whole simulations are in test_obvious_loop.py."""

import numpy as np
import pytest

from ratewise.lab.methods import Known, Lab, active_fixed, oracle, paper_active, paper_random, uniform
from ratewise.lab.trials import Setting

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
