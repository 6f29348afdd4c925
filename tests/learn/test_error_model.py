"""Models of u(x): g(1−g), the user's column on the right scale, and what is learned from squared residuals."""

import json

import numpy as np
import pytest
from scipy import stats

from ratewise import ErrorModel, InputError, error_from_column, error_from_probability, fit_error
from ratewise.learn.error_model import is_probability_of_binary

from ..bounds import FALSE_ALARM

BINS = 20


def u_shaped(g):
    return 0.05 + 2.0 * (g - 0.4) ** 2


@pytest.fixture(scope="module")
def u_world():
    """5,000 labels; the weak rater errs at both ends of its lopsided scale."""
    rng = np.random.default_rng(211)
    g = rng.beta(2, 1, 5000)
    return g, np.sqrt(u_shaped(g)) * rng.standard_normal(5000)


def relative_error(model, g):
    """Root mean squared relative error at the middle of twenty equal parts of the items."""
    middle = np.quantile(g, (np.arange(BINS) + 0.5) / BINS)
    return float(np.sqrt(np.mean((model.predict(middle) / u_shaped(middle) - 1) ** 2)))


def test_binary_is_the_variance_of_a_coin():
    g = np.array([0.0, 0.2, 0.5, 0.93, 1.0])
    model = error_from_probability(g, [0, 0, 1, 1, 1])
    np.testing.assert_allclose(model.predict(g), g * (1 - g), atol=1e-15)
    assert model.source == "binary"


@pytest.mark.parametrize(
    ("weak", "strong"),
    [([0.2, 0.8], [0, 0.5]), ([0.2, 1.8], [0, 1]), ([-0.2, 0.8], [0, 1]), ([0, 1], [0, 1])],
    ids=["ties", "above 1", "below 0", "hard labels"],
)
def test_binary_is_refused_for_anything_else(weak, strong):
    assert not is_probability_of_binary(np.array(weak), np.array(strong))
    with pytest.raises(InputError, match="0/1"):
        error_from_probability(weak, strong)


def test_a_column_is_scaled_to_the_mean_squared_residual():
    rng = np.random.default_rng(223)
    column, residual = rng.gamma(2, 7, 300), rng.normal(0.4, 0.3, 300)
    model = error_from_column(column, residual)
    found = model.predict(column)
    assert found.mean() == pytest.approx(np.mean(residual**2), rel=1e-12)
    np.testing.assert_allclose(found / column, found[0] / column[0])  # its own shape is kept
    assert model.predict([0.0, 28.0])[1] == pytest.approx(2 * model.predict([14.0])[0])


@pytest.mark.parametrize(
    ("column", "words"), [([0, 0, 0], "above 0 somewhere"), ([1, -1, 2], "at least 0"), ([1, np.nan, 2], "finite")]
)
def test_a_column_that_cannot_be(column, words):
    with pytest.raises(InputError, match=words):
        error_from_column(column, [0.1, 0.2, 0.3])


def test_a_u_shape_is_recovered(u_world):
    """A bin of 250 squared normals has a relative error of sqrt(2/250); twenty of them a chi-squared sum."""
    g, residual = u_world
    limit = np.sqrt(stats.chi2.isf(FALSE_ALARM, BINS) / BINS * 2 / 250)
    assert relative_error(fit_error(g, residual), g) < limit
    shuffled = fit_error(g, np.random.default_rng(1).permutation(residual))
    assert relative_error(shuffled, g) > limit
    constant = ErrorModel("fitted", knots=(0.0,), values=(float(np.mean(residual**2)),))
    assert relative_error(constant, g) > limit
    assert relative_error(fit_error(g, residual**2), g) > limit  # squared once too often


def test_the_mean_is_kept(u_world):
    g, residual = u_world
    assert fit_error(g, residual).predict(g).mean() == pytest.approx(np.mean(residual**2), rel=0.02)


def test_noise_is_shrunk_towards_the_mean():
    rng = np.random.default_rng(227)
    g, residual = rng.random(1000), rng.normal(0, 1.5, 1000)  # an error that does not depend on g
    order = np.argsort(g)
    raw = (residual[order] ** 2).reshape(BINS, 50).mean(axis=1)
    found = fit_error(g, residual).predict(g)
    assert found.std() < 0.5 * raw.std()
    assert found.mean() == pytest.approx(np.mean(residual**2), rel=0.05)


@pytest.mark.parametrize("n", [2, 10, 49])
def test_few_labels_give_a_constant(n):
    g = np.linspace(0, 1, n)
    residual = 3 * g
    found = fit_error(g, residual).predict(np.linspace(-2, 3, 50))
    np.testing.assert_allclose(found, np.mean(residual**2), rtol=1e-12)


def test_a_constant_weak_rating_gives_a_constant():
    residual = np.random.default_rng(229).normal(0, 1, 400)
    found = fit_error(np.full(400, 0.7), residual).predict([0.0, 0.7, 1.0])
    np.testing.assert_allclose(found, np.mean(residual**2), rtol=1e-12)


def test_a_hard_label_s_two_values_are_told_apart():
    """The most common judge says 0 or 1. Where it says 1 it errs in 2 %, where it says 0 in 40 %."""
    rng = np.random.default_rng(233)
    g = (rng.random(4000) < 0.6).astype(float)
    wrong = rng.random(4000) < np.where(g == 1, 0.02, 0.4)
    found = fit_error(g, np.where(wrong, 1.0, 0.0)).predict([1.0, 0.0])
    np.testing.assert_allclose(found, [wrong[g == 1].mean(), wrong[g == 0].mean()], rtol=0.25)


def test_the_stars_of_a_scale_are_told_apart():
    rng = np.random.default_rng(239)
    g = rng.integers(1, 6, 5000).astype(float)
    u = np.array([0.3, 0.1, 0.6, 0.2, 1.2])[g.astype(int) - 1]
    found = fit_error(g, np.sqrt(u) * rng.standard_normal(5000)).predict([1.0, 2.0, 3.0, 4.0, 5.0])
    np.testing.assert_allclose(found, [0.3, 0.1, 0.6, 0.2, 1.2], rtol=0.3)


@pytest.mark.parametrize("far", [-1e6, 1e6])
def test_never_below_zero(u_world, far):
    g, residual = u_world
    perfect = np.where(g < 0.5, 0.0, residual)
    for model in (fit_error(g, residual), fit_error(g, perfect), ErrorModel("binary"), ErrorModel("column", scale=0.3)):
        assert model.predict([far, -0.2, 0.1, 1.3]).min() >= 0
    assert fit_error(g, perfect).predict(g).min() >= 0.04 * np.mean(perfect**2)  # no part is known to be perfect


@pytest.mark.parametrize(
    "model",
    [ErrorModel("binary"), ErrorModel("column", scale=0.37), ErrorModel("fitted", knots=(0.1, 4.0), values=(2.0, 0.5))],
)
def test_round_trip_through_json(model):
    back = ErrorModel.from_dict(json.loads(json.dumps(model.to_dict())))
    assert back == model
    np.testing.assert_array_equal(back.predict([0.2, 0.9]), model.predict([0.2, 0.9]))
