"""f(x) ≈ E[H|x]: right weak ratings stay, useless ones go, distorted ones are mapped back, features are used."""

import numpy as np
import pytest

from ratewise.learn.covariates import Covariates
from ratewise.learn.rating_model import Basis, Standard, fit_rating
from ratewise.learn.ridge import PENALTIES, ridge_path

UNIT = (0.0, 1.0)


def fitted(x, strong, labels, *, bounds=UNIT, weights=None, seed=0):
    """Fitted to some of the items, the basis scaled by all of them: the model, unseen predictions, who is labelled."""
    at = np.random.default_rng(seed).choice(x.items, labels, replace=False)
    w = np.ones(labels) if weights is None else weights[at]
    model, unseen = fit_rating(Basis.of(x), x.rows(at), strong[at], w, bounds=bounds)
    return model, unseen, at


def error(f, truth):
    return float(np.mean((f - truth) ** 2))


def calibrated(seed, items=4000):
    rng = np.random.default_rng(seed)
    g = rng.beta(1.6, 0.5, items)
    return g, (rng.random(items) < g).astype(float)


@pytest.mark.parametrize("labels", [12, 25, 60])
def test_a_weak_rating_that_is_right_stays_as_it_is(labels):
    """Calibrated probabilities: E[H|x] = G. For most of 40 samples f is G; on average it beats a fitted line."""
    g, h = calibrated(811)
    x, off, line = Covariates(g), [], []
    for seed in range(40):
        model, _, at = fitted(x, h, labels, seed=seed)
        off.append(error(model.predict(x), g))
        line.append(error(np.clip(np.polyval(np.polyfit(g[at], h[at], 1), g), 0, 1), g))
    assert np.median(off) < 0.01 * g.var()
    assert np.median(off) < 0.2 * np.median(line)
    assert np.mean(off) < np.mean(line)


def test_a_perfect_weak_rating_stays_exactly():
    rng = np.random.default_rng(821)
    g = rng.gamma(2, 3, 500) + 40
    model, unseen, at = fitted(Covariates(g), g, 15, bounds=(0, 100))
    assert model.from_weak
    np.testing.assert_allclose(model.predict(Covariates(g)), g, rtol=1e-12)
    np.testing.assert_allclose(unseen, g[at], rtol=1e-12)


@pytest.mark.parametrize("labels", [30, 300])
def test_a_useless_weak_rating_gives_about_the_mean(labels):
    """Also where it is far off: f has to leave its start."""
    rng = np.random.default_rng(823)
    h, g = rng.normal(3.7, 1, 3000), rng.normal(60, 20, 3000)
    off = []
    for seed in range(20):
        model, _, at = fitted(Covariates(g), h, labels, bounds=(-10, 10), seed=seed)
        off.append(error(model.predict(Covariates(g)), h[at].mean()))
        assert not model.from_weak
    assert np.mean(off) < 0.02 * 300 / labels * h.var()


@pytest.mark.parametrize(("slope", "shift"), [(0.3, 0.1), (-1.0, 1.0), (40, -300)])
def test_a_distorted_weak_rating_is_mapped_back(slope, shift):
    """300 labels: as good as the best line through everything, to within 10 % of the variance that is left."""
    rng = np.random.default_rng(827)
    quality = rng.normal(0.2, 1, 4000)
    h = np.clip(0.5 + 0.15 * quality + rng.normal(0, 0.08, 4000), 0, 1)
    g = shift + slope * np.clip(0.5 + 0.15 * quality, 0, 1)
    model, _, _ = fitted(Covariates(g), h, 300)
    best = np.polyval(np.polyfit(g, h, 1), g)
    assert error(model.predict(Covariates(g)), h) < 1.1 * error(best, h)
    assert error(best, h) < 0.5 * h.var()


def test_a_curve_is_followed_by_the_bends():
    """A weak rating that saturates: with 400 labels better than any straight line."""
    rng = np.random.default_rng(829)
    g = rng.uniform(0, 10, 4000)
    h = np.minimum(g, 2.5) + rng.normal(0, 0.3, 4000)
    model, _, _ = fitted(Covariates(g), h, 400, bounds=(-5, 15))
    f = model.predict(Covariates(g))
    line = np.polyval(np.polyfit(g, h, 1), g)
    assert error(f, h) < 0.5 * error(line, h)
    assert error(f, np.minimum(g, 2.5)) < 0.1 * error(line, np.minimum(g, 2.5))


def test_features_that_hold_the_answer_are_used():
    rng = np.random.default_rng(839)
    h = rng.normal(50, 9, 2000)
    g, lengths = h + rng.normal(3, 9, 2000), rng.gamma(2, 300, 2000)
    other = 0.01 * h + rng.normal(0, 0.005, 2000)
    with_, without = (
        fitted(x, h, 100, bounds=(0, 100))[0].predict(x)
        for x in (Covariates(g, np.column_stack([lengths, other])), Covariates(g))
    )
    assert error(with_, h) < 0.05 * error(without, h)
    noise = Covariates(g, np.column_stack([lengths, rng.normal(0, 1, 2000)]))
    assert error(fitted(noise, h, 100, bounds=(0, 100))[0].predict(noise), h) < 1.1 * error(without, h)


@pytest.mark.parametrize("case", ["calibrated", "shifted", "features"])
def test_predictions_of_labels_from_the_others_are_those_of_refits(case):
    """For the chosen start and penalty: normal equations without the label, weights unequal."""
    rng = np.random.default_rng(853)
    g, h = calibrated(853, 400)
    features = None
    if case == "shifted":
        g, h = 5 - 3 * g, g + rng.normal(0, 0.1, 400)
    if case == "features":
        features = np.column_stack([rng.normal(0, 5, 400), h + rng.normal(0, 0.3, 400)])
    x, bounds, w = Covariates(g, features), (-9.0, 9.0), 10.0 ** rng.uniform(-1, 1, 400)
    at = rng.choice(400, 25, replace=False)
    basis = Basis.of(x)
    model, unseen = fit_rating(basis, x.rows(at), h[at], w[at], bounds=bounds)
    W, y, start = w[at] * 25 / w[at].sum(), h[at], g[at] if model.from_weak else np.zeros(25)
    A = np.column_stack([np.ones(25), basis(x.rows(at))])
    ridge = PENALTIES[model.penalty] * np.diag([1.0 if model.from_weak else 0.0, *np.ones(A.shape[1] - 1)])
    for i in range(25):
        rest = np.arange(25) != i
        left, right = A[rest].T * W[rest] @ A[rest] + ridge, A[rest].T @ (W[rest] * (y - start)[rest])
        assert unseen[i] == pytest.approx(start[i] + A[i] @ np.linalg.solve(left, right), abs=1e-8)
    assert model.from_weak == (case == "calibrated") or case == "features"


def test_start_and_penalty_are_those_of_least_leave_one_out_error():
    g, h = calibrated(857, 300)
    x = Covariates(g)
    model, unseen, at = fitted(x, h, 40, bounds=(-9, 9))
    X, y, w = Basis.of(x)(x.rows(at)), h[at], np.ones(40)
    ones = np.column_stack([np.ones(40), X])
    risks = {
        True: ridge_path(ones, y - g[at], w, intercept=False).risk,
        False: ridge_path(X, y, w, intercept=True).risk,
    }
    least = min(risk.min() for risk in risks.values())
    assert risks[model.from_weak][model.penalty] == least
    assert np.mean((y - unseen) ** 2) == pytest.approx(least, rel=1e-9)


def test_bounds_are_kept():
    rng = np.random.default_rng(859)
    g = rng.normal(0, 1, 500)
    h = np.clip(np.round(2 + 2 * g), 1, 4)
    model, unseen, _ = fitted(Covariates(g), h, 50, bounds=(1, 4))
    f = model.predict(Covariates(np.append(g, [-1e6, 1e6])))
    assert f.min() == 1
    assert f.max() == 4
    assert unseen.min() >= 1
    assert unseen.max() <= 4


def test_the_uncertainty_of_a_flipped_rater_improves_f():
    """H flipped with probability U: E[H|G,U] bends with U, which G alone cannot tell."""
    rng = np.random.default_rng(863)
    h, u = (rng.random(5000) < 0.7).astype(float), rng.beta(0.5, 1.5, 5000)
    g = np.where(rng.random(5000) < u, 1 - h, h)
    with_, without, useless = (
        fitted(x, h, 250)[0].predict(x) for x in (Covariates(g, None, u), Covariates(g), Covariates(g, None, 0 * u))
    )
    assert error(with_, h) < 0.85 * error(without, h)
    np.testing.assert_allclose(useless, without, atol=1e-12)  # a column that says nothing changes nothing


@pytest.mark.parametrize("start", ["weak", "mean"])
def test_ratings_in_other_units_give_f_in_those_units(start):
    """3·rating + 7 for both raters: f follows, exactly but for the penalty on the start's intercept."""
    rng = np.random.default_rng(877)
    quality = rng.normal(4, 2, 1500)
    h = quality + rng.normal(0, 1, 1500)
    g = quality + rng.normal(0, 0.4, 1500) if start == "weak" else 30 - 2 * quality
    features = rng.normal(0, 1, (1500, 2))
    one, _, at = fitted(Covariates(g, features), h, 80, bounds=(-50, 50))
    other, _, _ = fitted(Covariates(3 * g + 7, features), 3 * h + 7, 80, bounds=(-143, 157))
    assert one.from_weak == other.from_weak == (start == "weak")
    f = one.predict(Covariates(g, features))
    np.testing.assert_allclose(other.predict(Covariates(3 * g + 7, features)), 3 * f + 7, rtol=1e-6)
    assert at.size == 80


def test_a_rescaled_probability_loses_no_more_than_its_logit():
    """The logit is taken of ratings in [0, 1] only: f of other units is close, not equal."""
    g, h = calibrated(881, 1500)
    one, other = (fitted(Covariates(s * g + t), s * h + t, 200, bounds=(t, s + t))[0] for s, t in ((1, 0), (3, 7)))
    f, again = one.predict(Covariates(g)), (other.predict(Covariates(3 * g + 7)) - 7) / 3
    assert error(again, f) < 0.02 * g.var()


@pytest.mark.parametrize("kind", ["constant weak", "two labels", "all labels equal", "constant feature"])
def test_degenerate_tables_give_finite_f(kind):
    rng = np.random.default_rng(883)
    g, h = calibrated(883, 60)
    features = np.full((60, 1), 2.5) if kind == "constant feature" else None
    g = np.full(60, 0.4) if kind == "constant weak" else g
    h = np.ones(60) if kind == "all labels equal" else h
    x = Covariates(g, features)
    labels = 2 if kind == "two labels" else 20
    model, unseen, at = fitted(x, h, labels, weights=rng.uniform(1, 9, 60))
    f = model.predict(x)
    assert np.all(np.isfinite(f))
    assert np.all(np.isfinite(unseen))
    if kind == "constant weak":
        assert np.ptp(f) == 0
        assert f[0] == pytest.approx(h[at].mean(), abs=0.25)
    if kind == "all labels equal":
        np.testing.assert_allclose(f, 1, atol=0.02)


def test_standard_ignores_columns_that_hardly_vary():
    rng = np.random.default_rng(887)
    X = np.column_stack([rng.normal(1e6, 1, 50), rng.normal(5, 2, 50), np.full(50, -3.0), np.zeros(50)])
    Z = Standard.of([X], np.array([1.0, 0.25, 1, 1]))([X])
    np.testing.assert_array_equal(Z[:, [0, 2, 3]], 0)
    assert Z[:, 1].std() == pytest.approx(0.25)
    assert Z[:, 1].mean() == pytest.approx(0, abs=1e-12)


def test_covariates_are_cut_and_joined_row_by_row():
    rng = np.random.default_rng(907)
    x = Covariates(rng.random(9), rng.random((9, 2)), rng.random(9))
    again = x.rows(slice(0, 4)).joined(x.rows(np.arange(9) >= 4))
    for name in ("weak", "features", "uncertainty"):
        np.testing.assert_array_equal(getattr(again, name), getattr(x, name))
    assert x.joined(Covariates(x.weak)).features is None
    assert (again.items, x.rows(np.array([3, 3])).items) == (9, 2)
