"""Features that are known of a whole pool: a weak rater for nothing, as long as they are as good as the judge."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from ratewise.core.estimate import EstimateOptions
from ratewise.design.diagnostics import diagnose
from ratewise.design.options import Money
from ratewise.design.rounds import draw_exact_round, estimate_seen, next_round, plan_round, pooled
from ratewise.design.seen import Phase, Rule, mass
from ratewise.learn.covariates import Covariates

from .worlds import MONEY, burnt_in, even


def told_by_features(seed, n, *, judge=3.0):
    """A feature tells more of the rating than the judge, whose errors are `judge` times as large."""
    rng = np.random.default_rng([seed, 23])
    quality = rng.normal(0, 1, n)
    z = quality + 0.4 * rng.standard_normal(n)
    noise = rng.standard_normal((n, 2))
    return Covariates(quality + 0.4 * judge * rng.standard_normal(n), np.column_stack([z, noise])), quality


IN_POOL = Money(0.05, 1.0, 300.0, 2800.0)


def test_features_of_a_whole_pool_are_a_weak_rater_for_nothing():
    seen = burnt_in(told_by_features(1, 200))
    planned = plan_round(seen, IN_POOL)
    assert (planned.weak, planned.policy != "base") == (False, True)
    assert planned.items == math.ceil(2800 * planned.spend / 300)  # its share of all that is left, for nothing
    assert planned.expected_variance < plan_round(seen, IN_POOL, free_features=False).expected_variance
    x, _ = told_by_features(2, 50)
    rates = planned.rule.rates(x, np.full(50, 200.0))
    other = Covariates(np.random.default_rng(3).random(50), x.features, np.ones(50))
    np.testing.assert_array_equal(planned.rule.rates(other, np.full(50, 200.0)), rates)  # whatever a judge may say
    again = Rule.from_dict(json.loads(json.dumps(planned.rule.to_dict())))
    np.testing.assert_array_equal(again.rates(x, np.full(50, 200.0)), rates)


@pytest.mark.parametrize(
    ("world", "money", "options"),
    [
        (lambda: told_by_features(1, 200), MONEY, {}),  # a stream: nothing is known of items that nobody looked at
        (lambda: told_by_features(1, 200), IN_POOL, {"free_features": False}),
        (lambda: told_by_features(1, 200, judge=0.1), Money(0.01, 1.0, 300.0, 2800.0), {}),
        (lambda: even(1, 200), IN_POOL, {}),  # no features
    ],
)
def test_weak_ratings_are_bought_where_features_are_not_known_or_not_as_good(world, money, options):
    planned = plan_round(burnt_in(world()), money, **options)
    assert planned.weak
    assert planned.rule.weak


def test_who_goes_by_features_stays_with_them_and_forgets_the_judge():
    x, h = told_by_features(5, 3000)
    seen = burnt_in((x.rows(slice(200)), h[:200]))
    planned = plan_round(seen, replace(IN_POOL, left=600.0))
    assert planned.spend < 600
    new = slice(200, 200 + planned.items)
    more = replace(x.rows(new), weak=np.full(planned.items, np.nan))  # nobody was asked
    d = draw_exact_round(
        planned.rule, seen, more, np.random.default_rng(7).random(planned.items), money=planned.spend, prices=1.0,
    )  # fmt: skip
    assert d.asked.sum() == planned.spend
    after = pooled(
        seen, more, np.where(d.asked, h[new], np.nan), rule=planned.rule, weak=False, own_rates=planned.own_rates,
        factor=d.factor, before=d.before, rates=d.rates,
    )  # fmt: skip
    assert after.by_features
    assert not after.x.weak.any()
    left = Money(0.05, 1.0, 600.0 - planned.spend, 3000.0 - after.items)
    following = next_round(after, left)
    assert (following.weak, following.rule.weak) == (False, False)
    assert following.items == left.pool_left
    found = estimate_seen(after, EstimateOptions(estimand="pool", pool_size=3000))
    assert abs(found.value - h.mean()) < 4 * found.standard_error
    assert found.standard_error < 0.75 * h.std() / math.sqrt(np.count_nonzero(after.labelled))
    told = diagnose(after, found, pool_size=3000)
    assert told.by_features
    assert any("features" in line and "not worth buying" in line for line in told.words())


def test_the_last_money_buys_a_strong_rating_though_it_would_not_pay_for_both():
    x, h = told_by_features(9, 400)
    seen = burnt_in((x.rows(slice(200)), h[:200]))
    planned = plan_round(seen, replace(IN_POOL, pool_left=200.0, left=100.0))
    rest = Money(0.05, 1.0, 1.0, 50.0)
    assert next_round(seen, rest) is None
    phase = Phase(150, planned.rule, weak=False)
    more = x.rows(slice(200, 350))
    before = mass(seen.phases, more)
    after = seen.joined(more, np.where(np.arange(150) < 90, h[200:350], np.nan), before, phase, planned.own_rates)
    assert next_round(after, rest).items == 50
