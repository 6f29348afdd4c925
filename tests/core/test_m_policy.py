"""Policies for M-estimators against a general-purpose optimiser, on small discrete worlds."""

import numpy as np
import pytest
from scipy import optimize, special

from ratewise.core.m_estimation import influence, m_policy
from ratewise.core.policy import optimal_policy
from ratewise.errors import InputError

from ..worlds import few_points


def trace(rates, X, p, own, error, W, A):
    """tr(A W⁻¹ E[x xᵀ (own + error (1/π − 1))] W⁻¹ Aᵀ), written out."""
    inverse = np.linalg.inv(W)
    meat = sum(p[i] * (own[i] + error[i] * (1 / rates[i] - 1)) * np.outer(X[i], X[i]) for i in range(p.size))
    return float(np.trace(A @ inverse @ meat @ inverse @ A.T))


@pytest.mark.parametrize("family", ["linear", "logistic", "poisson"])
@pytest.mark.parametrize("weighting", ["unit", "contrast", "trace"])
@pytest.mark.parametrize("seed", range(3))
def test_no_rates_are_better(family, weighting, seed):
    d = 2 + seed % 2
    X, p, own, error, W = few_points(seed, family, d)
    A = {"unit": np.eye(d), "contrast": np.eye(d)[1:2] - np.eye(d)[:1], "trace": np.diag(np.arange(1.0, d + 1))}[
        weighting
    ]
    c_g, c_h = 0.05, 1.3
    policy = m_policy(
        X, error, curvature=W, second_moment=own, weights=p, contrasts=None if weighting == "unit" else A,
        weak_cost=c_g, strong_cost=c_h,
    )  # fmt: skip

    def J(z):
        rates = special.expit(z)
        return (c_g + c_h * p @ rates) * trace(rates, X, p, own, error, W, A)

    at_policy = (c_g + c_h * p @ policy.rates) * trace(policy.rates, X, p, own, error, W, A)
    assert at_policy == pytest.approx(policy.error_times_budget, rel=1e-9)
    rng = np.random.default_rng(seed)
    best = min(
        optimize.minimize(J, rng.normal(0, 2, p.size), method="L-BFGS-B", bounds=[(-12, 30)] * p.size).fun
        for _ in range(12)
    )
    assert policy.error_times_budget <= best * (1 + 1e-6)
    base = c_h * trace(np.ones(p.size), X, p, own, error, W, A)
    assert policy.base_error_times_budget == pytest.approx(base, rel=1e-9)


def test_rates_are_clipped_at_one():
    X, p, own, _, W = few_points(1, "linear", 2)
    policy = m_policy(X, 0.9 * own, curvature=W, second_moment=own, weights=p, weak_cost=0.3, strong_cost=1.0)
    assert policy.rates.max() == 1.0
    assert policy.rates.min() > 0


def test_a_column_of_ones_is_the_policy_for_the_mean():
    rng = np.random.default_rng(2)
    u = rng.gamma(1, 0.3, 200)
    goal = {"weak_cost": 0.05, "strong_cost": 1.0, "budget": 50.0, "pool_size": 400.0, "estimand": "pool"}
    ours = m_policy(np.ones((200, 1)), u, curvature=np.eye(1), second_moment=1.2, **goal)
    mean = optimal_policy(u, variance=1.2, **goal)
    np.testing.assert_allclose(ours.rates, mean.rates)
    assert ours.expected_se == pytest.approx(mean.expected_se)


def test_units_of_a_column_change_nothing_if_its_weight_follows():
    rng = np.random.default_rng(3)
    X = np.column_stack([np.ones(300), rng.standard_normal(300), rng.random(300)])
    u, s = rng.random(300), 1 + rng.random(300)

    def rates(X, weight):
        W = X.T @ X / 300
        A = np.diag(np.sqrt([0.0, X[:, 1].var(), weight]))
        return m_policy(X, u, curvature=W, second_moment=s, contrasts=A, weak_cost=0.1, strong_cost=1.0).rates

    other = X * [1.0, 1.0, 1000.0]
    np.testing.assert_allclose(rates(other, other[:, 2].var()), rates(X, X[:, 2].var()), rtol=1e-6)
    assert np.abs(rates(other, X[:, 2].var()) - rates(X, X[:, 2].var())).max() > 0.01


def test_the_quantile_s_policy_is_that_of_an_indicator():
    """V = q(1−q) and u = P(1{H≤θ} ≠ 1{G≤θ} | x); the density is one factor of all of it and cancels."""
    rng = np.random.default_rng(4)
    m, q, f = 6, 0.8, 0.37
    p, apart = rng.dirichlet(np.ones(m)), 0.5 * rng.random(m)
    costs = {"weak_cost": 0.02, "strong_cost": 1.0, "weights": p}
    policy = optimal_policy(apart, variance=q * (1 - q), **costs)
    with_density = m_policy(np.ones((m, 1)), apart, curvature=np.array([[f]]), second_moment=q * (1 - q), **costs)
    np.testing.assert_allclose(with_density.rates, policy.rates, rtol=1e-9)

    def J(z):
        rates = special.expit(z)
        return (0.02 + p @ rates) * (q * (1 - q) + p @ (apart * (1 / rates - 1))) / f**2

    best = min(optimize.minimize(J, rng.normal(0, 2, m), bounds=[(-12, 30)] * m).fun for _ in range(12))
    assert with_density.error_times_budget <= best * (1 + 1e-6)


def test_influence_by_hand():
    rng = np.random.default_rng(5)
    X, A = rng.standard_normal((50, 3)), rng.standard_normal((2, 3))
    W = X.T @ X / 50
    expected = [np.linalg.norm(A @ np.linalg.inv(W) @ x) ** 2 for x in X]
    np.testing.assert_allclose(influence(X, W, A), expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"error": [0.1, -0.1, 0.1]}, "error must be at least 0"),
        ({"second_moment": 0.0}, "nothing to plan"),
        ({"error": [0.1, np.nan, 0.1]}, "error must be finite"),
        ({"weights": [0.0, 0.0, -1.0]}, "weights must be at least 0"),
    ],
)
def test_bad_input_is_one_clear_line(given, message):
    usual = {"error": 0.1, "second_moment": 1.0, "weights": None} | given
    X = np.column_stack([np.ones(3), [0.0, 1.0, 2.0]])
    with pytest.raises(InputError, match=message):
        m_policy(X, usual.pop("error"), curvature=X.T @ X / 3, weak_cost=0.1, strong_cost=1.0, **usual)
