"""What wrong beliefs cost: nothing where they are right, what `cost_of_wrong_policy` says where they are not."""

from dataclasses import replace

import numpy as np
import pytest

from ratewise.core.formulas import Assumed, cost_of_wrong_policy, what_if

U = np.random.default_rng(8).gamma(0.7, 0.15, 100)


def truth(**keys):
    return Assumed(**({"error": U, "variance": 0.9, "weak_cost": 0.03, "strong_cost": 1.4, "budget": 500.0} | keys))


def tried(world, **keys):
    rng = np.random.default_rng(1)
    h = rng.normal(3, world.variance**0.5, 400)
    return what_if(world, h, rng.gamma(0.7, 0.15, 400), **({"rng": rng, "burn_ins": ()} | keys))


def test_a_right_belief_costs_nothing():
    found = tried(truth(), factors=(1.0,))
    assert all(b.ratio == 1.0 and b.recommendation == found.recommendation for b in found.beliefs)


@pytest.mark.parametrize("keys", [{}, {"pool_size": 400.0}, {"pool_size": 900.0, "of_pool": True}])
def test_no_belief_beats_the_truth(keys):
    found = tried(truth(**keys))
    assert min(b.ratio for b in found.beliefs) >= 1 - 1e-9
    assert found.worst.ratio > 1.01


@pytest.mark.parametrize("factor", [0.25, 4.0])
def test_it_is_what_cost_of_wrong_policy_says(factor):
    """By the other route, without a floor and without a pool's end; the same policy is recommended."""
    world = truth(floor=0.0)
    by = {b.what: b for b in tried(world, factors=(factor,)).beliefs}
    prices = {"variance": 0.9, "weak_cost": 0.03, "strong_cost": 1.4}
    u = np.sort(U)
    right = cost_of_wrong_policy(u, u * factor, **prices)
    assert by["weak error"].ratio == pytest.approx(right.ratio, rel=1e-9)
    right = cost_of_wrong_policy(u, u, believed_variance=0.9 * factor, **prices)
    assert by["variance"].ratio == pytest.approx(right.ratio, rel=1e-9)


def test_many_items_are_binned_without_harm():
    """About the same answer from 150 or 4,000 items as from each of them; parts of unlike size would be 5 % off."""
    for size in (150, 4000):
        u = np.random.default_rng(9).gamma(0.7, 0.15, size)
        by = {b.what: b for b in tried(truth(error=u, floor=0.0), factors=(4.0,)).beliefs}
        right = cost_of_wrong_policy(u, u * 4.0, variance=0.9, weak_cost=0.03, strong_cost=1.4)
        assert by["weak error"].ratio == pytest.approx(right.ratio, rel=0.01)


def test_prices_that_are_wrong_alike_change_nothing():
    world = truth()
    dear = replace(world.wrong("weak price", 3.0), strong_cost=3.0 * world.strong_cost, budget=3.0 * world.budget)
    np.testing.assert_allclose(dear.rates("active"), world.rates("active"))


def test_a_belief_may_turn_the_recommendation():
    found = tried(truth(), factors=(40.0,))
    weak = next(b for b in found.beliefs if b.what == "weak price")
    assert (found.recommendation, weak.recommendation) == ("active", "base")
    assert weak.ratio > 1


def test_a_larger_burn_in_misjudges_less():
    found = tried(truth(), factors=(), burn_ins=(20, 400))
    few, many = found.burn_ins
    assert few.mean_ratio > many.mean_ratio >= 1
    assert few.worst_ratio > many.worst_ratio


def test_free_weak_ratings_have_no_wrong_price():
    found = tried(truth(weak_cost=0.0, pool_size=2000.0))
    assert "weak price" not in {b.what for b in found.beliefs}
    assert found.to_dict()["recommendation"] == found.recommendation
