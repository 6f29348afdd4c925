"""Calibration: known worlds are recovered, other routes give the same map, and a fold never sees its own labels."""

import json

import numpy as np
import pytest
from scipy import special, stats
from sklearn.isotonic import IsotonicRegression

from ratewise import Calibration, InputError, cross_calibrated, fit_calibration

from ..bounds import FALSE_ALARM

KINDS = ["platt", "affine", "isotonic"]


def logistic_world(rng, n, *, a, b):
    """Scores far from even, and P(H = 1) = σ(a + b·logit g)."""
    g = np.clip(rng.beta(4, 1.3, n), 0.01, 0.99)
    return g, (rng.random(n) < special.expit(a + b * special.logit(g))).astype(float)


def off_by(fit, g, *, a, b):
    """Largest of the two coefficients' errors in standard errors, from the Fisher information at the truth."""
    x = special.logit(g)
    p = special.expit(a + b * x)
    X = np.stack([np.ones_like(x), x], axis=1)
    se = np.sqrt(np.diag(np.linalg.inv((X * (p * (1 - p))[:, None]).T @ X)))
    return float(np.max(np.abs([fit.intercept - a, fit.slope - b]) / se))


def test_platt_recovers_a_logistic_world():
    rng = np.random.default_rng(101)
    g, h = logistic_world(rng, 30_000, a=-0.8, b=1.3)
    limit = stats.norm.isf(FALSE_ALARM / 4)  # two coefficients, two sides
    assert off_by(fit_calibration(g, h, kind="platt"), g, a=-0.8, b=1.3) < limit
    _, near_by = logistic_world(rng, 30_000, a=-0.5, b=1.3)
    assert off_by(fit_calibration(g, near_by, kind="platt"), g, a=-0.8, b=1.3) > limit
    assert off_by(fit_calibration(1 - g, h, kind="platt"), g, a=-0.8, b=1.3) > limit


def test_platt_predicts_the_probability_it_was_told():
    fit = Calibration("platt", intercept=-0.8, slope=1.3)
    g = np.array([0.02, 0.4, 0.97])
    np.testing.assert_allclose(fit.predict(g), special.expit(-0.8 + 1.3 * special.logit(g)), rtol=1e-12)


def test_platt_takes_soft_labels():
    g = np.random.default_rng(103).beta(2, 1, 4000)
    soft = special.expit(0.4 + 0.7 * special.logit(np.clip(g, 1e-3, 1 - 1e-3)))
    fit = fit_calibration(g, soft, kind="platt")
    np.testing.assert_allclose(fit.predict(g), soft, atol=2e-3)
    hard = fit_calibration(g, (soft > 0.5).astype(float), kind="platt")
    assert np.abs(hard.predict(g) - soft).max() > 0.1


def test_platt_s_smoothed_targets():
    """Three of five, all with the same score: (n₊·t₊ + n₋·t₋)/n with Platt's t₊ = 4/5, t₋ = 1/4."""
    fit = fit_calibration(np.full(5, 0.3), [1, 1, 0, 1, 0], kind="platt")
    assert fit.predict([0.3])[0] == pytest.approx((3 * 4 / 5 + 2 * 1 / 4) / 5, abs=1e-4)


@pytest.mark.parametrize("weighted", [False, True])
def test_affine_is_least_squares(weighted):
    rng = np.random.default_rng(107)
    g, h = rng.normal(40, 7, 300), rng.normal(-3, 2, 300)
    h += 0.4 * g
    w = rng.gamma(1.0, 3.0, 300) if weighted else None
    slope, intercept = np.polyfit(g, h, 1, w=None if w is None else np.sqrt(w))
    fit = fit_calibration(g, h, kind="affine", weights=w)
    assert (fit.slope, fit.intercept) == (pytest.approx(slope, rel=1e-9), pytest.approx(intercept, rel=1e-9))
    np.testing.assert_allclose(fit.predict([-5.0, 90.0]), [intercept - 5 * slope, intercept + 90 * slope])


@pytest.mark.parametrize("weighted", [False, True])
def test_isotonic_is_scikit_learn_s_and_rises(weighted):
    rng = np.random.default_rng(109)
    g = np.round(rng.gamma(2, 3, 250), 1)  # with ties
    h = np.round(np.sqrt(g) + rng.normal(0, 1, 250))
    w = rng.integers(1, 6, 250).astype(float) if weighted else None
    fit = fit_calibration(g, h, kind="isotonic", weights=w)
    everywhere = np.linspace(-10, g.max() + 10, 2001)
    other = IsotonicRegression(out_of_bounds="clip").fit(g, h, sample_weight=w)
    np.testing.assert_allclose(fit.predict(everywhere), other.predict(everywhere), rtol=1e-12, atol=1e-12)
    assert np.all(np.diff(fit.predict(everywhere)) >= 0)
    assert np.ptp(fit.predict(everywhere)) > 1


@pytest.mark.parametrize("kind", ["affine", "isotonic"])
def test_a_weight_of_three_is_three_rows(kind):
    rng = np.random.default_rng(113)
    g, h, w = rng.random(40), rng.random(40), rng.integers(1, 4, 40)
    weighted = fit_calibration(g, h, kind=kind, weights=w)
    repeated = fit_calibration(np.repeat(g, w), np.repeat(h, w), kind=kind)
    x = np.linspace(-0.5, 1.5, 101)
    np.testing.assert_allclose(weighted.predict(x), repeated.predict(x), rtol=1e-9)
    assert not np.allclose(weighted.predict(x), fit_calibration(g, h, kind=kind).predict(x), rtol=1e-3)


def test_platt_follows_its_weights():
    """Labels with 1/π weights stand for the pool they were drawn from."""
    rng = np.random.default_rng(127)
    g, h = logistic_world(rng, 60_000, a=0.2, b=0.6)
    pi = np.where(h == 1, 0.1, 0.5)
    drawn = rng.random(g.size) < pi
    whole = fit_calibration(g, h).predict([0.3, 0.9])
    weighted = fit_calibration(g[drawn], h[drawn], weights=1 / pi[drawn]).predict([0.3, 0.9])
    plain = fit_calibration(g[drawn], h[drawn]).predict([0.3, 0.9])
    np.testing.assert_allclose(weighted, whole, atol=0.03)
    assert np.all(np.abs(plain - whole) > 0.15)


@pytest.mark.parametrize("kind", KINDS)
def test_a_constant_weak_rating_gives_the_mean(kind):
    h = np.array([0.0, 1, 1, 0, 1, 1, 1, 1, 0, 1] * 30)
    fit = fit_calibration(np.full(300, 0.35), h, kind=kind)
    np.testing.assert_allclose(fit.predict([0.35]), 0.7, atol=0.003)


@pytest.mark.parametrize("kind", KINDS)
def test_constant_strong_ratings_give_that_constant(kind):
    g = np.linspace(0.1, 0.9, 200)
    fit = fit_calibration(g, np.ones(200), kind=kind)
    shrunk = 201 / 202 if kind == "platt" else 1.0
    np.testing.assert_allclose(fit.predict(g), shrunk, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_separable_labels_stay_finite(kind):
    g = np.linspace(0.05, 0.95, 50)
    h = (g > 0.8).astype(float)
    fit = fit_calibration(g, h, kind=kind)
    found = fit.predict(g)
    assert np.isfinite(found).all()
    assert np.isfinite([fit.intercept, fit.slope]).all()
    assert found[0] < 0.2
    assert found[-1] > 0.5


@pytest.mark.parametrize("kind", ["platt", "isotonic"])
def test_ratings_outside_0_and_1_stay_within_those_seen(kind):
    rng = np.random.default_rng(131)
    h = rng.integers(1, 6, 400).astype(float)  # stars
    g = 20 * h + rng.normal(0, 25, 400)
    fit = fit_calibration(g, h, kind=kind)
    x = np.linspace(-500, 500, 401)
    found = fit.predict(x)
    assert found.min() >= 1
    assert found.max() <= 5
    assert np.all(np.diff(found) >= 0)
    assert np.mean((h - fit.predict(g)) ** 2) < 0.8 * h.var()
    assert fit.predict([-1e4])[0] < 2
    assert fit.predict([1e4])[0] > 4


@pytest.mark.parametrize("kind", KINDS)
def test_round_trip_through_json(kind):
    rng = np.random.default_rng(137)
    fit = fit_calibration(rng.normal(3, 2, 60), rng.normal(1, 4, 60), kind=kind)
    back = Calibration.from_dict(json.loads(json.dumps(fit.to_dict())))
    assert back == fit
    x = np.linspace(-20, 20, 101)
    np.testing.assert_array_equal(back.predict(x), fit.predict(x))


@pytest.mark.parametrize(
    ("weak", "strong", "options", "words"),
    [
        ([0.1, 0.2], [0, 1], {"kind": "magic"}, "platt, affine, isotonic"),
        ([0.1], [1], {}, "at least 2"),
        ([0.1, 0.2, 0.3], [0, 1], {}, "equal length"),
        ([0.1, np.nan], [0, 1], {}, "weak must be finite"),
        ([0.1, 0.2], [0, np.nan], {}, "strong must be finite"),
        ([0.1, 0.2], [0, 1], {"weights": [1, -1]}, "weights must be at least 0"),
        ([], [], {}, "empty"),
    ],
)
def test_refusals(weak, strong, options, words):
    with pytest.raises(InputError, match=words):
        fit_calibration(weak, strong, **options)


# Cross-fitting


@pytest.fixture
def half_labelled():
    rng = np.random.default_rng(139)
    g = rng.beta(2, 1, 83)
    h = np.round(5 * g + rng.normal(0, 1, 83), 2)
    return g, np.where(rng.random(83) < 0.6, h, np.nan)


def fold_of(item, g, h, **options):
    """Who does not move when an item's label does; found with a map that every label moves."""
    other = h.copy()
    other[item] += 100
    before, after = (cross_calibrated(g, labels, kind="affine", **options) for labels in (h, other))
    return np.flatnonzero(before == after)


@pytest.mark.parametrize("kind", KINDS)
def test_a_fold_does_not_see_its_own_labels(half_labelled, kind):
    g, h = half_labelled
    item = int(np.flatnonzero(~np.isnan(h))[4])
    fold = fold_of(item, g, h, seed=3)
    assert item in fold
    assert 8 <= fold.size <= 9  # 83 items in ten folds; everyone else has moved
    first = cross_calibrated(g, h, kind=kind, seed=3)
    for labels in (1000.0 * np.arange(fold.size), np.nan):  # also where there were none
        other = h.copy()
        other[fold] = labels
        moved = cross_calibrated(g, other, kind=kind, seed=3)
        np.testing.assert_array_equal(moved[fold], first[fold])
        assert np.mean(moved != first) > 0.5


@pytest.mark.parametrize("kind", KINDS)
def test_a_fold_is_calibrated_on_all_other_labels(half_labelled, kind):
    g, h = half_labelled
    fold = fold_of(int(np.flatnonzero(~np.isnan(h))[4]), g, h, folds=4, seed=3)
    assert 20 <= fold.size <= 21
    use = np.setdiff1d(np.flatnonzero(~np.isnan(h)), fold)
    found = cross_calibrated(g, h, kind=kind, folds=4, seed=3)
    np.testing.assert_allclose(found[fold], fit_calibration(g[use], h[use], kind=kind).predict(g[fold]), rtol=1e-9)


def test_folds_follow_the_seed_and_not_the_labels(half_labelled):
    g, h = half_labelled
    again, other = (cross_calibrated(g, h, kind="affine", seed=seed) for seed in (3, 4))
    np.testing.assert_array_equal(again, cross_calibrated(g, h, kind="affine", seed=3))
    assert np.any(other != again)


def test_too_few_labels_leave_the_rating_as_it_is():
    g, h = np.linspace(0, 1, 20), np.full(20, np.nan)
    np.testing.assert_array_equal(cross_calibrated(g, h, kind="affine"), g)
    h[3] = 5.0
    np.testing.assert_array_equal(cross_calibrated(g, h, kind="affine"), g)
