"""All rounds of a chain as one draw: masses, and an estimate that is right by hand."""

import numpy as np
import pytest

from ratewise.design.chain import Design, StepSeen, pooled_steps
from ratewise.design.chain_plan import plan_steps
from ratewise.design.rounds import draw_round
from ratewise.learn.covariates import Covariates

from ..worlds import unsure_judge

CHAIN = Design((0,), (1,))
COSTS = (0.01, 0.15, 1.0)


def two_rounds(start=80, more=400, seed=2):
    judge, expert, h = unsure_judge(start + more, seed)
    first, then = slice(0, start), slice(start, None)
    seen = StepSeen.start(CHAIN, Covariates(judge[first]), expert[first, None], h[first])
    plan = plan_steps(seen, CHAIN.money(COSTS, 80.0, float(more)), 80.0)
    x, r = Covariates(judge[then]), np.random.default_rng([seed, 1]).random(more)
    asked = draw_round(plan.rule, seen, r, x, np.full((more, 1), np.nan)).asked[:, :1]
    said = np.where(asked, expert[then, None], np.nan)
    drawn = draw_round(plan.rule, seen, r, x, said)
    assert np.array_equal(drawn.asked[:, :1], asked)  # answers of the step do not change who was asked for them
    strong = np.where(drawn.asked[:, 1], h[then], np.nan)
    return seen, plan, drawn, seen.joined(x, said, strong, plan.rule, plan.own_rates, rates=drawn.rates)


def test_rates_are_those_of_all_rounds_weighted_by_their_items():
    seen, plan, drawn, both = two_rounds()
    q = both.rates()
    np.testing.assert_allclose(q[80:], (80 * 1.0 + 400 * drawn.rates) / 480)
    own = plan.own_rates.reshape(-1, 2)
    np.testing.assert_allclose(q[:80], (80 * 1.0 + 400 * own) / 480)
    assert np.all(np.diff(q, axis=1) <= 0)
    assert both.items == 480
    assert seen.items == 80


def test_predictions_are_known_where_a_level_was_reached():
    _, _, drawn, both = two_rounds()
    asked = np.concatenate([np.ones((80, 2), dtype=bool), drawn.asked])
    p = pooled_steps(both, reached=asked[:, :1], asked=asked[:, 1])
    f, rates, factor = p.weak, p.rates, p.factor
    np.testing.assert_array_equal(np.isnan(f[:, 1]), ~asked[:, 0])
    assert not np.isnan(f[:, 0]).any()
    assert np.all(rates[~asked] < 1)
    assert factor > 1


def test_an_answer_that_did_not_come_changes_nothing():
    _, _, drawn, both = two_rounds()
    asked = np.concatenate([np.ones((80, 2), dtype=bool), drawn.asked])
    gap = int(np.flatnonzero(asked[:, 0] & ~asked[:, 1])[0])
    both.said[gap, 0] = np.nan
    f = pooled_steps(both, reached=asked[:, :1], asked=asked[:, 1]).weak
    assert f[gap, 1] == f[gap, 0]


def test_levels_learn_from_what_was_said_there():
    _, _, _, both = two_rounds()
    first, second = (view.learned for view in both.views)
    assert second.strong.size == first.strong.size
    assert second.mean(second.residual**2) < 0.8 * first.mean(first.residual**2)


def test_items_without_the_step_s_answer_are_not_reached():
    _, _, drawn, both = two_rounds()
    assert both.reached(0).size == 480
    assert both.reached(1).size == pytest.approx(80 + drawn.asked[:, 0].sum())
