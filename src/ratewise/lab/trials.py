"""Trials: items drawn from a fully rated table, the same for every method, whatever the number of processes."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ratewise.core.checks import Floats, seed_number
from ratewise.core.names import Mode
from ratewise.learn.covariates import Covariates

Index = NDArray[np.intp]

RATING_BOUNDS = (0.0, 1.0)  # of all ratings in the lab

_CHUNK = 1024  # items by which streams grow; part of what a seed means
_ENTRIES = 2_000_000  # a block of trials is as large as this many items: about 16 MB an array
_MOST_TRIALS = 50


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """A fully rated table in [0, 1]; ratings are low + width × these."""

    covariates: Covariates
    strong: Floats
    low: float = 0.0
    width: float = 1.0

    @classmethod
    def of(cls, weak: Floats, strong: Floats, **columns: Any) -> "Population":
        """Of one table; `columns` are features, uncertainty and text."""
        return on_one_scale([{"weak": weak, "strong": strong, **columns}])[0]

    def rows(self, index: Index) -> "Population":
        return replace(self, covariates=self.covariates.rows(index), strong=self.strong[index])

    @property
    def weak(self) -> Floats:
        return self.covariates.weak

    @property
    def items(self) -> int:
        return int(self.strong.size)

    @property
    def mean(self) -> float:
        """θ, in [0, 1]."""
        return float(self.strong.mean())

    @property
    def variance(self) -> float:
        """V, of ratings in [0, 1]."""
        return float(self.strong.var())


def on_one_scale(tables: Sequence[Mapping[str, Any]]) -> list[Population]:
    """Tables by their columns, rescaled by the range of all of them.

    Strong ratings within [0, 1] stay as they are; else their range becomes [0, 1]. Weak ratings share that range where
    they lie within it; else their own becomes [0, 1].
    """
    g, h = (np.concatenate([table[name] for table in tables]) for name in ("weak", "strong"))
    low, high, weak_low, weak_high = (float(end) for end in (h.min(), h.max(), g.min(), g.max()))
    if low >= 0 and high <= 1:
        low, high = 0.0, 1.0
    if weak_low >= low and weak_high <= high:
        weak_low, weak_high = low, high
    width, weak_width = (high - low) or 1.0, (weak_high - weak_low) or 1.0
    return [
        Population(
            Covariates((t["weak"] - weak_low) / weak_width, t.get("features"), t.get("uncertainty"), t.get("text")),
            (t["strong"] - low) / width, low, width,
        )
        for t in tables
    ]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Setting:
    """What all methods share; costs are in units of one strong rating."""

    cost_ratio: float
    budgets: tuple[float, ...]  # rising
    burn_in: int
    mode: Mode
    level: float
    fixed_rate: float
    seed: int

    def __post_init__(self) -> None:
        seed_number(self.seed)

    def block_size(self, population: Population) -> int:
        """Trials computed at once: a function of the setting alone, so that results do not depend on workers."""
        columns = self.budgets[-1] / max(self.cost_ratio, 1e-9)
        columns = min(columns, population.items) if self.mode == "pool" else columns
        return int(np.clip(_ENTRIES / max(columns, 1.0), 1, _MOST_TRIALS))

    def pool_size(self, population: Population) -> float:
        """N where the pool's own mean is asked for, else infinite."""
        return float(population.items) if self.mode == "pool" else math.inf


class Block:
    """A block of trials: the burn-in items of each, and the items that follow with a random number each.

    Every trial has a generator of its own, and streams grow by whole chunks, so that a trial is the same in whatever
    block, process and order it is computed. All methods see the same items and the same random numbers.
    """

    def __init__(self, population: Population, setting: Setting, trials: range) -> None:
        self.population, self.setting, self.trials = population, setting, trials
        n, N = setting.burn_in, population.items
        self._generators = [np.random.default_rng([setting.seed, trial]) for trial in trials]
        self.burn_in: Index  # trials × burn-in
        self.index: Index  # trials × stream
        self.uniform: Floats
        if setting.mode == "pool":
            order = np.stack([rng.permutation(N) for rng in self._generators])
            self.burn_in, self.index = order[:, :n], order[:, n:]
            self.uniform = np.stack([rng.random(N - n) for rng in self._generators])
        else:
            self.burn_in = np.stack([rng.integers(0, N, n) for rng in self._generators])
            self.index, self.uniform = np.empty((len(trials), 0), dtype=np.intp), np.empty((len(trials), 0))

    @property
    def ends(self) -> bool:
        """Whether the stream cannot grow: a pool is finite."""
        return self.setting.mode == "pool"

    def take(self, items: float) -> tuple[Index, Floats]:
        """The first `items` of every stream, in whole chunks; fewer where a pool ends."""
        taken = math.ceil(items)
        if not self.ends:
            taken = max(math.ceil(items / _CHUNK), 1) * _CHUNK
            while self.index.shape[1] < taken:
                index = np.stack([rng.integers(0, self.population.items, _CHUNK) for rng in self._generators])
                uniform = np.stack([rng.random(_CHUNK) for rng in self._generators])
                self.index = np.concatenate([self.index, index], axis=1)
                self.uniform = np.concatenate([self.uniform, uniform], axis=1)
        return self.index[:, :taken], self.uniform[:, :taken]


class MethodOutcome(NamedTuple):
    """What a method came to: trials × budgets, ratings in [0, 1]."""

    value: Floats
    low: Floats
    high: Floats
    spend: Floats
    labels: Floats

    def at(self, budget: int) -> "MethodOutcome":
        return MethodOutcome(*(part[:, budget : budget + 1] for part in self))

    @classmethod
    def joined(cls, parts: Sequence["MethodOutcome"], *, axis: int) -> "MethodOutcome":
        """More trials (axis 0) or more budgets (axis 1)."""
        return cls(*(np.concatenate(same, axis=axis) for same in zip(*parts, strict=True)))
