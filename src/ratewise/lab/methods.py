"""The methods of `simulate`: what each would have done with the same items and the same random numbers.

Each takes a block of trials and gives its estimates at every budget. `paper-random` and `paper-active` are the paper's
A2 (or A1, with parameters from elsewhere) to the letter, with its errors corrected: no floor, no pooling of the phases.
`limit` is what would be reached if the rating f(x) and its error u(x) were known from the whole table. Unlike the
oracle, which knows the error of every single item, it knows only what can be learned from an item's weak rating and
features; its distance to `auto` is what learning on the way costs.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from scipy import special

from ratewise.core.checks import Floats
from ratewise.core.estimate import EstimateOptions, estimate_rated
from ratewise.core.formulas import optimal_uniform_rate
from ratewise.core.policy import optimal_policy
from ratewise.core.ratings import LARGEST_SCALE, Mask, Ratings, active_rates
from ratewise.core.running import running_estimates, stops_within, without_rounding
from ratewise.design.options import sharpest_error
from ratewise.design.seen import Learned
from ratewise.errors import PolicyError
from ratewise.lab.automatic import auto, learn_all
from ratewise.lab.trials import RATING_BOUNDS, Block, Index, MethodOutcome, Population, Setting
from ratewise.learn.calibration import Calibration, fit_calibration

_STRONG_COST = 1.0  # the unit of money
_LEAST_RATE = 1e-12  # where the paper's rate would be 0: the weak rating is taken to be right
_LEAST_OF_LIMIT = 1e-6  # the same for `limit`
_MIXTURES = tuple(np.linspace(0.0, 1.0, 11).tolist())


# What is known


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """Labelled items that a policy is made from: weak ratings calibrated on these same labels, as the paper does."""

    calibration: Calibration
    weak: Floats
    strong: Floats

    @classmethod
    def of(cls, weak: Floats, strong: Floats) -> "Known":
        """Platt scaling, in and out of the same labels."""
        calibration = fit_calibration(weak, strong, kind="platt")
        return cls(calibration, calibration.predict(weak), strong)

    @property
    def variance(self) -> float:
        """V; where all ratings are equal, that of a mean one label away from either end."""
        V = float(self.strong.var())
        mean = (float(self.strong.sum()) + 1) / (self.strong.size + 2)
        return V if V > 0 else mean * (1 - mean)

    @property
    def squared_error(self) -> Floats:
        """(H − G)²."""
        return np.asarray((self.strong - self.weak) ** 2)

    @property
    def claimed_error(self) -> Floats:
        """u = g(1−g)."""
        return self.weak * (1 - self.weak)

    def variance_per_item(self, rates: Floats) -> float:
        """Var(Δ) of a policy with these rates."""
        return self.variance + float(np.mean(self.squared_error * (1.0 / rates - 1.0)))


@dataclass(frozen=True, eq=False)
class Strategy:
    """What a trial does: the rate of every item, made from what is known, and the weak rating it uses."""

    known: Known
    rates: Callable[[Index, Floats], Floats]  # of table rows with these weak ratings
    expected: Floats  # rates of the known items
    tuned: bool = True  # whether λ̂ is put in afterwards
    by_row: bool = False  # whether `known.weak` is the weak rating of every row of the table
    weak_cost: float | None = None  # None: the setting's

    @classmethod
    def of(cls, known: Known, rates: Callable[[Floats], Floats]) -> "Strategy":
        """A policy that looks at the weak rating alone."""
        return cls(known, lambda _, g: rates(g), rates(known.weak))

    @cached_property
    def mean_rate(self) -> float:
        """Mean rate to be expected."""
        return float(self.expected.mean())

    @cached_property
    def variances(self) -> tuple[float, float]:
        """V and Var(Δ) to be expected."""
        return self.known.variance, self.known.variance_per_item(self.expected)

    def weak(self, population: Population, rows: Index) -> Floats:
        """What stands for the weak rating of these rows."""
        return self.known.weak[rows] if self.by_row else self.known.calibration.predict(population.weak[rows])


# Policies


def paper_random(known: Known, cost_ratio: float) -> Strategy:
    """Prop. 1."""
    M = float(known.squared_error.mean())
    best = optimal_uniform_rate(M, variance=known.variance, weak_cost=cost_ratio, strong_cost=_STRONG_COST)
    return uniform(known, best.rate)


def paper_active(known: Known, cost_ratio: float) -> Strategy:
    """Prop. 2 with u = g(1−g)."""
    policy = optimal_policy(
        known.claimed_error, variance=known.variance, weak_cost=cost_ratio, strong_cost=_STRONG_COST
    )
    scale = min(policy.scale, LARGEST_SCALE)
    return Strategy.of(known, lambda g: active_rates(g * (1 - g), scale=scale, floor=_LEAST_RATE))


def uniform(known: Known, mean_rate: float) -> Strategy:
    """One rate for all."""
    return Strategy.of(known, lambda g: np.full(g.shape, max(mean_rate, _LEAST_RATE)))


def active_fixed(known: Known, mean_rate: float) -> Strategy:
    """Zrnic and Candès: rates ∝ sqrt(u) with a given mean, mixed with that mean; the mixture of least variance."""
    unit = float(np.sqrt(known.claimed_error).mean())

    def mixed(g: Floats, *, share: float) -> Floats:
        sharp = np.minimum(mean_rate * np.sqrt(g * (1 - g)) / (unit or 1.0), 1.0)
        return np.clip(share * mean_rate + (1 - share) * sharp, _LEAST_RATE, 1.0)

    best = min(_MIXTURES, key=lambda share: known.variance_per_item(mixed(known.weak, share=share)))
    return Strategy.of(known, partial(mixed, share=best))


def oracle(known: Known, cost_ratio: float) -> Strategy:
    """The optimal rate of every row of the table for u = (h − g)²: what nobody can know, as a yardstick.

    Rates that follow (h − g)² allow no other λ than 1: an item that is known to be right is hardly ever drawn, and λ
    would make it wrong.
    """
    u = known.squared_error
    policy = optimal_policy(u, variance=known.variance, weak_cost=cost_ratio, strong_cost=_STRONG_COST)
    rates = np.maximum(policy.rates, _LEAST_RATE)
    return Strategy(known, _of_rows(rates), rates, tuned=False)


def _of_rows(rates: Floats) -> Callable[[Index, Floats], Floats]:
    """The rate of every row of the table, whatever its weak rating."""
    return lambda rows, _: rates[rows]


# The limit


@dataclass(frozen=True, slots=True, eq=False)
class Limit:
    """f and u of every row of a table, each fitted to the other rows, and what they are known for."""

    whole: Known  # f in the place of the weak rating
    u: Floats
    weak_cost: float

    @classmethod
    def of(cls, population: Population, setting: Setting) -> "tuple[Limit, ...]":
        """By weak rating and features; where a pool ends, looking at all of it is free: by features alone too."""
        found = [cls._known(population, setting.cost_ratio)]
        if setting.mode == "pool" and population.covariates.known_for_nothing:
            bare = replace(population.covariates, weak=np.zeros(population.items), uncertainty=None)
            found.append(cls._known(replace(population, covariates=bare), 0.0))
        return tuple(found)

    @classmethod
    def _known(cls, population: Population, weak_cost: float) -> "Limit":
        learned, x = learn_all(population), population.covariates
        error, _ = sharpest_error(learned, x)
        whole = Known(Calibration("affine"), learned.unseen, population.strong)
        return cls(whole, np.maximum(error.predict(learned.model.predict(x), x), 0.0), weak_cost)

    def ways(self, budget: float, pool: float) -> Iterator[tuple[float, Strategy]]:
        """By rates that follow u, and by one rate for all: the squared error to expect, and the strategy."""
        squared, V = self.whole.squared_error, float(self.whole.strong.var())
        size, money = (None, None) if np.isinf(pool) else (pool, budget)
        for u in (self.u, np.full(self.u.size, float(squared.mean()))):
            try:
                policy = optimal_policy(
                    u, variance=V, weak_cost=self.weak_cost, strong_cost=_STRONG_COST, pool_size=size, budget=money
                )
            except PolicyError:
                continue
            pi = np.maximum(policy.rates, _LEAST_OF_LIMIT)
            items = min(budget / (self.weak_cost + float(pi.mean())), pool)
            expected = V * max(1.0 / items - 1.0 / pool, 0.0) + float(np.mean(squared * (1.0 / pi - 1.0))) / items
            yield expected, Strategy(self.whole, _of_rows(pi), pi, by_row=True, weak_cost=self.weak_cost)


def best_way(limits: Sequence[Limit], budget: float, pool: float) -> tuple[float, Strategy] | None:
    """The way of least expected error; None where strong ratings alone do better."""
    best = min((way for known in limits for way in known.ways(budget, pool)), key=lambda way: way[0], default=None)
    alone = float(limits[0].whole.strong.var()) * max(1.0 / budget - 1.0 / pool, 0.0)
    return best if best is not None and best[0] < alone else None


def limit(block: Block, limits: Sequence[Limit]) -> MethodOutcome:
    """Every budget by the best way there is for it; strong ratings alone where none is better."""
    left = block.setting.pool_size(block.population) - block.setting.burn_in
    parts, alone = [], None
    for k, B in enumerate(block.setting.budgets):
        way = best_way(limits, B, left)
        if way is None:
            alone = base(block) if alone is None else alone
            parts.append(alone.at(k))
        else:
            parts.append(follow(block, [way[1]] * len(block.trials), (B,), evenly=block.ends))
    return MethodOutcome.joined(parts, axis=1)


# Strong ratings alone


def base(block: Block) -> MethodOutcome:
    """Strong ratings alone: burn-in and budget, their plain mean, and the interval that `estimate` gives it."""
    setting, population = block.setting, block.population
    more = np.floor(np.array(setting.budgets) + 1e-9).astype(np.intp)
    index, _ = block.take(int(more[-1]))
    more = np.minimum(more, index.shape[1])
    rows = np.concatenate([block.burn_in, index[:, : more[-1]]], axis=1)
    H, counts = population.strong[rows], setting.burn_in + more
    found = [strong_alone(H[:, :n], level=setting.level, pool_size=setting.pool_size(population)) for n in counts]
    value, low, high = (np.stack(column, axis=1) for column in zip(*found, strict=True))
    spend = np.broadcast_to(more.astype(np.float64), value.shape)
    return MethodOutcome(value, low, high, spend, spend)


def strong_alone(H: Floats, *, level: float, pool_size: float) -> tuple[Floats, Floats, Floats]:
    """Mean and ends of the interval for every row of ratings, trials × labels; all ratings where there is no interval.

    Rows with the same ratings have the same interval, which is made once.
    """
    how = EstimateOptions(level=level, bounds=RATING_BOUNDS)
    how = replace(how, pool_size=pool_size, estimand="pool") if math.isfinite(pool_size) else how
    rows, place = np.unique(np.sort(H, axis=1), axis=0, return_inverse=True)
    found = (estimate_rated(Ratings(np.zeros(h.size), h, np.ones(h.size)), how).interval for h in rows)
    ends = np.array([RATING_BOUNDS if one is None else one for one in found])[place.ravel()]
    return H.mean(axis=1), ends[:, 0], ends[:, 1]


# Policies followed


def follow(
    block: Block, strategies: Sequence[Strategy], budgets: tuple[float, ...] | None = None, *, evenly: bool = False
) -> MethodOutcome:
    """Spend the budgets after the burn-in, each trial by its strategy; combine with the burn-in by inverse variance.

    `evenly` draws along the stream at even steps of the rates' sum, so that hardly any money is left over.
    """
    setting, money = block.setting, np.array(block.setting.budgets if budgets is None else budgets)
    c = setting.cost_ratio if strategies[0].weak_cost is None else strategies[0].weak_cost
    g, pi, uniform, H = _stream(block, strategies, float(money[-1]), c)
    drawn = _at_even_steps(pi, uniform[:, :1]) if evenly else uniform < pi
    stops, _ = stops_within(money, drawn, weak_cost=c, strong_cost=_STRONG_COST)
    N, tuned = setting.pool_size(block.population), all(s.tuned for s in strategies)
    found = running_estimates(g, H, pi, drawn, stops, tuned=tuned, pool_size=N)
    value, variance = found.value, found.variance
    if setting.burn_in > 0:
        V, per_item = np.array([s.variances for s in strategies]).T
        first, second = V[:, None] / setting.burn_in, per_item[:, None] / found.items
        share, ratings = second / (first + second), block.population.strong[block.burn_in]  # of the burn-in's weight
        own = ratings.var(axis=1, ddof=1, keepdims=True) / setting.burn_in
        value = share * ratings.mean(axis=1, keepdims=True) + (1 - share) * value
        variance = share**2 * own + (1 - share) ** 2 * variance
    half = float(special.ndtri(0.5 + setting.level / 2)) * np.sqrt(variance)
    spend = without_rounding(c * found.items + _STRONG_COST * found.labels, money)
    return MethodOutcome(value, value - half, value + half, spend, found.labels.astype(np.float64))


def _at_even_steps(pi: Floats, start: Floats) -> Mask:
    """Systematic draws: each item has its rate, and so many items have as many labels as their rates add up to."""
    reached = np.floor(np.cumsum(pi, axis=1) + start)
    return np.diff(reached, axis=1, prepend=np.floor(start)) > 0


def _stream(
    block: Block, strategies: Sequence[Strategy], budget: float, c: float
) -> tuple[Floats, Floats, Floats, Floats]:
    """Calibrated weak ratings, rates, random numbers and strong ratings of as many items as the budget can buy."""
    population = block.population
    wanted = 1.1 * budget / (c + _STRONG_COST * min(s.mean_rate for s in strategies)) + 50
    while True:
        index, uniform = block.take(wanted)
        rows = list(zip(strategies, index, strict=True))
        g = np.stack([s.weak(population, i) for s, i in rows])
        pi = np.stack([s.rates(i, x) for (s, i), x in zip(rows, g, strict=True)])
        _, enough = stops_within(np.array([budget]), uniform < pi, weak_cost=c, strong_cost=_STRONG_COST)
        if np.all(enough) or (block.ends and index.shape[1] == block.index.shape[1]):
            return g, pi, uniform, population.strong[index]
        wanted *= 1.5


def _each(known: Sequence[Known], strategy: Callable[[Known], Strategy]) -> list[Strategy]:
    """The strategy of each trial, made once for all that know the same."""
    made = {id(k): strategy(k) for k in {id(k): k for k in known}.values()}
    return [made[id(k)] for k in known]


def _follow_fixed(block: Block, known: Sequence[Known], strategy: Callable[..., Strategy]) -> MethodOutcome:
    """With n/N the given rate, or what a pool that ends first can afford; one pass for all budgets of one rate."""
    setting = block.setting
    left = setting.pool_size(block.population) - setting.burn_in
    rates = [float(np.clip(B / left - setting.cost_ratio, setting.fixed_rate, 1.0)) for B in setting.budgets]
    groups = {p: tuple(B for B, q in zip(setting.budgets, rates, strict=True) if q == p) for p in rates}
    parts = [follow(block, _each(known, partial(strategy, mean_rate=p)), budgets) for p, budgets in groups.items()]
    return MethodOutcome.joined(parts, axis=1)


# All methods on the same trials


@dataclass(frozen=True, slots=True, eq=False)
class Lab:
    """All that a worker needs to compute any block of trials."""

    population: Population
    setting: Setting
    methods: tuple[str, ...]
    known: Known | None  # parameters from the transfer table (A1) or from everything; None: from each burn-in (A2)
    transferred: bool = False
    teacher: Learned | None = None  # what auto learned from the transfer table
    oracle: Strategy | None = None
    limits: tuple[Limit, ...] = ()

    @classmethod
    def of(cls, population: Population, setting: Setting, methods: Sequence[str], transfer: Population | None) -> "Lab":
        """Learn once what all trials share."""
        whole = Known.of(population.weak, population.strong)
        known = None if setting.burn_in else whole
        known = known if transfer is None else Known.of(transfer.weak, transfer.strong)
        best = oracle(whole, setting.cost_ratio) if "oracle" in methods else None
        taught = learn_all(transfer) if transfer is not None and "auto" in methods else None
        limits = Limit.of(population, setting) if "limit" in methods else ()
        return cls(population, setting, tuple(methods), known, transfer is not None, taught, best, limits)

    def run(self, trials: range) -> dict[str, MethodOutcome]:
        """Every method on the same trials; what is learned from a burn-in is learned once for all of them."""
        block, c = Block(self.population, self.setting, trials), self.setting.cost_ratio
        learns = set(self.methods) - {"base", "oracle", "auto", "limit"}
        known = self._known(block) if learns else []
        run: dict[str, Callable[[], MethodOutcome]] = {
            "base": lambda: base(block),
            "paper-random": lambda: follow(block, _each(known, lambda k: paper_random(k, c))),
            "paper-active": lambda: follow(block, _each(known, lambda k: paper_active(k, c))),
            "oracle": lambda: follow(block, [self.oracle] * len(trials) if self.oracle is not None else []),
            "ppi++": lambda: _follow_fixed(block, known, uniform),
            "active-fixed": lambda: _follow_fixed(block, known, active_fixed),
            "auto": lambda: auto(block, self.teacher),
            "limit": lambda: limit(block, self.limits),
        }
        return {method: run[method]() for method in self.methods}

    def _known(self, block: Block) -> list[Known]:
        if self.known is not None:
            return [self.known] * len(block.trials)
        return [Known.of(self.population.weak[rows], self.population.strong[rows]) for rows in block.burn_in]
