"""Slices end to end, seeded: each interval, all at once, and shrunk on average, with 0/1 ratings and few labels.

Bounds are at a false-alarm rate of 1e-4: binomial for events of one world, normal for means over worlds, whose slices
share a model.
"""

import numpy as np
import pytest
from scipy import stats

from ratewise.questions.slices import estimate_slices

from ..bounds import FALSE_ALARM, fewest, so_many
from ..worlds import SLICE_SIZES, slices_that_differ

WORLDS = so_many(80, some=40)


def outcomes(between, **options):
    """Worlds × slices: whether the interval holds the truth, and the squared error, shrunk and not."""
    held = np.zeros((WORLDS, SLICE_SIZES.size), dtype=bool)
    error, before = np.zeros((WORLDS, SLICE_SIZES.size)), np.zeros((WORLDS, SLICE_SIZES.size))
    for seed in range(WORLDS):
        table, truth = slices_that_differ(seed, between)
        found = estimate_slices(table, by="slice", weak="g", strong="h", method="difference", **options)
        for s, one in enumerate(found.slices):
            held[seed, s] = one.interval is not None and one.interval[0] <= truth[s] <= one.interval[1]
            error[seed, s] = (one.value - truth[s]) ** 2
            before[seed, s] = (one.estimate.value - truth[s]) ** 2
    return held, error, before


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_all_hold_at_once(level):
    held, _, _ = outcomes(0.5, simultaneous=True, level=level)
    assert held.all(axis=1).mean() >= fewest(level - 0.01, WORLDS)


def test_single_intervals_hold_one_by_one_and_not_at_once():
    """The check of the check, at a level where eight single intervals are far from holding together."""
    single, _, _ = outcomes(0.5, level=0.8)
    assert single.mean() >= fewest(0.79, single.size)
    assert single.all(axis=1).mean() < fewest(0.79, WORLDS)


@pytest.mark.parametrize("between", [0.0, 0.4, 1.2])
def test_shrunk_intervals_hold_on_average_and_shrinking_pays(between):
    held, error, before = outcomes(between, shrink=True)
    far = stats.norm.isf(FALSE_ALARM)
    coverage = held.mean(axis=1)
    assert coverage.mean() >= 0.94 - far * coverage.std() / np.sqrt(WORLDS)
    gain = (before - error).mean(axis=1)
    assert gain.mean() > (far * gain.std() / np.sqrt(WORLDS) if between < 1 else -far * gain.std() / np.sqrt(WORLDS))
    if between == 0:
        assert error.mean() < 0.6 * before.mean()
