"""`optimal_policy`: the published numbers, the limiting cases its docstring names, and what it refuses."""

import json
import math

import numpy as np
import pytest
from scipy import stats

from ratewise.core.formulas import optimal_uniform_rate
from ratewise.core.policy import optimal_policy
from ratewise.errors import InputError, PolicyError

# METHODS section 11: kind, V, μ, η, c_g/c_h → τ*, E[π], active/base, p*, random/base
TABLE = [
    ("gamma", 1.0, 0.5, 0.5, 0.1, 2.239272, 0.251820, 0.620661, 0.316228, 0.866228),
    ("gamma", 1.0, 1.5, 4.0, 0.1, 1.267888, 0.641699, 0.884335, 1.0, 1.1),
    ("gamma", 0.3, 1.0, 1.0, 0.1, 0.559410, 0.904792, 1.053155, 1.0, 1.1),
    ("beta", 0.25, 0.1, 0.05, 0.05, 1.732051, 0.095952, 0.255625, 0.182574, 0.649089),
    ("beta", 0.25, 0.3, 0.1, 0.05, 0.697105, 0.572559, 0.753387, 1.0, 1.05),
]
# Half a unit of the sixth decimal, and what 200,000 points miss (below 5e-9: so much less do 1,000,000 change).
PRINTED = 5e-7 + 5e-9
HALF_DIGIT = 5e-7 + 1e-12

U = np.array([0.31, 0.02, 1.7, 0.55, 0.08])  # mean 0.532
WORLD = {"variance": 0.9, "weak_cost": 0.07, "strong_cost": 1.3}


def quantile_midpoints(kind: str, mean: float, variance: float, n: int = 200_000) -> np.ndarray:
    share = (np.arange(n) + 0.5) / n
    if kind == "gamma":
        return stats.gamma.ppf(share, mean**2 / variance, scale=variance / mean)
    size = mean * (1 - mean) / variance - 1
    return stats.beta.ppf(share, mean * size, (1 - mean) * size)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row[0]}-{row[1]}-{row[2]}")
def test_the_published_table_of_active_policies(row):
    kind, V, mean, spread, ratio, tau, mean_rate, active, _, _ = row
    c_h = 3.7  # only the ratio of the costs counts
    u = quantile_midpoints(kind, mean, spread)
    policy = optimal_policy(u, variance=V, weak_cost=ratio * c_h, strong_cost=c_h)
    assert policy.threshold == pytest.approx(tau, abs=PRINTED)
    assert policy.scale == pytest.approx(1 / tau, rel=1e-6)
    assert policy.mean_rate == pytest.approx(mean_rate, abs=PRINTED)
    assert policy.error_ratio == pytest.approx(active, abs=PRINTED)
    assert policy.base_error_times_budget == pytest.approx(c_h * V)
    assert policy.worth_it == (active < 1)
    np.testing.assert_allclose(policy.rates, np.minimum(1, np.sqrt(u) / policy.threshold), rtol=1e-12)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row[0]}-{row[1]}-{row[2]}")
def test_the_published_table_of_uniform_rates(row):
    _, V, mean, _, ratio, _, _, _, p, random = row
    found = optimal_uniform_rate(mean, variance=V, weak_cost=0.4 * ratio, strong_cost=0.4)
    assert found.rate == pytest.approx(p, abs=HALF_DIGIT)
    assert found.error_ratio == pytest.approx(random, abs=HALF_DIGIT)


# Money, items and precision


def test_without_a_budget_what_depends_on_one_is_absent():
    policy = optimal_policy(U, **WORLD)
    assert (policy.items, policy.spend, policy.expected_se, policy.strong_labels) == (None,) * 4
    assert not policy.pool_limited


def test_a_budget_says_how_many_items_and_how_precise(by_hand):
    policy = optimal_policy(U, **WORLD, budget=230.0)
    cost, variance = by_hand(policy.rates, U, **WORLD)
    assert policy.items == pytest.approx(230.0 / cost)
    assert policy.spend == pytest.approx(230.0)
    assert policy.expected_se == pytest.approx(math.sqrt(cost * variance / 230.0))
    assert policy.strong_labels == pytest.approx(policy.items * policy.rates.mean())
    assert policy.error_times_budget == pytest.approx(cost * variance)


def test_a_target_is_the_inverse_of_a_budget():
    forward = optimal_policy(U, **WORLD, budget=230.0)
    back = optimal_policy(U, **WORLD, target_se=forward.expected_se)
    assert back.spend == pytest.approx(230.0)
    assert back.items == pytest.approx(forward.items)
    assert back.expected_se == pytest.approx(forward.expected_se)
    np.testing.assert_array_equal(back.rates, forward.rates)


def test_the_pool_binds_just_when_more_items_are_wanted_than_it_holds():
    T = optimal_policy(U, **WORLD, budget=230.0).items
    roomy = optimal_policy(U, **WORLD, budget=230.0, pool_size=T * 1.001)
    tight = optimal_policy(U, **WORLD, budget=230.0, pool_size=T * 0.999)
    assert (roomy.pool_limited, roomy.items) == (False, pytest.approx(T))
    assert (tight.pool_limited, tight.items) == (True, pytest.approx(T * 0.999))
    assert tight.mean_rate > roomy.mean_rate
    assert tight.expected_se == pytest.approx(roomy.expected_se, rel=1e-5)
    assert tight.expected_se > roomy.expected_se


def test_more_money_than_a_pool_can_take_labels_everything_and_is_not_worth_it():
    policy = optimal_policy(U, **WORLD, budget=1000.0, pool_size=40)
    assert policy.rates.tolist() == [1.0] * 5
    assert policy.spend == pytest.approx(40 * (0.07 + 1.3))
    assert policy.expected_se == pytest.approx(math.sqrt(0.9 / 40))
    assert policy.pool_limited
    assert not policy.worth_it


@pytest.mark.parametrize("budget", [20.0, 90.0])  # the pool of 150 binds only with the second
def test_the_pool_mean_needs_the_same_rates_and_loses_V_over_N(budget):
    population = optimal_policy(U, **WORLD, budget=budget, pool_size=150)
    pool = optimal_policy(U, **WORLD, budget=budget, pool_size=150, estimand="pool")
    assert population.pool_limited == (budget == 90.0)
    np.testing.assert_array_equal(pool.rates, population.rates)
    assert population.expected_se**2 - pool.expected_se**2 == pytest.approx(0.9 / 150, rel=1e-9)


def test_a_pool_mean_target_below_the_population_limit_can_be_reached():
    policy = optimal_policy(U, **WORLD, target_se=0.01, pool_size=150, estimand="pool")
    assert policy.expected_se == pytest.approx(0.01)
    assert policy.spend < 150 * 1.37
    with pytest.raises(PolicyError, match=r"target_se 0\.01 cannot be reached.*150 items.*0\.07746"):
        optimal_policy(U, **WORLD, target_se=0.01, pool_size=150)


def test_a_target_that_needs_every_useful_label_does_not_pay_for_useless_ones():
    """At ε² = V/N every item that can be wrong is rated; those whose error is 0 need not be."""
    u, N = [0.0, 0.0, 0.0, 1.1, 2.3], 10
    target = math.sqrt(0.9 / N)
    near = optimal_policy(u, **WORLD, pool_size=N, target_se=target * (1 + 1e-9))
    at = optimal_policy(u, **WORLD, pool_size=N, target_se=target)
    assert near.spend == pytest.approx(N * (0.07 + 0.4 * 1.3), rel=1e-6)
    assert at.spend == pytest.approx(near.spend, rel=1e-6)


# Limiting cases


def test_free_strong_ratings_are_taken_for_every_item_and_the_weak_rater_is_not_worth_it():
    policy = optimal_policy([*U[:4], 0.0], variance=0.9, weak_cost=0.07, strong_cost=0.0, budget=5.0)
    assert policy.rates.tolist() == [1.0] * 5  # also where the weak rater is believed to be right
    assert policy.cost_per_item == pytest.approx(0.07)
    assert policy.variance_per_item == pytest.approx(0.9)
    assert not policy.worth_it


def test_when_all_is_free_no_number_is_undefined():
    policy = optimal_policy(U, variance=0.9, weak_cost=0.0, strong_cost=0.0, target_se=0.3)
    assert policy.rates.tolist() == [1.0] * 5
    assert policy.spend == 0
    assert not policy.worth_it


def test_an_item_whose_strong_rating_is_free_gets_it():
    c_h = np.array([1.3, 0.0, 2.1, 0.4, 0.0])
    policy = optimal_policy(U, variance=0.9, weak_cost=0.07, strong_cost=c_h)
    assert policy.rates[[1, 4]].tolist() == [1.0, 1.0]
    paid = c_h > 0  # for J, the free items count like items without error
    others = optimal_policy(U * paid, variance=0.9, weak_cost=0.07, strong_cost=np.where(paid, c_h, 5.0))
    assert policy.error_times_budget == pytest.approx(others.error_times_budget)
    np.testing.assert_allclose(policy.rates[paid], others.rates[paid])
    assert 0 < policy.rates[3] < 1


def test_free_weak_ratings_without_a_pool_have_no_optimum():
    free = {**WORLD, "weak_cost": 0.0}
    for more in ({}, {"budget": 50.0}, {"target_se": 0.1}, {"pool_size": 80}):
        with pytest.raises(PolicyError, match=r"weak_cost 0.*give pool_size and a budget"):
            optimal_policy(U, **free, **more)


def test_free_weak_ratings_on_a_pool_spend_the_budget_on_strong_ones(by_hand):
    free = {**WORLD, "weak_cost": 0.0}
    policy = optimal_policy(U, **free, budget=50.0, pool_size=80)
    cost, variance = by_hand(policy.rates, U, **free)
    assert 80 * cost == pytest.approx(50.0)
    assert policy.expected_se == pytest.approx(math.sqrt(variance / 80))
    clipped = policy.rates == 1
    assert clipped.tolist() == [False, False, True, False, False]
    ratio = (policy.rates / np.sqrt(U))[~clipped]
    np.testing.assert_allclose(ratio, ratio[0])  # π ∝ sqrt(u)
    assert policy.worth_it


def test_free_weak_ratings_with_a_floor_have_an_optimum():
    policy = optimal_policy(U, **{**WORLD, "weak_cost": 0.0}, floor=0.15)
    assert policy.rates.min() == 0.15
    # The least J over the one-parameter family clip(γ sqrt(u), floor, 1), by a fine grid.
    rates = np.clip(np.geomspace(0.01, 10, 20001)[:, None] * np.sqrt(U), 0.15, 1)
    J = 1.3 * rates.mean(axis=1) * (0.9 + (U * (1 / rates - 1)).mean(axis=1))
    assert policy.error_times_budget == pytest.approx(J.min(), rel=1e-6)
    assert policy.error_times_budget <= J.min()


def test_a_perfect_weak_rater_needs_no_strong_ratings():
    policy = optimal_policy([0.0, 0.0, 0.0], **WORLD, budget=12.0)
    assert policy.error_times_budget == pytest.approx(0.07 * 0.9)
    assert np.all(policy.rates > 0)
    assert policy.mean_rate < 1e-300
    assert policy.items == pytest.approx(12.0 / 0.07)


@pytest.mark.parametrize("options", [{"budget": 3.0}, {"target_se": 0.5}], ids=["budget", "target"])
def test_a_perfect_and_free_weak_rater_on_a_pool(options):
    """Both goals have an answer: the pool of 10 has variance 0.9/10 without one strong rating."""
    policy = optimal_policy([0.0, 0.0], variance=0.9, weak_cost=0.0, strong_cost=1.3, pool_size=10, **options)
    assert policy.expected_se <= 0.5
    assert policy.spend <= 3.0


@pytest.mark.parametrize("u", [0.2, 0.85, 30.0])
def test_one_item_is_the_uniform_rate(u):
    one, uniform = optimal_policy([u], **WORLD), optimal_uniform_rate(u, **WORLD)
    assert one.rates.tolist() == [pytest.approx(uniform.rate)]
    assert one.error_times_budget == pytest.approx(uniform.error_times_budget)


def test_a_large_error_gives_rate_one_and_base_is_better():
    policy = optimal_policy(U + 5, **WORLD)
    assert policy.rates.tolist() == [1.0] * 5
    assert policy.error_ratio == pytest.approx((0.07 + 1.3) / 1.3)
    assert not policy.worth_it
    assert "not worth it" in policy.summary()


@pytest.mark.parametrize("outlier", [1e12, 1e16, 1e20])
def test_one_absurd_error_does_not_wash_out_the_variance(by_hand, outlier):
    """The item is rated for sure and adds nothing to Var(Δ); V must survive next to it."""
    u = np.array([outlier, 0.1, 0.2, 0.05, 0.3, 0.01, 0.02, 0.03])
    sane = optimal_policy(np.minimum(u, 1e6), variance=1.0, weak_cost=0.01, strong_cost=1.0)
    policy = optimal_policy(u, variance=1.0, weak_cost=0.01, strong_cost=1.0)
    _, variance = by_hand(policy.rates, u, variance=1.0, weak_cost=0.01, strong_cost=1.0)
    assert policy.variance_per_item == pytest.approx(variance, rel=1e-6)
    np.testing.assert_allclose(policy.rates, sane.rates, rtol=1e-6)


def test_a_floor_of_one_labels_everything():
    policy = optimal_policy(U, **WORLD, floor=1.0)
    assert policy.rates.tolist() == [1.0] * 5
    assert policy.error_times_budget == pytest.approx(1.37 * 0.9)


def test_the_numbers_are_ready_for_json():
    numbers = json.loads(json.dumps(optimal_policy(U, **WORLD, budget=230.0, pool_size=400).to_dict()))
    assert {"error_times_budget", "error_ratio", "expected_se", "items", "strong_labels", "spend"} < set(numbers)
    assert numbers["threshold"] == pytest.approx(1 / numbers["scale"])


# What is refused, and how

BAD = [
    ({"variance": 0.0}, "variance must be above 0; got 0"),
    ({"variance": -2.5}, r"variance must be above 0; got -2\.5"),
    ({"variance": math.nan}, "variance must be finite; got nan"),
    ({"variance": math.inf}, "variance must be finite; got inf"),
    ({"variance": "much"}, "variance must be a number; got 'much'"),
    ({"error": [0.3, -0.25, 0.1]}, r"error must be at least 0; entry 1 is -0\.25"),
    ({"error": [0.3, 0.1, math.nan]}, "error must be finite; entry 2 is nan"),
    ({"error": [math.inf, 0.1]}, "error must be finite; entry 0 is inf"),
    ({"error": []}, "error is empty"),
    ({"error": 0.3}, "error must have one dimension.*got 0"),
    ({"error": np.ones((2, 2, 2))}, "error must have one dimension.*got 3"),
    ({"weak_cost": -0.1}, r"weak_cost must be at least 0; entry 0 is -0\.1"),
    ({"weak_cost": [0.1, 0.2]}, r"weak_cost must be one number or one per item \(5\).*\(2,\)"),
    ({"strong_cost": [1.0, 2.0]}, r"strong_cost must have a shape.*\(5,\).*got \(2,\)"),
    ({"strong_cost": math.nan}, "strong_cost must be finite; entry 0 is nan"),
    ({"error": np.ones((5, 2))}, r"strong_cost must have a shape.*\(2,\).*got \(\)"),
    ({"error": np.ones((5, 2)), "strong_cost": [[1.0] * 4, 2.0]}, "strong_cost"),
    ({"weights": [1.0, 2.0]}, r"weights must be one per item \(5\); got shape \(2,\)"),
    ({"weights": np.zeros(5)}, "weights must have a positive sum"),
    ({"weights": [1, 1, 1, 1, -1]}, "weights must be at least 0; entry 4 is -1"),
    ({"floor": -0.1}, r"floor must be in \[0, 1\]; got -0\.1"),
    ({"floor": 1.01}, r"floor must be in \[0, 1\]; got 1\.01"),
    ({"floor": math.nan}, "floor must be finite; got nan"),
    ({"budget": 0.0}, "budget must be above 0; got 0"),
    ({"budget": -7.0}, "budget must be above 0; got -7"),
    ({"target_se": 0.0}, "target_se must be above 0; got 0"),
    ({"budget": 10.0, "target_se": 0.1}, "budget or target_se, not both"),
    ({"budget": 10.0, "pool_size": 0.5}, r"pool_size must be at least 1; got 0\.5"),
    ({"estimand": "pool"}, "estimand 'pool' needs pool_size"),
    ({"estimand": "planet"}, "unknown estimand 'planet'; choose one of population, pool"),
]


@pytest.mark.parametrize(("change", "message"), BAD, ids=[f"{i}-{next(iter(b[0]))}" for i, b in enumerate(BAD)])
def test_what_cannot_be_used_is_one_clear_error(change, message):
    with pytest.raises(InputError, match=message) as caught:
        optimal_policy(**{"error": U, **WORLD, **change})
    assert "\n" not in str(caught.value)
