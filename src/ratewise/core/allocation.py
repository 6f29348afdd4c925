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
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import scipy
from numpy.typing import NDArray

from ratewise.core.checks import Floats
from ratewise.core.policy import optimal_policy
from ratewise.core.ratings import Mask
from ratewise.errors import InputError, PolicyError

_SMALLEST = float(np.finfo(np.float64).tiny)  # the rate of a stratum that can gain nothing: positive, never drawn
_WIDEST = 700.0  # of log λ: beyond it floats end
_APART = 1e-7  # around the multiplier, where a stratum may change between strong ratings alone and both


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """u(x) of every item that says something of it, and its stratum; one for each stratum where nothing is known."""

    u: Floats
    root: Floats
    code: NDArray[np.intp]
    count: NDArray[np.intp]

    def mean(self, values: Floats) -> Floats:
        """Mean of the values in each stratum."""
        return np.asarray(np.bincount(self.code, weights=values, minlength=self.count.size) / self.count)


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """T and γ of each stratum, and where weak ratings are bought; with them, E[π] and E[u (1/π − 1)]."""

    T: Floats
    scale: Floats
    weak: Mask
    rate: Floats
    added: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Strata:
    """What is known of the strata, and the bounds on what may be bought; `checked` before it is used."""

    P: Floats
    a: Floats
    cells: Cells
    c_g: Floats
    c_h: Floats
    N: Floats
    floor: Floats
    least: Floats
    fixed: Floats | None = None
    alone: bool = True
    inner: Floats = field(default_factory=lambda: np.empty(0))  # γ where T has no limit

    def checked(self) -> "Strata":
        """These strata with γ; raises where looking at some stratum costs nothing, so that no best number exists."""
        if not (self.a.max() > 0 or (self.cells.u.max() > 0 and self.fixed is not None)):
            raise PolicyError("no stratum has any variance; there is nothing to choose")
        world = replace(self, inner=self._inner_scales())
        endless = np.isinf(self.N) & (world._free() | (self.alone & (self.c_h == 0) & (self.a > 0)))
        if endless.any():
            raise PolicyError(
                f"looking at items of stratum {int(np.argmax(endless))} costs nothing, so there is no best number of "
                "them; give sizes (how many there are) or a floor"
            )
        return world

    def lost(self, estimand: str) -> float:
        """The variance that the pool's own mean does not have."""
        return float((self.P**2 * self.a / self.N).sum()) if estimand == "pool" else 0.0

    # Rates within strata

    def _inner_scales(self) -> Floats:
        """sqrt(c_g/(c_h (a − u))), the γ of one rate; where u(x) is known that of the optimal policy."""
        M = self.cells.mean(self.cells.u)
        with np.errstate(divide="ignore", invalid="ignore"):
            scale = np.sqrt(self.c_g / (self.c_h * (self.a - M)))
        scale = np.where((self.a <= M) | (self.c_h == 0), math.inf, scale)
        endless = (self.c_g == 0) & (self.floor == 0) & (self.a > M)  # looks at ever more items
        for s in np.flatnonzero((self.cells.count > 1) & (self.a > 0) & (self.c_h > 0) & ~endless).tolist():
            policy = optimal_policy(
                self.cells.u[self.cells.code == s], variance=float(self.a[s]), weak_cost=float(self.c_g[s]),
                strong_cost=float(self.c_h[s]), floor=float(self.floor[s]),
            )  # fmt: skip
            scale[s] = policy.scale
        return np.asarray(scale)

    def _numbers(self, T: Floats, scale: Floats) -> Numbers:
        weak = np.ones(self.P.size, dtype=np.bool_)
        if self.fixed is not None:
            return Numbers(T, scale, weak, self.fixed, self.cells.u * (1.0 / self.fixed - 1.0))
        code, u = self.cells.code, self.cells.u
        with np.errstate(invalid="ignore", over="ignore"):
            pi = np.where(u > 0, scale[code] * self.cells.root, 0.0)
        pi = np.clip(pi, np.maximum(self.floor, _SMALLEST)[code], 1.0)
        pi = np.where((scale[code] == math.inf), 1.0, pi)
        with np.errstate(over="ignore"):
            added = np.where(u > 0, u * (1.0 / pi - 1.0), 0.0)
        return Numbers(T, scale, weak, self.cells.mean(pi), self.cells.mean(added))

    def _free(self) -> Mask:
        """Strata where looking costs nothing and still helps, so that all their items are taken."""
        still = (self.inner == 0) & (self.floor == 0) if self.fixed is None else np.zeros(self.P.size, dtype=np.bool_)
        helps = (self.a > 0) | (self.cells.mean(self.cells.u) > 0)
        return np.asarray((self.c_g == 0) & (still | (self.c_h == 0)) & helps)

    # One multiplier: variance + λ·cost at its least

    def best(self, lam: float) -> Numbers:
        """The better of both ways in every stratum."""
        both = self._both(lam)
        if not self.alone:
            return both
        alone = self._strong_alone(lam)
        return _picked(both, alone, self._value(both, lam) < self._value(alone, lam))

    def as_told(self, lam: float, weak: Mask) -> Numbers:
        """Numbers with weak ratings exactly where `weak` says."""
        return _picked(self._both(lam), self._strong_alone(lam), weak)

    def _both(self, lam: float) -> Numbers:
        n = self._numbers(np.zeros(self.P.size), self.inner)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            T = self.P * np.sqrt((self.a + n.added) / (lam * (self.c_g + self.c_h * n.rate)))
            T = np.where(self._free(), math.inf, T)
            limited = np.clip(T, self.least, self.N)
            if self.fixed is not None or np.array_equal(limited, T):
                return replace(n, T=limited)
            scale = np.where(self.c_h > 0, self.P / (limited * np.sqrt(lam * self.c_h)), math.inf)
        return self._numbers(limited, np.where(limited == T, self.inner, scale))

    def _strong_alone(self, lam: float) -> Numbers:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            T = np.where(self.a > 0, self.P * np.sqrt(self.a / (lam * self.c_h)), 0.0)
        n = self.P.size
        none = np.zeros(n, dtype=np.bool_)
        return Numbers(np.clip(T, self.least, self.N), np.full(n, math.inf), none, np.ones(n), np.zeros(n))

    def _value(self, n: Numbers, lam: float) -> Floats:
        return self._variances(n) + lam * self._costs(n)

    def _costs(self, n: Numbers) -> Floats:
        return np.asarray(n.T * (np.where(n.weak, self.c_g, 0.0) + self.c_h * n.rate))

    def _variances(self, n: Numbers) -> Floats:
        """P² (a + E[u (1/π − 1)])/T; 0 where a stratum has no variance."""
        each = self.a + n.added
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return np.asarray(np.where(each > 0, self.P**2 * each / n.T, 0.0))

    def cost(self, n: Numbers) -> float:
        """Cost of all ratings."""
        return float(self._costs(n).sum())

    def variance(self, n: Numbers) -> float:
        """Variance of the estimate around the population's mean."""
        return float(self._variances(n).sum())

    @property
    def unlimited(self) -> bool:
        """Whether no number of items has a bound: then all of them scale with the money."""
        return bool(np.all(np.isinf(self.N)) and np.all(self.least == 0))


def _picked(both: Numbers, alone: Numbers, weak: Mask) -> Numbers:
    pairs = ((getattr(both, name), getattr(alone, name)) for name in ("T", "scale", "weak", "rate", "added"))
    return Numbers(*(np.where(weak, ours, theirs) for ours, theirs in pairs))


def all_spent(world: Strata, money: float) -> Numbers:
    """All the money, at the least variance."""
    if world.unlimited:
        n = world.best(1.0)
        return replace(n, T=n.T * money / world.cost(n))
    fewest = world.cost(world.best(math.exp(_WIDEST)))
    if money < fewest * (1 - 1e-12):
        raise InputError(f"budget {money:g} is too small for the fewest items of each stratum ({fewest:g}); raise it")
    found = _candidates(world, lambda n: world.cost(n) - money)
    within = [n for n in found if world.cost(n) <= money * (1 + 1e-9)]
    return min(within, key=world.variance)


def reached(world: Strata, wanted: float) -> Numbers:
    """The variance wanted, at the least cost."""
    if world.unlimited:
        n = world.best(1.0)
        return replace(n, T=n.T * world.variance(n) / wanted)
    least = world.variance(world.best(math.exp(-_WIDEST)))
    if wanted < least * (1 - 1e-12):
        raise PolicyError(
            f"the target cannot be reached: with every item rated the standard error is {math.sqrt(least):.4g}; "
            "ask for that much, or for the pool's own mean"
        )
    found = _candidates(world, lambda n: wanted - world.variance(n))
    within = [n for n in found if world.variance(n) <= wanted * (1 + 1e-9)]
    return min(within, key=world.cost)


def _candidates(world: Strata, excess: Callable[[Numbers], float]) -> list[Numbers]:
    """The solution; two or more where a stratum changes its way just there.

    `excess` rises as λ falls: each stratum buys more. Where a stratum turns to strong ratings alone it jumps, and the
    root may lie in the jump: then it is found once with each of the ways on its two sides.
    """
    log = _log_root(lambda x: excess(world.best(math.exp(x))))
    ways = {world.best(math.exp(log + side)).weak.tobytes() for side in (-_APART, 0.0, _APART)}
    out = []
    for way in ways:
        weak = np.frombuffer(way, dtype=np.bool_)
        x = _log_root(lambda x, weak=weak: excess(world.as_told(math.exp(x), weak)))  # type: ignore[misc]
        out.append(world.as_told(math.exp(x), weak))
    return out


def _log_root(excess: Callable[[float], float]) -> float:
    """The log λ at which the excess, which falls with it, ends; an end of the range where there is none."""
    if excess(-_WIDEST) <= 0:
        return -_WIDEST
    if excess(_WIDEST) >= 0:
        return _WIDEST
    return float(scipy.optimize.brentq(excess, -_WIDEST, _WIDEST, xtol=1e-13, rtol=8.9e-16, maxiter=500))
