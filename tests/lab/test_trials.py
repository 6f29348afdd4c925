"""Trials: the same whatever block, order and amount they are taken in; scales that lead back."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ratewise.lab.trials import Block, Population, Setting, on_one_scale

from ..bounds import FALSE_ALARM

ITEMS, BURN_IN = 337, 23


def setting(mode="stream", *, seed=5, burn_in=BURN_IN, budgets=(40.0, 90.0), cost_ratio=0.05):
    return Setting(cost_ratio, budgets, burn_in, mode, 0.95, 0.1, seed)


@pytest.fixture(scope="module")
def population():
    rng = np.random.default_rng(3001)
    return Population.of(rng.random(ITEMS), (rng.random(ITEMS) < 0.8).astype(float))


def taken(block, items):
    index, uniform = block.take(items)
    return block.burn_in, index, uniform


# Blocks


@pytest.mark.parametrize("mode", ["stream", "pool"])
@pytest.mark.parametrize("trials", [range(3, 4), range(2, 7), range(4)])
def test_a_trial_is_the_same_in_every_block(population, mode, trials):
    whole = taken(Block(population, setting(mode), range(8)), 1500)
    part = taken(Block(population, setting(mode), trials), 1500)
    for x, y in zip(part, whole, strict=True):
        np.testing.assert_array_equal(x, y[trials.start : trials.stop])


@pytest.mark.parametrize("mode", ["stream", "pool"])
def test_a_trial_is_the_same_whatever_was_taken_before(population, mode):
    steps, once = (Block(population, setting(mode), range(3)) for _ in range(2))
    first = steps.take(10)
    steps.take(1.5)
    steps.take(2600.2)
    for x, y, z in zip(steps.take(5000), once.take(5000), first, strict=True):
        np.testing.assert_array_equal(x, y)
        np.testing.assert_array_equal(z, y[:, : z.shape[1]])
    np.testing.assert_array_equal(steps.burn_in, once.burn_in)
    again = steps.take(10)
    for x, y in zip(again, first, strict=True):
        np.testing.assert_array_equal(x, y)


@settings(max_examples=30, deadline=None)
@given(amounts=st.lists(st.floats(0.1, 4000), min_size=1, max_size=4), start=st.integers(0, 50))
def test_any_order_of_taking(amounts, start):
    rng = np.random.default_rng(0)
    small = Population.of(rng.random(60), rng.random(60))
    block, other = (Block(small, setting(burn_in=10), range(start, start + 2)) for _ in range(2))
    for amount in amounts:
        index, uniform = block.take(amount)
        assert index.shape == uniform.shape
        assert index.shape[1] >= amount
    np.testing.assert_array_equal(block.take(4000)[0], other.take(4000)[0])
    np.testing.assert_array_equal(block.take(4000)[1], other.take(4000)[1])


def test_a_stream_has_as_many_items_as_asked_for(population):
    block = Block(population, setting(), range(2))
    for wanted in (1, 1023, 1024, 1024.5, 3000):
        index, uniform = block.take(wanted)
        assert index.shape == uniform.shape
        assert index.shape[1] >= wanted
    assert not block.ends


def test_a_pool_ends(population):
    block = Block(population, setting("pool"), range(2))
    assert block.ends
    assert block.take(100)[0].shape == (2, 100)
    assert block.take(99.2)[0].shape == (2, 100)
    for wanted in (ITEMS - BURN_IN, ITEMS, 10**6):
        index, uniform = block.take(wanted)
        assert index.shape == uniform.shape == (2, ITEMS - BURN_IN)


def test_in_a_pool_every_item_comes_once(population):
    block = Block(population, setting("pool"), range(6))
    index, _ = block.take(10**9)
    assert block.burn_in.shape == (6, BURN_IN)
    for trial in np.concatenate([block.burn_in, index], axis=1):
        assert sorted(trial) == list(range(ITEMS))


@pytest.mark.parametrize("mode", ["stream", "pool"])
def test_seeds_and_trials_differ(population, mode):
    first = taken(Block(population, setting(mode), range(4)), 200)
    other = taken(Block(population, setting(mode, seed=6), range(4)), 200)
    for x, y in zip(first, other, strict=True):
        assert np.any(x != y)
        assert len({row.tobytes() for row in x}) == 4
    burn_in, index, uniform = first
    assert np.any(burn_in[:, :10] != index[:, :10])
    assert len(np.unique(uniform)) == uniform.size


def test_without_a_burn_in(population):
    for mode in ("stream", "pool"):
        block = Block(population, setting(mode, burn_in=0), range(3))
        assert block.burn_in.shape == (3, 0)
    assert block.take(10**6)[0].shape == (3, ITEMS)


@pytest.mark.parametrize("mode", ["stream", "pool"])
def test_items_are_drawn_evenly_and_numbers_are_uniform(population, mode):
    """χ² of how often each item comes first, and Kolmogorov–Smirnov; false alarm 1e-4 each."""
    block = Block(population, setting(mode, burn_in=0), range(400))
    index, uniform = block.take(25)
    index, uniform = index[:, :25], uniform[:, :25]
    counts = np.bincount(index.ravel(), minlength=ITEMS)
    assert stats.chisquare(counts).pvalue > FALSE_ALARM
    assert stats.kstest(uniform.ravel(), "uniform").pvalue > FALSE_ALARM
    correlation = np.corrcoef(index.ravel(), uniform.ravel())[0, 1]
    assert abs(correlation) < stats.norm.isf(FALSE_ALARM / 2) / math.sqrt(index.size)
    assert uniform.min() >= 0
    assert uniform.max() < 1


def test_a_block_grows_with_the_room_and_never_vanishes(population):
    assert setting(budgets=(10.0,)).block_size(population) == 50
    assert setting(budgets=(1e7,)).block_size(population) == 1
    sizes = [setting(budgets=(B,)).block_size(population) for B in (1e2, 1e4, 1e5, 1e6)]
    assert sizes == sorted(sizes, reverse=True)
    assert setting("pool", budgets=(1e9,)).block_size(population) == 50  # a pool has only so many items


def test_the_pool_size_is_the_table_or_infinite(population):
    assert setting("pool").pool_size(population) == ITEMS
    assert setting("stream").pool_size(population) == math.inf


# Scales


def raw_strong(p):
    return p.low + p.width * p.strong


RANGES = {  # weak, strong: what becomes [0, 1]
    "probabilities": ((0.2, 0.9), (0.0, 1.0), (0.0, 1.0), (0.0, 1.0)),
    "inside [0, 1]": ((0.2, 0.9), (0.3, 0.6), (0.0, 1.0), (0.0, 1.0)),
    "Likert, weak inside": ((2.0, 4.5), (1.0, 5.0), (1.0, 5.0), (1.0, 5.0)),
    "Likert, weak 0–100": ((3.0, 97.0), (1.0, 5.0), (3.0, 97.0), (1.0, 5.0)),
    "weak outside on one side": ((0.5, 4.0), (1.0, 5.0), (0.5, 4.0), (1.0, 5.0)),
    "negative": ((-2.5, -0.5), (-3.0, 2.0), (-3.0, 2.0), (-3.0, 2.0)),
    "binary strong, logits": ((-4.0, 3.0), (0.0, 1.0), (-4.0, 3.0), (0.0, 1.0)),
    "off zero": ((7.1, 9.9), (7.0, 10.0), (7.0, 10.0), (7.0, 10.0)),
}


@pytest.mark.parametrize("name", list(RANGES))
def test_scales(name):
    weak, strong, weak_range, strong_range = RANGES[name]
    rng = np.random.default_rng(3011)
    g, h = (np.concatenate([ends, rng.uniform(*ends, 40)]) for ends in (weak, strong))
    p = Population.of(g, h)
    assert (p.low, p.low + p.width) == pytest.approx(strong_range)
    for x in (p.weak, p.strong):
        assert x.min() >= -1e-12
        assert x.max() <= 1 + 1e-12
    np.testing.assert_allclose(weak_range[0] + (weak_range[1] - weak_range[0]) * p.weak, g, atol=1e-12)
    np.testing.assert_allclose(raw_strong(p), h, atol=1e-12)
    assert p.low + p.width * p.mean == pytest.approx(h.mean())
    assert p.width**2 * p.variance == pytest.approx(h.var())
    assert p.items == 42


def test_ratings_within_the_unit_interval_are_left_alone():
    rng = np.random.default_rng(3019)
    g, h = rng.random(50), rng.random(50)
    p = Population.of(g, h)
    np.testing.assert_array_equal(p.weak, g)
    np.testing.assert_array_equal(p.strong, h)


def test_a_constant_weak_rating_has_a_scale():
    inside = Population.of(np.full(4, 0.3), np.array([0.0, 1.0, 1.0, 0.0]))
    outside = Population.of(np.full(4, 50.0), np.array([0.0, 1.0, 1.0, 0.0]))
    np.testing.assert_array_equal(inside.weak, 0.3)
    np.testing.assert_array_equal(outside.weak, 0.0)


@settings(max_examples=100, deadline=None)
@given(
    g=st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=8),
    low=st.floats(-1e4, 1e4),
    width=st.floats(1e-3, 1e4),
)
def test_any_scale_leads_back(g, low, width):
    h = low + width * np.linspace(0, 1, len(g))
    p = Population.of(np.array(g), h)
    assert np.all((p.weak >= 0) & (p.weak <= 1 + 1e-12))
    np.testing.assert_allclose(raw_strong(p), h, rtol=1e-9, atol=1e-9)
    assert p.strong.min() >= 0
    assert p.strong.max() <= 1 + 1e-12


def test_another_scale_holds_the_same_ratings():
    rng = np.random.default_rng(3023)
    g, h = rng.uniform(1, 5, 30), rng.uniform(2, 4, 30)
    other = {"weak": np.array([0.0, 10.0]), "strong": np.array([1.0, 5.0])}
    wider, _ = on_one_scale([{"weak": g, "strong": h, "features": g[:, None], "uncertainty": h}, other])
    np.testing.assert_allclose(wider.weak, g / 10)
    np.testing.assert_allclose(wider.strong, (h - 1) / 4)
    np.testing.assert_allclose(raw_strong(wider), h)
    assert wider.covariates.uncertainty is h
