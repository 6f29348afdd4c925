"""A plan applied to a pool: every item's rate, and who gets the strong rating.

One way whatever was planned and wherever the rows are. Whoever goes through them calls `survey` for every part and adds
the surveys up, asks `line_ends` where the line of items that are looked at ends, and calls `added` for the columns of
every part.

A pool in memory is one part. Files are read, hashed and written piece by piece, in three passes. The first computes
every row's rate, its hash r and its place in the line of who is looked at, keeps them on the disk, and adds up what the
rest hangs on: rows, drift, counts along the line. The second, where not all rows are looked at, finds the exact end of
the line in the one bin that holds it. The third writes.

On Spark every partition is surveyed into one row of sums, which add up here; the result is a DataFrame that is computed
when it is written or asked for. What decides about a row is a function of its own columns and of its id, so that a task
that fails and runs again gives the same rows.
"""

import json
import math
import operator
import os
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from typing import Any, ClassVar, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from ratewise.core.checks import Floats
from ratewise.core.draw import (
    EVERYONE,
    ROUNDING,
    Cut,
    DrawPrices,
    LineCounts,
    bin_of,
    cut_for_money,
    draw_within,
    uniform,
    whole_items,
)
from ratewise.core.names import Estimand, PolicyName
from ratewise.core.ratings import Mask
from ratewise.core.result import FrameKind, Result
from ratewise.errors import InputError, Message, TableError, argument
from ratewise.questions.goal import PlanGoal
from ratewise.questions.rated import POOL_SIZE, made_ready
from ratewise.questions.strata import Codes, InputPlan, check_known, read_strata, slice_names
from ratewise.questions.transfer import Counts, Drift, KnownLabels, Transfer, check_rates, load_transfer, plan_errors
from ratewise.tables import Relation, Table, TableLike, open_relation, read_table
from ratewise.tables.cells import Texts
from ratewise.tables.engine import shortened
from ratewise.tables.relation import Piece, Spool, check_place, each, folder_of, pieces_of, shared_id, write_pieces
from ratewise.tables.spark import SparkTable, SqlTable, is_spark
from ratewise.tables.table import no_column
from ratewise.tables.words import Meaning, in_numbers
from ratewise.tables.write import write_text

AT_RANDOM, BY_HAND = "at random", "by hand"

# Labels that are there already, and a new draw beside them (METHODS section 13). Old labels were drawn with chances p₀;
# the new draw skips them and takes any other item with chance p₁. Whether an item ends with a label then has the chance
#
#     π = 1 − (1 − p₀)(1 − p₁)
#
# and the pooled estimate weighs every label, old or new, by 1/π. Labels that somebody picked have no p₀. For a pool's
# mean they are the known values of their items, which count with π = 1, and the draw is about the others alone. For a
# population's mean they only teach: they are drawn like any other item, and those that are not drawn are set aside.


@dataclass(frozen=True, slots=True, eq=False)
class Before:
    """What old labels have given: p₀ of every row, and which rows cannot be asked again."""

    rates: Floats  # p₀
    labelled: Mask
    known: bool  # the labels are known values of their items
    teach: bool  # the labels only teach

    @property
    def askable(self) -> Mask:
        """Rows whose label would have to be paid for."""
        return ~self.labelled

    def total(self, wanted: Floats) -> Floats:
        """π of rows whose chance is to be `wanted`: not less than what it is already."""
        return np.maximum(wanted, self.rates)

    def new(self, total: Floats) -> Floats:
        """p₁, the probability of the new draw that gives this π."""
        rest = 1.0 - self.rates
        return np.divide(total - self.rates, rest, out=np.ones(total.size), where=rest > 0)

    def labels(self, wanted: Floats) -> float:
        """Expected number of new labels."""
        return float(self.new(self.total(wanted))[self.askable].sum())


def read_before(table: Table, strong: str, drawn: str, estimand: Estimand) -> Before:
    """p₀ by how the old labels were drawn: "at random", "by hand", or the name of a column of rates."""
    labelled = ~np.isnan(table.numbers(strong, missing="allow"))
    n = table.rows
    if drawn == AT_RANDOM:
        return Before(np.full(n, labelled.mean()), labelled, known=False, teach=False)
    if drawn == BY_HAND:
        known = estimand == "pool"
        return Before(np.where(labelled & known, 1.0, 0.0), labelled, known=known, teach=not known)
    return Before(drawn_rates(table, drawn, labelled), labelled, known=False, teach=False)


def drawn_rates(table: Table, column: str, labelled: Mask, *, key: str = "drawn") -> Floats:
    """The rates that labels were drawn with, by a column of the table that this key names."""
    if column not in table.columns:
        raise InputError(
            f"{key} is {column!r}; write 'at random', 'by hand', or the name of a column of rates of {table.name}"
        )
    rates = table.numbers(column)
    bad = ~((rates >= 0) & (rates <= 1)) | (labelled & (rates == 0))
    if bad.any():
        row = int(np.argmax(bad)) + 1
        raise TableError(f"row {row} of {table.name} has no rate that it can have been drawn with in column {column!r}")
    return rates


_WRITTEN = ("rate", "selected", POOL_SIZE)  # columns of a draw
_LEAST_RATE = 1e-100  # never drawn, and its inverse can still be squared
OVER = 1.01  # how far above the budget the expected spend may be before it is said


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DrawnFile(Result):
    """What was drawn; the rows themselves are in a file, a folder or a DataFrame of Spark."""

    rows: int
    items: int  # how many items are looked at
    asked: int  # how many of them get the strong rating
    mean_rate: float  # of the items that are looked at
    drift: Drift | None  # None where the pool has no weak ratings to compare, and needs none
    expected_spend: float | None  # before anyone is asked: weak ratings of items looked at, strong ones at their rates
    spend: float | None  # the same for the items that were in fact selected; None where no plan says the prices
    notes: tuple[str, ...]

    def summary(self) -> str:
        """How many were drawn, and what it will cost."""
        costs = "" if self.spend is None else f"; in all this will cost {self.spend:,.2f}"
        rate = f"mean rate {self.mean_rate:.3f}"
        return f"{self.asked:,} of {self.items:,} items selected for the strong rater ({rate}){costs}"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Drawn(DrawnFile):
    """The pool with `rate` and `selected` added (and `weak_calibrated`, where the plan calibrates; `weight`, where
    it chooses the items by strata; `pool_size`, where some rows are not looked at)."""

    table: Table
    rates: Floats  # NaN for items that are not looked at
    selected: Mask

    @classmethod
    def of(
        cls, table: Table, columns: Mapping[str, Any], *, expected: float | None, spend: float | None,
        notes: tuple[str, ...], drift: Drift | None = None,
    ) -> "Drawn":  # fmt: skip
        """The table with the columns of its draw, `rate` and `selected` among them."""
        rates, selected = columns["rate"], columns["selected"]
        looked = rates[rates > 0]
        return cls(
            table.rows, looked.size, int(np.count_nonzero(selected)), float(looked.mean()), drift, expected, spend,
            notes, table.with_columns(columns, replace=True), rates, selected,
        )  # fmt: skip

    def to_frame(self, kind: FrameKind | None = None) -> Any:
        """The drawn pool as a pandas, Polars or PyArrow frame; by default of the kind that came in."""
        return self.table.to_frame(kind)


# A pool before its draw


def undrawn(pool: TableLike, id_column: str | None, written: tuple[str, ...] = _WRITTEN) -> tuple[Table, Texts]:
    """A pool that was not drawn before, and its items' ids; `written` are the columns that a draw writes."""
    table = read_table(pool)
    refuse_drawn(table, written)
    return table, table.ids(id_column)


def refuse_drawn(pool: Table | SqlTable, written: tuple[str, ...] = _WRITTEN) -> None:
    """Refuse a pool that has a column which a draw writes."""
    before = [name for name in written if name in pool.columns]
    if before:
        raise TableError(
            f"{pool.name} has a column {before[0]!r} already: it was drawn before; take the pool as it was then"
        )


@dataclass(frozen=True, slots=True)
class DrawWork:
    """A plan, the pool it is applied to, and how."""

    transfer: Transfer
    seed: int
    columns: tuple[str, ...]  # that rates hang on
    rows: int  # of the pool
    within_budget: bool
    id_column: str | None = None

    @classmethod
    def of(
        cls, pool: Table | SqlTable, transfer: Transfer, *, seed: int, within_budget: bool, id_column: str | None = None
    ) -> "DrawWork":
        """What is to be done with a pool that was not drawn before; columns that are needed must be there."""
        refuse_drawn(pool)
        rows = pool.rows if isinstance(pool, Table) else pool.count()
        return cls(transfer, seed, _deciding(pool, transfer), rows, within_budget, id_column)

    @property
    def needs_weak(self) -> bool:
        """Whether rates, drift or calibrated ratings hang on the weak rating."""
        derived = self.transfer.derived
        made = derived is not None and set(derived.columns) <= set(self.columns)
        there = self.transfer.weak in self.columns or made
        return self.transfer.policy == "active" or (there and bool(self.columns))

    def drift(self, found: "Survey") -> Drift | None:
        """How far the pool is from the one learned on, where weak ratings were read."""
        return None if found.counts is None else self.transfer.drift_of(found.counts, self.rows)

    @property
    def seeds(self) -> tuple[str, ...]:
        """Of the hashes that are needed: r, and the place in the line where not everyone may be looked at."""
        in_line = self.within_budget or self.transfer.inputs is not None
        return (f"{self.seed}", f"{self.seed}:look") if in_line else (f"{self.seed}",)


def _deciding(pool: Table | SqlTable, transfer: Transfer) -> tuple[str, ...]:
    """The columns that rates hang on, as the pool has them or as they are made from those."""
    strata = () if transfer.inputs is None else (transfer.inputs.column,)
    own = () if transfer.uncertainty is None else (transfer.uncertainty,)
    features = () if transfer.models is None else transfer.models.columns
    sources = () if transfer.derived is None else transfer.derived.columns
    wanted = dict.fromkeys((transfer.weak, *own, *features, *strata, *sources))
    there = tuple(column for column in wanted if column in pool.columns)
    made = {*there, transfer.weak} if sources and set(sources) <= set(there) else set(there)
    read = (transfer.weak, *own, *features) if transfer.policy == "active" or transfer.weak in made else ()
    for column in (*read, *strata):
        if column not in made and column not in (() if transfer.derived is None else transfer.derived.made):
            raise no_column(pool.name, column, pool.columns)
    return there if read or strata else ()


# Every row by itself


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """What adds up over parts: the line of every stratum, where the plan has strata, else of all rows."""

    lines: tuple[LineCounts, ...]
    counts: Counts | None  # that drift is told by

    def __add__(self, other: "Survey") -> "Survey":
        counts = None if self.counts is None or other.counts is None else self.counts + other.counts
        return Survey(tuple(a + b for a, b in zip(self.lines, other.lines, strict=True)), counts)


DrawRows = Mapping[str, Floats]
"""All that decides about the rows of a part: `r`, `look` (the place in line), `rate`; where there are strata, `group`,
their number; where the plan calibrates, `weak`."""


def in_bin(rows: DrawRows, group: int, at: int) -> Floats:
    """Place, r and rate (each a row) of those of a stratum that stand in a bin of its line."""
    here = bin_of(rows["look"]) == at
    if "group" in rows:
        here &= rows["group"] == group
    return np.stack([rows[name][here] for name in ("look", "r", "rate")])


def survey(work: DrawWork, table: Table | None, hashes: list[Floats]) -> tuple[DrawRows, Survey]:
    """The rows of a part, by a table of `work.columns` (none where rates hang on none) and the hashes of their ids."""
    transfer, r = work.transfer, hashes[0]
    look = hashes[1] if len(hashes) > 1 else np.zeros(r.size)
    weak = error = np.zeros(r.size)
    table = None if table is None else transfer.prepared(table)
    if table is not None and work.needs_weak:
        weak, error = transfer.columns(table)
    rows = {"r": r, "look": look}
    if transfer.inputs is None or table is None:
        rates = transfer.rates(error, rows=work.rows)
        lines: tuple[LineCounts, ...] = (LineCounts.of(look, r, rates),)
    else:
        names, code = read_strata(table, transfer.inputs.column, tuple(one.name for one in transfer.inputs.strata))
        check_known(code, table, transfer.inputs.column)
        rows["group"], rates = code.astype(np.float64), _rates_in(transfer.inputs, code, error)
        each = [code == g for g in range(len(names))]
        lines = tuple(LineCounts.of(look[own], r[own], rates[own]) for own in each)
    check_rates(rates)
    rows["rate"] = rates
    if transfer.calibrates and work.needs_weak:
        rows["weak"] = weak
    return rows, Survey(lines, transfer.counts(weak, error) if work.needs_weak else None)


def _rates_in(plan: InputPlan, code: NDArray[np.intp], error: Floats) -> Floats:
    """One rate in each stratum, or clip(γ·sqrt(u), floor, 1) with the stratum's own γ."""

    def of(name: str) -> Any:
        return np.array([getattr(stratum, name) for stratum in plan.strata], dtype=np.float64)[code]

    scale = of("scale")  # NaN where there is one rate
    follows = np.clip(np.where(np.isnan(scale), 0.0, scale) * np.sqrt(error), np.maximum(of("floor"), _LEAST_RATE), 1.0)
    return np.asarray(np.where(np.isnan(scale), of("rate"), follows))


# Where the line ends

InBin = Callable[[int, int], Floats]
"""`in_bin` of all rows."""
BY_NUMBER = DrawPrices(1.0, 0.0)
_End = tuple[Cut, int, int, float]
"""The last of a line who is looked at; how many are, up to there, and are drawn; and the sum of their rates."""


def end_for(line: LineCounts, group: int, prices: DrawPrices, money: float, found: InBin) -> _End:
    """The end before the first item that could not be paid, by the counts along the line and the rows of one bin."""
    at = line.last_bin(prices, money)
    if at is None:
        return EVERYONE, int(line.items.sum()), int(line.drawn.sum()), float(line.rates.sum())
    (items, drawn), (look, r, rates) = line.before(at), found(group, at)
    cut = cut_for_money(look, r, np.asarray(r < rates), prices, money, before=(items, drawn))
    kept = cut.keeps(look, r)
    asked = drawn + int(np.count_nonzero(kept & (r < rates)))
    return cut, items + int(np.count_nonzero(kept)), asked, float(line.rates[:at].sum()) + float(rates[kept].sum())


@dataclass(frozen=True, slots=True, eq=False)
class LineEnds:
    """Where the line of every stratum ends, or that of all rows."""

    look: Floats  # of the last one who is looked at, by stratum
    r: Floats
    items: Floats  # who are looked at, of each stratum
    asked: int  # how many get the strong rating
    rate_sum: float  # of all that are looked at
    planned: int  # items to look at, before money ends the line
    rows: int  # of the pool
    weights: Floats | None = None  # of the items of each stratum, where there are strata
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, each: Sequence[_End], planned: int, rows: int, **strata: Any) -> "LineEnds":
        """The ends of the lines together."""
        cuts, items, asked, rate_sums = zip(*each, strict=True)
        look, r = (np.array([getattr(cut, name) for cut in cuts]) for name in ("look", "r"))
        return cls(look, r, np.array(items, dtype=np.float64), sum(asked), sum(rate_sums), planned, rows, **strata)

    def looked(self, rows: DrawRows) -> Mask:
        """Whether each row is looked at."""
        group = rows["group"].astype(np.intp) if "group" in rows else 0
        return Cut(self.look[group], self.r[group]).keeps(rows["look"], rows["r"])


def line_ends(work: DrawWork, found: Survey, rows_in: InBin) -> LineEnds:
    """Where the lines of a pool end: by strata as many items as planned of each, else as the plan and its money say."""
    inputs = work.transfer.inputs
    if inputs is None:
        return one_line_end(work.transfer, found.lines[0], rows_in, work.rows, within_budget=work.within_budget)
    N = np.array([line.items.sum() for line in found.lines], dtype=np.float64)
    wanted = np.array([whole_items(stratum.items) for stratum in inputs.strata], dtype=np.float64)
    T = np.minimum(np.maximum(wanted, 2), N)
    most = np.where(T < N, T, math.inf)
    each = [end_for(line, g, BY_NUMBER, most[g], rows_in) for g, line in enumerate(found.lines)]
    weights = np.asarray(N / N.sum() * T.sum() / np.maximum(T, 1))  # W_s T/T_s
    notes = _short([stratum.name for stratum in inputs.strata], N, wanted)
    return LineEnds.of(each, int(T.sum()), work.rows, weights=weights, notes=notes)


def one_line_end(
    plan: "Transfer | PlannedRows", line: LineCounts, rows_in: InBin, rows: int, *, within_budget: bool
) -> LineEnds:
    """Where one line of all rows ends: after the plan's items, or where its money ends; or nowhere."""
    planned, prices, budget = rows, prices_of(plan), plan.budget
    if within_budget and plan.policy != "base" and whole_items(plan.items) < rows:
        planned = int(whole_items(plan.items))
    end = end_for(line, 0, BY_NUMBER, planned if planned < rows else math.inf, rows_in)
    if within_budget and budget is not None and prices.cost(planned, end[2]) > budget * (1 + ROUNDING):
        end = end_for(line, 0, prices, budget, rows_in)
    return LineEnds.of([end], planned, rows)


def prices_of(plan: "Transfer | PlannedRows") -> DrawPrices:
    """Of the two ratings; strong ratings alone need no weak ones."""
    return DrawPrices(0.0 if plan.policy == "base" else plan.weak_cost, plan.strong_cost)


# What is written, and what is told


def added(found: LineEnds, rows: DrawRows) -> dict[str, Floats | Mask]:
    """The columns that the draw adds to a part."""
    looked = found.looked(rows)
    columns: dict[str, Floats | Mask] = {
        "rate": np.where(looked, rows["rate"], np.nan), "selected": looked & (rows["r"] < rows["rate"])
    }  # fmt: skip
    if found.items.sum() < found.rows:
        columns[POOL_SIZE] = np.full(looked.size, float(found.rows))
    if found.weights is not None:
        columns["weight"] = np.where(looked, found.weights[rows["group"].astype(np.intp)], np.nan)
    if "weak" in rows:
        columns["weak_calibrated"] = rows["weak"]
    return columns


def told(plan: "Transfer | PlannedRows", found: LineEnds, drift: Drift | None = None) -> DrawnFile:
    """What there is to say about the draw."""
    items, budget, inputs = int(found.items.sum()), plan.budget, plan.inputs
    if items == 0:
        check_rates(np.array([np.nan]))
    weak_spend, notes = prices_of(plan).weak * items, [*found.notes]
    if inputs is not None:
        weak_spend = plan.weak_cost * float(found.items @ [float(stratum.buys_weak) for stratum in inputs.strata])
    expected, spend = (float(weak_spend + plan.strong_cost * count) for count in (found.rate_sum, found.asked))
    if drift is not None and drift.drifted:
        notes.append(drift.summary())
    # by strata as many of each are looked at as planned, so only chance can cost more
    if inputs is not None or budget is None or expected <= OVER * budget or items <= plan.items + 1:
        notes += by_chance(budget, spend)
    else:
        again = "" if plan.pool_size == items else f"plan again with {argument('pool_size')} {items}, or "
        notes.append(
            Message(
                f"rating all {items:,} items is expected to cost {expected:,.2f}, more than the budget of "
                f"{budget:,.2f}: {again}draw with {argument('within_budget')}"
            )
        )
    if (left := found.planned - items) > 0:
        lasts = f"by chance the money lasts for {items:,} of the {found.planned:,} items"
        notes.append(f"{lasts}; the last {left:,} {'is' if left == 1 else 'are'} not looked at")
    mean_rate = found.rate_sum / max(items, 1)
    return DrawnFile(found.rows, items, found.asked, mean_rate, drift, expected, spend, tuple(notes))


def _short(names: Sequence[str], N: Floats, wanted: Floats) -> tuple[str, ...]:
    """The note about strata of which the pool has fewer items than planned."""
    short = [f"{name!r} ({n:,.0f} of {w:,.0f})" for name, n, w in zip(names, N, wanted, strict=True) if n < w]
    if not short:
        return ()
    return (
        f"the pool has fewer items than planned of {', '.join(short[:5])}: all are looked at; plan again with this "
        "pool to spend what is left",
    )


def by_chance(budget: float | None, spend: float) -> tuple[str, ...]:
    """The note that a draw may come out dearer than expected."""
    if budget is None or spend <= budget:
        return ()
    return (
        f"by chance more items were drawn than expected: rating them costs {spend:,.2f}, and the budget is "
        f"{budget:,.2f}; if you cannot go over it, plan with a smaller budget",
    )


# A table in memory: one part


def draw_transfer(
    pool: TableLike, transfer: Transfer, *, seed: int, id_column: str | None = None, within_budget: bool = True
) -> Drawn:
    """Give every item its rate and draw, by hash of the seed and the item's id.

    Within the budget, only as many items are looked at as the plan foresees (chosen by another hash), and fewer where
    chance would make them dearer; the rest are not looked at. Without it all are, and a note says so where it is to
    cost more than the budget. A plan by strata says itself how many of each are looked at; `weight` is
    what each of those counts, 1 on average.
    """
    if transfer.old is not None:
        return _draw_beside(read_table(pool), transfer, transfer.old, seed=seed, within_budget=within_budget)
    table = read_table(pool)
    work = DrawWork.of(table, transfer, seed=seed, within_budget=within_budget)
    hashes = [uniform(table.ids(id_column), seed=each) for each in work.seeds]
    rows, surveyed = survey(work, table if work.columns else None, hashes)
    found = line_ends(work, surveyed, partial(in_bin, rows))
    return _drawn_table(table, found, rows, told(transfer, found, work.drift(surveyed)))


def _drawn_table(table: Table, found: LineEnds, rows: DrawRows, made: DrawnFile) -> Drawn:
    return Drawn.of(
        table, added(found, rows), expected=made.expected_spend, spend=made.spend, notes=made.notes, drift=made.drift
    )


# Beside old labels (METHODS section 13)


def _draw_beside(table: Table, transfer: Transfer, old: KnownLabels, *, seed: int, within_budget: bool) -> Drawn:
    """π and who has or gets a label, by a hash of its own: independent of the draw that the old labels are from.

    A calibrated weak rating of an item with an old label comes from the other labels, as its rate does: its own would
    bring it nearer to that label than to those of items that did not teach, and the interval would be too narrow.
    """
    ready = made_ready(table, old.strong, None, transfer.words)
    before = read_before(ready.table, ready.strong, old.drawn, old.estimand)
    weak, error = transfer.columns(transfer.prepared(table))
    rates = before.total(transfer.rates(error))
    rates[before.labelled], weak[before.labelled] = _without_each(table, old, before)
    p1, fresh = before.new(rates), uniform(table.ids(), seed=f"{seed}:beside old labels")
    hit, askable = fresh < p1, before.askable
    if within_budget and transfer.budget is not None:
        # as many as the rates sum to, and never more than the budget pays for
        labels = min(whole_items(transfer.budget / transfer.strong_cost), round(float(p1[askable].sum())))
        hit[askable] = draw_within(p1[askable], fresh[askable], np.ones(int(askable.sum())), labels + 0.5)
    count = int(before.labelled.sum())
    if before.teach:
        selected = hit
        columns = _set_aside(table, ready.names, hit) | {"rate": rates, "selected": selected}
        note = (
            f"a population's mean is asked for: the {count:,} labels picked by hand only teach; the "
            f"{int((before.labelled & hit).sum()):,} of them that were drawn are used, the others are in column "
            f"'{ready.names[0]}_by_hand'"
        )
    else:
        selected = before.labelled | hit
        columns = {"rate": rates, "selected": selected, "rate_new": np.where(before.labelled, np.nan, p1)}
        how = "counted as known values of their items" if before.known else "pooled with the new draw"
        note = f"{count:,} labels are there already: they are {how} and are not asked for again"
    spend = float(transfer.strong_cost * np.count_nonzero(hit & askable))
    columns |= {"weak_calibrated": weak} if transfer.calibrates else {}
    notes = (note, *by_chance(transfer.budget, spend))
    return Drawn.of(table, columns, expected=transfer.budget or spend, spend=spend, notes=notes)


def _set_aside(table: Table, names: Sequence[str], keep: Mask) -> dict[str, Any]:
    """The columns of labels with those to keep, words or numbers as they are, and a copy of each with all labels."""
    columns: dict[str, Any] = {}
    for name in names:
        cells = table.arrays()[name]
        numbers = cells.dtype.kind in "fiub"
        kept = cells.astype(np.float64 if numbers else object)
        kept[~keep] = np.nan if numbers else None
        columns[name] = kept
        columns[f"{name}_by_hand"] = cells
    return columns


def _without_each(table: Table, old: KnownLabels, before: Before) -> tuple[Floats, Floats]:
    """π and the weak ratings of the old labels as they were planned; the labels must be the same as then."""
    planned = dict(zip(old.ids, zip(old.rates, old.weak, strict=True), strict=True))
    ids = table.ids()[before.labelled].tolist()
    if len(ids) != len(planned) or any(item not in planned for item in ids):
        raise TableError(
            f"{table.name} has other labels in column {old.strong!r} than the plan was made with; plan again with it"
        )
    rates, weak = zip(*(planned[item] for item in ids), strict=True)
    return np.array(rates), np.array(weak)


# Slices and random samples


@dataclass(frozen=True, slots=True, eq=False)
class PlannedRows:
    """The rates of a table's rows, and the weak ratings that say which rows these are.

    A plan for coefficients, or for many comparisons at once, weighs rows by what they do to all of them together: its
    rates are for the rows it has seen, and it is made from the pool itself.
    """

    weak: tuple[str, ...]
    policy: PolicyName
    rates: Floats = field(repr=False)
    items: float  # to look at; for base, strong ratings to buy
    weak_cost: float
    strong_cost: float
    budget: float | None
    pool_size: float | None
    seen: Floats = field(repr=False)  # rows × weak columns
    words: Meaning  # what words as weak ratings stand for
    inputs: ClassVar[None] = None  # no strata

    @classmethod
    def of(
        cls, table: Table, weak: Sequence[str], policy: PolicyName, rates: Floats, items: float | None, goal: PlanGoal,
        words: Meaning,
    ) -> "PlannedRows":  # fmt: skip
        """The planned rows of the table that the plan was made from."""
        if policy == "base" and items is not None:
            rates = np.full(table.rows, min(1.0, items / table.rows))
        return cls(
            tuple(weak), policy, rates, math.inf if items is None else items, goal.weak_cost, goal.strong_cost,
            goal.budget, goal.pool_size, _weak(table, weak, words), words,
        )  # fmt: skip

    def draw(self, pool: TableLike, *, seed: int, id_column: str | None, within_budget: bool) -> Drawn:
        """Draw from the pool, which must be the table that the plan was made from."""
        table, ids = undrawn(pool, id_column)
        if not np.array_equal(_weak(table, self.weak, self.words), self.seen):
            raise InputError(
                f"this plan gives rates to the rows of the table it was made from, and {table.name} has other rows: "
                "plan with the pool itself, as rows without a strong rating beside the labelled ones"
            )
        look, r = (uniform(ids, seed=name) for name in (f"{seed}:look", f"{seed}"))
        rows, line = {"r": r, "look": look, "rate": self.rates}, LineCounts.of(look, r, self.rates)
        found = one_line_end(self, line, partial(in_bin, rows), table.rows, within_budget=within_budget)
        return _drawn_table(table, found, rows, told(self, found))


def _weak(table: Table, columns: Sequence[str], words: Meaning) -> Floats:
    read, _ = in_numbers(table, strong=(), weak=columns, meaning=words)
    return np.stack([read.numbers(column) for column in columns], axis=1)


# What every plan is drawn by


class AnyPlan(Result):
    """What every `plan_*` gives: it prints, goes into a file, and `draw_pool` draws by it."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON, without the rates of the table's rows."""
        return {("inputs" if name == "basis" else name): value for name, value in Result.to_dict(self).items()}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the plan as JSON."""
        write_text(path, json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n")

    @property
    def drawn_by(self) -> "Transfer | PlannedRows | SlicePolicies":
        """What gives a pool's items their rates."""
        raise NotImplementedError


# The draw by a slice plan: every slice's own rates on its own rows, one draw for all


SlicePolicies = tuple[str, dict[str, Transfer | None]]
"""The column of slices, and every slice's policy; none for those that have no plan."""


def slice_policies(path: str | os.PathLike[str]) -> SlicePolicies | None:
    """What a file with a slice plan says; nothing of another file, or of what cannot be read."""
    try:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        return None
    if not (isinstance(data, dict) and isinstance(data.get("by"), str) and "slices" in data):
        return None
    with plan_errors(path):
        plans = {one["name"]: one["plan"] for one in data["slices"]}
        return data["by"], {name: plan and Transfer.from_dict(plan["transfer"]) for name, plan in plans.items()}


def draw_slices(
    pool: TableLike,
    plan: AnyPlan | str | os.PathLike[str],
    *,
    seed: int,
    id_column: str | None = None,
    within_budget: bool = True,
) -> Drawn:
    """Give every item the rate that its slice's plan gives it, and draw by hash of the seed and the item's id.

    Only as many items of each slice are looked at as its plan foresees, unless `within_budget=False`. Items of slices
    that have no plan are not looked at, and a note says so.
    """
    found = plan.drawn_by if isinstance(plan, AnyPlan) else slice_policies(plan)
    if not isinstance(found, tuple):
        named = "this" if isinstance(plan, AnyPlan) else os.fspath(plan)
        raise TableError(f"{named} is no slice plan; save one that was made by a column")
    return _draw_slices(pool, *found, seed=seed, id_column=id_column, within_budget=within_budget)


def _draw_slices(
    pool: TableLike, by: str, transfers: Mapping[str, Transfer | None], *, seed: int, id_column: str | None,
    within_budget: bool,
) -> Drawn:  # fmt: skip
    table, ids = undrawn(pool, id_column, ("rate", "selected", POOL_SIZE, "weight", "weak_calibrated"))
    names, groups = slice_names(table, by)
    look, r = (uniform(ids, seed=name) for name in (f"{seed}:look", f"{seed}"))
    columns = {name: np.full(table.rows, np.nan) for name in ("rate", "weight", "weak_calibrated")}
    parts: list[tuple[Codes, int]] = []  # a slice's rows, and how many of them are looked at
    expected = spent = planned = 0.0
    calibrated, notes = True, list[str]()
    for name in names:
        rows, transfer = np.flatnonzero(groups == name), transfers.get(name)
        if transfer is None:
            notes.append(f"slice {name!r} has no plan: its {rows.size:,} items are not looked at")
            continue
        needed = transfer.policy == "active" or transfer.weak in table.columns
        weak, error = (x[rows] for x in transfer.columns(table)) if needed else (r[rows], np.zeros(rows.size))
        drift = transfer.drift(weak, error) if needed else None
        if drift is not None and drift.drifted:
            notes.append(f"slice {name!r}: {drift.summary()}")
        part, prices = {"r": r[rows], "look": look[rows], "rate": transfer.rates(error)}, prices_of(transfer)
        end = one_line_end(
            replace(transfer, budget=None), LineCounts.of(part["look"], part["r"], part["rate"]), partial(in_bin, part),
            rows.size, within_budget=within_budget,
        )  # fmt: skip
        count, mean_rate = int(end.items.sum()), 1.0 if transfer.policy == "base" else float(part["rate"].mean())
        columns["rate"][rows] = np.where(end.looked(part), part["rate"], np.nan)
        columns["weak_calibrated"][rows] = weak
        calibrated &= needed and transfer.calibrates
        expected, spent = expected + prices.cost(count, end.rate_sum), spent + prices.cost(count, end.asked)
        planned += prices.cost(transfer.items, transfer.items * mean_rate)
        parts.append((rows, count))
    if not parts:
        raise TableError(f"no slice of {table.name} is in the plan, which has {', '.join(map(repr, transfers))}")
    rates, rows_planned, looked_at = columns["rate"], sum(rows.size for rows, _ in parts), sum(n for _, n in parts)
    check_rates(rates)
    looked = ~np.isnan(rates)
    for rows, count in parts:  # in the mean of all planned slices: W_s T/T_s, 1 on average
        columns["weight"][rows] = rows.size / rows_planned * looked_at / max(count, 1)
    columns["weight"][~looked] = np.nan
    if expected > OVER * planned:
        notes.append(
            Message(
                f"rating all items is expected to cost {expected:,.2f}, more than the {planned:,.2f} planned: draw "
                f"with {argument('within_budget')}, or plan with the sizes that slices have in this pool"
            )
        )
    if not calibrated:
        del columns["weak_calibrated"]
    size = {} if looked.all() else {POOL_SIZE: np.full(table.rows, float(table.rows))}  # rows may be left out later
    added = {"rate": rates, "selected": looked & (r < rates), **size, **columns}
    return Drawn.of(table, added, expected=expected, spend=spent, notes=tuple(notes))


# Files, piece by piece


def draw_file(
    pool: str | os.PathLike[str] | Relation,
    transfer: Transfer,
    output: str | os.PathLike[str],
    *,
    seed: int,
    id_column: str | None = None,
    within_budget: bool = True,
) -> DrawnFile:
    """What `draw_transfer` gives, written to `output` as `write_table` writes it, or as the parts of a folder.

    Memory does not grow with the rows. On the disk, beside the output, at most 48 bytes a row are needed meanwhile.
    """
    place = os.fsdecode(output)
    check_place(place)
    relation = open_relation(pool)
    ids = ids_of(relation, id_column)
    work = DrawWork.of(relation, transfer, seed=seed, within_budget=within_budget, id_column=ids)
    pieces = pieces_of(relation)

    def of(piece: Piece) -> tuple[DrawRows, Survey]:
        table = piece.table(work.columns) if work.columns else None
        return survey(work, table, piece.uniforms(work.id_column, *work.seeds))

    with Spool(folder_of(place)) as spool:
        surveyed = _surveyed(relation, pieces, ids, spool, seed, of)
        found = line_ends(
            work, surveyed, lambda group, at: np.concatenate([in_bin(b, group, at) for b in spool.batches()], axis=1)
        )
        drawn = told(transfer, found, work.drift(surveyed))  # before anything is written: a damaged plan may fail here
        write_pieces(pieces, lambda piece: added(found, spool.read(piece.first, piece.size)), place)
    return drawn


def draw_at_random(
    pool: str | os.PathLike[str] | Relation,
    count: int,
    output: str | os.PathLike[str],
    *,
    seed: int,
    id_column: str | None = None,
) -> DrawnFile:
    """A simple random sample of `count` rows, written to `output` as `draw_file` writes: all rows, each with its rate.

    No plan and no price is needed. The sample is the `count` rows with the smallest r of seed and id, so every row has
    the rate count/rows, and a larger sample of the same seed holds the smaller one.
    """
    place = os.fsdecode(output)
    check_place(place)
    relation = open_relation(pool)
    refuse_drawn(relation)
    id_column, rows = ids_of(relation, id_column), relation.count()
    if not 1 <= count <= rows:
        number = argument(f"at_random {count}")
        raise InputError(Message(f"{number}: {relation.name} has {rows:,} rows; give a number from 1 to {rows}"))
    pieces = pieces_of(relation)

    def of(piece: Piece) -> tuple[DrawRows, LineCounts]:
        (r,) = piece.uniforms(id_column, f"{seed}")
        return {"r": r}, LineCounts.of(r, r, r)

    with Spool(folder_of(place)) as spool:
        line = _surveyed(relation, pieces, id_column, spool, seed, of)

        def rows_in(_: int, at: int) -> Floats:
            here = np.concatenate([r[bin_of(r) == at] for r in (batch["r"] for batch in spool.batches())])
            return np.stack([here] * 3)

        cut, rate = end_for(line, 0, BY_NUMBER, count, rows_in)[0], count / rows

        def drawn(piece: Piece) -> dict[str, Floats | Mask]:
            r = spool.read(piece.first, piece.size)["r"]
            return {"rate": np.full(piece.size, rate), "selected": cut.keeps(r, r)}

        write_pieces(pieces, drawn, place)
    return DrawnFile(rows, rows, count, rate, None, None, None, ())


def ids_of(relation: SqlTable, id_column: str | None) -> str | None:
    """The column of ids; nothing where the rows' numbers stand for them."""
    if id_column is None and "id" in relation.columns:
        id_column = "id"
    relation.refuse_unknown([] if id_column is None else [id_column])
    return id_column


Sums = TypeVar("Sums", Survey, LineCounts)


def _surveyed(
    relation: Relation, pieces: Sequence[Piece], ids: str | None, spool: Spool, seed: int,
    of: Callable[[Piece], tuple[DrawRows, Sums]],
) -> Sums:  # fmt: skip
    """The sums of all pieces, whose rows are kept on the disk; ids must be unique."""
    total: Sums | None = None
    for rows, sums in each(of, pieces):
        spool.append(dict(rows))
        if ids is not None:
            spool.put(rows["r"])
        total = sums if total is None else total + sums
    if ids is not None:
        _refuse_shared(relation, pieces, ids, spool, seed)
    assert total is not None  # a table has rows
    return total


def _refuse_shared(relation: Relation, pieces: Sequence[Piece], column: str, spool: Spool, seed: int) -> None:
    """Ids are compared by the hash that draws them, and as texts only where hashes agree."""
    suspects = spool.repeated()
    shared = shared_id(pieces, column, suspects, f"{seed}") if suspects.size else None
    if shared is not None:
        text, first, second = shared
        raise TableError(
            f"column {column!r} of {relation.name} has the id {shortened(text)} twice, in rows {first:,} and "
            f"{second:,} (rows are counted from 1, without the header); ids must be unique"
        )


# Spark: Arrow batches in, Arrow batches out, on the workers


def draw_spark(
    pool: Any, transfer: Transfer, *, seed: int, id_column: str | None = None, within_budget: bool = True
) -> tuple[Any, DrawnFile]:
    """What `draw_transfer` gives, as a DataFrame of Spark that is computed when it is needed, and what was drawn."""
    import pyarrow as pa
    from pyspark.sql.types import StructType

    if transfer.old is not None:
        raise TableError("a plan with old labels knows its own rows; draw from the table that it was made of")
    table = SparkTable.of(pool, "table")
    ids = ids_of(table, id_column)
    work = DrawWork.of(table, transfer, seed=seed, within_budget=within_budget, id_column=ids)
    if ids is None:
        raise TableError(f"rows of {table.name} have no order; name the column with their ids: id_column, or --id")
    table.check_ids(ids)
    columns = tuple(dict.fromkeys((ids, *work.columns)))

    def parts(batches: Iterator[Any]) -> Iterator[tuple[Any, DrawRows, Survey]]:
        """Every batch that has rows, surveyed."""
        for batch in batches:
            if batch.num_rows:
                part = read_table(pa.Table.from_batches([batch]), name="a part of the pool")
                texts = part.texts(ids)
                yield batch, *survey(work, part if work.columns else None, [uniform(texts, seed=x) for x in work.seeds])

    def sums(batches: Iterator[Any]) -> Iterator[Any]:
        each = (one for _, _, one in parts(batches))
        first = next(each, None)
        if first is not None:
            total = pickle.dumps(reduce(operator.add, each, first))
            yield pa.RecordBatch.from_pydict({"survey": pa.array([total], type=pa.binary())})

    surveyed: Survey = reduce(
        operator.add,
        [pickle.loads(part["survey"]) for part in table.collected(table.mapped(sums, "survey binary", columns))],
    )

    def rows_in(group: int, at: int) -> Floats:
        def of_bin(batches: Iterator[Any]) -> Iterator[Any]:
            for _, rows, _ in parts(batches):
                found = zip(("look", "r", "rate"), in_bin(rows, group, at), strict=True)
                yield pa.RecordBatch.from_pydict({name: pa.array(values) for name, values in found})

        rows = table.collected(table.mapped(of_bin, "look double, r double, rate double", columns))
        return np.array([list(row) for row in rows], dtype=np.float64).reshape(-1, 3).T

    found, none = line_ends(work, surveyed, rows_in), np.empty(0)
    empty = {"r": none, "look": none, "rate": none} | ({} if found.weights is None else {"group": none})
    names = tuple(added(found, empty | ({"weak": none} if transfer.calibrates and work.needs_weak else {})))

    def written(batches: Iterator[Any]) -> Iterator[Any]:
        for batch, rows, _ in parts(batches):
            made = added(found, rows)
            own = [batch.column(i) for i in range(batch.num_columns)]
            new = [pa.array(made[name], from_pandas=True) for name in names]  # NaN is no rate
            yield pa.RecordBatch.from_arrays([*own, *new], names=[*batch.schema.names, *names])

    more: Any = StructType.fromDDL(", ".join(f"{x} {'boolean' if x == 'selected' else 'double'}" for x in names))
    schema = StructType([*pool.schema.fields, *more.fields])
    return table.mapped(written, schema), told(transfer, found, work.drift(surveyed))


# One way to draw, whatever was planned


def draw_pool(
    pool: TableLike,
    plan: AnyPlan | Transfer | str | os.PathLike[str],
    *,
    seed: int,
    id_column: str | None = None,
    within_budget: bool = True,
) -> Drawn:
    """Give every item of the pool the rate that the plan gives it, and draw by hash of the seed and the item's id.

    `plan` is what any `plan_*` gave, its JSON file, or a saved policy. Only as many items are looked at as the plan
    foresees (chosen by another hash), and fewer where chance would make them dearer than the budget; the rest get no
    rate. With `within_budget=False` all are, and a note says so where that is expected to cost more. A plan by strata
    says itself how many of each are looked at; `weight` is what each of those counts, 1 on average. Plans of
    regressions and of many comparisons know the rows they were made from and no others.

    A DataFrame of Spark gives one back, which is computed when it is needed; only sums come over to this process.
    """
    by = plan.drawn_by if isinstance(plan, AnyPlan) else plan
    if isinstance(by, str | os.PathLike):
        by = slice_policies(by) or load_transfer(by)
    if is_spark(pool):
        if not isinstance(by, Transfer):
            only = "a table of Spark is drawn by a plan of one mean; plans of slices and others are for files"
            raise InputError(only)
        frame, _ = draw_spark(pool, by, seed=seed, id_column=id_column, within_budget=within_budget)
        return cast(Drawn, frame)  # a frame of Spark, for who gave one
    if isinstance(by, PlannedRows):
        return by.draw(pool, seed=seed, id_column=id_column, within_budget=within_budget)
    if isinstance(by, Transfer):
        return draw_transfer(pool, by, seed=seed, id_column=id_column, within_budget=within_budget)
    return _draw_slices(pool, *by, seed=seed, id_column=id_column, within_budget=within_budget)
