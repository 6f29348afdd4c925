"""Draws of a chain: nested, and at a pool's end spent to the last label."""

import math

import numpy as np
import pytest

from ratewise.design.chain import Design, StepSeen, draw_exact_steps, factors_of
from ratewise.design.chain_plan import plan_steps
from ratewise.design.rounds import draw_round
from ratewise.learn.covariates import Covariates

from ..worlds import unsure_judge

CHAIN = Design((0,), (1,))
COSTS = (0.01, 0.15, 1.0)


def ready(more=300, seed=3):
    judge, expert, h = unsure_judge(80 + more, seed)
    seen = StepSeen.start(CHAIN, Covariates(judge[:80]), expert[:80, None], h[:80])
    rule = plan_steps(seen, CHAIN.money(COSTS, 60.0, float(more)), 80.0).rule
    return seen, rule, Covariates(judge[80:]), expert[80:, None], np.random.default_rng([seed, 2]).random(more)


def in_turn(seen, rule, x, expert, r, money, prices):
    """As a campaign draws: the expert's answers come between the two draws."""
    nothing = np.full_like(expert, np.nan)
    first = draw_exact_steps(rule, seen, x, nothing, r, money=money, prices=prices)
    said = np.where(first.asked[:, :1], expert, np.nan)
    return said, draw_exact_steps(rule, seen, x, said, r, money=money, prices=prices), first


@pytest.mark.parametrize("money", [0.3, 5.0, 40.0, 100.0, 1e4])
def test_an_exact_round_spends_its_money_to_the_last_label(money):
    seen, rule, x, expert, r = ready()
    prices = np.tile([0.15, 1.0], (300, 1))
    _, drawn, first = in_turn(seen, rule, x, expert, r, money, prices)
    np.testing.assert_array_equal(drawn.asked[:, 0], first.asked[:, 0])
    spent = float(prices[drawn.asked].sum())
    assert spent <= money + 1e-9
    assert spent > min(money, 345.0) - 1.15
    assert np.all(drawn.asked[:, 0] >= drawn.asked[:, 1])
    assert np.all(np.diff(drawn.rates, axis=1) <= 0)


def test_the_factors_of_a_round_can_be_read_off_its_rates():
    seen, rule, x, expert, r = ready()
    prices = np.tile([0.15, 1.0], (300, 1))
    for money in (20.0, 60.0, 1e4):
        said, drawn, _ = in_turn(seen, rule, x, expert, r, money, prices)
        found = factors_of(rule, seen, x, said, drawn.rates, drawn.factor)
        np.testing.assert_allclose(found.rates(x, said, seen.mass_before(x, said)), drawn.rates, rtol=1e-9)
    assert math.isinf(found.factor)


def test_each_item_is_drawn_by_its_own_number():
    seen, rule, x, expert, r = ready()
    drawn = draw_round(rule, seen, r, x, expert)
    np.testing.assert_array_equal(drawn.asked, r[:, None] < drawn.rates)
    assert drawn.factor is None
