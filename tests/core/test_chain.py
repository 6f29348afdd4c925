"""Chains of raters: the pooling of steps against a literal pool-adjacent-violators, and the variance by simulation."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from ratewise.core.draw import uniform
from ratewise.core.policy import gains, optimal_policy, pooled_gain_per_cost

from ..bounds import FALSE_ALARM

Z = float(stats.norm.isf(FALSE_ALARM / 2))


def pool_adjacent_violators(gain: list[float], cost: list[float]) -> list[Fraction]:
    """METHODS section 2, step 1, word by word and in exact fractions, for one item."""
    blocks: list[tuple[Fraction, Fraction, int]] = []
    for e, c in zip(map(Fraction, gain), map(Fraction, cost), strict=True):
        blocks.append((e, c, 1))
        while len(blocks) > 1 and blocks[-1][0] * blocks[-2][1] >= blocks[-2][0] * blocks[-1][1]:
            (e_1, c_1, n_1), (e_2, c_2, n_2) = blocks[-2:]
            blocks[-2:] = [(e_1 + e_2, c_1 + c_2, n_1 + n_2)]
    return [e / c for e, c, n in blocks for _ in range(n)]


def test_gains_are_what_each_step_takes_off_the_error():
    error = np.array([[0.9, 0.4, 0.1], [0.2, 0.7, 0.3]])
    np.testing.assert_allclose(gains(error), [[0.5, 0.3, 0.1], [-0.5, 0.4, 0.3]])
    np.testing.assert_allclose(gains(error).sum(axis=1), error[:, 0])
    np.testing.assert_array_equal(error, [[0.9, 0.4, 0.1], [0.2, 0.7, 0.3]])  # left alone


@pytest.mark.parametrize("steps", [1, 2, 3, 4, 6])
def test_pooling_is_pool_adjacent_violators(steps):
    rng = np.random.default_rng(steps)
    error = rng.gamma(0.8, 2.0, (60, steps))
    error[rng.random(error.shape) < 0.1] = 0.0
    cost = rng.uniform(0.05, 5.0, (60, steps))
    gain = gains(error)
    pooled = pooled_gain_per_cost(gain, cost)
    expected = [[float(x) for x in pool_adjacent_violators(*row)] for row in zip(gain, cost, strict=True)]
    np.testing.assert_allclose(pooled, expected, rtol=1e-9, atol=1e-12)
    assert np.all(np.diff(pooled, axis=1) <= 0)
    assert np.all(pooled >= 0)
    np.testing.assert_allclose((pooled * cost).sum(axis=1), error[:, 0], rtol=1e-9, atol=1e-12)  # nothing lost
    if steps > 1:
        assert np.any(np.diff(error, axis=1) > 0)  # some later raters are worse
        assert np.any(np.abs(np.diff(pooled, axis=1)) > 1e-6)  # and not everything is pooled


def test_costs_per_step_are_the_same_for_all_items():
    error = np.array([[2.0, 0.3], [1.1, 1.4], [0.6, 0.59]])
    each = pooled_gain_per_cost(gains(error), np.array([0.4, 3.0]))
    all_ = pooled_gain_per_cost(gains(error), np.tile([0.4, 3.0], (3, 1)))
    np.testing.assert_array_equal(each, all_)
    np.testing.assert_allclose(each[0], [1.7 / 0.4, 0.3 / 3.0])
    np.testing.assert_allclose(each[1], [1.1 / 3.4] * 2)
    np.testing.assert_allclose(each[2], [0.6 / 3.4] * 2)


def test_free_steps_are_worth_everything_unless_they_hurt_or_come_later():
    options = {"variance": 1.2, "weak_cost": 0.1}
    first = optimal_policy([[0.8, 0.3]], strong_cost=[0.0, 2.0], **options)
    alone = optimal_policy([0.3], strong_cost=2.0, **options)
    assert first.rates[0].tolist() == [1.0, pytest.approx(alone.rates[0])]
    assert first.error_times_budget == pytest.approx(alone.error_times_budget)
    worse = optimal_policy([[0.3, 0.8]], strong_cost=[0.0, 2.0], **options)  # free, but not for its own sake
    assert worse.rates[0].tolist() == [pytest.approx(alone.rates[0])] * 2
    last = optimal_policy([[0.8, 0.3]], strong_cost=[2.0, 0.0], **options)
    both = optimal_policy([0.8], strong_cost=2.0, **options)
    assert last.rates[0].tolist() == [pytest.approx(both.rates[0])] * 2
    assert last.error_times_budget == pytest.approx(both.error_times_budget)


def test_a_useless_middle_rater_changes_nothing_when_it_is_free_and_hurts_when_it_is_not():
    options = {"variance": 1.2, "weak_cost": 0.1}
    without = optimal_policy([0.8], strong_cost=2.0, **options).error_times_budget
    given = optimal_policy([[0.8, 0.8]], strong_cost=[0.0, 2.0], **options)
    assert given.rates[0, 0] == 1  # what is free and does no harm is taken
    free = given.error_times_budget
    paid = optimal_policy([[0.8, 0.8]], strong_cost=[0.5, 2.0], **options).error_times_budget
    assert free == pytest.approx(without)
    assert paid > without * 1.01


@pytest.mark.parametrize("small", [1e-9, 1e-12, 1e-13])
def test_a_small_last_gain_is_not_lost_next_to_a_large_first_one(by_hand, small):
    """u_1 is given, so the last step's gain is known exactly whatever u_0 is (scores of 0 to 100, say)."""
    u = np.array([[1e4, small], [2e4, 3.0], [10.0, 1.0]])
    words = {"variance": 1e4, "weak_cost": 0.1, "strong_cost": [0.2, 3.0]}
    policy = optimal_policy(u, **words)
    assert policy.rates[0, 1] == pytest.approx(policy.scale * math.sqrt(small / 3.0), rel=1e-6)
    cost, variance = by_hand(policy.rates, u, **words)
    assert policy.error_times_budget == pytest.approx(cost * variance, rel=1e-9)


def test_base_of_a_chain_is_the_last_rater_alone():
    policy = optimal_policy([[0.8, 0.3], [1.9, 0.2]], strong_cost=[0.4, 2.0], variance=1.2, weak_cost=0.1)
    assert policy.base_error_times_budget == pytest.approx(2.0 * 1.2)
    assert policy.mean_rate == pytest.approx(policy.rates[:, 1].mean())
    per_item = optimal_policy(
        [[0.8, 0.3], [1.9, 0.2]],
        strong_cost=[0.4, [2.0, 5.0]],
        variance=1.2,
        weak_cost=0.1,
        weights=[0.7, 0.3],
    )
    assert per_item.base_error_times_budget == pytest.approx((0.7 * 2.0 + 0.3 * 5.0) * 1.2)


# The variance of the chain's estimator, by simulating it

H_MEAN, H_SD = np.array([3.0, -1.5, 6.0]), np.array([0.5, 1.2, 0.8])
NOISE = np.array([[1.4, 0.5], [0.9, 1.1], [2.2, 0.3]])  # of R_0 and R_1; for the second kind R_1 is worse
WEIGHT = np.array([0.45, 0.35, 0.2])


def contributions(rates: np.ndarray, n: int) -> np.ndarray:
    """Δ = R_0 + Σ_k (R_k − R_{k−1}) ξ_k / q_k, with ξ_k = 1{r < q_k} from the replayable draw."""
    rng = np.random.default_rng(12)
    x = rng.choice(3, size=n, p=WEIGHT)
    h = H_MEAN[x] + H_SD[x] * rng.standard_normal(n)
    raters = [h + NOISE[x, k] * rng.standard_normal(n) for k in range(2)] + [h]
    r, delta = uniform(np.arange(n), seed=5), raters[0].copy()
    for k in (1, 2):
        q = rates[x, k - 1]
        delta += (raters[k] - raters[k - 1]) * (r < q) / q
    return delta


def test_the_chains_variance_is_what_its_estimator_has_and_the_check_can_tell():
    theta = float(WEIGHT @ H_MEAN)
    V = float(WEIGHT @ (H_SD**2 + (H_MEAN - theta) ** 2))
    options = {"variance": V, "weak_cost": 0.3, "weights": WEIGHT}
    policy = optimal_policy(NOISE**2, strong_cost=[0.5, 4.0], **options)
    assert np.any(policy.rates[:, 0] > policy.rates[:, 1])  # a real chain, and a pooled item
    assert np.any(policy.rates[:, 0] == policy.rates[:, 1])
    delta = contributions(policy.rates, 200_000)
    squares = (delta - theta) ** 2

    def agrees(variance: float) -> bool:
        return abs(variance - squares.mean()) <= Z * squares.std(ddof=1) / math.sqrt(squares.size)

    assert abs(delta.mean() - theta) <= Z * delta.std(ddof=1) / math.sqrt(delta.size)  # unbiased
    assert agrees(policy.variance_per_item)
    own = NOISE**2 + np.column_stack([NOISE[:, 1] ** 2, np.zeros(3)])  # E[(R_k − R_{k−1})²] instead of the gain
    assert not agrees(V + float(WEIGHT @ (own * (1 / policy.rates - 1)).sum(axis=1)))
    assert not agrees(V + float(WEIGHT @ (gains(NOISE**2) / policy.rates).sum(axis=1)))
