"""Worlds with a given mean against simulated ones, the recalibration against an optimiser, and sides in doubt."""

import numpy as np
import pytest
from scipy import optimize, special

from ratewise.core import score as made
from ratewise.core.ratings import ratings


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
    worlds, _, _ = made.worlds_of(data.weak, data, pool_size=g.size)
    mean, f0 = worlds.chances(np.array([-0.7]))
    found = worlds.variance(mean, f0, worlds.off(f0[0]))[0]
    each = special.expit(in_the_world(g, data, -0.7))
    rng = np.random.default_rng(1)
    h = rng.random((20_000, g.size)) < each
    drawn = rng.random(h.shape) < rates
    error = ((h - g) * (drawn / rates - 1)).mean(axis=1)
    assert mean[0] == pytest.approx(each.mean(), rel=1e-4)
    assert found == pytest.approx(error.var(), rel=0.05)


def in_the_world(f, data, tilt):
    """Every item's log-odds in a tilted world, step by step."""
    use, h = data.labelled, data.strong[data.labelled][:, None]
    every = np.ones(f.size)
    z = made._log_odds(f[:, None], 0.5 / data.labels * every, data.rates[:, 0], every)  # no rate is far below the mean
    columns = np.stack([z[:, 0], np.sign(z[:, 0]) * made._told_by_rates(data.rates[:, 0])])
    start, *slopes = made._recalibrated(columns[:, use], h[:, 0])
    z = (start + slopes @ columns)[:, None]
    group = made._groups(z, data.rates[:, 0])
    mass = np.full((f.size, 1), 1 / f.size)
    coarse = made._coarse(data.weak, data.rates, group, mass)
    moved, bend = made._moved(z[use], h, group[use], made._precision(coarse))
    z = z + moved[group]
    p = special.expit(z[:, 0])
    way = np.linalg.solve(bend, np.bincount(group[:, 0], p * (1 - p) / f.size))
    return z[:, 0] + tilt * np.maximum(way / way.max(), made._LEAST_TILT)[group[:, 0]]


def check_recalibration(columns, h):
    """The fit is at the top that a general optimiser finds."""
    found, centre = made._recalibrated(columns, h), columns.mean(axis=1)
    x = columns - centre[:, None]

    def loss(b):
        eta = b[0] + b[1:] @ x
        prior = made._PRIOR_RATINGS * (2 * np.logaddexp(0, b[0]) - b[0])
        away = ((b[1] - 1) ** 2 + b[2] ** 2) / (2 * made._SLOPE_VARIANCE)
        return np.sum(np.logaddexp(0, eta) - h * eta) + prior + away

    best = optimize.minimize(loss, [0.0, 0.5, 0.1], method="BFGS", options={"gtol": 1e-8})
    assert (found[0] + found[1:] @ centre, *found[1:]) == pytest.approx(tuple(best.x), abs=1e-5)


def test_recalibration_minimises_its_penalised_loss():
    g, strong, rates = lopsided(2)
    data = ratings(g, strong, rates)
    z, h = special.logit(np.clip(g[data.labelled], 0.01, 0.99)), data.strong[data.labelled]
    columns = np.stack([z, np.random.default_rng(5).normal(size=z.size)])
    check_recalibration(columns, h)
    assert np.isfinite(made._recalibrated(columns, np.ones_like(h))).all()


@pytest.mark.parametrize("wrong", [0.02, 0.12, 0.5, 0.9])
@pytest.mark.parametrize("mean", [0.5, 0.9, 0.99])
def test_recalibration_of_a_judge_that_says_only_0_or_1(mean, wrong):
    """Whole Newton steps went to and fro between two points here."""
    rng = np.random.default_rng([3, int(100 * mean), int(100 * wrong)])
    h = (rng.random(170) < mean).astype(float)
    g = np.where(rng.random(170) < wrong, 1 - h, h)
    z = special.logit(np.clip(g, 0.003, 0.997))
    check_recalibration(np.stack([z, np.sign(z) * rng.uniform(-1.4, 1.7, 170)]), h)


def test_groups_move_to_the_top_of_their_penalised_likelihood():
    """Against an optimiser: three groups of 30, 10 and 0 labels; the one without labels goes along with the others."""
    rng = np.random.default_rng(4)
    at = np.repeat([0, 1], [30, 10])[:, None]
    z, h = rng.normal(1, 1, (40, 1)), (rng.random((40, 1)) < 0.4).astype(float)
    prior = made._precision(np.array([0.0, 1.0, 0.3]))
    moved, bend = made._moved(z, h, at, prior)

    def loss(b):
        eta = z + b[at]
        return np.sum(np.logaddexp(0, eta) - h * eta) + 0.5 * b @ prior @ b

    best = optimize.minimize(loss, np.zeros(3), method="BFGS", options={"gtol": 1e-8})
    assert moved == pytest.approx(best.x, abs=1e-5)
    assert bend == pytest.approx(
        optimize.approx_fprime(moved, lambda b: optimize.approx_fprime(b, loss, 1e-4), 1e-4), abs=0.05
    )
    assert moved[2] < 0


def test_the_prior_lets_all_groups_move_together_and_each_a_little():
    """β'Kβ is the least of Σ (β − c)²/τ² + c²/9 over c, whatever the β."""
    coarse, b = np.array([0.0, 0.5, 1.0]), np.array([0.3, -1.0, 2.0])
    tau = np.array([0.25, 0.625, 1.0])
    least = optimize.minimize_scalar(lambda c: float(np.sum(((b - c) / tau) ** 2) + (c / 3) ** 2)).fun
    assert b @ made._precision(coarse) @ b == pytest.approx(least)


@pytest.mark.parametrize(
    ("f", "low", "high"),
    [
        (np.round(np.linspace(0, 1, 301), 1), 0.025, 0.025),  # tenths
        (np.array([0.0, 0.25, 0.5, 0.75, 1.0] * 20), 0.0625, 0.0625),
        (np.array([0.0, 1.0] * 20), 0.25, 0.25),
        (np.linspace(0, 1, 500), 1e-4, 1e-4),  # as fine as can be: what `keep` says
        (np.round(np.linspace(0, 1, 500), 2), 1e-4, 1e-4),  # hundredths
        (np.append(np.linspace(0.6, 1, 500), 0.1), 0.125, 1e-4),  # the gap is at the lower end only
    ],
)
def test_no_prediction_is_surer_than_the_scale_is_fine(f, low, high):
    one = np.ones(f.size)
    z = special.expit(made._log_odds(f[:, None], 1e-4 * one, 0.2 * one, one))
    assert (z.min(), 1 - z.max()) == pytest.approx((low, high))


def test_a_judge_that_speaks_in_few_values_is_coarse():
    group = np.repeat([0, 1, 2, 3], 50)[:, None]
    weak = np.concatenate([np.full(50, 0.9), np.repeat([0.5, 0.6], 25), np.linspace(0.1, 0.4, 50), np.zeros(50)])
    mass = np.ones(200)
    mass[151:] = 0.0  # a group of a single item
    one = np.full((200, 1), 0.2)
    found = made._coarse(weak[:, None], one, group, mass[:, None])
    assert found == pytest.approx([1.0, 24 / 49, 0.0, 0.0], abs=1e-9)
    rates = np.linspace(0.1, 0.2, 200)[:, None]  # whoever set the rates told the items apart
    assert made._coarse(weak[:, None], rates, group, mass[:, None]) == pytest.approx(0, abs=1e-9)


def test_rates_that_differ_say_what_a_coarse_scale_does_not():
    f, one = np.repeat([0.0, 1.0], 20), np.ones(40)
    apart = np.linspace(0.1, 0.9, 40)
    z = special.expit(made._log_odds(f[:, None], 1e-4 * one, apart, one))
    assert (z.min(), 1 - z.max()) == pytest.approx((0.25 / 20, 0.25 / 20))


@pytest.mark.parametrize(
    ("levels", "around"), [([0, 1], (1, 1)), ([0, 0.25, 0.5, 0.75, 1], (0.3, 0.75)), ([0.4, 0.6], (0, 0.1))]
)
def test_dispersion_is_that_of_the_ratings_seen(levels, around):
    """0/1 ratings have 1; ratings that are all near the middle little."""
    h = np.resize(levels, 400).astype(float)
    found = made.dispersion(h, np.full(400, h.mean()), np.full(400, 3.0))
    assert around[0] <= found <= around[1]
    assert made.dispersion(np.ones(50), np.full(50, 0.98), np.ones(50)) == 1.0  # nothing between the ends was seen
