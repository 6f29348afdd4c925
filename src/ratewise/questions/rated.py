"""The one reader of drawn and rated tables: the mean, slices, comparisons, regressions, quantiles and boards use it.

A table says how its rows were drawn in one of three ways: a column of rates, one number for all rows, or not at all.
Then the rows with a strong rating are taken as a random draw, at one rate for all, and a note says so.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ratewise.core.checks import Floats, share
from ratewise.core.clusters import Codes, cluster_codes
from ratewise.core.estimate import EstimateOptions
from ratewise.core.messages import Message, argument
from ratewise.core.ratings import Mask, Ratings
from ratewise.core.votes import Votes
from ratewise.errors import InputError, TableError
from ratewise.questions.draw_checks import check_count, warn_of_choice
from ratewise.tables import Table
from ratewise.tables.cells import Texts
from ratewise.tables.condense import row_folds
from ratewise.tables.spark import SqlTable

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


def plain_numbers(table: Table, column: str) -> Floats:
    """Ratings that are numbers already; NaN where there is none."""
    return table.numbers(column, missing="allow")


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
    h = plain_numbers(table, ready.strong)
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
        g = np.full(table.rows, np.nan) if weak is None else plain_numbers(table, weak)
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
    asked = None if name is None else np.nan_to_num(plain_numbers(table, name)) != 0
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
        each = np.column_stack([plain_numbers(table, name.strip()) for name in rate.split(",")])
        q = np.where(np.isnan(each).all(axis=1), np.nan, 1.0 - np.prod(1.0 - np.nan_to_num(each), axis=1))
        return TableDraw(q, asked, (), False, f"columns {rate!r}")
    q = plain_numbers(table, str(rate))
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
        return bool((plain_numbers(table, RATE) < 1).any())
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
        values = plain_numbers(table, SELECTED)
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
    g = plain_numbers(table, column)
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
