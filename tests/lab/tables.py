"""Made-up tables that tests of simulations share."""

import numpy as np

from ratewise.lab.trials import Population
from ratewise.lab.worlds import calibrated

MODES = ("stream", "pool")


def judged(seed, items, *, mean=0.8, spread=0.5):
    world = calibrated(items, mean=mean, spread=spread, rng=np.random.default_rng(seed))
    return {"g": world.weak, "h": world.strong}


def likert(seed, items):
    """Strong ratings 1 to 5, weak ones 0 to 100 that lean upwards."""
    rng = np.random.default_rng(seed)
    quality = rng.normal(0.3, 1, items)
    h = np.clip(np.round(3.4 + quality + rng.normal(0, 0.5, items)), 1, 5)
    return {"g": np.clip(62 + 17 * quality + rng.normal(0, 8, items), 0, 100), "h": h}


def population_of(table):
    return Population.of(np.asarray(table["g"], dtype=float), np.asarray(table["h"], dtype=float))


TABLE, OTHER, SCORES = judged(4001, 640), judged(4003, 300, mean=0.7), likert(4007, 500)
