"""The multiplier that decides for all strata, by its conditions; brute force is in test_inputs.py."""

import numpy as np
import pytest

from ratewise.core.allocation import choose_inputs

from ..worlds import unlike_strata


@pytest.mark.parametrize("seed", range(3))
def test_the_last_coin_saves_as_much_in_every_stratum(seed):
    """Without limits: P² ν/T² is the multiplier times the cost of an item, the same for all strata."""
    P, a, u, c_g, c_h = unlike_strata(seed)
    found = choose_inputs(a, u, probabilities=P, weak_cost=c_g, strong_cost=c_h, budget=100.0)
    weak, pi, T = found.buys_weak, found.rates, found.items
    nu = np.where(weak, a + (1 / pi - 1) * u, a)
    cost = np.where(weak, c_g + c_h * pi, c_h)
    saved = P**2 * nu / T**2 / cost
    np.testing.assert_allclose(saved, saved[0], rtol=1e-6)


def test_people_who_cost_four_times_as_much_are_asked_half_as_often_of_as_many_items():
    """π = sqrt(c_g u/(c_h (a − u))), and ν/k, which T follows, does not hang on c_h."""
    P, a, u = np.array([0.5, 0.5]), np.array([1.0, 1.0]), np.array([0.2, 0.2])
    same = choose_inputs(a, u, probabilities=P, weak_cost=0.05, strong_cost=1.0, budget=50.0)
    dear = choose_inputs(a, u, probabilities=P, weak_cost=0.05, strong_cost=[1.0, 4.0], budget=50.0)
    assert same.items[0] == pytest.approx(same.items[1])
    assert dear.items[0] == pytest.approx(dear.items[1])
    assert dear.rates[0] == pytest.approx(2 * dear.rates[1])
