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

from ratewise.core.ratings import NO_FOLD, Ratings
from ratewise.tables.cells import Array, NumberSql, Range, unmasked

Floats = npt.NDArray[np.float64]

_INSIDE = 1 - 1e-12  # keeps the largest value in the last cell


@dataclass(frozen=True, slots=True)
class Grid:
    """Cells of equal width in the weak rating and in the square root of the rate.

    A cell's number is that of its weak rating, times the cells of rates, plus that of its rate. Numbers are whole,
    since engines put rows together faster by those.
    """

    weak: Range
    rate: Range
    cells: int  # of weak ratings
    rates: int  # cells of rates
    wide: bool  # cells that say sums of 1/π and G² together only roughly

    @property
    def one_rate(self) -> bool:
        """Whether all rows have the same rate."""
        return not self.rate[0] < self.rate[1]

    @property
    def width(self) -> float:
        """Of a cell, in the weak rating; a little more than an even share, so that the largest is in the last one."""
        return max((self.weak[1] - self.weak[0]) / (self.cells * _INSIDE), 0.0)

    @property
    def scale(self) -> float:
        """Cells in one unit of the weak rating; 0 where all rows are in one."""
        return 1.0 / self.width if self.width > 0 else 0.0

    @property
    def place(self) -> str:
        """The SQL of the place of the weak rating g, in cells from the least one."""
        low = "" if self.weak[0] == 0 else f" - {in_sql(self.weak[0])}"
        return f"(g{low}) * {in_sql(self.scale)}"

    @property
    def rate_place(self) -> str:
        """The SQL of the cell of the rate q among rates, from 0."""
        if self.rates == 1:
            return "0e0"
        low, high = (float(np.sqrt(max(end, 0.0))) for end in self.rate)
        root = "sqrt(q)" if self.rate[0] >= 0 else "sqrt(abs(q))"
        return f"floor(({root} - {in_sql(low)}) * {in_sql(self.rates * _INSIDE / (high - low))})"

    @property
    def number(self) -> str:
        """The SQL of a row's cell among all, by its cell c in the weak rating and z among rates."""
        return f"TRY_CAST(c * {in_sql(self.rates)} + z AS INTEGER)"

    def cell_of(self, numbers: Floats) -> Floats:
        """The cell in the weak rating of these numbers."""
        return np.asarray(np.floor(numbers / self.rates))

    def within(self, weak: Floats) -> Floats:
        """Distances from the lower edge of the cell, in cells, computed as the SQL does."""
        place = (weak - self.weak[0]) * self.scale
        return np.asarray(place - np.floor(place))


def in_sql(x: float) -> str:
    """A number as SQL takes it for a double; without an exponent it would be a decimal, which is slow."""
    digits = repr(float(x))
    return f"({digits})" if "e" in digits or "n" in digits else f"({digits}e0)"


# A cell of a grid as two rows


_ALIKE = 1e-9  # of a cell's width squared: less variance than that is rounding
_DIGITS, _TINY = 9, 1e-15  # after the point, of ratings that are restored to the bit


def two_points(cells: Mapping[str, Floats], by: Array, grid: Grid) -> Ratings:
    """μ − σt and μ + σ/t in the shares 1/(1 + t²) and t²/(1 + t²), for every cell that is not all alike.

    They have the mean μ and the variance σ² whatever t is; t = sqrt(μ/(1 − μ)), with μ counted in cells from the lower
    edge, keeps them in the cell.
    """
    some = np.round(cells["n"]) > 0
    n = np.where(some, cells["n"], 1.0)
    cell = grid.cell_of(cells["k"])
    mean = cells["d"] / n
    v = cells["dd"] / n - mean**2
    spread = (v > _ALIKE) & (mean > 0) & (mean < 1)
    sd = np.sqrt(np.where(spread, v, 0.0))
    t = np.sqrt(np.where(spread, mean, 1.0) / np.where(spread, 1.0 - mean, 1.0))
    share = np.where(spread, 1.0 / (1.0 + t**2), 1.0)
    x = mean - sd * t, mean + sd / t
    if grid.one_rate:
        rates = [np.full(n.size, grid.rate[0])] * 2
    else:
        rates = _two_rates(np.where(some, cells["i"] / n, 1.0), cells["w"] / n, x, share, spread)
    low, high = (np.clip(grid.weak[0] + grid.width * (cell + each), *grid.weak) for each in x)
    short = np.round(low, _DIGITS)  # numbers that are but for rounding ones with few digits, as ratings are, are those
    nearly = ~spread & (np.abs(short - low) <= 4 * np.spacing(np.abs(low)) + _TINY)
    counts = np.where(some, n, 0.0) * np.stack([share, 1.0 - share])
    weak = np.stack([np.where(nearly, short, low), high])
    kept = counts > 0
    return Ratings(
        weak[kept], np.full(np.count_nonzero(kept), np.nan), np.stack(rates)[kept],
        clusters=np.stack([by, by])[kept], counts=counts[kept],
    )  # fmt: skip


def _two_rates(
    inverse: Floats, weighted: Floats, x: tuple[Floats, Floats], share: Floats, spread: npt.NDArray[np.bool_]
) -> list[Floats]:
    """Rates of both points that have the cell's mean of 1/π and of G/π; one for both where those would be no rates."""
    gap = np.where(spread, x[1] - x[0], 1.0)
    upper = np.where(spread, (weighted - inverse * x[0]) / gap, 0.0)  # share of the second point times its 1/π
    each = (inverse - upper) / share, upper / np.where(spread, 1.0 - share, 1.0)
    fits = spread & (each[0] >= 1.0) & (each[1] >= 1.0)
    return [np.where(fits, 1.0 / np.where(fits, one, 1.0), 1.0 / inverse) for one in each]


# A large rated table in few rows


Ask = Callable[[str], Mapping[str, Array]]
"""Answers a question in SQL with arrays, one for each column."""

FOLDS = 10
_CELLS_OF_ONE_RATE = 1 << 12  # of weak ratings
_CELLS, _RATES = 1 << 9, 1 << 6  # of weak ratings and of rates, where rates differ
_MANY_GROUPS = 4  # from here on groups have fewer cells, so that all together stay as many
_GOLDEN = 2654435769  # 2³² over the golden ratio: its multiples are spread evenly
_WORD = 1 << 32
_ASKED = "CASE WHEN coalesce(s, 0) <> 0 THEN 1 ELSE 0 END"


@dataclass(frozen=True, slots=True)
class Expressions:
    """The SQL of every row's numbers; `source` is what they are selected from.

    `row` numbers the rows, where they have an order; `asked` is 0 or missing where an item was not asked for, or
    nothing where no column says it. `labelled` is the condition for rows that have a label, where that is not those
    with a strong rating.
    """

    source: str
    weak: NumberSql
    strong: NumberSql
    rate: NumberSql
    labelled: str | None = None
    asked: NumberSql | None = None
    row: str | None = None
    by: str | None = None
    beside: tuple[str, ...] = ()  # further numbers of rows that stand alone

    @property
    def quick(self) -> bool:
        """Whether there is cheaper SQL for weak ratings and rates, which may be NaN as well as NULL where missing."""
        return self.weak.plain is not None and self.rate.plain is not None

    @property
    def drawn(self) -> str | None:
        """The condition for rows that were asked for."""
        if self.asked is None:
            return None
        return self.asked.true if self.quick and self.asked.true is not None else f"{self.asked.sql} <> 0"


def row_folds(rows: npt.NDArray[np.integer], alone: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """A fold from 0 to 9 by a row's number, spread evenly; none for rows that do not stand alone."""
    folds = (rows.astype(np.int64) * _GOLDEN % _WORD) * FOLDS // _WORD
    return np.asarray(np.where(alone, folds, NO_FOLD), dtype=np.int64)


def condense(ask: Ask, what: Expressions, *, folds: bool, groups: int = 1) -> tuple[Ratings, Floats]:
    """Rows with labels, or asked for, one by one, and behind them all others that have a rate as counts, by `by`.

    The second is what stands `beside` the rows that are alone, rows × numbers. `folds` asks for the folds of rows with
    a label, by their number. The ranges of weak ratings and rates are asked for where they are not known. Where there
    are many `groups`, each has fewer cells.
    """
    weak, rate = what.weak.range, what.rate.range
    if weak is None or rate is None:
        query = (
            "SELECT min(g) AS a, max(g) AS b, min(q) AS c, max(q) AS d FROM "
            f"(SELECT {what.weak.sql} AS g, {what.rate.sql} AS q FROM {what.source}) t WHERE q IS NOT NULL"
        )
        ends = ask(query)
        a, b, c, d = (float(floats(unmasked(ends[name]))[0]) for name in "abcd")
        weak, rate = (a, b), (c, d)
    fewer = max(groups / _MANY_GROUPS, 1.0) ** 0.5
    across, along = (_CELLS_OF_ONE_RATE, 1) if not rate[0] < rate[1] else (_CELLS, _RATES)
    grid = Grid(
        weak,
        rate,
        max(int(across / fewer ** (2 if along == 1 else 1)), 1),
        max(int(along / fewer), 1),
        fewer > 1 and along > 1,
    )
    folds = folds and what.row is not None
    alone = _alone(ask, what, grid, numbered=folds)
    cells = {name: unmasked(values) for name, values in ask(_cells(what, grid)).items()}
    own = Ratings(
        floats(alone["g"]), floats(alone["h"]), floats(alone["q"]),
        None if what.asked is None else floats(alone["s"]) == 1,
        None if what.by is None else alone["p"].astype(object),
        folds=alone["f"] if folds else None, sums=_sums(cells, grid) if grid.wide else None,
    )  # fmt: skip
    rest = two_points(_rest(alone, cells, grid), cells["p"].astype(object), grid)
    beside = [floats(alone[f"b{i}"]) for i in range(len(what.beside))]
    return own.beside(rest), np.array(beside).reshape(len(beside), own.rows).T


def _placed(grid: Grid, rows: str, *others: str) -> str:
    """The SQL of rows with g and q, and of their cells: c in the weak rating, d from its lower edge, k among all."""
    also = "".join(f", {name}" for name in others)
    inner = f"SELECT g, q, {grid.place} AS x, {grid.rate_place} AS z{also} FROM {rows}"
    return f"(SELECT g, q, x - c AS d, {grid.number} AS k{also} FROM (SELECT *, floor(x) AS c FROM ({inner}) t) t) t"


def _alone(ask: Ask, what: Expressions, grid: Grid, *, numbered: bool) -> dict[str, Array]:
    """Rows that have a label, or were surely asked for, with their cells and folds.

    Where all labels are known to be among the rows that were asked for, the engine looks for those alone.
    """
    surely = what.quick and what.asked is not None and what.asked.true is not None
    if surely and what.drawn is not None and what.strong.values is not None and grid.rate[1] < 1:
        found = _answered(ask, _alone_query(what, grid, [what.drawn]), numbered=numbered)
        if int(np.count_nonzero(~np.isnan(floats(found["h"])))) == what.strong.values:
            return found
    which = [what.labelled or f"{what.strong.sql} IS NOT NULL"]
    if what.drawn is not None:
        which.append(what.drawn)
    if grid.rate[1] >= 1:
        which.append(f"{what.rate.sql} >= 1")
    return _answered(ask, _alone_query(what, grid, which), numbered=numbered)


def _answered(ask: Ask, query: str, *, numbered: bool) -> dict[str, Array]:
    found = {name: unmasked(values) for name, values in ask(query).items()}
    rows = floats(found["r"]).astype(np.int64) if numbered else np.zeros(found["g"].size, dtype=np.int64)
    return found | {"f": row_folds(rows, np.ones(rows.size, dtype=np.bool_))}


def _alone_query(what: Expressions, grid: Grid, which: Sequence[str]) -> str:
    by, row = "''" if what.by is None else what.by, what.row or "0"
    also = "".join(f", {sql} AS b{i}" for i, sql in enumerate(what.beside))
    rows = (
        f"(SELECT {what.weak.sql} AS g, {what.rate.sql} AS q, {by} AS p, {row} AS r, {what.strong.sql} AS h,"
        f" {0 if what.asked is None else what.asked.sql} AS s{also} FROM {what.source} WHERE {' OR '.join(which)}) t"
    )
    names = [f"b{i}" for i in range(len(what.beside))]
    chosen = "".join(f", {name}" for name in names)
    return f"SELECT g, h, q, {_ASKED} AS s, p, r, k{chosen} FROM {_placed(grid, rows, 'h', 's', 'p', 'r', *names)}"


def _cells(what: Expressions, grid: Grid) -> str:
    """The question for all rows that have a rate, in cells; d is the distance from the cell's lower edge, in cells.

    Those of `_alone` are among them: to take them out afterwards is less work than to leave them out of each row.
    """
    weak, rate = (one.plain if what.quick else one.sql for one in (what.weak, what.rate))
    by = "" if what.by is None else f", {what.by} AS p"
    rows = f"(SELECT {weak} AS g, {rate} AS q{by} FROM {what.source}) t"
    rows = f"(SELECT * FROM {rows} WHERE q <= {in_sql(grid.rate[1])} AND q - q = 0) t"  # not NaN
    placed = _placed(grid, rows, *([] if what.by is None else ["p"]))
    inverse, sums = ("", "") if grid.one_rate else (", 1e0 / q AS i", ", sum(i) AS i, sum(d * i) AS w")
    sums += ", sum(d * d * i) AS v" if grid.wide else ""
    keys, named = ("k", "'' AS p") if what.by is None else ("k, p", "p")
    return (
        f"SELECT k, {named}, count(*) AS n, sum(d) AS d, sum(d * d) AS dd{sums}"
        f" FROM (SELECT *{inverse} FROM {placed}) t GROUP BY {keys} ORDER BY {keys}"
    )


def _rest(alone: Mapping[str, Array], cells: Mapping[str, Array], grid: Grid) -> dict[str, Floats]:
    """The sums of all cells without the rows that stand alone; a cell in which none is left has a count of 0."""
    out = {name: floats(values) for name, values in cells.items() if name != "p"}
    k, g, q = (floats(alone[name]) for name in "kgq")
    use = ~(np.isnan(q) | np.isnan(k))
    place = {key: n for n, key in enumerate(zip(out["k"].tolist(), cells["p"].tolist(), strict=True))}
    keys = zip(k[use].tolist(), alone["p"][use].tolist(), strict=True)
    at, d = np.array([place[key] for key in keys], dtype=np.intp), grid.within(g[use])
    taken = {"n": np.ones(at.size), "d": d, "dd": d * d}
    if not grid.one_rate:
        taken |= {"i": 1.0 / q[use], "w": d / q[use]} | ({"v": d * d / q[use]} if grid.wide else {})
    for name, terms in taken.items():
        out[name] = out[name] - np.bincount(at, weights=terms, minlength=out[name].size)
    return out


def _sums(cells: Mapping[str, Array], grid: Grid) -> tuple[float, float, float]:
    """Σ a, Σ a G and Σ a G² over all rows, with a = 1/π − 1."""
    n, d, dd, i, w, v = (floats(cells[name]) for name in ("n", "d", "dd", "i", "w", "v"))
    edge, width = grid.weak[0] + grid.width * grid.cell_of(floats(cells["k"])), grid.width
    first = edge * (i - n) + width * (w - d)
    second = edge**2 * (i - n) + 2 * edge * width * (w - d) + width**2 * (v - dd)
    return float((i - n).sum()), float(first.sum()), float(second.sum())


def floats(values: Array) -> Floats:
    """An engine's answer as numbers, NaN where there is none."""
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    return np.array([np.nan if x is None else float(x) for x in values.tolist()], dtype=np.float64)
