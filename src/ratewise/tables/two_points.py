"""A cell of a grid as two rows: with its count, mean and variance, and with its sums of 1/π and of G/π."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ratewise.tables.grid import Floats, Grid

_ALIKE = 1e-9  # of a cell's width squared: less variance than that is rounding
_DIGITS, _TINY = 9, 1e-15  # after the point, of ratings that are restored to the bit


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """One point of every cell."""

    weak: Floats
    rates: Floats
    counts: Floats


def two_points(cells: Mapping[str, Floats], grid: Grid) -> tuple[Points, Points]:
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
    counts = np.where(some, n, 0.0)
    return (
        Points(np.where(spread, low, _with_few_digits(low)), rates[0], counts * share),
        Points(high, rates[1], counts * (1.0 - share)),
    )


def _with_few_digits(x: Floats) -> Floats:
    """Numbers that are but for rounding ones with few digits, as ratings are, are those; others as they are."""
    short = np.round(x, _DIGITS)
    return np.where(np.abs(short - x) <= 4 * np.spacing(np.abs(x)) + _TINY, short, x)


def _two_rates(
    inverse: Floats, weighted: Floats, x: tuple[Floats, Floats], share: Floats, spread: npt.NDArray[np.bool_]
) -> list[Floats]:
    """Rates of both points that have the cell's mean of 1/π and of G/π; one for both where those would be no rates."""
    gap = np.where(spread, x[1] - x[0], 1.0)
    upper = np.where(spread, (weighted - inverse * x[0]) / gap, 0.0)  # share of the second point times its 1/π
    each = (inverse - upper) / share, upper / np.where(spread, 1.0 - share, 1.0)
    fits = spread & (each[0] >= 1.0) & (each[1] >= 1.0)
    return [np.where(fits, 1.0 / np.where(fits, one, 1.0), 1.0 / inverse) for one in each]
