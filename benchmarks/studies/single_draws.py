"""The coverage study: does an interval hold the truth as often as it says, and is the estimate unbiased?

A cell is a world, a weak rater, a number of labels and a way to set the rates. Its policy is the optimal one for the
true u (with the default floor), or the best single rate; where the weak rater is not worth having, a single rate of 0.3
is used all the same, so that intervals are tried where the weak rater only hurts.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ratewise.core.checks import Floats
from ratewise.core.names import IntervalMethod, Method
from ratewise.core.policy import Policy, optimal_policy
from ratewise.lab.worlds import World, calibrated
from ratewise.learn.error_model import DEFAULT_FLOOR_SHARE
from ratewise.questions.estimation import estimate_mean
from studies.worlds import bernoulli, gaussian

WorldName = Literal["bernoulli", "calibrated", "gaussian"]
Quality = Literal["good", "fair", "useless"]

MEANS = (0.5, 0.85, 0.95, 0.99)
LABELS = (20, 30, 60, 100, 200, 400)
QUALITIES: tuple[Quality, ...] = ("good", "fair", "useless")

_POPULATION = 200_000
_COST_RATIO = 0.05
_USELESS_RATE = 0.3
_ERROR = {"good": 0.15, "fair": 0.6, "useless": 2.0}  # M as a share of V (Gaussian); Bernoulli: at most a half
_SPREAD = {"good": 0.8, "fair": 0.4, "useless": 0.02}  # variance of a calibrated score as a share of V


@dataclass(frozen=True, slots=True)
class Cell:
    """One square of the study."""

    world: WorldName
    mean: float
    quality: Quality
    labels: int
    active: bool

    def name(self) -> str:
        """Name for tables and messages."""
        rates = "active" if self.active else "uniform"
        return f"{self.world} {self.mean:g}, {self.quality}, {self.labels} labels, {rates}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one way to estimate did in a cell: share of intervals that held the truth, mean width, bias / sd, sd."""

    coverage: float
    width: float
    bias: float
    sd: float
    trials: int


def cells(labels: Sequence[int] = LABELS) -> list[Cell]:
    """All cells of the study."""
    binary: tuple[WorldName, ...] = ("bernoulli", "calibrated")
    worlds: list[tuple[WorldName, float]] = [(w, m) for w in binary for m in MEANS]
    worlds.append(("gaussian", 0.7))
    return [Cell(w, m, q, n, a) for w, m in worlds for q in QUALITIES for n in labels for a in (False, True)]


def run_cell(
    cell: Cell, ways: Iterable[tuple[Method, IntervalMethod]], *, trials: int, seed: int
) -> dict[tuple[Method, IntervalMethod], Outcome]:
    """Draw `trials` samples of the cell and estimate each in every way; the truth is the world's mean."""
    rng = np.random.default_rng(seed)
    world = make_world(cell, rng)
    rates = _rates(cell, world)
    T = max(round(cell.labels / float(rates.mean())), 2)
    ways = list(ways)
    rows: dict[tuple[Method, IntervalMethod], list[tuple[bool, float, float]]] = {way: [] for way in ways}
    truth = float(world.strong.mean())
    for trial in range(trials):
        at = rng.integers(0, _POPULATION, T)
        pi, g = rates[at], world.weak[at]
        h = np.where(rng.random(T) < pi, world.strong[at], np.nan)
        if np.count_nonzero(~np.isnan(h)) < 2:
            continue
        for method, interval in ways:
            found = estimate_mean(g, h, pi, method=method, interval=interval, seed=trial)
            low, high = found.interval if found.interval is not None else (found.value, found.value)
            rows[method, interval].append((low <= truth <= high, high - low, found.value - truth))
    return {way: _outcome(np.array(rows[way], dtype=np.float64)) for way in ways}


def make_world(cell: Cell, rng: np.random.Generator) -> World:
    """The cell's population: items to draw from with replacement."""
    if cell.world == "gaussian":
        mu = _ERROR[cell.quality]
        return gaussian(_POPULATION, variance=1.0, weak_error=mu, error_variance=mu**2, rng=rng, mean=cell.mean)
    V = cell.mean * (1 - cell.mean)
    if cell.world == "calibrated":
        return calibrated(_POPULATION, mean=cell.mean, spread=_SPREAD[cell.quality], rng=rng)
    mu = min(_ERROR[cell.quality] * V, 0.5)
    return bernoulli(_POPULATION, mean=cell.mean, weak_error=mu, error_variance=0.4 * mu * (1 - mu), rng=rng)


def _rates(cell: Cell, world: World) -> Floats:
    u = world.error if cell.active else np.full(_POPULATION, world.error.mean())
    floor = DEFAULT_FLOOR_SHARE * _solve(u, world.variance, 0.0).mean_rate
    policy = _solve(u, world.variance, floor)
    if not policy.worth_it and not cell.active:
        return np.full(_POPULATION, _USELESS_RATE)
    return policy.rates


def _solve(u: Floats, variance: float, floor: float) -> Policy:
    return optimal_policy(u, variance=variance, weak_cost=_COST_RATIO, strong_cost=1.0, floor=floor)


def _outcome(rows: Floats) -> Outcome:
    held, width, error = rows.T
    sd = float(error.std())
    return Outcome(float(held.mean()), float(width.mean()), float(error.mean() / sd), sd, len(rows))
