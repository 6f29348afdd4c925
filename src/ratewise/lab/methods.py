"""The methods of `simulate`: what each would have done with the same items and the same random numbers.

Each takes a block of trials and gives its estimates at every budget. `paper-random` and `paper-active` are the paper's
A2 (or A1, with parameters from elsewhere) to the letter, with its errors corrected: no floor, no pooling of the phases.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy import special

from ratewise.core.checks import Floats
from ratewise.core.estimate import estimate_mean
from ratewise.core.formulas import optimal_uniform_rate
from ratewise.core.policy import optimal_policy
from ratewise.core.ratings import LARGEST_SCALE, Mask, active_rates
from ratewise.core.running import running_estimates, stops_within, without_rounding
from ratewise.design.options import sharpest_error
from ratewise.design.seen import Learned
from ratewise.errors import PolicyError
from ratewise.lab.automatic import auto, learn_all
from ratewise.lab.trials import RATING_BOUNDS, Block, Index, Outcome, Population, Setting
from ratewise.learn.calibration import Calibration, fit_calibration


def strong_alone(H: Floats, *, level: float, pool_size: float) -> tuple[Floats, Floats, Floats]:
    """Mean and interval of every row of ratings, trials × labels; nothing is excluded where there is no interval.

    Rows with the same ratings have the same interval, which is made once.
    """
    known: dict[bytes, tuple[float, float]] = {}
    ends = np.empty((len(H), 2))
    for i, row in enumerate(np.sort(H, axis=1)):
        key = row.tobytes()
        if key not in known:
            known[key] = _interval(row, level, pool_size)
        ends[i] = known[key]
    return H.mean(axis=1), ends[:, 0], ends[:, 1]


def _interval(h: Floats, level: float, pool_size: float) -> tuple[float, float]:
    pool = math.isfinite(pool_size)
    found = estimate_mean(
        np.zeros(h.size), h, 1.0, level=level, bounds=RATING_BOUNDS, estimand="pool" if pool else "population",
        pool_size=pool_size if pool else None,
    )  # fmt: skip
    return found.interval if found.interval is not None else RATING_BOUNDS


_STRONG_PRICE = 1.0
_FLOOR = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Way:
    """A way to spend a budget: what stands for the weak rating, every row's rate, and the squared error to expect."""

    weak: Floats
    rates: Floats
    weak_cost: float
    expected: float


@dataclass(frozen=True, slots=True, eq=False)
class KnownErrors:
    """f and u of every row of a table. Each row's f is fitted to the others, so that none predicts itself."""

    f: Floats
    u: Floats
    squared: Floats  # (h − f)², which decides between ways to spend
    variance: float
    weak_cost: float

    @classmethod
    def of(cls, population: Population, weak_cost: float) -> "KnownErrors":
        """What all labels of the table tell."""
        learned = learn_all(population)
        x = population.covariates
        error, _ = sharpest_error(learned, x)
        u = np.maximum(error.predict(learned.model.predict(x), x), 0.0)
        return cls(learned.unseen, u, learned.residual**2, population.variance, weak_cost)

    def ways(self, budget: float, pool: float) -> list[Way]:
        """Rates by u, and one rate for all."""
        found = []
        for u in (self.u, np.full(self.u.size, float(self.squared.mean()))):
            size = None if np.isinf(pool) else pool
            try:
                policy = optimal_policy(
                    u, variance=self.variance, weak_cost=self.weak_cost, strong_cost=_STRONG_PRICE, pool_size=size,
                    budget=None if size is None else budget,
                )  # fmt: skip
            except PolicyError:
                continue
            rates = np.maximum(policy.rates, _FLOOR)
            cost = self.weak_cost + float(rates.mean())
            items = min(budget / cost, pool)
            added = float(np.mean(self.squared * (1.0 / rates - 1.0)))
            expected = self.variance * max(1.0 / items - 1.0 / pool, 0.0) + added / items
            found.append(Way(self.f, rates, self.weak_cost, expected))
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Limit:
    """What is known at no cost, in the way a campaign knows it: by weak rating and features, or by features alone."""

    known: tuple[KnownErrors, ...]

    @classmethod
    def of(cls, population: Population, setting: Setting) -> "Limit":
        """The limit. Features alone are an option where a pool ends: only then is looking at all of it free."""
        known = [KnownErrors.of(population, setting.cost_ratio)]
        if setting.mode == "pool" and population.covariates.known_for_nothing:
            bare = replace(population, weak=np.zeros(population.items), uncertainty=None)
            known.append(KnownErrors.of(bare, 0.0))
        return cls(tuple(known))

    def best(self, budget: float, pool: float) -> Way | None:
        """The way of least expected error; None where strong ratings alone do better."""
        ways = [way for known in self.known for way in known.ways(budget, pool)]
        best = min(ways, key=lambda way: way.expected, default=None)
        alone = self.known[0].variance * max(1.0 / budget - 1.0 / pool, 0.0)
        return best if best is not None and best.expected < alone else None


_STRONG_COST = 1.0  # the unit of money
_LEAST_RATE = 1e-12  # where the paper's rate would be 0: the weak rating is taken to be right
_MIXTURES = tuple(np.linspace(0.0, 1.0, 11).tolist())


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


@dataclass(frozen=True, slots=True, eq=False)
class Strategy:
    """What a trial does: the weak rating it uses, the rate of every item, and what it expects of both phases."""

    calibration: Calibration
    rates: Callable[[Index, Floats], Floats]  # of table rows with these calibrated weak ratings
    variance: float  # V
    variance_per_item: float  # Var(Δ)
    mean_rate: float
    tuned: bool = True  # whether λ̂ is put in afterwards
    known_weak: Floats | None = None  # by row of the table, instead of the calibrated weak rating

    def weak_of(self, population: Population, rows: Index) -> Floats:
        """What stands for the weak rating of these rows."""
        return self.calibration.predict(population.weak[rows]) if self.known_weak is None else self.known_weak[rows]

    @classmethod
    def of(cls, known: Known, rates: Callable[[Floats], Floats]) -> "Strategy":
        """A policy that looks at the weak rating alone."""
        pi = rates(known.weak)
        return cls(
            known.calibration, lambda _, g: rates(g), known.variance, known.variance_per_item(pi), float(pi.mean())
        )


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


def oracle_rates(known: Known, cost_ratio: float) -> Floats:
    """The optimal rates of every row of the table for u = (h − g)²: what nobody can know, as a yardstick."""
    u = known.squared_error
    policy = optimal_policy(u, variance=known.variance, weak_cost=cost_ratio, strong_cost=_STRONG_COST)
    return np.maximum(policy.rates, _LEAST_RATE)


def by_row(known: Known, rates: Floats) -> Strategy:
    """A rate for each row of the table. Rates that follow (h − g)² allow no other λ than 1: an item that is known to be
    right is hardly ever drawn, and λ would make it wrong."""
    return Strategy(
        known.calibration, lambda rows, _: rates[rows], known.variance, known.variance_per_item(rates),
        float(rates.mean()), tuned=False,
    )  # fmt: skip


# Methods


def base(block: Block) -> Outcome:
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
    return Outcome(value, low, high, spend, spend)


def follow(
    block: Block, strategies: Sequence[Strategy], budgets: tuple[float, ...] | None = None, *,
    weak_cost: float | None = None, evenly: bool = False,
) -> Outcome:  # fmt: skip
    """Spend the budgets after the burn-in, each trial by its strategy; combine with the burn-in by inverse variance.

    `evenly` draws along the stream at even steps of the rates' sum, so that hardly any money is left over.
    """
    setting, money = block.setting, np.array(block.setting.budgets if budgets is None else budgets)
    c = setting.cost_ratio if weak_cost is None else weak_cost
    g, pi, uniform, H = _stream(block, strategies, float(money[-1]), c)
    drawn = _at_even_steps(pi, uniform[:, :1]) if evenly else uniform < pi
    stops, _ = stops_within(money, drawn, weak_cost=c, strong_cost=_STRONG_COST)
    N, tuned = setting.pool_size(block.population), all(s.tuned for s in strategies)
    found = running_estimates(g, H, pi, drawn, stops, tuned=tuned, pool_size=N)
    value, variance = found.value, found.variance
    if setting.burn_in > 0:
        V, per_item = (np.array([[s.variance, s.variance_per_item] for s in strategies]).T)[:, :, None]
        value, variance = _combined(block, value, variance, V / setting.burn_in, per_item / found.items)
    half = float(special.ndtri(0.5 + setting.level / 2)) * np.sqrt(variance)
    spend = without_rounding(c * found.items + _STRONG_COST * found.labels, money)
    return Outcome(value, value - half, value + half, spend, found.labels.astype(np.float64))


def _at_even_steps(pi: Floats, start: Floats) -> Mask:
    """Systematic draws: each item has its rate, and so many items have as many labels as their rates add up to."""
    reached = np.floor(np.cumsum(pi, axis=1) + start)
    return np.diff(reached, axis=1, prepend=np.floor(start)) > 0


def _combined(block: Block, value: Floats, variance: Floats, first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """Inverse-variance average of burn-in and policy, by the variances that the burn-in expects of them."""
    H = block.population.strong[block.burn_in]
    mean, own = H.mean(axis=1, keepdims=True), H.var(axis=1, ddof=1, keepdims=True) / H.shape[1]
    share = second / (first + second)  # of the burn-in
    return share * mean + (1 - share) * value, share**2 * own + (1 - share) ** 2 * variance


def _stream(
    block: Block, strategies: Sequence[Strategy], budget: float, c: float
) -> tuple[Floats, Floats, Floats, Floats]:
    """Calibrated weak ratings, rates, random numbers and strong ratings of as many items as the budget can buy."""
    population = block.population
    wanted = 1.1 * budget / (c + _STRONG_COST * min(s.mean_rate for s in strategies)) + 50
    while True:
        index, uniform = block.take(wanted)
        rows = list(zip(strategies, index, strict=True))
        g = np.stack([s.weak_of(population, i) for s, i in rows])
        pi = np.stack([s.rates(i, x) for (s, i), x in zip(rows, g, strict=True)])
        _, enough = stops_within(np.array([budget]), uniform < pi, weak_cost=c, strong_cost=_STRONG_COST)
        if np.all(enough) or (block.ends and index.shape[1] == block.index.shape[1]):
            return g, pi, uniform, population.strong[index]
        wanted *= 1.5


def _fixed_rates(setting: Setting, population: Population) -> list[float]:
    """n/N for each budget: the given one, or what a pool that ends first can afford."""
    left = setting.pool_size(population) - setting.burn_in
    return [float(np.clip(B / left - setting.cost_ratio, setting.fixed_rate, 1.0)) for B in setting.budgets]


def _each(known: Sequence[Known], strategy: Callable[[Known], Strategy]) -> list[Strategy]:
    """The strategy of each trial, made once for all that know the same."""
    made = {id(k): strategy(k) for k in {id(k): k for k in known}.values()}
    return [made[id(k)] for k in known]


def _follow_fixed(block: Block, known: Sequence[Known], strategy: Callable[..., Strategy]) -> Outcome:
    """One pass where all budgets share a rate, else one pass each."""
    rates = _fixed_rates(block.setting, block.population)
    groups = {p: tuple(B for B, q in zip(block.setting.budgets, rates, strict=True) if q == p) for p in rates}
    parts = [follow(block, _each(known, partial(strategy, mean_rate=p)), budgets) for p, budgets in groups.items()]
    return Outcome.joined(parts, axis=1)


def limit(block: Block, known: Limit, whole: Known) -> Outcome:
    """Every budget by the best way there is for it, f and u being known; strong ratings alone where none is better."""
    setting, population = block.setting, block.population
    left = setting.pool_size(population) - setting.burn_in
    parts = []
    alone = None
    for k, B in enumerate(setting.budgets):
        way = known.best(B, left)
        if way is None:
            alone = base(block) if alone is None else alone
            parts.append(alone.at(k))
            continue
        added = float(np.mean((population.strong - way.weak) ** 2 * (1.0 / way.rates - 1.0)))
        strategy = Strategy(
            whole.calibration, lambda rows, _, rates=way.rates: rates[rows],  # type: ignore[misc]
            whole.variance, whole.variance + added, float(way.rates.mean()), known_weak=way.weak,
        )  # fmt: skip
        strategies = [strategy] * len(block.trials)
        parts.append(follow(block, strategies, (B,), weak_cost=way.weak_cost, evenly=block.ends))
    return Outcome.joined(parts, axis=1)


# All methods on the same trials


@dataclass(frozen=True, slots=True, eq=False)
class Lab:
    """All that a worker needs to compute any block of trials."""

    population: Population
    setting: Setting
    methods: tuple[str, ...]
    known: Known | None  # parameters from the transfer table (A1) or from everything; None: from each burn-in (A2)
    whole: Known | None  # the whole table, and the oracle's rates for it
    oracle: Floats | None
    transferred: bool = False
    teacher: Learned | None = None  # what auto learned from the transfer table
    limit: Limit | None = None

    @classmethod
    def of(cls, population: Population, setting: Setting, methods: Sequence[str], transfer: Population | None) -> "Lab":
        """Learn once what all trials share."""
        whole = None
        if {"oracle", "limit"} & set(methods) or (transfer is None and setting.burn_in == 0):
            whole = Known.of(population.weak, population.strong)
        known = whole if setting.burn_in == 0 else None
        known = known if transfer is None else Known.of(transfer.weak, transfer.strong)
        oracle = oracle_rates(whole, setting.cost_ratio) if whole is not None and "oracle" in methods else None
        taught = learn_all(transfer) if transfer is not None and "auto" in methods else None
        most = Limit.of(population, setting) if "limit" in methods else None
        return cls(population, setting, tuple(methods), known, whole, oracle, transfer is not None, taught, most)

    def run(self, trials: range) -> dict[str, Outcome]:
        """Every method on the same trials; what is learned from a burn-in is learned once for all of them."""
        block = Block(self.population, self.setting, trials)
        c = self.setting.cost_ratio
        known = self._known(block) if set(self.methods) - {"base", "oracle", "auto", "limit"} else []
        run: dict[str, Callable[[], Outcome]] = {
            "base": lambda: base(block),
            "paper-random": lambda: follow(block, _each(known, lambda k: paper_random(k, c))),
            "paper-active": lambda: follow(block, _each(known, lambda k: paper_active(k, c))),
            "oracle": lambda: self._oracle(block),
            "ppi++": lambda: _follow_fixed(block, known, uniform),
            "active-fixed": lambda: _follow_fixed(block, known, active_fixed),
            "auto": lambda: auto(block, self.teacher),
            "limit": lambda: self._limit(block),
        }
        return {method: run[method]() for method in self.methods}

    def _known(self, block: Block) -> list[Known]:
        if self.known is not None:
            return [self.known] * len(block.trials)
        return [Known.of(self.population.weak[rows], self.population.strong[rows]) for rows in block.burn_in]

    def _oracle(self, block: Block) -> Outcome:
        assert self.whole is not None
        assert self.oracle is not None
        return follow(block, [by_row(self.whole, self.oracle)] * len(block.trials))

    def _limit(self, block: Block) -> Outcome:
        assert self.whole is not None
        assert self.limit is not None
        return limit(block, self.limit, self.whole)
