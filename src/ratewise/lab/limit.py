"""`limit`: what would be reached if the rating f(x) and its error u(x) were known from the whole table.

Not the oracle, which knows the error of every single item: only what can be learned from an item's weak rating and
features. The difference to `auto` is what learning on the way costs, and so what is left to gain.
"""

from dataclasses import dataclass, replace

import numpy as np

from ratewise.core.checks import Floats
from ratewise.core.policy import optimal_policy
from ratewise.design.options import sharpest_error
from ratewise.errors import PolicyError
from ratewise.lab.automatic import learn_all
from ratewise.lab.trials import Population, Setting

_STRONG_COST = 1.0
_LEAST_RATE = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Way:
    """A way to spend a budget: what stands for the weak rating, every row's rate, and the squared error to expect."""

    weak: Floats
    rates: Floats
    weak_cost: float
    expected: float


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """f and u of every row of a table. Each row's f is fitted to the others, so that none predicts itself."""

    f: Floats
    u: Floats
    squared: Floats  # (h − f)², which decides between ways to spend
    variance: float
    weak_cost: float

    @classmethod
    def of(cls, population: Population, weak_cost: float) -> "Known":
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
                    u, variance=self.variance, weak_cost=self.weak_cost, strong_cost=_STRONG_COST, pool_size=size,
                    budget=None if size is None else budget,
                )  # fmt: skip
            except PolicyError:
                continue
            rates = np.maximum(policy.rates, _LEAST_RATE)
            cost = self.weak_cost + float(rates.mean())
            items = min(budget / cost, pool)
            added = float(np.mean(self.squared * (1.0 / rates - 1.0)))
            expected = self.variance * max(1.0 / items - 1.0 / pool, 0.0) + added / items
            found.append(Way(self.f, rates, self.weak_cost, expected))
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Limit:
    """What is known at no cost, in the way a campaign knows it: by weak rating and features, or by features alone."""

    known: tuple[Known, ...]

    @classmethod
    def of(cls, population: Population, setting: Setting) -> "Limit":
        """The limit. Features alone are an option where a pool ends: only then is looking at all of it free."""
        known = [Known.of(population, setting.cost_ratio)]
        if setting.mode == "pool" and population.covariates.known_for_nothing:
            bare = replace(population, weak=np.zeros(population.items), uncertainty=None)
            known.append(Known.of(bare, 0.0))
        return cls(tuple(known))

    def best(self, budget: float, pool: float) -> Way | None:
        """The way of least expected error; None where strong ratings alone do better."""
        ways = [way for known in self.known for way in known.ways(budget, pool)]
        best = min(ways, key=lambda way: way.expected, default=None)
        alone = self.known[0].variance * max(1.0 / budget - 1.0 / pool, 0.0)
        return best if best is not None and best.expected < alone else None
