"""Worlds with a given mean against simulated ones, the recalibration against an optimiser, and sides in doubt."""

import numpy as np
import pytest
from scipy import optimize, special

from ratewise.core.mean import score_worlds as made
from ratewise.core.mean.ratings import ratings


def lopsided(seed=0, T=400):
    rng = np.random.default_rng(seed)
    g = rng.beta(4, 0.6, T)
    h = (rng.random(T) < g).astype(float)
    rates = np.clip(0.2 + np.sqrt(g * (1 - g)), 0.2, 0.9)
    return g, np.where(rng.random(T) < rates, h, np.nan), rates


def test_the_variance_of_a_world_is_that_of_estimates_simulated_in_it(monkeypatch):
    """Every mistake where f expects it: H ~ Bernoulli(f₀) on the same items, drawn at the same rates, 20,000 times."""
    monkeypatch.setattr(made, "_ANYWHERE", 0.0)
    monkeypatch.setattr(made, "_BINS", 100_000)
    g, strong, rates = lopsided()
    data = ratings(g, strong, rates)
    worlds, _ = made.worlds_of(data.weak, data, pool_size=g.size)
    mean, f0 = worlds.chances(np.array([-0.7]))
    found = worlds.variance(mean, f0, worlds.off(f0[0]))[0]
    each = special.expit(score_logits(g, data) - 0.7)
    rng = np.random.default_rng(1)
    h = rng.random((20_000, g.size)) < each
    drawn = rng.random(h.shape) < rates
    error = ((h - g) * (drawn / rates - 1)).mean(axis=1)
    assert mean[0] == pytest.approx(each.mean(), rel=1e-4)
    assert found == pytest.approx(error.var(), rel=0.05)


def score_logits(f, data):
    keep = 0.5 / data.labels  # no rate is below a third of the mean here
    z = special.logit(np.clip(f, keep, 1 - keep))
    columns = np.stack([z, np.sign(z) * made._told_by_rates(data.rates[:, 0])])
    z = made._recalibrated(columns[:, data.labelled], data.strong[data.labelled])(columns)
    low, high = made._doubts(z[data.labelled], data.strong[data.labelled], 1 / data.rates[data.labelled, 0])
    return np.clip(z, special.logit(low), -special.logit(high))


def check_recalibration(columns, h):
    """The fit is at the top that a general optimiser finds."""
    found = made._recalibrated(columns, h)
    x = columns - found.centre[:, None]

    def loss(b):
        eta = b[0] + b[1:] @ x
        prior = made._PRIOR_RATINGS * (2 * np.logaddexp(0, b[0]) - b[0])
        away = ((b[1] - 1) ** 2 + b[2] ** 2) / (2 * made._SLOPE_VARIANCE)
        return np.sum(np.logaddexp(0, eta) - h * eta) + prior + away

    best = optimize.minimize(loss, [0.0, 0.5, 0.1], method="BFGS", options={"gtol": 1e-8})
    assert (found.alpha, *found.beta) == pytest.approx(tuple(best.x), abs=1e-5)


def test_recalibration_minimises_its_penalised_loss():
    g, strong, rates = lopsided(2)
    data = ratings(g, strong, rates)
    z, h = special.logit(np.clip(g[data.labelled], 0.01, 0.99)), data.strong[data.labelled]
    columns = np.stack([z, np.random.default_rng(5).normal(size=z.size)])
    check_recalibration(columns, h)
    assert np.isfinite(made._recalibrated(columns, np.ones_like(h)).alpha)


@pytest.mark.parametrize("wrong", [0.02, 0.12, 0.5, 0.9])
@pytest.mark.parametrize("mean", [0.5, 0.9, 0.99])
def test_recalibration_of_a_judge_that_says_only_0_or_1(mean, wrong):
    """Whole Newton steps went to and fro between two points here."""
    rng = np.random.default_rng([3, int(100 * mean), int(100 * wrong)])
    h = (rng.random(170) < mean).astype(float)
    g = np.where(rng.random(170) < wrong, 1 - h, h)
    z = special.logit(np.clip(g, 0.003, 0.997))
    check_recalibration(np.stack([z, np.sign(z) * rng.uniform(-1.4, 1.7, 170)]), h)


def test_a_side_is_in_doubt_by_one_label_more_or_half_where_no_mistakes_are_seen():
    z, weight = np.repeat([-3.0, 3.0], [20, 40]), np.ones(60)
    sure = special.expit(z)
    assert made._doubts(z, sure, weight) == pytest.approx((0.5 / 21, 0.5 / 41))
    mistaken = sure.copy()
    mistaken[:8] += 1.0  # eight full mistakes below 1/2
    count = 0.5 + 0.5 * 8 / 10
    assert made._doubts(z, mistaken, weight) == pytest.approx((0.5 / 21, count / (40 + 2 * count)))
