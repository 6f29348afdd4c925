"""The closed forms against simulation, exhaustive search and the solver."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ratewise.core.formulas import (
    bernoulli_bound,
    error_ratio,
    error_times_budget,
    expected_error,
    misjudged_variance_bound,
    misjudged_variance_bound_additive,
    optimal_uniform_rate,
    optimal_uniform_rate_whole_items,
    spend_for,
)
from ratewise.core.policy import optimal_policy
from ratewise.errors import InputError

from ..bounds import FALSE_ALARM

Z = float(stats.norm.isf(FALSE_ALARM / 2))

# J of any policy, by simulating the estimator itself

X_WEIGHT = np.array([0.5, 0.3, 0.2])
H_MEAN, H_SD = np.array([2.0, 5.5, -1.0]), np.array([0.7, 1.3, 0.4])  # off zero
BIAS, NOISE = np.array([0.1, -0.9, 0.3]), np.array([0.3, 1.1, 0.5])  # G = H + bias + noise
RATES = np.array([0.15, 0.8, 0.35])
C_G, C_H = 0.3, 2.2
ERROR = BIAS**2 + NOISE**2
MEAN = float(X_WEIGHT @ H_MEAN)
V = float(X_WEIGHT @ (H_SD**2 + (H_MEAN - MEAN) ** 2))


def squared_errors_times_budget(rng: np.random.Generator, trials: int, items: int) -> np.ndarray:
    """One squared error × money per trial, the estimator written out: mean of G + (H − G) ξ/π."""
    x = rng.choice(3, size=(trials, items), p=X_WEIGHT)
    h = H_MEAN[x] + H_SD[x] * rng.standard_normal(x.shape)
    g = h + BIAS[x] + NOISE[x] * rng.standard_normal(x.shape)
    xi = rng.random(x.shape) < RATES[x]
    estimate = (g + (h - g) * xi / RATES[x]).mean(axis=1)
    return (estimate - MEAN) ** 2 * items * (C_G + C_H * float(X_WEIGHT @ RATES))


def agrees(J: float, sample: np.ndarray) -> bool:
    """Within the simulation's own standard error, at the stated false-alarm rate (two-sided, normal)."""
    return abs(J - sample.mean()) <= Z * sample.std(ddof=1) / math.sqrt(sample.size)


def test_J_is_what_the_estimator_does_and_the_check_can_tell():
    sample = squared_errors_times_budget(np.random.default_rng(20), trials=20_000, items=60)
    words = {"error": ERROR, "variance": V, "weak_cost": C_G, "strong_cost": C_H, "weights": X_WEIGHT}
    assert agrees(error_times_budget(RATES, **words), sample)
    cost = C_G + C_H * float(X_WEIGHT @ RATES)
    for broken in (
        cost * (V + X_WEIGHT @ (ERROR / RATES)),  # the −1 forgotten
        cost * (V + X_WEIGHT @ (np.sqrt(ERROR) * (1 / RATES - 1))),
        (cost - C_G) * (V + X_WEIGHT @ (ERROR * (1 / RATES - 1))),  # weak ratings for nothing
        error_times_budget(RATES, **{**words, "weights": None}),
    ):
        assert not agrees(float(broken), sample)


def test_J_of_rate_one_pays_for_the_weak_rater_too():
    words = {"variance": 1.7, "weak_cost": 0.2, "strong_cost": 3.0}
    assert error_times_budget([1.0, 1.0], error=[4.0, 0.3], **words) == pytest.approx(3.2 * 1.7)


@pytest.mark.parametrize("rate", [0.0, 1e-310, 1e-300])
def test_an_item_without_error_adds_nothing_however_small_its_rate(rate):
    words = {"variance": 1.7, "weak_cost": 0.2, "strong_cost": 3.0}
    J = error_times_budget([rate, 0.5], error=[0.0, 0.6], **words)
    assert pytest.approx((0.2 + 3.0 * 0.25) * (1.7 + 0.3)) == J


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rates": [0.0, 0.5]}, r"rates must be in \(0, 1\]"),
        ({"rates": [1.2, 0.5]}, r"rates must be in \(0, 1\]"),
        ({"rates": [math.nan, 0.5]}, "rates must be finite; entry 0 is nan"),
        ({"error": [0.2, -1.0]}, "error must be at least 0; entry 1 is -1"),
        ({"variance": 0}, "variance must be above 0; got 0"),
        ({"weak_cost": -0.5}, r"weak_cost must be at least 0; got -0\.5"),
        ({"error": [0.2, 0.3, 0.4]}, "rates|error"),
        ({"weights": [1.0, 2.0, 3.0]}, "weights"),
        ({"weights": [0.0, 0.0]}, "weights"),
    ],
)
def test_J_refuses_what_it_cannot_use(change, message):
    words = {"rates": [0.3, 0.5], "error": [0.2, 0.3], "variance": 1.0, "weak_cost": 0.1, "strong_cost": 1.0}
    with pytest.raises(InputError, match=message):
        error_times_budget(**{**words, **change})


# Uniform rates


@settings(derandomize=True, max_examples=100, deadline=None, database=None)
@given(st.floats(0.01, 3.0), st.floats(0.01, 2.0), st.floats(0.005, 2.0), st.floats(0.1, 5.0))
def test_no_uniform_rate_on_a_fine_grid_beats_the_closed_form(M, variance, c_g, c_h):
    best = optimal_uniform_rate(M, variance=variance, weak_cost=c_g, strong_cost=c_h)
    p = np.append(np.linspace(0.0005, 1, 4000), best.rate)
    J = (c_g + c_h * p) * (variance + M * (1 / p - 1))
    assert best.error_times_budget == pytest.approx(J.min(), rel=1e-12)
    assert best.error_times_budget == pytest.approx(J[-1], rel=1e-12)
    assert best.error_ratio == pytest.approx(J[-1] / (c_h * variance))


def test_the_ends_of_the_uniform_rate():
    words = {"variance": 0.8, "weak_cost": 0.1, "strong_cost": 1.6}
    perfect = optimal_uniform_rate(0.0, **words)
    assert (perfect.rate, perfect.error_times_budget) == (0.0, pytest.approx(0.1 * 0.8))
    edge = 0.8 * 1.6 / 1.7  # where p* reaches 1
    assert optimal_uniform_rate(edge * (1 - 1e-12), **words).rate == pytest.approx(1, abs=1e-9)
    assert optimal_uniform_rate(edge * (1 + 1e-12), **words).rate == 1
    assert optimal_uniform_rate(0.3, variance=0.8, weak_cost=0.1, strong_cost=0.0).rate == 1


def exhaustive(M: float, variance: float, c_g: float, c_h: float, B: float) -> float:
    """Least error over every whole number of items, a fine grid of rates, and strong ratings alone."""
    best = variance / math.floor(B / c_h)
    for k in range(1, math.floor(B / c_g) + 1):
        spendable = (B - k * c_g) / (k * c_h)
        p = np.append(np.linspace(0.002, 1, 500), min(1.0, spendable))
        p = p[(p > 0) & (p <= spendable * (1 + 1e-12))]
        if p.size:
            best = min(best, float(((variance - M + M / p) / k).min()))
    return best


def test_whole_items_against_every_possibility():
    """Prop. 3 (corrected), 150 worlds with V above and below M, small and larger budgets."""
    rng, kinds = np.random.default_rng(3), set()
    for _ in range(150):
        c_h = float(rng.uniform(0.5, 3.0))
        c_g = c_h * float(rng.uniform(0.02, 0.6))
        B, variance = c_h * float(rng.uniform(1.0, 12.0)), float(rng.uniform(0.2, 2.0))
        M = variance * float(rng.uniform(0.0, 1.4))
        words = {"variance": variance, "weak_cost": c_g, "strong_cost": c_h, "budget": B}
        found = optimal_uniform_rate_whole_items(M, **words)
        assert found.error == pytest.approx(exhaustive(M, variance, c_g, c_h, B), rel=1e-9)
        assert found.items == int(found.items)
        alone = found.rate == 1
        kinds.add(alone)
        assert found.items * ((0 if alone else c_g) + c_h * found.rate) <= B * (1 + 1e-12)
        assert found.error == pytest.approx((variance - M + M / found.rate) / found.items)
    assert kinds == {True, False}


def test_the_papers_own_root_for_whole_items_would_be_caught():
    """k = B / (c_g (1 − r)), the other root of the quadratic, is far from the exhaustive best."""
    M, variance, c_g, c_h, B = 0.05, 1.0, 0.1, 1.0, 40.0
    r = math.sqrt(c_h * M / (c_g * (variance - M)))
    right = exhaustive(M, variance, c_g, c_h, B)
    k = min(max(round(B / (c_g * (1 - r))), math.ceil(B / (c_g + c_h))), math.ceil(B / c_g) - 1)
    p = (B - k * c_g) / (k * c_h)
    assert (variance - M + M / p) / k > 1.05 * right
    found = optimal_uniform_rate_whole_items(M, variance=variance, weak_cost=c_g, strong_cost=c_h, budget=B)
    assert found.error == pytest.approx(right)


def test_whole_items_agree_with_themselves_when_base_wins():
    found = optimal_uniform_rate_whole_items(3.0, variance=1.0, weak_cost=0.9, strong_cost=1.0, budget=5.7)
    assert (found.rate, found.items, found.error) == (1.0, 5, pytest.approx(0.2))
    assert found.error_times_budget == pytest.approx(found.error * 5.7)


def test_whole_items_refuse_a_budget_below_one_strong_rating():
    with pytest.raises(InputError, match=r"budget 1\.9 is too small for one strong rating \(2\)"):
        optimal_uniform_rate_whole_items(0.1, variance=1.0, weak_cost=0.1, strong_cost=2.0, budget=1.9)
    with pytest.raises(InputError, match="costs above 0"):
        optimal_uniform_rate_whole_items(0.1, variance=1.0, weak_cost=0.0, strong_cost=2.0, budget=9.0)


# Bounds


@pytest.mark.parametrize("cost_ratio", [0.003, 0.04, 0.11, 0.3])
@pytest.mark.parametrize("M", [0.002, 0.05, 0.13, 0.2, 0.24, 0.4, 0.9])
def test_the_bernoulli_bound_is_reached_when_errors_are_0_or_1(M, cost_ratio):
    bound = bernoulli_bound(M, variance=0.24, cost_ratio=cost_ratio)
    words = {"variance": 0.24, "weak_cost": 2.5 * cost_ratio, "strong_cost": 2.5}
    reached = optimal_policy([1.0, 0.0], weights=[M, 1 - M], **words)
    assert reached.error_ratio == pytest.approx(bound, rel=1e-9)
    assert (reached.rates[0] < 1) == (M + cost_ratio < 0.24)  # the two branches; the paper prints V + c
    for low, high in ((0.0, 0.95), (0.0, 0.99), (0.3, 1.0), (0.9, 1.0)):  # other errors with the same mean
        u = np.array([low * M, M + high * (1 - M)])
        weights = [u[1] - M, M - u[0]]
        assert optimal_policy(u, weights=weights, **words).error_ratio >= bound * (1 - 1e-12)
    inside = optimal_policy([0.5 * M, M + 0.5 * (1 - M)], weights=[0.5 * (1 - M), 0.5 * M], **words)
    assert inside.error_ratio > bound * (1 + 1e-6)


def test_the_bernoulli_bound_with_free_weak_ratings_is_a_limit():
    for M in (0.03, 0.2):
        limit = bernoulli_bound(M, variance=0.24, cost_ratio=0.0)
        assert limit == pytest.approx(M**2 / 0.24)
        for c in (1e-6, 1e-8, 1e-10):
            near = optimal_policy([1.0, 0.0], weights=[M, 1 - M], variance=0.24, weak_cost=c, strong_cost=1.0)
            assert 0 < near.error_ratio - limit <= 3 * math.sqrt(c)
    above = optimal_policy([1.0, 0.0], weights=[0.7, 0.3], variance=0.24, weak_cost=0.0, strong_cost=1.0)
    assert above.error_ratio == pytest.approx(bernoulli_bound(0.7, variance=0.24, cost_ratio=0.0))


def rise_of_variance(u: np.ndarray, wrong: np.ndarray, right: np.ndarray) -> float:
    return float(np.mean(u * (1 / wrong - 1 / right)))


def test_misjudged_rates_never_exceed_the_bound():
    """Prop. 6 with δ = E[(1/π̃ − 1/π*)⁺]. With the signed mean, as the paper prints it, the bound is false."""
    rng, signed_fails = np.random.default_rng(6), 0
    for _ in range(300):
        u = rng.gamma(0.6, 2.0, 30) + 1e-3
        right = optimal_policy(u, variance=2.0 * u.mean(), weak_cost=0.2, strong_cost=1.7).rates
        wrong = np.clip(right * np.exp(rng.normal(0.2, 0.8, 30)), 0.01, 1)
        excess = 1 / wrong - 1 / right
        rise = rise_of_variance(u, wrong, right)
        delta = float(np.maximum(excess, 0).mean())
        bound = misjudged_variance_bound(largest_squared_error=u.max(), inverse_rate_excess=delta)
        assert rise <= bound * (1 + 1e-12)
        signed_fails += rise > max(0.0, u.max() * float(excess.mean()))
    assert signed_fails > 0


def test_the_bound_on_misjudged_rates_is_reached_and_a_negative_excess_is_refused():
    u, right, wrong = np.full(4, 2.3), np.full(4, 0.5), np.full(4, 0.4)
    bound = misjudged_variance_bound(largest_squared_error=2.3, inverse_rate_excess=0.5)
    assert rise_of_variance(u, wrong, right) == pytest.approx(bound)
    with pytest.raises(InputError, match=r"inverse_rate_excess.*-4"):
        misjudged_variance_bound(largest_squared_error=2.3, inverse_rate_excess=-4.0)


@pytest.mark.parametrize("size", [1e-3, 1e-5])
def test_additive_misjudgements_stay_below_the_corollary_to_first_order(size):
    rng = np.random.default_rng(8)
    for _ in range(100):
        u = rng.uniform(0.2, 1.5, 40)
        gamma, d_gamma = float(rng.uniform(0.2, 0.7)), size * float(rng.normal())
        d_u = size * rng.normal(size=40)
        rise = rise_of_variance(u, (gamma + d_gamma) * np.sqrt(u + d_u), gamma * np.sqrt(u))
        bound = misjudged_variance_bound_additive(
            largest_squared_error=u.max(),
            scale=gamma,
            least_error=u.min(),
            scale_error=d_gamma,
            mean_error_error=float(np.abs(d_u).mean()),
        )
        assert rise <= bound * (1 + 50 * size)  # what is left is of second order


@pytest.mark.parametrize(("d_gamma", "d_u"), [(-1e-6, 0.0), (0.0, -1e-6), (-1e-6, -2e-6)])
def test_the_corollary_is_reached_by_a_constant_error(d_gamma, d_u):
    u, gamma = np.full(3, 0.7), 0.4
    rise = rise_of_variance(u, (gamma + d_gamma) * np.sqrt(u + d_u), gamma * np.sqrt(u))
    bound = misjudged_variance_bound_additive(
        largest_squared_error=0.7, scale=gamma, least_error=0.7, scale_error=d_gamma, mean_error_error=abs(d_u)
    )
    assert rise == pytest.approx(bound, rel=1e-4)


# The inverse problem


@pytest.mark.parametrize(("J", "se"), [(0.37, 0.02), (41.0, 3.5)])
def test_the_money_for_a_standard_error_gives_that_standard_error(J, se):
    spend = spend_for(J, target_se=se)
    assert spend == pytest.approx(J / se**2)
    assert expected_error(J, budget=spend) == pytest.approx(se**2)
    assert error_ratio(J, 2 * J) == pytest.approx(0.5)


def test_the_inverse_problem_agrees_with_the_policy():
    policy = optimal_policy(ERROR, variance=V, weak_cost=C_G, strong_cost=C_H, weights=X_WEIGHT, target_se=0.11)
    assert policy.spend == pytest.approx(spend_for(policy.error_times_budget, target_se=0.11))
    with pytest.raises(InputError, match="target_se must be above 0; got 0"):
        spend_for(1.0, target_se=0.0)
