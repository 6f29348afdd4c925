"""What an error costs in one slice, and budgets shared between slices."""

import numpy as np
import pytest

from ratewise.core.policy import optimal_policy
from ratewise.questions.slice_plan import Curve, shared_budgets


def curve(error=0.05, variance=0.2, pool_size=2000.0):
    u = np.linspace(0.2, 1.8, 200) * error
    return Curve.of(u, variance=variance, weak_cost=0.02, strong_cost=1.0, pool_size=pool_size)


def test_error_and_spend_are_inverse():
    one = curve()
    for spend in (20.0, 60.0, 150.0):
        assert one.spend_for(one.error_for(spend)) == pytest.approx(spend, rel=1e-6)
    assert one.error_for(100.0) < one.error_for(50.0)


def test_an_unlimited_pool_is_the_optimal_policy():
    u = np.linspace(0.2, 1.8, 200) * 0.05
    policy = optimal_policy(u, variance=0.2, weak_cost=0.02, strong_cost=1.0, budget=50.0)
    one = Curve.of(u, variance=0.2, weak_cost=0.02, strong_cost=1.0, pool_size=np.inf)
    assert one.error_for(50.0) == pytest.approx(policy.error_times_budget / 50.0, rel=1e-6)


def test_budgets_add_up_and_no_other_split_is_better():
    curves, weights = [curve(0.02), curve(0.1, 0.25)], [0.3, 0.7]
    spends = shared_budgets(curves, 120.0, weights, "sum")
    assert sum(spends) == pytest.approx(120.0)

    def total(first):
        return weights[0] * curves[0].error_for(first) + weights[1] * curves[1].error_for(120.0 - first)

    assert all(total(spends[0]) <= total(spends[0] + move) + 1e-12 for move in (-5.0, 5.0))
    worst = shared_budgets(curves, 120.0, weights, "worst")
    errors = [one.error_for(spend) for one, spend in zip(curves, worst, strict=True)]
    assert errors[0] == pytest.approx(errors[1], rel=1e-3)
