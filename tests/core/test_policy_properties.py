"""What must hold for every world: hypothesis looks for one where it does not (derandomised, so runs are alike)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ratewise.core.formulas import optimal_uniform_rate
from ratewise.core.policy import optimal_policy

quick = settings(derandomize=True, max_examples=100, deadline=None, database=None)


def positive(low: float, high: float) -> st.SearchStrategy[float]:
    """Log-uniform: as many small numbers as large ones."""
    return st.floats(np.log(low), np.log(high)).map(lambda x: float(np.exp(x)))


@dataclass(frozen=True)
class World:
    u: np.ndarray
    V: float
    c_g: float
    c_h: float
    w: np.ndarray
    floor: float

    def words(self, **change: Any) -> dict[str, Any]:
        names = {"error": self.u, "variance": self.V, "weak_cost": self.c_g, "strong_cost": self.c_h}
        return {**names, "weights": self.w, "floor": self.floor, **change}


@st.composite
def worlds(draw: st.DrawFn, *, free: bool = False) -> World:
    """1 to 9 items, errors over eight decades and often 0, V from E[u]/20 to 20 E[u], with and without a floor."""
    n = draw(st.integers(1, 9))
    u = np.array(draw(st.lists(st.one_of(st.just(0.0), *[positive(1e-5, 1e3)] * 4), min_size=n, max_size=n)))
    w = np.array(draw(st.lists(positive(0.05, 20.0), min_size=n, max_size=n)))
    mean = float(w @ u / w.sum()) or 0.6
    c_g = 0.0 if free and draw(st.booleans()) else draw(positive(1e-3, 10.0))
    floor = draw(st.one_of(st.just(0.0), st.floats(0.001, 0.9)))
    return World(u, mean * draw(positive(0.05, 20.0)), c_g, draw(positive(0.05, 50.0)), w, floor)


@st.composite
def chains(draw: st.DrawFn) -> tuple[np.ndarray, list[float], float, float, float]:
    """Errors of 2 raters before H (later ones may be worse), step costs, V, c_0, floor."""
    n = draw(st.integers(1, 6))
    u = np.array(draw(st.lists(st.tuples(*[positive(1e-3, 1e2)] * 2), min_size=n, max_size=n)))
    costs = draw(st.lists(positive(0.05, 20.0), min_size=3, max_size=3))
    V = float(u[:, 0].mean()) * draw(positive(0.1, 20.0))
    return u, costs, V, draw(positive(1e-2, 5.0)), draw(st.sampled_from([0.0, 0.03, 0.4]))


@quick
@given(worlds())
def test_rates_are_legal_and_grow_with_the_error(world):
    rates = optimal_policy(**world.words()).rates
    assert np.all((rates > 0) & (rates <= 1))
    assert np.all(rates >= world.floor)
    order = np.argsort(world.u)
    assert np.all(np.diff(rates[order]) >= 0)
    inside = (rates > world.floor) & (rates < 1) & (world.u > 0)
    squared = rates[inside] ** 2 / world.u[inside]
    np.testing.assert_allclose(squared, squared[:1].repeat(squared.size), rtol=1e-9)  # π ∝ sqrt(u)


@quick
@given(worlds())
def test_the_record_agrees_with_itself_and_with_the_formulas(by_hand, world):
    policy = optimal_policy(**world.words())
    words = world.words()
    del words["floor"]
    cost, variance = by_hand(policy.rates, words.pop("error"), **words)
    assert policy.cost_per_item == pytest.approx(cost, rel=1e-9)
    assert policy.variance_per_item == pytest.approx(variance, rel=1e-9)
    assert policy.error_times_budget == pytest.approx(cost * variance, rel=1e-9)
    assert policy.mean_rate == pytest.approx(np.average(policy.rates, weights=world.w), rel=1e-9)
    if abs(policy.error_ratio - 1) > 1e-9:  # an exact tie is a matter of rounding
        assert policy.worth_it == (policy.error_times_budget < world.c_h * world.V)


@quick
@given(worlds())
def test_no_other_scale_is_better(by_hand, world):
    """J along the family clip(γ sqrt(u), floor, 1): the returned γ is its minimum, from both sides."""
    policy = optimal_policy(**world.words())
    words = world.words()
    error, floor = words.pop("error"), words.pop("floor")
    for factor in (0.2, 0.9, 0.999, 1.001, 1.1, 5.0):
        rates = np.clip(factor * policy.scale * np.sqrt(error), max(floor, 1e-300), 1)
        cost, variance = by_hand(rates, error, **words)
        assert policy.error_times_budget <= cost * variance * (1 + 1e-12)


@quick
@given(worlds(), positive(1e-4, 1e4))
def test_a_change_of_unit_changes_nothing_but_the_unit(world, k):
    policy = optimal_policy(**world.words())
    ratings = optimal_policy(**world.words(error=k * world.u, variance=k * world.V))
    money = optimal_policy(**world.words(weak_cost=k * world.c_g, strong_cost=k * world.c_h))
    for other in (ratings, money):
        np.testing.assert_allclose(other.rates, policy.rates, rtol=1e-8)
        assert other.error_times_budget == pytest.approx(k * policy.error_times_budget, rel=1e-9)
        assert other.error_ratio == pytest.approx(policy.error_ratio, rel=1e-9)
    assert ratings.scale == pytest.approx(policy.scale / np.sqrt(k), rel=1e-8)


@quick
@given(positive(1e-4, 1e3), positive(0.02, 50.0), positive(1e-3, 10.0), positive(0.05, 50.0), st.integers(1, 7))
def test_a_constant_error_gives_the_uniform_rate_in_closed_form(u, ratio, c_g, c_h, n):
    words = {"variance": u * ratio, "weak_cost": c_g, "strong_cost": c_h}
    policy, uniform = optimal_policy(np.full(n, u), **words), optimal_uniform_rate(u, **words)
    np.testing.assert_allclose(policy.rates, uniform.rate, rtol=1e-9)
    assert policy.error_times_budget == pytest.approx(uniform.error_times_budget, rel=1e-9)
    assert policy.error_ratio == pytest.approx(uniform.error_ratio, rel=1e-9)


@quick
@given(chains(), st.sampled_from([0, 1]))
def test_a_rater_no_better_than_the_one_before_is_bought_together_with_the_next(chain, where):
    """A step with gain 0 and a cost: the same as a shorter chain in which the next step costs both."""
    u, (a, b, c), V, c_0, floor = chain
    doubled = np.column_stack([u[:, 0], u[:, where], u[:, 1]])
    merged = [a + b, c] if where == 0 else [a, b + c]
    options = {"variance": V, "weak_cost": c_0, "floor": floor}
    long = optimal_policy(doubled, strong_cost=[a, b, c], **options)
    short = optimal_policy(u, strong_cost=merged, **options)
    columns = [0, 0, 1] if where == 0 else [0, 1, 1]
    np.testing.assert_allclose(long.rates, short.rates[:, columns], rtol=1e-7)
    assert long.error_times_budget == pytest.approx(short.error_times_budget, rel=1e-9)
    assert long.cost_per_item == pytest.approx(short.cost_per_item, rel=1e-7)


@quick
@given(chains())
def test_a_chain_is_nested_and_never_worse_than_buying_the_last_rater_with_the_first(chain):
    """Forcing q_1 = q_2 is one of the policies the chain may choose from."""
    u, (a, b, _), V, c_0, floor = chain
    options = {"variance": V, "weak_cost": c_0, "floor": floor}
    policy = optimal_policy(u, strong_cost=[a, b], **options)
    assert np.all(np.diff(policy.rates, axis=1) <= 0)
    assert np.all((policy.rates >= max(floor, 1e-320)) & (policy.rates <= 1))
    together = optimal_policy(u[:, 0], strong_cost=a + b, **options)
    assert policy.error_times_budget <= together.error_times_budget * (1 + 1e-12)


@quick
@given(chains())
def test_a_chain_of_one_step_is_the_plain_policy(chain):
    u, (a, _, _), V, c_0, floor = chain
    options = {"variance": V, "weak_cost": c_0, "floor": floor}
    flat = optimal_policy(u[:, 0], strong_cost=a, **options)
    tall = optimal_policy(u[:, :1], strong_cost=[a], **options)
    np.testing.assert_allclose(tall.rates[:, 0], flat.rates, rtol=1e-12)
    assert tall.error_times_budget == pytest.approx(flat.error_times_budget, rel=1e-12)


@quick
@given(worlds(), st.data())
def test_weights_are_replication(world, data):
    n = world.u.size
    count = data.draw(st.lists(st.integers(0, 5), min_size=n, max_size=n).filter(any))
    weighted = optimal_policy(**world.words(weights=count))
    replicated = optimal_policy(**world.words(error=np.repeat(world.u, count), weights=None))
    np.testing.assert_allclose(np.repeat(weighted.rates, count), replicated.rates, rtol=1e-8)
    assert weighted.error_times_budget == pytest.approx(replicated.error_times_budget, rel=1e-9)
    assert weighted.mean_rate == pytest.approx(replicated.mean_rate, rel=1e-8)


def cheapest(world: World) -> float:
    """What an item costs at the unlimited optimum; 0 where there is none (free weak ratings)."""
    mean = np.average(world.u, weights=world.w)
    no_optimum = world.c_g == 0 and world.floor == 0 and mean * (1 - 1e-9) <= world.V
    return 0.0 if no_optimum else optimal_policy(**world.words()).cost_per_item


@quick
@given(worlds(free=True), st.floats(0.01, 0.99), st.integers(3, 5000))
def test_a_pools_budget_is_spent_exactly(by_hand, world, share, N):
    """For any B/N between what the optimum costs and what strong ratings on every item cost."""
    least, most = cheapest(world), world.c_g + world.c_h
    assume(least < most * (1 - 1e-6))
    B = N * (least + share * (most - least))
    policy = optimal_policy(**world.words(budget=B, pool_size=N))
    words = world.words()
    floor, error = words.pop("floor"), words.pop("error")
    cost, variance = by_hand(policy.rates, error, **words)
    assert N * cost == pytest.approx(B, rel=1e-9)
    assert policy.spend == pytest.approx(B, rel=1e-9)
    assert policy.spend <= B
    assert (policy.items, policy.pool_limited) == (N, True)
    assert policy.expected_se**2 == pytest.approx(variance / N, rel=1e-7)
    assert np.all((policy.rates >= floor) & (policy.rates <= 1))
    assert np.all(np.diff(policy.rates[np.argsort(error)]) >= 0)


@quick
@given(worlds(), positive(1e-2, 1e6), st.one_of(st.none(), st.integers(1, 5000)))
def test_a_budget_is_never_exceeded_and_used_up_unless_all_is_labelled(by_hand, world, B, N):
    policy = optimal_policy(**world.words(budget=B, pool_size=N))
    words = world.words()
    del words["floor"]
    cost, _ = by_hand(policy.rates, words.pop("error"), **words)
    assert policy.items * cost <= B * (1 + 1e-9)
    assert policy.spend <= B
    assert N is None or policy.items <= N
    if not (policy.pool_limited and np.all(policy.rates == 1)):
        assert policy.items * cost == pytest.approx(B, rel=1e-9)
    if not policy.pool_limited:
        assert policy.expected_se**2 == pytest.approx(policy.error_times_budget / B, rel=1e-9)


@quick
@given(worlds(), positive(1e-3, 1.0), st.integers(2, 5000), st.sampled_from(["population", "pool"]))
def test_a_target_that_can_be_reached_is_reached_and_costs_what_the_budget_version_says(world, times, N, estimand):
    """`times` of what looking at the whole pool without strong ratings would give, in variance."""
    target = np.sqrt(world.V / N * (times + (estimand == "population")))
    options = {"pool_size": N, "estimand": estimand}
    policy = optimal_policy(**world.words(target_se=target), **options)
    assert policy.expected_se == pytest.approx(target, rel=1e-9)
    back = optimal_policy(**world.words(budget=policy.spend), **options)
    assert back.expected_se == pytest.approx(policy.expected_se, rel=1e-6)


@quick
@given(worlds())
def test_the_given_arrays_are_left_alone(world):
    u, w = world.u.copy(), world.w.copy()
    optimal_policy(**world.words())
    optimal_policy(**world.words(error=world.u[:, None], strong_cost=[world.c_h], budget=3.0, pool_size=5))
    np.testing.assert_array_equal(world.u, u)
    np.testing.assert_array_equal(world.w, w)
