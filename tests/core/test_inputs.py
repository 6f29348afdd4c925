"""Choosing the inputs: closed forms against a general-purpose optimiser, and against the estimator itself."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import minimize

from ratewise.core.allocation import choose_inputs
from ratewise.core.formulas import optimal_uniform_rate
from ratewise.core.policy import optimal_policy
from ratewise.errors import InputError, PolicyError

from ..worlds import unlike_strata

TOLERANCE = 1e-6  # relative
RESTARTS = 12


# Brute force: every T and π moved on its own, for every way of buying, from many starts


def variance_of(T, pi, weak, P, a, u):
    return float((P**2 * (a + np.where(weak, u * (1 / pi - 1), 0.0)) / T).sum())


def cost_of(T, pi, weak, c_g, c_h):
    return float((T * np.where(weak, c_g + c_h * pi, c_h)).sum())


def brute(P, a, u, c_g, c_h, *, budget, N=None, floor=1e-9, least=1e-6, alone=True, rates=None, seed=0):
    """The least variance for the budget over all T and π."""
    S, rng, best = P.size, np.random.default_rng([seed, 77]), math.inf
    most = np.full(S, 1e9) if N is None else N
    ways = itertools.product([True, False], repeat=S) if alone and rates is None else [(True,) * S]
    for way in ways:
        weak = np.array(way)

        def parts(x, weak=weak):
            return np.exp(x[:S]), np.exp(x[S:]) if rates is None else rates

        def spent(x, weak=weak):
            return math.log(budget) - math.log(cost_of(*parts(x), weak, c_g, c_h))

        def error(x, weak=weak):
            return math.log(variance_of(*parts(x), weak, P, a, u))

        bounds = [(math.log(least), math.log(n)) for n in most] + [(math.log(floor), 0.0)] * S
        for _ in range(RESTARTS):
            T = np.minimum(np.exp(rng.normal(size=S)) * budget / S / 2, most)
            x = np.concatenate([np.log(T), -rng.exponential(size=S)])
            x = np.clip(x, [b[0] for b in bounds], [b[1] for b in bounds])
            found = minimize(
                error, x, bounds=bounds, constraints={"type": "ineq", "fun": spent}, method="SLSQP",
                options={"maxiter": 500, "ftol": 1e-13},
            )  # fmt: skip
            if found.success and spent(found.x) > -1e-8:
                best = min(best, math.exp(found.fun))
    return best


def checked(choice, P, a, u, c_g, c_h):
    """The record's own numbers, written out again."""
    T, pi, weak = choice.items, choice.rates, choice.buys_weak
    assert choice.spend == pytest.approx(cost_of(T, pi, weak, c_g, c_h), rel=1e-9)
    variance = variance_of(T, pi, weak, P, a, u)
    assert choice.error_times_budget == pytest.approx(choice.spend * variance, rel=1e-9)
    assert choice.sampling.sum() == pytest.approx(1.0)
    return variance


@pytest.mark.parametrize("seed", range(6))
def test_the_joint_choice_is_as_good_as_brute_force(seed):
    P, a, u, c_g, c_h = unlike_strata(seed)
    found = choose_inputs(a, u, probabilities=P, weak_cost=c_g, strong_cost=c_h, budget=100.0)
    assert found.spend == pytest.approx(100.0)
    ours = checked(found, P, a, u, c_g, c_h)
    best = brute(P, a, u, c_g, c_h, budget=100.0, seed=seed)
    assert ours <= best * (1 + TOLERANCE)
    assert ours >= best * (1 - 1e-4)  # the optimiser came near: it was a test


@pytest.mark.parametrize("seed", range(6))
def test_finite_strata_floor_and_least_are_as_good_as_brute_force(seed):
    P, a, u, c_g, c_h = unlike_strata(seed)
    rng = np.random.default_rng(seed)
    N = rng.integers(8, 120, 3).astype(float)
    budget = float(rng.uniform(0.3, 0.9)) * c_h * N.sum()
    floor = [0.0, 0.3][seed % 2]
    found = choose_inputs(
        a, u, probabilities=P, sizes=N, weak_cost=c_g, strong_cost=c_h, budget=budget, floor=floor, least=5.0
    )
    ours = checked(found, P, a, u, c_g, c_h)
    assert np.all(found.items <= N * (1 + 1e-9))
    assert np.all(found.items >= 5 * (1 - 1e-9))
    assert np.all(found.rates >= floor * (1 - 1e-9))
    best = brute(P, a, u, c_g, c_h, budget=budget, N=N, floor=max(floor, 1e-9), least=5.0, seed=seed)
    assert ours <= best * (1 + TOLERANCE)
    assert found.spend == pytest.approx(budget, rel=1e-6)  # what is left over where strata end goes to the others


@pytest.mark.parametrize("seed", range(3))
def test_prop_7_with_prices_is_as_good_as_brute_force(seed):
    """Rates given: Q ∝ P sqrt(ν/k)."""
    P, a, u, c_g, c_h = unlike_strata(seed)
    pi = np.random.default_rng(seed).uniform(0.1, 1.0, 3)
    found = choose_inputs(a, u, probabilities=P, weak_cost=c_g, strong_cost=c_h, rates=pi, budget=100.0)
    nu, k = a + (1 / pi - 1) * u, c_g + c_h * pi
    q = P * np.sqrt(nu / k)
    assert found.sampling == pytest.approx(q / q.sum())
    assert found.error_times_budget == pytest.approx(float((P * np.sqrt(nu * k)).sum()) ** 2)
    ours = checked(found, P, a, u, c_g, c_h)
    assert ours <= brute(P, a, u, c_g, c_h, budget=100.0, rates=pi, seed=seed) * (1 + TOLERANCE)


def test_prop_7_as_printed():
    """One rate and uncentred second moments: Q ∝ P sqrt(E[H² + (1/π − 1)(H − G)²])."""
    P, second, u = np.array([0.2, 0.5, 0.3]), np.array([0.9, 4.0, 1.5]), np.array([0.3, 0.2, 0.9])
    nu = second + (1 / 0.4 - 1) * u
    q = P * np.sqrt(nu)
    found = choose_inputs(second, u, probabilities=P, weak_cost=0.1, strong_cost=1.0, rates=0.4)
    assert found.sampling == pytest.approx(q / q.sum())
    assert found.items is None
    assert found.expected_se is None
    assert found.spend is None


@pytest.mark.parametrize("seed", range(4))
def test_a_target_is_the_inverse_of_a_budget(seed):
    P, a, u, c_g, c_h = unlike_strata(seed)
    N = np.array([40.0, 90.0, 500.0])
    for keys in ({}, {"sizes": N, "least": 3.0}, {"sizes": N, "estimand": "pool"}):
        words = {"probabilities": P, "weak_cost": c_g, "strong_cost": c_h, **keys}
        by_money = choose_inputs(a, u, budget=80.0, **words)
        by_target = choose_inputs(a, u, target_se=by_money.expected_se, **words)
        assert by_target.spend == pytest.approx(80.0, rel=1e-5)
        assert by_target.expected_se == pytest.approx(by_money.expected_se, rel=1e-9)


# Rates that follow u(x) within strata


@pytest.mark.parametrize("seed", range(4))
def test_u_within_strata_is_as_good_as_brute_force(seed):
    """Two strata of three items' kinds each; a T for each stratum and a rate for each kind."""
    rng = np.random.default_rng([seed, 6])
    u = rng.gamma(0.7, 0.8, (2, 3)) + 1e-3
    a = u.mean(axis=1) * rng.uniform(0.8, 4.0, 2)
    P, c_g, c_h, floor = np.array([0.35, 0.65]), 0.07, 1.0, [0.0, 0.15][seed % 2]
    N = [np.full(2, np.inf), np.array([25.0, 400.0])][seed // 2]
    sizes = None if seed < 2 else N
    words = {"probabilities": P, "sizes": sizes, "weak_cost": c_g, "strong_cost": c_h, "floor": floor, "budget": 40.0}
    found = choose_inputs(a, list(u), strong_alone=False, **words)
    pi = np.clip(found.scales[:, None] * np.sqrt(u), max(floor, 1e-9), 1.0)
    assert found.rates == pytest.approx(pi.mean(axis=1))

    def parts(x):
        return np.exp(x[:2]), np.exp(x[2:]).reshape(2, 3)

    def error(T, pi):
        return math.log((P**2 * (a + (u * (1 / pi - 1)).mean(axis=1)) / T).sum())

    def spent(T, pi):
        return math.log(40.0) - math.log((T * (c_g + c_h * pi.mean(axis=1))).sum())

    assert spent(found.items, pi) == pytest.approx(0.0, abs=1e-9)
    bounds = [(0.0, math.log(min(n, 1e6))) for n in N] + [(math.log(max(floor, 1e-6)), 0.0)] * 6
    best = math.inf
    for _ in range(30):
        x = [rng.uniform(low, min(high, 6.0)) for low, high in bounds]
        tried = minimize(
            lambda x: error(*parts(x)), x, bounds=bounds, method="SLSQP", options={"maxiter": 600, "ftol": 1e-14},
            constraints={"type": "ineq", "fun": lambda x: spent(*parts(x))},
        )  # fmt: skip
        if tried.success and spent(*parts(tried.x)) > -1e-8:
            best = min(best, tried.fun)
    assert error(found.items, pi) <= best + TOLERANCE
    assert error(found.items, pi) >= best - 1e-4
    one_rate = choose_inputs(a, u.mean(axis=1), strong_alone=False, **words)
    assert found.expected_se <= one_rate.expected_se * (1 + 1e-9)


def test_one_stratum_with_u_is_the_optimal_policy():
    u = np.random.default_rng(3).gamma(0.5, 1.0, 200)
    policy = optimal_policy(u, variance=1.5, weak_cost=0.05, strong_cost=1.0, budget=50.0)
    found = choose_inputs([1.5], [u], weak_cost=0.05, strong_cost=1.0, budget=50.0)
    assert (found.scales[0], found.items[0]) == pytest.approx((policy.scale, policy.items))
    limited = choose_inputs([1.5], [u], sizes=[100], weak_cost=0.05, strong_cost=1.0, budget=50.0)
    policy = optimal_policy(u, variance=1.5, weak_cost=0.05, strong_cost=1.0, budget=50.0, pool_size=100)
    assert (limited.scales[0], limited.expected_se) == pytest.approx((policy.scale, policy.expected_se))


# Limiting cases of the docstring


def test_one_stratum_is_the_best_single_rate():
    found = choose_inputs([1.0], [0.3], weak_cost=0.1, strong_cost=1.0, budget=50.0)
    known = optimal_uniform_rate(0.3, variance=1.0, weak_cost=0.1, strong_cost=1.0)
    assert found.rates[0] == pytest.approx(known.rate)
    assert found.error_times_budget == pytest.approx(known.error_times_budget)


def test_strong_ratings_alone_are_neyman():
    P, a = np.array([0.7, 0.2, 0.1]), np.array([0.05, 1.0, 4.0])
    found = choose_inputs(a, a * 2, probabilities=P, weak_cost=0.1, strong_cost=1.0, budget=50.0)
    assert not found.buys_weak.any()
    assert np.all(found.rates == 1)
    assert found.sampling == pytest.approx(P * np.sqrt(a) / (P * np.sqrt(a)).sum())
    assert found.error_times_budget == pytest.approx((P * np.sqrt(a)).sum() ** 2)


def test_strong_ratings_alone_only_where_the_weak_rater_does_not_pay():
    found = choose_inputs([1.0, 1.0], [0.05, 0.95], weak_cost=0.1, strong_cost=1.0, budget=50.0)
    assert found.buys_weak.tolist() == [True, False]
    must = choose_inputs([1.0, 1.0], [0.05, 0.95], weak_cost=0.1, strong_cost=1.0, budget=50.0, strong_alone=False)
    assert must.buys_weak.all()
    assert must.rates[1] == 1.0
    assert must.expected_se > found.expected_se


def test_a_perfect_weak_rater_gets_the_floor():
    found = choose_inputs([1.0, 2.0], [0.0, 0.5], weak_cost=0.1, strong_cost=1.0, budget=50.0, floor=0.05)
    assert found.rates[0] == pytest.approx(0.05)
    none = choose_inputs([1.0, 2.0], [0.0, 0.5], weak_cost=0.1, strong_cost=1.0, budget=50.0)
    assert 0 < none.rates[0] < 1e-300


def test_a_at_most_u_is_rated_always():
    found = choose_inputs([1.0, 1.0], [1.0, 3.0], weak_cost=0.1, strong_cost=1.0, budget=9.0, strong_alone=False)
    assert np.all(found.rates == 1.0)


def test_free_weak_ratings_look_at_everything_there_is():
    with pytest.raises(PolicyError, match="stratum 0 costs nothing"):
        choose_inputs([1.0, 2.0], [0.1, 0.5], weak_cost=0.0, strong_cost=1.0, budget=50.0)
    N = np.array([300.0, 100.0])
    found = choose_inputs([1.0, 2.0], [0.1, 0.5], sizes=N, weak_cost=0.0, strong_cost=1.0, budget=50.0)
    assert found.items == pytest.approx(N)
    assert found.spend == pytest.approx(50.0)
    assert found.rates == pytest.approx(np.sqrt([0.1, 0.5]) * 50 / (np.sqrt([0.1, 0.5]) @ N))  # rates ∝ sqrt(u)
    floored = choose_inputs([1.0, 2.0], [0.1, 0.5], weak_cost=0.0, strong_cost=1.0, budget=50.0, floor=0.1)
    assert floored.rates == pytest.approx([0.1, 0.1])


def test_free_strong_ratings_are_always_taken():
    found = choose_inputs([1.0, 2.0], [0.1, 0.5], weak_cost=0.2, strong_cost=0.0, budget=5.0, strong_alone=False)
    assert np.all(found.rates == 1.0)
    assert found.spend == pytest.approx(5.0)
    pool = choose_inputs([1.0, 2.0], [0.1, 0.5], sizes=[9, 9], weak_cost=0.2, strong_cost=0.0, budget=5.0)
    assert not pool.buys_weak.any()
    assert pool.used_up.all()
    assert pool.spend == 0.0


def test_a_pool_that_is_rated_whole_has_no_error():
    found = choose_inputs(
        [1.0, 2.0], [0.1, 0.5], sizes=[9, 9], weak_cost=0.2, strong_cost=1.0, budget=99.0, estimand="pool"
    )
    assert found.used_up.all()
    assert found.spend == pytest.approx(18.0)
    assert found.expected_se == pytest.approx(0.0)


def test_a_stratum_without_variance_is_looked_at_only_as_told():
    words = {"probabilities": [0.5, 0.5], "weak_cost": 0.2, "strong_cost": 1.0, "budget": 20.0}
    assert choose_inputs([0.0, 1.0], [0.0, 0.3], **words).items[0] == 0.0
    assert choose_inputs([0.0, 1.0], [0.0, 0.3], least=2.0, **words).items[0] == 2.0


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"variance": [1.0]}, "one entry per stratum"),
        ({"probabilities": [0.5, 0.6]}, "sum to 1"),
        ({"rates": [0.5, 0.0]}, r"rates must be in \(0, 1\]"),
        ({"sizes": [0, 3]}, "stratum 0 has none"),
        ({"stratified": False}, "also need the strata's means"),
        ({"target_se": 0.1}, "not both"),
        ({"budget": None, "sizes": [5, 5]}, "need a budget or a target"),
        ({"least": 300.0}, "too small for the fewest items"),
        ({"variance": [0.0, 0.0]}, "no stratum has any variance"),
        ({"budget": None, "target_se": 0.01, "sizes": [5, 5]}, "cannot be reached"),
    ],
)
def test_refusals(keys, message):
    words = {"variance": [1.0, 2.0], "error": [0.1, 0.5], "weak_cost": 0.1, "strong_cost": 1.0, "budget": 50.0}
    with pytest.raises(InputError, match=message):
        choose_inputs(**{**words, **keys})


# The estimator itself: the variance that was promised is the one that comes

TRIALS = 20_000
# The sample variance of TRIALS near-normal estimates is off by more than 4.5 % with probability < 1e-5.
NEAR = 0.045


def made(rng, mean, spread, bias, noise, n):
    """Ratings of n items (trials × n) of one stratum."""
    h = mean + spread * rng.normal(size=n)
    return h, h + bias + noise * rng.normal(size=n)


MEANS, SPREADS, BIASES, NOISES = (
    np.array([1.0, 3.0, -2.0]),
    np.array([0.3, 1.0, 2.5]),
    np.array([0.1, 0.0, -0.4]),
    np.array([0.2, 0.9, 0.6]),
)
SHARES = np.array([0.6, 0.3, 0.1])
ERRORS = BIASES**2 + NOISES**2


def delta_of(rng, s, rate, n):
    h, g = made(rng, MEANS[s], SPREADS[s], BIASES[s], NOISES[s], (TRIALS, n))
    return g + (h - g) * (rng.random((TRIALS, n)) < rate) / rate


def test_the_promised_variance_of_fixed_numbers_comes():
    found = choose_inputs(SPREADS**2, ERRORS, probabilities=SHARES, weak_cost=0.1, strong_cost=1.0, budget=60.0)
    T = np.round(found.items).astype(int)
    rng = np.random.default_rng(11)
    values = sum(SHARES[s] * delta_of(rng, s, found.rates[s], T[s]).mean(axis=1) for s in range(3))
    promised = variance_of(T, found.rates, found.buys_weak, SHARES, SPREADS**2, ERRORS)
    assert promised == pytest.approx(found.expected_se**2, rel=0.05)
    assert values.var() == pytest.approx(promised, rel=NEAR)
    truth = float(SHARES @ MEANS)
    assert abs(values.mean() - truth) < 4.5 * math.sqrt(promised / TRIALS)
    between = float(SHARES @ (MEANS - truth) ** 2)
    assert values.var() < promised + 0.2 * between / T.sum()  # differences between strata add nothing


def test_the_promised_variance_of_independent_draws_comes():
    """Self-normalised weights P/Q: what counts is E[(H−θ)²|s]; Var(H|s) alone promises too much."""
    words = {"probabilities": SHARES, "weak_cost": 0.1, "strong_cost": 1.0, "budget": 600.0}
    found = choose_inputs(SPREADS**2, ERRORS, stratified=False, means=MEANS, **words)
    T = int(found.items.sum())
    rng = np.random.default_rng(12)
    values = np.empty(TRIALS // 4)
    for i in range(values.size):
        s = rng.choice(3, T, p=found.sampling)
        h = MEANS[s] + SPREADS[s] * rng.normal(size=T)
        g = h + BIASES[s] + NOISES[s] * rng.normal(size=T)
        delta = g + (h - g) * (rng.random(T) < found.rates[s]) / found.rates[s]
        values[i] = np.average(delta, weights=found.weights[s])
    promised = found.expected_se**2 * found.items.sum() / T
    assert values.var() == pytest.approx(promised, rel=2 * NEAR)
    alone = choose_inputs(SPREADS**2, ERRORS, **words)
    assert alone.expected_se**2 < 0.8 * promised
    assert values.var() > 1.1 * alone.expected_se**2
