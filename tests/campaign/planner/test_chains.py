"""Rounds of a chain: what its last items may cost."""

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest

from ratewise.campaign.planner import Open, decide
from ratewise.campaign.planner.plan import next_plan
from ratewise.campaign.rehearsal import Pool, Rehearsal

from ...worlds import unsure_judge


def last_items(prices):
    """The state before the last round of a pool that is looked at whole."""
    pool = Pool.of(*unsure_judge(300, 2), prices=[Decimal(price) for price in prices], seed=2)
    game = Rehearsal(pool, pool.terms(budget=Decimal(90)))
    while True:
        state = game.state()
        action = decide(state)
        if isinstance(action, Open) and action.plan.exact and action.plan.spend == action.plan.left:
            return state, action.plan
        game.do(action, state)


@pytest.mark.parametrize("prices", [("0.01", "0.15", "1"), ("0.02", "0.95", "1")])
def test_where_raters_may_cost_more_than_they_mostly_do_items_are_kept_for_what_is_given_back(prices):
    state, plan = last_items(prices)
    remaining = state.terms.pool - state.history.items
    assert plan.items == remaining
    dearer = next_plan(replace(state, worst=state.worst * np.array([5, 5, 1])))
    assert 4 <= dearer.items < remaining
    assert (dearer.spend, dearer.left) == (plan.spend, plan.left)
    assert next_plan(replace(state, worst=state.worst * np.array([9, 9, 1]))).items < dearer.items


def test_prices_that_hardly_differ_change_nothing():
    state, plan = last_items(("0.01", "0.15", "1"))
    assert next_plan(replace(state, worst=(state.worst * 1.01).astype(np.int64))).items == plan.items
