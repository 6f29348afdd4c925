"""Rates of a chain that learns: by everything said before, nested, and otherwise the optimal policy's."""

import json
import math

import numpy as np
import pytest

from ratewise.core.policy import optimal_policy
from ratewise.design.chain import Design, StepRule, StepSeen, roots
from ratewise.design.chain_plan import plan_steps
from ratewise.learn.covariates import Covariates

from ..worlds import unsure_judge

CHAIN = Design((0,), (1,))
COSTS = (0.01, 0.15, 1.0)


def made(items=80, seed=1, left=100.0, pool_left=1000.0):
    judge, expert, h = unsure_judge(items, seed)
    seen = StepSeen.start(CHAIN, Covariates(judge), expert[:, None], h)
    return seen, plan_steps(seen, CHAIN.money(COSTS, left, pool_left), 80.0)


def test_roots_are_the_optimal_policy_s_where_no_answer_tells_more():
    """If each level knows the same errors, one round's rates are those of METHODS section 2."""
    rng = np.random.default_rng(3)
    u = np.column_stack([rng.gamma(2, 0.2, 400), rng.gamma(2, 0.05, 400)])
    right = optimal_policy(u, variance=1.0, weak_cost=0.02, strong_cost=[0.2, 1.0])
    root = roots([u, u[:, 1:]], (0.2, 1.0))
    rates = np.minimum.accumulate(np.clip(right.scale * root, 0, 1), axis=1)
    np.testing.assert_allclose(rates, right.rates, rtol=1e-9)


def test_the_last_rater_s_rate_goes_by_what_the_expert_said():
    """Where judge and expert contradict each other, people are asked more often."""
    _, plan = made(200)
    x, none = Covariates(np.array([0.97, 0.97])), np.zeros((2, 2))
    agree, differ = plan.rule.rates(x, np.array([[0.95], [0.05]]), none)
    assert agree[0] == differ[0]
    assert differ[1] > 1.5 * agree[1]


def test_the_expert_is_asked_where_the_judge_is_unsure():
    _, plan = made(200)
    x = Covariates(np.array([0.03, 0.5, 0.97]))
    rates = plan.rule.rates(x, np.full((3, 1), np.nan), np.zeros((3, 2)))
    assert rates[1, 0] > 1.5 * max(rates[0, 0], rates[2, 0])


@pytest.mark.parametrize("factors", [(1.0, 1.0), (0.3, 2.0), (5.0, 40.0), (math.inf, math.inf), (0.5, math.inf)])
def test_rates_never_rise_along_a_row_whatever_the_factors(factors):
    seen, plan = made()
    rule = plan.rule.with_factors(*factors)
    rates = rule.rates(seen.x, seen.said, np.zeros((80, 2)))
    assert np.all(np.diff(rates, axis=1) <= 0)
    assert rates.min() > 0
    assert rates.max() <= 1


def test_what_earlier_rounds_have_spent_is_not_spent_again():
    seen, plan = made()
    none = np.zeros((80, 2))
    fresh, later = (plan.rule.rates(seen.x, seen.said, mass) for mass in (none, none + 1e6))
    assert np.all(later == plan.rule.least)
    assert np.all(fresh >= later)


def test_a_rule_goes_through_json_and_gives_the_same_rates():
    seen, plan = made()
    again = StepRule.from_dict(json.loads(json.dumps(plan.rule.to_dict(), allow_nan=False)))
    for said in (seen.said, np.full((80, 1), np.nan)):
        np.testing.assert_array_equal(again.rates(seen.x, said, seen.mass), plan.rule.rates(seen.x, said, seen.mass))
