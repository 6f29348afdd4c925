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
    key: str | None = None  # tells rows with a label apart where they have no numbers
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


def condense(ask: Ask, what: Expressions, *, folds: bool) -> Condensed:
    """The condensed table; `folds` keeps the folds apart, ten times as many cells."""
    weak, rate = _ranges(ask, what)
    found = ask(_question(what, weak, rate, folds=folds and what.row is not None))
    return _rows(found, what, folds=folds and what.row is not None)


def _ranges(ask: Ask, what: Expressions) -> tuple[tuple[float, float], tuple[float, float]]:
    """The least and the largest weak rating and rate of rows that have a rate."""
    query = (
        "SELECT min(g) AS a, max(g) AS b, min(q) AS c, max(q) AS d FROM "
        f"(SELECT {what.weak} AS g, {what.rate} AS q FROM {what.source}) t WHERE q IS NOT NULL"
    )
    found = {name: unmasked(values)[0] for name, values in ask(query).items()}
    a, b, c, d = (np.nan if found[name] is None else float(found[name]) for name in "abcd")
    return (a, b), (c, d)


def _question(what: Expressions, weak: tuple[float, float], rate: tuple[float, float], *, folds: bool) -> str:
    one_rate = not rate[0] < rate[1]
    asked = "0" if what.asked is None else what.asked
    row, key = what.row or "0", what.key or what.row or "0"
    by = "''" if what.by is None else what.by
    inner = (
        f"SELECT {what.weak} AS g, {what.strong} AS h, {what.rate} AS q, {asked} AS s, {row} AS r, {key} AS k,"
        f" {by} AS p FROM {what.source}"
    )
    alone = "(h IS NOT NULL OR s = 1 OR q >= 1)"
    cells = _CELLS_OF_ONE_RATE if one_rate else _CELLS
    rates = "0" if one_rate else _cell("ln(CASE WHEN q > 0 THEN q END)", (_log(rate[0]), _log(rate[1])), _RATES)
    fold = f"floor(mod(r * {_GOLDEN}, {_WORD}) * {FOLDS} / {_WORD}.0)" if folds else "0"
    keys = (_cell("g", weak, cells), rates, fold, f"CASE WHEN {alone} THEN k END", "p")
    sums = (
        "count(*) AS n, avg(g) AS g, var_pop(g) AS v, min(g) AS lo, max(g) AS hi, avg(1.0 / nullif(q, 0.0)) AS i,"
        " avg(g / nullif(q, 0.0)) AS w,"
        " min(q) AS q, max(q) AS most, min(h) AS h, max(s) AS s, count(g) AS rated"
    )
    named = ", ".join(f"{sql} AS k{number}" for number, sql in enumerate(keys))
    return (
        f"SELECT {named}, {sums} FROM ({inner}) t WHERE q IS NOT NULL OR h IS NOT NULL GROUP BY 1, 2, 3, 4, 5"
        " ORDER BY 4, 5, 3, 2, 1"
    )


def _cell(value: str, ends: tuple[float, float], cells: int) -> str:
    low, high = ends
    if not low < high:
        return "0"
    return f"floor(({value} - ({low!r})) * {cells / (high - low)!r})"


def _log(rate: float) -> float:
    return float(np.log(max(rate, 1e-100)))


def _rows(found: Mapping[str, Array], what: Expressions, *, folds: bool) -> Condensed:
    columns = {name: unmasked(values) for name, values in found.items()}
    cells = {
        name: _floats(columns[name]) for name in ("n", "g", "v", "lo", "hi", "i", "w", "q", "most", "h", "s", "k2")
    }
    alone = np.array([value is not None and value == value for value in columns["k3"].tolist()], dtype=np.bool_)  # noqa: PLR0124 (NaN)
    first, second = _two_points(cells, alone)
    split = np.flatnonzero(second.counts > 0)
    at = np.r_[np.arange(alone.size), split]  # the second points stand behind all first ones

    def both(name: str) -> Floats:
        return np.asarray(np.r_[getattr(first, name), getattr(second, name)[split]])

    return Condensed(
        both("weak"),
        cells["h"][at],
        both("rates"),
        None if what.asked is None else np.asarray(cells["s"][at] == 1),
        both("counts"),
        cells["k2"][at].astype(np.int64) if folds else None,
        None if what.by is None else columns["k4"].astype(object)[at],
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Points:
    """One point of every cell."""

    weak: Floats
    rates: Floats
    counts: Floats


def _two_points(cells: Mapping[str, Floats], alone: npt.NDArray[np.bool_]) -> tuple[_Points, _Points]:
    """μ − σt and μ + σ/t in the shares 1/(1 + t²) and t²/(1 + t²), for every cell that is not all alike.

    They have the mean μ and the variance σ² whatever t is; t = sqrt((μ − low)/(high − μ)) keeps them between the ends.
    """
    n, mean, v, low, high = (cells[name] for name in ("n", "g", "v", "lo", "hi"))
    spread = ~alone & (v > 1e-18 * np.maximum(mean * mean, 1e-300)) & (low < mean) & (mean < high)
    sd = np.sqrt(np.where(spread, v, 0.0))
    t = np.sqrt(np.where(spread, mean - low, 1.0) / np.where(spread, high - mean, 1.0))
    share = np.where(spread, 1.0 / (1.0 + t**2), 1.0)
    x = mean - sd * t, mean + sd / t
    one_rate = np.where(alone | (cells["q"] == cells["most"]), cells["q"], 1.0 / cells["i"])
    gap = np.where(spread, x[1] - x[0], 1.0)
    upper = np.where(spread, (cells["w"] - cells["i"] * x[0]) / gap, 0.0)  # share of the second point times its 1/π
    inverse = (cells["i"] - upper) / share, upper / np.where(spread, 1.0 - share, 1.0)
    fits = spread & (cells["q"] < cells["most"]) & (inverse[0] >= 1.0) & (inverse[1] >= 1.0)
    rates = [np.where(fits, 1.0 / np.where(fits, i, 1.0), one_rate) for i in inverse]
    return _Points(x[0], rates[0], n * share), _Points(x[1], rates[1], n * (1.0 - share))


def _floats(values: Array) -> Floats:
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
