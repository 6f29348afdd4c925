"""How often intervals from chosen items cover, and what breaks them."""

import math

import numpy as np

from ratewise.core.mean.estimate import estimate_mean
from ratewise.core.mean.stratified import estimate_stratified, estimate_weighted

from ..core.mean.strata import MEANS, NAMES, NOISES, RATES, SHARES, SPREADS, TRUTH, sample, weighted_sample

# 3,000 trials of a 95 % interval cover less than 93.4 % with probability < 1e-4, more than 96.5 % likewise.

TRIALS, LEAST, MOST = 3000, 0.934, 0.966


def coverage(one_trial, trials=TRIALS, seed=21):
    hits = 0
    for i in range(trials):
        ends, truth = one_trial(np.random.default_rng([seed, i]))
        hits += ends[0] <= truth <= ends[1]
    return hits / trials


def test_coverage_of_shares_that_are_known():
    def ours(rng):
        return estimate_stratified(*sample(rng), shares=SHARES).interval, TRUTH

    def unweighted(rng):
        g, h, q, _ = sample(rng)
        return estimate_mean(g, h, q, method="difference", interval="t").interval, TRUTH

    def as_one(rng):
        """The right value, with the variance of items drawn without strata."""
        found = estimate_stratified(*sample(rng), shares=SHARES, method="difference")
        se = found.contributions.std(ddof=1) / math.sqrt(found.items)
        return (found.value - 1.96 * se, found.value + 1.96 * se), TRUTH

    assert LEAST <= coverage(ours) <= MOST
    assert coverage(unweighted, trials=300) < 0.5
    assert coverage(as_one, trials=1500) > MOST  # far too wide


def test_coverage_with_few_items():
    """6 to 9 items a stratum: t with Satterthwaite's degrees of freedom, where normal falls short."""
    counts, ones = np.array([6, 9, 7]), np.ones(3)

    def ours(rng, interval="t"):
        return estimate_stratified(*sample(rng, counts, ones), shares=SHARES, interval=interval).interval, TRUTH

    assert LEAST <= coverage(ours) <= MOST
    assert coverage(lambda rng: ours(rng, "normal")) < LEAST


def binary(rng, p, counts, rates):
    s = np.repeat(np.arange(p.size), counts)
    h = (rng.random(s.size) < p[s]).astype(float)
    g = np.clip(0.7 * h + 0.3 * rng.random(s.size), 0, 1)
    return g, np.where(rng.random(s.size) < rates[s], h, np.nan), rates[s], NAMES[s]


def test_coverage_of_zeros_and_ones_near_the_end():
    """Strata that often show nothing but ones: the score interval's sides hold, Student's t does not."""
    p, counts, rates = np.array([0.97, 0.9, 0.98]), np.array([40, 50, 30]), np.array([0.7, 0.9, 0.8])
    truth = float(np.array([0.6, 0.3, 0.1]) @ p)

    def ours(rng, interval="auto"):
        found = estimate_stratified(
            *binary(rng, p, counts, rates), shares=SHARES, interval=interval, method="difference"
        )
        return found.interval or (1.0, 0.0), truth

    assert coverage(ours) >= LEAST
    assert coverage(lambda rng: ours(rng, "t"), trials=1000) < LEAST


def test_coverage_of_a_population_whose_shares_are_those_of_a_sample():
    """300 items tell the strata's shares: that adds variance, and leaving it out does not cover."""
    counts, rates = np.array([30, 45, 20]), np.ones(3)

    def pool(rng):
        sizes = np.bincount(rng.choice(3, 300, p=[0.6, 0.3, 0.1]), minlength=3)
        return np.minimum(counts, sizes), dict(zip(NAMES.tolist(), sizes.tolist(), strict=True))

    def ours(rng):
        looked, sizes = pool(rng)
        return estimate_stratified(*sample(rng, looked, rates), sizes=sizes, method="difference").interval, TRUTH

    def without(rng):
        looked, sizes = pool(rng)
        return estimate_stratified(*sample(rng, looked, rates), shares=sizes, method="difference").interval, TRUTH

    assert LEAST <= coverage(ours) <= MOST
    assert coverage(without) < 0.9


def test_coverage_of_the_pool_s_own_mean():
    rng = np.random.default_rng(31)
    s = np.repeat(np.arange(3), [120, 60, 60])
    h = MEANS[s] + SPREADS[s] * rng.normal(size=s.size)
    sizes = {"easy": 120, "hard": 60, "odd": 60}

    def ours(rng, estimand="pool"):
        g = h + NOISES[s] * rng.normal(size=s.size)
        looked = np.concatenate(
            [rng.choice(np.flatnonzero(s == k), n, replace=False) for k, n in enumerate((40, 30, 50))]
        )
        q = RATES[s[looked]]
        strong = np.where(rng.random(looked.size) < q, h[looked], np.nan)
        found = estimate_stratified(
            g[looked], strong, q, NAMES[s[looked]], sizes=sizes, estimand=estimand, method="difference"
        )
        return found.interval, float(h.mean())

    assert LEAST <= coverage(ours) <= MOST
    assert coverage(lambda rng: ours(rng, "population")) > MOST


def test_coverage_of_weights():
    def ours(rng):
        return estimate_weighted(*weighted_sample(rng)).interval, 1.0

    def without(rng):
        g, h, q, _ = weighted_sample(rng)
        return estimate_mean(g, h, q, interval="t").interval, 1.0

    assert LEAST <= coverage(ours) <= MOST
    assert coverage(without, trials=300) < 0.5
