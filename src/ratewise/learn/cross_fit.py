"""Cross-fitting: every item is predicted by a model that has seen no label of its fold, its own least of all.

An item's fold goes by the hash of its texts, so items with the same texts share one. Labelled or not, an item is
predicted by the one model that was trained without its fold: its prediction would have been the same had it not been
drawn, which is what keeps an estimate unbiased. The mean over all models would be another number for items without a
label than for those with one.

Which model is higher on the whole says nothing about items, but it tells what its fold was rated: a model that has not
seen a high fold is low. So the predictions of each fold are shifted to the same mean.
"""

from collections.abc import Callable, Sequence

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy import special

from ratewise.core.checks import Floats
from ratewise.core.draw import uniform
from ratewise.learn.networks import check_encoder, library
from ratewise.learn.rater_folder import Settings
from ratewise.learn.trainer import HELD_OUT, RATES, Examples, fit, model_to_start_from, template_of

FOLDS = 5
_FEWEST = 20  # labels of the other folds, to train on
_CLIP = 1e-4  # probabilities are kept this far from 0 and 1
_FAR = 20.0  # further than any log-odds

Rows = Sequence[tuple[str, ...]]
Check = Callable[[], None]
"""Called now and then; raises where training is to end."""
Trainer = Callable[[Rows, Floats, Rows, int, Check], Floats]
"""(texts, ratings, texts to predict, seed, check) → ratings predicted, on the scale of those given."""


def folds(rows: Rows) -> NDArray[np.intp]:
    """The fold of each item."""
    texts = np.array(["\x1f".join(row) for row in rows], dtype=object)
    return (uniform(texts, seed="fold") * FOLDS).astype(np.intp)


def cross_fitted(trainer: Trainer, rows: Rows, strong: Floats, check: Check = lambda: None) -> Floats:
    """A prediction of every item, by labels (NaN: none) of the other folds; the same for all where they are too few.

    Where all ratings are from 0 to 1, each fold's log-odds are shifted to a mean probability of one half; else each
    fold's predictions to a mean of 0.
    """
    fold, labelled, out = folds(rows), ~np.isnan(strong), np.empty(len(rows))
    chances = bool(strong[labelled].min() >= 0 and strong[labelled].max() <= 1)
    for k in range(FOLDS):
        check()
        here, taught = (np.flatnonzero(one) for one in (fold == k, labelled & (fold != k)))
        h = strong[taught]
        if h.size < _FEWEST or np.ptp(h) == 0:
            out[here] = 0.5 if chances else 0.0
        elif here.size:
            said = trainer([rows[i] for i in taught.tolist()], h, [rows[i] for i in here.tolist()], k, check)
            out[here] = _centred(said) if chances else said - said.mean()
    return out


def _centred(said: Floats) -> Floats:
    """Probabilities with a mean of one half: their log-odds, all shifted alike."""
    z = special.logit(np.clip(said, _CLIP, 1 - _CLIP))
    shift = scipy.optimize.brentq(lambda s: float(special.expit(z + s).mean()) - 0.5, -_FAR, _FAR)
    return np.asarray(special.expit(z + shift))


_EPOCHS, _BATCH, _LONGEST = 4, 16, 160


def encoder_trainer(text: tuple[str, ...], *, init: str | None = None, epochs: int = _EPOCHS) -> Trainer:
    """A trainer as `train` trains encoders: epochs until a part held out is predicted no better, then calibrated.

    What is not installed or cannot be loaded is an InputError, at once: labels are not bought for nothing.
    """
    library("torch")
    start = model_to_start_from(init, "encoder")
    check_encoder(start)

    def train(rows: Rows, ratings: Floats, asked: Rows, seed: int, check: Check) -> Floats:
        held = np.random.default_rng([seed, 17]).permutation(ratings.size) < max(HELD_OUT * ratings.size, 1)
        examples = Examples(rows, ratings, held)
        low, high = examples.ends
        settings = Settings(
            kind="encoder", text=text, template=template_of("encoder", text, ("no", "yes")), low=low, high=high,
            longest=_LONGEST, init=start,
        )  # fmt: skip
        fitted = fit(
            settings, examples, epochs=epochs, batch=_BATCH, rate=RATES["encoder"], seed=seed, tell=lambda _: check()
        )
        return low + (high - low) * fitted.network.probabilities(asked)

    return train
