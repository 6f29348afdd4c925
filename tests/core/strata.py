"""A made-up world of three strata that differ in mean, spread and how good the weak rater is."""

import numpy as np

NAMES = np.array(["easy", "hard", "odd"])
SHARES = {"easy": 0.6, "hard": 0.3, "odd": 0.1}
MEANS, SPREADS, NOISES = np.array([1.0, 3.0, -2.0]), np.array([0.3, 1.0, 2.5]), np.array([0.2, 0.9, 0.6])
RATES = np.array([0.3, 0.6, 0.5])
COUNTS = np.array([40, 60, 50])
TRUTH = float(np.array([0.6, 0.3, 0.1]) @ MEANS)


def sample(rng, counts=COUNTS, rates=RATES, skewed=False):
    s = np.repeat(np.arange(3), counts)
    noise = rng.gamma(1.0, 1.0, s.size) - 1 if skewed else rng.normal(size=s.size)
    h = MEANS[s] + SPREADS[s] * noise
    g = h + 0.1 + NOISES[s] * rng.normal(size=s.size)
    drawn = rng.random(s.size) < rates[s]
    return g, np.where(drawn, h, np.nan), rates[s], NAMES[s]


def weighted_sample(rng, n=250):
    """A continuous covariate x, uniform in the population; items are drawn by Q ∝ 0.3 + 2x."""
    x = rng.random(4 * n)
    x = x[rng.random(x.size) < (0.3 + 2 * x) / 2.3][:n]
    h = 2 * x + (0.2 + 2 * x) * rng.normal(size=x.size)
    g = h + (0.1 + x) * rng.normal(size=x.size)
    q = 0.3 + 0.6 * x
    return g, np.where(rng.random(x.size) < q, h, np.nan), q, 1 / (0.3 + 2 * x)
