"""Plans of chains that learn: money that is all accounted for, and no plan without the answers it needs."""

import json

import numpy as np
import pytest

from ratewise.design.chain import Design, StepRule, StepSeen
from ratewise.design.chain_plan import plan_steps
from ratewise.learn.covariates import Covariates

from ..worlds import knowing_expert, unsure_judge

CHAIN = Design((0,), (1,))
COSTS = (0.01, 0.15, 1.0)


def start(items=80, seed=1):
    judge, expert, h = unsure_judge(items, seed)
    return StepSeen.start(CHAIN, Covariates(judge), expert[:, None], h)


@pytest.mark.parametrize(("left", "pool_left"), [(100.0, 400.0), (100.0, 1e5), (30.0, 1e4)])
def test_the_money_is_that_of_the_items_and_rates_planned(left, pool_left):
    """By the other route: what all rounds together cost on the items seen."""
    seen = start(200)
    plan = plan_steps(seen, CHAIN.money(COSTS, left, pool_left), 80.0)
    T = plan.rule.total
    q = plan.rule.rates(seen.x, seen.said, seen.mass)  # of the next round
    cost = (T - 200) * (COSTS[0] + float(np.dot(COSTS[1:], q.mean(axis=0))))
    assert 200 + pool_left >= T
    assert cost == pytest.approx(left, rel=0.1)


def test_more_money_is_expected_to_give_less_error():
    seen = start()
    plans = [plan_steps(seen, CHAIN.money(COSTS, left, 2000.0), 80.0) for left in (40.0, 80.0, 160.0)]
    errors = [plan.expected_variance for plan in plans]
    assert errors == sorted(errors, reverse=True)


def test_a_pool_that_is_looked_at_whole_is_shared_out_by_money():
    seen = start()
    money = CHAIN.money(COSTS, 60.0, 100.0)
    assert plan_steps(seen, money, 60.0).items == 100
    assert plan_steps(seen, money, 30.0).items == 50
    assert plan_steps(seen, CHAIN.money(COSTS, 60.0, 1e5), 60.0).items is None


def test_rounds_double_what_was_spent_and_take_all_at_the_end():
    seen, money = start(), CHAIN.money(COSTS, 100.0, 1000.0)
    assert plan_steps(seen, money, 20.0).spend == 20.0
    assert plan_steps(seen, money, 90.0).spend == 100.0
    assert plan_steps(seen, CHAIN.money(COSTS, 100.0, 10.0), 20.0).spend == 100.0  # all that is left can be rated


def test_the_last_rater_is_asked_where_the_second_says_that_it_is_unsure():
    judge, expert, h, own = knowing_expert(200)
    rates = {}
    for told in (True, False):
        x = Covariates(judge, doubts=(own,) if told else ())
        plan = plan_steps(StepSeen.start(CHAIN, x, expert[:, None], h), CHAIN.money(COSTS, 100.0, 1e4), 80.0)
        asked = plan.rule.rates(x, expert[:, None], np.zeros((200, 2)))[:, 1]
        rates[told] = asked[own > 0.01].mean() / asked[own < 0.01].mean(), plan.expected_variance
        again = StepRule.from_dict(json.loads(json.dumps(plan.rule.to_dict())))
        np.testing.assert_array_equal(again.rates(x, expert[:, None], np.zeros((200, 2)))[:, 1], asked)
    assert rates[True][0] > 2
    assert rates[False][0] < 1.5
    assert rates[True][1] < 0.9 * rates[False][1]


def test_no_plan_without_answers_of_the_step():
    seen = start()
    silent = StepSeen.start(CHAIN, seen.x, np.full((80, 1), np.nan), seen.strong)
    assert plan_steps(silent, CHAIN.money(COSTS, 60.0, 100.0), 80.0) is None


def test_a_label_does_not_decide_its_own_weight():
    """One large residual raises the rate of others like it more than its own."""
    seen = start(120)
    rows = np.flatnonzero((seen.x.weak > 0.9) & (seen.strong == 1))
    strong = seen.strong.copy()
    strong[rows[0]] = 0.0
    plan = plan_steps(StepSeen.start(CHAIN, seen.x, seen.said, strong), CHAIN.money(COSTS, 60.0, 1000.0), 80.0)
    own = plan.own_rates.reshape(-1, 2)
    by_rule = plan.rule.rates_for(np.zeros((1, 2)), np.zeros((1, 2)))
    assert own.shape == (120, 2)
    assert np.all(own >= by_rule.min() * 0)
    assert own[rows[0], 1] <= np.max(own[rows[1:], 1]) * 1.5
