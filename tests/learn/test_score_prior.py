"""What scores usually mean: the posterior of the line, its predictions of labels from the others, and its limits."""

import numpy as np
import pytest
from scipy import special

from ratewise.learn.covariates import Covariates
from ratewise.learn.rating_model import RatingModel
from ratewise.learn.score_prior import PRIORS, along

PRIOR = PRIORS["probability"]
NONE = np.empty(0)


def labels(seed, n, *, a=0.0, b=1.0):
    rng = np.random.default_rng(seed)
    g = rng.beta(2, 0.3, n)
    p = special.expit(a + b * special.logit(np.clip(g, 1e-3, 1 - 1e-3)))
    return g, (rng.random(n) < p).astype(float)


def test_a_label_is_predicted_as_by_a_fit_to_the_others():
    """In closed form by leaving its likelihood out; here by leaving it out of the labels."""
    g, h = labels(1, 25)
    found = PRIOR.posterior(g, h, g)
    for i in range(g.size):
        others = np.arange(g.size) != i
        without = PRIOR.posterior(g[others], h[others], g)
        assert found.unseen[i] == pytest.approx(along(without.curve, g[i : i + 1])[0], abs=2e-3)  # between knots


def test_its_own_label_moves_no_prediction_of_it():
    g, h = labels(2, 40)
    other = h.copy()
    other[7] = 1 - other[7]
    a, b = (PRIOR.posterior(g, x, g) for x in (h, other))
    assert a.unseen[7] == pytest.approx(b.unseen[7], rel=1e-6)
    assert a.curve != pytest.approx(b.curve, rel=1e-3)


@pytest.mark.parametrize(("a", "b"), [(0.0, 1.0), (0.0, 0.5), (1.5, 0.0), (0.0, -1.0)])
def test_many_labels_overrule_the_prior(a, b):
    """A calibrated judge, one twice as sure as it should be, a useless one, and one that says the opposite."""
    g, h = labels(3, 4000, a=a, b=b)
    right = special.expit(a + b * special.logit(np.clip(g, 1e-3, 1 - 1e-3)))
    assert np.mean((along(PRIOR.posterior(g, h, g).curve, g) - right) ** 2) < 1e-3


def test_without_labels_surer_scores_are_believed_more_but_not_taken_at_their_word():
    curve = PRIOR.posterior(NONE, NONE, NONE).curve
    low, middle, high = along(curve, np.array([0.05, 0.5, 0.95]))
    assert low < middle < high
    assert middle == pytest.approx(0.5, abs=0.01)
    assert high < 0.9


def test_a_judge_whose_low_scores_are_all_right_is_soon_taken_for_useless():
    """Ten answers that it doubts are right: then what it doubts hardly differs from what it does not."""
    g, h = np.full(10, 0.4), np.ones(10)
    before, after = (along(PRIOR.posterior(*x, NONE).curve, np.array([0.1, 0.9])) for x in ((NONE, NONE), (g, h)))
    assert np.ptp(after) < 0.5 * np.ptp(before)


def test_the_model_is_written_and_read():
    g, h = labels(4, 30)
    model = RatingModel.by_score(PRIOR.posterior(g, h, g).curve)
    again = RatingModel.from_json(model.to_json())
    np.testing.assert_array_equal(model.predict(Covariates(g)), again.predict(Covariates(g)))


def test_labels_shift_the_level_of_u_only_as_far_as_they_surprise():
    """A mistake among sure answers raises u everywhere, so its own u is raised to what all labels say."""
    g, h = np.full(30, 0.95), np.ones(30)
    h[0] = 0.0
    level = PRIOR.posterior(g, h, g).level
    assert level[0] > 1.05 > level[1]
