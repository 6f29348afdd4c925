"""Ratings as the estimators take them: checked once, in one shape for two raters and for chains."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ratewise.core.checks import Floats, as_floats, choice, number
from ratewise.core.messages import Message, argument
from ratewise.core.names import ESTIMANDS, Estimand
from ratewise.errors import InputError

Mask = NDArray[np.bool_]
_LEAST_RATE = 1e-100  # the least that a policy gives; its inverse can still be squared


@dataclass(frozen=True, slots=True, eq=False)
class Ratings:
    """Looked-at items with what each rater said; NaN where a rater was not asked.

    Column k of `weak` is R_k (k = 0 … K−1), column k of `rates` is q_{k+1}, column k of `rated` is ξ_{k+1}: the
    last one says who has a strong rating. Rates are in (0, 1] and never increase along the chain.
    """

    weak: Floats
    strong: Floats
    rates: Floats
    rated: Mask
    counts: Floats | None = None  # items that each row stands for, where rows without labels were put together
    sums: tuple[float, float, float] | None = None  # Σ a, Σ a G, Σ a G² with a = 1/π − 1, where rows say them roughly

    @property
    def labelled(self) -> Mask:
        """Whether each item has a strong rating."""
        return np.asarray(self.rated[:, -1])

    @property
    def items(self) -> int:
        """T, the number of items looked at."""
        return self.rows if self.counts is None else round(float(self.counts.sum()))

    @property
    def rows(self) -> int:
        """Rows that the items are in: as many, unless some were put together."""
        return int(self.strong.size)

    def each(self, terms: Floats) -> Floats:
        """Terms of the rows (rows first) times the items they stand for."""
        if self.counts is None:
            return terms
        return np.asarray(terms * (self.counts if terms.ndim == 1 else self.counts[:, None]))

    def mean(self, terms: Floats) -> float:
        """Mean over items of a term of each row."""
        return float(terms.mean()) if self.counts is None else float(np.dot(self.counts, terms)) / self.items

    @property
    def labels(self) -> int:
        """Number of strong ratings."""
        return int(np.count_nonzero(self.labelled))

    def inverse_rates(self) -> Floats:
        """1/q with a first column of ones for R_0, which every item has."""
        return np.concatenate([np.ones((self.rows, 1)), 1.0 / self.rates], axis=1)

    def step_odds(self) -> Floats:
        """1/q_k − 1/q_{k−1}: the weight of (H − R_{k−1})² in the variance (docs/statistics.md, chains)."""
        return np.diff(self.inverse_rates(), axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class Rated:
    """The rated table as arrays, one entry per item looked at: rating, rate, and whether it was asked for.

    `strong` is NaN where not rated; for a chain, `weak` and `rates` are items × steps. `selected` says which items were
    asked for, `clusters` what each item comes from. Of a large table, rows without labels that are alike may be put
    together: `counts` says how many each stands for. `folds` (from 0 to 9) says which items are fitted without each
    other; an item without a label may be in none (−1), and then takes the mean of all folds' lines.
    """

    weak: Floats
    strong: Floats
    rates: Floats
    selected: Mask | None = None
    clusters: NDArray[Any] | None = None
    counts: Floats | None = None
    folds: NDArray[np.int64] | None = None
    sums: tuple[float, float, float] | None = None  # as in `Ratings`

    @property
    def size(self) -> int:
        """The number of items."""
        return int(self.strong.size) if self.counts is None else round(float(self.counts.sum()))

    @classmethod
    def of(
        cls,
        weak: ArrayLike,
        strong: ArrayLike,
        rates: ArrayLike,
        *,
        selected: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
    ) -> "Rated":
        """Ratings from what the user gave."""
        return cls(
            as_floats(weak, name="weak"),
            as_floats(strong, name="strong"),
            as_floats(rates, name="rates"),
            None if selected is None else np.asarray(selected),
            None if clusters is None else np.asarray(clusters),
        )

    def part(self, keep: Mask) -> "Rated":
        """The ratings of these items."""
        return Rated(
            self.weak[keep],
            self.strong[keep],
            self.rates[keep],
            None if self.selected is None else self.selected[keep],
            None if self.clusters is None else self.clusters[keep],
            None if self.counts is None else self.counts[keep],
            None if self.folds is None else self.folds[keep],
        )

    def ratings(self) -> Ratings:
        """Checked and in one shape, as the estimators take them."""
        return replace(ratings(self.weak, self.strong, self.rates), counts=self.counts, sums=self.sums)


def ratings(weak: ArrayLike, strong: ArrayLike, rates: ArrayLike) -> Ratings:
    """Check and shape what the user gave; one rate for all items may be given as a number."""
    h = as_floats(strong, name="strong")
    if h.ndim != 1 or h.size == 0:
        raise InputError(f"strong must be a non-empty row of numbers, NaN where not rated; got shape {h.shape}")
    g = _columns(weak, h.size, name="weak")
    q = _columns(rates, h.size, name="rates")
    if g.shape[1] != q.shape[1]:
        raise InputError(f"a chain needs as many weak raters as rates; got {g.shape[1]} and {q.shape[1]}")
    rated = np.concatenate([~np.isnan(g[:, 1:]), ~np.isnan(h)[:, None]], axis=1)
    _check_values(g, h, q, rated)
    return Ratings(g, h, q, rated)


def pool_of(estimand: Estimand, pool_size: float | None, items: int) -> float:
    """N, the size of the pool whose own value is wanted; infinite for the population."""
    if choice(estimand, ESTIMANDS, name="estimand") == "population":
        return math.inf
    N = float(items) if pool_size is None else number(pool_size, name="pool_size", minimum=1)
    if items > N:
        raise InputError(
            Message(f"{argument('pool_size')} is {N:g} but {items} items were looked at; it cannot be smaller")
        )
    return N


def _columns(values: ArrayLike, n: int, *, name: str) -> Floats:
    array = as_floats(values, name=name)
    if array.ndim == 0:
        array = np.full(n, float(array))
    if array.ndim > 2 or array.shape[0] != n:
        raise InputError(f"{name} must have one entry per item ({n}); got shape {array.shape}")
    return array.reshape(n, -1)


def _check_values(g: Floats, h: Floats, q: Floats, rated: Mask) -> None:
    _refuse(~np.isfinite(g[:, 0]), g[:, 0], "the weak rating of item {i} is {x}; every item needs a finite one")
    _refuse(np.isinf(h), h, "the strong rating of item {i} is {x}; ratings must be finite, NaN where not rated")
    _refuse(np.asarray(np.isinf(g).any(axis=1)), h, "a weak rating of item {i} is infinite")
    for k in range(q.shape[1]):
        _refuse(
            rated[:, k] & (q[:, k] == 0),
            q[:, k],
            "item {i} has a rating but rate {x}; it cannot have been drawn: give the rate it was drawn with",
        )
        _refuse(~((q[:, k] > 0) & (q[:, k] <= 1)), q[:, k], "the rate of item {i} is {x}; rates must be in (0, 1]")
        small = np.asarray(q[:, k] < _LEAST_RATE)
        _refuse(small, q[:, k], f"the rate of item {{i}} is {{x}}; rates must be at least {_LEAST_RATE:g}")
    if q.shape[1] > 1:
        rising = np.asarray(np.diff(q, axis=1).max(axis=1) > 0)
        _refuse(rising, h, "the rates of item {i} rise along the chain; they may only fall")
        gap = np.asarray((rated[:, 1:] & ~rated[:, :-1]).any(axis=1))
        _refuse(gap, h, "item {i} has a later rating without the one before it; chains are bought in order")


def _refuse(bad: Mask, values: Floats, message: str) -> None:
    if bad.any():
        i = int(np.argmax(bad))
        x: Any = values[i]
        raise InputError(message.format(i=i, x=f"{x:g}"))


LARGEST_SCALE = 1e150  # a scale at which every item that can be wrong is always rated; times 0 it is still 0
_NEVER_DRAWN = 1e-100  # never drawn, and its inverse can still be squared


def active_rates(error: Floats, *, scale: float, floor: float) -> Floats:
    """clip(γ·sqrt(u), floor, 1), never 0."""
    return np.clip(scale * np.sqrt(error), max(floor, _NEVER_DRAWN), 1.0)
