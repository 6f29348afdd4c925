"""Coverage of cluster-robust intervals, seeded: few and many clusters, of one size and of many, alike within.

Bounds are binomial: a cell whose true coverage is at the stated target fails by chance with probability 1e-4.
"""

import numpy as np
import pytest

from ratewise.questions.estimation import estimate_mean
from ratewise.questions.estimation import estimate_mean as recalibrating_mean

from ..bounds import fewest, further, so_many

TRIALS = so_many(1000, some=500)
CORRELATION = 0.2


def clusters_of(rng, count, unequal):
    """Eight items each, or sizes with a coefficient of variation of about 1.3."""
    sizes = (
        np.maximum(1, np.round(8 * np.exp(rng.normal(-0.5, 1, count)))).astype(int) if unequal else np.full(count, 8)
    )
    return np.repeat(np.arange(count), sizes)


def gaussian(rng, codes, rate):
    """Ratings around 2 with the correlation above within clusters, and a weak rating that is off by 0.5."""
    shared = rng.standard_normal(codes.max() + 1)[codes]
    h = 2 + np.sqrt(CORRELATION) * shared + np.sqrt(1 - CORRELATION) * rng.standard_normal(codes.size)
    return h + 0.5 * rng.standard_normal(codes.size), np.where(rng.random(codes.size) < rate, h, np.nan)


def binary(rng, codes, rate, mean):
    """0/1 ratings whose probability is the cluster's own, beta distributed; a fifth of the weak ratings are wrong."""
    a, b = mean * (1 / CORRELATION - 1), (1 - mean) * (1 / CORRELATION - 1)
    h = (rng.random(codes.size) < rng.beta(a, b, codes.max() + 1)[codes]).astype(float)
    g = 0.1 + 0.8 * np.where(rng.random(codes.size) < 0.2, 1 - h, h)
    return g, np.where(rng.random(codes.size) < rate, h, np.nan)


def covered(interval, count, *, unequal, mean=None, rate=0.3, ignore=False, trials=TRIALS, **options):
    """How often the interval holds the truth."""
    held = 0
    for trial in range(trials):
        rng = np.random.default_rng([23, trial])
        codes = clusters_of(rng, count, unequal)
        g, h = gaussian(rng, codes, rate) if mean is None else binary(rng, codes, rate, mean)
        estimate = recalibrating_mean if "recalibrate" in options else estimate_mean
        found = estimate(g, h, rate, interval=interval, clusters=None if ignore else codes, resamples=400, **options)
        held += found.interval is not None and found.low <= (2 if mean is None else mean) <= found.high
    return held / trials


@pytest.mark.parametrize(
    ("count", "unequal"),
    [(10, True), (30, False), (200, True), further(10, False), further(30, True), further(200, False)],
)
def test_t_covers(count, unequal):
    assert covered("t", count, unequal=unequal) >= fewest(0.94, TRIALS)


@pytest.mark.parametrize(
    ("count", "mean", "rate", "unequal"),
    [
        (10, 0.8, 1.0, True),
        (30, 0.95, 0.3, True),
        (200, 0.95, 0.3, False),
        further(10, 0.8, 1.0, False),
        further(30, 0.5, 0.3, False),
        further(30, 0.5, 0.3, True),
        further(30, 0.95, 0.3, False),
        further(200, 0.95, 0.3, True),
    ],
)
def test_score_covers(count, mean, rate, unequal):
    assert covered("score", count, unequal=unequal, mean=mean, rate=rate) >= fewest(0.94, TRIALS)


def test_normal_covers_with_many_clusters_and_not_with_few():
    assert covered("normal", 200, unequal=False) >= fewest(0.94, TRIALS)
    assert covered("normal", 10, unequal=True) < fewest(0.94, TRIALS)


@pytest.mark.parametrize(("count", "unequal"), [(10, False), (30, False), (30, True), (200, True)])
def test_bootstrap_covers(count, unequal):
    """A little less than t, as bootstraps do; about 0.91 with ten clusters of unlike sizes, which is not promised."""
    assert covered("bootstrap", count, unequal=unequal, trials=400) >= fewest(0.92, 400)


@pytest.mark.parametrize("recalibrate", ["affine", "auto"])
def test_recalibrated_without_ones_own_cluster_covers(recalibrate):
    trials = 200
    assert covered("t", 30, unequal=True, trials=trials, recalibrate=recalibrate) >= fewest(0.94, trials)


@pytest.mark.parametrize("mean", [None, 0.8])
def test_a_pool_of_which_only_some_clusters_were_looked_at(mean):
    """Half of a pool's 60 clusters: the interval holds the pool's own mean, and misses it if clusters are ignored."""
    held, ignored = 0, 0
    for trial in range(TRIALS):
        rng = np.random.default_rng([29, trial])
        codes = clusters_of(rng, 60, False)
        g, h = gaussian(rng, codes, 1.0) if mean is None else binary(rng, codes, 1.0, mean)
        looked = np.isin(codes, rng.permutation(60)[:30])
        strong = np.where(rng.random(codes.size) < 0.6, h, np.nan)[looked]
        more = {"estimand": "pool", "pool_size": codes.size}
        found = estimate_mean(g[looked], strong, 0.6, clusters=codes[looked], **more)
        naive = estimate_mean(g[looked], strong, 0.6, **more)
        held += found.low <= h.mean() <= found.high
        ignored += naive.low <= h.mean() <= naive.high
    assert held / TRIALS >= fewest(0.94, TRIALS)
    assert ignored / TRIALS < fewest(0.94, TRIALS)


@pytest.mark.parametrize("count", [10, 50])
@pytest.mark.parametrize(("interval", "mean"), [("t", None), ("normal", None), ("score", 0.8), ("bootstrap", None)])
def test_the_check_catches_intervals_that_ignore_clusters(interval, mean, count):
    rate = 0.3 if mean is None else 1.0
    assert covered(interval, count, unequal=True, mean=mean, rate=rate, ignore=True, trials=150) < fewest(0.92, 150)
