"""How often intervals from chosen items cover, and what breaks them."""

import math

import numpy as np
import pytest

from ratewise.core.stratified import estimate_stratified, estimate_weighted
from ratewise.questions.estimation import estimate_mean

from .. import bounds
from ..bounds import sizes
from ..core.strata import MEANS, NAMES, NOISES, RATES, SHARES, SPREADS, TRUTH, sample, weighted_sample

TRIALS = sizes(1200, all=3000)


def ends(trials):
    """Between these the coverage of a 95 % interval lies in so many trials, by chance alone."""
    return bounds.fewest(0.95, trials), bounds.most(0.95, trials)


def coverage(one_trial, trials, seed=21):
    hits = 0
    for i in range(trials):
        (low, high), truth = one_trial(np.random.default_rng([seed, i]))
        hits += low <= truth <= high
    return hits / trials


@pytest.mark.parametrize("trials", TRIALS)
def test_coverage_of_shares_that_are_known(trials):
    least, most = ends(trials)

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

    assert least <= coverage(ours, trials) <= most
    assert coverage(unweighted, trials=300) < 0.5
    assert coverage(as_one, trials=1500) > most  # far too wide


@pytest.mark.parametrize("trials", TRIALS)
def test_coverage_with_few_items(trials):
    """6 to 9 items a stratum: t with Satterthwaite's degrees of freedom, where normal falls short."""
    least, most = ends(trials)
    counts, ones = np.array([6, 9, 7]), np.ones(3)

    def ours(rng, interval="t"):
        return estimate_stratified(*sample(rng, counts, ones), shares=SHARES, interval=interval).interval, TRUTH

    assert least <= coverage(ours, trials) <= most
    assert coverage(lambda rng: ours(rng, "normal"), 3000) < ends(3000)[0]


def binary(rng, p, counts, rates):
    s = np.repeat(np.arange(p.size), counts)
    h = (rng.random(s.size) < p[s]).astype(float)
    g = np.clip(0.7 * h + 0.3 * rng.random(s.size), 0, 1)
    return g, np.where(rng.random(s.size) < rates[s], h, np.nan), rates[s], NAMES[s]


@pytest.mark.parametrize("trials", TRIALS)
def test_coverage_of_zeros_and_ones_near_the_end(trials):
    """Strata that often show nothing but ones: the score interval's sides hold, Student's t does not."""
    least, _ = ends(trials)
    p, counts, rates = np.array([0.97, 0.9, 0.98]), np.array([40, 50, 30]), np.array([0.7, 0.9, 0.8])
    truth = float(np.array([0.6, 0.3, 0.1]) @ p)

    def ours(rng, interval="auto"):
        found = estimate_stratified(
            *binary(rng, p, counts, rates), shares=SHARES, interval=interval, method="difference"
        )
        return found.interval or (1.0, 0.0), truth

    assert coverage(ours, trials) >= least
    assert coverage(lambda rng: ours(rng, "t"), trials=1000) < least


@pytest.mark.parametrize("trials", TRIALS)
def test_coverage_of_a_population_whose_shares_are_those_of_a_sample(trials):
    """300 items tell the strata's shares: that adds variance, and leaving it out does not cover."""
    least, most = ends(trials)
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

    assert least <= coverage(ours, trials) <= most
    assert coverage(without, trials) < 0.9


@pytest.mark.parametrize("trials", TRIALS)
def test_coverage_of_the_pool_s_own_mean(trials):
    least, most = ends(trials)
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

    assert least <= coverage(ours, trials) <= most
    assert coverage(lambda rng: ours(rng, "population"), trials) > most


@pytest.mark.parametrize("trials", TRIALS)
def test_coverage_of_weights(trials):
    least, most = ends(trials)

    def ours(rng):
        return estimate_weighted(*weighted_sample(rng)).interval, 1.0

    def without(rng):
        g, h, q, _ = weighted_sample(rng)
        return estimate_mean(g, h, q, interval="t").interval, 1.0

    assert least <= coverage(ours, trials) <= most
    assert coverage(without, trials=300) < 0.5
