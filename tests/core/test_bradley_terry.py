"""Bradley–Terry against statsmodels and against minimising the loss directly."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import optimize, special

from ratewise.core.ratings import ratings
from ratewise.questions.leaderboard import (
    Pairs,
    best_shares,
    boundless,
    centring,
    fit_bradley_terry,
    largest_group,
    ranks,
    win_probabilities,
)

from ..worlds import votes_of_models


def dense(pairs):
    X = np.zeros((pairs.a.size, pairs.models))
    X[np.arange(pairs.a.size), pairs.a] += 1
    X[np.arange(pairs.a.size), pairs.b] -= 1
    return X


def test_rows_say_who_met_whom():
    _, pairs, _, _ = votes_of_models()
    np.testing.assert_array_equal(pairs.design().toarray(), dense(pairs)[:, :-1])


def test_all_strong_votes_agree_with_statsmodels():
    _, pairs, h, g = votes_of_models()
    found = fit_bradley_terry(pairs, ratings(g, h, np.ones(h.size)), power=1.0, clusters=None, pool_size=np.inf)
    X = dense(pairs)[:, :-1]
    other = sm.GLM(h, X, family=sm.families.Binomial()).fit(tol=1e-14, maxiter=200, cov_type="HC0")
    A = centring(pairs.models)
    np.testing.assert_allclose(found.ratings, A @ other.params, atol=1e-8)
    n, d = X.shape
    np.testing.assert_allclose(found.covariance, A @ other.cov_params() @ A.T * n / (n - d), rtol=1e-8, atol=1e-14)
    assert found.ratings.sum() == pytest.approx(0.0, abs=1e-12)


def test_the_reference_model_does_not_matter():
    _, pairs, h, g = votes_of_models()
    turned = Pairs((pairs.a + 2) % 5, (pairs.b + 2) % 5, 5)
    data = ratings(g, h, np.ones(h.size))
    one, two = (fit_bradley_terry(p, data, power=1.0, clusters=None, pool_size=np.inf) for p in (pairs, turned))
    np.testing.assert_allclose(two.ratings[(np.arange(5) + 2) % 5], one.ratings, atol=1e-10)
    np.testing.assert_allclose(np.diag(two.covariance)[(np.arange(5) + 2) % 5], np.diag(one.covariance), rtol=1e-8)


def test_some_strong_votes_minimise_the_rectified_loss():
    rng, pairs, h, g = votes_of_models(2)
    pi = rng.uniform(0.1, 0.9, h.size)
    strong = np.where(rng.random(h.size) < pi, h, np.nan)
    found = fit_bradley_terry(pairs, ratings(g, strong, pi), power=1.0, clusters=None, pool_size=np.inf)
    X = dense(pairs)[:, :-1]
    y = g + np.where(np.isnan(strong), 0.0, (h - g) / pi)

    def loss(theta):
        eta = X @ theta
        return float(np.mean(np.logaddexp(0, eta) - y * eta))

    best = optimize.minimize(loss, np.zeros(4), method="BFGS", options={"gtol": 1e-10})
    np.testing.assert_allclose(found.ratings, centring(5) @ best.x, atol=1e-5)
    assert loss(found.fit.coefficients) <= best.fun + 1e-14


def test_groups_that_never_met():
    pairs = Pairs(np.array([0, 1, 3]), np.array([1, 2, 4]), 6)
    assert np.flatnonzero(largest_group(pairs, np.ones(6, dtype=bool))).tolist() == [0, 1, 2]
    without = np.array([True, False, True, True, True, True])
    assert np.flatnonzero(largest_group(pairs, without)).tolist() == [3, 4]
    use, among = pairs.among(without)
    assert use.tolist() == [False, False, True]
    assert (among.a.tolist(), among.b.tolist(), among.models) == ([2], [3], 5)


def test_who_never_lost_or_never_won():
    pairs = Pairs(np.array([0, 0, 1, 1]), np.array([1, 2, 2, 2]), 4)
    won, lost = boundless(pairs, np.array([1.0, 1.0, 1.0, 0.5]), np.ones(4))
    assert won.tolist() == [True, False, False, False]  # the fourth model met nobody
    assert lost.tolist() == [False, False, False, False]
    assert boundless(pairs, np.array([1.0, 1.0, 1.0, 1.0]), np.ones(4))[1].tolist() == [False, False, True, False]


def test_ranks_are_sure_without_error_and_open_with_much():
    r = np.array([0.3, 2.0, -1.0])
    sure = ranks(r, np.diag([1e-12] * 3), 0.95)
    assert sure.rank.tolist() == sure.low.tolist() == sure.high.tolist() == [2, 1, 3]
    unsure = ranks(r, np.eye(3) * 100, 0.95)
    assert unsure.low.tolist() == [1, 1, 1]
    assert unsure.high.tolist() == [3, 3, 3]


def test_ranks_count_who_is_surely_better_pair_by_pair():
    r = np.array([3.0, 2.9, 0.0, -0.1])
    found = ranks(r, np.eye(4) * 0.01, 0.95)
    assert found.low.tolist() == [1, 1, 3, 3]
    assert found.high.tolist() == [2, 2, 4, 4]


def test_win_probabilities_and_the_best():
    p = win_probabilities(np.array([1.0, 0.0, -2.0]))
    np.testing.assert_allclose(p + p.T, 1.0)
    assert p[0, 1] == pytest.approx(special.expit(1.0))
    shares = best_shares(np.array([1.0, 0.0]), np.eye(2) * 0.5)
    assert shares[0] == pytest.approx(special.ndtr(1.0), abs=0.012)  # 1 / sqrt(0.5 + 0.5)
