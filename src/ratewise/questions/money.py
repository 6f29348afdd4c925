"""One budget for several slices: what money buys in each, and how they share it.

Squared error as a function of spend has the slope −1/(s T²) along the optimal policy (s as in METHODS section 2): of
a slice that need not be looked at whole, s is its own best; of one that is, s grows with the money. At the best sharing
all slopes, times the slices' weights, are equal. Strong ratings alone have error c_h V/b with slope −c_h V/b².
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy

from ratewise.core.checks import Floats
from ratewise.core.messages import Message, argument
from ratewise.core.policy import Entries, Problem
from ratewise.errors import InputError, PolicyError

_TOLERANCE = 1e-12
_RANGE = 1e9  # how far around a first guess the multiplier or the common target may lie


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """Least squared error for the money in one slice."""

    problem: Problem
    strong_cost: float
    pool_size: float
    best: float  # scale of least J; 0 where looking at more items always pays
    lost: float = 0.0  # V/N where the pool's own mean is wanted: its error is less by this, whatever is bought
    factor: float = 1.0  # how much larger the error turns out than u(x) has it

    @classmethod
    def of(
        cls,
        error: Floats,
        *,
        variance: float,
        weak_cost: float,
        strong_cost: float,
        pool_size: float,
        own_mean: bool = False,
    ) -> "Curve":
        """The curve from u(x) of the slice's items; costs are per item. `own_mean` asks for the pool's own mean."""
        root = np.sqrt(error / strong_cost)
        problem = Problem(Entries.of(root, strong_cost / root.size), variance, weak_cost, 0.0)
        best = problem.best_scale()
        if best == 0 and math.isinf(pool_size):
            raise PolicyError(
                Message(
                    f"with {argument('weak_cost')} 0 and an unlimited pool there is no best policy; give pool sizes"
                )
            )
        return cls(problem, strong_cost, pool_size, best, variance / pool_size if own_mean else 0.0)

    @property
    def most(self) -> float:
        """Money that can be spent: a strong rating of every item, and no weak one."""
        return self.strong_cost * self.pool_size

    def spend_at(self, multiplier: float) -> float:
        """The spend b of least error(b) + multiplier·b."""
        multiplier /= self.factor
        choices = [self._weak_at(multiplier), self._alone_at(multiplier)]
        return min(choices, key=lambda pair: pair[1] + multiplier * pair[0])[0]

    def spend_for(self, error: float) -> float:
        """Least money for this squared error; infinite where it cannot be reached."""
        error = (error + self.lost) / self.factor
        if error < self.problem.variance / self.pool_size * (1 - _TOLERANCE):
            return math.inf
        alone = min(self.strong_cost * self.problem.variance / error, self.most)
        return min(alone, self._weak_spend(error))

    def error_for(self, spend: float) -> float:
        """Least squared error for this money: the inverse of `spend_for`."""
        least = self.factor * self.problem.variance / self.pool_size - self.lost
        high = self.factor * self.strong_cost * self.problem.variance / min(spend, self.most) - self.lost
        if math.isfinite(self.pool_size) and (high <= least or spend >= self.spend_for(least)):
            return least
        low, high = max(least, high * 1e-6), high * (1 + 1e-9)  # rounding must not put the root outside
        return float(
            scipy.optimize.brentq(lambda e: self.spend_for(e) - spend, low, high, xtol=1e-300, rtol=_TOLERANCE)
        )

    def corrected(self, spend: float, error: float) -> "Curve":
        """The curve moved so that it gives this squared error for this money."""
        return replace(self, factor=self.factor * (error + self.lost) / (self.error_for(spend) + self.lost))

    # Strong ratings alone

    def _alone_at(self, multiplier: float) -> tuple[float, float]:
        J = self.strong_cost * self.problem.variance
        b = min(math.sqrt(J / multiplier), self.most)
        return b, J / b

    # With the weak rater

    def _weak_at(self, multiplier: float) -> tuple[float, float]:
        N = self.pool_size
        if self.best > 0:
            cost, variance = self.problem.cost(self.best), self.problem.item_variance(self.best)
            b = math.sqrt(cost * variance / multiplier)
            if b <= N * cost:
                return b, cost * variance / b
        t = max(self.best, 1.0 / (math.sqrt(multiplier) * N))  # 1/(s N²) = multiplier, s = t²
        return N * self.problem.cost(t), self.problem.item_variance(t) / N

    def _weak_spend(self, error: float) -> float:
        N, problem = self.pool_size, self.problem
        if self.best > 0:
            variance = problem.item_variance(self.best)
            if variance / error <= N:
                return problem.cost(self.best) * variance / error
        if N * error <= problem.variance * (1 + _TOLERANCE):  # a strong rating wherever it can change anything
            entries = problem.entries
            return N * (
                problem.weak_cost + entries.total_mass * float(np.count_nonzero(entries.root) / entries.root.size)
            )
        return N * problem.cost(problem.scale_for_variance(N * error, low=self.best))


def shared_budgets(curves: Sequence[Curve], budget: float, weights: Sequence[float], objective: str) -> list[float]:
    """The budget of each slice, together `budget`; less where all slices can be rated whole."""
    if sum(curve.most for curve in curves) <= budget:
        return [curve.most for curve in curves]
    fewest = sum(curve.strong_cost for curve in curves)
    if budget < fewest:
        raise InputError(f"budget {budget:g} is too small for one strong rating in every slice ({fewest:g})")
    spends = _by_multiplier(curves, budget, weights) if objective == "sum" else _by_target(curves, budget)
    spends = [max(b, curve.strong_cost) for b, curve in zip(spends, curves, strict=True)]
    return _exactly(spends, curves, budget)


def _by_multiplier(curves: Sequence[Curve], budget: float, weights: Sequence[float]) -> list[float]:
    """Least Σ w error(b): every slice spends until w times its slope is the common multiplier."""

    def spends(log_multiplier: float) -> list[float]:
        m = math.exp(log_multiplier)
        return [curve.spend_at(m / w) for curve, w in zip(curves, weights, strict=True)]

    J = [w * c.strong_cost * c.problem.variance for c, w in zip(curves, weights, strict=True)]
    guess = 2 * math.log(sum(math.sqrt(x) for x in J) / budget)
    return spends(_root(lambda x: budget - sum(spends(x)), guess))


def _by_target(curves: Sequence[Curve], budget: float) -> list[float]:
    """One squared error for all; a slice that cannot reach it is rated whole."""

    def spends(log_error: float) -> list[float]:
        return [min(curve.spend_for(math.exp(log_error)), curve.most) for curve in curves]

    guess = math.log(sum(c.strong_cost * c.problem.variance for c in curves) / budget)
    return spends(_root(lambda x: budget - sum(spends(x)), guess))


def _root(excess: Callable[[float], float], guess: float) -> float:
    """Root of an increasing function of a logarithm."""
    low, high = guess - math.log(_RANGE), guess + math.log(_RANGE)
    if excess(low) >= 0:
        return low
    if excess(high) <= 0:
        return high
    return float(scipy.optimize.brentq(excess, low, high, xtol=_TOLERANCE))


def _exactly(spends: list[float], curves: Sequence[Curve], budget: float) -> list[float]:
    """Budgets that add up exactly: what is left over, or short, is shared in proportion."""
    for _ in range(len(curves)):
        total, room = sum(spends), [b < c.most for b, c in zip(spends, curves, strict=True)]
        if abs(total - budget) <= _TOLERANCE * budget:
            break
        loose = sum(b for b, r in zip(spends, room, strict=True) if r)
        if loose <= 0:
            break
        factor = (loose + budget - total) / loose
        spends = [min(b * factor, c.most) if r else b for b, c, r in zip(spends, curves, room, strict=True)]
    return spends
