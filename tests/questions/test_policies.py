"""Policies beside each other: what each costs and gives, and which is recommended."""

import numpy as np
import pytest

from ratewise.errors import InputError, RatewiseWarning
from ratewise.questions.goal import PlanGoal
from ratewise.questions.policies import planned, planned_base, price, recommend

V = 0.2


def goal(budget=100.0, **changed):
    return PlanGoal(**{"weak_cost": 0.05, "strong_cost": 1.0, "budget": budget, "target_se": None, "pool_size": None,
                   "estimand": "population"} | changed)  # fmt: skip


def test_base_is_the_plain_mean():
    base = planned_base(V, goal())
    assert (base.items, base.strong_labels, base.spend, base.mean_rate) == (100, 100, 100, 1.0)
    assert base.expected_se == pytest.approx(np.sqrt(V / 100))
    assert base.error_ratio == pytest.approx(1.0)


def test_a_better_policy_is_recommended_and_a_near_tie_goes_to_the_simpler():
    base = planned_base(V, goal())
    good = planned(0.3, 0.3, goal(), V, np.inf, rate=0.3)
    assert good.spend == pytest.approx(100.0)
    assert good.error_ratio == pytest.approx((0.05 + 0.3) * 0.3 / V)
    assert price(good) < price(base)
    assert recommend({"base": base, "random": good, "active": good}, 0.0) == "random"
    assert recommend({"base": base, "random": base, "active": base}, 0.0) == "base"


def test_costs_are_checked():
    of = PlanGoal.of
    assert of(0.1, 2, budget=10.0).weak_cost == 0.1
    with pytest.raises(InputError):
        of(0.1, 2)
    with pytest.raises(InputError):
        of(0.1, 2, budget=10.0, target_se=0.1)
    with pytest.warns(RatewiseWarning, match="swapped"):
        of(2, 0.1, budget=10.0)
