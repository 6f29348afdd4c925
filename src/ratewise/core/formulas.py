"""The paper's closed forms, corrected where METHODS sections 2 and 3 say so.

Letters: V = Var(H), M = E[(H−G)²], W = V − M, c_g and c_h the costs, B the budget, p a uniform rate.

And what a wrong belief about u(x) costs: the policy it makes, priced under the truth (Prop. 6 and its corollary).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ratewise.core.checks import Floats, finite, number, share
from ratewise.core.document import Column, DataTable, Part, Sentence
from ratewise.core.draw import whole_items
from ratewise.core.names import PolicyName
from ratewise.core.policy import Policy, optimal_policy
from ratewise.core.result import Result
from ratewise.errors import InputError


def error_times_budget(
    rates: ArrayLike,
    *,
    error: ArrayLike,
    variance: float,
    weak_cost: float,
    strong_cost: float,
    weights: ArrayLike | None = None,
) -> float:
    """J(π) = (c_g + c_h E[π]) · (V + E[u (1/π − 1)]) of any policy, optimal or not.

    An item with error 0 adds nothing, however small its rate. J of strong ratings alone is `strong_cost × variance`.
    """
    pi, u = finite(rates, name="rates"), finite(error, name="error", minimum=0)
    if pi.shape not in ((), u.shape) and u.shape != ():
        raise InputError(f"rates and error must have the same shape; got {pi.shape} and {u.shape}")
    pi, u = np.broadcast_arrays(pi, u)
    if pi.min() < 0 or pi.max() > 1 or np.any((pi == 0) & (u > 0)):
        raise InputError("rates must be in (0, 1]; a rate of 0 is legal only where error is 0")
    V, c_g, c_h = _world(variance, weak_cost, strong_cost)
    w = np.ones(pi.shape) if weights is None else finite(weights, name="weights", minimum=0)
    if w.shape != pi.shape or not w.sum() > 0:
        raise InputError(f"weights must be one per item, with a positive sum; got shape {w.shape}")
    added = np.divide(u * (1.0 - pi), pi, out=np.zeros(pi.shape), where=u > 0)
    return float((c_g + c_h * np.average(pi, weights=w)) * (V + np.average(added, weights=w)))


def error_ratio(first: float, second: float) -> float:
    """J of one policy over J of another: the factor between their squared errors at the same budget."""
    return number(first, name="first", minimum=0) / number(second, name="second", above=0)


def expected_error(error_times_budget: float, *, budget: float) -> float:
    """Expected squared error of the estimate, J / B."""
    return number(error_times_budget, name="error_times_budget", minimum=0) / number(budget, name="budget", above=0)


def spend_for(error_times_budget: float, *, target_se: float) -> float:
    """Money needed for a standard error, J / ε²: the inverse of `expected_error`."""
    J = number(error_times_budget, name="error_times_budget", minimum=0)
    return J / number(target_se, name="target_se", above=0) ** 2


@dataclass(frozen=True, slots=True, repr=False)
class UniformRate(Result):
    """The best single rate for all items, and what it gives."""

    rate: float  # p*
    error_times_budget: float
    error_ratio: float  # over strong ratings alone
    items: float | None = None
    error: float | None = None  # expected squared error, where a budget was given


def optimal_uniform_rate(weak_error: float, *, variance: float, weak_cost: float, strong_cost: float) -> UniformRate:
    """Prop. 1: p* = sqrt(c_g M / (c_h W)) if M < V c_h/(c_h + c_g), else 1.

    J = (sqrt(c_h M) + sqrt(c_g W))² when p* < 1. A rate of 1 still pays c_g, so its ratio is above 1: buy
    strong ratings alone. Limits: M = 0 gives p* = 0 (never needed); c_h = 0 gives 1.
    """
    M = number(weak_error, name="weak_error", minimum=0)
    V, c_g, c_h = _world(variance, weak_cost, strong_cost)
    if c_h == 0:
        return UniformRate(1.0, c_g * V, 1.0)
    if M * (c_h + c_g) >= V * c_h:
        return UniformRate(1.0, (c_g + c_h) * V, (c_g + c_h) / c_h)
    W = V - M
    J = (math.sqrt(c_h * M) + math.sqrt(c_g * W)) ** 2
    return UniformRate(math.sqrt(c_g * M / (c_h * W)), J, J / (c_h * V))


def optimal_uniform_rate_whole_items(
    weak_error: float, *, variance: float, weak_cost: float, strong_cost: float, budget: float
) -> UniformRate:
    """Prop. 3 (corrected): the best uniform rate when the number of items must be whole.

    The stationary point is k = B / (c_g (1 + r)), r = sqrt(c_h M / (c_g W)); its floor and ceiling, clipped to
    [B/(c_g + c_h), B/c_g), are compared with rate 1. With rate 1 the weak rater adds nothing, so that
    candidate is strong ratings alone on floor(B/c_h) items.
    """
    M = number(weak_error, name="weak_error", minimum=0)
    V, c_g, c_h = _world(variance, weak_cost, strong_cost)
    B = number(budget, name="budget", above=0)
    if c_h <= 0 or c_g <= 0:
        raise InputError("whole items need costs above 0; use optimal_policy with a pool size for free ratings")
    if c_h > B:
        raise InputError(f"budget {B:g} is too small for one strong rating ({c_h:g}); raise it")
    n = int(whole_items(B / c_h))
    best = UniformRate(1.0, V / n * B, B / (n * c_h), items=n, error=V / n)
    for k in _whole_candidates(M, V - M, c_g, c_h, B):
        p = min(1.0, (B - k * c_g) / (k * c_h))
        error = (V - M + M / p) / k
        if best.error is None or error < best.error:
            best = UniformRate(p, error * B, error * B / (c_h * V), items=k, error=error)
    return best


def _whole_candidates(M: float, W: float, c_g: float, c_h: float, B: float) -> list[int]:
    low, high = math.ceil(B / (c_g + c_h)), math.ceil(B / c_g) - 1  # B/(c_g+c_h) ≤ k < B/c_g
    if low > high or low < 1:
        return []
    k = B / (c_g * (1 + math.sqrt(c_h * M / (c_g * W)))) if W > 0 else low
    return sorted({min(max(x, low), high) for x in (math.floor(k), math.ceil(k))})


def bernoulli_bound(weak_error: float, *, variance: float, cost_ratio: float) -> float:
    """Lower bound of the active policy's error ratio over base when both ratings are 0 or 1.

    Reached when u(x) is 0 or 1. The first branch holds for M ≤ V − c_g/c_h, where γ ≤ 1 (the paper prints a
    plus sign); else the policy labels just the items that differ, and pays M + c_g/c_h.
    """
    M = share(weak_error, name="weak_error", zero=True, one=True)
    V = number(variance, name="variance", above=0)
    c = number(cost_ratio, name="cost_ratio", minimum=0)
    if c > 0 and V - c >= M:
        g = math.sqrt(c / (V - M))
        return (g * M + c) * (1 + (1 / g - 1) * M / V)
    if c == 0 and M < V:
        return M * M / V  # the limit γ → 0 of the first branch
    return M + c


def misjudged_variance_bound(*, largest_squared_error: float, inverse_rate_excess: float) -> float:
    """Prop. 6 (corrected): rates π̃ with E[(1/π̃ − 1/π*)⁺] ≤ δ raise Var(Δ) by at most b·δ, b the largest (H−G)².

    The paper takes the mean without the positive part, where what is lost on items with a large error can hide behind
    what is gained on items with a small one: u = (.01, 1), π* = (.1, 1), π̃ = (1, .5) is a counterexample.
    """
    b = number(largest_squared_error, name="largest_squared_error", minimum=0)
    return b * number(inverse_rate_excess, name="inverse_rate_excess", minimum=0)


def misjudged_variance_bound_additive(
    *,
    largest_squared_error: float,
    scale: float,
    least_error: float,
    scale_error: float,
    mean_error_error: float,
) -> float:
    """Corollary of Prop. 6, to first order: b (|δ_γ| / (γ² sqrt(ε)) + E|δ_u| / (2 γ ε^{3/2})).

    For rates (γ + δ_γ) sqrt(u + δ_u) that nowhere reach 1, with u ≥ ε.
    """
    b = number(largest_squared_error, name="largest_squared_error", minimum=0)
    gamma = number(scale, name="scale", above=0)
    eps = number(least_error, name="least_error", above=0)
    d_gamma = abs(number(scale_error, name="scale_error"))
    d_u = number(mean_error_error, name="mean_error_error", minimum=0)
    return float(b * (d_gamma / (gamma**2 * math.sqrt(eps)) + d_u / (2 * gamma * eps**1.5)))


def _world(variance: float, weak_cost: float, strong_cost: float) -> tuple[float, float, float]:
    return (
        number(variance, name="variance", above=0),
        number(weak_cost, name="weak_cost", minimum=0),
        number(strong_cost, name="strong_cost", minimum=0),
    )


_NEVER = 1e-300  # a rate this small is one that is never drawn


# What a wrong belief costs


@dataclass(frozen=True, slots=True, repr=False)
class PolicyPrice(Result):
    """A policy under the true u: Var(Δ) is infinite where an item that errs is never rated."""

    mean_rate: float
    cost_per_item: float
    variance_per_item: float  # Var(Δ)
    error_times_budget: float  # J
    error_ratio: float  # J over that of strong ratings alone


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class WrongPolicy(Result):
    """The policy that a believed u makes, beside the best one, one rate for all, and strong ratings alone.

    `excess_variance` is Var(Δ) of the believed policy less that of the optimal one, exactly; it is below 0 where the
    believed policy rates more than is best, and pays for it. `bound` is Prop. 6's (corrected) and never below it;
    `additive_bound` is the corollary's, right to first order in the belief's error.
    """

    believed: PolicyPrice
    optimal: PolicyPrice
    uniform: PolicyPrice
    base_error_times_budget: float
    ratio: float  # squared error for the same money over that of the optimal policy; at least 1
    ratio_to_uniform: float  # over that of one rate for all items; above 1, ignoring u would have been better
    ratio_to_base: float  # over that of strong ratings alone; above 1, the weak rater should not have been bought
    excess_variance: float
    bound: float
    additive_bound: float | None
    notes: tuple[str, ...]
    rates: Floats = field(repr=False)  # of the believed policy
    optimal_rates: Floats = field(repr=False)

    def summary(self) -> str:
        return (
            f"the believed error costs {self.ratio:.3g} times the squared error of the right one for the same money "
            f"({self.ratio_to_uniform:.3g} times that of one rate for all, {self.ratio_to_base:.3g} times that of "
            "strong ratings alone)"
        )


def cost_of_wrong_policy(
    error: ArrayLike,
    believed_error: ArrayLike,
    *,
    variance: float,
    weak_cost: float,
    strong_cost: float,
    weights: ArrayLike | None = None,
    floor: float = 0.0,
    believed_variance: float | None = None,
    largest_squared_error: float | None = None,
) -> WrongPolicy:
    """What it costs to act on `believed_error` where u(x) is `error`, exactly.

    Both policies are optimal for their u, with the same floor. `believed_variance` is V as believed (the true one if
    absent); `largest_squared_error` is b, a bound on (H−G)² (the largest u if absent, which is enough for Prop. 6).

    Limiting cases: a right belief gives ratio 1; a constant belief gives one rate for all, the best one if it is E[u];
    a belief of 0 without a floor, where the item errs, gives an infinite error.
    """
    u, v = finite(error, name="error", minimum=0), finite(believed_error, name="believed_error", minimum=0)
    if u.ndim != 1 or u.shape != v.shape:
        raise InputError(f"error and believed_error must be one number per item each; got {u.shape} and {v.shape}")
    V = number(variance, name="variance", above=0)
    c_g, c_h = number(weak_cost, name="weak_cost", minimum=0), number(strong_cost, name="strong_cost", above=0)
    w = np.full(u.size, 1.0 / u.size) if weights is None else finite(weights, name="weights", minimum=0)
    b = float(u.max()) if largest_squared_error is None else number(largest_squared_error, name="largest_squared_error")
    if b < u.max():
        raise InputError(f"largest_squared_error is {b:g}, less than the largest error {u.max():g}; it bounds them all")
    best, made = (
        optimal_policy(x, variance=spread, weak_cost=c_g, strong_cost=c_h, weights=w, floor=floor)
        for x, spread in ((u, V), (v, V if believed_variance is None else believed_variance))
    )
    w = w / w.sum()
    p = optimal_uniform_rate(float(np.dot(w, u)), variance=V, weak_cost=c_g, strong_cost=c_h).rate
    uniform = np.full(u.size, max(p if p > 0 else _NEVER, floor))  # Prop. 1
    believed, optimal, even = (_price(pi, u, w, V, c_g, c_h) for pi in (made.rates, best.rates, uniform))
    errs = (u > 0) & (w > 0)  # where u is 0 a rate adds nothing to Var(Δ)
    lost = np.maximum(1.0 / np.maximum(made.rates[errs], _NEVER) - 1.0 / best.rates[errs], 0.0)  # (1/π̃ − 1/π*)⁺
    excess = math.inf if np.any(made.rates[errs] <= _NEVER) else float(np.dot(w[errs], lost))
    J = believed.error_times_budget
    additive, why = _additive(u, v, made, best, w, b, floor)
    return WrongPolicy(
        believed=believed,
        optimal=optimal,
        uniform=even,
        base_error_times_budget=c_h * V,
        ratio=J / optimal.error_times_budget,
        ratio_to_uniform=J / even.error_times_budget,
        ratio_to_base=believed.error_ratio,
        excess_variance=believed.variance_per_item - optimal.variance_per_item,
        bound=b * excess,  # `misjudged_variance_bound`
        additive_bound=additive,
        notes=() if why is None else (why,),
        rates=made.rates,
        optimal_rates=best.rates,
    )


def _price(pi: Floats, u: Floats, w: Floats, V: float, c_g: float, c_h: float) -> PolicyPrice:
    """Cost, Var(Δ) = V + E[u (1/π − 1)] and J of any rates under the true u."""
    rate = float(np.dot(w, pi))
    cost = c_g + c_h * rate
    counts = (u > 0) & (w > 0)
    never = bool(np.any(counts & (pi <= _NEVER)))
    odds = np.divide(1.0 - pi, pi, out=np.zeros_like(pi), where=counts & (pi > _NEVER))
    variance = math.inf if never else V + float(np.dot(w * u, odds))
    return PolicyPrice(rate, cost, variance, cost * variance, cost * variance / (c_h * V))


def _additive(
    u: Floats, v: Floats, made: Policy, best: Policy, w: Floats, b: float, floor: float
) -> tuple[float | None, str | None]:
    """The corollary's bound, or why it does not apply."""
    counts = w > 0
    if floor > 0:
        return None, "the corollary is for rates without a floor"
    if made.rates[counts].max() >= 1 or best.rates[counts].max() >= 1:
        return None, "the corollary is for rates that nowhere reach 1"
    least = float(u[counts].min())
    if least <= 0 or v[counts].min() <= 0:
        return None, "the corollary needs errors above 0 everywhere"
    return misjudged_variance_bound_additive(
        largest_squared_error=b, scale=best.scale, least_error=least, scale_error=made.scale - best.scale,
        mean_error_error=float(np.dot(w, np.abs(v - u))),
    ), None  # fmt: skip


FACTORS = (0.25, 0.5, 2.0, 4.0)
BURN_INS = (20, 50, 100, 200, 500)
BELIEFS = {  # in words, and the field that is scaled; none: u(x) is, up and down by turns
    "weak price": ("price of a weak rating", "weak_cost"),
    "strong price": ("price of a strong rating", "strong_cost"),
    "variance": ("variance of the strong ratings, V", "variance"),
    "weak error": ("squared error of the weak rater", "error"),
    "uncertainty": ("u(x), item by item", None),
}
_BINS = 100  # values of u that policies are solved for
_RESAMPLES = 100
_FLOOR_SHARE = 0.1  # of the mean rate: the least rate, unless one is given


@dataclass(frozen=True, slots=True)
class Assumed:
    """What a plan goes by: prices, V and u; and its money and pool, about which nobody is wrong."""

    error: Floats  # u, equally many items each
    variance: float
    weak_cost: float
    strong_cost: float
    budget: float
    pool_size: float | None = None
    of_pool: bool = False  # the pool's own mean is asked for
    floor: float | None = None

    def wrong(self, what: str, factor: float) -> "Assumed":
        name = BELIEFS[what][1]
        if name is not None:
            changed: dict[str, Any] = {name: getattr(self, name) * factor}
            return replace(self, **changed)
        up = np.arange(self.error.size) % 2 == 0  # neighbours in u, believed to be far apart
        return replace(self, error=np.where(up, self.error * factor, self.error / factor))

    def rates(self, name: PolicyName) -> Floats | None:
        """The policy that would be bought; `None` for strong ratings alone."""
        if name == "base":
            return None
        u = self.error if name == "active" else np.full(self.error.size, float(self.error.mean()))
        floor = 0.0 if name == "random" else self.floor
        if floor is None:
            floor = _FLOOR_SHARE * self._solve(u, 0.0).mean()
        return self._solve(u, float(floor))

    def _solve(self, u: Floats, floor: float) -> Floats:
        found = optimal_policy(
            u, variance=self.variance, weak_cost=self.weak_cost, strong_cost=self.strong_cost, floor=floor,
            budget=self.budget, pool_size=self.pool_size, estimand="pool" if self.of_pool else "population",
        )  # fmt: skip
        return found.rates

    def squared_error(self, rates: Floats | None) -> float:
        """Expected squared error of the estimate if all of this is true; nothing is spent beyond the budget."""
        lost = self.variance / self.pool_size if self.of_pool and self.pool_size else 0.0
        most = math.inf if self.pool_size is None else self.pool_size
        if rates is None:
            return max(self.variance / min(self.budget / self.strong_cost, most) - lost, 0.0)
        w = np.full(self.error.size, 1.0 / self.error.size)
        price = _price(rates, self.error, w, self.variance, self.weak_cost, self.strong_cost)
        items = most if price.cost_per_item <= 0 else min(self.budget / price.cost_per_item, most)
        return max(price.variance_per_item / items - lost, 0.0)

    def best(self) -> tuple[PolicyName, Floats | None]:
        names: tuple[PolicyName, ...] = ("base", "random", "active")
        made = {name: self.rates(name) for name in names}
        name = min(names, key=lambda n: self.squared_error(made[n]))
        return name, made[name]


@dataclass(frozen=True, slots=True, repr=False)
class Belief(Result):
    """One thing believed to be `factor` times what it is."""

    what: str
    factor: float
    recommendation: PolicyName
    ratio: float  # squared error for the same money, over that of the plan that knows better


@dataclass(frozen=True, slots=True, repr=False)
class BurnIn(Result):
    """V and the weak rater's error taken from so many labels: squared error over that of a plan that knows them."""

    labels: int
    mean_ratio: float
    worst_ratio: float  # of twenty such burn-ins, one is worse
    right: float  # share that come to the same recommendation


_MOST_TOLD = 1000.0  # a ratio above this is shown as such


@dataclass(frozen=True, slots=True, repr=False)
class WhatIf(Result):
    """What wrong beliefs cost, and burn-ins of several sizes."""

    recommendation: PolicyName
    beliefs: tuple[Belief, ...]
    burn_ins: tuple[BurnIn, ...]

    @property
    def worst(self) -> Belief:
        """The belief that costs most."""
        return max(self.beliefs, key=lambda one: one.ratio)

    def summary(self) -> str:
        b = self.worst
        return (
            f"The costliest mistake of those compared: {BELIEFS[b.what][0]} believed to be {b.factor:g} times what "
            f"it is gives {b.ratio:.2f} times the squared error for the same money."
        )

    def document(self) -> list[Part]:
        """Squared error for the same money, over that of a plan that knows better: by belief, and by burn-in."""
        factors = sorted({one.factor for one in self.beliefs})
        of = {(one.what, one.factor): one for one in self.beliefs}
        table = DataTable([Column("believed too low or too high", "name"), *(Column(f"× {f:g}") for f in factors)])
        for what in dict.fromkeys(one.what for one in self.beliefs):
            cells = []
            for one in (of.get((what, factor)) for factor in factors):
                taken = f" ({one.recommendation})" if one and one.recommendation != self.recommendation else ""
                cells.append("" if one is None else _ratio_told(one.ratio) + taken)
            table.add(BELIEFS[what][0], *cells)
        legend = "squared error for the same money, over that of the right plan; in brackets: another policy is taken"
        burnt = DataTable([Column(name) for name in ("burn-in", "on average", "one in twenty", "same policy")])
        for b in self.burn_ins:
            burnt.add(f"{b.labels:,} labels", _ratio_told(b.mean_ratio), _ratio_told(b.worst_ratio), f"{b.right:.0%}")
        below = "the same, for V and the weak rater's error taken from so many labels"
        said = Sentence(self.summary())
        return [table, Sentence(legend, "quiet"), Sentence(), burnt, Sentence(below, "quiet"), Sentence(), said]


def _ratio_told(ratio: float) -> str:
    return f"{ratio:.3f}" if ratio < _MOST_TOLD else f"> {_MOST_TOLD:,.0f}"


def what_if(
    truth: Assumed,
    strong: Floats,
    squared: Floats,
    *,
    factors: Sequence[float] = FACTORS,
    burn_ins: Sequence[int] = BURN_INS,
    rng: np.random.Generator,
) -> WhatIf:
    """Price wrong beliefs under the truth; `strong` and `squared` are the labels and their squared errors.

    The plan is made again as each wrong belief would have it made, recommendation included, and its policy is priced as
    `cost_of_wrong_policy` does. A ratio of 1.08 is 8 % more squared error for the same money.

    Limiting cases: a factor of 1 gives a ratio of 1; prices both wrong by the same factor change nothing.
    """
    truth = replace(truth, error=_binned(truth.error))
    name, rates = truth.best()
    right = truth.squared_error(rates)

    def ratio(belief: Assumed) -> tuple[PolicyName, float]:
        chosen, made = belief.best()
        return chosen, truth.squared_error(made) / right if right > 0 else 1.0

    beliefs = tuple(
        Belief(what, factor, *ratio(truth.wrong(what, factor)))
        for what in BELIEFS
        for factor in factors
        if not (what == "weak price" and truth.weak_cost == 0) and not (what == "uncertainty" and factor < 1)
    )
    found = []
    for n in burn_ins:
        drawn = [ratio(_burnt_in(truth, strong, squared, rng.integers(0, strong.size, n))) for _ in range(_RESAMPLES)]
        ratios = np.array([r for _, r in drawn])
        same = sum(chosen == name for chosen, _ in drawn) / len(drawn)
        found.append(BurnIn(n, float(ratios.mean()), float(np.quantile(ratios, 0.95)), same))
    return WhatIf(name, beliefs, tuple(found))


def _burnt_in(truth: Assumed, strong: Floats, squared: Floats, rows: Any) -> Assumed:
    """What so many labels would make one believe; a label at either end of the scale is added, as campaigns do."""
    h, ends = strong[rows], (float(strong.min()), float(strong.max()))
    V = float(np.var(np.append(h, ends)))
    M = float(squared[rows].sum() + (ends[1] - ends[0]) ** 2 / 6) / (rows.size + 2)
    mean = float(truth.error.mean())
    return replace(truth, variance=max(V, 1e-300), error=truth.error * (M / mean if mean > 0 else 1.0))


def _binned(u: Floats) -> Floats:
    """Means of equally many neighbours each; the values themselves where they are few."""
    if u.size <= _BINS:
        return np.sort(u)
    sums = np.concatenate([[0.0], np.cumsum(np.sort(u))])
    ends = np.interp(np.linspace(0, u.size, _BINS + 1), np.arange(u.size + 1), sums)
    return np.asarray(np.diff(ends) * _BINS / u.size)  # parts of one size, whatever the number of items
