"""The one scalar behind a policy: regions by brute force, and roots that are roots."""

import numpy as np
import pytest
from scipy import optimize

from ratewise.core.policy import Problem, optimal_policy

ROOT = np.array([0.1, 0.4, 0.9, 1.7, 3.0])
MASS = np.array([0.5, 0.1, 0.7, 0.2, 0.4])


def problem(floor=0.0, variance=9.0):
    return Problem(ROOT, MASS, variance, 0.3, floor)


def q(t, floor):
    return np.clip(t * ROOT, floor, 1.0)


@pytest.mark.parametrize("floor", [0.0, 0.05, 0.3])
@pytest.mark.parametrize("t", [0.01, 0.2, 0.5, 1.3, 20.0])
def test_cost_and_variance_are_the_sums_over_entries(t, floor):
    found, rates = problem(floor), q(t, floor)
    assert found.cost(t) == pytest.approx(0.3 + MASS @ rates, rel=1e-12)
    expected = 9.0 + (MASS * ROOT**2) @ (1 / rates - 1)
    assert found.item_variance(t) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("floor", [0.0, 0.05])
def test_the_best_scale_has_the_least_product(floor):
    found = problem(floor)
    best = found.best_scale()
    right = optimize.minimize_scalar(
        lambda x: found.cost(np.exp(x)) * found.item_variance(np.exp(x)), bounds=(-6, 3), method="bounded",
        options={"xatol": 1e-12},
    )  # fmt: skip
    assert found.cost(best) * found.item_variance(best) <= right.fun * (1 + 1e-9)


def test_scales_for_a_cost_and_for_a_variance():
    found = problem(0.05)
    for t in (0.2, 0.6, 1.1):
        assert found.scale_for_cost(found.cost(t), low=0.0) == pytest.approx(t)
        assert found.scale_for_variance(found.item_variance(t), low=0.0) == pytest.approx(t)


def test_one_mass_for_all_is_the_same_as_many():
    one, many = (Problem(ROOT, mass, 9.0, 0.3, 0.1) for mass in (0.4, np.full(5, 0.4)))
    assert one.total_mass == pytest.approx(many.total_mass)
    assert one.cost(0.7) == pytest.approx(many.cost(0.7))


def test_two_lines_that_send_newton_to_and_fro_are_left():
    """Each line's root lay in the other's piece here, at the ends known so far, and the budget was not spent."""
    u = np.array([1, 314.190660, 0.135335283, 0, 1, 1, 4.48168907, 0.135335283, 0])
    w = np.array([1, 1, 1, 0.13533528, 1, 5.07841904, 1, 1, 1.28402542])
    found = optimal_policy(
        u, variance=26.0863486, weak_cost=1.0, strong_cost=1.0, weights=w, budget=5.3629311, pool_size=3, floor=0.375
    )
    assert found.spend == pytest.approx(5.3629311, rel=1e-9)
