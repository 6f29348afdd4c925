"""Three groups of columns: the closed form against refits without each label."""

from itertools import product

import numpy as np
import pytest

from ratewise.learn.ridge import FEATURE_RATIOS, PENALTIES, TEXT_PENALTIES, TextFactor, fit_groups, ridge_path


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
