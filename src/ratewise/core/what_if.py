"""What a plan loses if what it believes is wrong by a factor, and what a small burn-in costs by misjudging.

The plan is made again as the wrong belief would have it made, recommendation included, and its policy is priced under
the truth with the functions of `cost_of_wrong_policy`. A ratio of 1.08 is 8 % more squared error for the same money.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ratewise.core.checks import Floats
from ratewise.core.names import PolicyName
from ratewise.core.policy import optimal_policy
from ratewise.core.result import shown
from ratewise.core.wrong_policy import TrueWorld

FACTORS = (0.25, 0.5, 2.0, 4.0)
BURN_INS = (20, 50, 100, 200, 500)
BELIEFS = {
    "weak price": "price of a weak rating",
    "strong price": "price of a strong rating",
    "variance": "variance of the strong ratings, V",
    "weak error": "squared error of the weak rater",
    "uncertainty": "u(x), item by item",
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
        """The same with one thing off by a factor."""
        if what == "weak price":
            return replace(self, weak_cost=self.weak_cost * factor)
        if what == "strong price":
            return replace(self, strong_cost=self.strong_cost * factor)
        if what == "variance":
            return replace(self, variance=self.variance * factor)
        if what == "weak error":
            return replace(self, error=self.error * factor)
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
        price = TrueWorld(self.error, w, self.variance, self.weak_cost, self.strong_cost).price(rates)
        items = most if price.cost_per_item <= 0 else min(self.budget / price.cost_per_item, most)
        return max(price.variance_per_item / items - lost, 0.0)

    def best(self) -> tuple[PolicyName, Floats | None]:
        """The policy that this belief recommends."""
        names: tuple[PolicyName, ...] = ("base", "random", "active")
        made = {name: self.rates(name) for name in names}
        name = min(names, key=lambda n: self.squared_error(made[n]))
        return name, made[name]


@shown
@dataclass(frozen=True, slots=True)
class Belief:
    """One thing believed to be `factor` times what it is."""

    what: str
    factor: float
    recommendation: PolicyName
    ratio: float  # squared error for the same money, over that of the plan that knows better


@shown
@dataclass(frozen=True, slots=True)
class BurnIn:
    """V and the weak rater's error taken from so many labels: squared error over that of a plan that knows them."""

    labels: int
    mean_ratio: float
    worst_ratio: float  # of twenty such burn-ins, one is worse
    right: float  # share that come to the same recommendation


@shown
@dataclass(frozen=True, slots=True)
class WhatIf:
    """What wrong beliefs cost, and burn-ins of several sizes."""

    recommendation: PolicyName
    beliefs: tuple[Belief, ...]
    burn_ins: tuple[BurnIn, ...]

    @property
    def worst(self) -> Belief:
        """The belief that costs most."""
        return max(self.beliefs, key=lambda one: one.ratio)

    def to_dict(self) -> dict[str, Any]:
        """A dictionary, ready for JSON."""
        beliefs = [{n: getattr(b, n) for n in ("what", "factor", "recommendation", "ratio")} for b in self.beliefs]
        burn_ins = [{n: getattr(b, n) for n in ("labels", "mean_ratio", "worst_ratio", "right")} for b in self.burn_ins]
        return {"recommendation": self.recommendation, "beliefs": beliefs, "burn_ins": burn_ins}

    def summary(self) -> str:
        """One line for people."""
        b = self.worst
        return (
            f"The costliest mistake of those compared: {BELIEFS[b.what]} believed to be {b.factor:g} times what it is "
            f"gives {b.ratio:.2f} times the squared error for the same money."
        )

    def __str__(self) -> str:
        return self.summary()


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
