"""Predictions of refits as columns: each model reads the refit of its time, and uses it only where that is better."""

import numpy as np

from ratewise.learn.covariates import Covariates, RefitColumns
from ratewise.learn.rating_model import Basis, RatingModel, fit_rating

RNG = np.random.default_rng(3)
N = 400
TRUTH = RNG.random(N)
STRONG = (RNG.random(N) < TRUTH).astype(float)
WEAK = np.clip(0.5 + 0.1 * RNG.standard_normal(N), 0.01, 0.99)
ONES = np.ones(N)


def fitted(refits):
    x = Covariates(WEAK, refits=refits)
    return fit_rating(Basis.of(x), x, STRONG, ONES, bounds=(0.0, 1.0))


def test_a_refit_that_tells_ratings_is_used_and_one_that_does_not_is_not():
    model, unseen = fitted(TRUTH[:, None])
    assert model.basis.refit == RefitColumns(1, log_odds=True)
    assert np.mean((STRONG - unseen) ** 2) < 0.2
    plain, left = fitted(None)
    noise, same = fitted(RNG.permutation(TRUTH)[:, None])
    assert noise.basis.refit is None
    np.testing.assert_array_equal(same, left)
    np.testing.assert_array_equal(noise.predict(Covariates(WEAK)), plain.predict(Covariates(WEAK)))


def test_one_that_points_the_wrong_way_is_not_used():
    assert fitted(1 - TRUTH[:, None])[0].basis.refit is None


def test_a_model_reads_the_refit_of_its_time():
    model, _ = fitted(TRUTH[:, None])
    later = np.column_stack([TRUTH, RNG.random(N)])
    again = RatingModel.from_dict(model.to_dict())
    for one in (model, again):
        np.testing.assert_array_equal(
            one.predict(Covariates(WEAK, refits=later)), model.predict(Covariates(WEAK, refits=TRUTH[:, None]))
        )


def test_predictions_beyond_0_and_1_have_no_log_odds():
    assert RefitColumns.latest(4 * TRUTH[:, None]) == RefitColumns(1, log_odds=False)
    assert RefitColumns.latest(None) is None
    assert RefitColumns.latest(np.empty((0, 2))) is None
    assert fitted(8 * TRUTH[:, None] - 4)[0].basis.refit == RefitColumns(1, log_odds=False)


def test_items_are_put_together_with_the_refits_that_the_first_ones_know():
    two = Covariates(WEAK, refits=np.column_stack([TRUTH, TRUTH]))
    x = Covariates(WEAK, refits=TRUTH[:, None])
    both = x.rows(slice(0, 3)).joined(two.rows(slice(3, 5)))
    np.testing.assert_array_equal(both.refits, TRUTH[:5, None])
    assert Covariates(WEAK).joined(x).refits is None
    assert x.rows(slice(0, 4)).refits.shape == (4, 1)
    assert x.without_weak().refits is x.refits
    assert x.known_for_nothing
