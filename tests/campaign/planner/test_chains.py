"""Rounds of a chain: what its last items may cost."""

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest

from ratewise.campaign.history import RoundPlan
from ratewise.campaign.planner import decide, next_plan
from ratewise.campaign.rehearsal import Rehearsal, RehearsalPool

from ...worlds import unsure_judge


def last_items(*, expert=True):
    """The state before the last round of a pool that is looked at whole; an expert who knows nothing is left out."""
    items, budget, seed, first = (900, 200, 1, "0.01") if expert else (300, 90, 3, "0.03")
    judge, right, human = unsure_judge(items, seed)
    said = right if expert else np.random.default_rng(4).random(items)
    pool = RehearsalPool.of(judge, said, human, prices=[Decimal(p) for p in (first, "0.15", "1")], seed=seed)
    game = Rehearsal(pool, pool.terms(budget=Decimal(budget)))
    for _ in range(1000):
        state = game.state()
        action = decide(state)
        if isinstance(action, RoundPlan) and action.exact and action.spend == action.left:
            return state, action
        game.do(action, state)
    raise AssertionError("there was no such round")


@pytest.mark.parametrize("expert", [True, False])
def test_where_raters_may_cost_more_than_they_mostly_do_items_are_kept_for_what_is_given_back(expert):
    state, plan = last_items(expert=expert)
    assert bool(plan.design.steps) == expert
    remaining = state.terms.pool - state.history.items
    assert plan.items == remaining
    dearer = next_plan(replace(state, worst=state.worst * np.array([5, 5, 1])))
    assert 4 <= dearer.items < remaining
    assert (dearer.spend, dearer.left) == (plan.spend, plan.left)
    assert next_plan(replace(state, worst=state.worst * np.array([9, 9, 1]))).items < dearer.items


def test_prices_that_hardly_differ_change_nothing():
    state, plan = last_items()
    assert next_plan(replace(state, worst=(state.worst * 1.01).astype(np.int64))).items == plan.items
