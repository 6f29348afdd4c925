"""Rounds with a chain of raters: rates of the optimal policy, models from labels that all raters share, JSON."""

import json

import numpy as np
import pytest

from ratewise.core.policy import optimal_policy
from ratewise.design.chain import ChainRule
from ratewise.design.chain_plan import plan_chain

from ..worlds import chain_of_raters


def plan(weak, values, rates, **keys):
    given = {"weak_cost": 0.02, "costs": (0.2, 1.0), "worth": 300.0, "pool_size": 5000.0}
    return plan_chain(weak, values, rates, **(given | keys))


@pytest.mark.parametrize("errors", [(2.0, 0.5), (0.5, 2.0), (3.0, 3.0)])
@pytest.mark.parametrize("keys", [{}, {"worth": 2000.0, "pool_size": 300.0}, {"pool_size": float("inf")}])
def test_rates_are_the_optimal_policy_s_on_the_items_it_was_planned_on(errors, keys):
    """By the other route: u of each rater from the rule's own models, solved with the same floor."""
    weak, values, rates = chain_of_raters(200, errors=errors)
    rule, found = plan(weak, values, rates, **keys)
    u = np.stack([model.predict(weak) for model in rule.errors], axis=1)
    h = values[:, -1]
    prior = 2.0 / 202 * max(h.var(), (h.max() - h.min()) ** 2 / 12)
    given = {"worth": 300.0, "pool_size": 5000.0} | keys
    right = optimal_policy(
        u, variance=h.var() + prior, weak_cost=0.02, strong_cost=[0.2, 1.0], budget=given["worth"],
        pool_size=None if np.isinf(given["pool_size"]) else given["pool_size"], floor=rule.floor,
    )  # fmt: skip
    np.testing.assert_allclose(rule.rates(weak), right.rates, rtol=1e-9)
    assert found.worth_it == right.worth_it
    assert found.expected_se == pytest.approx(right.expected_se)


def test_rates_never_rise_along_the_chain_and_stay_above_the_floor():
    weak, values, rates = chain_of_raters(150)
    rule, _ = plan(weak, values, rates)
    q = rule.rates(np.linspace(-100, 100, 400))
    assert np.all(np.diff(q, axis=1) <= 0)
    assert q.min() >= rule.floor > 0
    assert q.max() <= 1


def test_a_rule_goes_through_json_and_gives_the_same_rates():
    weak, values, rates = chain_of_raters(150)
    rule, _ = plan(weak, values, rates)
    again = ChainRule.from_dict(json.loads(json.dumps(rule.to_dict(), allow_nan=False)))
    np.testing.assert_array_equal(again.rates(weak), rule.rates(weak))


def test_inverse_rates_weigh_the_labels():
    """Items that were asked at a low rate stand for more: V is that of the pool, not of who was asked."""
    rng = np.random.default_rng(5)
    h = np.concatenate([rng.normal(0, 1, 2000), rng.normal(0, 5, 2000)])
    weak = h + rng.normal(0, 1, 4000)
    rates = np.repeat([[1.0, 0.9], [1.0, 0.1]], 2000, axis=0)
    asked = rng.random(4000) < rates[:, 1]
    values = np.column_stack([h, np.where(asked, h, np.nan)])
    _, found = plan(weak, values, rates, worth=50.0, pool_size=float("inf"), costs=(10.0, 1.0), weak_cost=10.0)
    assert not found.worth_it
    _, whole = plan(
        weak,
        np.column_stack([h, h]),
        np.ones((4000, 2)),
        worth=50.0,
        pool_size=float("inf"),
        costs=(10.0, 1.0),
        weak_cost=10.0,
    )
    assert found.expected_se**2 == pytest.approx(whole.expected_se**2, rel=0.1)


def test_a_middle_rater_that_never_came_is_as_good_as_the_first():
    weak, values, rates = chain_of_raters(100)
    values[:, 0] = np.nan
    rule, _ = plan(weak, values, rates)
    np.testing.assert_allclose(rule.errors[0].values, rule.errors[1].values)
    q = rule.rates(weak)
    np.testing.assert_array_equal(q[:, 0], q[:, 1])  # asked only where the strong one is


@pytest.mark.parametrize("labels", [2, 3, 10])
def test_few_labels_that_are_all_alike_are_no_proof(labels):
    weak = np.linspace(0, 1, labels)
    values = np.column_stack([np.ones(labels), np.ones(labels)])
    rule, found = plan(weak, values, np.ones((labels, 2)), pool_size=100.0, worth=50.0)
    q = rule.rates(weak)
    assert np.all((q > 0) & (q <= 1))
    assert np.isfinite(found.expected_se)


@pytest.mark.parametrize("costs", [(0.0, 1.0), (0.2, 0.0), (0.0, 0.0)])
def test_steps_for_nothing(costs):
    weak, values, rates = chain_of_raters(100)
    rule, _ = plan(weak, values, rates, costs=costs, pool_size=200.0)
    q = rule.rates(weak)
    assert np.all((q > 0) & (q <= 1))
    if costs[0] == 0.0:
        assert np.all(q[:, 0] == 1)


def test_a_good_middle_rater_is_asked_more_often_than_the_strong_one():
    weak, values, rates = chain_of_raters(400, errors=(3.0, 0.3))
    q = plan(weak, values, rates)[0].rates(weak)
    assert q[:, 0].mean() > 2 * q[:, 1].mean()
