"""The one reader of drawn and rated tables: the mean, slices, comparisons, regressions, quantiles and boards use it.

A table says how its rows were drawn in one of three ways: a column of rates, one number for all rows, or not at all.
Then the rows with a strong rating are taken as a random draw, at one rate for all, and a note says so. Do labels look
as if they were drawn as the table says? Their number is held against the rates; where nobody says the rates, labelled
rows are held against the others, column by column.

A campaign's export says itself how its columns are combined: beside the raw ratings it has what stood in the weak
rating's place (`prediction`), the pooled rate of every item, and in one cell of the column `ratewise` the terms of the
estimate. With these, `estimate` computes what `report` said, to the bit.

Of a table that is too large to hold (`read_in_files`), an estimate needs the labels one by one, and of all other rows
only sums: they come as `Ratings` whose rows stand for many.
"""

import json
import math
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ratewise.core.checks import Floats, share
from ratewise.core.clusters import Codes, cluster_codes
from ratewise.core.estimate import Estimate, EstimateOptions, estimate_rated, on_scale
from ratewise.core.names import Estimand, Method, Recalibration
from ratewise.core.ratings import Mask, Ratings
from ratewise.core.result import JsonRecord
from ratewise.core.stratified import stratified
from ratewise.core.votes import Agreement, VoteNoise, Votes, agreement, vote_noise
from ratewise.errors import InputError, Message, RatewiseWarning, TableError, argument
from ratewise.tables import Table, TableLike, open_relation, read_table
from ratewise.tables.cells import LARGEST, NumberSql, Texts, unmasked
from ratewise.tables.condense import Expressions, condense, floats, in_sql, row_folds
from ratewise.tables.engine import quoted_text
from ratewise.tables.files import files_among, files_of, kind_of
from ratewise.tables.read import in_memory
from ratewise.tables.spark import SparkTable, SqlTable, is_spark
from ratewise.tables.words import Meaning, in_numbers

_REFUSED = 6.0  # standard deviations between the labels and the sum of rates: by chance once in 10⁹ tables
_WARNED = 4.0  # once in 16,000


def check_count(name: str, rates: Floats, drawn: Mask, source: str, counts: Floats | None = None) -> None:
    """The rows drawn are as many as the rates say; rows of rate 1 say nothing.

    Whether a row is drawn is independent of the others, so the number has the mean Σπ and the variance Σπ(1−π).
    `counts` says how many rows each entry stands for, where that is not one.
    """
    use = (rates > 0) & (rates < 1)
    q, often = rates[use], 1.0 if counts is None else counts[use]
    expected = float((often * q).sum())
    variance = float((often * q * (1 - q)).sum())
    check_number(name, int(np.count_nonzero(drawn & use)), expected, variance, source)


def check_number(name: str, count: int, expected: float, variance: float, source: str) -> None:
    """So many rows were drawn where this number was to be expected, with this variance."""
    sd = math.sqrt(variance)
    off = max(abs(count - expected) - 1.0, 0.0)  # one row more or less: whole numbers, and few of them
    if off <= _WARNED * sd:
        return
    said = (
        f"{count:,} rows of {name} are labelled, but {source} adds up to {expected:,.1f}, "
        f"{off / sd:.0f} standard deviations off"
    )
    missing = (
        "give the rows that were not drawn, too, if they were left out"
        if count > expected
        else f"name the column that says which items were asked for ({argument('selected')}) if answers are missing"
    )
    todo = f"{missing}, or give the rate that the labels were really drawn with ({argument('rate')})"
    if off > _REFUSED * sd:
        raise TableError(Message(f"{said}: these are not the rates of this draw; {todo}"))
    warnings.warn(Message(f"{said}; if it is not by chance, {todo}"), RatewiseWarning, stacklevel=5)


def chance_of(score: Floats, labelled: Mask, counts: Floats | None = None) -> float:
    """Bound on the chance that the mean score of rows drawn at random is as far from that of all rows (Bennett).

    It holds for draws without replacement, too (Hoeffding 1963, theorem 4). `counts` says how many rows each entry
    stands for, where that is not one.
    """
    often = np.ones(labelled.size) if counts is None else counts
    rows, n = round(float(often.sum())), round(float(often[labelled].sum()))
    if n > rows // 2:  # the rows left out are the smaller sample
        labelled, n = ~labelled, rows - n
    d = score - float(np.average(score, weights=counts))
    variance = float(np.average(d * d, weights=counts))
    off = float(np.average(d[labelled], weights=None if counts is None else counts[labelled]))
    most = float(d.max() if off > 0 else -d.min())
    if variance <= 0 or most <= 0:
        return 1.0
    x = abs(off) * most / variance
    return min(1.0, 2 * math.exp(-n * variance / most**2 * ((1 + x) * math.log1p(x) - x)))


_FALSE_ALARM = 1e-4  # of the warning, at most: half for weak ratings, half for all other columns
_OF_THE_DRAW = frozenset({"id", "rate", "selected", "pool_size", "weight", "rate_new", "weak_calibrated"})
_MOST_WORDS = 20  # different ones in a column; more are text
_MOST_COLUMNS = 60  # that are looked at beside weak ratings
_BINS = 256  # of weak ratings, where rows were put together
_MOST_ROWS = 1_000_000  # of a table whose other columns are looked at: more would take seconds


Trait = tuple[Floats, str, str]
"""A number for every row, and how to say that labelled rows have more, or less, of it."""


def warn_of_choice(
    table: Table | str,
    labelled: Mask,
    weak: Mapping[str, Floats],
    *,
    apart: Iterable[str] = (),
    todo: str | None = None,
    counts: Floats | None = None,
) -> None:
    """Warn if labels taken as a random draw clearly have other weak ratings or features than the rest.

    `todo` says what to do then, where rates are not what is asked for. Of a table that stays in its files, with
    `counts` of the rows that were put together, only the name is given, and only weak ratings are looked at.
    """
    what = clear_difference(table, labelled, weak, apart=apart, counts=counts)
    if what is None:
        return
    if todo is None:
        given = f"give the rates that they were drawn with ({argument('rate')})"
        todo = f"{given}, or read the estimate as that of rows like these"
    name = table if isinstance(table, str) else table.name
    told = f"rows of {name} with a strong rating have clearly {what} than the others"
    warnings.warn(Message(f"{told}: they were not drawn at random; {todo}"), RatewiseWarning, stacklevel=4)


def clear_difference(
    table: Table | str, labelled: Mask, weak: Mapping[str, Floats], *, apart: Iterable[str] = (),
    counts: Floats | None = None,
) -> str | None:  # fmt: skip
    """What labelled rows clearly have more or less of than the others, in words; `None` if they may be a random draw.

    Features are the table's other columns: numbers, and words where there are few different ones. Those in `apart` are
    no features, nor are columns with gaps or with one value in all unlabelled rows: labelling itself fills in such
    columns. A random draw is told apart at most once in 10,000 tables, whatever the columns hold, by a bound that holds
    for any number of labels.
    """
    if not labelled.any() or labelled.all():
        return None
    each = weak if counts is None else {column: _binned(values) for column, values in weak.items()}
    found = _clearest(
        labelled, [t for column, values in each.items() for t in _of_numbers(column, values, counts)], counts
    )
    if found is not None or isinstance(table, str) or table.rows > _MOST_ROWS:
        return found
    left = [name for name in table.columns if name not in {*_OF_THE_DRAW, *weak, *apart}]
    return _clearest(labelled, [t for name in left[:_MOST_COLUMNS] for t in _of_feature(table, name, labelled)])


def _binned(values: Floats) -> Floats:
    """Bins of equal width: rows that were put together stand near their place only, and would break ties."""
    low, width = float(values.min()), float(np.ptp(values))
    return np.floor((values - low) / (width or 1.0) * _BINS * (1 - 1e-9))


def _clearest(labelled: Mask, traits: list[Trait], counts: Floats | None = None) -> str | None:
    limit = _FALSE_ALARM / 2 / max(len(traits), 1)
    for score, more, less in traits:
        if chance_of(score, labelled, counts) < limit:
            return more if score[labelled].mean() > np.average(score, weights=counts) else less
    return None


def _of_numbers(column: str, values: Floats, counts: Floats | None = None) -> Iterator[Trait]:
    """The rank from 0 to 1, ties at their mean rank, and how far it is from the middle."""
    _, index = np.unique(values, return_inverse=True)
    often = np.bincount(index, weights=counts)
    rank = np.asarray(((np.cumsum(often) - 0.5 * often)[index]) / often.sum())
    where = f"values in column {column!r}"
    yield rank, f"higher {where}", f"lower {where}"
    yield np.abs(rank - 0.5), f"further out {where}", f"less far out {where}"


def _of_feature(table: Table, column: str, labelled: Mask) -> Iterator[Trait]:
    try:
        values = table.numbers(column, missing="allow")
    except TableError:
        yield from _of_words(column, table.texts(column, missing="allow"), labelled)
        return
    if not np.isnan(values).any() and np.ptp(values[~labelled]) > 0:
        yield from _of_numbers(column, values)


def _of_words(column: str, texts: Texts, labelled: Mask) -> Iterator[Trait]:
    if len(set(texts[:1000].tolist())) > 10 * _MOST_WORDS:
        return
    words = set(texts.tolist())
    if "" in words or len(words) > _MOST_WORDS or len(set(texts[~labelled].tolist())) < 2:
        return
    for word in sorted(words):
        where = f"share of {word[:40]!r} in column {column!r}"
        yield np.asarray(texts == word, dtype=np.float64), f"a larger {where}", f"a smaller {where}"


# In memory


POOL_SIZE = "pool_size"  # as a draw and an export name the column


@dataclass(frozen=True, slots=True)
class TablePool:
    """The pool that a table's rows are from."""

    name: str  # of the table
    rows: int  # of the table
    size: float  # N
    sure: bool  # a column says it, or rows are there that were not looked at

    @classmethod
    def of(cls, table: Table | SqlTable, looked: int) -> "TablePool":
        """The pool of a table of which so many rows were looked at."""
        name, rows, sizes = table.name, table.rows if isinstance(table, Table) else table.count(), np.empty(0)
        if POOL_SIZE not in table.columns:
            pass
        elif isinstance(table, Table):
            sizes = table.numbers(POOL_SIZE, missing="allow")
        elif (size := table.number_in_sql(POOL_SIZE)) is not None:
            answer = table.ask(f"SELECT min({size.sql}) AS a, max({size.sql}) AS b FROM {table.source_in_sql()}")
            sizes = np.array([answer["a"][0], answer["b"][0]], dtype=np.float64)
        told = np.unique(sizes[~np.isnan(sizes)])
        if not told.size:
            return cls(name, rows, float(rows), sure=looked < rows)
        if told.size > 1:
            raise TableError(
                f"column {POOL_SIZE!r} of {name} holds {told[0]:,g} and {told[-1]:,g}, so its rows are of several "
                "pools; estimate each of them by itself"
            )
        if told[0] < rows:
            raise TableError(
                f"column {POOL_SIZE!r} of {name} says {told[0]:,g}, but the table has {rows:,} rows; no pool is "
                "smaller than the rows of it: correct the column or remove it"
            )
        return cls(name, rows, float(told[0]), sure=True)

    def how(self, how: EstimateOptions) -> EstimateOptions:
        """The options with the pool's size, where the pool's own value is wanted."""
        if how.estimand == "population":
            return how
        if how.pool_size is None:
            return replace(how, pool_size=self.size)
        if how.pool_size < self.rows:
            raise InputError(
                Message(
                    f"{argument('pool_size')} is {how.pool_size:g}, but {self.name} has {self.rows:,} rows, looked at "
                    "or not; it cannot be smaller"
                )
            )
        return how

    def notes(self, how: EstimateOptions) -> tuple[str, ...]:
        """What was taken for the pool, where the table cannot tell; `how` is as it was asked for."""
        if how.estimand == "population" or how.pool_size is not None or self.sure:
            return ()
        return (
            f"the pool is taken to be these {self.rows:,} rows; if there were more when it was drawn, say how many "
            f"({POOL_SIZE}, as an option or a column)",
        )

    def refuse_left_out(self, what: str) -> None:
        """Refuse a table without all rows of its pool, where those say how large its parts are."""
        if self.rows < self.size:
            raise TableError(
                f"{self.name} has {self.rows:,} of the {self.size:,g} rows of its pool, so the sizes of {what} are not "
                "known; give a table with all of them"
            )


RATE = "rate"  # as a draw names the column
MANY_ROWS = 1 << 20  # from here on only rows that were asked for are in a fold, by their number
SELECTED = "selected"
Rate = str | float | None
Strong = str | Sequence[str]
Range = tuple[float, float]


@dataclass(frozen=True, slots=True)
class TableColumns:
    """What the columns of a rated table are called; see `estimate_table`.

    `rate` is a column, several of independent draws separated by commas, or one number for all rows; without it, the
    column "rate" is taken if there is one.
    """

    strong: Strong | None = None  # a campaign's export names it itself
    weak: str | None = None
    rate: Rate = None
    selected: str | None = None
    clusters: str | None = None
    id: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Ready:
    """A table whose ratings are numbers; `strong` names the column of the strong ones, or of the mean of all votes.

    `names` are the columns that the strong ratings are in, one for each person.
    """

    table: Table
    strong: str
    names: tuple[str, ...]
    notes: tuple[str, ...] = ()
    votes: Votes | None = None
    scale: Range | None = None  # its ends, where they were stated, by an export too, or all votes are 0 or 1

    @property
    def typed(self) -> str:
        """The strong columns as one text, as on the command line."""
        return ",".join(self.names)

    def refuse_pool(self, estimand: str) -> None:
        """Refuse a pool's own value for noisy votes: only a single mean widens its interval for them."""
        if self.votes is not None and estimand == "pool":
            raise InputError(
                Message(
                    f"several people's columns go with {argument('estimand population')} here; only estimate, for "
                    "one mean, allows for their disagreement in a pool"
                )
            )


@dataclass(frozen=True, slots=True, eq=False)
class TableDraw:
    """How all rows of a table were drawn: their rates (NaN where a row was not looked at), and which were asked for."""

    rates: Floats
    selected: Mask | None
    notes: tuple[str, ...]
    assumed: bool  # no column and no number says the rates: they are those of a random draw
    source: str  # what messages call the rate

    @property
    def looked(self) -> Mask:
        """Rows that were looked at."""
        return ~np.isnan(self.rates)


@dataclass(frozen=True, slots=True, eq=False)
class RatedTable:
    """The rows of a drawn table that an estimate uses."""

    table: Table
    items: Ratings
    rows: Mask  # of the table: those that `items` are
    looked: Mask  # of the table: those that could have been drawn
    read: tuple[str, ...]  # notes on how it was read
    alone: bool  # the strong ratings stand alone: `items` are the rows that were asked for, each at rate 1
    pool: TablePool
    votes: Votes | None = None  # of the first items, which are all that have some
    scale: Range | None = None  # the ends of the ratings' scale, where they are known

    @property
    def unlooked(self) -> int:
        """Rows that could not have been drawn, whether the table here has them or not."""
        looked = int(np.count_nonzero(self.looked)) if self.items.counts is None else self.items.items
        return self.pool.rows - looked

    def part(self, keep: Mask) -> "RatedTable":
        """The ratings of these items."""
        rows = self.rows.copy()
        rows[self.rows] = keep
        return replace(self, rows=rows, items=self.items.part(keep), votes=self.votes and self.votes.rows(keep))

    def codes(self) -> Codes | None:
        """The items' clusters as numbers from 0."""
        return None if self.items.clusters is None else cluster_codes(self.items.clusters, self.items.strong.size)

    def how(self, how: EstimateOptions) -> EstimateOptions:
        """The options with the ends of the scale, and with the pool's size where the pool's own value is wanted."""
        return self.pool.how(how if how.bounds is not None else replace(how, bounds=self.scale))

    def notes(self, how: EstimateOptions) -> tuple[str, ...]:
        """What there is to say about how the table was read, and about what its pool is."""
        return self.read + unlooked_note(self.unlooked, how) + self.pool.notes(how)


def read_rated(
    ready: Ready,
    columns: TableColumns,
    *,
    fewest: int = 1,
    one_rate_alone: bool = True,
    sure_without_weak: bool = False,
) -> RatedTable:
    """The looked-at rows, checked by row as the user counts them; at least `fewest` must have a strong rating.

    Without a weak rating the strong ones stand alone, which needs one rate for all; where the caller weighs them by
    their rates (`one_rate_alone=False`) they do so only if no rate is known. `sure_without_weak`: rows of rate 1 need
    no weak rating, as where strata were rated by the strong rater alone.
    """
    table, weak = ready.table, columns.weak
    h = table.numbers(ready.strong, missing="allow")
    labelled = ~np.isnan(h)
    draw = read_draw(table, labelled, columns, alone=weak is None and not sure_without_weak)
    check_labels(table.name, ready.strong, int(np.count_nonzero(labelled)), fewest)
    check_draw(table.name, draw, labelled)
    looked, q = draw.looked, draw.rates
    alone = weak is None and not sure_without_weak and (one_rate_alone or (draw.assumed and not labelled.all()))
    if alone:
        if np.ptp(q[looked]) > 0:
            raise InputError("strong ratings alone need one rate for all rows; name the weak rating's column")
        rows, q = looked & (labelled if draw.selected is None else draw.selected), np.ones(h.size)
    else:
        rows = looked
    if sure_without_weak:
        g = np.full(table.rows, np.nan) if weak is None else table.numbers(weak, missing="allow")
        where = "name its column" if weak is None else f"rate it first, in column {weak!r}"
        needed = f"has a rate below 1 but no weak rating; {where}"
        refuse_row(table.name, looked & (draw.rates < 1) & np.isnan(g), needed)
        g = np.where(np.isnan(g), np.where(labelled, h, 0.0), g)  # at rate 1 Δ = H whatever stands there
    else:
        g = np.zeros(h.size) if weak is None else weak_ratings(table, weak, draw)
        if draw.assumed:
            apart = [name for name in (ready.strong, columns.selected, columns.clusters) if name is not None]
            warn_of_choice(table, labelled, {} if weak is None else {weak: g}, apart=apart)
    items = Ratings(
        g[rows], h[rows], q[rows], None if draw.selected is None else draw.selected[rows],
        None if columns.clusters is None else cluster_names(table, columns.clusters, rows),
    )  # fmt: skip
    if table.rows > MANY_ROWS and columns.clusters is None:  # as of tables that stay in their files
        asked = False if items.selected is None else items.selected
        one_by_one = items.labelled | (items.rates >= 1) | asked
        items = replace(items, folds=row_folds(np.flatnonzero(rows), one_by_one))
    pool = TablePool.of(table, int(np.count_nonzero(looked)))
    votes = None if ready.votes is None else ready.votes.rows(rows)
    return RatedTable(table, items, rows, looked, ready.notes + draw.notes, alone, pool, votes, ready.scale)


def unlooked_note(rows: int, how: EstimateOptions) -> tuple[str, ...]:
    """A note on what the rows without a rate mean, if there are any."""
    said, them = ("row without a rate was", "it") if rows == 1 else ("rows without a rate were", "them")
    counted = f"; the pool counts {them}, too" if how.estimand == "pool" else ""
    return (f"{rows:,} {said} not looked at{counted}",) if rows else ()


# Rates


def read_draw(table: Table, labelled: Mask, columns: TableColumns, *, alone: bool = False) -> TableDraw:
    """Every row's rate, and which rows were asked for; `labelled` says which rows have a strong rating.

    `alone`: there is no weak rating, so only those rows count.
    """
    name = asked_column(table, columns.selected)
    asked = None if name is None else np.nan_to_num(table.numbers(name, missing="allow")) != 0
    rate, there = columns.rate, RATE in table.columns
    # Where every row of what was drawn from has a strong rating, rates say nothing. If all rows were asked for, those
    # that were not have been left out.
    if rate is None and there and not (labelled.all() and (asked is None or not asked.all())):
        rate = RATE
    if rate is None and labelled.all():
        unused = there and asked is None and _some_below_1(table)
        return TableDraw(np.ones(table.rows), None, (_RATES_UNUSED,) if unused else (), True, "all rows")
    if rate is None:
        drawn = labelled if asked is None else labelled | asked
        p = float(drawn.mean())
        note = assumed_note(int(drawn.sum()), None if alone else p)
        return TableDraw(np.full(table.rows, p), asked, (note,), True, "one rate for all")
    number = None if rate in table.columns else _number(rate)
    if number is not None:
        number = share(number, name=RATE, one=True)
        return TableDraw(np.full(table.rows, number), asked, (), False, f"the rate {number:g}")
    if isinstance(rate, str) and "," in rate and rate not in table.columns:
        # 1 − Π(1 − p) of independent draws; one that did not look at a row gave it no chance
        each = np.column_stack([table.numbers(name.strip(), missing="allow") for name in rate.split(",")])
        q = np.where(np.isnan(each).all(axis=1), np.nan, 1.0 - np.prod(1.0 - np.nan_to_num(each), axis=1))
        return TableDraw(q, asked, (), False, f"columns {rate!r}")
    q = table.numbers(str(rate), missing="allow")
    if np.isnan(q).all():
        raise TableError(f"no row of {table.name} has a rate in column {rate!r}; draw first with `ratewise draw`")
    return TableDraw(q, asked, (), False, f"column {rate!r}")


def _number(rate: str | float) -> float | None:
    try:
        return float(rate)
    except ValueError:
        return None


def _some_below_1(table: Table) -> bool:
    try:
        return bool((table.numbers(RATE, missing="allow") < 1).any())
    except TableError:
        return False


_RATES_UNUSED = (
    "every row has a strong rating, so rates are not used and the mean is the plain one; if rows that were not drawn "
    "were left out of the file, give them, too"
)


def assumed_note(drawn: int, rate: float | None) -> str:
    """That labels are taken as a random draw, at this rate; or that they stand alone."""
    note = f"no rate column: the {drawn:,} rows with a strong rating are taken as a random draw from all rows"
    return note + (", and stand alone" if rate is None else f", at one rate for all ({rate:.4g})")


def asked_column(table: Table, selected: str | None) -> str | None:
    """Column that says which items were asked for: the one named, else `selected` if the table has it."""
    if selected is not None or SELECTED not in table.columns:
        return selected
    try:
        values = table.numbers(SELECTED, missing="allow")
    except TableError:
        return None
    return SELECTED if np.all((values == 0) | (values == 1)) else None


# What the estimators would refuse by item number is refused here by row


def check_labels(name: str, strong: str, labels: int, fewest: int) -> None:
    """Check that enough rows have a strong rating."""
    if labels == 0 and fewest == 1:
        raise TableError(f"no row of {name} has a strong rating in column {strong!r}")
    if labels < fewest:
        many = "no row has" if labels == 0 else "only one row has"
        raise TableError(
            f"{many} a strong rating in column {strong!r} of {name}; an estimate with an interval needs two"
        )


def check_draw(name: str, draw: TableDraw, labelled: Mask) -> None:
    """Rates are in (0, 1], rows with a strong rating have one and were asked for, and they are as many as rates say."""
    refuse_wrong(name, draw, labelled)
    if not draw.assumed:
        check_count(name, draw.rates, labelled if draw.selected is None else draw.selected, draw.source)


def refuse_wrong(name: str, draw: TableDraw, labelled: Mask, rows: Floats | None = None) -> None:
    """Refuse the first row whose rate is none, or that has a strong rating which was not drawn.

    `rows` are the numbers of these rows from 0, where they are not all; NaN where they have none.
    """
    q, looked = draw.rates, draw.looked
    lost = "has a strong rating but no rate above 0"
    refuse_row(name, labelled & ~looked, f"{lost}: give the rate it was drawn with", rows)
    outside = f"{lost}: it has a rate outside (0, 1]; give the rate it was drawn with"
    refuse_row(name, labelled & (q == 0), outside, rows)
    refuse_row(name, looked & ~((q > 0) & (q <= 1)), f"has a rate outside (0, 1] in {draw.source}", rows)
    if draw.selected is not None:
        unasked = "has a strong rating but is not selected; check the selected column"
        refuse_row(name, labelled & ~draw.selected, unasked, rows)


def refuse_missing(rated: RatedTable) -> None:
    """Refuse missing answers where a question cannot count answers that were asked for and did not come."""
    items = rated.items
    asked = items.rates == 1 if items.selected is None else (items.rates == 1) | items.selected
    missing = np.zeros(rated.rows.size, dtype=np.bool_)
    missing[rated.rows] = asked & np.isnan(items.strong)
    if missing.any():
        raise TableError(
            f"{int(missing.sum()):,} answers that were asked for are missing, the first in row "
            f"{int(np.argmax(missing)) + 1} of {rated.table.name}; leaving them out would bias the fit: get them first"
        )


def refuse_row(name: str, bad: Mask, what: str, rows: Floats | None = None) -> None:
    """One clear error about the first bad row; `rows` as in `refuse_wrong`."""
    if bad.any():
        at = int(np.argmax(bad))
        number = at if rows is None else rows[at]
        raise TableError(f"{'a row' if np.isnan(number) else f'row {int(number) + 1:,}'} of {name} {what}")


# Other columns


def weak_ratings(table: Table, column: str, draw: TableDraw) -> Floats:
    """The weak ratings; every row that was looked at needs one."""
    g = table.numbers(column, missing="allow")
    refuse_without_weak(table.name, g, column, draw)
    return g


def refuse_without_weak(name: str, g: Floats, column: str, draw: TableDraw, rows: Floats | None = None) -> None:
    """Refuse the first row that was looked at and has no weak rating; `rows` as in `refuse_wrong`."""
    what = "has no weak rating" if draw.assumed else "has a rate but no weak rating"
    refuse_row(name, np.isnan(g) & draw.looked, f"{what} in column {column!r}; rate it first", rows)


def cluster_names(table: Table, column: str, rows: Mask) -> Texts:
    """The cluster name of each of these rows."""
    names = table.texts(column, missing="allow")
    lost = np.asarray(names == "") & rows
    refuse_row(table.name, lost, f"has no cluster in column {column!r}; give it one, its own if alone")
    return names[rows]


EXPORTED = "ratewise"
NO_STRONG = "name the column with the strong rating: strong, or --strong on the command line"
EXPORT_VERSION = 1
UNSEEN = 3.0  # answers unlike any so far, that an interval to stop at allows for: the rule of three


# A campaign's export


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportTerms(JsonRecord):
    """How the arrays are combined; everything is a number or a word, so that it fits into one cell."""

    campaign: str
    method: Method
    estimand: Estimand
    pool_size: float | None
    low: float
    high: float
    variance_factor: float  # for what learning from the labels adds unseen
    level: float  # that the interval is said to have
    level_at: float  # that it is computed at, higher where it may be looked at again and again
    unseen: float = 0.0  # variance for answers unlike any so far
    anytime: bool = False
    rows: int = 0  # that the export had
    weak: tuple[str, ...] = ()  # columns, and so are the next five
    strong: str = ""
    rates: tuple[str, ...] = ()
    selected: str = ""
    clusters: str | None = None
    strata: str | None = None
    sizes: Mapping[str, float] | None = None  # of the strata
    known: int = 0  # items whose ratings were picked by hand, and are counted as they are
    known_mean: float = 0.0
    question: dict[str, Any] | None = None  # of a campaign that is asked more than a mean: `questions/question.py`

    def to_json(self) -> str:
        """JSON text in which numbers keep every bit."""
        said = self.to_dict()
        if self.question is None:
            del said["question"]
        return json.dumps({"version": EXPORT_VERSION, **said})

    def named(self, columns: TableColumns) -> bool:
        """Whether these columns are the campaign's own, so that its export is to be read as the campaign does."""
        weak = columns.weak
        own = weak is None or weak in self.weak or (weak.startswith("rating_") and weak != self.strong)
        plain = columns.selected is None and columns.clusters is None and columns.rate in {None, "rate", *self.rates}
        return own and plain and columns.strong in (None, self.strong)

    @classmethod
    def from_json(cls, text: str) -> "ExportTerms":
        """The inverse of `to_json`."""
        data: dict[str, Any] = json.loads(text)
        if data.pop("version", None) != EXPORT_VERSION:
            raise ValueError("another version")
        return cls.from_dict(data)


@dataclass(frozen=True, slots=True, eq=False)
class Pooled:
    """All items looked at in complete rounds, as one draw."""

    terms: ExportTerms
    items: Ratings  # `weak` is what stands in its place
    strata: NDArray[np.str_] | None = None
    raters: tuple[int, ...] = ()  # of a chain: whose answers each column rests on, and the last one; all if empty

    def came(self) -> tuple[Ratings, tuple[str, ...]]:
        """The items with rates of the answers that came, where some that were asked for did not; and a note on that.

        For questions that cannot count a missing answer at both ends of the scale.
        """
        items = self.items
        missing = 0 if items.selected is None else int(np.count_nonzero(items.selected & ~items.labelled))
        if not missing:
            return items, ()
        share = items.labels / (items.labels + missing)
        note = f"{missing:,} answers that were asked for did not come; they are taken to be like those that did"
        return replace(items, rates=items.rates * share, selected=None), (note,)


def estimate_pooled(pooled: Pooled, *, level: float | None = None) -> Estimate:
    """The campaign's estimate; another level is taken only where the interval is not an anytime one."""
    t = pooled.terms
    t = t if level is None or t.anytime else replace(t, level_at=level)
    how = EstimateOptions(
        t.method, level=t.level_at, estimand=t.estimand, pool_size=t.pool_size, bounds=(t.low, t.high),
        variance_factor=t.variance_factor,
    )  # fmt: skip
    if pooled.strata is None:
        found = estimate_rated(pooled.items, how)
    else:
        found = stratified(pooled.items, pooled.strata, how, sizes=t.sizes)
    return as_reported(with_known(found, t.known, t.known_mean, t.pool_size), t)


def as_reported(found: Estimate, terms: ExportTerms) -> Estimate:
    """The estimate at `level_at` with the room and the name of its interval."""
    found = widened(found, terms.level_at, terms.unseen, (terms.low, terms.high))
    if not terms.anytime:
        return found
    return replace(found, level=terms.level, interval_method=f"anytime ({found.interval_method})")


def widened(found: Estimate, level: float, unseen: float, bounds: tuple[float, float]) -> Estimate:
    """The interval with room for a variance that the ratings do not show, on a scale with these ends.

    The score interval tests each mean with the mistakes that it implies, seen or not, and needs no more room.
    """
    if found.interval is None or found.interval_method == "score" or unseen == 0:
        return found
    low, high = found.interval
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    half = math.hypot(half, float(special.ndtri(0.5 + level / 2)) * math.sqrt(unseen))
    return replace(found, interval=on_scale((min(low, middle - half), max(high, middle + half)), bounds))


def unseen_kinds(items: Ratings) -> float:
    """Variance that answers unlike any so far would add: as far off as the furthest, or half a 0/1 scale.

    Items that stop early are those whose variance looks small, often because rare mistakes have not come up yet.
    """
    use = items.labelled
    weak, rates = (x.reshape(items.rows, -1)[use, -1] for x in (items.weak, items.rates))
    h = items.strong[use]
    far = max(float(np.abs(h - weak).max()), 0.5 if set(np.unique(h)) <= {0.0, 1.0} else 0.0)
    return UNSEEN * far**2 * float(((1.0 - rates) / rates**2).mean()) / items.items**2


def with_known(found: Estimate, count: int, mean: float, others: float | None) -> Estimate:
    """The mean of a pool of `others` and so many more items whose ratings are known (METHODS section 13)."""
    if not count or others is None:
        return found
    share = others / (others + count)

    def whole(x: float) -> float:
        return share * x + (1.0 - share) * mean

    ends = None if found.interval is None else (whole(found.interval[0]), whole(found.interval[1]))
    error = None if found.standard_error is None else share * found.standard_error
    note = f"{count:,} labels picked by hand are counted as the known values of their items"
    return replace(
        found, value=whole(found.value), interval=ends, standard_error=error, items=found.items + count,
        pool_size=others + count, unanswered=share * found.unanswered,
        labels=found.labels + count, notes=(*found.notes, note),
    )  # fmt: skip


# From a table


def read_terms(table: Table) -> ExportTerms | None:
    """The terms that a campaign's export holds; `None` where the table is none, or rows were added or taken out."""
    if EXPORTED not in table.columns:
        return None
    terms = _written(table)
    return terms if terms is not None and terms.rows == table.rows else None


@dataclass(frozen=True, slots=True, eq=False)
class ExportedQuestion:
    """What a campaign's export says of the campaign's question, and its rows as one draw."""

    pooled: Pooled
    looked: Mask  # of the table's rows: those that `pooled` has
    names: tuple[str, ...]
    baseline: str | None
    at: float
    sizes: Mapping[str, float]  # of the groups, in the pool; empty where there are none


def read_asked(table: Table, kind: str, columns: tuple[str, ...] = ()) -> ExportedQuestion | None:
    """What a campaign's export says where the campaign was asked this very thing, else `None`."""
    terms = read_terms(table)
    question = None if terms is None else terms.question
    if terms is None or question is None or question["kind"] != kind:
        return None
    if columns and tuple(question["columns"]) != columns:
        return None
    names, sizes = tuple(question["names"]), group_sizes(question["names"], question["sizes"], terms.pool_size)
    looked = np.asarray(~np.isnan(_columns(table, terms.rates)[:, -1]))
    return ExportedQuestion(read_pooled(table, terms), looked, names, question["baseline"], question["at"], sizes)


def group_sizes(names: Sequence[str], sizes: Sequence[int], pool_size: float | None) -> dict[str, float]:
    """How many items of the pool each group has, from those of the table."""
    scale = 1.0 if pool_size is None or not sizes else pool_size / sum(sizes)
    return {name: max(size * scale, 1.0) for name, size in zip(names, sizes, strict=False)}


def single_draw(table: Table, weak: str | None, rate: str | float | None) -> ExportTerms:
    """The terms of an export whose items were drawn once, at rates of their own, where no other columns are named."""
    terms = read_terms(table)
    if terms is None or not terms.named(TableColumns(terms.strong, weak, rate)):
        raise InputError(NO_STRONG)
    if len(terms.rates) > 1 or terms.strata is not None or terms.known:
        raise InputError(
            f"{table.name} is the export of a campaign with a chain of raters, strata or labels picked by hand, whose "
            f"slices only its report has; or name the columns of a plain draw, such as {terms.strong!r}"
        )
    return terms


def exported_ends(table: Table, strong: str) -> tuple[float, float] | None:
    """The ends of the scale of a campaign's strong ratings, where the table is its export, or a part of it."""
    terms = _written(table) if EXPORTED in table.columns else None
    return None if terms is None or terms.strong != strong else (terms.low, terms.high)


def _written(table: Table) -> ExportTerms | None:
    cells = [text for text in table.texts(EXPORTED, missing="allow").tolist() if text]
    try:
        return ExportTerms.from_json(cells[0]) if len(cells) == 1 else None
    except (ValueError, TypeError, KeyError):
        return None


def read_pooled(table: Table, terms: ExportTerms) -> Pooled:
    """The arrays of an export; rows of a round that is not complete have no rate and do not count."""
    rates = _columns(table, terms.rates)
    looked = ~np.isnan(rates[:, -1])
    chain = len(terms.rates) > 1
    weak, rates = (x if chain else x[:, 0] for x in (_columns(table, terms.weak), rates))
    clusters = None
    if terms.clusters is not None:  # rows of a round that is not complete have none
        clusters = np.nan_to_num(table.numbers(terms.clusters, missing="allow")).astype(np.intp)
    strong, selected = table.numbers(terms.strong, missing="allow"), table.numbers(terms.selected) != 0
    strata = None if terms.strata is None else table.texts(terms.strata)[looked].astype(np.str_)
    return Pooled(terms, Ratings(weak, strong, rates, selected, clusters).part(looked), strata)


def reported(
    table: Table, terms: ExportTerms, *, level: float | None, estimand: Estimand | None
) -> tuple[Estimate, Pooled]:
    """A campaign's estimate from its export, as it reports it or of the estimand that is asked for instead."""
    note = f"computed as campaign {terms.campaign!r} reports it, with what it learned and the level of its interval"
    if estimand not in (None, terms.estimand):
        note += f"; the campaign itself asks for the mean of the {terms.estimand}"
        size = TablePool.of(table, table.rows).size if estimand == "pool" else None
        terms = replace(terms, estimand=estimand, pool_size=size)
    pooled = read_pooled(table, terms)
    found = estimate_pooled(pooled, level=level)
    return replace(found, notes=(note, *found.notes)), pooled


def _columns(table: Table, names: tuple[str, ...]) -> Floats:
    missing = [name for name in names if name not in table.columns]
    if missing:
        raise TableError(
            f"{table.name} is a campaign's export without its column {missing[0]!r}; export it again, or remove the "
            f"column {EXPORTED!r} to estimate from the others"
        )
    return np.column_stack([table.numbers(name, missing="allow") for name in names])


# Ratings as people give them: words become numbers, several columns their mean


def made_ready(table: TableLike, strong: Strong, weak: str | None, meaning: Meaning) -> Ready:
    """Read the table and put its ratings into numbers; several columns of strong ratings become their mean."""
    read = read_table(table)
    names = strong_columns(read, strong)
    read, notes = in_numbers(read, strong=names, weak=() if weak is None else (weak,), meaning=meaning)
    return with_mean(read, names, meaning, notes)


def with_mean(table: Table, names: Sequence[str], meaning: Meaning, notes: tuple[str, ...] = ()) -> Ready:
    """The table, whose ratings are numbers, with the mean of these columns if there are several."""
    if len(names) == 1:
        ends = exported_ends(table, names[0]) if meaning.bounds is None else meaning.bounds
        return Ready(table, names[0], tuple(names), notes, scale=ends)
    votes = Votes(np.stack([table.numbers(name, missing="allow") for name in names], axis=1), tuple(names))
    column = f"mean of {', '.join(names)}"
    read = table.with_columns({column: votes.means})
    return Ready(read, column, tuple(names), notes, votes, ends_of(votes, meaning))


def strong_columns(table: Table | SqlTable, strong: Strong) -> list[str]:
    """One column or several: a list, or their names separated by commas."""
    if isinstance(strong, str):
        if strong in table.columns or "," not in strong:
            return [strong]
        strong = [name.strip() for name in strong.split(",") if name.strip()]
    names = list(strong)
    if not names or len(set(names)) < len(names):
        raise TableError(f"strong names no column, or one of them twice: {', '.join(names) or 'none'}")
    return names


def ends_of(votes: Votes, meaning: Meaning) -> tuple[float, float] | None:
    """The ends of the scale: as stated, or those of 0/1 votes."""
    known = votes.values[~np.isnan(votes.values)]
    binary = bool(known.size and np.all((known == 0) | (known == 1)))
    return meaning.bounds or ((0.0, 1.0) if binary else None)


# What votes do to an estimate


def with_votes(found: Estimate, rated: RatedTable) -> Estimate:
    """The estimate with its people's agreement; of a pool's own mean, with the room that their disagreement takes.

    The population's variance has it already: contributions vary by votes as by items (docs/statistics.md, votes).
    """
    votes = rated.votes
    if votes is None:
        return found
    items = None if rated.items.counts is None else rated.items.items  # only the first rows stand alone then
    rates = rated.items.rates[: votes.values.shape[0]]
    if found.estimand == "pool":
        found = _widened(found, vote_noise(votes, rates, items), rated.scale)
    all_rated = bool((votes.counts > 0).all()) and items in (None, rates.size)
    room = found.estimand == "population" or not all_rated
    told = agreement(votes, rates, standard_error=found.standard_error, room=room, items=items)
    return replace(found, agreement=told, notes=(*found.notes, *_in_words(told)))


def votes_in_words(rated: RatedTable) -> tuple[str, ...]:
    """Who voted and how well they agree, for questions about more than one mean."""
    if rated.votes is None:
        return ()
    return _in_words(agreement(rated.votes, rated.items.rates, standard_error=None, room=False))


def _widened(found: Estimate, noise: VoteNoise | None, scale: tuple[float, float] | None) -> Estimate:
    """The estimate with the votes' own variance added on either side: the squares of what each adds to it."""
    if noise is None:
        note = "no item has two votes, so the noise of votes is unknown: the interval holds for these votes only"
        return replace(found, notes=(*found.notes, note))
    if noise.beyond <= 0 or found.interval is None:
        return found
    own = math.sqrt(noise.beyond)
    more = float(special.ndtri(0.5 + found.level / 2)) * own
    low, high = found.interval
    low, high = found.value - math.hypot(found.value - low, more), found.value + math.hypot(high - found.value, more)
    if scale is not None:
        low, high = max(low, scale[0]), min(high, scale[1])
    notes = tuple(note for note in found.notes if "the value is exact" not in note)
    wider = math.hypot(found.standard_error or 0.0, own)
    return replace(found, standard_error=wider, interval=(low, high), notes=notes)


def _in_words(a: Agreement) -> tuple[str, ...]:
    each = f"{a.votes / max(a.items, 1):.1f}".removesuffix(".0")
    said = f"{a.people} people gave {a.votes:,} votes on {a.items:,} items ({each} each)"
    if a.percent is not None:
        alpha = "" if a.alpha is None else f", Krippendorff's alpha {a.alpha:.2f}"
        said += f"; {a.percent:.0%} of pairs agree{alpha}"
    out = [said]
    if a.standard_error is not None and a.with_another_vote is not None:
        out.append(_another_vote(a, each))
    for name, gap in a.differs:
        out.append(
            f"{name} rates {abs(gap):.2g} {'higher' if gap > 0 else 'lower'} than the others on the same items: the "
            "interval holds for people like these, and more items do not average it out"
        )
    return tuple(out)


def _another_vote(a: Agreement, each: str) -> str:
    said = (
        f"another vote on each of the {a.items:,} items ({a.items:,} votes) would bring the standard error from "
        f"{a.standard_error:.4f} to {a.with_another_vote:.4f}"
    )
    if a.with_other_items is None:
        return f"{said}; there are no other items to rate"
    more = max(round(a.items / (a.votes / a.items)), 1)
    return f"{said}; as many votes on {more:,} other items, {each} each, to {a.with_other_items:.4f}"


_MOST = 1000  # different texts in a column of ratings


# In files: first the SQL of ratings and rates, numbers, words with a meaning, and a rate where no column says one


@dataclass(frozen=True, slots=True, eq=False)
class LargeRatings:
    """Where the ratings of one system or several are, and how their rows were drawn."""

    relation: SqlTable
    weak: tuple[NumberSql, ...]
    strong: tuple[NumberSql, ...]
    asked: NumberSql | None
    rate: NumberSql
    source: str  # what messages call the rate
    assumed: bool  # nobody says the rate: it is that of a random draw
    notes: tuple[str, ...]
    votes: tuple[str, ...] = ()  # the SQL of each person's, where the rating is their mean

    @property
    def labelled(self) -> str:
        """The SQL of whether a row has a strong rating of any system."""
        return _any_given(self.strong)

    def expressions(self, i: int, j: int | None = None) -> Expressions:
        """Ratings of one system, or of one less another."""
        weak, strong = self.weak[i], self.strong[i]
        if j is not None:
            weak, strong = weak.less(self.weak[j]), strong.less(self.strong[j])
        elif len(self.strong) > 1:
            strong = replace(strong, values=None)  # rows that have a label of another system stand alone, too
        return Expressions(
            self.relation.source_in_sql(), weak, strong, self.rate, labelled=self.labelled, asked=self.asked,
            row=self.relation.row_in_sql, beside=self.votes,
        )  # fmt: skip


def large_ratings(
    relation: SqlTable, weak: Sequence[str], strong: Sequence[str], draw: TableColumns, meaning: Meaning, *,
    votes: bool = False,
) -> LargeRatings | None:  # fmt: skip
    """The ratings of a table that stays in its files; nothing where it has to be read whole to know more.

    `votes`: the strong columns are several people's, whose mean is the rating.
    """
    asked = draw.selected or (SELECTED if SELECTED in relation.columns else None)
    rate = RATE if draw.rate is None and RATE in relation.columns else draw.rate
    named = rate if isinstance(rate, str) and rate in relation.columns else None
    wanted = [*weak, *strong, *(name for name in (asked, named) if name is not None)]
    if EXPORTED in relation.columns or any(name not in relation.columns for name in wanted):
        return None
    ratings = _ratings(relation, weak, strong, meaning)
    asked_sql, rate_sql = (None if name is None else relation.number_in_sql(name) for name in (asked, named))
    if ratings is None or (asked_sql is None) != (asked is None) or (rate_sql is None) != (named is None):
        return None
    columns, notes = ratings
    of_strong, people = tuple(columns[name] for name in strong), tuple(columns[name].sql for name in strong)
    if votes:
        of_strong = (_mean(of_strong),)
    number, source = rate_sql, f"column {named!r}"
    if number is None and rate is None:  # labels are taken as a random draw of all rows
        given = _any_given(of_strong)
        drawn = given if asked_sql is None else f"({given} OR coalesce({asked_sql.sql}, 0) <> 0)"
        counts = relation.ask(
            f"SELECT count(*) AS n, sum(CASE WHEN {given} THEN 1 ELSE 0 END) AS h,"
            f" sum(CASE WHEN {drawn} THEN 1 ELSE 0 END) AS d FROM {relation.source_in_sql()}"
        )
        rows, labels, many = (int(counts[name][0]) for name in "nhd")
        if labels == rows or many == 0:
            return None
        number, source = _one_rate(many / rows), "one rate for all"
        notes += (assumed_note(many, many / rows),)
    elif number is None:
        try:
            value = share(float(rate or 0.0), name=RATE, one=True)
        except ValueError:
            return None  # several columns, or none
        number, source = _one_rate(value), f"the rate {value:g}"
    return LargeRatings(
        relation, tuple(columns[name] for name in weak), of_strong, asked_sql, number, source, rate is None, notes,
        people if votes else (),
    )  # fmt: skip


def _one_rate(value: float) -> NumberSql:
    return NumberSql(in_sql(value), in_sql(value), "true", "true", (value, value))


def _ratings(
    relation: SqlTable, weak: Sequence[str], strong: Sequence[str], meaning: Meaning
) -> tuple[dict[str, NumberSql], tuple[str, ...]] | None:
    """Columns of ratings as numbers, and notes on words among them."""
    columns, notes = dict[str, NumberSql](), list[str]()
    said = bool(meaning.positive or meaning.scale)
    for name in dict.fromkeys([*strong, *weak]):
        number = None
        if not said or name not in strong:
            with suppress(TableError):  # a column of text, in Spark
                number = relation.number_in_sql(name)
        if number is None:
            words = _words(relation, name, meaning, strong=name in strong)
            if words is None:
                return None
            number, more = words
            notes += more
        columns[name] = number
    return columns, tuple(dict.fromkeys(notes))


def _words(
    relation: SqlTable, name: str, meaning: Meaning, *, strong: bool
) -> tuple[NumberSql, tuple[str, ...]] | None:
    """A column's words as numbers, and notes on what was taken for what.

    Nothing where it has too many different ones, or one that means nothing: who reads the table whole says which row.
    """
    text = relation.text_in_sql(name)
    asked = f"SELECT DISTINCT {text} AS t FROM {relation.source_in_sql()} LIMIT {_MOST + 1}"
    texts = sorted(str(one) for one in relation.ask(asked)["t"].tolist())
    if len(texts) > _MOST or any("'" in one or "\\" in one for one in texts):  # engines write those differently
        return None
    table = read_table({name: np.array(texts, dtype=object)}, name=relation.name)
    try:
        read, notes = in_numbers(
            table, strong=[name] if strong else (), weak=() if strong else [name], meaning=meaning
        )  # fmt: skip
        numbers = read.numbers(name, missing="allow")
    except TableError:
        return None
    known = [(word, float(x)) for word, x in zip(texts, numbers, strict=True) if not np.isnan(x)]
    if not known:
        return None
    cases = " ".join(f"WHEN {quoted_text(word)} THEN {in_sql(x)}" for word, x in known)
    values = [x for _, x in known]
    return NumberSql(f"CASE {text} {cases} END", range=(min(values), max(values))), notes


def _mean(columns: Sequence[NumberSql]) -> NumberSql:
    """The mean of the votes that are there."""
    count = " + ".join(f"(CASE WHEN {one.sql} IS NULL THEN 0e0 ELSE 1e0 END)" for one in columns)
    total = " + ".join(f"coalesce({one.sql}, 0e0)" for one in columns)
    return NumberSql(f"CASE WHEN {_any_given(columns)} THEN ({total}) / ({count}) END")


def _any_given(columns: Sequence[NumberSql]) -> str:
    return f"({' OR '.join(one.there for one in columns)})"


_LARGE_FILE = 32 * 2**20  # bytes of text that are read in pieces rather than whole
_OUTSIDE = 1 + 1e-15


# Reading


def large_relation(source: TableLike | SqlTable) -> SqlTable | None:
    """The table where it is, if it lies in files and has more rows than are read whole."""
    if isinstance(source, SqlTable):
        return source
    if is_spark(source):
        return SparkTable.of(source, "table")
    if not isinstance(source, str | os.PathLike) or os.fsdecode(source) == "-":
        return None
    try:
        files = files_of(os.fsdecode(source))
        small = kind_of(files) != "Parquet" and sum(map(os.path.getsize, files)) < _LARGE_FILE
        relation = None if small else open_relation(source)
    except (TableError, OSError):
        return None  # whoever reads it whole says what is wrong
    return relation if relation is not None and relation.count() > MANY_ROWS else None


def read_whole(source: TableLike, relation: SqlTable | None) -> Table:
    """A table in memory: of a relation that could not be asked, of a file, or of a folder or pattern of several."""
    if isinstance(relation, SparkTable):
        raise TableError(
            f"{relation.name} is a table of Spark, and this would collect all of its rows: give ratings that are "
            "numbers, or words that are few; other recalibrations than an affine one, the anytime "
            "interval, and slices of a table in which some rows have no rate, are for tables in memory"
        )
    if relation is not None:
        return in_memory(relation)
    if isinstance(source, str | os.PathLike) and files_among(os.fsdecode(source)):
        return in_memory(open_relation(source))
    return read_table(source)


def read_in_files(
    relation: SqlTable | None, columns: TableColumns, meaning: Meaning, how: EstimateOptions,
    recalibrate: Recalibration = "none", *, by: str | None = None, chosen: bool = False,
) -> RatedTable | None:  # fmt: skip
    """The rated rows of a table that stays in its files, in few rows; nothing where it has to be read whole.

    Its table has the column `by` alone: slices, or what rows were `chosen` by; then rows of rate 1 need no weak rating.
    Clusters are kept apart, so what it holds grows with them. Folds are there where a line will be fitted. `meaning`
    says what words stand for; of several people's strong ratings the mean counts.
    """
    affine = recalibrate == "affine" and columns.clusters is None
    if relation is None or columns.strong is None or how.interval == "anytime" or not (affine or recalibrate == "none"):
        return None
    if not chosen and "weight" in relation.columns and columns.rate in (None, RATE):
        return None  # `refuse_unused_weights` looks at it
    folds = affine or how.method == "auto"
    clusters, weak, people = columns.clusters, columns.weak, strong_columns(relation, columns.strong)
    apart, several = clusters if by is None else by, len(people) > 1
    if weak is None or (clusters is not None and by is not None) or apart not in (None, *relation.columns):
        return None
    found = large_ratings(relation, (weak,), people, columns, meaning, votes=several)
    if found is None:
        return None
    what = found.expressions(0)
    if chosen:  # Δ = H whatever stands here
        sure = f"CASE WHEN {what.rate.sql} >= 1 THEN coalesce({what.strong.sql}, 0.0) END"
        filled = f"coalesce({what.weak.sql}, {sure})"
        plain = None if what.weak.plain is None else filled
        what = replace(what, weak=NumberSql(filled, plain, range=what.weak.range))
    what = replace(what, by=None if apart is None else relation.text_in_sql(apart))
    groups = 1 if clusters is None else _clusters(found, clusters)
    items, beside = condense(relation.ask, what, folds=folds and clusters is None, groups=groups)
    named = f"mean of {', '.join(people)}" if several else people[0]
    check_labels(relation.name, named, items.labels, 2)
    check_rows(found, what, items, weak)
    drawn = items.labelled if items.selected is None or found.assumed else items.selected
    check_large_draw(found, items, drawn, weak, rough=groups > 1)
    every = np.ones(items.rows, dtype=np.bool_)
    table = read_table({RATE: items.rates} if by is None else {by: items.clusters}, name=relation.name)
    items = items if by is None else replace(items, clusters=None)
    votes = Votes(beside, tuple(people)) if several else None
    scale = meaning.bounds if votes is None else ends_of(votes, meaning)
    if affine and items.folds is None:
        return None
    pool = TablePool.of(relation, items.items)
    return RatedTable(table, items, every, every, found.notes, False, pool, votes, scale)


_WRONG = (
    "h IS NOT NULL AND (q IS NULL OR s = 0) OR q <= 0 OR q > 1 OR q IS NOT NULL AND g IS NULL"
    " OR abs(g) > 1e50 OR abs(h) > 1e50"
)


def check_rows(found: LargeRatings, what: Expressions, rows: Ratings, weak: str) -> None:
    """Refuse what `read_rated` refuses: where the condensed rows show that something is wrong, the first such row."""
    sound = (rows.rates > 0) & (rows.rates <= _OUTSIDE) & (np.abs(rows.weak) < LARGEST)
    sound &= ~(np.abs(rows.strong) > LARGEST)
    unasked = None if rows.selected is None else rows.labelled & ~rows.selected
    if sound.all() and (unasked is None or not unasked.any()):
        return
    asked = "1" if what.asked is None else f"CASE WHEN coalesce({what.asked.sql}, 0) <> 0 THEN 1 ELSE 0 END"
    answer = found.relation.ask(
        f"SELECT * FROM (SELECT {what.weak.sql} AS g, {what.strong.sql} AS h, {what.rate.sql} AS q, {asked} AS s,"
        f" {what.row or 0} AS r FROM {what.source}) t WHERE {_WRONG} ORDER BY r LIMIT 1"
    )
    if not answer:
        return
    g, h, q, s, r = (floats(unmasked(answer[name])) for name in "ghqsr")
    name, number = found.relation.name, r if what.row else np.array([np.nan])
    refuse_wrong(name, TableDraw(q, s != 0, (), found.assumed, found.source), ~np.isnan(h), number)
    refuse_without_weak(name, g, weak, TableDraw(q, None, (), found.assumed, found.source), number)
    what_is = "has a rating that is infinite or beyond 1e+50; give a finite number or an empty cell"
    refuse_row(name, (np.abs(g) > LARGEST) | (np.abs(h) > LARGEST), what_is, number)


def check_large_draw(found: LargeRatings, rows: Ratings, drawn: Mask, weak: str, *, rough: bool = False) -> None:
    """The rows drawn are as many as the rates say, or look like a random draw where nobody says the rates.

    `rough`: rates of rows that were put together are not their means, so the sums of all are asked for.
    """
    name, source = found.relation.name, found.source
    if found.assumed:
        warn_of_choice(name, drawn, {weak: rows.weak}, counts=rows.counts)
    elif not rough:
        check_count(name, rows.rates, drawn, source, rows.counts)
    else:
        query = f"SELECT {found.rate.sql} AS q FROM {found.relation.source_in_sql()}"
        sums = found.relation.ask(
            "SELECT coalesce(sum(q), 0e0) AS a, coalesce(sum(q * (1e0 - q)), 0e0) AS b"
            f" FROM ({query}) t WHERE q > 0 AND q < 1"
        )
        count = int(np.count_nonzero(drawn & (rows.rates > 0) & (rows.rates < 1)))
        check_number(name, count, float(sums["a"][0]), float(sums["b"][0]), source)


def _clusters(found: LargeRatings, column: str) -> int:
    """How many clusters there are among rows that have a rate; each row needs one."""
    relation, text = found.relation, found.relation.text_in_sql(column)
    answer = relation.ask(
        f"SELECT count(DISTINCT t) AS n, min(CASE WHEN t = '' THEN r END) AS r FROM (SELECT {text} AS t,"
        f" {relation.row_in_sql or 0} AS r FROM {relation.source_in_sql()} WHERE {found.rate.sql} IS NOT NULL) x"
    )
    lost = unmasked(answer["r"])[0]
    if lost is not None and not np.isnan(float(lost)):
        raise TableError(
            f"row {int(lost) + 1} of {relation.name} has no cluster in column {column!r}; give it one, its own if alone"
        )
    return int(answer["n"][0])
