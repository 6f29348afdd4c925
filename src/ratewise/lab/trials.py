"""Trials: items drawn from a fully rated table, the same for every method, whatever the number of processes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ratewise.core.checks import Floats, seed_number
from ratewise.core.names import Mode
from ratewise.learn.covariates import Covariates, TextColumns

Index = NDArray[np.intp]

RATING_BOUNDS = (0.0, 1.0)  # of all ratings in the lab

_CHUNK = 1024  # items by which streams grow; part of what a seed means
_ENTRIES = 2_000_000  # a block of trials is as large as this many items: about 16 MB an array
_MOST_TRIALS = 50


@dataclass(frozen=True, slots=True)
class Scale:
    """Ratings within [0, 1] stay as they are; else the strong ratings' range becomes [0, 1], and the weak ones' too."""

    weak_low: float
    weak_width: float
    low: float
    width: float

    @classmethod
    def of(cls, weak: Floats, strong: Floats) -> "Scale":
        """Weak ratings share the strong ones' range where they lie within it; else their own becomes [0, 1]."""
        low, high = float(strong.min()), float(strong.max())
        if low >= 0 and high <= 1:
            low, high = 0.0, 1.0
        g_low, g_high = float(weak.min()), float(weak.max())
        if g_low >= low and g_high <= high:
            g_low, g_high = low, high
        return cls(g_low, (g_high - g_low) or 1.0, low, (high - low) or 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """A fully rated table in [0, 1], with the scale that leads back."""

    weak: Floats
    strong: Floats
    scale: Scale
    features: Floats | None = None  # items × columns, for methods that learn from them
    uncertainty: Floats | None = None
    text: TextColumns | None = None

    @classmethod
    def of(
        cls,
        weak: Floats,
        strong: Floats,
        *,
        scale: Scale | None = None,
        features: Floats | None = None,
        uncertainty: Floats | None = None,
        text: TextColumns | None = None,
    ) -> "Population":
        """Rescale by the table's own range, or by a given one."""
        s = Scale.of(weak, strong) if scale is None else scale
        g, h = (weak - s.weak_low) / s.weak_width, (strong - s.low) / s.width
        return cls(g, h, s, features, uncertainty, text)

    def raw_weak(self) -> Floats:
        """The weak ratings as they were given."""
        return self.scale.weak_low + self.scale.weak_width * self.weak

    def raw_strong(self) -> Floats:
        """The strong ratings as they were given."""
        return self.scale.low + self.scale.width * self.strong

    def rescaled(self, scale: Scale) -> "Population":
        """The population on another rating scale."""
        raw = self.raw_weak(), self.raw_strong()
        return Population.of(
            *raw, scale=scale, features=self.features, uncertainty=self.uncertainty, text=self.text
        )  # fmt: skip

    def rows(self, index: Index) -> "Population":
        """The population's rows at these positions."""
        features, own = (None if a is None else a[index] for a in (self.features, self.uncertainty))
        text = None if self.text is None else self.text[index]
        return Population(self.weak[index], self.strong[index], self.scale, features, own, text)

    @property
    def covariates(self) -> Covariates:
        """What is known of the items before anyone is asked for a strong rating."""
        return Covariates(self.weak, self.features, self.uncertainty, self.text)

    @property
    def items(self) -> int:
        """N."""
        return int(self.strong.size)

    @property
    def mean(self) -> float:
        """θ, in [0, 1]."""
        return float(self.strong.mean())

    @property
    def variance(self) -> float:
        """V, of ratings in [0, 1]."""
        return float(self.strong.var())


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


@dataclass(slots=True, eq=False)
class Block:
    """A block of trials: the burn-in items of each, and the items that follow with a random number each.

    Every trial has a generator of its own, and streams grow by whole chunks, so that a trial is the same in whatever
    block, process and order it is computed. All methods see the same items and the same random numbers.
    """

    population: Population
    setting: Setting
    trials: range
    burn_in: Index = field(init=False)  # trials × burn-in
    index: Index = field(init=False)  # trials × stream
    uniform: Floats = field(init=False)
    _generators: list[np.random.Generator] = field(init=False)

    def __post_init__(self) -> None:
        n, N = self.setting.burn_in, self.population.items
        self._generators = [np.random.default_rng([self.setting.seed, trial]) for trial in self.trials]
        if self.setting.mode == "pool":
            order = np.stack([rng.permutation(N) for rng in self._generators])
            self.burn_in, self.index = order[:, :n], order[:, n:]
            self.uniform = np.stack([rng.random(N - n) for rng in self._generators])
        else:
            self.burn_in = np.stack([rng.integers(0, N, n) for rng in self._generators])
            self.index = np.empty((len(self.trials), 0), dtype=np.intp)
            self.uniform = np.empty((len(self.trials), 0))

    @property
    def ends(self) -> bool:
        """Whether the stream cannot grow: a pool is finite."""
        return self.setting.mode == "pool"

    def take(self, items: float) -> tuple[Index, Floats]:
        """The first `items` of every stream (fewer where a pool ends), in whole chunks."""
        if not self.ends:
            self._grow(items)
            return self.index[:, : self._whole(items)], self.uniform[:, : self._whole(items)]
        return self.index[:, : math.ceil(items)], self.uniform[:, : math.ceil(items)]

    def _grow(self, items: float) -> None:
        missing = self._whole(items) - self.index.shape[1]
        N = self.population.items
        for _ in range(0, missing, _CHUNK):
            index = np.stack([rng.integers(0, N, _CHUNK) for rng in self._generators])
            uniform = np.stack([rng.random(_CHUNK) for rng in self._generators])
            self.index = np.concatenate([self.index, index], axis=1)
            self.uniform = np.concatenate([self.uniform, uniform], axis=1)

    @staticmethod
    def _whole(items: float) -> int:
        return max(math.ceil(items / _CHUNK), 1) * _CHUNK


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What a method came to: trials × budgets, ratings in [0, 1]."""

    value: Floats
    low: Floats
    high: Floats
    spend: Floats
    labels: Floats

    def at(self, budget: int) -> "Outcome":
        """One budget, by its number."""
        arrays = (self.value, self.low, self.high, self.spend, self.labels)
        return Outcome(*(array[:, budget : budget + 1] for array in arrays))

    @classmethod
    def joined(cls, parts: Sequence["Outcome"], *, axis: int) -> "Outcome":
        """More trials (axis 0) or more budgets (axis 1)."""
        arrays = ((part.value, part.low, part.high, part.spend, part.labels) for part in parts)
        return cls(*(np.concatenate(same, axis=axis) for same in zip(*arrays, strict=True)))
