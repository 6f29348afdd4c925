"""Coverage of comparisons, seeded. A bound that true coverage of the stated target misses with probability 1e-4."""

import numpy as np
import pytest
from scipy import special, stats

from ratewise.core.estimate import EstimateOptions
from ratewise.core.ratings import Ratings
from ratewise.questions.comparison import Systems, of_many, of_pair

from ..bounds import FALSE_ALARM, fewest, further, most, sizes

TRIALS = 1500


def systems(weak, strong, rates, xi, *, bounds=None, level=0.95):
    """As they would be read from a table."""
    how = EstimateOptions(level=level, bounds=bounds)
    names = tuple("ABCDEFGH"[: weak.shape[1]])
    h = np.where(xi[:, None], strong, np.nan)
    return Systems(names, Ratings(weak, h, rates, xi), how)


def binary(rng, items, means, *, wrong=0.12):
    """0/1 ratings with hard items hard for all; judges err more on hard ones, and the rates follow."""
    hard = rng.random(items)
    h = (rng.random((items, len(means))) < special.expit(special.logit(means) + 2 * (0.5 - hard[:, None]))).astype(
        float
    )
    error = wrong * 2 * hard
    g = np.where(rng.random(h.shape) < error[:, None], 1 - h, h)
    rates = np.clip(0.15 + 0.5 * hard, 0.15, 1.0)
    return g, h, rates, rng.random(items) < rates


def real(rng, items, means, *, noise=0.4):
    """Real ratings off zero, with a common part that pairing removes."""
    hard = rng.normal(0, 1, items)
    h = np.asarray(means) + hard[:, None] + rng.normal(0, 0.5, (items, len(means)))
    g = h + rng.normal(0, noise * (0.5 + np.abs(hard[:, None])), h.shape)
    rates = np.clip(0.1 + 0.2 * np.abs(hard), 0.1, 1.0)
    return g, h, rates, rng.random(items) < rates


def nearly_right(rng, items, means, labels):
    """0/1 ratings of systems that are nearly always right; rates follow judges that know nothing."""
    common = rng.normal(size=items)
    p = np.empty((items, len(means)))
    for k, m in enumerate(means):
        p[:, k] = special.betaincinv(5 * m, 5 * (1 - m), special.ndtr((common + rng.normal(size=items)) / np.sqrt(2)))
    h = (rng.random(p.shape) < p).astype(float)
    g = rng.permuted(p, axis=0)
    doubt = np.sqrt((g * (1 - g)).sum(axis=1))
    rates = np.maximum(doubt / doubt.mean(), 0.5)
    rates = np.minimum(rates * labels / rates.sum(), 1.0)
    return g, h, rates, rng.random(items) < rates


def truth_of(world, means, **options):
    rng = np.random.default_rng(123)
    return world(rng, 2_000_000, means, **options)[1].mean(axis=0)


CELLS = [
    (binary, (0.8, 0.7), 150, (0.0, 1.0)),
    (real, (2.3, 2.0), 120, None),
    further(binary, (0.9, 0.88), 400, (0.0, 1.0)),
    further(real, (3.0, 3.0), 400, None),
]


@pytest.mark.parametrize("trials", sizes(500, all=1500))
@pytest.mark.parametrize(("world", "means", "items", "bounds"), CELLS)
def test_difference_ratio_and_lift_cover(world, means, items, bounds, trials):
    """Target 94 %; deliberately broken: an interval that forgets what the draw adds."""
    a, b = truth_of(world, means)
    held = {"difference": 0, "ratio": 0, "lift": 0, "broken": 0, "none": 0}
    for trial in range(trials):
        g, h, rates, xi = world(np.random.default_rng([7, trial]), items, means)
        found = of_pair(systems(g, h, rates, xi, bounds=bounds))
        d = found.difference
        held["difference"] += d.low <= a - b <= d.high
        if found.ratio.interval is None:
            held["none"] += 1
        else:
            held["ratio"] += found.ratio.interval[0] <= a / b <= found.ratio.interval[1]
            held["lift"] += found.relative_lift.interval[0] <= a / b - 1 <= found.relative_lift.interval[1]
        if trial < 500:
            held["broken"] += _forgets_the_draw(g, h, rates, xi, a - b)
    assert held["difference"] / trials >= fewest(0.94, trials)
    assert held["none"] == 0
    assert held["ratio"] / trials >= fewest(0.94, trials)
    assert held["lift"] == held["ratio"]
    assert held["broken"] / 500 < fewest(0.94, 500)


def test_systems_that_are_nearly_always_right():
    """Target 93 %, with 50 labels, of which one differs. Broken: only differences that happened to be seen count."""
    means, trials = (0.995, 0.98), 400
    held = {"difference": 0, "ratio": 0, "seen": 0}
    for trial in range(trials):
        g, h, rates, xi = nearly_right(np.random.default_rng([17, trial]), 1500, means, 50)
        found = of_pair(systems(g, h, rates, xi, bounds=(0.0, 1.0)))
        d, better = found.difference, found.probability_better
        assert d.low < d.high
        assert better is None or (better > 0.975) == (d.low > 0)
        held["difference"] += d.low <= means[0] - means[1] <= d.high
        held["ratio"] += found.ratio.interval[0] <= means[0] / means[1] <= found.ratio.interval[1]
        held["seen"] += abs(d.value - means[0] + means[1]) <= 1.96 * (d.standard_error or 0.0)
    assert held["difference"] / trials >= fewest(0.93, trials)
    assert held["ratio"] / trials >= fewest(0.93, trials)
    assert held["seen"] / trials < fewest(0.93, trials)


def test_strong_ratings_alone_of_systems_that_are_nearly_always_right():
    """50 pairs, all rated: the interval holds, and is no wider than a third more than Agresti and Min's (2005)."""
    means, trials, held, width, theirs = (0.995, 0.98), 500, 0, [], []
    for trial in range(trials):
        h = (np.random.default_rng([18, trial]).random((50, 2)) < means).astype(float)
        d = systems(np.zeros((50, 2)), h, np.ones(50), np.ones(50, bool), bounds=(0.0, 1.0)).difference(0, 1)
        held += d.low <= means[0] - means[1] <= d.high
        width.append(d.high - d.low)
        up, down = np.sum(h[:, 0] > h[:, 1]) + 0.5, np.sum(h[:, 0] < h[:, 1]) + 0.5
        theirs.append(2 * 1.96 * np.sqrt(up + down - (up - down) ** 2 / 52) / 52)
    assert held / trials >= fewest(0.93, trials)
    assert np.mean(width) <= 1.33 * np.mean(theirs)


def _forgets_the_draw(g, h, rates, xi, truth):
    d, weak = h[:, 0] - h[:, 1], g[:, 0] - g[:, 1]
    value = np.mean(weak + (d - weak) * xi / rates)
    return abs(value - truth) <= 1.96 * d.std() / np.sqrt(d.size)


def test_the_unpaired_variance_is_caught():
    """Deliberately broken: Var(A) + Var(B). Where hard items are hard for both it covers more than any honest 95 %."""
    means, items = (2.3, 2.0), 120
    truth = means[0] - means[1]
    honest = broken = 0
    for trial in range(1000):
        g, h, rates, xi = real(np.random.default_rng([8, trial]), items, means)
        found = of_pair(systems(g, h, rates, xi))
        d, q = found.difference, stats.t.ppf(0.975, found.difference.degrees_of_freedom)
        unpaired = np.hypot(found.first.standard_error, found.second.standard_error)
        honest += d.low <= truth <= d.high
        broken += abs(d.value - truth) <= q * unpaired
    assert fewest(0.94, 1000) <= honest / 1000 <= most(0.965, 1000)  # a little conservative is legal
    assert broken / 1000 > most(0.965, 1000)


def test_the_probability_is_calibrated_where_nothing_differs():
    """With no difference, P(A better) is uniform: below p in a share p of the trials, give or take 1 %."""
    trials, found = 1200, []
    for trial in range(trials):
        g, h, rates, xi = real(np.random.default_rng([9, trial]), 150, (3.0, 3.0))
        found.append(of_pair(systems(g, h, rates, xi)).probability_better)
    for p in (0.1, 0.5, 0.9):
        below = np.count_nonzero(np.array(found) < p)
        low, high = (
            stats.binom.ppf(FALSE_ALARM / 2, trials, p - 0.01),
            stats.binom.isf(FALSE_ALARM / 2, trials, p + 0.01),
        )
        assert low <= below <= high


MANY = [
    further(binary, (0.75, 0.75, 0.75, 0.8, 0.7, 0.75), 300, (0.0, 1.0)),
    (real, (2.0, 2.0, 2.0, 2.3, 1.8, 2.0), 150, None),
]


@pytest.mark.parametrize("trials", sizes(200, all=500))
@pytest.mark.parametrize(("world", "means", "items", "bounds"), MANY)
def test_intervals_hold_together(world, means, items, bounds, trials):
    """Five rivals: all intervals hold in 94 % of the trials at least, and single ones would not."""
    theta = truth_of(world, means)
    truth = theta[:-1] - theta[-1]
    together = single = bonferroni = 0
    for trial in range(trials):
        g, h, rates, xi = world(np.random.default_rng([10, trial]), items, means)
        read = systems(g, h, rates, xi, bounds=bounds)
        found = of_many(read)
        rows = [found.of(name).difference for name in "ABCDE"]
        together += all(row.low <= t <= row.high for row, t in zip(rows, truth, strict=True))
        z = [abs(row.value - t) / row.standard_error for row, t in zip(rows, truth, strict=True)]
        single += max(z) <= 1.96
        bonferroni += found.each_level < 1 - 0.05 / 5
    assert together / trials >= fewest(0.94, trials)
    assert together / trials <= most(0.97, trials)
    assert single / trials < fewest(0.94, trials)  # deliberately broken: no correction for many
    assert bonferroni == trials  # narrower than Bonferroni's, always


def test_intervals_of_systems_that_are_nearly_always_right_hold_together():
    """Three rivals, 80 labels: 93 % at least."""
    means, trials, held = (0.995, 0.99, 0.98, 0.98), 200, 0
    for trial in range(trials):
        g, h, rates, xi = nearly_right(np.random.default_rng([19, trial]), 1200, means, 80)
        found = of_many(systems(g, h, rates, xi, bounds=(0.0, 1.0)))
        rows = [found.of(name).difference for name in "ABC"]
        held += all(row.low <= m - means[-1] <= row.high for row, m in zip(rows, means, strict=False))
    assert held / trials >= fewest(0.93, trials)
