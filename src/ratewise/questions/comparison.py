"""Comparisons of systems, from the uncertainty of their differences: rated side by side, in rows or in two tables.

Several systems on the same items are one record, `Systems`, in memory or out of it: any mean or difference of them. Of
a large table the items that were asked for stand one by one; the mean of a system and the difference of two are each
condensed for themselves (`tables/condense.py`), and how two of them vary together comes from sums of products.

Where nearly all items have the same difference, as with two systems that are both right 98 % of the time, the spread
that was seen is that of the few items that happened to differ. So one more is imagined, half of it in favour of either
system: the remedy of Agresti and Min (2005) for pairs of 0/1 ratings, here at the labels' own rates. A whole one in
favour of either, as Bonett and Price (2012) have it, is wider and no better here. What is imagined is not estimated: it
adds no doubt about the variance, and so raises its degrees of freedom.

Of two samples the squares of distances add up: the lower end is as far below the difference as the first mean's lower
end and the second mean's upper end together (Newcombe 1998 for two proportions; Zou and Donner 2008, "MOVER", in
general). Each mean keeps the interval that suits it, so the difference is right near the ends of a scale, too.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from ratewise.core.checks import Floats
from ratewise.core.clusters import Codes, cluster_codes, sum_variance
from ratewise.core.document import Column, DataTable, Part, Sentence, Style, noted
from ratewise.core.estimate import Estimate, EstimateOptions
from ratewise.core.intervals import Interval, normal_draws, simultaneous_quantile
from ratewise.core.names import Estimand, Method, PolicyName, Recalibration
from ratewise.core.policy import Policy
from ratewise.core.ratings import Mask, Ratings, active_rates
from ratewise.core.result import Result
from ratewise.errors import InputError, Message, TableError, argument
from ratewise.questions import rated as readers
from ratewise.questions.drawing import AnyPlan, PlannedRows
from ratewise.questions.estimation import estimate_rated, refuse_unused_weights
from ratewise.questions.goal import PlanGoal
from ratewise.questions.plan import Plan, plan_mean
from ratewise.questions.policies import Pilot, PilotColumns, learn_pilot, read_pilot, together
from ratewise.questions.rated import (
    NO_STRONG,
    POOL_SIZE,
    RATE,
    LargeRatings,
    Pooled,
    Rate,
    RatedTable,
    Strong,
    TableColumns,
    TablePool,
    asked_column,
    check_draw,
    check_large_draw,
    check_rows,
    cluster_names,
    estimate_pooled,
    large_ratings,
    large_relation,
    made_ready,
    read_asked,
    read_draw,
    read_rated,
    read_terms,
    read_whole,
    reported,
    unlooked_note,
    unseen_kinds,
    warn_of_choice,
    weak_ratings,
)
from ratewise.questions.transfer import STRONG_DIFFERENCE, WEAK_DIFFERENCE, Derived
from ratewise.tables import Table, TableLike, read_table
from ratewise.tables.cells import Texts, unmasked
from ratewise.tables.condense import condense, floats, in_sql, row_folds
from ratewise.tables.spark import SqlTable
from ratewise.tables.words import Meaning, Positive, Scale, in_numbers, meaning_of

_SURE = 3.7  # standard deviations: independent draws look like one once in 10,000 times


# Two samples


def difference_interval(
    values: tuple[float, float], intervals: tuple[Interval, Interval], correlation: float = 0.0
) -> Interval:
    """Ends of the interval for the first mean less the second.

    Limiting cases: symmetric intervals without correlation give ± the root of the sum of squares; a second mean that is
    known gives the first one's interval, moved.
    """
    (a, b), ((a_low, a_high), (b_low, b_high)) = values, intervals
    below = _distance(a - a_low, b_high - b, correlation)
    above = _distance(a_high - a, b - b_low, correlation)
    return a - b - below, a - b + above


def _distance(x: float, y: float, correlation: float) -> float:
    x, y = max(x, 0.0), max(y, 0.0)  # an estimate beyond the scale lies outside its own interval
    return math.sqrt(max(x * x + y * y - 2 * correlation * x * y, 0.0))


def shared_covariance(contributions: Sequence[Floats], groups: Sequence[ArrayLike]) -> float:
    """Covariance of two estimates through the items (or clusters) that both have, told by name.

    Σ over names of the two sums of Δ − θ̂, over T₁ T₂: unbiased up to 1/T, whether the labels of the two were drawn
    together or apart. No name in both: 0.
    """
    first, second = (_sums(delta, names) for delta, names in zip(contributions, groups, strict=True))
    total = math.fsum(x * second[name] for name, x in first.items() if name in second)
    return total / (contributions[0].size * contributions[1].size)


def pool_covariance(
    a: Ratings, b: Ratings, x: Ratings, y: Ratings, *, pools: tuple[float, float], one_draw: bool
) -> float:
    """Covariance of two pools' means through the items that both samples have: `x` and `y` are those of `a` and `b`.

    All have contributions Δ in the weak rating's place.

    Draws by the same random numbers take the same items, P(ξ₁ξ₂) = min(π₁, π₂): then each item adds
    (H₁ − f₁)(H₂ − f₂)(1/max(π₁, π₂) − 1), estimated from those with both labels. Items that were looked at for both add
    Cov(H₁, H₂)(T₁₂/(T₁T₂) − 1/N), if either pool was looked at in part.

    Limiting cases: independent draws of pools that were looked at whole give 0; the same draw of the same ratings gives
    the variance.
    """
    T, N = float(a.rows) * b.rows, max(pools)
    drawn = 0.0
    if one_draw:
        both = x.labelled & y.labelled & (np.maximum(x.rates, y.rates) < 1)
        least, most = np.minimum(x.rates, y.rates)[both], np.maximum(x.rates, y.rates)[both]
        off = [(h.weak - h.strong)[both] * h.rates[both] / (1 - h.rates[both]) for h in (x, y)]
        drawn = float(((1 / most - 1) / least) @ (off[0] * off[1]))
    if not (a.rows < pools[0] and b.rows < pools[1] and x.rows):
        return drawn / T
    together = float((x.weak - a.weak.mean()) @ (y.weak - b.weak.mean()))
    return drawn / T + (together - drawn) / x.rows * (x.rows / T - 1 / N)


def looks_like_one_draw(x: Ratings, y: Ratings) -> bool:
    """Whether the labels of two samples of the same items look like draws by the same random numbers.

    Draws by numbers of their own have both labels with chance π₁π₂, draws by the same ones with chance min(π₁, π₂).
    """
    use = (x.rates < 1) & (y.rates < 1)
    p, q = x.rates[use], y.rates[use]
    apart, same = float(p @ q), float(np.minimum(p, q).sum())
    seen = float(np.count_nonzero(x.labelled[use] & y.labelled[use]))
    chance = math.sqrt(float((p * q) @ (1 - p * q)))
    return seen > 0.5 * (apart + same) and seen - apart > _SURE * chance


def _sums(delta: Floats, groups: ArrayLike) -> dict[str, float]:
    names, index = np.unique(np.asarray(groups, dtype=np.str_), return_inverse=True)
    sums = np.bincount(index, weights=delta - delta.mean())
    return dict(zip(names.tolist(), sums.tolist(), strict=True))


_MOSTLY = 0.5  # share of equal differences from which the others are taken as few
_FEWEST_LABELS = 2
_IMAGINED = 1.0  # items unlike the rest, half in favour of either system
_NOTHING_SEEN = "all items have the same difference: the interval is that of one item that differs, not seen yet"


# What may differ without having been seen


def unseen_variance(
    d: Floats, rates: Floats, *, items: int, pool_size: float, reach: float | None, codes: Codes | None
) -> float:
    """Variance of a mean of differences that half an item more in favour of either system would add.

    `d`, `rates` and `codes` are the labels'. An item unlike the rest is as far off as the furthest one seen, or `reach`
    (the width of the scale) where none is; of clusters, as many come together as one has labels.

    Limiting cases: every item rated, for the population: 1/n² for 0/1 ratings, Agresti and Min's; every item of the
    pool rated: 0; fewer than half of the differences equal, or none unlike and no known scale: 0.
    """
    values, counts = np.unique(d, return_counts=True)
    if d.size < _FEWEST_LABELS or counts.max() < _MOSTLY * d.size:
        return 0.0
    far = float(np.abs(values - values[np.argmax(counts)]).max()) or reach or 0.0
    each = (1 - rates) / rates**2 + (1 - items / pool_size) / rates
    size = np.ones(1) if codes is None else np.bincount(codes)
    together = float(size @ size) / float(size.sum())  # labels in the cluster of a label, on average
    return _IMAGINED * far**2 * float(each.mean()) / items**2 * together


def widened(found: Estimate, unseen: float) -> Estimate:
    """Student's interval with this variance added, symmetric as before; the standard error stays as it was."""
    if unseen <= 0:
        return found
    if found.interval is None:
        half = error_quantile(found) * math.sqrt(unseen)
        return replace(found, interval=(found.value - half, found.value + half), notes=(_NOTHING_SEEN,))
    df = found.degrees_of_freedom
    assert df is not None, "Student's interval has degrees of freedom"
    seen = (0.5 * (found.interval[1] - found.interval[0]) / error_quantile(found)) ** 2
    found = replace(
        found, degrees_of_freedom=df * (1 + unseen / seen) ** 2
    )  # Satterthwaite's, with a part that is known
    half = error_quantile(found) * math.sqrt(seen + unseen)
    return replace(found, interval=(found.value - half, found.value + half))


def error_quantile(found: Estimate) -> float:
    """The two-sided quantile of the estimate's error over its standard error: Student's, else normal."""
    df, p = found.degrees_of_freedom, 0.5 + found.level / 2
    return float(special.ndtri(p) if df is None or found.interval is None else special.stdtrit(df, p))


def error_probability(found: Estimate) -> float | None:
    """P(truth > 0) by the confidence distribution behind the interval; `None` where the error is unknown.

    The half of the interval that faces 0 is taken, so that both always agree: it may be wider than the standard error
    says.
    """
    if found.standard_error is None or found.interval is None:
        return None
    df, (low, high) = found.degrees_of_freedom, found.interval
    reach = found.value - low if found.value > 0 else high - found.value
    if reach <= 0:  # ratings so large that the interval is lost in their rounding
        return None
    t = found.value / reach * error_quantile(found)
    return float(special.ndtr(t) if df is None else special.stdtr(df, t))


Pair = tuple[int, int | None]
"""One system, or one less another."""

RowNumbers = NDArray[np.signedinteger[Any]]


def _of(ratings: Floats, pair: Pair) -> Floats:
    i, j = pair
    return ratings[:, i] if j is None else ratings[:, i] - ratings[:, j]


@dataclass(frozen=True, slots=True, eq=False)
class LargeRest:
    """Items that were not asked for; each system and each pair is asked about once."""

    items: int
    spread: Floats  # Σ (g − mean)(g − mean)ᵀ over these items, systems × systems
    points: Callable[[Pair], Ratings]  # the weak ratings of one system, or of one less another, condensed

    def products(self, found: Sequence[Estimate], of: Sequence[Pair], own: int) -> Floats:
        """Σ (Δ − θ̂)(Δ − θ̂)ᵀ over these items; the first `own` contributions of each estimate are not theirs.

        Without a label Δ is a line in the weak rating, so the sums of that rating say all.
        """
        slopes, off = np.zeros((len(found), self.spread.shape[0])), np.zeros(len(found))
        for row, (estimate, pair) in enumerate(zip(found, of, strict=True)):
            points, delta = self.points(pair), estimate.contributions[own:]
            d = points.weak - np.average(points.weak, weights=points.counts)
            square = float(points.each(d) @ d)
            slope = float(points.each(d) @ delta) / square if square > 0 else 0.0
            slopes[row, pair[0]] += slope
            if pair[1] is not None:
                slopes[row, pair[1]] -= slope
            off[row] = np.average(delta, weights=points.counts) - estimate.value
        return np.asarray(slopes @ self.spread @ slopes.T + self.items * np.outer(off, off))


@dataclass(frozen=True, slots=True, eq=False)
class Systems:
    """The looked-at items' ratings of every system, drawn together at one rate per item.

    Weak and strong ratings of `items` are items × systems. An item is asked for all systems' strong ratings at once:
    one that has some of them and lacks others is an answer still missing, which is counted at both ends of the scale
    and never dropped. Of a large table these are the items that were asked for; `rest` is what is known of all others.
    """

    names: tuple[str, ...]
    items: Ratings  # `selected` says which items were asked for
    how: EstimateOptions  # `bounds` are those of one system's ratings
    recalibrate: Recalibration = "none"
    notes: tuple[str, ...] = ()
    rest: LargeRest | None = None

    @property
    def looked(self) -> int:
        """T, the number of items looked at."""
        return self.items.rates.size + (0 if self.rest is None else self.rest.items)

    def missing(self, *systems: int) -> Mask:
        """Items that were asked for and lack an answer about one of these systems; of all, where none is named."""
        lacking = np.isnan(self.items.strong[:, systems or slice(None)]).any(axis=1)
        return np.asarray(lacking if self.items.selected is None else lacking & self.items.selected)

    def mean(self, i: int) -> Estimate:
        """The mean of one system, with the interval that suits its ratings."""
        return self._estimate((i, None), self.items.strong[:, i], self.how)

    def difference(self, i: int, j: int, *, level: float | None = None) -> Estimate:
        """The mean of system i less that of system j, estimated from the items' own differences.

        The interval is Student's, which is symmetric around the estimate and so goes with one probability, with room
        for items unlike those seen. Where answers are missing, both ends of the scale have such an interval.
        """
        h, missing, bounds = _of(self.items.strong, (i, j)), self.missing(i, j), self.how.bounds
        ends = None if bounds is None or not missing.any() else (bounds[0] - bounds[1], bounds[1] - bounds[0])
        how = replace(self.how, interval="t", bounds=ends, level=self.how.level if level is None else level)
        found = self._estimate((i, j), h, how)
        if not missing.any():
            return widened(found, self.unseen(h))
        if ends is None or found.interval is None:
            return found
        low, high = (self._filled((i, j), np.where(missing, end, h), how) for end in ends)
        return replace(found, interval=(min(found.interval[0], low[0]), max(found.interval[1], high[1])))

    def _filled(self, pair: Pair, h: Floats, how: EstimateOptions) -> tuple[float, float]:
        return widened(self._estimate(pair, h, how), self.unseen(h)).interval or (-math.inf, math.inf)

    def unseen(self, h: Floats) -> float:
        """Variance that items unlike those seen may add to a difference with these strong ratings."""
        s, use, codes = self.how, ~np.isnan(h), self.codes()
        N = math.inf if s.estimand == "population" else self.looked if s.pool_size is None else s.pool_size
        if codes is not None and codes.max() == 0:
            return 0.0  # one cluster has no interval
        return unseen_variance(
            h[use], self.items.rates[use], items=self.looked, pool_size=N,
            reach=None if s.bounds is None else s.bounds[1] - s.bounds[0], codes=None if codes is None else codes[use],
        )  # fmt: skip

    def _estimate(self, pair: Pair, h: Floats, how: EstimateOptions) -> Estimate:
        """The mean of one system, or of one less another, whose strong ratings are h."""
        rated = replace(self.items, weak=_of(self.items.weak, pair), strong=h)
        return estimate_rated(
            rated if self.rest is None else rated.beside(self.rest.points(pair)), how, self.recalibrate
        )

    def codes(self) -> Codes | None:
        """The items' clusters as numbers."""
        return None if self.items.clusters is None else cluster_codes(self.items.clusters, self.items.rates.size)

    def covariance(self, found: Sequence[Estimate], of: Sequence[Pair]) -> Floats:
        """Joint covariance of the errors of estimates `of` one system each, or of one less another.

        Population: that of the contributions Δ. Pool: only the draw is random, T^{-2} Σ ξ (Δ−H)(Δ−H)ᵀ / (1−π), plus
        Cov(H) (1/T − 1/N) where only T of the pool's N items were looked at.
        """
        T, own, rates = self.looked, self.items.rates.size, self.items.rates[:, None]
        delta, theta = np.stack([e.contributions[:own] for e in found], axis=1), np.array([e.value for e in found])
        if self.how.estimand == "population":
            if self.rest is not None:
                centred = delta - theta
                return np.asarray((centred.T @ centred + self.rest.products(found, of, own)) / (T - 1) / T)
            return np.asarray(sum_variance(delta - delta.mean(axis=0), self.codes()) / T**2)
        strong = np.stack([_of(self.items.strong, pair) for pair in of], axis=1)
        known = ~np.isnan(strong).any(axis=1, keepdims=True)
        drawn = known & (rates < 1)
        off = np.where(drawn, delta - strong, 0.0) / np.sqrt(np.where(drawn, 1 - rates, 1.0))
        N = T if self.how.pool_size is None else self.how.pool_size
        d, w = np.where(known, strong - theta, 0.0), np.where(known, 1.0 / rates, 0.0)
        spread = (d * w).T @ d / w.sum()  # Cov(H) by inverse rates
        covariance = off.T @ off / T**2 + spread * (1 / T - 1 / N)
        # The estimates' own standard errors allow for clusters in a pool.
        error = np.array([math.nan if e.standard_error is None else e.standard_error for e in found])
        sd = np.sqrt(np.diag(covariance))
        factor = np.divide(error, sd, out=np.ones_like(sd), where=(sd > 0) & ~np.isnan(error))
        return np.asarray(covariance * np.outer(factor, factor))


# Reading


def read_systems(
    source: TableLike,
    names: Sequence[str],
    weak: Sequence[str],
    strong: Sequence[str],
    draw: TableColumns,
    how: EstimateOptions,
    recalibrate: Recalibration,
    meaning: Meaning = Meaning(),  # noqa: B008 - frozen
) -> Systems:
    """Systems by their columns of weak and strong ratings, in memory or in files; rows without a rate do not count."""
    check_names(names)
    if recalibrate == "platt":
        raise InputError("platt is for 0/1 ratings, and a difference is none; use affine, isotonic or auto")
    how.refuse_idle_pool_size()
    if how.bounds is not None and not how.bounds[0] < how.bounds[1]:
        raise InputError(f"bounds ({how.bounds[0]:g}, {how.bounds[1]:g}) must be in order")
    relation, found, rest = large_relation(source), None, None
    if relation is not None and recalibrate == "none" and draw.clusters is None and relation.row_in_sql is not None:
        found = large_ratings(relation, weak, strong, draw, meaning)
    if found is None:
        table: Table | SqlTable = (whole := read_whole(source, relation))
        items, numbers, notes = _in_memory(whole, weak, strong, draw, meaning)
    else:
        table, notes = found.relation, found.notes
        items, numbers, rest = _in_files(found, weak)
    how = how if how.bounds is not None else replace(how, bounds=meaning.bounds)
    systems = Systems(tuple(names), items, how, recalibrate, rest=rest)
    pool = TablePool.of(table, systems.looked)
    _check_scale(table.name, systems, numbers)
    if found is not None or (pool.rows > readers.MANY_ROWS and draw.clusters is None):
        assert items.selected is not None
        items = replace(items, folds=row_folds(numbers, items.selected))
    notes += unlooked_note(pool.rows - systems.looked, how) + pool.notes(how)
    binary = how.bounds is None and is_binary(items.strong)
    return replace(systems, items=items, how=pool.how(replace(how, bounds=(0.0, 1.0)) if binary else how), notes=notes)


def _in_memory(
    table: Table, weak: Sequence[str], strong: Sequence[str], draw: TableColumns, meaning: Meaning
) -> tuple[Ratings, RowNumbers, tuple[str, ...]]:
    """All rows that were looked at, their numbers, and notes."""
    read, told = in_numbers(table, strong=strong, weak=weak, meaning=meaning)
    h = np.stack([read.numbers(column, missing="allow") for column in strong], axis=1)
    _refuse_unrated(read.name, h)
    some = np.asarray(~np.isnan(h).all(axis=1))
    drawn = read_draw(read, some, draw)
    check_draw(read.name, drawn, some)
    looked = drawn.looked
    g = np.stack([weak_ratings(read, column, drawn) for column in weak], axis=1)
    if drawn.assumed:
        apart = (*strong, *(column for column in (draw.selected, draw.clusters) if column))
        warn_of_choice(read, some, dict(zip(weak, g.T, strict=True)), apart=apart)
    asked = some | (drawn.rates == 1)
    if drawn.selected is not None:
        asked |= drawn.selected & looked
    clusters = None if draw.clusters is None else cluster_names(read, draw.clusters, looked).astype(np.str_)
    items = Ratings(g[looked], h[looked], drawn.rates[looked], asked[looked], clusters)
    return items, np.flatnonzero(looked), told + drawn.notes


def _rest_of(found: LargeRatings, columns: Sequence[str], pair: Pair) -> Ratings:
    """The rows that were not asked for, condensed by their weak ratings, which are in these columns; checked."""
    what = found.expressions(*pair)
    rows, alone = condense(found.relation.ask, what, folds=False)
    if pair[1] is None:
        check_rows(found, what, rows, columns[pair[0]])
    return rows.part(np.arange(rows.rows) >= alone.shape[0])


def _in_files(found: LargeRatings, columns: Sequence[str]) -> tuple[Ratings, RowNumbers, LargeRest]:
    """Rows with a label of any system, asked for or of rate 1, their numbers, and what is known of all others."""
    points, systems = cache(partial(_rest_of, found, columns)), range(len(columns))
    rest = [points((k, None)) for k in systems]
    values = [*(f"{found.weak[k].sql} AS g{k}, {found.strong[k].sql} AS h{k}" for k in systems)]
    which = [found.labelled, f"{found.rate.sql} >= 1"]
    if found.asked is not None:
        which.append(f"(coalesce({found.asked.sql}, 0) <> 0 AND {found.rate.sql} IS NOT NULL)")
    asked = "0" if found.asked is None else f"coalesce({found.asked.sql}, 0)"
    answer = found.relation.ask(
        f"SELECT {found.relation.row_in_sql} AS r, {found.rate.sql} AS q, {asked} AS s, {', '.join(values)}"
        f" FROM {found.relation.source_in_sql()} WHERE {' OR '.join(which)} ORDER BY r"
    )
    got = {name: floats(unmasked(x)) for name, x in answer.items()}
    g, h = (np.stack([got[f"{letter}{k}"] for k in systems], axis=1) for letter in "gh")
    _refuse_unrated(found.relation.name, h)
    labelled = ~np.isnan(h).all(axis=1)
    drawn = labelled if found.assumed else labelled | (got["s"] != 0)
    for k, column in enumerate(columns if found.assumed else columns[:1]):
        rows = Ratings(g[:, k], h[:, k], got["q"]).beside(rest[k])
        check_large_draw(found, rows, np.r_[drawn, np.zeros(rows.rows - drawn.size, dtype=np.bool_)], column)
    items = Ratings(g, h, got["q"], np.ones(labelled.size, dtype=np.bool_))
    return items, got["r"].astype(np.int64), LargeRest(rest[0].items, _spread(found, g), points)


def _spread(found: LargeRatings, own: Floats) -> Floats:
    """Σ (g − mean)(g − mean)ᵀ over all rows that have a rate, without those of the weak ratings `own`."""
    J = len(found.weak)
    about = [0.0 if one.range is None else 0.5 * sum(one.range) for one in found.weak]
    each = ", ".join(
        f"{one.sql} - {in_sql(x)} AS g{k}" for k, (one, x) in enumerate(zip(found.weak, about, strict=True))
    )
    pairs = [(i, j) for i in range(J) for j in range(i, J)]
    sums = ", ".join([*(f"sum(g{k}) AS s{k}" for k in range(J)), *(f"sum(g{i} * g{j}) AS p{i}_{j}" for i, j in pairs)])
    answer = found.relation.ask(
        f"SELECT count(*) AS n, {sums} FROM (SELECT {each} FROM {found.relation.source_in_sql()}"
        f" WHERE {found.rate.sql} IS NOT NULL) t"
    )
    d = own - np.array(about)
    n = float(answer["n"][0]) - own.shape[0]
    total = np.array([float(answer[f"s{k}"][0]) for k in range(J)]) - d.sum(axis=0)
    square = np.zeros((J, J))
    for i, j in pairs:
        square[i, j] = square[j, i] = float(answer[f"p{i}_{j}"][0])
    return np.asarray(square - d.T @ d - np.outer(total, total) / max(n, 1.0))


def _refuse_unrated(name: str, h: Floats) -> None:
    if np.isnan(h).any(axis=1).all():
        raise TableError(f"no row of {name} has the strong rating of every system; a comparison needs two")


def check_names(names: Sequence[str]) -> None:
    """Every system has a name of its own."""
    blank = [name for name in names if not name.strip()]
    if blank:
        raise InputError("a system's name is empty; give every system a name")
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise InputError(f"two systems are called {min(twice)!r}; give every system a name of its own")


def _check_scale(name: str, systems: Systems, rows: RowNumbers) -> None:
    """Strong ratings are on the scale, and answers still missing need its ends; `rows` are the numbers of the rows."""
    h, bounds, missing = systems.items.strong, systems.how.bounds, systems.missing()
    if bounds is not None:
        outside = np.asarray(((h < bounds[0]) | (h > bounds[1])).any(axis=1))
        if outside.any():
            row = int(rows[np.argmax(outside)]) + 1
            raise TableError(f"row {row} of {name} has a strong rating outside the bounds; give the scale's ends")
    elif missing.any() and not is_binary(h):
        row = int(np.argmax(missing))
        system = systems.names[int(np.argmax(np.isnan(h[row])))]
        raise TableError(
            Message(
                f"row {int(rows[row]) + 1} of {name} was asked for and lacks the strong rating of {system!r} "
                f"({int(missing.sum())} such rows); get it, or give {argument('bounds=(low, high)')} to count it at "
                "both ends"
            )
        )


def is_binary(h: Floats) -> bool:
    """Whether all ratings that are known are 0 or 1."""
    known = h[~np.isnan(h)]
    return bool(np.all((known == 0) | (known == 1)))


_MOST_TIMES = 1000.0  # more than so many times the ratings to tell two systems apart is not worth saying


# What is said of them


@dataclass(frozen=True, slots=True, repr=False)
class Ratio(Result):
    """One mean over another, less a part of it for the lift; `None` with the reason where there is no such number."""

    value: float | None
    interval: tuple[float, float] | None
    level: float
    reason: str | None = None

    def to_dict(self) -> dict[str, Any]:
        low, high = self.interval or (None, None)
        return {"value": self.value, "low": low, "high": high, "level": self.level, "reason": self.reason}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Comparison(Result):
    """A against B on the same items; a higher rating counts as better. Undefined is `None` with a reason in `notes`.

    `probability_better` is the confidence distribution of the difference at 0: one minus the one-sided p-value of "A is
    not better". It is above 97.5 % exactly where the 95 % interval is above 0. It is no Bayesian posterior with a prior
    of one's own, and says nothing of how much better A is, nor of a single answer.

    `difference` is estimated from the items' differences, `first` and `second` each from its own ratings; where weak
    ratings are tuned, each for itself, the first less the second is close to the difference and not the same.
    `pairing` is how many times the ratings two separate samples would need for the same precision.
    """

    names: tuple[str, str]
    difference: Estimate
    first: Estimate
    second: Estimate
    probability_better: float | None
    ratio: Ratio
    relative_lift: Ratio
    pairing: float | None
    paired: bool  # False: two samples, each with items of its own
    sentence: str
    notes: tuple[str, ...] = ()

    def named(self) -> list[tuple[str, Estimate]]:
        """Either mean and the difference, by name."""
        return list(zip((*self.names, "difference"), (self.first, self.second, self.difference), strict=True))

    def _rows(self) -> list[dict[str, Any]]:
        return [{"name": name} | e.to_dict() for name, e in self.named()]

    def summary(self) -> str:
        return self.sentence

    def document(self) -> list[Part]:
        table = DataTable([
            Column("", "name"), Column("value"), Column(f"{percent(self.difference.level)} interval"),
            Column("std. error", leaves=1),
        ])  # fmt: skip
        for name, e in self.named():
            error = "–" if e.standard_error is None else f"{e.standard_error:.4f}"
            style: Style = "strong" if e is self.difference else ""
            table.add(name, signed(e.value), between(e.interval), error, style=style)
        for name, r, told in (("ratio", self.ratio, signed), ("relative lift", self.relative_lift, lifted)):
            value = "none" if r.value is None else told(r.value)
            table.add(name, value, "none" if r.interval is None else " to ".join(map(told, r.interval)), "")
        if self.paired:
            d, times = self.difference, self.pairing
            rests = f"Rests on {d.labels:,} items with both strong ratings, of {d.items:,}"
            if times is not None and times >= _WORTH_SAYING:
                many = f"{times:.1f}" if times < _MANY_TIMES else f"more than {_MANY_TIMES}"
                rests += f"; two separate samples would need {many} times as many"
        else:
            sides = (f"{e.labels:,} strong ratings of {e.items:,} items" for e in (self.first, self.second))
            rests = f"Rests on {' and '.join(sides)}"
        reasons = (self.ratio.reason,) if self.ratio.reason else ()
        rested = Sentence(f"{rests}.", "quiet")
        return [table, Sentence(), Sentence(self.sentence), rested, *noted(reasons + self.notes)]


_MANY_TIMES = 100  # beyond it the figure says only that the two systems hardly ever differ
_WORTH_SAYING = 1.05  # times as many: less is no gain of pairs


Verdict = Literal["better", "worse", "undecided"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Rival(Result):
    """One system against the baseline; the difference's interval holds together with those of the others."""

    name: str
    mean: Estimate
    difference: Estimate
    probability_better: float | None  # of this comparison alone
    p_value: float | None  # two-sided, of this comparison alone
    adjusted_p_value: float | None  # that any of all the comparisons would be as far from 0, were there no difference
    verdict: Verdict

    def row(self) -> dict[str, Any]:
        """The numbers side by side, for a table."""
        d = self.difference
        numbers = {"difference": d.value, "standard_error": d.standard_error, "low": d.low, "high": d.high}
        rest = ("probability_better", "p_value", "adjusted_p_value", "verdict")
        return {"name": self.name, "mean": self.mean.value} | numbers | {name: getattr(self, name) for name in rest}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ManyComparisons(Result):
    """Every system against the baseline, best first; all intervals hold together at `level`.

    `each_level` is the level that each interval has alone: higher, so that all of them hold at once.
    """

    baseline: str
    baseline_mean: Estimate
    rivals: tuple[Rival, ...]
    level: float
    each_level: float
    sentence: str
    notes: tuple[str, ...] = ()

    def of(self, name: str) -> Rival:
        """One system's row."""
        rivals = {rival.name: rival for rival in self.rivals}
        if name not in rivals:
            raise InputError(f"no system is called {name!r}; there are {', '.join(rivals)}")
        return rivals[name]

    def _rows(self) -> list[dict[str, Any]]:
        return [rival.row() for rival in self.rivals]

    def summary(self) -> str:
        return self.sentence

    def document(self) -> list[Part]:
        table = DataTable([
            Column("system", "name"), Column("mean", leaves=2), Column("difference"),
            Column(f"{percent(self.level)} interval"), Column("adjusted p", leaves=3), Column("better", leaves=1),
            Column(""),
        ])  # fmt: skip
        styles: dict[Verdict, Style] = {"better": "best", "worse": "warning", "undecided": ""}
        for r in self.rivals:
            p, sure = r.adjusted_p_value, r.probability_better
            table.add(
                r.name, f"{r.mean.value:.4f}", signed(r.difference.value), between(r.difference.interval),
                "–" if p is None else "< 0.0001" if p < 0.0001 else f"{p:.4f}",
                "–" if sure is None else probability(sure), r.verdict, style=styles[r.verdict],
            )  # fmt: skip
        table.add(self.baseline, f"{self.baseline_mean.value:.4f}", "", "", "", "", "baseline", style="quiet")
        d = self.rivals[0].difference
        legend = (
            f"The intervals hold together: the chance that any of them is wrong is {percent(1 - self.level)}. better: "
            f"the probability of each comparison alone. {d.labels:,} items with strong ratings, of {d.items:,}."
        )
        return [table, Sentence(legend, "quiet"), Sentence(), Sentence(self.sentence), *noted(self.notes)]


def compare(
    table: TableLike,
    *,
    weak: tuple[str, str],
    strong: tuple[str, str],
    rate: Rate = None,
    selected: str | None = None,
    names: tuple[str, str] | None = None,
    method: Method = "auto",
    level: float = 0.95,
    estimand: Estimand = "population",
    pool_size: float | None = None,
    clusters: str | None = None,
    recalibrate: Recalibration = "none",
    bounds: tuple[float, float] | None = None,
    positive: Positive = None,
    scale: Scale = None,
    seed: int = 0,
) -> Comparison:
    """The first system against the second: how much higher its mean strong rating is, and how sure that is.

    `weak` and `strong` name the columns of the two systems' ratings of the same items; `rate` is the probability with
    which an item got both strong ratings. An item with one of the two was asked for the other: that answer is missing,
    and is counted at both ends of the scale (`bounds`, not needed for 0/1 ratings), as are those that the column
    `selected` says were asked for. `clusters` names a column of items that belong together. `names` are what the
    sentence calls the systems (the strong columns' names if absent). Where lower ratings are better, swap the two.
    Ratings may be words, see `estimate_table` for `positive` and `scale`.

    Limiting cases: rates of 1 give the paired t test, for 0/1 ratings with half an item more in favour of either
    system (Agresti and Min 2005); systems that never differ have no interval, unless the scale's ends are known; a
    second mean near 0 gives no interval for the ratio.
    """
    given = strong if names is None else names
    if len(weak) != 2 or len(strong) != 2 or len(given) != 2:
        raise InputError("a comparison is of two systems: give two weak columns, two strong columns and two names")
    draw = TableColumns(None, None, rate, selected, clusters)
    how = EstimateOptions(method, "auto", level, estimand, pool_size, bounds, seed=seed)
    return of_pair(read_systems(table, given, weak, strong, draw, how, recalibrate, meaning_of(positive, scale)))


def compare_many(
    table: TableLike,
    *,
    baseline: str,
    weak: Mapping[str, str],
    strong: Mapping[str, str],
    rate: Rate = None,
    selected: str | None = None,
    method: Method = "auto",
    level: float = 0.95,
    estimand: Estimand = "population",
    pool_size: float | None = None,
    clusters: str | None = None,
    recalibrate: Recalibration = "none",
    bounds: tuple[float, float] | None = None,
    positive: Positive = None,
    scale: Scale = None,
    seed: int = 0,
) -> ManyComparisons:
    """All systems against one of them, on the same items, with one probability that any interval is wrong.

    `weak` and `strong` give each system's columns by its name. The intervals come from the joint covariance of the
    differences, which share the baseline and the items (as Dunnett's do): narrower than Bonferroni's. Student's
    correction for few labels is each difference's own. Where answers are missing there is no common covariance, and
    the intervals are Bonferroni's, each with the missing answers at both ends of the scale.

    Limiting case: one system besides the baseline gives `compare`'s interval.
    """
    if set(weak) != set(strong):
        odd = min(set(weak) ^ set(strong))
        raise InputError(f"system {odd!r} needs a weak and a strong column; it is named in one of the two only")
    if len(strong) < 2 and baseline in strong:
        raise InputError("give at least one system besides the baseline")
    order = against(list(strong), baseline)
    draw = TableColumns(None, None, rate, selected, clusters)
    how = EstimateOptions(method, "auto", level, estimand, pool_size, bounds, seed=seed)
    g, h = [weak[name] for name in order], [strong[name] for name in order]
    return of_many(read_systems(table, order, g, h, draw, how, recalibrate, meaning_of(positive, scale)))


def against(names: Sequence[str], baseline: str | None) -> list[str]:
    """The systems' names with the baseline last; of two systems the second is it, where none is named."""
    if baseline is None and len(names) != 2:
        choices = ", ".join(names)
        raise InputError(Message(f"{len(names)} systems need a {argument('baseline')}; choose one of {choices}"))
    last = names[1] if baseline is None else baseline
    if last not in names:
        raise InputError(f"the baseline {last!r} is no system; choose one of {', '.join(names)}")
    return [*(name for name in names if name != last), last]


def of_pair(systems: Systems) -> Comparison:
    """The first of two systems against the second."""
    found = difference, first, second = systems.difference(0, 1), systems.mean(0), systems.mean(1)
    gap, error = abs(first.value - second.value - difference.value), difference.standard_error
    notes = (*systems.notes, *difference.notes)
    if error is not None and gap >= 0.05 * error:
        notes += (
            "the difference is estimated by itself, which is more precise than one mean less the other, and so it is "
            "not quite equal to that",
        )
    names = (systems.names[0], systems.names[1])
    return compared(names, found, error_probability(difference), _ratio(systems, found), notes)


def compared(
    names: tuple[str, str], found: tuple[Estimate, Estimate, Estimate], sure: float | None, ratio: Ratio,
    notes: tuple[str, ...], *, paired: bool = True,
) -> Comparison:  # fmt: skip
    """The comparison of a difference and two means, with what follows from them."""
    difference, first, second = found
    d, a, b = (e.standard_error for e in found)
    pairing = None if d is None or a is None or b is None else (a**2 + b**2) / d**2  # Var(A) + Var(B) over Var(A − B)
    said = sentence(names, difference, sure)
    return Comparison(
        names, difference, first, second, sure, ratio, lift(ratio, second.value), pairing, paired, said, notes
    )


def of_many(systems: Systems) -> ManyComparisons:
    """All systems against the last one."""
    K, how = len(systems.names) - 1, systems.how
    alone = [systems.difference(k, K) for k in range(K)]
    covariance, each = _together(systems, alone)
    sure = [error_probability(e) for e in alone]
    raw = [None if p is None else 2 * min(p, 1 - p) for p in sure]
    adjusted = _adjusted(raw, covariance, seed=how.seed)
    together = [replace(systems.difference(k, K, level=each), level=how.level) for k in range(K)]
    notes = systems.notes
    if systems.missing().any() and K > 1:
        notes += ("answers are missing, so the intervals hold together by Bonferroni's correction",)
    means = [systems.mean(k) for k in range(K + 1)]
    return _of_rivals(systems.names, means, together, sure, raw, adjusted, level=how.level, each=each, notes=notes)


def of_many_apart(
    names: Sequence[str], means: Sequence[Estimate], differences: Sequence[Estimate], sure: Sequence[float | None], *,
    level: float, each: float, notes: tuple[str, ...],
) -> ManyComparisons:  # fmt: skip
    """Systems whose rows were drawn each at rates of their own against the last one, with Bonferroni's correction."""
    raw = [None if p is None else 2 * min(p, 1 - p) for p in sure]
    adjusted = _adjusted(raw, None, seed=0)
    return _of_rivals(names, means, differences, sure, raw, adjusted, level=level, each=each, notes=notes)


def _of_rivals(
    names: Sequence[str], means: Sequence[Estimate], differences: Sequence[Estimate], sure: Sequence[float | None],
    raw: Sequence[float | None], adjusted: Sequence[float | None], *, level: float, each: float,
    notes: tuple[str, ...],
) -> ManyComparisons:  # fmt: skip
    """All differences from the last system, best first."""
    rivals = []
    for k, d in enumerate(differences):
        verdict: Verdict = "undecided"
        if d.interval is not None and not d.interval[0] <= 0 <= d.interval[1]:
            verdict = "better" if d.interval[0] > 0 else "worse"
        rivals.append(Rival(names[k], means[k], d, sure[k], raw[k], adjusted[k], verdict))
    rivals.sort(key=lambda rival: -rival.difference.value)
    said = _many_in_words(names[-1], rivals, level)
    return ManyComparisons(names[-1], means[-1], tuple(rivals), level, each, said, notes + _own_notes(rivals))


# Several differences together


def _together(systems: Systems, found: Sequence[Estimate]) -> tuple[Floats | None, float]:
    """The joint covariance, and the level at which each interval must hold for all to hold at once."""
    level, K = systems.how.level, len(found)
    if systems.missing().any() or all(e.standard_error is None for e in found):
        return None, 1 - (1 - level) / K
    h = systems.items.strong
    unseen = np.array([systems.unseen(h[:, k] - h[:, K]) for k in range(K)])
    covariance = systems.covariance(found, [(k, K) for k in range(K)])
    covariance += 0.5 * (np.diag(unseen) + np.sqrt(np.outer(unseen, unseen)))  # the baseline's half is in all
    if K == 1 or not np.any(np.diag(covariance) > 0):
        return covariance, level
    c = simultaneous_quantile(covariance, level, seed=systems.how.seed)
    return covariance, float(np.clip(2 * special.ndtr(c) - 1, level, 1 - (1 - level) / K))


def _adjusted(raw: list[float | None], covariance: Floats | None, *, seed: int) -> list[float | None]:
    """P(the largest of all |errors| is as far out), each p-value first put on the normal's scale.

    Between the p-value itself and Bonferroni's K times it, whatever the draws say.
    """
    K = len(raw)
    if covariance is None:
        return [None if p is None else min(1.0, K * p) for p in raw]
    sd = np.sqrt(np.diag(covariance))
    use = sd > 0
    if not use.any():
        return [None] * K
    largest = np.abs(normal_draws(covariance[np.ix_(use, use)], seed=seed) / sd[use]).max(axis=1)

    def beyond(p: float) -> float:
        return float(np.mean(largest >= -special.ndtri(max(p, 1e-300) / 2)))

    return [None if p is None else float(np.clip(beyond(p), p, min(1.0, K * p))) for p in raw]


# The ratio of two means


def ratio(first: float, second: float, covariance: Floats, *, quantile: float, level: float) -> Ratio:
    """first / second with the set of all ρ that a test of E[first − ρ second] = 0 does not reject (Fieller).

    (a − ρ b)² ≤ q² (v_aa − 2 ρ v_ab + ρ² v_bb), a parabola in ρ: an interval where b is clearly away from 0, that is
    b² > q² v_bb; else the set is unbounded and there is none. `covariance` is that of the two estimates (2 × 2).

    Limiting cases: v_bb = v_ab = 0 gives the first one's interval over b; no variance at all gives the ratio alone.
    """
    a, b, q2 = first, second, quantile**2
    v_aa, v_ab, v_bb = float(covariance[0, 0]), float(covariance[0, 1]), float(covariance[1, 1])
    A, B, C = b * b - q2 * v_bb, a * b - q2 * v_ab, a * a - q2 * v_aa
    if b == 0 or not math.isfinite(a / b):
        return Ratio(None, None, level, "the second mean is 0 or too close to it, so there is no ratio to it")
    if A <= 0:
        return Ratio(a / b, None, level, "the second mean is not clearly away from 0, so the ratio has no bounds")
    if v_aa <= 0 and v_bb <= 0:
        return Ratio(a / b, None, level, "the errors of the two means are unknown")
    half = math.sqrt(max(B * B - A * C, 0.0))
    return Ratio(a / b, ((B - half) / A, (B + half) / A), level)


def lift(found: Ratio, second: float) -> Ratio:
    """(first − second) / |second|: above 0 where the first is higher, also where the second mean is below 0."""
    if found.value is None:
        return found
    sign = math.copysign(1.0, second)
    ends = None if found.interval is None else sorted(sign * (x - 1.0) for x in found.interval)
    return replace(found, value=sign * (found.value - 1.0), interval=None if ends is None else (ends[0], ends[1]))


def _ratio(systems: Systems, found: tuple[Estimate, Estimate, Estimate]) -> Ratio:
    """Fieller's, with the same room for items unlike those seen as the difference has: half of it in either mean.

    Means without a standard error are exact where the whole pool is labelled; else there is no interval.
    """
    (difference, first, second), h = found, systems.items.strong
    unseen = systems.unseen(h[:, 0] - h[:, 1])
    if systems.missing().any():
        return Ratio(None, None, first.level, "answers are missing, so the two means have no common error")
    if first.standard_error is None and second.standard_error is None and unseen <= 0:
        alone = ratio(first.value, second.value, np.zeros((2, 2)), quantile=0.0, level=first.level)
        if alone.value is None or any(e.interval != (e.value, e.value) for e in (first, second)):
            return alone
        return replace(alone, interval=(alone.value, alone.value), reason=None)
    covariance = systems.covariance((first, second), [(0, None), (1, None)]) + 0.5 * unseen * np.eye(2)
    return ratio(first.value, second.value, covariance, quantile=error_quantile(difference), level=first.level)


# In words


def sentence(names: tuple[str, str], difference: Estimate, sure: float | None) -> str:
    """The result of a comparison in plain words."""
    (a, b), value = names, difference.value
    if difference.interval is None:
        above = f"{signed(abs(value))} {'above' if value > 0 else 'below'}" if value else "level with"
        return f"{a} is {above} {b}; how sure that is cannot be said ({'; '.join(difference.notes)})."
    low, high = difference.interval
    likely = "" if sure is None else f"; the probability that {a} is better is {probability(sure)}"
    level = f"{percent(difference.level)} interval"
    if low > 0:
        return f"{a} is better than {b} by {signed(value)} ({level} {between((low, high))}){likely}."
    if high < 0:
        return f"{a} is worse than {b} by {signed(-value)} ({level} {between((-high, -low))}){likely}."
    return (
        f"{a} and {b} cannot be told apart: the difference is {signed(value)} "
        f"({level} {between((low, high))}){likely}.{_needed(difference)}"
    )


def _needed(difference: Estimate) -> str:
    """A sentence on how many more ratings would decide; empty unless the population is asked about."""
    if difference.estimand != "population" or difference.interval is None or difference.standard_error is None:
        return ""
    n = difference.labels
    half = 0.5 * (difference.interval[1] - difference.interval[0])
    times = (half / abs(difference.value)) ** 2 if difference.value else math.inf
    halve = f" About {rounded_up(3 * n):,} more items with strong ratings, at the same rates, would halve the interval"
    if times > _MOST_TIMES:
        return halve + "."
    return f"{halve}, and about {rounded_up(max((times - 1) * n, 1.0)):,} would show a difference as large as this one."


def _many_in_words(baseline: str, rivals: Sequence[Rival], level: float) -> str:
    said = []
    for verdict, words in (("better", "better than"), ("worse", "worse than"), ("undecided", "not told apart from")):
        names = [r.name for r in rivals if r.verdict == verdict]
        if names:
            said.append(f"{_listed(names)} {'is' if len(names) == 1 else 'are'} {words} {baseline}")
    return f"{'; '.join(said)} ({percent(level)} intervals that hold together)."


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _own_notes(rivals: Sequence[Rival]) -> tuple[str, ...]:
    """Every note of the comparisons once; a note of only some of them names these."""
    notes: dict[str, list[str]] = {}
    for rival in rivals:
        for note in rival.difference.notes:
            notes.setdefault(note, []).append(rival.name)
    return tuple(note if len(names) == len(rivals) else f"{_listed(names)}: {note}" for note, names in notes.items())


def percent(level: float) -> str:
    """A level as people write it."""
    return f"{100 * level:g}%"


def probability(p: float) -> str:
    """A probability in percent, never 0 or 100."""
    if p > 0.999:
        return "above 99.9%"
    return "below 0.1%" if p < 0.001 else f"{100 * p:.1f}%"


def signed(x: float) -> str:
    """Four digits after the point, with a minus sign that is one; more for small numbers."""
    digits = 4 if abs(x) >= 0.001 or x == 0 else 3 - math.floor(math.log10(abs(x)))
    return f"{x + 0.0:.{digits}f}".replace("-", "−")  # no minus before a zero


def lifted(x: float) -> str:
    """A lift in percent, with its sign."""
    return f"{100 * x:+.1f}%".replace("-", "−")


def between(interval: tuple[float, float] | None) -> str:
    """An interval as people write it."""
    return "none" if interval is None else f"{signed(interval[0])} to {signed(interval[1])}"


_MOST_SYSTEMS = 50


# A table each


@dataclass(frozen=True, slots=True, eq=False)
class _Side:
    """One of the two tables: its rows, its mean, and the name of what each row comes from (an item or a cluster)."""

    items: Ratings
    mean: Estimate
    bounds: tuple[float, float] | None
    ids: Texts | None  # of the items; None where nothing tells them apart
    rated: RatedTable | None = None  # None: from a campaign, whose own estimate the mean is

    @property
    def contributed(self) -> Ratings:
        """The items with their contributions in the weak rating's place."""
        return Ratings(self.mean.contributions, self.items.strong, self.items.rates)


def compare_tables(
    table: TableLike,
    with_table: TableLike,
    *,
    strong: Strong | None = None,
    weak: str | None = None,
    rate: Rate = None,
    selected: str | None = None,
    clusters: str | None = None,
    id: str | None = None,
    last: TableColumns | None = None,
    names: tuple[str, str] = ("this", "last"),
    method: Method = "auto",
    level: float = 0.95,
    estimand: Estimand | None = None,
    recalibrate: Recalibration = "none",
    bounds: tuple[float, float] | None = None,
    positive: Positive = None,
    scale: Scale = None,
    seed: int = 0,
) -> Comparison:
    """How much higher the mean strong rating of `table` is than that of `with_table`, and how sure that is.

    The columns are called alike in both tables, unless `last` says what they are called in the second one. Items are
    told by the column `id` (`id`, if both tables have one). Where both tables have the same items with the same rates
    and labels, the comparison is paired, as `compare` does it. Else each mean keeps its own interval and the difference
    is made of the two (Newcombe 1998); items in both tables count by what their contributions have in common.

    The export of a campaign needs no columns: its mean is what the campaign reports, and so is whose mean it is, unless
    `estimand` says it (else: the population's).

    Limiting cases: no item in common gives two independent samples; all of them, drawn together, gives `compare`.
    """
    check_names(names)
    tables = read_table(table), read_table(with_table)
    if estimand is None:
        exports = [terms.estimand for terms in map(read_terms, tables) if terms is not None]
        estimand = exports[0] if exports else "population"
    how = EstimateOptions(method, "auto", level, estimand, None, bounds, seed=seed)
    own, meaning = TableColumns(strong, weak, rate, selected, clusters, id), meaning_of(positive, scale)
    first, second = (
        _side(one, columns, how, recalibrate, meaning)
        for one, columns in zip(tables, (own, own if last is None else last), strict=True)
    )
    paired = _paired(names, first, second, how, recalibrate)
    return _unpaired(names, first, second) if paired is None else of_pair(paired)


def _side(
    table: Table, columns: TableColumns, how: EstimateOptions, recalibrate: Recalibration, meaning: Meaning
) -> _Side:
    """One table with its mean; a campaign's export with the mean that the campaign reports."""
    terms, plain = read_terms(table), how.plain and recalibrate == "none" and meaning == Meaning()
    if terms is not None and plain and terms.named(columns):
        mean, pooled = reported(table, terms, level=how.level, estimand=how.estimand)
        looked = ~np.isnan(table.numbers(terms.rates[-1], missing="allow"))
        items = pooled.items
        weak, rates = (x.reshape(items.strong.size, -1)[:, -1] for x in (items.weak, items.rates))
        items = replace(items, weak=weak, rates=rates)
        rated = RatedTable(table, items, looked, looked, (), False, TablePool.of(table, table.rows))
        return _Side(items, mean, (terms.low, terms.high), _ids(table, columns.id, rated))
    if columns.strong is None:
        raise InputError("name the column with the strong rating: strong, or --strong on the command line")
    ready = made_ready(table, columns.strong, columns.weak, meaning)
    ready.refuse_pool(how.estimand)
    refuse_unused_weights(ready.table, columns.rate)
    rated = read_rated(ready, columns, fewest=2)
    own = rated.how(how)
    mean = estimate_rated(rated.items, own, recalibrate)
    mean = replace(mean, notes=rated.notes(how) + mean.notes)
    return _Side(rated.items, mean, own.bounds, _ids(ready.table, columns.id, rated), rated)


def _ids(table: Table, column: str | None, rated: RatedTable) -> Texts | None:
    if column is None and "id" not in table.columns:
        return None
    found: Texts = table.ids(column)[rated.rows]
    return found


def _paired(
    names: tuple[str, str], a: _Side, b: _Side, how: EstimateOptions, recalibrate: Recalibration
) -> Systems | None:  # fmt: skip
    """Both tables as one, where they have the same items, rates and labels: then these were drawn once, for both."""
    if a.rated is None or b.rated is None or a.rated.alone or b.rated.alone:
        return None
    if a.ids is None or b.ids is None or a.ids.size != b.ids.size:
        return None
    order = np.empty(a.ids.size, dtype=np.intp)  # of the second one's rows, to be that of the first one's
    order[np.argsort(a.ids)] = np.argsort(b.ids)
    x, y = a.items, b.items
    strong = np.stack([x.strong, y.strong[order]], axis=1)
    rated = ~np.isnan(strong)
    alike = np.array_equal(a.ids, b.ids[order]) and np.array_equal(x.rates, y.rates[order])
    if not alike or not np.array_equal(rated[:, 0], rated[:, 1]):
        return None
    drawn = rated.any(axis=1) | (x.rates == 1)
    for selected in (x.selected, None if y.selected is None else y.selected[order]):
        drawn = drawn if selected is None else drawn | selected
    clusters = None if x.clusters is None else x.clusters.astype(np.str_)
    items = Ratings(np.stack([x.weak, y.weak[order]], axis=1), strong, x.rates, np.asarray(drawn), clusters)
    ends = (0.0, 1.0) if a.bounds is None and is_binary(strong) else a.bounds
    told = ("both tables have the same items, drawn together: the comparison is paired", *a.rated.notes(how))
    return Systems(names, items, a.rated.how(replace(how, bounds=ends)), recalibrate, told)


def _unpaired(names: tuple[str, str], a: _Side, b: _Side, shared: tuple[float, str] | None = None) -> Comparison:
    covariance, told = shared or _common(a, b)
    difference = _difference(a.mean, b.mean, covariance)
    of_both = _ratio_of_two(a.mean, b.mean, covariance)
    notes = [f"{name}: {note}" for name, side in zip(names, (a, b), strict=True) for note in side.mean.notes]
    # The interval says how sure it is, whether or not both means have a standard error.
    sure = error_probability(replace(difference, standard_error=difference.standard_error or 0.0))
    return compared(names, (difference, a.mean, b.mean), sure, of_both, (told, *notes), paired=False)


def _common(a: _Side, b: _Side, *, one_draw: bool = False) -> tuple[float, str]:
    """Covariance through shared items, and what there is to say about them; `one_draw`: it is known to be one."""
    if a.ids is None or b.ids is None:
        return 0.0, (
            "two samples: no column tells which items are the same in both tables, so all are taken as different"
        )
    shared, *rows = np.intersect1d(a.ids.astype(np.str_), b.ids.astype(np.str_), return_indices=True)
    if not shared.size:
        return 0.0, "two samples: the tables have no item in common"
    said = f"two samples: {shared.size:,} items are in both tables, each drawn by itself; "
    if one_draw:
        said = f"{shared.size:,} prompts have rows of both systems, drawn by one random number: "
    if a.mean.estimand == "population":
        x, y = (
            ids if clusters is None else clusters
            for ids, clusters in ((a.ids, a.items.clusters), (b.ids, b.items.clusters))
        )
        found = shared_covariance((a.mean.contributions, b.mean.contributions), (x, y))
        return found, said + "the interval allows for items that both have"
    ours, theirs = a.contributed, b.contributed
    alike = ours.part(rows[0]), theirs.part(rows[1])
    assert a.mean.pool_size is not None, "a pool's own mean knows its pool"
    assert b.mean.pool_size is not None
    pools, same = (a.mean.pool_size, b.mean.pool_size), one_draw or looks_like_one_draw(*alike)
    found = pool_covariance(ours, theirs, *alike, pools=pools, one_draw=same)
    one = "one draw took them for both (the same seed), and the interval allows for it"
    return found, said + (one if same else "their draws are independent")


def _difference(a: Estimate, b: Estimate, covariance: float) -> Estimate:
    """One mean less the other; the interval is Newcombe's."""
    known = a.standard_error is not None and b.standard_error is not None
    variance = (a.standard_error or 0.0) ** 2 + (b.standard_error or 0.0) ** 2 - 2 * covariance
    r, ends = 0.0, None
    if a.standard_error and b.standard_error:
        r = float(np.clip(covariance / (a.standard_error * b.standard_error), -1.0, 1.0))
    if a.interval is not None and b.interval is not None:
        ends = difference_interval((a.value, b.value), (a.interval, b.interval), r)
    kinds = ", ".join(dict.fromkeys((a.interval_method, b.interval_method)))
    return Estimate(
        value=a.value - b.value,
        standard_error=math.sqrt(variance) if known and variance > 0 else None,
        interval=ends,
        level=a.level,
        items=a.items + b.items,
        labels=a.labels + b.labels,
        method="; ".join(dict.fromkeys((a.method, b.method))),
        interval_method=f"two samples ({kinds})",
        estimand=a.estimand,
        notes=() if ends is not None else ("one of the two means has no interval",),
    )


def _ratio_of_two(a: Estimate, b: Estimate, covariance: float) -> Ratio:
    """One mean over the other; each end comes from the ends of their intervals that lead there, as the difference's do.

    Where both intervals are symmetric it is Fieller's.
    """
    x, y = a.standard_error, b.standard_error
    if x is None or y is None or a.interval is None or b.interval is None:
        return Ratio(None, None, a.level, "the error of one of the two means is unknown")
    r = float(np.clip(covariance / (x * y), -1.0, 1.0)) if x and y else 0.0
    (a_down, a_up), (b_down, b_up) = (abs(np.subtract(ends, e.value)) for e, ends in ((a, a.interval), (b, b.interval)))
    if b.value < 0:
        a_down, a_up, b_down, b_up = a_up, a_down, b_up, b_down
    if (a.value < 0) != (b.value < 0):
        b_down, b_up = b_up, b_down
    lower, higher = (
        ratio(a.value, b.value, np.array([[p * p, r * p * q], [r * p * q, q * q]]), quantile=1.0, level=a.level)
        for p, q in ((a_down, b_up), (a_up, b_down))
    )
    if lower.interval is None or higher.interval is None:
        return lower if lower.interval is None else higher
    return replace(lower, interval=(lower.interval[0], higher.interval[1]))


# A campaign's systems, each row drawn at its own rate and all rows of an item by one random number


def compare_pooled(
    pooled: Pooled, systems: Texts, sizes: Mapping[str, float], baseline: str, ids: Texts | None
) -> Comparison | ManyComparisons:
    """Systems of a campaign against its baseline, from all rounds as one draw; differences hold all at once.

    `systems` and `ids` say whose row each item is and of which prompt, `sizes` how many rows each system has.
    """
    t, names = pooled.terms, against(list(sizes), baseline)
    level = 1 - (1 - t.level_at) / (len(names) - 1)
    sides = []
    for name in names:
        here = np.asarray(systems == name)
        part = pooled.items.part(here)
        if part.labels < 2:
            raise InputError(f"system {name!r} has {part.labels} strong ratings; a comparison needs two at least")
        part = replace(part, clusters=None) if ids is not None else part  # one row of each prompt
        size = float(sizes[name]) if t.estimand == "pool" else None
        unseen = unseen_kinds(part) if t.unseen else 0.0
        terms = replace(t, level_at=level, level=level, unseen=unseen, anytime=False, pool_size=size)
        mean = estimate_pooled(Pooled(terms, part)).within((t.low, t.high))
        sides.append(_Side(part, mean, (t.low, t.high), None if ids is None else ids[here]))
    last = sides[-1]  # the baseline's
    shared = [_common(one, last, one_draw=True) for one in sides[:-1]]
    told = tuple(dict.fromkeys(words for _, words in shared))

    def shown(e: Estimate) -> Estimate:
        kind = f"anytime ({e.interval_method})" if t.anytime else e.interval_method
        return replace(e, level=t.level, interval_method=kind)

    if len(names) == 2:
        found = _unpaired((names[0], names[1]), sides[0], last, shared[0])
        d, a, b = map(shown, (found.difference, found.first, found.second))
        return replace(
            found, difference=d, first=a, second=b, sentence=sentence(found.names, d, found.probability_better)
        )
    apart = [_difference(one.mean, last.mean, both) for one, (both, _) in zip(sides, shared, strict=False)]
    sure = [error_probability(replace(d, standard_error=d.standard_error or 0.0)) for d in apart]
    means = [shown(side.mean) for side in sides]
    return of_many_apart(names, means, [shown(d) for d in apart], sure, level=t.level, each=level, notes=told)


# A row for each item and system


def compare_long(
    table: TableLike,
    *,
    system: str,
    strong: str | None = None,
    weak: str | None = None,
    id: str | None = None,
    baseline: str | None = None,
    rate: Rate = None,
    selected: str | None = None,
    clusters: str | None = None,
    method: Method = "auto",
    level: float = 0.95,
    estimand: Estimand = "population",
    recalibrate: Recalibration = "none",
    bounds: tuple[float, float] | None = None,
    positive: Positive = None,
    scale: Scale = None,
    seed: int = 0,
) -> Comparison | ManyComparisons:
    """Systems of a table with one row per item and system: column `system` says whose row it is, `id` of which item.

    Where every system has every item, drawn together, the comparison is paired, as `compare` and `compare_many` do it.
    Two systems that were rated apart are compared as two tables, see `compare_tables`. Without a `baseline` the second
    of two systems is it. The export of a campaign that compares these systems needs no columns.
    """
    if strong is None:
        if weak is not None:
            raise InputError(NO_STRONG)
        return _exported(read_table(table), system, baseline)
    said = meaning_of(positive, scale)
    read, told = in_numbers(read_table(table), strong=(strong,), weak=() if weak is None else (weak,), meaning=said)
    ends = said.bounds if bounds is None else bounds
    if id is None and "id" not in read.columns:
        raise TableError(Message(f"{read.name} has no column 'id'; name the column of item ids ({argument('id')})"))
    id = "id" if id is None else id
    rows = _rows_by_system(read, system, id)
    names = against(list(rows), baseline)
    wide = _wide(read, rows, id, TableColumns(strong, weak, rate, asked_column(read, selected), clusters))
    if wide is not None:
        how = EstimateOptions(method, "auto", level, estimand, None, ends, seed=seed)
        asked, groups = ("selected" if "selected" in wide else None), (None if clusters is None else "clusters")
        draw = TableColumns(None, None, RATE if RATE in wide else None, asked, groups)
        g, h = ([f"{kind} {name}" for name in names] for kind in ("weak", "strong"))
        systems = read_systems(read_table(wide, name=read.name), names, g, h, draw, how, recalibrate)
        systems = replace(systems, notes=told + systems.notes)
        return of_pair(systems) if len(names) == 2 else of_many(systems)
    if len(names) > 2:
        raise InputError(
            f"{len(names)} systems were rated apart: every system needs a row for every item, with the same rate and "
            "labels; compare two at a time"
        )
    first, last = (_table_of(read, name, rows[name]) for name in names)
    apart = compare_tables(
        first, last, weak=weak, strong=strong, rate=rate, selected=selected, clusters=clusters,
        id=id, names=(names[0], names[1]), method=method, level=level, estimand=estimand,
        recalibrate=recalibrate, bounds=ends, seed=seed,
    )  # fmt: skip
    return replace(apart, notes=told + apart.notes)


def _exported(table: Table, system: str, baseline: str | None) -> Comparison | ManyComparisons:
    """The comparison of a campaign from its export."""
    own = read_asked(table, "compare", (system,))
    if own is None:
        raise InputError(NO_STRONG)
    whose = table.texts(system)[own.looked]
    return compare_pooled(own.pooled, whose, own.sizes, baseline or str(own.baseline), own.pooled.items.clusters)


def _rows_by_system(table: Table, system: str, id: str) -> dict[str, NDArray[np.intp]]:
    """The rows of every system, sorted by item: one row for an item and a system."""
    whose, items = table.texts(system).astype(np.str_), table.texts(id).astype(np.str_)
    found, first = np.unique(whose, return_index=True)
    names = [str(name) for name in found[np.argsort(first)]]
    if len(names) > _MOST_SYSTEMS:
        raise TableError(f"column {system!r} of {table.name} has {len(names)} different values; is it the system?")
    if len(names) < 2:
        raise InputError(f"column {system!r} of {table.name} has one system, {names[0]!r}; a comparison needs two")
    rows = {}
    for name in names:
        at = np.flatnonzero(whose == name)
        at = at[np.argsort(items[at], kind="stable")]
        twice = np.flatnonzero(items[at][1:] == items[at][:-1])
        if twice.size:
            one, two = sorted((int(at[twice[0]]), int(at[twice[0] + 1])))
            raise TableError(
                f"rows {one + 1} and {two + 1} of {table.name} are both item {str(items[one])!r} of system {name!r}; "
                "keep one of them"
            )
        rows[name] = at
    return rows


def _table_of(table: Table, name: str, rows: NDArray[np.intp]) -> Table:
    """One system's rows as a table of their own."""
    columns = {column: np.asarray(values)[np.sort(rows)] for column, values in table.arrays().items()}
    return read_table(columns | _pool_size(table, rows), name=f"{table.name}, {name}")


def _pool_size(table: Table, rows: NDArray[np.intp]) -> dict[str, Any]:
    """The pool's size as the rows say it, of one system's share of them."""
    if POOL_SIZE not in table.columns:
        return {}
    return {POOL_SIZE: table.numbers(POOL_SIZE, missing="allow")[rows] * rows.size / table.rows}


def _wide(table: Table, rows: Mapping[str, NDArray[np.intp]], id: str, columns: TableColumns) -> dict[str, Any] | None:
    """One row per item, a pair of columns per system; `None` where the systems were not drawn together."""
    first, rate, items = next(iter(rows.values())), columns.rate, table.texts(id)
    h = table.numbers(str(columns.strong), missing="allow")
    g = np.zeros(table.rows) if columns.weak is None else table.numbers(columns.weak, missing="allow")
    drawn = ~np.isnan(h) if columns.selected is None else table.numbers(columns.selected) != 0
    column = rate if isinstance(rate, str) and rate in table.columns else RATE if rate is None else None
    q = table.numbers(column, missing="allow") if column is not None and column in table.columns else None
    alike = (items, drawn) if q is None else (items, drawn, np.nan_to_num(q, nan=-1.0))
    if not all(np.array_equal(each[at], each[first]) for at in rows.values() for each in alike):
        return None
    out: dict[str, Any] = _pool_size(table, first)
    for name, at in rows.items():
        out |= {f"weak {name}": g[at], f"strong {name}": h[at]}
    if q is not None:
        out[RATE] = q[first]
    elif rate is not None:
        out[RATE] = np.full(first.size, float(rate))
    if columns.selected is not None:
        out["selected"] = drawn[first]
    if columns.clusters is not None:
        out["clusters"] = table.texts(columns.clusters)[first]
    return out


# Plans: rates that follow the uncertainty of the difference, not of either rating


def add_difference(table: TableLike, *, weak: tuple[str, str], strong: tuple[str, str] | None = None) -> Table:
    """The table with the columns `weak_difference` and (where `strong` is given) `strong_difference` at its end.

    Plans of comparisons are made of these columns, and `draw_pool` adds the first to a pool by itself.
    """
    read = read_table(table)
    columns = {WEAK_DIFFERENCE: read.numbers(weak[0]) - read.numbers(weak[1])}
    if strong is not None:
        first, second = (read.numbers(column, missing="allow") for column in strong)
        columns[STRONG_DIFFERENCE] = first - second
    return read.with_columns(columns)


def plan_comparison(
    table: TableLike,
    *,
    weak: tuple[str, str],
    strong: tuple[str, str],
    weak_cost: float,
    strong_cost: float,
    budget: float | None = None,
    target_se: float | None = None,
    within: float | None = None,
    level: float = 0.95,
    uncertainty: str | None = None,
    pool_size: float | None = None,
    floor: float | None = None,
    calibrate: Recalibration = "none",
    features: Sequence[str] = (),
    estimand: Estimand = "population",
    positive: Positive = None,
    scale: Scale = None,
    seed: int = 0,
) -> Plan:
    """`plan` for the difference of two systems: the rows with both strong ratings are the pilot.

    Costs are those of rating one system's answer once; an item is rated for both, so it costs twice that, weak and
    strong. `target_se` and `within` are the difference's. Words as ratings are as in `compare`.
    """
    goal = PlanGoal.of(
        weak_cost, strong_cost, budget=budget, target_se=target_se, within=within, level=level, pool_size=pool_size,
        estimand=estimand, floor=floor, answers=2,
    )  # fmt: skip
    words = meaning_of(positive, scale)
    read, said = in_numbers(read_table(table), strong=strong, weak=weak, meaning=words)
    read = add_difference(read, weak=weak, strong=strong)
    columns = PilotColumns(WEAK_DIFFERENCE, STRONG_DIFFERENCE, uncertainty, calibrate, tuple(features), seed)
    first, second = (np.isnan(read.numbers(column, missing="allow")) for column in strong)
    halves = int(np.count_nonzero(first != second))
    notes = (
        *said,
        f"an item is rated for both systems: its weak ratings cost {goal.weak_cost:g}, its strong ones "
        f"{goal.strong_cost:g}",
        *([f"{halves:,} rows with one of the two strong ratings are no part of the pilot"] if halves else []),
    )
    pilot = read_pilot(read, columns)
    return plan_mean(read, pilot, columns, goal, words=words, notes=notes, derived=Derived("difference", weak))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ComparisonsPlan(AnyPlan):
    """Rates for the table's rows that serve all differences to a baseline at once."""

    recommendation: PolicyName
    policy: Policy  # the policy behind the rates
    basis: dict[str, Any]  # arguments and the figures found; "inputs" in JSON
    rows: PlannedRows = field(repr=False)  # the table's rows, for `draw_pool`
    notes: tuple[str, ...] = ()

    @property
    def drawn_by(self) -> PlannedRows:
        return self.rows

    @property
    def rates(self) -> Floats:
        """π of every row of the table."""
        return self.policy.rates

    @property
    def expected_se(self) -> float | None:
        """Root mean square of the differences' standard errors."""
        return self.policy.expected_se

    def summary(self) -> str:
        how = "at one rate for all" if self.recommendation == "random" else "most often where differences are unsure"
        return f"Buy the systems' strong ratings {how}: {self.policy.summary()}"


def plan_comparisons(
    table: TableLike,
    *,
    baseline: str,
    weak: Mapping[str, str],
    strong: Mapping[str, str],
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
) -> ComparisonsPlan:
    """Rates for the table's rows that serve all differences to the baseline at once.

    The vector target of METHODS section 2: u is the mean over the systems of the differences' conditional squared
    errors, V that of their variances, so `expected_se` and `target_se` are the root mean square of the differences'
    standard errors. Costs are those of rating one system's answer once, and an item is rated for all of them. The rates
    follow u only where the pilot's own residuals, by models that have not seen them, say that it beats one rate for
    all. Words as ratings are as in `compare`.
    """
    goal = PlanGoal.of(
        weak_cost, strong_cost, budget=budget, target_se=target_se, pool_size=pool_size, estimand=estimand,
        floor=floor, answers=len(strong),
    )  # fmt: skip
    words = meaning_of(positive, scale)
    read, said = in_numbers(read_table(table), strong=strong.values(), weak=weak.values(), meaning=words)
    pilots = _pilots(read, baseline, weak, strong, seed)
    errors = together(pilots, np.full(len(pilots), 1.0 / len(pilots)))
    uniform = goal.solve(np.full(read.rows, errors.weak_error), errors.variance)
    active = goal.solve(errors.error, errors.variance, goal.floors(errors.error, errors.variance)[0])
    seen = active_rates(errors.held_out_error, scale=active.scale, floor=active.floor)

    def price(rates: Floats) -> float:  # J
        return (goal.weak_cost + goal.strong_cost * float(rates.mean())) * errors.item_variance(rates)

    better = price(seen) < price(np.full(seen.size, float(uniform.rates[0])))
    name: PolicyName = "active" if better else "random"
    best = active if better else uniform
    told = {"table": read.name, "rows": read.rows, "labels": int(seen.size), "baseline": baseline}
    each = f"an item is rated for all {len(strong)} systems: it costs {goal.weak_cost:g} and {goal.strong_cost:g}"
    return ComparisonsPlan(
        recommendation=name,
        policy=best,
        basis=told
        | {"weak": dict(weak), "strong": dict(strong)}
        | goal.to_dict()
        | {"seed": seed, "variance": errors.variance, "weak_error": errors.weak_error},
        rows=PlannedRows.of(read, tuple(weak.values()), name, best.rates, best.items, goal, words),
        notes=(*said, each),
    )


def _pilots(table: Table, baseline: str, weak: Mapping[str, str], strong: Mapping[str, str], seed: int) -> list[Pilot]:
    """One for each difference, all on the rows that have every strong rating."""
    if baseline not in strong or set(weak) != set(strong) or len(strong) < 2:
        raise InputError("give weak and strong columns for the same systems, the baseline and at least one more")
    h = {name: table.numbers(column, missing="allow") for name, column in strong.items()}
    whole = np.all([~np.isnan(x) for x in h.values()], axis=0)
    if whole.sum() < 2:
        raise TableError(f"{int(whole.sum())} rows of {table.name} have every strong rating; a plan needs two at least")
    g = {name: table.numbers(column) for name, column in weak.items()}
    differences = {name: np.where(whole, h[name] - h[baseline], np.nan) for name in strong if name != baseline}
    found = [learn_pilot(g[name] - g[baseline], d, None, calibrate=None, seed=seed) for name, d in differences.items()]
    if not any(pilot.variance > 0 for pilot in found):
        raise InputError("no system differs from the baseline on any row of the pilot; get more labels")
    return found


def rounded_up(x: float) -> int:
    """The number rounded up to two digits: more would pretend to be exact."""
    unit = 10 ** max(math.floor(math.log10(max(x, 1.0))) - 1, 0)
    return int(math.ceil(x / unit - 1e-9) * unit)
