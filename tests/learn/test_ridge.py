"""Ridge regression by hand: leave-one-out predictions of one group of columns and of three against refits."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratewise.learn.ridge import FEATURE_RATIOS, PENALTIES, TEXT_PENALTIES, Line, TextFactor, fit_groups, ridge_path

quick = settings(derandomize=True, max_examples=40, deadline=None, database=None)
NAMES = ("centre", "intercept", "coefficients", "unseen", "risk")


def lopsided(seed, n, p):
    """Columns of very different sizes off zero, labels off zero, weights over two powers of ten."""
    rng = np.random.default_rng(seed)
    X = rng.gamma(1.5, 1.0, (n, p)) * 10.0 ** rng.uniform(-1, 1, p) + rng.normal(0, 3, p)
    y = 7.0 + X @ rng.normal(0, 1, p) + rng.standard_t(4, n)
    return X, y, 10.0 ** rng.uniform(-1, 1, n)


def solved(X, y, weights, penalty, *, intercept):
    """The normal equations as printed, the intercept a column of its own that bears no penalty."""
    A = np.column_stack([np.ones(len(X)), X]) if intercept else X
    ridge = penalty * np.eye(A.shape[1])
    if intercept:
        ridge[0, 0] = 0.0
    beta = np.linalg.solve(A.T @ (weights[:, None] * A) + ridge, A.T @ (weights * y))
    return (beta[0], beta[1:]) if intercept else (0.0, beta)


def scaled(weights):
    return weights * (weights.size / weights.sum())


SHAPES = [(23, 4), (9, 1), (6, 15)]  # the last has more columns than labels


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("n", "p"), SHAPES)
def test_coefficients_solve_the_normal_equations(n, p, intercept):
    X, y, w = lopsided(31 + p, n, p)
    path = ridge_path(X, y, w, intercept=intercept)
    new = lopsided(32, 11, p)[0]
    for k, penalty in enumerate(PENALTIES):
        b_0, beta = solved(X, y, scaled(w), penalty, intercept=intercept)
        np.testing.assert_allclose(path.coefficients[:, k], beta, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(path.line(k)([new]), b_0 + new @ beta, rtol=1e-6)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("n", "p"), SHAPES)
def test_unseen_residuals_are_those_of_refits_without_the_label(n, p, intercept):
    """The penalty and the other labels' weights as they were; without an intercept the mean of y is not 0."""
    X, y, w = lopsided(41 + p, n, p)
    X = X / X.std(axis=0)  # as the models give them: the leverages stay below the cap
    path = ridge_path(X, y, w, intercept=intercept)
    W = scaled(w)
    for k, penalty in enumerate(PENALTIES):
        for i in range(n):
            rest = np.arange(n) != i
            b_0, beta = solved(X[rest], y[rest], W[rest], penalty, intercept=intercept)
            assert path.unseen[i, k] == pytest.approx(y[i] - b_0 - X[i] @ beta, rel=1e-6, abs=1e-8)
    assert not np.allclose(path.unseen[:, 0], y - path.line(0)([X]), rtol=0.01)  # seen residuals are others


def test_risk_is_the_weighted_mean_square_and_best_its_least():
    X, y, w = lopsided(53, 30, 6)
    path = ridge_path(X, y, w, intercept=True)
    risk = [np.average(path.unseen[:, k] ** 2, weights=w) for k in range(PENALTIES.size)]
    np.testing.assert_allclose(path.risk, risk, rtol=1e-12)
    assert path.best == int(np.argmin(risk))


def test_best_follows_the_data():
    """No penalty for a plain line without noise; nothing but the mean where the columns say nothing."""
    rng = np.random.default_rng(59)
    X, w = rng.normal(0, 1, (40, 5)), rng.uniform(1, 5, 40)
    line = ridge_path(X, 3 + X @ np.array([1.0, -2, 0, 0.5, 4]), w, intercept=True)
    assert line.best == 0
    noise = ridge_path(X, 3 + rng.normal(0, 1, 40), w, intercept=True)
    assert PENALTIES[noise.best] >= 100
    np.testing.assert_allclose(noise.line(PENALTIES.size - 1)([X]), noise.intercept, rtol=1e-3)


@pytest.mark.parametrize("intercept", [True, False])
def test_the_size_of_the_weights_does_not_matter(intercept):
    X, y, w = lopsided(61, 17, 3)
    one, other = (ridge_path(X, y, s * w, intercept=intercept) for s in (1.0, 1234.5))
    for name in NAMES:
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-8, err_msg=name)
    even = ridge_path(X, y, np.ones(17), intercept=intercept)
    assert not np.allclose(one.risk, even.risk, rtol=0.01)  # but their shares do


def test_a_label_twice_is_a_label_of_twice_the_weight():
    """Up to the scale of the penalty, which counts labels: 8 with weights of mean 9/8 are 9 with weights of mean 1."""
    X, y, _ = lopsided(67, 8, 2)
    twice = ridge_path(np.vstack([X, X[3]]), np.append(y, y[3]), np.ones(9), intercept=True)
    double = np.where(np.arange(8) == 3, 2.0, 1.0)
    b_0, beta = solved(X, y, double, PENALTIES[2], intercept=True)
    np.testing.assert_allclose(twice.line(2)([X]), b_0 + X @ beta, rtol=1e-8)


def test_a_constant_column_does_nothing_beside_an_intercept():
    X, y, w = lopsided(71, 14, 3)
    without = ridge_path(X, y, w, intercept=True)
    path = ridge_path(np.column_stack([X[:, :1], np.full(14, -7.3), X[:, 1:]]), y, w, intercept=True)
    np.testing.assert_allclose(path.coefficients[1], 0, atol=1e-12)
    np.testing.assert_allclose(np.delete(path.coefficients, 1, axis=0), without.coefficients, rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(path.unseen, without.unseen, rtol=1e-7)


def test_a_column_twice_shares_its_coefficient():
    """Two equal columns under one penalty are one column under half of it: found by hand for the sum of both."""
    X, y, w = lopsided(73, 14, 2)
    path = ridge_path(np.column_stack([X, X[:, 1]]), y, w, intercept=True)
    np.testing.assert_allclose(path.coefficients[1], path.coefficients[2], rtol=1e-6, atol=1e-12)
    wide = np.column_stack([X[:, 0], np.sqrt(2) * X[:, 1]])
    np.testing.assert_allclose(path.unseen, ridge_path(wide, y, w, intercept=True).unseen, rtol=1e-6)


def test_no_columns_at_all_leaves_the_weighted_mean():
    _, y, w = lopsided(79, 12, 1)
    path = ridge_path(np.empty((12, 0)), y, w, intercept=True)
    np.testing.assert_allclose(path.line(4)([np.empty((3, 0))]), np.average(y, weights=w))
    rest = [np.average(np.delete(y, i), weights=np.delete(w, i)) for i in range(12)]
    np.testing.assert_allclose(path.unseen[:, 0], y - np.array(rest), rtol=1e-10)


@quick
@given(st.integers(0, 2**32), st.integers(2, 12), st.integers(1, 9), st.booleans())
def test_finite_for_any_shape(seed, n, p, intercept):
    """Few labels, many columns, ties, columns of zeros: no NaN, and the risk is not below 0."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, (n, p)).astype(float)
    y = rng.integers(0, 2, n).astype(float)
    path = ridge_path(X, y, rng.uniform(0.1, 20, n), intercept=intercept)
    for name in NAMES:
        assert np.all(np.isfinite(getattr(path, name))), name
    assert np.all(path.risk >= 0)


def test_a_line_is_the_same_in_pieces():
    """Blocks of columns side by side; a block without weight is not looked at."""
    rng = np.random.default_rng(83)
    X, beta = rng.normal(size=(7, 6)), np.array([1.0, -2.0, 0.0, 0.0, 3.0, 0.5])
    line = Line(np.zeros(beta.size), 4.0, beta)
    whole = 4.0 + X @ beta
    np.testing.assert_allclose(line([X]), whole, rtol=1e-14)
    holes = np.where((np.arange(6) == 2) | (np.arange(6) == 3), np.nan, X)
    np.testing.assert_allclose(line([holes[:, :2], holes[:, 2:4], holes[:, 4:]]), whole, rtol=1e-14)
    np.testing.assert_array_equal(Line(np.empty(0), 2.5, np.empty(0))([np.empty((3, 0))]), 2.5)


def _world(seed: int, n: int, p: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    Z = rng.standard_normal((n, p)) / np.sqrt(p)
    y = 2.0 + X[:, 1] + Z @ rng.standard_normal(p) + 0.5 * rng.standard_normal(n)
    return X, Z, y, rng.uniform(0.3, 3.0, n)


def _by_hand(
    X: np.ndarray, Z: np.ndarray, y: np.ndarray, w: np.ndarray, intercept: bool, features: int
) -> tuple[float, np.ndarray, np.ndarray, tuple[float, float, float]]:
    """All penalties, every label left out in turn; residuals, coefficients and penalties of the best."""
    ones = np.ones((y.size, int(intercept)))
    n, W, C = y.size, w * (w.size / w.sum()), np.column_stack([ones, X, Z])
    best = None
    for kappa, ratio, penalty in product(TEXT_PENALTIES, FEATURE_RATIOS if features else [1.0], PENALTIES):
        own = np.repeat([0.0, penalty, ratio * penalty, kappa], [int(intercept), 3 - features, features, Z.shape[1]])
        A, b = C.T * W @ C + np.diag(own), C.T * W @ y
        some = np.stack([A - W[i] * np.outer(C[i], C[i]) for i in range(n)])
        lines = np.linalg.solve(some, (b - (W * y)[:, None] * C)[:, :, None])[:, :, 0]
        unseen = y - (C * lines).sum(axis=1)
        risk = float(np.mean(W * unseen**2))
        if best is None or risk < best[0]:
            best = risk, unseen, np.linalg.solve(A, b), (penalty, ratio * penalty, kappa)
    assert best is not None
    return best


@pytest.mark.parametrize(
    ("n", "p", "intercept", "features"), [(24, 9, True, 0), (14, 20, True, 2), (20, 7, False, 0), (22, 8, False, 1)]
)
def test_leave_one_out_is_exact_with_more_labels_or_more_columns(
    n: int, p: int, intercept: bool, features: int
) -> None:
    X, Z, y, w = _world(n, n, p)
    fit = fit_groups(X, y, TextFactor.of(Z, w), intercept=intercept, features=features)
    risk, unseen, line, penalties = _by_hand(X, Z, y, w, intercept, features)
    np.testing.assert_allclose(fit.unseen, unseen, rtol=1e-6, atol=1e-6)
    found = np.concatenate([[fit.line.intercept] * intercept, fit.line.coefficients, fit.many])
    np.testing.assert_allclose(found, line, rtol=1e-5, atol=1e-6)
    assert fit.risk == pytest.approx(risk, rel=1e-6)
    assert fit.penalties == pytest.approx(penalties)


def test_columns_of_zeros_leave_the_regression_on_the_few() -> None:
    X, Z, y, w = _world(3, 40, 5)
    fit = fit_groups(X, y, TextFactor.of(0.0 * Z, w), intercept=True)
    path = ridge_path(X, y, w, intercept=True)
    assert not fit.many.any()
    np.testing.assert_allclose(fit.unseen, path.unseen[:, path.best], rtol=1e-6)
    line = path.line(path.best)
    assert (fit.line.intercept, *fit.line.coefficients) == pytest.approx((line.offset, *line.coefficients))


def test_features_that_say_nothing_are_held_down_while_the_score_is_free() -> None:
    rng = np.random.default_rng(8)
    score, useless = rng.standard_normal((120, 1)), rng.standard_normal((120, 30))
    y = score[:, 0] + 0.3 * rng.standard_normal(120)
    factor = TextFactor.of(rng.standard_normal((120, 5)) / 5, np.ones(120))
    both = np.concatenate([score, useless], axis=1)
    own, shared = (fit_groups(both, y, factor, intercept=True, features=k) for k in (30, 0))
    assert own.penalties[1] > own.penalties[0]
    assert own.risk < 0.95 * shared.risk
