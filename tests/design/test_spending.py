"""What to buy next, as simulations and campaigns share it: starts, ends, free ratings, and exact draws."""

import math
from itertools import pairwise

import numpy as np
import pytest

from ratewise.design.options import Money
from ratewise.design.rounds import FEWEST_LABELS, draw_exact_round, next_round, plan_round, start_labels
from ratewise.design.seen import Phase, Seen, mass
from ratewise.lab.worlds import calibrated
from ratewise.learn.covariates import Covariates


def seen(labels, items=None, seed=1, spread=0.75, weak=True):
    """A start in which every item has its strong rating (or the first of them)."""
    n = labels if items is None else items
    world = calibrated(max(n, 1), mean=0.7, spread=spread, rng=np.random.default_rng([seed, 51]))
    strong = np.where(np.arange(max(n, 1)) < labels, world.strong, np.nan)[:n]
    return Seen.of(Covariates(world.weak[:n]), strong, (Phase(n, weak=weak),) if n else ())


NOTHING = seen(0)


@pytest.mark.parametrize(
    ("weak", "strong", "left", "pool", "items", "buys_weak"),
    [
        (0.05, 1.0, 0.5, 100, None, None),  # not even one strong rating
        (0.05, 1.0, 1.0, 100, 1, False),  # one, but not with a weak one
        (0.05, 1.0, 8.0, 100, 8, False),  # too few to learn from
        (0.05, 1.0, 8.5, 100, 4, True),
        (0.05, 1.0, 105.0, 1000, 20, True),
        (0.05, 1.0, 5000.0, 10000, 200, True),
        (0.05, 1.0, 100.0, 100, 100, False),  # enough for everything
        (0.0, 0.0, 1.0, 40, 40, False),  # all for nothing
        (0.5, 0.0, 1.0, 40, 40, False),
        (0.0, 0.0, 0.0, 40, 40, False),
        (0.05, 1.0, 60.0, 0, None, None),  # no item is left
    ],
)
def test_starts(weak, strong, left, pool, items, buys_weak):
    found = next_round(NOTHING, Money(weak, strong, left, float(pool)))
    if items is None:
        assert found is None
    else:
        assert (found.items, found.weak, found.rule) == (items, buys_weak, None)
        assert found.spend <= left + 1e-12 or items == 0


def test_a_teacher_makes_the_start_short():
    taught = seen(200).learned
    found = next_round(NOTHING, Money(0.05, 1.0, 100.0, 1000.0), teacher=taught)
    assert (found.items, found.weak) == (FEWEST_LABELS, True)


def test_a_start_that_brought_one_label_or_none_starts_again():
    """Answers that did not come: with one label nothing can be learned."""
    for labels in (0, 1):
        found = next_round(seen(labels, items=20), Money(0.05, 1.0, 60.0, 300.0))
        assert (found.rule, found.weak) == (None, True)
        assert found.items == start_labels(60 / 1.05, 300)
    assert next_round(seen(2, items=20), Money(0.05, 1.0, 60.0, 300.0)) is not None


def test_once_alone_always_alone():
    found = next_round(seen(30, weak=False), Money(0.05, 1.0, 25.5, 300.0))
    assert (found.items, found.weak, found.rule) == (25, False, None)
    assert next_round(seen(30, weak=False), Money(0.05, 1.0, 0.99, 300.0)) is None


def test_rounds_double_the_labels_and_the_last_takes_all():
    for left in (200.0, 50.0, 39.0, 20.0):
        found = plan_round(seen(30), Money(0.05, 1.0, left, 5000.0))
        assert found.spend == (left if left <= 39 else 30.0)


@pytest.mark.parametrize("left", [100.0, 207.4, 333.3, 1000.0])
@pytest.mark.parametrize("pool", [37, 118, 442])
@pytest.mark.parametrize("weak", [0.0, 0.001])
def test_the_share_of_a_pool_is_never_more_than_the_pool(left, pool, weak):
    """Rounding once made it one more: a campaign then waited for an item that was not there."""
    for labels in (30, 183):
        found = plan_round(seen(labels), Money(weak, 1.0, left, float(pool)), base_allowed=False)
        assert found.items is None or 1 <= found.items <= pool
        if left >= (1 + weak) * pool:  # all can be paid: all at once, not two at a time
            assert found.items == pool
            assert found.spend == left


# Exact draws


def exact(items, money, prices, seed=2):
    known = seen(60, seed=seed)
    plan = plan_round(known, Money(0.01, 1.0, 80.0, float(items)), base_allowed=False)
    world = calibrated(items, mean=0.7, spread=0.75, rng=np.random.default_rng([seed, 53]))
    x, r = Covariates(world.weak), np.random.default_rng([seed, 55]).random(items)
    return known, plan, x, r, draw_exact_round(plan.rule, known, x, r, money=money, prices=prices)


@pytest.mark.parametrize("money", [1.0, 7.5, 40.0, 119.0, 120.0, 500.0])
def test_equal_prices_buy_as_many_as_fit_and_rates_sum_to_them(money):
    *_, d = exact(120, money, 1.0)
    count = min(int(money), 120)
    assert d.asked.sum() == count
    assert d.rates.sum() == pytest.approx(count, rel=1e-9)
    assert np.all((d.rates > 0) & (d.rates <= 1))
    assert math.isinf(d.factor) == (count == 120)


@pytest.mark.parametrize("money", [3.0, 20.0, 77.7])
def test_prices_by_item_are_never_exceeded_and_all_but_spent(money):
    prices = np.random.default_rng(9).uniform(0.2, 3.0, 150)
    *_, d = exact(150, money, prices)
    assert prices[d.asked].sum() <= money
    assert prices[d.asked].sum() > money - 3.0
    assert np.dot(prices, d.rates) == pytest.approx(money, rel=1e-9)


def test_rates_are_those_of_the_rule_that_is_kept():
    """Whoever has the rule with its factor computes the same rates again: `verify` does."""
    known, plan, x, _, d = exact(120, 40.0, 1.0)
    np.testing.assert_array_equal(plan.rule.scaled(d.factor).rates(x, mass(known.phases, x)), d.rates)


def test_who_is_asked_are_those_with_the_smallest_number_for_their_rate():
    _, _, _, r, d = exact(120, 40.0, 1.0)
    turn = np.where(d.rates >= 1, -1.0, r / d.rates)
    assert turn[d.asked].max() <= turn[~d.asked].min()


def test_more_money_only_adds():
    drawn = [exact(120, float(money), 1.0)[-1].asked for money in range(5, 120, 8)]
    for fewer, more in pairwise(drawn):
        assert np.all(more.sum() >= fewer.sum())
    assert all(np.mean(a <= b) > 0.9 for a, b in pairwise(drawn))


def test_own_rates_of_0_stay_numbers_where_everyone_is_asked():
    _, plan, _, _, d = exact(120, 500.0, 1.0)
    np.testing.assert_array_equal(plan.rule.scaled(d.factor).scaled_rates(np.array([0.0, 0.5, 1.0])), 1.0)
    _, plan, _, _, d = exact(120, 40.0, 1.0)
    own = np.array([0.0, 1e-4, 1.0])
    np.testing.assert_allclose(plan.rule.scaled(d.factor).scaled_rates(own), np.minimum(own * d.factor, 1.0))


def test_free_strong_ratings_are_all_drawn():
    *_, d = exact(50, 0.0, 0.0)
    assert d.asked.all()
    assert np.all(d.rates == 1)
