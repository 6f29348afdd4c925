"""The grid that rows without labels are counted in: cells of weak ratings and of rates, in SQL and in NumPy alike."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Range = tuple[float, float]

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
