"""Two groups of columns: the closed form against refits without each label."""

from itertools import product

import numpy as np
import pytest

from ratewise.models.group_ridge import TEXT_PENALTIES, TextFactor, fit_groups
from ratewise.models.ridge import PENALTIES


def _world(seed: int, n: int, p: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.standard_normal((n, 3))])
    Z = rng.standard_normal((n, p)) / np.sqrt(p)
    y = 2.0 + X[:, 1] + Z @ rng.standard_normal(p) + 0.5 * rng.standard_normal(n)
    return X, Z, y, rng.uniform(0.3, 3.0, n)


def _by_hand(
    X: np.ndarray, Z: np.ndarray, y: np.ndarray, w: np.ndarray, free: int
) -> tuple[float, np.ndarray, np.ndarray]:
    """Every pair of penalties, every label left out in turn; the best pair's residuals and coefficients."""
    n, W, C = y.size, w * (w.size / w.sum()), np.column_stack([X, Z])
    best = None
    for kappa, penalty in product(TEXT_PENALTIES, PENALTIES):
        diagonal = np.concatenate([np.zeros(free), np.full(X.shape[1] - free, penalty), np.full(Z.shape[1], kappa)])
        unseen = np.empty(n)
        for i in range(n):
            rest = np.arange(n) != i
            A = (C[rest] * W[rest, None]).T @ C[rest] + np.diag(diagonal)
            unseen[i] = y[i] - C[i] @ np.linalg.solve(A, (C[rest] * W[rest, None]).T @ y[rest])
        risk = float(np.mean(W * unseen**2))
        if best is None or risk < best[0]:
            line = np.linalg.solve((C * W[:, None]).T @ C + np.diag(diagonal), (C * W[:, None]).T @ y)
            best = risk, unseen, line
    assert best is not None
    return best


@pytest.mark.parametrize(("n", "p", "free"), [(24, 9, 1), (14, 20, 1), (20, 7, 0)])
def test_leave_one_out_is_exact_with_more_labels_or_more_columns(n: int, p: int, free: int) -> None:
    X, Z, y, w = _world(n, n, p)
    fit = fit_groups(X, y, TextFactor.of(Z, w), free=free)
    risk, unseen, line = _by_hand(X, Z, y, w, free)
    np.testing.assert_allclose(fit.unseen, unseen, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(np.concatenate([fit.few, fit.many]), line, rtol=1e-5, atol=1e-6)
    assert fit.risk == pytest.approx(risk, rel=1e-6)


def test_columns_of_zeros_leave_the_regression_on_the_few() -> None:
    X, Z, y, w = _world(3, 40, 5)
    fit = fit_groups(X, y, TextFactor.of(0.0 * Z, w), free=1)
    assert not fit.many.any()
    assert fit.few[1] == pytest.approx(1.0, abs=0.6)
