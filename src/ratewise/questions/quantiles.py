"""Quantiles: the θ of least rectified pinball loss, with an interval by inverting a test; and how to spend for one.

The rectified distribution function F̂(θ) = mean Σ_k weight_k 1{R_k ≤ θ} is unbiased for P(H ≤ θ) and need not rise
everywhere. At the true quantile P(H ≤ θ) = q, so the strong ratings' own part of Var(F̂) is q(1−q)/T without estimating
it; only what the draw adds is estimated. No density is needed. The variance says how many plain ratings F̂ is worth, and
the test is a binomial one with that number: for a quantile near an end a handful of ratings decide, and those are not
normal.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from ratewise.core.checks import Floats, choice, number, share
from ratewise.core.clusters import Codes, cluster_codes, sum_variance
from ratewise.core.document import Column, DataTable, Part, Sentence, as_lines, bar, noted
from ratewise.core.estimate import Estimate, EstimateOptions, both_ends, needed_ends
from ratewise.core.intervals import binomial_tail
from ratewise.core.m_estimation import RectifiedTerms
from ratewise.core.names import ESTIMANDS, Estimand
from ratewise.core.ratings import Ratings, answered, pool_of
from ratewise.core.result import Result
from ratewise.errors import InputError, TableError
from ratewise.learn.error_model import ErrorModel, fit_error
from ratewise.questions.goal import PlanGoal
from ratewise.questions.plan import Plan, plan_mean
from ratewise.questions.policies import PilotColumns, held_out_error, read_pilot
from ratewise.questions.rated import (
    NO_STRONG,
    Pooled,
    Rate,
    Strong,
    TableColumns,
    made_ready,
    read_asked,
    read_rated,
    refuse_missing,
    votes_in_words,
)
from ratewise.questions.regression import BAR, rounded
from ratewise.questions.transfer import STRONG_BELOW, UNCERTAINTY, WEAK_BELOW, Derived
from ratewise.tables import TableLike, read_table
from ratewise.tables.words import Positive, Scale, meaning_of

_FEWEST_WRONG = 1.0  # label on the other side of θ than its weak rating, at the least: none seen is not none
_LEAST = 1e-12


def estimate_quantile(
    weak: ArrayLike,
    strong: ArrayLike,
    rates: ArrayLike,
    *,
    quantile: float = 0.5,
    level: float = 0.95,
    estimand: Estimand = "population",
    pool_size: float | None = None,
    clusters: ArrayLike | None = None,
    bounds: tuple[float, float] | None = None,
) -> Estimate:
    """A quantile of the strong rating, of the population or of the pool; arguments as for `estimate_mean`.

    Where so few ratings lie beyond that the quantile may be above the largest or below the least one seen, the interval
    ends at the scale's `bounds` (0 and 1 for such ratings); without them there is none, and a note says what is known.

    The standard error is the interval's half-width over the error's quantile, and so a rough one.

    Limiting cases: rates of 1 give the sample quantile (the smallest rating with at least that share at or below it)
    and an interval made of order statistics; one label gives a value and no interval.
    """
    q = share(quantile, name="quantile")
    choice(estimand, ESTIMANDS, name="estimand")
    data = answered(weak, strong, rates, what="a quantile")
    if data.labels == 0:
        raise InputError("no item has a strong rating; at least one is needed for an estimate, two for an interval")
    N = pool_of(estimand, pool_size, data.items)
    codes = None if clusters is None else cluster_codes(clusters, data.items)
    curve = distribution(data, q, codes=codes, pool_size=N)
    z = _quantile_of_error(data, share(level, name="level"), codes if data.items < N else None)
    stretch = z / float(special.ndtri(0.5 + level / 2))
    value = curve.argmin(q)
    ends: tuple[float, float] | None = None
    why: str | None = "one strong rating gives no interval; get at least two"
    if data.labels > 1:
        ends, why = _closed(curve.ends(q, (1 - level) / 2, stretch), _scale(data, bounds))
    if ends is not None and ends[0] == ends[1]:
        why = "the interval is one value: this rating is so frequent that no other can be the quantile"
    return Estimate(
        value=value,
        standard_error=None if ends is None or ends[0] == ends[1] else (ends[1] - ends[0]) / 2 / z,
        interval=ends,
        level=level,
        items=data.items,
        labels=data.labels,
        method=f"quantile {q:g}",
        interval_method="test inversion",
        estimand=estimand,
        notes=() if why is None else (why,),
        contributions=RectifiedTerms.of(data).sum(lambda y: (y <= value).astype(np.float64)),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Distribution:
    """F̂ and its variance at the true quantile, at every rating seen, in order."""

    values: Floats
    shares: Floats  # F̂
    variance: Floats

    def argmin(self, q: float) -> float:
        """The rating of least rectified pinball loss, the first one of a tie."""
        slopes = (self.shares - q)[:-1] * np.diff(self.values)
        loss = np.concatenate([[0.0], np.cumsum(slopes)])
        scale = max(float(np.abs(loss).max()), 1e-300)
        return float(self.values[int(np.argmax(loss <= loss.min() + 1e-12 * scale))])

    def ends(self, q: float, tail: float, stretch: float) -> tuple[float | None, float | None]:
        """The ratings that a test of P(H ≤ θ) ≥ q ≥ P(H < θ) does not reject; `None`: maybe beyond all seen.

        `tail` is the chance of an error on either side; `stretch` widens for few labels and clusters.
        """
        n0 = q * (1 - q) / np.maximum(self.variance * stretch**2, _LEAST)
        enough = _at_most(self.shares, n0, q) >= tail
        not_more = _at_most(1 - self.shares, n0, 1 - q) >= tail
        before = np.concatenate([[True], not_more[:-1]])
        low = int(np.argmax(enough))
        high = int(before.size - 1 - np.argmax(before[::-1]))
        below, above = bool(_at_most(np.zeros(1), n0[:1], q)[0] >= tail), bool(not_more[-1])
        return None if below else float(self.values[low]), None if above else float(self.values[max(low, high)])


def _at_most(shares: Floats, n0: Floats, q: float) -> Floats:
    """P(Binomial(n₀, q)/n₀ ≤ share)."""
    few = n0 * np.clip(shares, 0.0, 1.0)
    return binomial_tail(n0 - few, few, 1 - q)


def _scale(data: Ratings, bounds: tuple[float, float] | None) -> tuple[float, float] | None:
    h = data.strong[data.labelled]
    if bounds is None:
        return (0.0, 1.0) if np.all((h == 0) | (h == 1)) else None
    return needed_ends(data, EstimateOptions(bounds=bounds), "a quantile")


def _closed(
    ends: tuple[float | None, float | None], scale: tuple[float, float] | None
) -> tuple[tuple[float, float] | None, str | None]:
    """Open ends at the scale's; no interval where they are not known."""
    low, high = ends
    if scale is not None:
        return (scale[0] if low is None else low, scale[1] if high is None else high), None
    if low is not None and high is not None:
        return (low, high), None
    known = f"it is at least {low:.4g}" if low is not None else "" if high is None else f"it is at most {high:.4g}"
    side = "largest" if high is None else "least"
    why = f"too few ratings beyond: the quantile may lie past the {side} rating seen"
    return None, f"{why}{', and ' + known if known else ''}; get more ratings, or give bounds, the ends of the scale"


def distribution(data: Ratings, q: float, *, codes: Codes | None, pool_size: float) -> Distribution:
    """F̂ at every rating seen, and its variance if that were the quantile; O(n log n)."""
    terms, T = RectifiedTerms.of(data), data.items
    used = terms.weights != 0
    values = np.unique(terms.ratings[used])
    shares = _at(values, terms.ratings[used], terms.weights[used]) / T
    drawn = _drawn(values, data) / T**2
    own = q * (1 - q) * (1.0 / T - (0.0 if np.isinf(pool_size) else 1.0 / pool_size))
    if codes is not None and own > 0:
        own = own * _design_effect(terms, values, shares, q, codes)
    return Distribution(values, shares, own + drawn)


def _at(values: Floats, points: Floats, weights: Floats) -> Floats:
    """Σ weights of the points at or below each value."""
    return np.cumsum(np.bincount(np.searchsorted(values, points), weights=weights, minlength=values.size))


def _drawn(values: Floats, data: Ratings) -> Floats:
    """Σ (1{H≤θ} − 1{R_{k−1}≤θ})² (1/q_k − 1/q_{k−1}) ξ/q_K: counts where θ lies between the two ratings."""
    use = data.labelled
    odds = data.step_odds()[use] / data.rates[use, -1:]
    h = data.strong[use]
    total = np.zeros(values.size)
    for k in range(data.weak.shape[1]):
        some = odds[:, k] > 0  # else R_{k−1} has no weight, and may not be among the values
        a, b, o = h[some], data.weak[use, k][some], odds[some, k]
        total += _at(values, np.minimum(a, b), o) - _at(values, np.maximum(a, b), o)
    return np.maximum(total, _FEWEST_WRONG * float(odds.sum(axis=1).mean()))


def _design_effect(terms: RectifiedTerms, values: Floats, shares: Floats, q: float, codes: Codes) -> float:
    """How much clusters raise the variance of F̂ at its crossing of q, over independent items; at least 1."""
    theta = values[min(int(np.searchsorted(np.maximum.accumulate(shares), q)), values.size - 1)]
    delta = terms.sum(lambda y: (y <= theta).astype(np.float64))
    delta = delta - delta.mean()
    alone = float(np.dot(delta, delta))
    return max(float(sum_variance(delta, codes)[0, 0]) / alone, 1.0) if alone > 0 else 1.0


def _quantile_of_error(data: Ratings, level: float, codes: Codes | None) -> float:
    """Student's quantile for what the draw and few clusters add; normal where every item is rated, each for itself."""
    weight = 1.0 / data.rates[data.labelled, -1]
    all_rated = weight.max() == 1.0 and data.labels == data.items
    df = np.inf if all_rated else float(weight.sum() ** 2 / np.dot(weight, weight)) - 1.0
    if codes is not None:
        df = min(df, float(codes.max()))
    p = 0.5 + level / 2
    return float(special.ndtri(p) if np.isinf(df) else special.stdtrit(max(df, 1.0), p))


# Of a table


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Quantiles(Result):
    """One estimate for each quantile asked for, in that order."""

    quantiles: tuple[float, ...]
    estimates: tuple[Estimate, ...]
    notes: tuple[str, ...] = ()

    def __getitem__(self, quantile: float) -> Estimate:
        try:
            return self.estimates[self.quantiles.index(quantile)]
        except ValueError:
            raise KeyError(quantile) from None

    def to_dict(self) -> dict[str, Any]:
        return {"quantiles": self._rows(), "notes": list(self.notes)}

    def _rows(self) -> list[dict[str, Any]]:
        return [{"quantile": q} | e.to_dict() for q, e in zip(self.quantiles, self.estimates, strict=True)]

    def summary(self) -> str:
        return as_lines(self.document())

    def document(self) -> list[Part]:
        first = self.estimates[0]
        interval = Column(f"{first.level:.0%} interval")
        table = DataTable([Column("quantile", "name"), Column("value"), interval, Column("", "bar", 1)])
        known = [x for e in self.estimates if e.interval is not None for x in e.interval] or [0.0]
        for q, e in zip(self.quantiles, self.estimates, strict=True):
            ends = "none" if e.interval is None else " to ".join(map(rounded, e.interval))
            drawn = "" if e.interval is None else bar(e.value, e.low, e.high, (min(known), max(known)), width=BAR)
            table.add(f"{q:g}", rounded(e.value), ends, drawn)
        rests = f"{first.labels:,} strong ratings on {first.items:,} items, of the {first.estimand}."
        return [table, Sentence(rests, "quiet"), *noted(self.notes)]


def pooled_quantile(pooled: Pooled, at: float) -> Quantiles:
    """A quantile of a campaign's ratings from all rounds as one draw, as the campaign reports it."""
    t, (items, told) = pooled.terms, pooled.came()
    found = estimate_quantile(
        items.weak, items.strong, items.rates, quantile=at, level=t.level_at, estimand=t.estimand,
        pool_size=t.pool_size, clusters=items.clusters, bounds=(t.low, t.high),
    )  # fmt: skip
    if t.anytime:
        found = replace(found, level=t.level, interval_method=f"anytime ({found.interval_method})")
    return Quantiles((at,), (found,), told)


def quantile_table(
    table: TableLike,
    *,
    strong: Strong | None = None,
    at: Sequence[float] = (0.5,),
    weak: str | None = None,
    rate: Rate = None,
    selected: str | None = None,
    level: float = 0.95,
    estimand: Estimand = "population",
    pool_size: float | None = None,
    clusters: str | None = None,
    bounds: tuple[float | None, float | None] | None = None,
    positive: Positive = None,
    scale: Scale = None,
) -> Quantiles:
    """Quantiles of the strong rating from a drawn and rated table; each interval holds by itself.

    `rate` is the column with the probability each row was drawn with, or one number for all rows; without it the rated
    rows are taken as a random draw. Without `weak` the strong ratings stand alone: from a draw at one rate for all.
    `bounds` are the ends of the scale, for quantiles near them. Ratings may be words, and `strong` several people's
    columns, as for `estimate_table`: the quantiles are then those of the mean vote of an item. The export of a campaign
    that was asked for a quantile needs no columns.
    """
    if not len(at):
        raise InputError("name at least one quantile, between 0 and 1")
    asked = tuple(share(q, name="quantile") for q in at)
    if strong is None:
        exported = read_asked(read_table(table), "quantile")
        if exported is None or weak is not None or asked not in ((0.5,), (exported.at,)):
            raise InputError(NO_STRONG)
        return pooled_quantile(exported.pooled, exported.at)
    ready = made_ready(table, strong, weak, meaning_of(positive, scale))
    ready.refuse_pool(estimand)
    rated = read_rated(ready, TableColumns(strong, weak, rate, selected, clusters))
    refuse_missing(rated)
    asked_how = EstimateOptions(level=level, estimand=estimand, pool_size=pool_size, bounds=both_ends(bounds))
    how = rated.how(asked_how)
    items, codes = rated.items, rated.codes()
    found = tuple(
        estimate_quantile(
            items.weak, items.strong, items.rates, quantile=q, level=how.level, estimand=estimand,
            pool_size=how.pool_size, clusters=codes, bounds=how.bounds,
        )
        for q in asked
    )  # fmt: skip
    own = tuple(dict.fromkeys(note for e in found for note in e.notes))
    if rated.votes is not None:
        spread = "the quantiles are those of the mean vote of an item: disagreement spreads it out"
        own += (*votes_in_words(rated), spread)
    return Quantiles(asked, found, rated.notes(asked_how) + own)


def plan_quantile(
    table: TableLike,
    *,
    weak: str,
    strong: Strong,
    quantile: float = 0.5,
    weak_cost: float,
    strong_cost: float,
    budget: float | None = None,
    target_se: float | None = None,
    pool_size: float | None = None,
    floor: float | None = None,
    estimand: Estimand = "population",
    positive: Positive = None,
    scale: Scale = None,
    seed: int = 0,
) -> Plan:
    """`plan` for a quantile θ: that of the mean of 1{H ≤ θ}, at the pilot's own θ, where the density cancels.

    V is q(1−q) and u(x) the probability that the two ratings lie on different sides of θ, learned from the pilot as a
    function of the weak rating. `target_se` is that of the share at or below θ, not of θ.
    """
    q = share(quantile, name="quantile")
    goal = PlanGoal.of(
        weak_cost, strong_cost, budget=budget, target_se=target_se, pool_size=pool_size, estimand=estimand, floor=floor
    )
    words = meaning_of(positive, scale)
    ready = made_ready(table, strong, weak, words)
    read = ready.table
    g, h = read.numbers(weak), read.numbers(ready.strong, missing="allow")
    rated = ~np.isnan(h)
    if np.count_nonzero(rated) < 2:
        raise TableError(f"{int(rated.sum())} rows of {read.name} have a strong rating; a plan needs two at least")
    theta = float(np.quantile(h[rated], q, method="inverted_cdf"))
    below = np.where(rated, (h <= theta).astype(np.float64), np.nan)
    if np.ptp(below[rated]) == 0:
        raise InputError(
            f"all strong ratings of the pilot are at or below their {q:g} quantile ({theta:g}); plan for a smaller one"
        )
    claimed = (g <= theta).astype(np.float64)
    differs = (below - claimed)[rated]
    model, least = fit_error(g[rated], differs), 1.0 / (int(rated.sum()) + 2)
    u = model.predict(g)
    u[rated] = held_out_error(g[rated], differs, int(number(seed, name="seed", minimum=0)))
    if not u.max() > 0:  # no disagreement was seen: one in as many as there are, and two more
        u = np.full(u.size, least)
    if not model.predict(g).max() > 0:
        model = ErrorModel("fitted", knots=(0.0,), values=(least,))
    read = read.with_columns({WEAK_BELOW: claimed, STRONG_BELOW: below, UNCERTAINTY: u})
    columns = PilotColumns(WEAK_BELOW, STRONG_BELOW, UNCERTAINTY, seed=seed)
    derived = Derived("at or below", (weak,), theta, model)
    note = f"planned for the share of strong ratings at or below {theta:g}, the pilot's {q:g} quantile"
    told = {"quantile": q, "at": theta, "weak": weak, "strong": ready.typed, "uncertainty": None}
    return plan_mean(
        read, read_pilot(read, columns), columns, goal, words=words, told=told,
        notes=(*ready.notes, note), derived=derived,
        hints=False,  # a quantile takes weak ratings as they are, so calibrating them is not hinted at
    )  # fmt: skip
