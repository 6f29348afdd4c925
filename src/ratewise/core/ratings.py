"""Items with what each rater said of them: one record for two raters, chains, strata and tables put together."""

import math
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ratewise.core.checks import Floats, as_floats, choice, number
from ratewise.core.names import ESTIMANDS, Estimand
from ratewise.errors import InputError, Message, argument

Mask = NDArray[np.bool_]
LEAST_RATE = 1e-100  # as good as never drawn, and its inverse can still be squared
NO_FOLD = -1  # of a row that takes the mean of all folds' lines
LARGEST_SCALE = 1e150  # a scale at which every item that can be wrong is always rated; times 0 it is still 0


@dataclass(frozen=True, eq=False)
class Ratings:
    """Items that were looked at: their ratings, the rates they were drawn with, and whether they were asked about.

    Once `checked`, column k of `weak` is R_k (k = 0 … K−1) and column k of `rates` is q_{k+1}; a rating that was not
    bought is NaN, and rates are in (0, 1] and never increase along the chain. `selected` says which items were asked
    for, `clusters` what each item comes from. Of a large table, rows without labels that are alike may be put together:
    `counts` says how many each stands for. `folds` (from 0 to 9) says which items are fitted without each other; an
    item without a label may be in none (−1), and then takes the mean of all folds' lines.
    """

    weak: Floats
    strong: Floats
    rates: Floats
    selected: Mask | None = None
    clusters: NDArray[Any] | None = None
    counts: Floats | None = None
    folds: NDArray[np.int64] | None = None
    sums: tuple[float, float, float] | None = None  # Σ a, Σ a G, Σ a G² with a = 1/π − 1, where rows say them roughly

    @classmethod
    def of(
        cls,
        weak: ArrayLike,
        strong: ArrayLike,
        rates: ArrayLike,
        *,
        selected: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
    ) -> "Ratings":
        return cls(
            as_floats(weak, name="weak"),
            as_floats(strong, name="strong"),
            as_floats(rates, name="rates"),
            None if selected is None else np.asarray(selected),
            None if clusters is None else np.asarray(clusters),
        )

    def checked(self) -> "Ratings":
        """The same with weak ratings and rates as items × steps, all of them legal."""
        h = self.strong
        if h.ndim != 1 or h.size == 0:
            raise InputError(f"strong must be a non-empty row of numbers, NaN where not rated; got shape {h.shape}")
        data = replace(
            self, weak=_columns(self.weak, h.size, name="weak"), rates=_columns(self.rates, h.size, name="rates")
        )
        if data.weak.shape != data.rates.shape:
            steps = data.weak.shape[1], data.rates.shape[1]
            raise InputError(f"a chain needs as many weak raters as rates; got {steps[0]} and {steps[1]}")
        _check_values(data.weak, h, data.rates, data.rated)
        return data

    def part(self, keep: Mask | NDArray[np.intp]) -> "Ratings":
        columns = [one.name for one in fields(self) if getattr(self, one.name) is not None and one.name != "sums"]
        changed: dict[str, Any] = {name: getattr(self, name)[keep] for name in columns}
        return replace(self, **changed, sums=None)

    def beside(self, rest: "Ratings") -> "Ratings":
        """These rows, and behind them others that were not asked for, were put together and are in no fold."""
        return replace(
            self, weak=np.r_[self.weak, rest.weak], strong=np.r_[self.strong, rest.strong],
            rates=np.r_[self.rates, rest.rates], counts=np.r_[np.ones(self.rows), rest.counts],
            selected=None if self.selected is None else np.r_[self.selected, np.zeros(rest.rows, dtype=np.bool_)],
            clusters=None if self.clusters is None else np.r_[self.clusters, rest.clusters],
            folds=None if self.folds is None else np.r_[self.folds, np.full(rest.rows, NO_FOLD)],
        )  # fmt: skip

    @cached_property
    def rated(self) -> Mask:
        """ξ, items × steps: who has the second weak rating, the third …, and the strong one."""
        return np.asarray(~np.isnan(np.concatenate([self.weak[:, 1:], self.strong[:, None]], axis=1)))

    @cached_property
    def had(self) -> Mask:
        """ξ_{k−1}, items × steps: who has the weak rating of each step; everybody has the first."""
        return np.concatenate([np.ones((self.rows, 1), dtype=np.bool_), self.rated[:, :-1]], axis=1)

    @cached_property
    def labelled(self) -> Mask:
        return ~np.isnan(self.strong)

    @property
    def labels(self) -> int:
        return int(np.count_nonzero(self.labelled))

    @property
    def rows(self) -> int:
        """Rows that the items are in: as many, unless some were put together."""
        return int(self.strong.size)

    @property
    def items(self) -> int:
        """T, the number of items looked at."""
        return self.rows if self.counts is None else round(float(self.counts.sum()))

    def each(self, terms: Floats) -> Floats:
        """Terms of the rows (rows first) times the items they stand for."""
        if self.counts is None:
            return terms
        return np.asarray(terms * (self.counts if terms.ndim == 1 else self.counts[:, None]))

    def mean(self, terms: Floats) -> float:
        return float(terms.mean()) if self.counts is None else float(np.dot(self.counts, terms)) / self.items

    def inverse_rates(self) -> Floats:
        """1/q with a first column of ones for R_0, which every item has."""
        return np.concatenate([np.ones((self.rows, 1)), 1.0 / self.rates], axis=1)

    def step_odds(self) -> Floats:
        """1/q_k − 1/q_{k−1}: the weight of (H − R_{k−1})² in the variance (docs/statistics.md, chains)."""
        return np.diff(self.inverse_rates(), axis=1)


def ratings(weak: ArrayLike, strong: ArrayLike, rates: ArrayLike) -> Ratings:
    """Checked ratings from what the user gave; one rate for all items may be given as a number."""
    return Ratings.of(weak, strong, rates).checked()


def answered(weak: ArrayLike, strong: ArrayLike, rates: ArrayLike, *, what: str) -> Ratings:
    """Checked ratings among which every answer that was certain to be asked for has come: `what` needs that."""
    data = ratings(weak, strong, rates)
    missing = int(np.count_nonzero((data.rates[:, -1] == 1) & ~data.labelled))
    if missing:
        raise InputError(f"{missing} items with rate 1 have no strong rating; {what} needs every answer asked for")
    return data


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


def active_rates(error: Floats, *, scale: float, floor: float) -> Floats:
    """clip(γ·sqrt(u), floor, 1), never 0: the active policy's rates of any items."""
    return np.clip(scale * np.sqrt(error), max(floor, LEAST_RATE), 1.0)


def _columns(array: Floats, n: int, *, name: str) -> Floats:
    if array.ndim == 0:
        array = np.full(n, float(array))
    if array.ndim > 2 or array.shape[0] != n:
        raise InputError(f"{name} must have one entry per item ({n}); got shape {array.shape}")
    return array.reshape(n, -1)


def _check_values(g: Floats, h: Floats, q: Floats, rated: Mask) -> None:
    _refuse(~np.isfinite(g[:, 0]), g[:, 0], "the weak rating of item {i} is {x}; every item needs a finite one")
    _refuse(np.isinf(h), h, "the strong rating of item {i} is {x}; ratings must be finite, NaN where not rated")
    _refuse(np.asarray(np.isinf(g).any(axis=1)), h, "a weak rating of item {i} is infinite")
    drawn = "item {i} has a rating but rate {x}; it cannot have been drawn: give the rate it was drawn with"
    for k, rate in enumerate(q.T):
        _refuse(rated[:, k] & (rate == 0), rate, drawn)
        _refuse(~((rate > 0) & (rate <= 1)), rate, "the rate of item {i} is {x}; rates must be in (0, 1]")
        _refuse(rate < LEAST_RATE, rate, f"the rate of item {{i}} is {{x}}; rates must be at least {LEAST_RATE:g}")
    if q.shape[1] > 1:
        rising = np.asarray(np.diff(q, axis=1).max(axis=1) > 0)
        _refuse(rising, h, "the rates of item {i} rise along the chain; they may only fall")
        gap = np.asarray((rated[:, 1:] & ~rated[:, :-1]).any(axis=1))
        _refuse(gap, h, "item {i} has a later rating without the one before it; chains are bought in order")


def _refuse(bad: Mask, values: Floats, message: str) -> None:
    if bad.any():
        i = int(np.argmax(bad))
        raise InputError(message.format(i=i, x=f"{float(values[i]):g}"))
