"""The exact solver against a general-purpose optimiser, on small worlds (METHODS section 11, last lines).

SLSQP knows nothing of blocks, clipping or the one scalar: it moves every rate of every item on its own, under the
nesting constraints, from 30 starts. The solver's numbers are recomputed from the returned rates (`by_hand`).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq, minimize

from ratewise.core.policy import Policy, optimal_policy

RESTARTS = 30
TOLERANCE = 1e-6  # relative, as METHODS section 11 states


@dataclass(frozen=True)
class World:
    """A discrete world: u, costs and probabilities of each item, lopsided on purpose."""

    u: np.ndarray  # items × steps
    w: np.ndarray
    c_0: np.ndarray  # per item
    c: np.ndarray  # items × steps
    V: float
    floor: float

    @property
    def words(self) -> dict[str, Any]:
        chain = self.u.shape[1] > 1
        return {
            "error": self.u if chain else self.u[:, 0],
            "variance": self.V,
            "weak_cost": self.c_0,
            "strong_cost": self.c if chain else self.c[:, 0],
            "weights": self.w,
        }

    def cost(self, x: np.ndarray) -> float:
        return float(self.w @ self.c_0 + (self.w[:, None] * self.c).ravel() @ x)

    def cost_slope(self, x: np.ndarray) -> np.ndarray:
        return (self.w[:, None] * self.c).ravel()

    def _gain(self) -> np.ndarray:
        return (self.w[:, None] * (self.u - np.hstack([self.u[:, 1:], np.zeros((len(self.u), 1))]))).ravel()

    def spread(self, x: np.ndarray) -> float:
        return float(self.V + self._gain() @ (1 / x - 1))

    def spread_slope(self, x: np.ndarray) -> np.ndarray:
        return -self._gain() / x**2


def make_world(
    seed: int, *, steps: int, floor: float = 0.0, ratio: float, per_item: bool = False, free: bool = False
) -> World:
    """5 to 8 items; V is `ratio` times E[u]; one later rater in three is worse than the one before it."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 9))
    u = rng.gamma(0.7, 3.0, n)[:, None] * rng.uniform(0.5, 2.0, n)[:, None] ** np.arange(steps)
    u = u * np.where(rng.random((n, steps)) < 1 / 3, 1.3, 0.4) ** np.arange(steps)
    w = rng.dirichlet(np.full(n, 1.7))
    c = rng.uniform(0.1, 4.0, steps)[None, :] * np.ones((n, 1))
    c_0 = np.full(n, rng.uniform(0.02, 0.5))
    if per_item:
        c, c_0 = c * rng.uniform(0.3, 3.0, (n, steps)), c_0 * rng.uniform(0.3, 3.0, n)
    return World(u, w, 0.0 * c_0 if free else c_0, c, float(ratio * (w @ u[:, 0])), floor)


def best_of_restarts(world: World, objective: Any, slope: Any, *, also: tuple[Any, ...] = (), seed: int = 1) -> float:
    """Least objective SLSQP finds over nested rates between the floor and 1; only converged runs count."""
    rng, (n, K) = np.random.default_rng(seed), world.u.shape
    nested = np.zeros((n * (K - 1), n * K))
    for row, (i, k) in enumerate((i, k) for i in range(n) for k in range(K - 1)):
        nested[row, i * K + k], nested[row, i * K + k + 1] = 1.0, -1.0
    constraints = [{"type": "ineq", "fun": lambda x: nested @ x, "jac": lambda x: nested}] if K > 1 else []
    low, found = max(world.floor, 1e-4), []
    for _ in range(RESTARTS):
        start = np.sort(rng.uniform(low, 1.0, (n, K)), axis=1)[:, ::-1].ravel()
        run = minimize(
            objective,
            start,
            jac=slope,
            method="SLSQP",
            bounds=[(low, 1.0)] * (n * K),
            constraints=[*constraints, *also],
            options={"maxiter": 500, "ftol": 1e-13},
        )
        if run.success and np.all(nested @ run.x >= -1e-9):
            found.append(float(run.fun))
    assert len(found) >= RESTARTS // 3
    return min(found)


def best_error_times_budget(world: World, *, also: tuple[Any, ...] = ()) -> float:
    """Least J, found as log J; where a worse rater drives the variance below 0 the search is sent back."""

    def log_J(x: np.ndarray) -> float:
        return float(np.log(world.cost(x) * world.spread(x))) if world.spread(x) > 0 else 1e3

    def slope(x: np.ndarray) -> np.ndarray:
        return world.cost_slope(x) / world.cost(x) + world.spread_slope(x) / world.spread(x)

    return float(np.exp(best_of_restarts(world, log_J, slope, also=also)))


def checked(world: World, policy: Policy, by_hand: Any) -> tuple[float, float]:
    """Cost and variance of a policy from its rates alone, after checking that the rates are legal."""
    rates = policy.rates.reshape(world.u.shape)
    assert rates.max() <= 1
    assert rates.min() >= max(world.floor, 1e-4)  # so that the optimiser's lower bound is not in its way
    assert np.all(np.diff(rates, axis=1) <= 0)
    words = world.words
    cost, variance = by_hand(policy.rates, words.pop("error"), **words)
    assert policy.cost_per_item == pytest.approx(cost, rel=1e-9)
    assert policy.variance_per_item == pytest.approx(variance, rel=1e-9)
    return cost, variance


CASES = [
    (seed, steps, floor, ratio, per_item)
    for steps in (1, 2, 3)
    for floor in (0.0, 0.11)
    for seed, ratio, per_item in ((1, 2.9, False), (2, 0.45, False), (3, 7.0, True), (4, 0.7, True))
]


@pytest.mark.parametrize(("seed", "steps", "floor", "ratio", "per_item"), CASES)
def test_J_is_the_least_any_nested_rates_reach(by_hand, seed, steps, floor, ratio, per_item):
    world = make_world(100 * steps + seed, steps=steps, floor=floor, ratio=ratio, per_item=per_item)
    cost, variance = checked(world, optimal_policy(**world.words, floor=floor), by_hand)
    assert cost * variance == pytest.approx(best_error_times_budget(world), rel=TOLERANCE)


def test_the_worlds_hold_what_they_are_meant_to_hold():
    """Worse later raters, rates at 1, rates at the floor and rates between: else the cases above say little."""
    seen = set()
    for seed, steps, floor, ratio, per_item in CASES:
        world = make_world(100 * steps + seed, steps=steps, floor=floor, ratio=ratio, per_item=per_item)
        rates = optimal_policy(**world.words, floor=floor).rates
        seen |= {"worse rater"} if np.any(np.diff(world.u, axis=1) > 0) else set()
        seen |= {"shared rate"} if steps > 1 and np.any(np.diff(rates) == 0) else set()
        seen |= {"separate rates"} if steps > 1 and np.any(np.diff(rates) < 0) else set()
        seen |= {f"one {steps}"} if np.any(rates == 1) else set()
        seen |= {f"floor {steps}"} if floor > 0 and np.any(rates == floor) else set()
        seen |= {f"between {steps}"} if np.any((rates > floor) & (rates < 1)) else set()
    each = {f"{name} {steps}" for name in ("one", "floor", "between") for steps in (1, 2, 3)}
    assert seen == each | {"worse rater", "shared rate", "separate rates"}


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_a_slightly_wrong_policy_is_caught(by_hand, steps):
    """3 % off the optimal scale, or every step on its own without pooling, is beyond the tolerance."""
    world = make_world(100 * steps + 1, steps=steps, ratio=2.9)
    words, policy = world.words, optimal_policy(**world.words)
    error, best = words.pop("error"), best_error_times_budget(world)
    off = by_hand(np.minimum(1, 1.03 * policy.rates), error, **words)
    assert off[0] * off[1] > best * (1 + 10 * TOLERANCE)
    if steps > 1:
        gain = np.maximum(world.u - np.hstack([world.u[:, 1:], np.zeros((len(world.u), 1))]), 1e-9)
        alone = np.minimum.accumulate(np.clip(policy.scale * np.sqrt(gain / world.c), 1e-4, 1), axis=1)
        loose = by_hand(alone, error, **words)
        assert loose[0] * loose[1] > best * (1 + 10 * TOLERANCE)


@pytest.mark.parametrize(("steps", "floor"), [(1, 0.0), (1, 0.07), (2, 0.0), (3, 0.07)])
def test_free_weak_ratings_have_an_optimum_when_V_is_below_the_error(by_hand, steps, floor):
    world = make_world(40 + steps, steps=steps, floor=floor, ratio=0.8, free=True)
    cost, variance = checked(world, optimal_policy(**world.words, floor=floor), by_hand)
    assert cost * variance == pytest.approx(best_error_times_budget(world), rel=TOLERANCE)


def test_free_weak_ratings_with_a_floor_have_an_optimum_when_V_is_above_the_error(by_hand):
    world = make_world(45, steps=1, floor=0.06, ratio=2.3, free=True)
    cost, variance = checked(world, optimal_policy(**world.words, floor=0.06), by_hand)
    assert cost * variance == pytest.approx(best_error_times_budget(world), rel=TOLERANCE)


POOLS = [
    (1, 0.0, 2.9, False),
    (1, 0.11, 0.8, False),
    (2, 0.0, 0.7, True),
    (2, 0.11, 7.0, True),
    (3, 0.0, 7.0, True),
    (3, 0.11, 0.7, False),
    (3, 0.0, 2.9, False),
]


def cheapest_and_dearest(world: World, *, looks_are_free: bool) -> tuple[float, float]:
    """Cost per item of the unlimited optimum and of strong ratings for all, which must lie apart."""
    least = 0.0 if looks_are_free else optimal_policy(**world.words, floor=world.floor).cost_per_item
    all_strong = world.cost(np.ones(world.u.size))
    assert least < 0.95 * all_strong
    return least, all_strong


@pytest.mark.parametrize(("steps", "floor", "ratio", "free"), POOLS)
def test_a_pool_gets_the_least_variance_its_budget_buys(by_hand, steps, floor, ratio, free):
    """At exactly B/N per item; and no policy that looks at fewer than N items does better either."""
    N = 57
    world = make_world(80 + steps, steps=steps, floor=floor, ratio=ratio, per_item=True, free=free)
    least, all_strong = cheapest_and_dearest(world, looks_are_free=free and ratio > 1 and floor == 0)
    B = N * (least + 0.37 * (all_strong - least))
    policy = optimal_policy(**world.words, floor=floor, budget=B, pool_size=N)
    cost, variance = checked(world, policy, by_hand)
    assert cost == pytest.approx(B / N, rel=1e-9)
    assert policy.pool_limited
    assert (policy.items, policy.spend) == (N, pytest.approx(B, rel=1e-12))
    exact = {"type": "eq", "fun": lambda x: world.cost(x) - B / N, "jac": world.cost_slope}
    best = best_of_restarts(world, world.spread, world.spread_slope, also=(exact,))
    assert variance == pytest.approx(best, rel=TOLERANCE)
    at_least = {"type": "ineq", "fun": lambda x: world.cost(x) - B / N, "jac": world.cost_slope}
    assert policy.expected_se**2 <= best_error_times_budget(world, also=(at_least,)) / B * (1 + TOLERANCE)


@pytest.mark.parametrize("estimand", ["population", "pool"])
@pytest.mark.parametrize(("steps", "floor", "ratio", "free"), POOLS)
def test_a_target_on_a_pool_costs_the_least_money(by_hand, steps, floor, ratio, free, estimand):
    N = 57
    world = make_world(70 + steps, steps=steps, floor=floor, ratio=ratio, free=free)
    options = {**world.words, "floor": floor, "pool_size": N, "estimand": estimand}
    least, all_strong = cheapest_and_dearest(world, looks_are_free=free and ratio > 1 and floor == 0)
    wanted = optimal_policy(**options, budget=N * (least + 0.41 * (all_strong - least))).expected_se
    policy = optimal_policy(**options, target_se=wanted)
    assert policy.pool_limited
    assert policy.expected_se == pytest.approx(wanted, rel=1e-9)
    cost, _ = checked(world, policy, by_hand)
    assert policy.spend == pytest.approx(N * cost, rel=1e-9)

    def miss(budget: float) -> float:
        return optimal_policy(**options, budget=budget).expected_se - wanted

    low, high = N * (least + 0.1 * (all_strong - least)), N * (least + 0.9 * (all_strong - least))
    assert policy.spend == pytest.approx(brentq(miss, low, high, xtol=1e-12, rtol=1e-12), rel=TOLERANCE)
    limit = N * wanted**2 + (world.V if estimand == "pool" else 0.0)
    reached = {
        "type": "ineq",
        "fun": lambda x: 1 - world.spread(x) / limit,
        "jac": lambda x: -world.spread_slope(x) / limit,
    }
    best = best_of_restarts(world, world.cost, world.cost_slope, also=(reached,))
    assert cost == pytest.approx(best, rel=TOLERANCE)
