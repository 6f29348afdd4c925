"""Several systems in a table that is too large to hold: items that were asked for one by one, of all others sums.

The mean of a system and the difference of two are each condensed for themselves (`tables/condense.py`); how two of them
vary together comes from the sums of the weak ratings' products. `read_large_systems` refuses what `read_systems` does.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ratewise.core.checks import Floats
from ratewise.core.estimate import Estimate, EstimateOptions
from ratewise.core.names import Recalibration
from ratewise.core.ratings import Mask, Rated
from ratewise.errors import TableError
from ratewise.questions.large import check_large, check_large_draw, large_relation, read_whole
from ratewise.questions.large_ratings import LargeRatings, large_ratings
from ratewise.questions.pool import Pool
from ratewise.questions.rated import DrawColumns, unlooked
from ratewise.questions.systems import (
    Pair,
    Rows,
    Systems,
    check_how,
    check_missing,
    is_binary,
    read_systems,
    refuse_outside,
)
from ratewise.tables import Relation, TableLike
from ratewise.tables.cells import unmasked
from ratewise.tables.condense import NO_FOLD, condense, floats, in_sql, row_folds
from ratewise.tables.words import Meaning


@dataclass(frozen=True, slots=True, eq=False)
class _Points:
    """Items that were not asked for, put together."""

    weak: Floats
    rates: Floats
    counts: Floats


@dataclass(frozen=True, slots=True, eq=False)
class LargeRest:
    """Items that were not asked for; each system and each pair is asked about once."""

    ratings: LargeRatings
    items: int
    spread: Floats  # Σ (g − mean)(g − mean)ᵀ over these items, systems × systems
    known: dict[Pair, _Points] = field(default_factory=dict)

    def beside(self, rated: Rated, i: int, j: int | None) -> Rated:
        """The ratings of system i, or of i less j, with these items after those that were asked for."""
        points = self._points((i, j))
        n, many = rated.strong.size, points.weak.size
        return Rated(
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
            points, delta = self._points(pair), estimate.contributions[own:]
            slope = _slope(points, delta)
            slopes[row, pair[0]] += slope
            if pair[1] is not None:
                slopes[row, pair[1]] -= slope
            off[row] = np.average(delta, weights=points.counts) - estimate.value
        return np.asarray(slopes @ self.spread @ slopes.T + self.items * np.outer(off, off))

    def _points(self, pair: Pair) -> _Points:
        if pair not in self.known:
            found = self.ratings
            made = condense(
                found.relation.ask, found.expressions(*pair), folds=False, weak=found.range_of(*pair),
                rate=found.rate.range,
            )  # fmt: skip
            rest = slice(made.alone, None)
            self.known[pair] = _Points(made.weak[rest], made.rates[rest], made.counts[rest])
        return self.known[pair]


def _slope(points: _Points, delta: Floats) -> float:
    d = points.weak - np.average(points.weak, weights=points.counts)
    square = float(np.dot(points.counts, d * d))
    return float(np.dot(points.counts, d * delta)) / square if square > 0 else 0.0


def systems_of(
    table: TableLike,
    *,
    weak: Mapping[str, str],
    strong: Mapping[str, str],
    draw: DrawColumns,
    how: EstimateOptions,
    recalibrate: Recalibration,
    meaning: Meaning,
) -> Systems:
    """The columns of every system, by its name, in memory or in files."""
    check_how(how, recalibrate)
    relation = large_relation(table)
    if relation is not None and recalibrate == "none":
        large = read_large_systems(relation, weak=weak, strong=strong, draw=draw, how=how, meaning=meaning)
        if large is not None:
            return large
    whole = read_whole(table, relation)
    return read_systems(
        whole, weak=weak, strong=strong, draw=draw, how=how, recalibrate=recalibrate, meaning=meaning
    )  # fmt: skip


def read_large_systems(
    relation: Relation, *, weak: Mapping[str, str], strong: Mapping[str, str], draw: DrawColumns, how: EstimateOptions,
    meaning: Meaning,
) -> Systems | None:  # fmt: skip
    """The systems of a table that stays in its files; nothing where it has to be read whole."""
    names = tuple(strong)
    weak = {name: weak[name] for name in names}
    found = large_ratings(relation, list(weak.values()), list(strong.values()), draw, meaning)
    if found is None or draw.clusters is not None or relation.row_in_sql is None:
        return None
    known: dict[Pair, _Points] = {}
    for k, name in enumerate(names):
        what = found.expressions(k)
        made = condense(relation.ask, what, folds=False, weak=found.range_of(k), rate=found.rate.range)
        check_large(found, what, made, weak[name], strong[name], fewest=0)
        known[k, None] = _Points(*(x[made.alone :] for x in (made.weak, made.rates, made.counts)))
    own = _Own.of(found)
    _check_draw(found, own, list(known.values()), list(weak.values()))
    if not own.rated.all(axis=1).any():
        raise TableError(f"no row of {relation.name} has the strong rating of every system; a comparison needs two")
    how = how if how.bounds is not None else replace(how, bounds=meaning.bounds)
    refuse_outside(relation.name, own.strong, how, rows=own.rows)
    check_missing(relation.name, names, own.rated, own.asked, own.strong, how, rows=own.rows)
    many = round(float(known[0, None].counts.sum()))
    rest = LargeRest(found, many, _spread(found, own), known)
    left = relation.count() - many - own.rows.size
    pool = Pool.of_relation(relation, relation.count(), many + own.rows.size)
    return Systems(
        names=names,
        weak=own.weak,
        strong=own.strong,
        rates=own.rates,
        asked=own.asked,
        clusters=None,
        how=pool.how(replace(how, bounds=(0.0, 1.0)) if how.bounds is None and is_binary(own.strong) else how),
        recalibrate="none",
        notes=found.notes + unlooked(left, how) + pool.notes(how),
        rest=rest,
        folds=row_folds(own.rows, own.asked),
    )


def _check_draw(found: LargeRatings, own: "_Own", rest: Sequence[_Points], columns: Sequence[str]) -> None:
    labelled = own.rated.any(axis=1)
    for k, column in enumerate(columns if found.rate.assumed else columns[:1]):
        points = rest[k]
        none = np.zeros(points.weak.size, dtype=np.bool_)
        drawn = np.r_[labelled if found.rate.assumed else labelled | own.selected, none]
        check_large_draw(
            found, drawn, {column: np.r_[own.weak[:, k], points.weak]}, np.r_[own.rates, points.rates],
            np.r_[np.ones(labelled.size), points.counts],
        )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class _Own:
    """Items that were asked for, by row; ratings are items × systems."""

    weak: Floats
    strong: Floats
    rates: Floats
    selected: Mask  # as a column says it
    rows: Rows

    @property
    def asked(self) -> Mask:
        """Whether each was asked for: all were."""
        return np.ones(self.rates.size, dtype=np.bool_)

    @property
    def rated(self) -> Mask:
        """Whether each has the strong rating of each system."""
        return ~np.isnan(self.strong)

    @classmethod
    def of(cls, found: LargeRatings) -> "_Own":
        """All rows with a label of any system, asked for or of rate 1."""
        systems = range(len(found.strong))
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
        return cls(g, h, got["q"], got["s"] != 0, got["r"].astype(np.int64))


def _spread(found: LargeRatings, own: _Own) -> Floats:
    """Σ (g − mean)(g − mean)ᵀ over all rows that have a rate, without those that were asked for."""
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
    d = own.weak - np.array(about)
    n = float(answer["n"][0]) - own.rows.size
    total = np.array([float(answer[f"s{k}"][0]) for k in range(J)]) - d.sum(axis=0)
    square = np.zeros((J, J))
    for i, j in pairs:
        square[i, j] = square[j, i] = float(answer[f"p{i}_{j}"][0])
    return np.asarray(square - d.T @ d - np.outer(total, total) / max(n, 1.0))
