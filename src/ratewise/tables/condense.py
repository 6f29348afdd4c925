"""A large rated table in few rows: those with a label as they are, all others put together in cells of a fine grid.

One question to an engine, whose answer adds up over its parts. A cell of rows without labels becomes one row or two:
two values of the weak rating between the cell's ends, with its count, mean and variance, so that sums of a rating and
of its square are exact, and two rates, so that sums of 1/π and of G/π are. Where all rows of a cell are alike, so is
everything else.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ratewise.tables.cells import unmasked
from ratewise.tables.held import Array

Floats = npt.NDArray[np.float64]
Ask = Callable[[str], Mapping[str, Array]]
"""Answers a question in SQL with arrays, one for each column."""

FOLDS = 10
_CELLS_OF_ONE_RATE = 1 << 15  # of weak ratings
_CELLS, _RATES = 1 << 11, 1 << 7  # of weak ratings and of rates, where rates differ
_GOLDEN = 2654435769  # 2³² over the golden ratio: its multiples are spread evenly
_WORD = 1 << 32


@dataclass(frozen=True, slots=True)
class Expressions:
    """The SQL of every row's numbers, NULL where there is none; `source` is what they are selected from.

    `row` numbers the rows, where they have an order; `asked` is 1 or 0, or nothing where no column says it.
    """

    source: str
    weak: str
    strong: str
    rate: str
    asked: str | None = None
    row: str | None = None
    by: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Condensed:
    """Rows with labels, or asked for, one by one, and all other rows that have a rate as counts."""

    weak: Floats
    strong: Floats
    rates: Floats
    asked: npt.NDArray[np.bool_] | None
    counts: Floats
    folds: npt.NDArray[np.int64] | None
    by: npt.NDArray[np.object_] | None


def row_folds(rows: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    """A fold from 0 to 9 by a row's number: spread evenly, and the same in every engine."""
    return np.asarray((rows.astype(np.int64) * _GOLDEN % _WORD) * FOLDS // _WORD, dtype=np.int64)


Range = tuple[float, float]


def condense(
    ask: Ask, what: Expressions, *, folds: bool, weak: Range | None = None, rate: Range | None = None
) -> Condensed:
    """The condensed table; `folds` keeps the folds apart, ten times as many cells.

    `weak` and `rate` are the least and the largest value, where they are known; else they are asked for.
    """
    if weak is None or rate is None:
        weak, rate = _ranges(ask, what)
    grid = _Grid(weak, rate, folds=folds and what.row is not None)
    alone = {name: unmasked(values) for name, values in ask(_alone(what, grid)).items()}
    cells = {name: unmasked(values) for name, values in ask(_cells(what, grid)).items()}
    return _joined(alone, cells, what, grid)


@dataclass(frozen=True, slots=True)
class _Grid:
    """Cells of equal width in the weak rating and in the logarithm of the rate, and folds."""

    weak: Range
    rate: Range
    folds: bool

    @property
    def one_rate(self) -> bool:
        return not self.rate[0] < self.rate[1]

    @property
    def cells(self) -> int:
        return _CELLS_OF_ONE_RATE if self.one_rate else _CELLS

    @property
    def width(self) -> float:
        """Of a cell, in the weak rating."""
        return (self.weak[1] - self.weak[0]) / self.cells

    @property
    def cell(self) -> str:
        """The SQL of a row's cell in the weak rating, from 0."""
        if not self.width > 0:
            return "CASE WHEN g IS NOT NULL THEN 0.0 END"
        low = f"({self.weak[0]!r})"
        return f"least(greatest(floor((g - {low}) * {1.0 / self.width!r}), 0.0), {self.cells - 1}.0)"

    @property
    def number(self) -> str:
        """The SQL of a row's cell among all."""
        number = self.cell
        if not self.one_rate:
            low, high = (float(np.log(max(end, 1e-100))) for end in self.rate)
            at = f"floor((ln(CASE WHEN q > 0 THEN q END) - ({low!r})) * {_RATES / (high - low)!r})"
            number = f"{number} + {self.cells}.0 * least(greatest({at}, 0.0), {_RATES - 1}.0)"
        return f"{number} + {self.cells * _RATES}.0 * f" if self.folds else number

    @property
    def fold(self) -> str:
        """The SQL of a row's fold."""
        return f"floor(mod(r * {_GOLDEN}, {_WORD}) * {FOLDS} / {_WORD}.0)" if self.folds else "0.0"


def _ranges(ask: Ask, what: Expressions) -> tuple[Range, Range]:
    """The least and the largest weak rating and rate of rows that have a rate."""
    query = (
        "SELECT min(g) AS a, max(g) AS b, min(q) AS c, max(q) AS d FROM "
        f"(SELECT {what.weak} AS g, {what.rate} AS q FROM {what.source}) t WHERE q IS NOT NULL"
    )
    found = {name: unmasked(values)[0] for name, values in ask(query).items()}
    a, b, c, d = (np.nan if found[name] is None else float(found[name]) for name in "abcd")
    return (a, b), (c, d)


def _named(what: Expressions, fold: str) -> str:
    """The SQL of all rows with the letters g, h, q, s (asked for), p (group) and f (fold)."""
    asked, by = "0" if what.asked is None else what.asked, "''" if what.by is None else what.by
    row = what.row or "0"
    inner = (
        f"SELECT {what.weak} AS g, {what.strong} AS h, {what.rate} AS q, {asked} AS s, {by} AS p, {row} AS r"
        f" FROM {what.source}"
    )
    return f"(SELECT g, h, q, s, p, {fold} AS f FROM ({inner}) t) t"


_ALONE = "(h IS NOT NULL OR s = 1 OR q >= 1)"


def _alone(what: Expressions, grid: _Grid) -> str:
    """The question for rows that have a label, or were surely asked for."""
    return f"SELECT g, h, q, s, p, f FROM {_named(what, grid.fold)} WHERE {_ALONE}"


def _cells(what: Expressions, grid: _Grid) -> str:
    """The question for all other rows that have a rate; d is the distance from the cell's lower edge."""
    edge = f"({grid.weak[0]!r}) + {grid.width!r} * {grid.cell}" if grid.width > 0 else f"({grid.weak[0]!r})"
    inner = (
        f"SELECT g - ({edge}) AS d, q, p, f, {grid.cell} AS c, {grid.number} AS k FROM {_named(what, grid.fold)}"
        f" WHERE q IS NOT NULL AND NOT coalesce({_ALONE}, false)"
    )
    inverse = "" if grid.one_rate else ", sum(1.0 / nullif(q, 0.0)) AS i, sum(d / nullif(q, 0.0)) AS w"
    keys = "k" if what.by is None else "k, p"
    named = "'' AS p" if what.by is None else "p"
    return (
        f"SELECT k, {named}, min(c) AS c, min(f) AS f, count(*) AS n, sum(d) AS d, sum(d * d) AS dd{inverse}"
        f" FROM ({inner}) t GROUP BY {keys} ORDER BY {keys}"
    )


def _joined(
    alone: Mapping[str, Array], cells: Mapping[str, Array], what: Expressions, grid: _Grid
) -> Condensed:  # fmt: skip
    points = _two_points({name: _floats(values) for name, values in cells.items() if name != "p"}, grid)
    two = [np.flatnonzero(one.counts > 0) for one in points]

    def joined(name: str, cell: str) -> Floats:
        own = [getattr(one, name)[at] for one, at in zip(points, two, strict=True)]
        return np.concatenate([np.ones(alone["g"].size) if cell == "" else _floats(alone[cell]), *own])

    rest = sum(at.size for at in two)
    order = np.concatenate(two)
    return Condensed(
        joined("weak", "g"),
        np.r_[_floats(alone["h"]), np.full(rest, np.nan)],
        joined("rates", "q"),
        None if what.asked is None else np.r_[_floats(alone["s"]) == 1, np.zeros(rest, dtype=np.bool_)],
        joined("counts", ""),
        np.r_[_floats(alone["f"]), _floats(cells["f"])[order]].astype(np.int64) if grid.folds else None,
        None if what.by is None else np.r_[alone["p"].astype(object), cells["p"].astype(object)[order]],
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Points:
    """One point of every cell."""

    weak: Floats
    rates: Floats
    counts: Floats


def _two_points(cells: Mapping[str, Floats], grid: _Grid) -> tuple[_Points, _Points]:
    """μ − σt and μ + σ/t in the shares 1/(1 + t²) and t²/(1 + t²), for every cell that is not all alike.

    They have the mean μ and the variance σ² whatever t is; t = sqrt(μ/(width − μ)), with μ counted from the lower edge,
    keeps them in the cell.
    """
    n, width = cells["n"], max(grid.width, 0.0)
    edge = grid.weak[0] + width * cells["c"]
    mean = cells["d"] / n
    v = cells["dd"] / n - mean**2
    spread = (v > 1e-12 * width**2) & (mean > 0) & (mean < width)
    sd = np.sqrt(np.where(spread, v, 0.0))
    t = np.sqrt(np.where(spread, mean, 1.0) / np.where(spread, width - mean, 1.0))
    share = np.where(spread, 1.0 / (1.0 + t**2), 1.0)
    x = mean - sd * t, mean + sd / t
    if grid.one_rate:
        rates = [np.full(n.size, grid.rate[0])] * 2
    else:
        rates = _two_rates(cells["i"] / n, cells["w"] / n, x, share, spread)
    return _Points(edge + x[0], rates[0], n * share), _Points(edge + x[1], rates[1], n * (1.0 - share))


def _two_rates(
    inverse: Floats, weighted: Floats, x: tuple[Floats, Floats], share: Floats, spread: npt.NDArray[np.bool_]
) -> list[Floats]:
    """Rates of both points that have the cell's mean of 1/π and of G/π; one for both where those would be no rates."""
    gap = np.where(spread, x[1] - x[0], 1.0)
    upper = np.where(spread, (weighted - inverse * x[0]) / gap, 0.0)  # share of the second point times its 1/π
    each = (inverse - upper) / share, upper / np.where(spread, 1.0 - share, 1.0)
    fits = spread & (each[0] >= 1.0) & (each[1] >= 1.0)
    return [np.where(fits, 1.0 / np.where(fits, one, 1.0), 1.0 / inverse) for one in each]


def _floats(values: Array) -> Floats:
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    return np.array([np.nan if x is None else float(x) for x in values.tolist()], dtype=np.float64)


def conditions(what: Expressions, wrong: Sequence[tuple[str, str]]) -> str:
    """The question how many rows are wrong in each of these ways, and which is the first: conditions on g, h, q, s."""
    asked, row = "0" if what.asked is None else what.asked, what.row or "0"
    counted = ", ".join(
        f"count(*) FILTER (WHERE {sql}) AS n{i}, min(r) FILTER (WHERE {sql}) AS r{i}"
        for i, (_, sql) in enumerate(wrong)
    )
    inner = (
        f"SELECT {what.weak} AS g, {what.strong} AS h, {what.rate} AS q, {asked} AS s, {row} AS r FROM {what.source}"
    )
    return f"SELECT count(*) AS rows, count(q) AS looked, {counted} FROM ({inner}) t"
