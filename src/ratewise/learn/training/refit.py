"""A small encoder that a campaign trains on its own labels, for `cross_fit`. Nothing of it is kept but predictions."""

import numpy as np

from ratewise.core.checks import Floats
from ratewise.learn.training.calibrated import fit_temperature
from ratewise.learn.training.cross_fit import Check, Rows, Trainer
from ratewise.learn.training.examples import HELD_OUT
from ratewise.learn.training.folder import Settings
from ratewise.learn.training.loop import Recipe, fit
from ratewise.learn.training.networks import Encoder, answer, check_encoder
from ratewise.learn.training.torches import device_of, seeded, torch_module, transformers_module
from ratewise.learn.training.train import RATES, model_to_start_from, template_of

_EPOCHS, _BATCH, _LONGEST = 4, 16, 160


def encoder_trainer(text: tuple[str, ...], *, init: str | None = None, epochs: int = _EPOCHS) -> Trainer:
    """A trainer as `train` trains encoders: epochs until a part held out is predicted no better, then calibrated.

    What is not installed or cannot be loaded is an InputError, at once: labels are not bought for nothing.
    """
    torch_module()
    transformers_module()
    start = model_to_start_from(init, "encoder")
    check_encoder(start)

    def train(rows: Rows, ratings: Floats, asked: Rows, seed: int, check: Check) -> Floats:
        low, high = (0.0, 1.0) if ratings.min() >= 0 and ratings.max() <= 1 else (ratings.min(), ratings.max())
        settings = Settings(
            kind="encoder", text=text, template=template_of("encoder", text, ("no", "yes")), low=float(low),
            high=float(high), longest=_LONGEST, words=("no", "yes"), init=start,
        )  # fmt: skip
        target = (ratings - low) / (high - low)
        held = np.random.default_rng([seed, 17]).permutation(target.size) < max(HELD_OUT * target.size, 1)
        seeded(seed)
        network = Encoder(start, settings, device_of(None))
        prompts = [settings.prompt(row) for row in rows]
        recipe = Recipe(epochs=epochs, batch=_BATCH, rate=RATES["encoder"], seed=seed)
        fit(network, prompts, target, held, recipe, None, tell=lambda _: check())
        unseen = answer(network, [prompt for prompt, out in zip(prompts, held, strict=True) if out])
        scaled = fit_temperature(unseen, target[held])
        return np.asarray(low + (high - low) * scaled(answer(network, [settings.prompt(row) for row in asked])))

    return train
