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
_CELLS_OF_ONE_RATE = 1 << 12  # of weak ratings
_CELLS, _RATES = 1 << 9, 1 << 6  # of weak ratings and of rates, where rates differ
_INSIDE = 1 - 1e-12  # keeps the largest value in the last cell
_ALIKE = 1e-9  # of a cell's width squared: less variance than that is rounding
_GOLDEN = 2654435769  # 2³² over the golden ratio: its multiples are spread evenly
_BITS = 32
_WORD = 1 << _BITS
_ASKED = "CASE WHEN coalesce(s, 0) <> 0 THEN 1 ELSE 0 END"


@dataclass(frozen=True, slots=True)
class Expressions:
    """The SQL of every row's numbers, NULL where there is none; `source` is what they are selected from.

    `row` numbers the rows, where they have an order; `asked` is a number, 0 or missing where an item was not asked
    for, or nothing where no column says it.
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
    """Cells of equal width in the weak rating and in the square root of the rate, and folds.

    A cell's number is that of its weak rating, times the cells of rates, plus that of its rate; times the folds, plus
    its fold. Numbers are whole, since engines put rows together faster by those.
    """

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
    def rates(self) -> int:
        return 1 if self.one_rate else _RATES

    @property
    def width(self) -> float:
        """Of a cell, in the weak rating; a little more than an even share, so that the largest is in the last one."""
        return (self.weak[1] - self.weak[0]) / (self.cells * _INSIDE)

    @property
    def cell(self) -> str:
        """The SQL of a row's cell in the weak rating, from 0."""
        if not self.width > 0:
            return "CASE WHEN g IS NOT NULL THEN 0 END"
        return f"CAST(floor((g - {_in_sql(self.weak[0])}) * {_in_sql(1.0 / self.width)}) AS INTEGER)"

    @property
    def edge(self) -> str:
        """The SQL of the lower edge of the cell c."""
        low = _in_sql(self.weak[0])
        return f"{low} + {_in_sql(self.width)} * c" if self.width > 0 else low

    @property
    def number(self) -> str:
        """The SQL of a row's cell among all, by its cell c in the weak rating, its rate q and its fold f."""
        number = "c"
        if not self.one_rate:
            low, high = (float(np.sqrt(max(end, 0.0))) for end in self.rate)
            at = f"floor((sqrt(abs(q)) - {_in_sql(low)}) * {_in_sql(self.rates * _INSIDE / (high - low))})"
            number = f"c * {self.rates} + CAST({at} AS INTEGER)"
        return f"({number}) * {FOLDS} + f" if self.folds else number

    def cell_of(self, numbers: Floats) -> Floats:
        """The cell in the weak rating of these numbers."""
        return np.asarray(np.floor(numbers / (self.rates * (FOLDS if self.folds else 1))))

    def fold_of(self, numbers: Floats) -> Floats:
        """The fold of these numbers; 0 where folds are not kept apart."""
        return np.asarray(np.nan_to_num(np.mod(numbers, FOLDS)) if self.folds else np.zeros(numbers.size))

    @property
    def fold(self) -> str:
        """The SQL of a row's fold."""
        return f"CAST((((r * {_GOLDEN}) & {_WORD - 1}) * {FOLDS}) >> {_BITS} AS INTEGER)" if self.folds else "0"


def _in_sql(x: float) -> str:
    """A number as SQL takes it for a double; without an exponent it would be a decimal, which is slow."""
    digits = repr(float(x))
    return f"({digits})" if "e" in digits or "n" in digits else f"({digits}e0)"


def _ranges(ask: Ask, what: Expressions) -> tuple[Range, Range]:
    """The least and the largest weak rating and rate of rows that have a rate."""
    query = (
        "SELECT min(g) AS a, max(g) AS b, min(q) AS c, max(q) AS d FROM "
        f"(SELECT {what.weak} AS g, {what.rate} AS q FROM {what.source}) t WHERE q IS NOT NULL"
    )
    found = {name: unmasked(values)[0] for name, values in ask(query).items()}
    a, b, c, d = (np.nan if found[name] is None else float(found[name]) for name in "abcd")
    return (a, b), (c, d)


def _rows(what: Expressions, grid: _Grid, *more: str) -> str:
    """The SQL of all rows with the letters g, q, c (cell in the weak rating), p (group), f (fold), and others."""
    by, row = "''" if what.by is None else what.by, what.row or "0"
    inner = f"SELECT {what.weak} AS g, {what.rate} AS q, {by} AS p, {row} AS r{_also(more)} FROM {what.source}"
    names = "".join(f", {each.rsplit(' ', 1)[1]}" for each in more)
    return f"(SELECT g, q, p, {grid.cell} AS c, {grid.fold} AS f{names} FROM ({inner}) t) t"


def _also(more: Sequence[str]) -> str:
    return "".join(f", {each}" for each in more)


def _alone(what: Expressions, grid: _Grid) -> str:
    """The question for rows that have a label, or were surely asked for, with their cells."""
    rows = _rows(what, grid, f"{what.strong} AS h", f"{what.asked or 0} AS s")
    which = ["h IS NOT NULL", *(["s <> 0"] if what.asked else []), *(["q >= 1"] if grid.rate[1] >= 1 else [])]
    return f"SELECT g, h, q, {_ASKED} AS s, p, f, c, {grid.number} AS k FROM {rows} WHERE {' OR '.join(which)}"


def _cells(what: Expressions, grid: _Grid) -> str:
    """The question for all rows that have a rate, in cells; d is the distance from the cell's lower edge.

    Those of `_alone` are among them: to take them out afterwards is less work than to leave them out of each row.
    """
    inverse = "" if grid.one_rate else ", 1e0 / q AS i"
    inner = (
        f"SELECT g, g - ({grid.edge}) AS d{inverse}, p, {grid.number} AS k FROM {_rows(what, grid)} WHERE q IS NOT NULL"
    )
    sums = "" if grid.one_rate else ", sum(i) AS i, sum(d * i) AS w"
    keys = "k" if what.by is None else "k, p"
    named = "'' AS p" if what.by is None else "p"
    return (
        f"SELECT k, {named}, count(*) AS n, min(g) AS a, sum(d) AS d, sum(d * d) AS dd{sums}"
        f" FROM ({inner}) t GROUP BY {keys} ORDER BY {keys}"
    )


def _rest(alone: Mapping[str, Array], cells: Mapping[str, Array], grid: _Grid) -> dict[str, Floats]:
    """The sums of all cells without the rows that stand alone; a cell in which none is left has a count of 0."""
    out = {name: _floats(values) for name, values in cells.items() if name != "p"}
    k, g, q = (_floats(alone[name]) for name in "kgq")
    use = ~(np.isnan(q) | np.isnan(k))
    at = _places(_paired(cells["k"], cells["p"]), _paired(alone["k"][use], alone["p"][use]))
    d = g[use] - (grid.weak[0] + max(grid.width, 0.0) * _floats(alone["c"])[use])
    taken = {"n": np.ones(at.size), "d": d, "dd": d * d}
    if not grid.one_rate:
        taken |= {"i": 1.0 / q[use], "w": d / q[use]}
    for name, terms in taken.items():
        out[name] = out[name] - np.bincount(at, weights=terms, minlength=out[name].size)
    return out


def _paired(k: Array, p: Array) -> list[tuple[float, str]]:
    return list(zip(_floats(k).tolist(), p.tolist(), strict=True))


def _places(keys: Sequence[tuple[float, str]], wanted: Sequence[tuple[float, str]]) -> npt.NDArray[np.intp]:
    place = {key: number for number, key in enumerate(keys)}
    return np.fromiter((place[key] for key in wanted), dtype=np.intp, count=len(wanted))


def _joined(
    alone: Mapping[str, Array], cells: Mapping[str, Array], what: Expressions, grid: _Grid
) -> Condensed:  # fmt: skip
    points = _two_points(_rest(alone, cells, grid), grid)
    two = [np.flatnonzero(one.counts > 0) for one in points]

    def joined(name: str, cell: str) -> Floats:
        own = [getattr(one, name)[at] for one, at in zip(points, two, strict=True)]
        return np.concatenate([np.ones(alone["g"].size) if cell == "" else _floats(alone[cell]), *own])

    rest = sum(at.size for at in two)
    order = np.concatenate(two)
    folds = grid.fold_of(_floats(cells["k"]))[order]
    return Condensed(
        joined("weak", "g"),
        np.r_[_floats(alone["h"]), np.full(rest, np.nan)],
        joined("rates", "q"),
        None if what.asked is None else np.r_[_floats(alone["s"]) == 1, np.zeros(rest, dtype=np.bool_)],
        joined("counts", ""),
        np.r_[_floats(alone["f"]), folds].astype(np.int64) if grid.folds else None,
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
    some = np.round(cells["n"]) > 0
    n, width = np.where(some, cells["n"], 1.0), max(grid.width, 0.0)
    edge = grid.weak[0] + width * grid.cell_of(cells["k"])
    mean = cells["d"] / n
    v = cells["dd"] / n - mean**2
    spread = (v > _ALIKE * width**2) & (mean > 0) & (mean < width)
    sd = np.sqrt(np.where(spread, v, 0.0))
    t = np.sqrt(np.where(spread, mean, 1.0) / np.where(spread, width - mean, 1.0))
    share = np.where(spread, 1.0 / (1.0 + t**2), 1.0)
    x = mean - sd * t, mean + sd / t
    if grid.one_rate:
        rates = [np.full(n.size, grid.rate[0])] * 2
    else:
        rates = _two_rates(np.where(some, cells["i"] / n, 1.0), cells["w"] / n, x, share, spread)
    alike = ~spread & (np.abs(edge + mean - cells["a"]) <= 1e-9 * width)  # to the bit, where all are alike
    low = np.clip(np.where(alike, cells["a"], edge + x[0]), *grid.weak)
    high = np.clip(edge + x[1], *grid.weak)
    counts = np.where(some, n, 0.0)
    return _Points(low, rates[0], counts * share), _Points(high, rates[1], counts * (1.0 - share))


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
    row = what.row or "0"
    counted = ", ".join(
        f"count(*) FILTER (WHERE {sql}) AS n{i}, min(r) FILTER (WHERE {sql}) AS r{i}"
        for i, (_, sql) in enumerate(wrong)
    )
    inner = (
        f"SELECT {what.weak} AS g, {what.strong} AS h, {what.rate} AS q, {what.asked or 0} AS s, {row} AS r"
        f" FROM {what.source}"
    )
    inner = f"SELECT g, h, q, {_ASKED} AS s, r FROM ({inner}) t"
    return f"SELECT count(*) AS rows, count(q) AS looked, {counted} FROM ({inner}) t"
