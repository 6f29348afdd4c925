"""`optimal_policy`: how often the strong rater must see each item (Props. 1 and 2, METHODS section 2)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from ratewise.core.chain import gains, pooled_gain_per_cost
from ratewise.core.checks import Floats, choice, finite, number, share
from ratewise.core.messages import Message, argument
from ratewise.core.names import ESTIMANDS, Estimand
from ratewise.core.result import shown
from ratewise.core.solver import Entries, Problem
from ratewise.errors import InputError, PolicyError

_SMALLEST = float(np.finfo(np.float64).tiny)  # the rate of an item that can gain nothing: positive, never drawn


@shown
@dataclass(frozen=True, slots=True, eq=False)
class Policy:
    """The rates, what they cost and what they give; `None` where a budget or target is needed to say.

    Invariants: every rate is in (0, 1] and at least `floor`; along a chain the rates never increase;
    `error_times_budget` = `cost_per_item` × `variance_per_item`, the squared error times the money spent.
    """

    rates: Floats = field(repr=False)
    scale: float  # γ: the rate is min(1, γ·sqrt(u)); sqrt(s) for sqrt(u/c) with a chain or per-item costs
    threshold: float  # τ = 1/γ: items with sqrt(u) above it always get the strong rating
    floor: float
    mean_rate: float  # E[π], of the strong rater
    cost_per_item: float
    variance_per_item: float  # Var(Δ)
    error_times_budget: float  # J
    base_error_times_budget: float  # c_h V: strong ratings alone
    worth_it: bool  # False where strong ratings alone are at least as good
    items: float | None  # T: how many items to look at
    spend: float | None
    expected_se: float | None
    pool_limited: bool  # the pool ends before the budget does

    @property
    def error_ratio(self) -> float:
        """J over that of base; 0/0 (everything is free) counts as 1."""
        base = self.base_error_times_budget
        return self.error_times_budget / base if base > 0 else 1.0

    @property
    def strong_labels(self) -> float | None:
        """Expected number of strong ratings."""
        return None if self.items is None else self.items * self.mean_rate

    def to_dict(self) -> dict[str, Any]:
        """The numbers without the rates, ready for JSON."""
        names = ("error_times_budget", "error_ratio", "expected_se", "items", "strong_labels", "spend")
        more = ("mean_rate", "scale", "threshold", "floor", "worth_it", "pool_limited")
        return {name: getattr(self, name) for name in names + more}

    def summary(self) -> str:
        """One line for people."""
        worth = "worth it" if self.worth_it else "not worth it: buy strong ratings alone"
        return (
            f"rate {self.mean_rate:.3g} on average (scale {self.scale:.4g}, threshold {self.threshold:.4g}), "
            f"error {self.error_ratio:.3f} of strong ratings alone; {worth}"
        )


def optimal_policy(
    error: ArrayLike,
    *,
    variance: float,
    weak_cost: ArrayLike,
    strong_cost: ArrayLike | Sequence[ArrayLike],
    weights: ArrayLike | None = None,
    pool_size: float | None = None,
    budget: float | None = None,
    target_se: float | None = None,
    floor: float = 0.0,
    estimand: Estimand = "population",
) -> Policy:
    """Rates of least squared error for the money, exactly.

    `error` is u(x) = E[(H−G)²|x] per item; for a chain of raters, items × steps with the error of the rater
    before each step, and `strong_cost` the steps' costs. Costs may differ per item. `weights` are the items'
    probabilities (equal if absent). With `budget` and `pool_size` the budget is spent on the pool exactly;
    with `target_se` the cheapest way to that standard error is found.

    Limiting cases: constant `error` gives the best uniform rate (Prop. 1); a large error gives rate 1;
    `strong_cost` 0 gives rate 1; `weak_cost` 0 has no optimum without a pool size unless E[u] > V.
    """
    V = number(variance, name="variance", above=0)
    f = share(floor, name="floor", zero=True, one=True)
    u = finite(error, name="error", minimum=0)
    choice(estimand, ESTIMANDS, name="estimand")
    c_g, c_h = _costs(u, weak_cost, strong_cost)
    w = None if weights is None else _weights(weights, u.shape[0])
    goal = _Goal.of(budget, target_se, pool_size, estimand)
    root, free = _root_gain_per_cost(u, c_h)
    mass = _mass(c_h, w, u.shape)
    c_0 = float(np.mean(c_g)) if w is None else float(np.dot(np.broadcast_to(c_g, w.shape), w))
    problem = Problem(Entries.of(root.reshape(-1), mass), V, c_0, f)
    solution = _solve(problem, goal)
    rates = _rates(root, solution, free)
    strong = rates if rates.ndim == 1 else rates[:, -1]
    last = c_h if c_h.ndim == 0 else (c_h if u.ndim == 1 else c_h[..., -1])
    return _policy(
        rates,
        solution,
        goal,
        V=V,
        unit=float(c_h) if c_h.ndim == 0 and c_h > 0 else 1.0,
        mean_rate=float(strong.mean() if w is None else np.dot(strong, w)),
        base_cost=float(np.mean(last) if w is None else np.dot(np.broadcast_to(last, w.shape), w)),
    )


# What the user wants


@dataclass(frozen=True, slots=True)
class _Goal:
    budget: float | None
    target_se: float | None
    pool_size: float
    estimand: Estimand

    @classmethod
    def of(cls, budget: float | None, target_se: float | None, pool_size: float | None, estimand: Estimand) -> "_Goal":
        if budget is not None and target_se is not None:
            raise InputError(Message(f"give {argument('budget')} or {argument('target_se')}, not both"))
        if estimand == "pool" and pool_size is None:
            raise InputError(Message(f"estimand 'pool' needs {argument('pool_size')}, the number of items in the pool"))
        N = math.inf if pool_size is None else number(pool_size, name="pool_size", minimum=1)
        B = None if budget is None else number(budget, name="budget", above=0)
        se = None if target_se is None else number(target_se, name="target_se", above=0)
        return cls(B, se, N, estimand)

    def pool_variance(self, V: float) -> float:
        """The variance that the pool's own mean does not have."""
        return V / self.pool_size if self.estimand == "pool" else 0.0


# The steps of the solution


@dataclass(frozen=True, slots=True)
class _Solution:
    t: float  # the scale on sqrt(gain per cost); inf: every rate is 1
    least: float  # floor of this solution (above the asked-for one where a pool has money left)
    cost: float
    variance: float
    items: float | None
    pool_limited: bool


def _solve(problem: Problem, goal: _Goal) -> _Solution:
    t = problem.best_scale() if problem.entries.total_mass > 0 else math.inf
    if goal.budget is None and goal.target_se is None:
        _needs_a_pool(t, problem, "and no budget")
        return _solution(problem, t, None)
    cost, variance = _cost_and_variance(problem, t)
    wanted = _items(goal, cost, variance, problem.variance)
    if wanted > goal.pool_size or (t == 0 and math.isfinite(goal.pool_size)):
        return _solve_pool(problem, goal, t)
    _needs_a_pool(t, problem, "and an unlimited pool")
    if math.isinf(wanted):
        raise PolicyError("both ratings are free and the pool is unlimited: rate everything; there is nothing to plan")
    return _solution(problem, t, wanted)


def _items(goal: _Goal, cost: float, variance: float, V: float) -> float:
    """T without a pool's end: B / cost, or Var(Δ) / ε²."""
    if goal.budget is not None:
        return goal.budget / cost if cost > 0 else math.inf
    assert goal.target_se is not None
    return variance / (goal.target_se**2 + goal.pool_variance(V))


def _solve_pool(problem: Problem, goal: _Goal, t: float) -> _Solution:
    """All N items are looked at; the scale follows from the money, or from the variance, per item."""
    N = goal.pool_size
    if goal.budget is not None:
        return _spend_on_pool(problem, goal.budget / N, N, t)
    assert goal.target_se is not None
    V = problem.variance
    variance = N * (goal.target_se**2 + goal.pool_variance(V))
    if variance < V * (1 - 1e-12):
        least = math.sqrt(V / N)
        raise PolicyError(
            Message(
                f"{argument('target_se')} {goal.target_se:g} cannot be reached: strong ratings on all {N:g} items of "
                f"the pool give {least:.4g}; use a larger pool or target, or estimand 'pool'"
            )
        )
    most = problem.item_variance(t) if t > 0 else math.inf
    if variance >= most:
        return _solution(problem, t, N, pool_limited=True)
    if variance <= V or problem.entries.total_gain == 0:
        return _all_that_gain(problem, N)
    return _solution(problem, problem.scale_for_variance(variance, low=t), N, pool_limited=True)


def _all_that_gain(problem: Problem, N: float) -> _Solution:
    """Rate 1 wherever the strong rating can change anything, the floor elsewhere."""
    idle = _mass_without_gain(problem.entries)
    cost = problem.weak_cost + problem.entries.total_mass - idle + problem.floor * idle
    return _Solution(math.inf, problem.floor, cost, problem.variance, N, True)


def _spend_on_pool(problem: Problem, cost: float, N: float, t: float) -> _Solution:
    entries, f = problem.entries, problem.floor
    if cost >= problem.weak_cost + entries.total_mass:
        return _solution(problem, math.inf, N, pool_limited=True)
    idle = _mass_without_gain(entries)
    full = problem.weak_cost + (entries.total_mass - idle)
    if cost >= full + f * idle:  # every item that gains is at 1: the rest of the money goes to the others
        least = (cost - full) / idle
        return _Solution(math.inf, least, cost, problem.variance, N, True)
    return _solution(problem, problem.scale_for_cost(cost, low=t), N, pool_limited=True)


def _mass_without_gain(entries: Entries) -> float:
    if isinstance(entries.mass, float):
        return entries.mass * float(np.count_nonzero(entries.root == 0))
    return float(np.dot(entries.mass, entries.root == 0))


def _solution(problem: Problem, t: float, items: float | None, *, pool_limited: bool = False) -> _Solution:
    cost, variance = _cost_and_variance(problem, t)
    return _Solution(t, 1.0 if math.isinf(t) else problem.floor, cost, variance, items, pool_limited)


def _cost_and_variance(problem: Problem, t: float) -> tuple[float, float]:
    if math.isinf(t):
        return problem.weak_cost + problem.entries.total_mass, problem.variance
    if t == 0:
        return problem.weak_cost, math.inf
    return problem.cost(t), problem.item_variance(t)


def _needs_a_pool(t: float, problem: Problem, also: str) -> None:
    if t == 0:
        raise PolicyError(
            Message(
                f"with {argument('weak_cost')} 0 {also} there is no best policy (looking at more items always pays); "
                f"give {argument('pool_size')} and a budget, a floor, or what a weak rating really costs"
            )
        )


def _rates(root: Floats, solution: _Solution, free: "np.ndarray[Any, np.dtype[np.bool_]] | None") -> Floats:
    """q = clip(t·r, floor, 1), written over r."""
    if math.isinf(solution.t):
        np.copyto(root, np.where(root > 0, 1.0, solution.least))
    else:
        np.multiply(root, solution.t, out=root)
        np.minimum(root, 1.0, out=root)
    np.maximum(root, max(solution.least, _SMALLEST), out=root)
    if free is not None:
        root[free] = 1.0
    return root


def _policy(
    rates: Floats,
    solution: _Solution,
    goal: _Goal,
    *,
    V: float,
    unit: float,
    mean_rate: float,
    base_cost: float,
) -> Policy:
    scale = solution.t / math.sqrt(unit)
    T = solution.items
    error = None if T is None else solution.variance / T
    J = solution.cost * solution.variance
    spend = None if T is None else min(T * solution.cost, math.inf if goal.budget is None else goal.budget)
    se = None if error is None else math.sqrt(max(error - goal.pool_variance(V), 0.0))
    return Policy(
        rates=rates,
        scale=scale,
        threshold=1.0 / scale if scale > 0 else math.inf,
        floor=solution.least,
        mean_rate=mean_rate,
        cost_per_item=solution.cost,
        variance_per_item=solution.variance,
        error_times_budget=J,
        base_error_times_budget=base_cost * V,
        worth_it=base_cost * V > J,
        items=T,
        spend=spend,
        expected_se=se,
        pool_limited=solution.pool_limited,
    )


# From words to letters


def _costs(u: Floats, weak_cost: ArrayLike, strong_cost: ArrayLike | Sequence[ArrayLike]) -> tuple[Floats, Floats]:
    """c_0 as a number or per item; the steps' costs as a number, per item, per step, or items × steps."""
    if u.ndim not in (1, 2):
        raise InputError(f"error must have one dimension, or two for a chain; got {u.ndim}")
    n = u.shape[0]
    c_g = finite(weak_cost, name="weak_cost", minimum=0)
    if c_g.ndim > 1 or c_g.size not in (1, n):
        raise InputError(f"weak_cost must be one number or one per item ({n}); got shape {c_g.shape}")
    if u.ndim == 2 and isinstance(strong_cost, Sequence) and len(strong_cost) == u.shape[1]:
        strong_cost = _step_costs(strong_cost, n)
    c_h = finite(cast(ArrayLike, strong_cost), name="strong_cost", minimum=0)
    legal = [(), (n,)] if u.ndim == 1 else [(u.shape[1],), u.shape]
    if c_h.shape not in legal:
        raise InputError(f"strong_cost must have a shape of {legal} to match error; got {c_h.shape}")
    return c_g, c_h


def _step_costs(costs: Sequence[ArrayLike], n: int) -> Floats:
    """One cost per step, each a number or one per item."""
    columns = [finite(c, name="strong_cost", minimum=0) for c in costs]
    if all(c.ndim == 0 for c in columns):
        return np.array([float(c) for c in columns])
    if any(c.shape not in ((), (n,)) for c in columns):
        raise InputError(f"each step's strong_cost must be one number or one per item ({n})")
    return np.stack([np.broadcast_to(c, (n,)) for c in columns], axis=1)


def _weights(weights: ArrayLike, n: int) -> Floats:
    w = finite(weights, name="weights", minimum=0)
    if w.shape != (n,):
        raise InputError(f"weights must be one per item ({n}); got shape {w.shape}")
    total = float(w.sum())
    if total <= 0:
        raise InputError("weights must have a positive sum; all are 0")
    return w / total


def _root_gain_per_cost(u: Floats, c_h: Floats) -> tuple[Floats, "np.ndarray[Any, np.dtype[np.bool_]] | None"]:
    """sqrt(e/c), and where a step is free (its rate is 1 whatever else holds; its own sqrt counts as 0)."""
    if u.ndim == 1 and c_h.ndim == 0 and c_h > 0:
        root = u / float(c_h)
    else:
        gain = u[:, None] if u.ndim == 1 else gains(u)
        cost = c_h[:, None] if c_h.ndim == 1 and u.ndim == 1 else c_h
        root = pooled_gain_per_cost(gain, cost).reshape(u.shape)
    free = np.isinf(root) if not np.all(c_h > 0) else None
    if free is not None:
        root[free] = 0.0
    np.sqrt(root, out=root)
    return root, free


def _mass(c_h: Floats, w: Floats | None, shape: tuple[int, ...]) -> float | Floats:
    """Probability weight × cost of each entry; one number where all entries share it."""
    n = shape[0]
    if w is None and c_h.ndim == 0:
        return float(c_h) / n
    weight = np.full(n, 1.0 / n) if w is None else w
    if len(shape) == 2:
        weight = weight[:, None]
    return np.ascontiguousarray(np.broadcast_to(weight * c_h, shape)).reshape(-1)
