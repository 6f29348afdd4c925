"""`optimal_policy`: how often the strong rater must see each item (Props. 1 and 2, METHODS section 2)."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from ratewise.core.checks import Floats, choice, finite, number, share
from ratewise.core.messages import Message, argument
from ratewise.core.names import ESTIMANDS, Estimand
from ratewise.core.result import shown
from ratewise.errors import InputError, PolicyError

_CHUNK = 1 << 15  # entries summed at a time, so that temporaries stay in the cache
_MOST_STEPS = 200  # Newton needs about five; with a floor some bisections come between
_ROUNDING = 1e-12  # a Newton step this small (relative) is rounding in the sums over millions of entries


@dataclass(frozen=True, slots=True)
class Regions:
    """Sums over the entries at the floor (mass, gain), in between (mass·r) and at 1 (mass, gain)."""

    floor_mass: float
    floor_gain: float
    middle_root: float
    one_mass: float
    below_one_gain: float


@dataclass(frozen=True, slots=True, eq=False)
class Entries:
    """r and m of every entry, with their totals; `mass` is one number when all entries share it."""

    root: Floats
    mass: float | Floats
    total_mass: float
    total_root: float
    total_gain: float

    @classmethod
    def of(cls, root: Floats, mass: float | Floats) -> "Entries":
        """Entries with their totals summed up."""
        _, total_root, total_gain = cls(root, mass, 0.0, 0.0, 0.0)._clipped(math.inf)
        total_mass = mass * root.size if isinstance(mass, float) else float(np.sum(mass))
        return cls(root, mass, total_mass, total_root, total_gain)

    def regions(self, t: float, floor: float) -> Regions:
        """The three regions' sums at scale t."""
        if t <= 0:
            at_floor = Regions(self.total_mass, self.total_gain, 0.0, 0.0, self.total_gain)
            return at_floor if floor > 0 else Regions(0.0, 0.0, self.total_root, 0.0, self.total_gain)
        at_least, root_below, gain_below = self._at(1.0 / t)
        if floor <= 0:
            return Regions(0.0, 0.0, root_below, at_least, gain_below)
        above_floor, root_floor, gain_floor = self._at(floor / t)
        return Regions(
            self.total_mass - above_floor,
            gain_floor,
            root_below - root_floor,
            at_least,
            gain_below,
        )

    def _at(self, h: float) -> tuple[float, float, float]:
        """Mass with r ≥ h; Σ m r and Σ m r² of the entries below h."""
        at_least, root, gain = self._clipped(h)
        return at_least, root - at_least * h, gain - at_least * h * h

    def _clipped(self, h: float) -> tuple[float, float, float]:
        """Σ m [r ≥ h], Σ m min(r, h), Σ m min(r, h)², in one pass over cache-sized pieces."""
        at_least = root = gain = 0.0
        for start in range(0, self.root.size, _CHUNK):
            r = self.root[start : start + _CHUNK]
            x = np.minimum(r, h)
            if isinstance(self.mass, float):
                at_least += float(np.count_nonzero(r >= h))
                root += float(x.sum())
                gain += float(np.multiply(x, x, out=x).sum())  # no dot: BLAS would start threads for it
            else:
                m = self.mass[start : start + _CHUNK]
                at_least += float(m.sum(where=r >= h))
                mx = m * x
                root += float(mx.sum())
                gain += float(np.multiply(mx, x, out=x).sum())
        if isinstance(self.mass, float):
            return self.mass * at_least, self.mass * root, self.mass * gain
        return at_least, root, gain


@dataclass(frozen=True, slots=True)
class Problem:
    """What is minimised: V, the cost of looking at an item, and the floor on every rate."""

    entries: Entries
    variance: float
    weak_cost: float
    floor: float

    def cost(self, t: float) -> float:
        """Cost per item, c_0 + Σ m q."""
        return self._cost(self.entries.regions(t, self.floor), t)

    def item_variance(self, t: float) -> float:
        """Var(Δ) = V + Σ m r² (1/q − 1)."""
        return self._variance(self.entries.regions(t, self.floor), t)

    def _cost(self, a: Regions, t: float) -> float:
        return self.weak_cost + self.floor * a.floor_mass + t * a.middle_root + a.one_mass

    def _variance(self, a: Regions, t: float) -> float:
        over = a.middle_root / t if a.middle_root > 0 else 0.0
        floor = a.floor_gain / self.floor if a.floor_gain > 0 else 0.0
        return self.variance - a.below_one_gain + floor + over

    # J: F(s) = s·Var − cost with s = t². dJ/ds has the sign of F, and F crosses zero once (docs/statistics.md).

    def best_scale(self) -> float:
        """The t of least J; 0 when looking at ever more items keeps paying (c_0 = 0, no floor, V ≥ E[u])."""
        high = (self.weak_cost + self.entries.total_mass) / self.variance
        if high == 0 or self._no_least():
            return 0.0
        return math.sqrt(_root(self._best_step, start=high, low=0.0, high=high))

    def _no_least(self) -> bool:
        """F(s) = s (V − E[u]) near 0 when nothing is paid per item: no positive root unless V < E[u]."""
        free = self.weak_cost == 0 and self.floor == 0
        return free and self.variance >= self.entries.total_gain * (1 - 1e-12)

    def _best_step(self, s: float) -> tuple[float, float]:
        """F(s), and the root of the line that F follows at s."""
        a = self.entries.regions(math.sqrt(s), self.floor)
        floor = a.floor_gain / self.floor if a.floor_gain > 0 else 0.0
        slope = self.variance - a.below_one_gain + floor
        fixed = self.weak_cost + a.one_mass + self.floor * a.floor_mass
        return slope * s - fixed, fixed / slope if slope > 0 else math.nan

    # The pool's end: a given cost per item, linear in t; or a given variance per item, linear in 1/t.

    def scale_for_cost(self, cost: float, *, low: float) -> float:
        """The t ≥ low that costs exactly `cost` per item; `cost` must be below what all rates at 1 cost."""

        def step(t: float) -> tuple[float, float]:
            a = self.entries.regions(t, self.floor)
            rest = cost - self.weak_cost - self.floor * a.floor_mass - a.one_mass
            return self._cost(a, t) - cost, rest / a.middle_root if a.middle_root > 0 else math.nan

        return _root(step, start=low, low=low, high=self._scale_at_one())

    def scale_for_variance(self, variance: float, *, low: float) -> float:
        """The t ≥ low at which an item's variance is `variance`, which must be above V."""

        def step(y: float) -> tuple[float, float]:  # y = 1/t
            a = self.entries.regions(1.0 / y, self.floor)
            flat = self._variance(Regions(a.floor_mass, a.floor_gain, 0.0, a.one_mass, a.below_one_gain), 1.0)
            rest = variance - flat
            return self._variance(a, 1.0 / y) - variance, (rest / a.middle_root if a.middle_root > 0 else math.nan)

        high = 1.0 / low if low > 0 else self._inverse_scale_above(variance)
        return 1.0 / _root(step, start=high, low=1.0 / self._scale_at_one(), high=high)

    def _scale_at_one(self) -> float:
        """A t at which every entry that gains anything is at 1."""
        root = self.entries.root
        return (1.0 + 1e-9) / float(root.min(where=root > 0, initial=math.inf))

    def _inverse_scale_above(self, variance: float) -> float:
        y = 1.0 / self._scale_at_one()
        while self.item_variance(1.0 / y) < variance and y < 1e300:
            y *= 4.0
        return y


def _root(step: Callable[[float], tuple[float, float]], *, start: float, low: float, high: float) -> float:
    """Root of a piecewise linear function that is below 0 left of it and above 0 right of it.

    `step(x)` gives the value at x and the root of the line the function follows there. Newton's step is taken
    while it stays between the bounds known so far, else their middle; the search ends when x stops moving.
    """
    x = start
    for _ in range(_MOST_STEPS):
        value, proposal = step(x)
        if value == 0 or abs(proposal - x) <= _ROUNDING * x:
            return proposal if value else x
        low, high = (x, high) if value < 0 else (low, x)
        if not low <= proposal <= high:  # also when there is no proposal (nan)
            proposal = 0.5 * (low + high)
        x = proposal
    return x


def gains(error: Floats) -> Floats:
    """Gain of each step, e_k = u_{k-1} − u_k with u_K = 0; `error` holds u_0 … u_{K-1} in its columns."""
    after = np.zeros_like(error)
    after[:, :-1] = error[:, 1:]
    return error - after


def pooled_gain_per_cost(gain: Floats, cost: Floats) -> Floats:
    """Gain per cost of the block each step belongs to, items × steps; never increases along the chain.

    A step whose gain per cost is not below its predecessor's shares one block with it. That is antitonic
    regression of e/c with weights c, whose value at k is min over i ≤ k of max over j ≥ k of the mean of
    i … j; chains are short, so the formula is used as it stands, vectorised over items. The last block holds
    u_j − 0 ≥ 0, so every value is at least 0 even where a later rater is worse than an earlier one.
    """
    n, K = gain.shape
    if K == 1:
        return _mean(gain[:, 0], np.broadcast_to(cost, gain.shape)[:, 0])[:, None]
    cost = np.broadcast_to(cost, gain.shape)
    pooled = np.full((n, K), np.inf)
    for i in range(K):
        e, c = np.cumsum(gain[:, i:], axis=1), np.cumsum(cost[:, i:], axis=1)  # sums from i, so that nothing cancels
        best = np.full(n, -np.inf)  # max over j ≥ k of mean(i … j), filled from the far end
        for k in range(K - 1, i - 1, -1):
            best = np.maximum(best, _mean(e[:, k - i], c[:, k - i]))
            pooled[:, k] = np.minimum(pooled[:, k], best)
    return np.asarray(np.maximum(pooled, 0.0))  # rounding of cumulative sums may leave −1e-17


def _mean(e: Floats, c: Floats) -> Floats:
    """e / c, and the limit for free steps: worth everything where they do not hurt."""
    out = np.where(e >= 0, np.inf, -np.inf)
    np.divide(e, c, out=out, where=c > 0)
    return out


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
