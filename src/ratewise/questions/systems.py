"""Several systems rated on the same items, in memory or out of it: any mean or difference of them.

Of a large table the items that were asked for stand one by one. The mean of a system and the difference of two are each
condensed for themselves (`tables/condense.py`); how two of them vary together comes from sums of products.

Where nearly all items have the same difference, as with two systems that are both right 98 % of the time, the spread
that was seen is that of the few items that happened to differ. So one more is imagined, half of it in favour of either
system: the remedy of Agresti and Min (2005) for pairs of 0/1 ratings, here at the labels' own rates. A whole one in
favour of either, as Bonett and Price (2012) have it, is wider and no better here. What is imagined is not estimated: it
adds no doubt about the variance, and so raises its degrees of freedom.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ratewise.core.checks import Floats
from ratewise.core.clusters import Codes, cluster_codes, sum_variance
from ratewise.core.estimate import Estimate, EstimateOptions
from ratewise.core.messages import Message, argument
from ratewise.core.names import Recalibration
from ratewise.core.ratings import Mask, Ratings
from ratewise.errors import InputError, TableError
from ratewise.questions import rated as readers
from ratewise.questions.draw_checks import warn_of_choice
from ratewise.questions.estimation import estimate_rated
from ratewise.questions.large import (
    LargeRatings,
    check_large_draw,
    check_rows,
    large_ratings,
    large_relation,
    read_whole,
)
from ratewise.questions.rated import (
    TableColumns,
    TablePool,
    check_draw,
    cluster_names,
    plain_numbers,
    read_draw,
    unlooked_note,
    weak_ratings,
)
from ratewise.tables import Table, TableLike
from ratewise.tables.cells import unmasked
from ratewise.tables.condense import NO_FOLD, Points, condense, floats, in_sql, row_folds
from ratewise.tables.spark import SqlTable
from ratewise.tables.words import Meaning, in_numbers

_MOSTLY = 0.5  # share of equal differences from which the others are taken as few
_FEWEST_LABELS = 2
_IMAGINED = 1.0  # items unlike the rest, half in favour of either system
_NOTHING_SEEN = "all items have the same difference: the interval is that of one item that differs, not seen yet"


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
    return _IMAGINED * far**2 * float(each.mean()) / items**2 * _together(codes)


def _together(codes: Codes | None) -> float:
    """Number of labels in the cluster of a label, on average."""
    if codes is None:
        return 1.0
    size = np.bincount(codes)
    return float(np.dot(size, size)) / float(size.sum())


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

    ratings: LargeRatings
    items: int
    spread: Floats  # Σ (g − mean)(g − mean)ᵀ over these items, systems × systems
    known: dict[Pair, Points]

    def points(self, pair: Pair) -> Points:
        """The weak ratings of one system, or of one less another, condensed."""
        if pair not in self.known:
            self.known[pair] = _rest_of(self.ratings, pair)
        return self.known[pair]

    def beside(self, rated: Ratings, pair: Pair) -> Ratings:
        """The ratings of a system or a pair, with these items after those that were asked for."""
        points = self.points(pair)
        n, many = rated.strong.size, points.weak.size
        return Ratings(
            np.r_[rated.weak, points.weak], np.r_[rated.strong, np.full(many, np.nan)],
            np.r_[rated.rates, points.rates],
            None if rated.selected is None else np.r_[rated.selected, np.zeros(many, dtype=np.bool_)],
            counts=np.r_[np.ones(n), points.counts],
            folds=None if rated.folds is None else np.r_[rated.folds, np.full(many, NO_FOLD)],
        )  # fmt: skip

    def products(self, found: Sequence[Estimate], of: Sequence[Pair], own: int) -> Floats:
        """Σ (Δ − θ̂)(Δ − θ̂)ᵀ over these items; the first `own` contributions of each estimate are not theirs.

        Without a label Δ is a line in the weak rating, so the sums of that rating say all.
        """
        slopes, off = np.zeros((len(found), self.spread.shape[0])), np.zeros(len(found))
        for row, (estimate, pair) in enumerate(zip(found, of, strict=True)):
            points, delta = self.points(pair), estimate.contributions[own:]
            d = points.weak - np.average(points.weak, weights=points.counts)
            square = float(np.dot(points.counts, d * d))
            slope = float(np.dot(points.counts, d * delta)) / square if square > 0 else 0.0
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
        return estimate_rated(rated if self.rest is None else self.rest.beside(rated, pair), how, self.recalibrate)

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
    h = np.stack([plain_numbers(read, column) for column in strong], axis=1)
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


def _rest_of(found: LargeRatings, pair: Pair, column: str | None = None) -> Points:
    """The rows that were not asked for, condensed by their weak ratings; checked, where their column is named."""
    what = found.expressions(*pair)
    rows = condense(found.relation.ask, what, folds=False)  # fmt: skip
    if column is not None:
        check_rows(found, what, rows, column)
    return Points(*(x[rows.alone :] for x in (rows.weak, rows.rates, rows.counts)))


def _in_files(found: LargeRatings, columns: Sequence[str]) -> tuple[Ratings, RowNumbers, LargeRest]:
    """Rows with a label of any system, asked for or of rate 1, their numbers, and what is known of all others."""
    known: dict[Pair, Points] = {(k, None): _rest_of(found, (k, None), name) for k, name in enumerate(columns)}
    systems = range(len(columns))
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
        points = known[k, None]
        check_large_draw(
            found, np.r_[drawn, np.zeros(points.weak.size, dtype=np.bool_)], {column: np.r_[g[:, k], points.weak]},
            np.r_[got["q"], points.rates], np.r_[np.ones(labelled.size), points.counts],
        )  # fmt: skip
    rest = LargeRest(found, round(float(known[0, None].counts.sum())), _spread(found, g), known)
    return Ratings(g, h, got["q"], np.ones(labelled.size, dtype=np.bool_)), got["r"].astype(np.int64), rest


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
