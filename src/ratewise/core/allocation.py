"""How many of each stratum, and at what rate: one multiplier decides for all (METHODS section 8).

Stratum s is a share P of the target; T of its items are looked at, each gets its strong rating with probability π.
With a = Var(H|s) and u = E[(H−G)²|s],

    variance = Σ P² (a + E[u (1/π − 1)])/T        cost = Σ T (c_g + c_h E[π])        f ≤ π ≤ 1, least ≤ T ≤ N

or, where strong ratings are bought alone in a stratum, P² a/T and c_h T. In T and m = πT both are convex and sums over
strata, so one multiplier λ (the variance that the last coin saves) decides: each stratum minimises variance + λ·cost
by itself. Without limits on T that is the closed form of section 8, π = sqrt(c_g u/(c_h (a − u))) and T ∝ P sqrt(ν/k)
with ν = a + (1/π − 1) u and k = c_g + c_h π. Where T is at a limit, π = P sqrt(u/(λ c_h))/T; and λ is found so that the
money is spent. Where u(x) is known within strata the same holds with π(x) = clip(γ sqrt(u(x)), f, 1): γ is that of
`optimal_policy` for the stratum by itself, and P/(T sqrt(λ c_h)) where T is at a limit.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import cast

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from ratewise.core.checks import Floats, choice, finite, number
from ratewise.core.names import ESTIMANDS, Estimand
from ratewise.core.policy import optimal_policy
from ratewise.core.ratings import Mask
from ratewise.core.result import Result
from ratewise.errors import InputError, PolicyError

_SMALLEST = float(np.finfo(np.float64).tiny)  # the rate of a stratum that can gain nothing: positive, never drawn
_WIDEST = 700.0  # of log λ: beyond it floats end
_APART = 1e-7  # around the multiplier, where a stratum may change between strong ratings alone and both


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """T and γ of each stratum, and where weak ratings are bought; with them, E[π] and E[u (1/π − 1)]."""

    T: Floats
    scale: Floats
    weak: Mask
    rate: Floats
    added: Floats


@dataclass(frozen=True, eq=False)
class StrataProblem:
    """What is known of the strata, and the bounds on what may be bought.

    `u` is u(x) of every item that says something of it, and `code` its stratum; one for each where nothing is known.
    """

    P: Floats
    a: Floats
    u: Floats
    code: NDArray[np.intp]
    c_g: Floats
    c_h: Floats
    N: Floats
    floor: Floats
    least: Floats
    fixed: Floats | None = None
    alone: bool = True

    # Rates within strata

    @cached_property
    def _root(self) -> Floats:
        return np.sqrt(self.u)

    @cached_property
    def _count(self) -> NDArray[np.intp]:
        return np.bincount(self.code, minlength=self.P.size)

    def _mean(self, values: Floats) -> Floats:
        return np.asarray(np.bincount(self.code, weights=values, minlength=self.P.size) / self._count)

    @cached_property
    def _inner(self) -> Floats:
        """γ where T has no limit: sqrt(c_g/(c_h (a − u))) for one rate, the optimal policy's where u(x) is known."""
        M = self._mean(self.u)
        with np.errstate(divide="ignore", invalid="ignore"):
            scale = np.sqrt(self.c_g / (self.c_h * (self.a - M)))
        scale = np.where((self.a <= M) | (self.c_h == 0), math.inf, scale)
        endless = (self.c_g == 0) & (self.floor == 0) & (self.a > M)  # looks at ever more items
        for s in np.flatnonzero((self._count > 1) & (self.a > 0) & (self.c_h > 0) & ~endless).tolist():
            scale[s] = optimal_policy(
                self.u[self.code == s], variance=float(self.a[s]), weak_cost=float(self.c_g[s]),
                strong_cost=float(self.c_h[s]), floor=float(self.floor[s]),
            ).scale  # fmt: skip
        return np.asarray(scale)

    def _numbers(self, T: Floats, scale: Floats) -> Numbers:
        weak = np.ones(self.P.size, dtype=np.bool_)
        if self.fixed is not None:
            return Numbers(T, scale, weak, self.fixed, self.u * (1.0 / self.fixed - 1.0))
        code, u = self.code, self.u
        with np.errstate(invalid="ignore", over="ignore"):
            pi = np.where(u > 0, scale[code] * self._root, 0.0)
        pi = np.clip(pi, np.maximum(self.floor, _SMALLEST)[code], 1.0)
        pi = np.where((scale[code] == math.inf), 1.0, pi)
        with np.errstate(over="ignore"):
            added = np.where(u > 0, u * (1.0 / pi - 1.0), 0.0)
        return Numbers(T, scale, weak, self._mean(pi), self._mean(added))

    @cached_property
    def free(self) -> Mask:
        """Strata where looking costs nothing and still helps, so that all their items are taken."""
        still = (self._inner == 0) & (self.floor == 0) if self.fixed is None else np.zeros(self.P.size, dtype=np.bool_)
        helps = (self.a > 0) | (self._mean(self.u) > 0)
        return np.asarray((self.c_g == 0) & (still | (self.c_h == 0)) & helps)

    # One multiplier: variance + λ·cost at its least

    def best(self, lam: float, weak: Mask | None = None) -> Numbers:
        """With weak ratings where they pay, or exactly where `weak` says."""
        both = self._both(lam)
        if not self.alone:
            return both
        alone = self._strong_alone(lam)
        if weak is None:
            ours, theirs = (self.variances(n) + lam * self.costs(n) for n in (both, alone))
            weak = np.asarray(ours < theirs)
        pairs = ((getattr(both, one.name), getattr(alone, one.name)) for one in fields(Numbers))
        return Numbers(*(np.where(weak, ours, theirs) for ours, theirs in pairs))

    def _both(self, lam: float) -> Numbers:
        n = self._numbers(np.zeros(self.P.size), self._inner)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            T = self.P * np.sqrt((self.a + n.added) / (lam * (self.c_g + self.c_h * n.rate)))
            T = np.where(self.free, math.inf, T)
            limited = np.clip(T, self.least, self.N)
            if self.fixed is not None or np.array_equal(limited, T):
                return replace(n, T=limited)
            scale = np.where(self.c_h > 0, self.P / (limited * np.sqrt(lam * self.c_h)), math.inf)
        return self._numbers(limited, np.where(limited == T, self._inner, scale))

    def _strong_alone(self, lam: float) -> Numbers:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            T = np.where(self.a > 0, self.P * np.sqrt(self.a / (lam * self.c_h)), 0.0)
        n = self.P.size
        none = np.zeros(n, dtype=np.bool_)
        return Numbers(np.clip(T, self.least, self.N), np.full(n, math.inf), none, np.ones(n), np.zeros(n))

    def costs(self, n: Numbers) -> Floats:
        return np.asarray(n.T * (np.where(n.weak, self.c_g, 0.0) + self.c_h * n.rate))

    def variances(self, n: Numbers) -> Floats:
        """P² (a + E[u (1/π − 1)])/T; 0 where a stratum has no variance."""
        each = self.a + n.added
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return np.asarray(np.where(each > 0, self.P**2 * each / n.T, 0.0))

    @property
    def unlimited(self) -> bool:
        """Whether no number of items has a bound: then all of them scale with the money."""
        return bool(np.all(np.isinf(self.N)) and np.all(self.least == 0))


def solved(world: StrataProblem, limit: float, *, money: bool) -> Numbers:
    """The least variance for all the money, or the least cost of a variance, whichever of the two `limit` is.

    What is limited rises or falls with λ as each stratum buys more. Where a stratum turns to strong ratings alone it
    jumps, and the root may lie in the jump: then it is found once with each of the ways on its two sides.
    """

    def held(n: Numbers) -> float:
        return float((world.costs(n) if money else world.variances(n)).sum())

    if world.unlimited:
        n = world.best(1.0)
        return replace(n, T=n.T * (limit / held(n) if money else held(n) / limit))
    least = held(world.best(math.exp(_WIDEST if money else -_WIDEST)))
    if limit < least * (1 - 1e-12):
        if money:
            raise InputError(
                f"budget {limit:g} is too small for the fewest items of each stratum ({least:g}); raise it"
            )
        raise PolicyError(
            f"the target cannot be reached: with every item rated the standard error is {math.sqrt(least):.4g}; "
            "ask for that much, or for the pool's own mean"
        )

    def root(weak: Mask | None) -> float:
        return _log_root(lambda x: (held(world.best(math.exp(x), weak)) - limit) * (1 if money else -1))

    log = root(None)
    ways = {world.best(math.exp(log + side)).weak.tobytes() for side in (-_APART, 0.0, _APART)}
    masks = [np.frombuffer(way, dtype=np.bool_) for way in ways]
    found = [world.best(math.exp(root(weak)), weak) for weak in masks]
    other = world.variances if money else world.costs
    return min((n for n in found if held(n) <= limit * (1 + 1e-9)), key=lambda n: float(other(n).sum()))


def _log_root(excess: Callable[[float], float]) -> float:
    """The log λ at which the excess, which falls with it, ends; an end of the range where there is none."""
    if excess(-_WIDEST) <= 0:
        return -_WIDEST
    if excess(_WIDEST) >= 0:
        return _WIDEST
    return float(scipy.optimize.brentq(excess, -_WIDEST, _WIDEST, xtol=1e-13, rtol=8.9e-16, maxiter=500))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class InputChoice(Result):
    """How many of each stratum to look at and at what rate; `None` where a budget or a target is needed to say.

    Invariants: `sampling` sums to 1; rates are in (0, 1], and 1 where `buys_weak` is False; `error_times_budget` =
    `cost_per_item` × `variance_per_item`, the squared error (around the population's mean) times the money spent.
    """

    json_names = (
        "probabilities", "sampling", "rates", "buys_weak", "used_up", "items", "cost_per_item", "variance_per_item",
        "error_times_budget", "spend", "expected_se",
    )  # fmt: skip
    probabilities: Floats = field(repr=False)  # P
    sampling: Floats = field(repr=False)  # Q: shares of the items looked at
    rates: Floats = field(repr=False)  # π, on average over the stratum
    scales: Floats = field(repr=False)  # γ: π(x) = clip(γ sqrt(u(x)), floor, 1); infinite where all are rated
    buys_weak: Mask = field(repr=False)  # False: strong ratings alone there
    cost_per_item: float
    variance_per_item: float  # T times the estimate's variance
    error_times_budget: float  # J
    items: Floats | None = field(repr=False)  # T of each stratum
    used_up: Mask = field(repr=False)  # strata of which every item is looked at
    spend: float | None
    expected_se: float | None

    @property
    def weights(self) -> Floats:
        """P/Q: what an item counts; infinite where none is to be looked at."""
        with np.errstate(divide="ignore"):
            return np.asarray(self.probabilities / self.sampling)

    @property
    def strong_labels(self) -> Floats | None:
        """Expected strong ratings of each stratum."""
        return None if self.items is None else self.items * self.rates

    def summary(self) -> str:
        if self.items is None or self.expected_se is None:
            return f"{self.sampling.size} strata; squared error times budget {self.error_times_budget:.4g}"
        return (
            f"look at {self.items.sum():,.0f} items of {self.sampling.size} strata, {self.spend:,.2f} in all, for a "
            f"standard error of {self.expected_se:.4g}"
        )


def choose_inputs(
    variance: ArrayLike,
    error: ArrayLike | Sequence[ArrayLike],
    *,
    weak_cost: ArrayLike,
    strong_cost: ArrayLike,
    probabilities: ArrayLike | None = None,
    stratified: bool = True,
    means: ArrayLike | None = None,
    rates: ArrayLike | None = None,
    sizes: ArrayLike | None = None,
    budget: float | None = None,
    target_se: float | None = None,
    estimand: Estimand = "population",
    floor: ArrayLike = 0.0,
    least: ArrayLike = 0.0,
    strong_alone: bool = True,
) -> InputChoice:
    """The best shares Q of the strata and rates π, for a budget, for a target standard error, or per unit of money.

    `variance` is Var(H|s) of each stratum, `error` is E[(H−G)²|s]: one number each, or one array each with u(x) of
    its items, which the rates then follow. Prices may differ by stratum. `probabilities` are the strata's shares of
    the target (default: by `sizes`, else equal). Two ways to look at items:

    - `stratified` (the default, and what to do where strata are known): fixed numbers of each stratum and the estimate
      Σ P_s mean_s (`estimate_stratified`). Differences between strata add no variance: what counts is Var(H|s).
    - `stratified=False`: items are drawn one by one with probability Q and weighted by P/Q, self-normalised
      (`estimate_weighted`). What counts is E[(H−θ)²|s] = Var(H|s) + (mean_s − θ)², so `means` are needed.

    With `rates` given only Q is chosen (Prop. 7, and ∝ P sqrt(ν/k) where the cost k of an item differs); without, π
    too. `sizes` are the numbers of items there are: a stratum that would need more is used up, and the money goes to
    the rest. `floor` is the least rate, `least` the fewest items of a stratum. With `strong_alone` strata where the
    weak rater does not pay are rated without it.

    Limiting cases: one stratum is `optimal_uniform_rate`, or `optimal_policy` with u(x); rates of 1 give Neyman's
    allocation P sqrt(Var(H|s)); u = 0 gives the rate `floor`; a ≤ u, or free strong ratings, the rate 1; free weak
    ratings look at everything there is (so they need `sizes` or a floor). A stratum without any variance is not looked
    at unless `least` says so.
    """
    choice(estimand, ESTIMANDS, name="estimand")
    if budget is not None and target_se is not None:
        raise InputError("give a budget or a target standard error, not both")
    a = finite(variance, name="variance", minimum=0)
    if a.ndim != 1:
        raise InputError(f"variance needs one entry per stratum; got shape {a.shape}")
    P, N = _shares(probabilities, sizes, a.size)
    f = _per_stratum(floor, a.size, name="floor")
    if f.max() > 1:
        raise InputError(f"floor must be in [0, 1]; got {f.max():g}")
    u, code = _errors(error, a.size, alike=rates is not None)
    strata = StrataProblem(
        P, a + _between(means, P, stratified), u, code,
        _per_stratum(weak_cost, a.size, name="weak_cost"), _per_stratum(strong_cost, a.size, name="strong_cost"),
        N, f, np.minimum(_per_stratum(least, a.size, name="least"), N),
        fixed=None if rates is None else _rates(rates, a.size), alone=strong_alone and rates is None,
    )  # fmt: skip
    if not (strata.a.max() > 0 or (u.max() > 0 and strata.fixed is not None)):
        raise PolicyError("no stratum has any variance; there is nothing to choose")
    endless = np.isinf(N) & (strata.free | (strata.alone & (strata.c_h == 0) & (strata.a > 0)))
    if endless.any():
        raise PolicyError(
            f"looking at items of stratum {int(np.argmax(endless))} costs nothing, so there is no best number of "
            "them; give sizes (how many there are) or a floor"
        )
    lost = float((P**2 * strata.a / N).sum()) if estimand == "pool" else 0.0
    planned = budget is not None or target_se is not None
    if budget is not None:
        n = solved(strata, number(budget, name="budget", above=0), money=True)
    elif target_se is not None:
        n = solved(strata, number(target_se, name="target_se", above=0) ** 2 + lost, money=False)
    elif strata.unlimited:
        n = strata.best(1.0)
    else:
        raise InputError("sizes and least need a budget or a target standard error; give one of them")
    total, cost, spread = float(n.T.sum()), float(strata.costs(n).sum()), float(strata.variances(n).sum())
    return InputChoice(
        probabilities=P, sampling=n.T / total, rates=n.rate, scales=n.scale, buys_weak=n.weak,
        cost_per_item=cost / total, variance_per_item=spread * total, error_times_budget=cost * spread,
        items=n.T if planned else None, used_up=n.T >= N, spend=cost if planned else None,
        expected_se=math.sqrt(max(spread - lost, 0.0)) if planned else None,
    )  # fmt: skip


# What was told


def _shares(probabilities: ArrayLike | None, sizes: ArrayLike | None, n: int) -> tuple[Floats, Floats]:
    """P, and N (infinite without sizes)."""
    N = np.full(n, math.inf) if sizes is None else _per_stratum(sizes, n, name="sizes")
    if N.min() <= 0:
        raise InputError(f"sizes must be above 0; stratum {int(np.argmin(N))} has none: leave it out")
    if probabilities is None:
        return (np.full(n, 1.0 / n) if sizes is None else N / N.sum()), N
    P = _per_stratum(probabilities, n, name="probabilities")
    if P.min() <= 0 or not math.isclose(P.sum(), 1.0, rel_tol=1e-6):
        raise InputError(f"probabilities must be above 0 and sum to 1; least {P.min():g}, sum {P.sum():g}")
    return P / P.sum(), N


def _per_stratum(values: ArrayLike, n: int, *, name: str) -> Floats:
    array = finite(values, name=name, minimum=0)
    if array.shape not in ((), (1,), (n,)):
        raise InputError(f"{name} must be one number or one per stratum ({n}); got shape {array.shape}")
    return np.broadcast_to(array, (n,)).astype(np.float64)


def _between(means: ArrayLike | None, P: Floats, stratified: bool) -> Floats:
    """(mean − θ)², which independent draws add."""
    if stratified:
        return np.zeros(P.size)
    if means is None:
        raise InputError("independent draws (stratified=False) also need the strata's means")
    mu = finite(means, name="means")
    if mu.shape != P.shape:
        raise InputError(f"means must have one entry per stratum ({P.size}); got shape {mu.shape}")
    return np.asarray((mu - np.dot(P, mu)) ** 2)


def _rates(rates: ArrayLike, n: int) -> Floats:
    pi = _per_stratum(rates, n, name="rates")
    if pi.min() <= 0 or pi.max() > 1:
        raise InputError(f"rates must be in (0, 1]; they range from {pi.min():g} to {pi.max():g}")
    return pi


def _errors(error: ArrayLike | Sequence[ArrayLike], n: int, *, alike: bool) -> tuple[Floats, NDArray[np.intp]]:
    """u(x) and the stratum of each; their mean in each stratum where all of it get one rate."""
    each = [error] if isinstance(error, int | float) else list(cast(Sequence[ArrayLike], error))
    parts = [np.atleast_1d(finite(part, name="error", minimum=0)) for part in each]
    if len(parts) != n:
        raise InputError(f"variance and error need one entry per stratum; got {n} and {len(parts)}")
    if alike:
        parts = [np.array([part.mean()]) for part in parts]
    return np.concatenate(parts), np.repeat(np.arange(n, dtype=np.intp), [part.size for part in parts])
