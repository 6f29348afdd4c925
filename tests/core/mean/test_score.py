"""The score interval's parts: worlds with a given mean against simulated ones, and limits that are known."""

import numpy as np
import pytest
from scipy import optimize, special

from ratewise.core.mean import score
from ratewise.core.mean.estimate import estimate_mean
from ratewise.core.mean.ratings import ratings


def lopsided(seed=0, T=400):
    rng = np.random.default_rng(seed)
    g = rng.beta(4, 0.6, T)
    h = (rng.random(T) < g).astype(float)
    rates = np.clip(0.2 + np.sqrt(g * (1 - g)), 0.2, 0.9)
    return g, np.where(rng.random(T) < rates, h, np.nan), rates


def test_the_variance_of_a_world_is_that_of_estimates_simulated_in_it(monkeypatch):
    """Every mistake where f expects it: H ~ Bernoulli(f₀) on the same items, drawn at the same rates, 20,000 times."""
    monkeypatch.setattr(score, "_ANYWHERE", 0.0)
    monkeypatch.setattr(score, "_BINS", 100_000)
    g, strong, rates = lopsided()
    data = ratings(g, strong, rates)
    worlds, _ = score._worlds(data.weak, data, pool_size=g.size)
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
    columns = np.stack([z, np.sign(z) * score._told_by_rates(data.rates[:, 0])])
    z = score._recalibrated(columns[:, data.labelled], data.strong[data.labelled])(columns)
    low, high = score._doubts(z[data.labelled], data.strong[data.labelled], 1 / data.rates[data.labelled, 0])
    return np.clip(z, special.logit(low), -special.logit(high))


def check_recalibration(columns, h):
    """The fit is at the top that a general optimiser finds."""
    found = score._recalibrated(columns, h)
    x = columns - found.centre[:, None]

    def loss(b):
        eta = b[0] + b[1:] @ x
        prior = score._PRIOR_RATINGS * (2 * np.logaddexp(0, b[0]) - b[0])
        away = ((b[1] - 1) ** 2 + b[2] ** 2) / (2 * score._SLOPE_VARIANCE)
        return np.sum(np.logaddexp(0, eta) - h * eta) + prior + away

    best = optimize.minimize(loss, [0.0, 0.5, 0.1], method="BFGS", options={"gtol": 1e-8})
    assert (found.alpha, *found.beta) == pytest.approx(tuple(best.x), abs=1e-5)


def test_recalibration_minimises_its_penalised_loss():
    g, strong, rates = lopsided(2)
    data = ratings(g, strong, rates)
    z, h = special.logit(np.clip(g[data.labelled], 0.01, 0.99)), data.strong[data.labelled]
    columns = np.stack([z, np.random.default_rng(5).normal(size=z.size)])
    check_recalibration(columns, h)
    assert np.isfinite(score._recalibrated(columns, np.ones_like(h)).alpha)


@pytest.mark.parametrize("wrong", [0.02, 0.12, 0.5, 0.9])
@pytest.mark.parametrize("mean", [0.5, 0.9, 0.99])
def test_recalibration_of_a_judge_that_says_only_0_or_1(mean, wrong):
    """Whole Newton steps went to and fro between two points here."""
    rng = np.random.default_rng([3, int(100 * mean), int(100 * wrong)])
    h = (rng.random(170) < mean).astype(float)
    g = np.where(rng.random(170) < wrong, 1 - h, h)
    z = special.logit(np.clip(g, 0.003, 0.997))
    check_recalibration(np.stack([z, np.sign(z) * rng.uniform(-1.4, 1.7, 170)]), h)


def test_a_judge_that_is_sure_of_a_coin_gets_an_interval_as_narrow_as_its_estimate():
    """Mean 0.5, a judge that is right 99 times in 100: widths follow the estimate, not the scale's middle."""
    rng = np.random.default_rng(3)
    h = (rng.random(4000) < 0.5).astype(float)
    g = np.where(rng.random(4000) < 0.01, 1 - h, h) * 0.98 + 0.01
    strong = np.where(rng.random(4000) < 0.1, h, np.nan)
    found = estimate_mean(g, strong, 0.1, estimand="pool")
    assert found.high - found.low < 8 * np.sqrt(0.01 * 9 / 4000)


def test_known_ratings_of_a_pool_bound_its_mean():
    """190 of 200 items are known to be good, one is known to be bad."""
    strong = np.concatenate([np.ones(190), [0.0], np.full(9, np.nan)])
    found = estimate_mean(np.full(200, 0.9), strong, 0.95, estimand="pool")
    assert found.low >= 190 / 200
    assert found.high <= 199 / 200


@pytest.mark.parametrize("value", [1.0, 3.0, 5.0])
def test_ratings_that_are_all_equal_have_an_interval_if_the_scale_is_known(value):
    found = estimate_mean(np.full(30, 3.0), np.full(30, value), 1.0, bounds=(1, 5))
    assert found.interval_method == "score"
    assert 1 <= found.low < found.high <= 5
    assert found.low <= value <= found.high
    assert estimate_mean(np.full(30, 3.0), np.full(30, value), 1.0).interval is None


def test_a_judge_that_is_off_by_a_constant_is_found_out_with_twenty_labels():
    """Scores near 0 for answers that are all good: the level of the line is free, its slope is not."""
    rng = np.random.default_rng(4)
    g = 0.05 * rng.random(200)
    strong = np.where(rng.random(200) < 0.1, 1.0, np.nan)
    found = estimate_mean(g, strong, 0.1)
    assert "regression" in found.method
    assert found.value == pytest.approx(1.0, abs=0.03)


def one_sided(*, seen_on_both, T=2000):
    """A yes/no judge: nine mistakes among 200 of its yeses; among 84 of its noes as many, or none."""
    g = np.repeat([1.0, 0.0], T // 2)
    asked = np.zeros(T, dtype=bool)
    asked[: T // 2 : 5] = asked[T // 2 :: 12] = True
    h = g.copy()
    h[np.flatnonzero(asked & (g == 1))[:9]] = 0.0
    if seen_on_both:
        h[np.flatnonzero(asked & (g == 0))[:9]] = 1.0
    return g, np.where(asked, h, np.nan), np.where(g == 1, 1 / 5, 1 / 12)


@pytest.mark.parametrize(("seen_on_both", "least", "most"), [(False, 1.2, 1.5), (True, 1.1, 1.2)])
def test_a_side_where_no_mistake_was_seen_may_have_some(seen_on_both, least, most):
    """84 noes without a mistake do not say that there is none: the interval goes further up than the errors seen do."""
    found, normal = (
        estimate_mean(*one_sided(seen_on_both=seen_on_both), method="difference", interval=kind, estimand="pool")
        for kind in ("score", "normal")
    )
    assert least < (found.interval[1] - found.value) / (normal.interval[1] - normal.value) < most


def test_mistakes_unseen_count_where_the_other_side_has_some():
    weight, r, rate = np.full(40, 5.0), np.zeros(40), 0.2
    side = np.arange(40) < 20
    assert score._unseen(r, weight, side, rate) == 0  # nothing seen: the test itself says what may be
    r[:9] = -1.0
    assert score._unseen(r, weight, side, rate) == pytest.approx(5 * 4 * (9 / 11))
    r[20:24] = 1.0
    assert score._unseen(r, weight, side, rate) == pytest.approx(5 * 4 * (9 / 11 / 5 + 4 / 6 / 10))
    assert score._unseen(r, weight, side | True, rate) == 0  # all on one side
    # Rates far below the mean are believed as to how rare mistakes are.
    assert score._unseen(r, weight, side, 2 * rate / score._LOW_RATE) == pytest.approx(5 * 4 * (9 / 55 + 2 / 30) / 16)


def test_a_side_is_in_doubt_by_one_label_more_or_half_where_no_mistakes_are_seen():
    z, weight = np.repeat([-3.0, 3.0], [20, 40]), np.ones(60)
    sure = special.expit(z)
    assert score._doubts(z, sure, weight) == pytest.approx((0.5 / 21, 0.5 / 41))
    mistaken = sure.copy()
    mistaken[:8] += 1.0  # eight full mistakes below 1/2
    count = 0.5 + 0.5 * 8 / 10
    assert score._doubts(z, mistaken, weight) == pytest.approx((0.5 / 21, count / (40 + 2 * count)))
