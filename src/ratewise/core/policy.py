"""`optimal_policy`: how often the strong rater must see each item (Props. 1 and 2, METHODS section 2)."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from ratewise.core.checks import Floats, choice, finite, number, share
from ratewise.core.names import ESTIMANDS, Estimand
from ratewise.core.ratings import Mask
from ratewise.core.result import Result
from ratewise.errors import InputError, Message, PolicyError, argument

_SMALLEST = float(np.finfo(np.float64).tiny)  # the rate of an item that can gain nothing: positive, never drawn
_CHUNK = 1 << 15  # entries summed at a time, so that temporaries stay in the cache
_MOST_STEPS = 200  # Newton needs about five; with a floor some bisections come between
_ROUNDING = 1e-12  # a Newton step this small (relative) is rounding in the sums over millions of entries


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Policy(Result):
    """The rates, what they cost and what they give; `None` where a budget or target is needed to say.

    Invariants: every rate is in (0, 1] and at least `floor`; along a chain the rates never increase;
    `error_times_budget` = `cost_per_item` × `variance_per_item`, the squared error times the money spent.
    """

    json_names = (
        "error_times_budget", "error_ratio", "expected_se", "items", "strong_labels", "spend", "mean_rate", "scale",
        "threshold", "floor", "worth_it", "pool_limited",
    )  # fmt: skip
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

    def summary(self) -> str:
        if not self.worth_it:
            return "the weak rater is not worth its price: buy strong ratings alone"
        saved = 1 - self.error_ratio
        return (
            f"ask the strong rater about {self.mean_rate:.1%} of the items, the hardest first: {saved:.0%} less "
            "squared error than strong ratings alone for the same money"
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
    w = None if weights is None else finite(weights, name="weights", minimum=0)
    if w is not None:
        if w.shape != u.shape[:1]:
            raise InputError(f"weights must be one per item ({u.shape[0]}); got shape {w.shape}")
        if w.sum() <= 0:
            raise InputError("weights must have a positive sum; all are 0")
        w = w / w.sum()
    if budget is not None and target_se is not None:
        raise InputError(Message(f"give {argument('budget')} or {argument('target_se')}, not both"))
    if estimand == "pool" and pool_size is None:
        raise InputError(Message(f"estimand 'pool' needs {argument('pool_size')}, the number of items in the pool"))
    N = math.inf if pool_size is None else number(pool_size, name="pool_size", minimum=1)
    B = None if budget is None else number(budget, name="budget", above=0)
    se = None if target_se is None else number(target_se, name="target_se", above=0)
    lost = V / N if estimand == "pool" else 0.0  # the variance that the pool's own mean does not have
    root, free = _root_gain_per_cost(u, c_h)
    c_0 = float(np.mean(c_g)) if w is None else float(np.dot(np.broadcast_to(c_g, w.shape), w))
    problem = Problem(root.reshape(-1), _mass(c_h, w, u.shape), V, c_0, f)
    t, T = problem.best_scale() if problem.total_mass > 0 else math.inf, None
    if se is not None:
        T = problem.item_variance(t) / (se**2 + lost)
    elif B is not None:
        T = B / problem.cost(t) if problem.cost(t) > 0 else math.inf
    least, limited = 1.0 if math.isinf(t) else f, T is not None and (T > N or (t == 0 and math.isfinite(N)))
    if limited:
        T = N
        t, least = _in_whole_pool(problem, t, N, B, se, lost)
    elif t == 0:
        raise PolicyError(
            Message(
                f"with {argument('weak_cost')} 0 and {'no budget' if T is None else 'an unlimited pool'} there is no "
                "best policy (looking at more items always pays); "
                f"give {argument('pool_size')} and a budget, a floor, or what a weak rating really costs"
            )
        )
    elif T is not None and math.isinf(T):
        raise PolicyError("both ratings are free and the pool is unlimited: rate everything; there is nothing to plan")
    cost, spread = problem.cost(t, idle_rate=least), problem.item_variance(t)
    rates = _rates(root, t, least, free)
    strong = rates if rates.ndim == 1 else rates[:, -1]
    last = c_h if c_h.ndim == 0 else (c_h if u.ndim == 1 else c_h[..., -1])
    base = V * float(np.mean(last) if w is None else np.dot(np.broadcast_to(last, w.shape), w))
    scale = t / math.sqrt(float(c_h) if c_h.ndim == 0 and c_h > 0 else 1.0)
    return Policy(
        rates=rates,
        scale=scale,
        threshold=1.0 / scale if scale > 0 else math.inf,
        floor=least,
        mean_rate=float(strong.mean() if w is None else np.dot(strong, w)),
        cost_per_item=cost,
        variance_per_item=spread,
        error_times_budget=cost * spread,
        base_error_times_budget=base,
        worth_it=base > cost * spread,
        items=T,
        spend=None if T is None else min(T * cost, math.inf if B is None else B),
        expected_se=None if T is None else math.sqrt(max(spread / T - lost, 0.0)),
        pool_limited=limited,
    )


# The one scalar behind every optimal policy, found exactly


@dataclass(frozen=True, eq=False)
class Problem:
    """What is minimised, as a function of the one scalar t behind every policy (METHODS section 2, steps 2 and 3).

    A policy is q = clip(t·r, f, 1) with r = sqrt(gain per cost) of each entry (an item, or an item's step in a chain)
    and f the floor. With m = probability weight × cost of an entry,

        cost(t) = c_0 + Σ m q        Var(t) = V + Σ m r² (1/q − 1)        J = cost · Var

    and all of it follows from sums over three regions: entries at the floor, in between, and at 1. As a function of t²
    (for J), of t (for the cost) or of 1/t (for the variance) each equation is piecewise linear, so a Newton step from
    within the right piece lands on the root itself: no grid, no tolerance to choose, no sort.
    """

    root: Floats
    mass: float | Floats  # one number where all entries share it
    variance: float
    weak_cost: float
    floor: float

    @cached_property
    def total_mass(self) -> float:
        """Σ m: the cost of a strong rating of every item."""
        return self.mass * self.root.size if isinstance(self.mass, float) else float(np.sum(self.mass))

    @cached_property
    def total_gain(self) -> float:
        """Σ m r²: E[u]."""
        return self._clipped(math.inf)[2]

    @property
    def idle_mass(self) -> float:
        """Mass of the entries that the strong rating cannot change."""
        idle = self.root == 0
        return self.mass * np.count_nonzero(idle) if isinstance(self.mass, float) else float(np.dot(self.mass, idle))

    def cost(self, t: float, *, idle_rate: float = 1.0) -> float:
        """Cost per item, c_0 + Σ m q; of t = 0 without a floor, too.

        For an infinite t every rate is 1, or `idle_rate` where the strong rating cannot change anything.
        """
        if math.isinf(t):
            return self.weak_cost + self.total_mass - (1.0 - idle_rate) * self.idle_mass
        fixed, _, middle = self._lines(t)
        return fixed + t * middle if t > 0 else self.weak_cost

    def item_variance(self, t: float) -> float:
        """Var(Δ) = V + Σ m r² (1/q − 1)."""
        if math.isinf(t):
            return self.variance
        _, flat, middle = self._lines(t)
        return flat + (middle / t if middle > 0 else 0.0) if t > 0 else math.inf

    def _lines(self, t: float) -> tuple[float, float, float]:
        """K, F and M with cost = K + t·M and Var = F + M/t around t: M sums m·r over the entries in between."""
        if t <= 0:
            if self.floor <= 0:
                return self.weak_cost, self.variance - self.total_gain, self._clipped(math.inf)[1]
            floors = self.total_gain / self.floor if self.total_gain > 0 else 0.0
            return self.weak_cost + self.floor * self.total_mass, self.variance - self.total_gain + floors, 0.0
        at_one, middle, below_one = self._below(1.0 / t)
        fixed, flat = self.weak_cost + at_one, self.variance - below_one
        if self.floor > 0:
            above_floor, floor_root, floor_gain = self._below(self.floor / t)
            fixed += self.floor * (self.total_mass - above_floor)
            flat += floor_gain / self.floor if floor_gain > 0 else 0.0
            middle -= floor_root
        return fixed, flat, middle

    def _below(self, h: float) -> tuple[float, float, float]:
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

    # J: F(s) = s·Var − cost with s = t². dJ/ds has the sign of F, and F crosses zero once (docs/statistics.md).

    def best_scale(self) -> float:
        """The t of least J; 0 when looking at ever more items keeps paying (c_0 = 0, no floor, V ≥ E[u])."""
        high = (self.weak_cost + self.total_mass) / self.variance
        free = self.weak_cost == 0 and self.floor == 0  # then F(s) = s (V − E[u]) near 0: no root unless V < E[u]
        if high == 0 or (free and self.variance >= self.total_gain * (1 - 1e-12)):
            return 0.0

        def step(s: float) -> tuple[float, float]:
            fixed, flat, _ = self._lines(math.sqrt(s))
            return flat * s - fixed, fixed / flat if flat > 0 else math.nan

        return math.sqrt(_root(step, start=high, low=0.0, high=high))

    # The pool's end: a given cost per item, linear in t; or a given variance per item, linear in 1/t.

    def scale_for_cost(self, cost: float, *, low: float) -> float:
        """The t ≥ low that costs exactly `cost` per item; `cost` must be below what all rates at 1 cost."""

        def step(t: float) -> tuple[float, float]:
            fixed, _, middle = self._lines(t)
            return fixed + t * middle - cost, (cost - fixed) / middle if middle > 0 else math.nan

        return _root(step, start=low, low=low, high=self._scale_at_one())

    def scale_for_variance(self, variance: float, *, low: float) -> float:
        """The t ≥ low at which an item's variance is `variance`, which must be above V."""

        def step(y: float) -> tuple[float, float]:  # y = 1/t
            _, flat, middle = self._lines(1.0 / y)
            return flat + y * middle - variance, (variance - flat) / middle if middle > 0 else math.nan

        least = 1.0 / self._scale_at_one()
        high = 1.0 / low if low > 0 else least
        while low <= 0 and self.item_variance(1.0 / high) < variance and high < 1e300:
            high *= 4.0
        return 1.0 / _root(step, start=high, low=least, high=high)

    def _scale_at_one(self) -> float:
        """A t at which every entry that gains anything is at 1."""
        return (1.0 + 1e-9) / float(self.root.min(where=self.root > 0, initial=math.inf))


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
        if not low < proposal < high:  # also when there is no proposal (nan), and where two lines send it to and fro
            proposal = 0.5 * (low + high)
        x = proposal
    return x


def _in_whole_pool(
    problem: Problem, t: float, N: float, budget: float | None, se: float | None, lost: float
) -> tuple[float, float]:
    """t, and the least rate, where all N items are looked at for the budget, or for the standard error.

    Money that is left where every rate that gains anything is 1 goes to the items that gain nothing.
    """
    V, f, idle = problem.variance, problem.floor, problem.idle_mass
    if budget is not None:
        cost = budget / N
        if cost >= problem.cost(math.inf):
            return math.inf, 1.0
        full = problem.cost(math.inf, idle_rate=0.0)
        if cost >= full + f * idle:
            return math.inf, (cost - full) / idle
        return problem.scale_for_cost(cost, low=t), f
    assert se is not None
    variance = N * (se**2 + lost)
    if variance < V * (1 - 1e-12):
        raise PolicyError(
            Message(
                f"{argument('target_se')} {se:g} cannot be reached: strong ratings on all {N:g} items of the pool "
                f"give {math.sqrt(V / N):.4g}; use a larger pool or target, or estimand 'pool'"
            )
        )
    if variance >= problem.item_variance(t):
        return t, 1.0 if math.isinf(t) else f
    if variance <= V or problem.total_gain == 0:
        return math.inf, f
    return problem.scale_for_variance(variance, low=t), f


def _rates(root: Floats, t: float, least: float, free: Mask | None) -> Floats:
    """q = clip(t·r, least, 1), written over r."""
    if math.isinf(t):
        np.copyto(root, np.where(root > 0, 1.0, least))
    else:
        np.multiply(root, t, out=root)
        np.minimum(root, 1.0, out=root)
    np.maximum(root, max(least, _SMALLEST), out=root)
    if free is not None:
        root[free] = 1.0
    return root


# Which raters of a chain are worth having, item by item: pool adjacent violators (METHODS section 2, step 1)


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


def _root_gain_per_cost(u: Floats, c_h: Floats) -> tuple[Floats, Mask | None]:
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
