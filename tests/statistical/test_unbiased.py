"""Bias, over at least 20,000 seeded trials. A test fails by chance once in 16,000 (four standard errors)."""

import numpy as np
import pytest

from ratewise.core.estimate import contributions, cross_fitted, regression
from ratewise.core.ratings import ratings

TRIALS = 20_000
SIGMAS = 4.0


def draws(seed, *, items, mean, rates):
    """Many small samples at once: a judge too harsh, more often where the rate is high."""
    rng = np.random.default_rng(seed)
    pi = rng.choice(rates, (TRIALS, items))
    h = (rng.random((TRIALS, items)) < mean).astype(float)
    g = np.where(rng.random((TRIALS, items)) < 0.4 * pi, 0.0, h)
    return g, h, pi, rng.random((TRIALS, items)) < pi


def standard_errors_off(values, truth):
    return (values.mean() - truth) / (values.std(ddof=1) / np.sqrt(values.size))


@pytest.mark.parametrize(("mean", "items"), [(0.5, 60), (0.85, 47), (0.95, 80), (0.99, 120)])
def test_difference_estimator_is_unbiased(mean, items):
    g, h, pi, xi = draws(1, items=items, mean=mean, rates=[0.1, 0.35, 0.9])
    values = (g + (h - g) * xi / pi).mean(axis=1)
    data = ratings(g[0], np.where(xi[0], h[0], np.nan), pi[0])
    assert contributions(data.weak, data).mean() == pytest.approx(values[0])  # the same estimator as the product's
    assert abs(standard_errors_off(values, mean)) < SIGMAS
    broken = (g + (h - g) * xi / np.clip(pi, 0.2, 1)).mean(axis=1)  # rates clipped after the draw
    assert abs(standard_errors_off(broken, mean)) > SIGMAS


def tuned(lines, g, h, pi, xi, trials):
    values = np.empty(trials)
    for i in range(trials):
        data = ratings(g[i], np.where(xi[i], h[i], np.nan), pi[i])
        values[i] = contributions(lines(data, i).put(data.weak), data).mean()
    return values


def test_auto_is_unbiased_where_tuning_on_the_same_labels_is_not():
    """About 20 labels near 0.95, the cell in which regression on the same labels fails; 20,000 trials."""
    items = 60
    g, h, pi, xi = draws(2, items=items, mean=0.95, rates=[0.1, 0.35, 0.55])

    def folds(i):
        return np.random.default_rng(i).permutation(items) % 10

    auto = tuned(lambda data, i: cross_fitted(data, folds(i), folds=10), g, h, pi, xi, TRIALS)
    assert abs(standard_errors_off(auto, 0.95)) < SIGMAS
    same_labels = tuned(lambda data, i: regression(data), g, h, pi, xi, 4000)
    assert abs(standard_errors_off(same_labels, 0.95)) > SIGMAS


def test_auto_stays_unbiased_where_items_without_a_label_take_the_mean_of_all_lines():
    """As in tables of more than a million rows: the mean over the folds that such an item could be in."""
    items, trials = 60, 2000
    g, h, pi, xi = draws(3, items=items, mean=0.95, rates=[0.1, 0.35, 0.55])
    fold = np.random.default_rng(4).integers(0, 10, (trials, items))
    own, mean = (
        tuned(lambda data, i, f=f: cross_fitted(data, f[i], folds=10), g, h, pi, xi, trials)
        for f in (fold, np.where(xi[:trials], fold, -1))
    )
    assert abs(standard_errors_off(mean - own, 0.0)) < SIGMAS
    assert mean.std() < 1.01 * own.std()
