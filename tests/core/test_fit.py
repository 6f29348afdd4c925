"""M-estimators against statsmodels, ppi-python, brute-force minimisation and finite differences."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import optimize, sparse

from ratewise.core.clusters import cluster_codes
from ratewise.core.m_estimation import (
    LOSSES,
    NoFitError,
    RectifiedTerms,
    degrees_of_freedom,
    fit_m_estimator,
    influence,
    tuned_power,
)
from ratewise.core.ratings import ratings
from ratewise.errors import InputError
from ratewise.questions.estimation import estimate_mean

from ..worlds import BETA, lopsided_regression, outcomes

FAMILIES = ["linear", "logistic", "poisson"]
SM_FAMILY = {"logistic": sm.families.Binomial, "poisson": sm.families.Poisson}


def drawn(seed, family, **how):
    X, g, h, pi, xi = lopsided_regression(seed, family, **how)
    return X, ratings(g, np.where(xi, h, np.nan), pi)


def reference(family, X, h, groups=None):
    """Coefficients and covariance by statsmodels, HC1 or cluster-robust."""
    T, d = X.shape
    if family == "linear":
        how = {"cov_type": "HC1"} if groups is None else {"cov_type": "cluster", "cov_kwds": {"groups": groups}}
        fit = sm.OLS(h, X).fit(**how)
        return fit.params, fit.cov_params()
    model = sm.GLM(h, X, family=SM_FAMILY[family]())
    how = {"cov_type": "HC0"} if groups is None else {"cov_type": "cluster", "cov_kwds": {"groups": groups}}
    fit = model.fit(tol=1e-14, maxiter=200, **how)
    return fit.params, fit.cov_params() * (T / (T - d) if groups is None else 1.0)


# Every item rated


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("power", [1.0, 0.0, 0.4, None])
def test_all_rated_is_the_plain_fit_with_its_sandwich(family, power):
    X, g, h, _, _ = lopsided_regression(1, family)
    params, covariance = reference(family, X, h)
    fit = fit_m_estimator(X, LOSSES[family], ratings(g, h, 1.0), power=power)
    np.testing.assert_allclose(fit.coefficients, params, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(fit.covariance, covariance, rtol=1e-8, atol=1e-12)
    np.testing.assert_array_equal(degrees_of_freedom(fit, X), np.full(3, 897.0))


@pytest.mark.parametrize("family", FAMILIES)
def test_clusters_give_the_cluster_robust_covariance(family):
    X, g, h, _, _ = lopsided_regression(2, family)
    groups = np.random.default_rng(0).integers(0, 37, h.size)
    params, covariance = reference(family, X, h, groups)
    codes = cluster_codes(groups, h.size)
    fit = fit_m_estimator(X, LOSSES[family], ratings(g, h, 1.0), clusters=codes)
    np.testing.assert_allclose(fit.coefficients, params, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(fit.covariance, covariance, rtol=1e-8, atol=1e-12)
    assert degrees_of_freedom(fit, X, clusters=codes).max() <= 36


def test_the_pool_s_own_coefficients_are_exact_once_all_are_rated():
    X, g, h, _, _ = lopsided_regression(3, "logistic")
    assert fit_m_estimator(X, LOSSES["logistic"], ratings(g, h, 1.0), pool_size=900).standard_errors.max() == 0


# The mean is one of them


@pytest.mark.parametrize("estimand", ["population", "pool"])
def test_a_column_of_ones_is_the_difference_estimate(estimand):
    _, data = drawn(4, "linear")
    ones = np.ones((data.items, 1))
    N = np.inf if estimand == "population" else data.items
    fit = fit_m_estimator(ones, LOSSES["linear"], data, pool_size=N)
    e = estimate_mean(data.weak[:, 0], data.strong, data.rates[:, 0], method="difference", estimand=estimand)
    assert fit.coefficients[0] == pytest.approx(e.value, rel=1e-12)
    assert fit.standard_errors[0] == pytest.approx(e.standard_error, rel=1e-9)


def test_a_pool_larger_than_the_table_is_between_the_two():
    X, data = drawn(5, "poisson")
    ses = [fit_m_estimator(X, LOSSES["poisson"], data, pool_size=N).standard_errors for N in (900, 1500, 9000, np.inf)]
    assert all(np.all(a < b) for a, b in pairwise(ses))


# Brute force


def rectified_loss(family, X, g, h, q, xi):
    """Σ over raters of weight × loss, item by item, for chains too: nothing of ratewise."""
    losses = {
        "linear": lambda eta, y: 0.5 * (eta - y) ** 2,
        "logistic": lambda eta, y: np.log1p(np.exp(eta)) - eta * y,
        "poisson": lambda eta, y: np.exp(eta) - eta * y,
    }
    loss, K = losses[family], g.shape[1]

    def total(theta):
        eta = X @ theta
        value = loss(eta, g[:, 0])
        for k in range(K):
            after = h if k + 1 == K else g[:, k + 1]
            step = loss(eta, np.nan_to_num(after)) - loss(eta, np.nan_to_num(g[:, k]))
            value = value + np.where(xi[:, k], step / q[:, k], 0.0)
        return value.mean()

    return total


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("chain", [False, True])
def test_the_estimate_minimises_the_rectified_loss(family, chain):
    X, g, h, pi, _ = lopsided_regression(6, family)
    rng = np.random.default_rng(7)
    if chain:
        large = np.where(rng.random(h.size) < 0.5, h, g)
        q = np.column_stack([np.clip(2 * pi, 0, 1), pi])
        xi = rng.random(h.size)[:, None] < q
        weak = np.column_stack([g, np.where(xi[:, 0], large, np.nan)])
    else:
        q, xi, weak = pi[:, None], (rng.random(h.size) < pi)[:, None], g[:, None]
    total = rectified_loss(family, X, weak, h, q, xi)
    best = optimize.minimize(total, BETA, method="BFGS", options={"gtol": 1e-9})
    fit = fit_m_estimator(X, LOSSES[family], ratings(weak, np.where(xi[:, -1], h, np.nan), q))
    np.testing.assert_allclose(fit.coefficients, best.x, rtol=1e-4, atol=1e-5)
    assert total(fit.coefficients) <= best.fun + 1e-14


@pytest.mark.parametrize("family", FAMILIES)
def test_gradient_and_curvature_by_finite_differences(family):
    loss = LOSSES[family]
    X, data = drawn(8, family)
    terms = RectifiedTerms.of(data, power=0.7)
    theta = BETA + 0.1

    def gradient(point):
        eta = X @ point
        return X.T @ terms.sum(lambda y: loss.gradient(eta, y)) / data.items

    total = rectified_loss(family, X, data.weak, data.strong, data.rates, data.rated)
    plain = RectifiedTerms.of(data)
    exact = X.T @ plain.sum(lambda y: loss.gradient(X @ theta, y)) / data.items
    np.testing.assert_allclose(optimize.approx_fprime(theta, total, 1e-7), exact, rtol=1e-5, atol=1e-5)
    steps = 1e-6 * np.eye(3)
    slope = np.stack([(gradient(theta + e) - gradient(theta - e)) / 2e-6 for e in steps], axis=1)
    W = (X * (terms.total * loss.curvature(X @ theta))[:, None]).T @ X / data.items
    np.testing.assert_allclose(slope, W, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("power", [1.0, None])
@pytest.mark.parametrize("pool", [np.inf, 900.0, 2000.0])
def test_sparse_columns_are_dense_columns(power, pool):
    X, data = drawn(9, "logistic")
    codes = cluster_codes(np.arange(900) // 7, 900)
    how = {"power": power, "clusters": codes, "pool_size": pool}
    dense, thin = (fit_m_estimator(x, LOSSES["logistic"], data, **how) for x in (X, sparse.csr_array(X)))
    np.testing.assert_allclose(thin.coefficients, dense.coefficients, rtol=1e-10)
    np.testing.assert_allclose(thin.covariance, dense.covariance, rtol=1e-9)
    np.testing.assert_allclose(influence(sparse.csr_array(X), dense.curvature), influence(X, dense.curvature))
    first, second = (degrees_of_freedom(dense, x, clusters=codes, pool_size=pool) for x in (X, sparse.csr_array(X)))
    np.testing.assert_allclose(first, second, rtol=1e-9)


def test_the_sandwich_by_hand():
    """HC1 on the scores for the population; only the draw's part for the pool."""
    X, data = drawn(10, "poisson")
    fit = fit_m_estimator(X, LOSSES["poisson"], data)
    mu = np.exp(X @ fit.coefficients)
    h, g, pi = np.nan_to_num(data.strong), data.weak[:, 0], data.rates[:, 0]
    r = (mu - g) + np.where(data.labelled, g - h, 0) / pi
    W = (X * mu[:, None]).T @ X / 900
    A = np.linalg.inv(W)
    meat = (X * (r**2)[:, None]).T @ X * 900 / 897 / 900**2
    np.testing.assert_allclose(fit.covariance, A @ meat @ A, rtol=1e-9)
    drawn_part = np.where(data.labelled, (g - h) ** 2 * (1 - pi) / pi**2, 0)
    pool = fit_m_estimator(X, LOSSES["poisson"], data, pool_size=900)
    np.testing.assert_allclose(pool.covariance, A @ ((X * drawn_part[:, None]).T @ X) @ A / 900**2, rtol=1e-9)


def test_few_labels_in_a_group_are_few_degrees_of_freedom():
    """A column that rests on four labels has about that many degrees of freedom, however many labels there are."""
    rng = np.random.default_rng(11)
    T = 2000
    group = np.arange(T) < 40
    X = np.column_stack([np.ones(T), rng.standard_normal(T), group])
    h = rng.standard_normal(T)
    xi = np.where(group, np.arange(T) % 10 == 0, rng.random(T) < 0.2)
    pi = np.where(group, 0.1, 0.2)
    fit = fit_m_estimator(X, LOSSES["linear"], ratings(h + rng.standard_normal(T), np.where(xi, h, np.nan), pi))
    df = degrees_of_freedom(fit, X)
    assert df[2] < 6
    assert df[:2].min() > 100
    both = degrees_of_freedom(fit, X, contrasts=np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]))
    np.testing.assert_allclose(both, df[[2, 0]])


# ppi-python, at one rate for all


def split(seed, family, T=1500, n=300, replicated=False):
    """Labelled rows first. Replicated: unlabelled rows repeat the labelled ones' columns, so that moments are equal."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(T), rng.standard_normal(T), rng.random(T)])
    if replicated:
        X = np.tile(X[:n], (T // n, 1))
    h = outcomes(rng, family, X @ BETA)
    g = np.clip(0.7 * h + 0.2, 0, 1) if family == "logistic" else h + rng.normal(0.1, 0.4, T)
    g = np.where(rng.random(T) < 0.3, rng.permutation(g), g)
    return X, g, h, n


PPI = {"linear": "ppi_ols_pointestimate", "logistic": "ppi_logistic_pointestimate"}
PPI["poisson"] = "ppi_poisson_pointestimate"


def by_ppi_py(family, X, g, h, n, lam):
    import ppi_py

    with warnings.catch_warnings():  # of what ppi_py asks of other packages
        warnings.simplefilter("ignore")
        return getattr(ppi_py, PPI[family])(X[:n], h[:n], g[:n], X[n:], g[n:], lam=lam)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("lam", [0.0, 0.35, 1.0, None])
def test_one_rate_is_ppi_plus_plus(family, lam):
    """The same λ, in its convention λ N/T, and the same estimate to the tolerance of its L-BFGS (1e-6).

    Its linear regression uses the labelled rows' own moments of X: equal to ours where those are the pool's.
    """
    for seed in range(3 if lam is not None else 1):  # its own λ takes it seconds
        X, g, h, n = split(seed, family, replicated=family == "linear")
        T = h.size
        data = ratings(g, np.where(np.arange(T) < n, h, np.nan), n / T)
        fit = fit_m_estimator(X, LOSSES[family], data, power=None if lam is None else lam * T / (T - n))
        np.testing.assert_allclose(fit.coefficients, by_ppi_py(family, X, g, h, n, lam), rtol=1e-6, atol=1e-6)


def test_the_linear_fit_is_near_ppi_plus_plus_on_any_columns():
    X, g, h, n = split(5, "linear")
    data = ratings(g, np.where(np.arange(h.size) < n, h, np.nan), n / h.size)
    fit = fit_m_estimator(X, LOSSES["linear"], data, power=None)
    assert np.all(np.abs(fit.coefficients - by_ppi_py("linear", X, g, h, n, None)) < 0.25 * fit.standard_errors)


def test_the_tuned_power_is_the_one_of_least_variance():
    """Against a grid of λ, with rates that follow x, for one contrast."""
    X, data = drawn(13, "linear", T=40_000)
    A = np.array([[0.0, 1.0, 0.0]])
    lam = tuned_power(X, LOSSES["linear"], data, A)
    grid = np.linspace(0, 1.5, 16)
    ses = [fit_m_estimator(X, LOSSES["linear"], data, power=p).standard_errors[1] for p in grid]
    best = fit_m_estimator(X, LOSSES["linear"], data, power=lam).standard_errors[1]
    assert best < 1.01 * min(ses)
    assert best < 0.9 * ses[0]


def test_power_limits():
    X, data = drawn(14, "linear")
    noise = ratings(np.random.default_rng(0).standard_normal(900), data.strong, data.rates)
    assert abs(tuned_power(X, LOSSES["linear"], noise)) < 0.2
    adverse = ratings(-data.weak, data.strong, data.rates)
    assert tuned_power(X, LOSSES["linear"], adverse) == 0.0
    assert tuned_power(X, LOSSES["linear"], ratings(data.weak, np.nan_to_num(data.strong), 1.0)) == 1.0
    chain = ratings(np.zeros((5, 2)), np.ones(5), np.ones((5, 2)))
    with pytest.raises(InputError, match="one weak rater"):
        tuned_power(np.ones((5, 1)), LOSSES["linear"], chain)


# What cannot be fitted


def test_separable_data_has_no_fit_and_says_along_what():
    x = np.linspace(-1, 1, 40)
    X = np.column_stack([np.ones(40), x, np.cos(9 * x)])
    with pytest.raises(NoFitError, match="runs away") as caught:
        fit_m_estimator(X, LOSSES["logistic"], ratings(x, (x > 0.1).astype(float), 1.0))
    assert np.argmax(np.abs(caught.value.direction)) == 1
    assert caught.value.direction[1] > 0


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.column_stack([np.ones(9), np.arange(9), 2 * np.arange(9)]), "linearly dependent"),
        (np.column_stack([np.ones(9), np.zeros(9)]), "column 1 of X is 0"),
        (np.column_stack([np.ones(9), np.full(9, np.nan)]), "must be finite"),
    ],
)
def test_columns_that_cannot_be_told_apart(X, message):
    for family in FAMILIES:
        with pytest.raises(InputError, match=message):
            fit_m_estimator(X, LOSSES[family], ratings(np.zeros(9), np.tile([0.0, 1.0, 1.0], 3), 1.0))


@pytest.mark.parametrize("shift", [0.0, 1e3])
@pytest.mark.parametrize("scale", [1e-6, 1e5])
def test_units_and_origins_do_not_matter(shift, scale):
    X, data = drawn(15, "linear")
    moved = X.copy()
    moved[:, 1] = scale * (X[:, 1] + shift)
    a, b = (fit_m_estimator(x, LOSSES["linear"], data) for x in (X, moved))
    assert b.coefficients[1] * scale == pytest.approx(a.coefficients[1], rel=1e-6)
    assert b.standard_errors[1] * scale == pytest.approx(a.standard_errors[1], rel=1e-6)


def test_large_and_small_counts_converge():
    rng = np.random.default_rng(16)
    X = np.column_stack([np.ones(500), rng.standard_normal(500)])
    for level in (-3.0, 0.0, 12.0):
        h = rng.poisson(np.exp(level + 0.3 * X[:, 1])).astype(float)
        params, _ = reference("poisson", X, h)
        fit = fit_m_estimator(X, LOSSES["poisson"], ratings(h, h, 1.0))
        np.testing.assert_allclose(fit.coefficients, params, rtol=1e-7)


# The mechanism for arrays


def test_the_public_mechanism_takes_families_and_losses_of_ones_own():
    import ratewise as rw

    rng = np.random.default_rng(5)
    X = np.column_stack([np.ones(400), rng.normal(size=400)])
    h = (rng.random(400) < 0.5 + 0.2 * np.tanh(X[:, 1])) * 1.0
    g = np.clip(h + 0.3 * rng.normal(size=400), 0, 1)
    strong = np.where(rng.random(400) < 0.4, h, np.nan)
    named = rw.m_estimate(X, g, strong, 0.4, loss="linear")
    own = rw.m_estimate(X, g, strong, 0.4, loss=rw.Loss("mine", lambda eta, y: eta - y, np.ones_like, lambda mean: 0.0))
    np.testing.assert_allclose(named.coefficients, own.coefficients, atol=1e-12)
    mean = rw.m_estimate(np.ones((400, 1)), g, strong, 0.4)
    plain = rw.estimate_mean(g, strong, 0.4, method="difference")
    assert mean.coefficients[0] == pytest.approx(plain.value, abs=1e-12)
    assert mean.standard_errors[0] == pytest.approx(plain.standard_error, rel=1e-9)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"X": np.ones((3, 1))}, "X must be items × columns with 40 rows"),
        ({"X": np.full((40, 1), np.nan)}, "X must be finite"),
        ({"X": np.random.default_rng(0).normal(size=(40, 40))}, "40 strong ratings cannot tell 40 coefficients"),
        ({"loss": "probit"}, "unknown loss 'probit'; choose one of linear, logistic, poisson"),
        ({"strong": np.r_[np.nan, np.ones(39)]}, "1 items with rate 1 have no strong rating"),
        ({"clusters": np.zeros(3)}, r"clusters must have one name per item \(40\)"),
    ],
)
def test_the_public_mechanism_refuses_what_it_cannot_use(change, said):
    import ratewise as rw

    rng = np.random.default_rng(1)
    given = {"X": np.ones((40, 1)), "weak": rng.random(40), "strong": rng.random(40), "rates": 1.0} | change
    with pytest.raises(rw.InputError, match=said):
        rw.m_estimate(**given)


def test_one_item_that_could_be_left_out_leaves_nothing_to_tune():
    import ratewise as rw

    rates = np.r_[0.5, np.ones(7)]
    found = rw.m_estimate(np.ones((8, 1)), np.arange(8.0), np.arange(8.0) ** 2, rates, power=None)
    assert found.power == 1.0
