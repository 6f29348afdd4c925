"""What a draw of a large pool decides, part by part: rates and draws of rows, and what adds up over parts.

Whoever goes through the rows (files by DuckDB, partitions by Spark) calls `seen` for every part, adds the surveys up,
asks `ends` where the line of items that are looked at ends, and calls `added` for the columns of every part.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ratewise.core.checks import Floats
from ratewise.core.mean.looking import EVERYONE, ROUNDING, Cut, Line, Prices, cut_after, cut_for_money, whole_items
from ratewise.core.mean.ratings import Mask
from ratewise.core.shown import shown
from ratewise.questions.mean.drawing import draw_notes, ended_early
from ratewise.questions.mean.input_draw import buys_weak, items_of, plan_names, rates_in, short_notes, weights_of
from ratewise.questions.mean.plan_file import check_rates
from ratewise.questions.mean.strata import Codes, check_known, read_strata
from ratewise.questions.mean.transfer import Drift, Shares, Transfer
from ratewise.questions.pool import POOL_SIZE
from ratewise.tables import Table


@shown
@dataclass(frozen=True, slots=True)
class DrawnFile:
    """What was drawn; the rows themselves are in the file or folder."""

    rows: int
    items: int  # how many items are looked at
    asked: int  # how many of them get the strong rating
    mean_rate: float  # of the items that are looked at
    drift: Drift | None  # None where the pool has no weak ratings to compare, and needs none
    expected_spend: float | None  # before anyone is asked: weak ratings of items looked at, strong ones at their rates
    spend: float | None  # the same for the items that were in fact selected; None where no plan says the prices
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Work:
    """The plan and how it is applied."""

    transfer: Transfer
    seed: int
    id_column: str | None
    columns: tuple[str, ...]  # that rates hang on
    rows: int
    within_budget: bool

    @property
    def needs_weak(self) -> bool:
        """Whether rates, drift or calibrated ratings hang on the weak rating."""
        return self.transfer.policy == "active" or (self.transfer.weak in self.made and bool(self.columns))

    @property
    def made(self) -> tuple[str, ...]:
        """Columns that are read, or made from those."""
        derived = self.transfer.derived
        more = (self.transfer.weak,) if derived is not None and set(derived.columns) <= set(self.columns) else ()
        return (*self.columns, *more)

    @property
    def prices(self) -> Prices:
        """Of the two ratings; strong ratings alone need no weak ones."""
        weak = 0.0 if self.transfer.policy == "base" else self.transfer.weak_cost
        return Prices(weak, self.transfer.strong_cost)

    @property
    def in_line(self) -> bool:
        """Whether it may be that not everyone is looked at."""
        return self.within_budget or self.transfer.inputs is not None

    @property
    def seeds(self) -> tuple[str, ...]:
        """Of the hashes that are needed: r, and the place in the line."""
        return (f"{self.seed}", f"{self.seed}:look") if self.in_line else (f"{self.seed}",)

    @property
    def groups(self) -> int:
        """Strata, or one."""
        return 1 if self.transfer.inputs is None else len(self.transfer.inputs.strata)


# Every row by itself


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """What adds up over parts: by stratum, where the plan has strata, else in one group."""

    lines: tuple[Line, ...]
    shares: Shares | None

    def __add__(self, other: "Survey") -> "Survey":
        shares = self.shares if self.shares is None or other.shares is None else self.shares + other.shares
        return Survey(tuple(a + b for a, b in zip(self.lines, other.lines, strict=True)), shares)


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Rows of a part with all that decides about them."""

    r: Floats
    look: Floats
    rates: Floats
    group: Codes | None = None  # where there are strata
    weak: Floats | None = None  # calibrated, where the plan calibrates


def seen(work: Work, table: Table | None, hashes: list[Floats]) -> tuple[Rows, Survey]:
    """The rows of a part, by a table of `work.columns` (none where rates hang on none) and the hashes of their ids."""
    transfer, r = work.transfer, hashes[0]
    look = hashes[1] if work.in_line else np.zeros(r.size)
    weak = error = np.zeros(r.size)
    table = None if table is None else transfer.prepared(table)
    if table is not None and work.needs_weak:
        weak, error = transfer.columns(table)
    group = _strata(transfer, table)
    if transfer.inputs is None or group is None:
        rates = transfer.rates(error, rows=work.rows)
        lines: tuple[Line, ...] = (Line.of(look, r, rates),)
    else:
        rates = rates_in(transfer.inputs, group, error)
        each = [group == g for g in range(work.groups)]
        lines = tuple(Line.of(look[own], r[own], rates[own]) for own in each)
    check_rates(rates)
    shares = transfer.shares(weak, error) if work.needs_weak else None
    calibrated = weak if transfer.calibrates and work.needs_weak else None
    return Rows(r, look, rates, group, calibrated), Survey(lines, shares)


def _strata(transfer: Transfer, table: Table | None) -> Codes | None:
    if transfer.inputs is None or table is None:
        return None
    strata = read_strata(table, transfer.inputs.column, plan_names(transfer.inputs))
    check_known(strata, table, transfer.inputs.column)
    return strata.code


# Where the line ends

InBin = Callable[[int, int], tuple[Floats, Floats, Floats]]
"""Place, r and rate of all rows of a group (first number) that stand in a bin of its line (second number)."""


@dataclass(frozen=True, slots=True, eq=False)
class Ends:
    """Where the line ends in each group, and how many are looked at and drawn up to there."""

    cuts: tuple[Cut, ...]
    items: Floats
    asked: Floats
    rate_sum: float
    planned: int
    weights: Floats | None = None  # of the items of each group, where there are strata
    rows: int = 0  # of the pool

    @property
    def all_looked(self) -> bool:
        """Whether no row is left out."""
        return float(self.items.sum()) == self.rows

    def looked(self, rows: Rows) -> Mask:
        """Whether each row is looked at."""
        if rows.group is None:
            return self.cuts[0].keeps(rows.look, rows.r)
        look, r = (np.array([getattr(cut, name) for cut in self.cuts]) for name in ("look", "r"))
        return Cut(look[rows.group], r[rows.group]).keeps(rows.look, rows.r)


def ends(work: Work, survey: Survey, in_bin: InBin) -> Ends:
    """Where the line ends, by the counts along it and the rows of the one bin in question."""
    transfer, lines = work.transfer, survey.lines
    if transfer.inputs is not None:
        N = np.array([line.items.sum() for line in lines], dtype=np.float64)
        T = items_of(transfer.inputs, N)
        parts = [_after(line, g, int(T[g]), in_bin) for g, line in enumerate(lines)]
        return _joined(parts, int(T.sum()), work.rows, weights_of(N, T))
    planned = work.rows
    if work.within_budget and transfer.policy != "base" and whole_items(transfer.items) < work.rows:
        planned = int(whole_items(transfer.items))
    found = _after(lines[0], 0, planned, in_bin)
    budget = transfer.budget
    if work.within_budget and budget is not None and work.prices.cost(planned, found.asked) > budget * (1 + ROUNDING):
        at = lines[0].bin_for_money(work.prices, budget)
        look, r, rates = in_bin(0, at)
        cut = cut_for_money(look, r, np.asarray(r < rates), work.prices, budget, before=lines[0].before(at))
        found = _counted(lines[0], at, cut, (look, r, rates))
    return _joined([found], planned, work.rows)


@dataclass(frozen=True, slots=True)
class _End:
    cut: Cut
    items: int
    asked: int
    rates: float


def _after(line: Line, group: int, count: int, in_bin: InBin) -> _End:
    if count >= line.items.sum():
        return _End(EVERYONE, int(line.items.sum()), int(line.drawn.sum()), float(line.rates.sum()))
    at = line.bin_after(count)
    look, r, rates = in_bin(group, at)
    return _counted(line, at, cut_after(look, r, count - line.before(at)[0]), (look, r, rates))


def _counted(line: Line, at: int, cut: Cut, rows: tuple[Floats, Floats, Floats]) -> _End:
    """The end with what lies before it: whole bins, and part of this one."""
    look, r, rates = rows
    kept, (items, drawn) = cut.keeps(look, r), line.before(at)
    asked = drawn + int(np.count_nonzero(kept & (r < rates)))
    return _End(
        cut, items + int(np.count_nonzero(kept)), asked, float(line.rates[:at].sum()) + float(rates[kept].sum())
    )  # fmt: skip


def _joined(parts: list[_End], planned: int, rows: int, weights: Floats | None = None) -> Ends:
    items, asked = (np.array([getattr(part, name) for part in parts], dtype=np.float64) for name in ("items", "asked"))
    cuts = tuple(part.cut for part in parts)
    return Ends(cuts, items, asked, sum(part.rates for part in parts), planned, weights, rows)


# What is written, and what is told


def added(found: Ends, rows: Rows) -> dict[str, Floats | Mask]:
    """The columns that the draw adds to a part."""
    looked = found.looked(rows)
    columns: dict[str, Floats | Mask] = {
        "rate": np.where(looked, rows.rates, np.nan), "selected": looked & (rows.r < rows.rates)
    }  # fmt: skip
    if not found.all_looked:
        columns[POOL_SIZE] = np.full(looked.size, float(found.rows))
    if found.weights is not None and rows.group is not None:
        columns["weight"] = np.where(looked, found.weights[rows.group], np.nan)
    if rows.weak is not None:
        columns["weak_calibrated"] = rows.weak
    return columns


def told(work: Work, survey: Survey, found: Ends) -> DrawnFile:
    """What there is to say about the draw."""
    transfer, items, asked = work.transfer, int(found.items.sum()), int(found.asked.sum())
    if items == 0:
        check_rates(np.array([np.nan]))
    drift = None if survey.shares is None else transfer.drift_of(survey.shares)
    weak_spend = work.prices.weak * items
    if transfer.inputs is not None:
        weak_spend = transfer.weak_cost * float(found.items @ buys_weak(transfer.inputs))
    expected = float(weak_spend + transfer.strong_cost * found.rate_sum)
    spend = float(weak_spend + transfer.strong_cost * asked)
    N = np.array([line.items.sum() for line in survey.lines], dtype=np.float64)
    notes = () if transfer.inputs is None else short_notes(transfer.inputs, N)
    notes += draw_notes(transfer, drift, expected, spend, items)
    notes += ended_early(items, found.planned)
    return DrawnFile(work.rows, items, asked, found.rate_sum / max(items, 1), drift, expected, spend, notes)
