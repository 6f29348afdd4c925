"""The cost of a wrong policy: against direct sums, Monte Carlo, and Prop. 6's bound."""

import importlib.util
import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratewise.core.formulas import cost_of_wrong_policy, optimal_uniform_rate
from ratewise.core.policy import optimal_policy
from ratewise.errors import InputError

WORLD = {"variance": 1.3, "weak_cost": 0.07, "strong_cost": 1.9}


def errors(seed=1, items=57):
    rng = np.random.default_rng(seed)
    return rng.gamma(0.8, 0.6, items) + 0.01, rng


def test_by_direct_summation():
    u, rng = errors()
    v = u * rng.lognormal(0, 1, u.size)
    w = rng.random(u.size)
    found = cost_of_wrong_policy(u, v, weights=w, floor=0.03, **WORLD)
    pi = optimal_policy(v, weights=w, floor=0.03, **WORLD).rates
    share = w / w.sum()
    cost = 0.07 + 1.9 * sum(a * p for a, p in zip(share, pi, strict=True))
    variance = 1.3 + sum(a * x * (1 / p - 1) for a, x, p in zip(share, u, pi, strict=True))
    assert found.believed.cost_per_item == pytest.approx(cost, rel=1e-12)
    assert found.believed.variance_per_item == pytest.approx(variance, rel=1e-12)
    assert found.believed.error_times_budget == pytest.approx(cost * variance, rel=1e-12)
    best = optimal_policy(u, weights=w, floor=0.03, **WORLD)
    assert found.optimal.error_times_budget == pytest.approx(best.error_times_budget, rel=1e-9)
    assert found.ratio == pytest.approx(cost * variance / best.error_times_budget, rel=1e-9)
    assert found.ratio_to_base == pytest.approx(cost * variance / (1.9 * 1.3), rel=1e-12)
    one = optimal_uniform_rate(float(np.dot(share, u)), **WORLD)
    assert found.uniform.error_times_budget == pytest.approx(one.error_times_budget, rel=1e-9)
    assert np.array_equal(found.rates, pi)


def test_by_monte_carlo():
    """Draw Δ from the world itself: its variance is what the formula says, to four standard errors."""
    u, rng = errors(items=9)
    v = u[::-1].copy()
    found = cost_of_wrong_policy(u, v, **WORLD)
    n = 400_000
    x = rng.integers(0, 9, n)
    h = 2 + math.sqrt(1.3) * rng.standard_normal(n)
    g = h + np.sqrt(u[x]) * rng.choice([-1.0, 1.0], n)
    delta = g + (h - g) * (rng.random(n) < found.rates[x]) / found.rates[x]
    squared = (delta - 2) ** 2
    assert abs(squared.mean() - found.believed.variance_per_item) < 4 * squared.std() / math.sqrt(n)
    assert abs(squared.mean() - found.optimal.variance_per_item) > 4 * squared.std() / math.sqrt(n)  # not the other's


def test_a_right_belief_costs_nothing():
    u, _ = errors()
    for floor in (0.0, 0.1):
        found = cost_of_wrong_policy(u, u, floor=floor, **WORLD)
        assert found.ratio == 1
        assert found.excess_variance == 0
        assert found.bound == 0


def test_a_constant_belief_is_one_rate_for_all():
    u, _ = errors()
    found = cost_of_wrong_policy(u, np.full(u.size, u.mean()), **WORLD)
    assert np.ptp(found.rates) == 0
    assert found.ratio_to_uniform == pytest.approx(1, rel=1e-12)
    other = cost_of_wrong_policy(u, np.full(u.size, 0.3 * u.mean()), **WORLD)
    assert np.ptp(other.rates) == 0
    assert other.ratio_to_uniform > 1


def test_a_belief_on_another_scale_is_a_wrong_rate_and_not_a_wrong_order():
    """Four times u gives other rates than u, by the scale alone; the ratio stays small."""
    u, _ = errors()
    found = cost_of_wrong_policy(u, 4 * u, **WORLD)
    assert 1 < found.ratio < 2
    same = cost_of_wrong_policy(u, 4 * u, believed_variance=4 * 1.3, **WORLD)
    assert same.ratio == pytest.approx(1, rel=1e-9)  # s V and s u scale together


def test_an_item_that_errs_and_is_never_rated():
    found = cost_of_wrong_policy([0.5, 0.5], [0.5, 0.0], **WORLD)
    assert found.believed.variance_per_item == found.ratio == found.bound == math.inf
    kept = cost_of_wrong_policy([0.5, 0.5], [0.5, 0.0], floor=0.02, **WORLD)
    assert kept.ratio < 100
    harmless = cost_of_wrong_policy([0.5, 0.0], [0.5, 0.0], **WORLD)
    assert harmless.ratio == 1


def test_overconfidence_explodes_and_a_floor_holds_it():
    u = np.full(1000, 0.3)
    v = u.copy()
    v[:30] = 3e-7
    bare = cost_of_wrong_policy(u, v, variance=1.0, weak_cost=0.05, strong_cost=1.0)
    floored = cost_of_wrong_policy(u, v, variance=1.0, weak_cost=0.05, strong_cost=1.0, floor=0.02)
    assert bare.ratio > 20
    assert floored.ratio < 2


@settings(max_examples=200, deadline=None)
@given(
    u=st.lists(st.floats(1e-6, 50), min_size=1, max_size=12),
    noise=st.lists(st.floats(-6, 6), min_size=12, max_size=12),
    floor=st.sampled_from([0.0, 0.01, 0.3]),
    V=st.floats(0.01, 50),
    c_g=st.floats(1e-4, 2),
)
def test_the_bound_is_never_below_the_excess(u, noise, floor, V, c_g):
    u = np.array(u)
    v = u * np.exp(noise[: u.size])
    found = cost_of_wrong_policy(u, v, variance=V, weak_cost=c_g, strong_cost=1.0, floor=floor)
    scale = max(found.believed.variance_per_item, found.optimal.variance_per_item)
    assert found.excess_variance <= found.bound + 1e-9 * scale
    assert found.ratio >= 1 - 1e-9


def test_the_printed_proposition_would_fail():
    """Without the positive part the mean of 1/π̃ − 1/π* is below 0 here, and the variance rises all the same."""
    u, v = np.array([0.01, 1.0]), np.array([3.0, 0.1])
    found = cost_of_wrong_policy(u, v, variance=1.2, weak_cost=0.05, strong_cost=1.0)
    assert np.mean(1 / found.rates - 1 / found.optimal_rates) < 0 < found.excess_variance <= found.bound


def test_the_corollary_is_right_to_first_order():
    """As the belief's error shrinks, what the bound misses vanishes faster than the error itself."""
    rng = np.random.default_rng(3)
    u = rng.uniform(0.05, 0.1, 200)
    direction = rng.uniform(-1, 1, 200) * u
    for size in (0.1, 0.01, 0.001):
        found = cost_of_wrong_policy(
            u, u + size * direction, variance=1.0, weak_cost=0.05, strong_cost=1.0, largest_squared_error=0.4
        )
        assert found.additive_bound is not None
        assert found.excess_variance <= found.additive_bound + size**2
        assert found.bound <= found.additive_bound + size**2


@pytest.mark.parametrize(
    ("u", "v", "floor", "why"),
    [
        ([0.1, 5.0], [0.1, 4.0], 0.0, "reach 1"),
        ([0.1, 0.12], [0.1, 0.13], 0.05, "floor"),
        ([0.0, 0.1], [0.01, 0.1], 0.0, "above 0"),
    ],
)
def test_where_the_corollary_does_not_apply(u, v, floor, why):
    found = cost_of_wrong_policy(u, v, variance=1.0, weak_cost=0.05, strong_cost=1.0, floor=floor)
    assert found.additive_bound is None
    assert why in found.notes[0]
    assert math.isfinite(found.bound)


def test_the_record():
    found = cost_of_wrong_policy([0.1, 0.4], [0.2, 0.2], **WORLD)
    json.dumps(found.to_dict(), allow_nan=False)
    assert str(found) == found.summary()
    assert "times the squared error" in found.summary()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"error": [0.1, np.nan]}, "finite"),
        ({"believed_error": [-0.1, 0.2]}, "at least 0"),
        ({"believed_error": [0.1]}, "one number per item"),
        ({"error": []}, "empty"),
        ({"variance": 0}, "variance"),
        ({"strong_cost": 0}, "strong_cost"),
        ({"largest_squared_error": 0.05}, "largest_squared_error"),
        ({"floor": 2}, "floor"),
        ({"weights": [0.0, 0.0]}, "weights"),
    ],
)
def test_what_makes_no_sense(change, message):
    given = {"error": [0.1, 0.2], "believed_error": [0.1, 0.2], **WORLD} | change
    with pytest.raises(InputError, match=message):
        cost_of_wrong_policy(given.pop("error"), given.pop("believed_error"), **given)


def test_the_page_is_what_its_program_writes():
    docs = Path(__file__).parents[2] / "docs"
    spec = importlib.util.spec_from_file_location("make_wrong_policy", docs / "make_wrong_policy.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert (docs / "wrong-policy.md").read_text(encoding="utf-8") == module.page()
    first = module.cost(module.WORLDS[0], module.shrunk, 0.0, floor=False)
    assert first.optimal.error_ratio == pytest.approx(0.620661, abs=2e-6)  # METHODS section 11
    assert first.optimal.mean_rate == pytest.approx(0.251820, abs=5e-6)
    assert first.uniform.error_ratio == pytest.approx(0.866228, abs=3e-4)  # the grid's mean of u is a little low
