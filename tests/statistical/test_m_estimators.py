"""Coverage and bias of M-estimators with active rates, seeded.

Bounds are binomial: a cell whose true coverage is at the stated target fails by chance with probability 1e-4.
"""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy import special, stats

from ratewise.core.m_estimation import LOSSES, NoFitError, degrees_of_freedom, fit_m_estimator
from ratewise.core.ratings import Ratings, ratings
from ratewise.questions.quantiles import estimate_quantile
from ratewise.questions.regression import learned_rating

from ..bounds import fewest, further, most
from ..worlds import JUDGED_BETA, judged_regression


@dataclass(frozen=True)
class Cell:
    family: str
    labels: int
    method: str = "difference"
    pool: bool = False
    clusters: int = 0
    items: int = 1000
    trials: int = 800

    def name(self):
        parts = [self.family, self.method, str(self.labels), "pool" if self.pool else "", str(self.clusters or "")]
        return "-".join(part for part in parts if part)


CELLS = [
    Cell("linear", 60),
    further(Cell("linear", 250, "auto")),
    Cell("logistic", 100),
    Cell("logistic", 250, "auto"),
    further(Cell("logistic", 200, "power-tuned")),
    Cell("poisson", 80),
    further(Cell("poisson", 250, "auto")),
    Cell("linear", 120, "strong alone"),
    Cell("linear", 200, pool=True),
    Cell("logistic", 250, "auto", pool=True, trials=400),
    further(Cell("poisson", 200, pool=True, trials=400)),
    Cell("linear", 250, clusters=60),
    further(Cell("logistic", 300, clusters=80)),
]


def learned(X, data):
    from ratewise.learn.covariates import Covariates

    f = learned_rating(Covariates(data.weak[:, 0], X[:, 1:]), data)
    return Ratings(f[:, None], data.strong, data.rates)


def fitted(cell, rng):
    X, h, data, codes = judged_regression(rng, cell)
    loss = LOSSES[cell.family]
    N = cell.items if cell.pool else np.inf
    data = learned(X, data) if cell.method == "auto" else data
    power = {"power-tuned": None, "strong alone": 0.0}.get(cell.method, 1.0)
    fit = fit_m_estimator(X, loss, data, power=power, clusters=codes, pool_size=N)
    truth = JUDGED_BETA
    if cell.pool:
        truth = fit_m_estimator(X, loss, ratings(h, h, 1.0)).coefficients
    t = special.stdtrit(degrees_of_freedom(fit, X, clusters=codes, pool_size=N), 0.975)
    return X, fit, data, truth, t


def run(cell, seed, interval=None):
    """How often each coefficient's interval holds, over the trials that have a fit; and errors in standard errors."""
    held, errors = [], []
    for trial in range(cell.trials):
        try:
            X, fit, data, truth, t = fitted(cell, np.random.default_rng([seed, trial]))
        except NoFitError:  # a kind with few labels, all alike: the product leaves it out and says so
            continue
        half = t * fit.standard_errors if interval is None else interval(X, fit, data)
        held.append(np.abs(fit.coefficients - truth) <= half)
        errors.append(fit.coefficients - truth)
    return np.array(held), np.array(errors)


@pytest.mark.parametrize("cell", CELLS, ids=Cell.name)
def test_intervals_cover_and_estimates_are_centred(cell):
    held, errors = run(cell, 21)
    trials = held.shape[0]
    assert trials >= 0.98 * cell.trials
    assert np.all(held.mean(axis=0) >= fewest(0.94 if cell.labels >= 200 else 0.93, trials)), held.mean(axis=0)
    bias = errors.mean(axis=0) / errors.std(axis=0)
    assert np.all(np.abs(bias) < 0.2 + 3.9 / np.sqrt(trials)), bias  # a nonlinear fit is biased by order 1/n


def test_linear_fits_are_unbiased_but_for_noise():
    """Four standard errors; weights that are clipped after the draw fail the same check."""
    cell = Cell("linear", 60, trials=1200)
    _, errors = run(cell, 22)
    off = errors.mean(axis=0) / (errors.std(axis=0) / np.sqrt(cell.trials))
    assert np.all(np.abs(off) < 4)
    broken = []
    for trial in range(cell.trials):
        X, _, data, _ = judged_regression(np.random.default_rng([22, trial]), cell)
        clipped = replace(data, rates=np.clip(data.rates, 0.05, 1))
        broken.append(fit_m_estimator(X, LOSSES["linear"], clipped).coefficients - JUDGED_BETA)
    broken = np.array(broken)
    assert np.abs(broken.mean(axis=0) / (broken.std(axis=0) / np.sqrt(cell.trials))).max() > 4


def test_the_check_catches_what_is_broken():
    """A sandwich without the draw, and weights that are ignored, do not cover."""

    def without_the_draw(X, fit, data):
        r = fit.predictor - np.where(data.labelled, data.strong, data.weak[:, 0])
        A = np.linalg.inv(fit.curvature)
        return 1.96 * np.sqrt(np.diag(A @ ((X * r[:, None] ** 2).T @ X) @ A)) / data.items

    cell = Cell("linear", 60, trials=300)
    held, _ = run(cell, 23, without_the_draw)
    assert held.mean(axis=0).min() < fewest(0.93, 300)
    held = 0
    for trial in range(300):
        X, _, data, _ = judged_regression(np.random.default_rng([24, trial]), cell)
        unweighted = replace(data, rates=np.full_like(data.rates, data.labels / data.items))
        fit = fit_m_estimator(X, LOSSES["linear"], unweighted)
        held += np.abs(fit.coefficients - JUDGED_BETA) <= 2 * fit.standard_errors
    assert held.min() / 300 < fewest(0.93, 300)


# Quantiles


def scores(rng, T, labels, *, digits=None):
    h, z = rng.gamma(2.0, 1.0, T), rng.random(T)
    g = h + (0.1 + 0.8 * z) * rng.standard_normal(T)
    if digits is not None:
        g, h = g.round(digits), h.round(digits)
    pi = np.clip((0.3 + 1.4 * z) * labels / T, 0, 1)
    return g, h, pi, rng.random(T) < pi


@pytest.mark.parametrize("q", [0.5, 0.9])
@pytest.mark.parametrize(("labels", "estimand"), [(60, "population"), (250, "pool"), further(250, "population")])
def test_quantiles_cover(q, labels, estimand):
    trials, held, errors = 1000, 0, []
    for trial in range(trials):
        g, h, pi, xi = scores(np.random.default_rng([25, trial]), 1000, labels)
        truth = stats.gamma.ppf(q, 2) if estimand == "population" else np.quantile(h, q, method="inverted_cdf")
        found = estimate_quantile(g, np.where(xi, h, np.nan), pi, quantile=q, estimand=estimand)
        held += found.low <= truth <= found.high
        errors.append(found.value - truth)
    assert held / trials >= fewest(0.95, trials)
    assert abs(np.mean(errors)) / np.std(errors) < 0.15 + 3.9 / np.sqrt(trials)


@pytest.mark.parametrize("q", [0.5, 0.9])
def test_quantiles_of_few_different_ratings_cover(q):
    """Stars: the quantile lies where the share at or below it just reaches q."""
    trials, held = 1000, 0
    truth = np.round(stats.gamma.ppf(q, 2))
    assert stats.gamma.cdf(truth - 0.5, 2) < q <= stats.gamma.cdf(truth + 0.5, 2)
    for trial in range(trials):
        g, h, pi, xi = scores(np.random.default_rng([26, trial]), 1000, 100, digits=0)
        found = estimate_quantile(g, np.where(xi, h, np.nan), pi, quantile=q)
        held += found.low <= truth <= found.high
    assert held / trials >= fewest(0.95, trials)


@pytest.mark.parametrize(("q", "ratings"), [(0.02, 50), (0.02, 200), (0.98, 200)])
def test_quantiles_near_an_end_err_on_neither_side(q, ratings):
    """All rated: a chance of 2.5 % to miss on either side, by the test of how many ratings lie at or below the truth.

    Broken: the normal approximation, which misses on one side twice as often.
    """
    trials, scale = 4000, (0.0, 1.0)
    below = np.random.default_rng(28).binomial(ratings, q, trials)
    missed = {"low": 0, "high": 0, "normal": 0}
    for k in np.unique(below):
        h = np.concatenate([np.linspace(0.0, q - 1e-9, k), np.linspace(q + 1e-9, 1.0, ratings - k)])
        found, count = estimate_quantile(h, h, 1.0, quantile=q, bounds=scale), np.count_nonzero(below == k)
        missed["low"] += count * (q > found.high)
        missed["high"] += count * (q < found.low)
        missed["normal"] += count * (abs(k / ratings - q) > 1.96 * np.sqrt(q * (1 - q) / ratings))
    assert missed["low"] / trials <= most(0.025, trials)
    assert missed["high"] / trials <= most(0.025, trials)
    assert missed["normal"] / trials > most(0.05, trials)


def test_quantiles_of_weak_ratings_alone_do_not_cover():
    trials, held = 300, 0
    for trial in range(trials):
        g, _, pi, _ = scores(np.random.default_rng([27, trial]), 1000, 250)
        found = estimate_quantile(g, g, np.ones_like(pi), quantile=0.9)
        held += found.low <= stats.gamma.ppf(0.9, 2) <= found.high
    assert held / trials < fewest(0.95, trials)
