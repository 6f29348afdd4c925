"""No label's own text shapes its prediction, and what a fold was rated does not show in its predictions."""

import numpy as np
import pytest

from ratewise.learn.cross_fit import FOLDS, cross_fitted, folds

from ...parity_trainer import parity, parity_trainer

ROWS = [(f"from {i % 7}", f"to {i}") for i in range(300)]
ODD = np.array([parity(row) for row in ROWS])
_RNG = np.random.default_rng(4)
HUMAN = np.where(_RNG.random(300) < 0.8, ODD, 1 - ODD).astype(float)
STRONG = np.where(_RNG.random(300) < 0.6, HUMAN, np.nan)


@pytest.mark.parametrize("scale", [1.0, 4.0])
def test_a_label_does_not_move_its_own_prediction(scale):
    before = cross_fitted(parity_trainer, ROWS, scale * STRONG)
    fold = folds(ROWS)
    for i in np.flatnonzero(~np.isnan(STRONG))[:20]:
        changed = scale * STRONG
        changed[i] = scale - changed[i]
        after = cross_fitted(parity_trainer, ROWS, changed)
        np.testing.assert_array_equal(after[fold == fold[i]], before[fold == fold[i]])
        assert np.all(after[fold != fold[i]] != before[fold != fold[i]])


def test_an_item_is_predicted_as_it_would_be_without_its_label():
    i = int(np.flatnonzero(~np.isnan(STRONG))[3])
    without = STRONG.copy()
    without[i] = np.nan
    assert cross_fitted(parity_trainer, ROWS, without)[i] == cross_fitted(parity_trainer, ROWS, STRONG)[i]


def test_the_same_texts_share_a_fold_and_folds_are_of_one_size():
    assert np.array_equal(folds([*ROWS, *ROWS])[300:], folds(ROWS))
    assert np.bincount(folds([(str(i),) for i in range(5000)]), minlength=FOLDS).min() > 900


def test_every_fold_has_the_same_mean():
    """Else a fold's ratings would show: a model that has not seen a high fold is low."""
    fold = folds(ROWS)
    low = np.where(fold == 2, 1.0, STRONG)  # one fold is rated high
    for strong, mean in ((low, 0.5), (4 * low, 0.0)):
        said = cross_fitted(parity_trainer, ROWS, strong)
        np.testing.assert_allclose([said[fold == k].mean() for k in range(FOLDS)], mean, atol=1e-9)
    assert np.corrcoef(said, ODD)[0, 1] > 0.9


def test_too_few_labels_say_nothing():
    few = np.full(300, np.nan)
    few[:15] = HUMAN[:15]
    assert np.ptp(cross_fitted(parity_trainer, ROWS, few)) == 0


def test_a_check_may_end_it():
    def stop():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cross_fitted(parity_trainer, ROWS, STRONG, stop)
