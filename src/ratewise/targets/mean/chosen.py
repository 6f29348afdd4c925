"""`estimate_table` for items that were chosen: by strata, or with weights (METHODS section 8)."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ratewise.core.checks import Floats, number
from ratewise.core.mean.estimate import Estimate
from ratewise.core.mean.ratings import Mask
from ratewise.core.mean.stratified import estimate_stratified, estimate_weighted
from ratewise.core.names import Estimand, IntervalMethod, Method
from ratewise.errors import InputError, TableError
from ratewise.tables import Table


@dataclass(frozen=True, slots=True, eq=False)
class ChosenRatings:
    """All rows of a table: the strong ratings (NaN where none), the rates (NaN where not looked at), who was asked."""

    strong: Floats
    rates: Floats
    selected: Mask | None

    @property
    def looked(self) -> Mask:
        """Rows that were looked at."""
        return ~np.isnan(self.rates)


def estimate_chosen(
    table: Table,
    rated: ChosenRatings,
    *,
    weak: str | None,
    strata: str | None,
    weight: str | None,
    method: Method,
    interval: IntervalMethod,
    level: float,
    estimand: Estimand,
    pool_size: float | None,
    bounds: tuple[float, float] | None,
    weak_cost: float | None,
    strong_cost: float | None,
    seed: int,
) -> Estimate:
    """From the rows that have a rate; all rows together say how large each stratum is.

    With `pool_size` the pool is larger than the table, in the same shares. Rows of rate 1 need no weak rating.
    """
    looked, g = rated.looked, _weak(table, weak, rated)
    filled = np.where(np.isnan(g), np.where(np.isnan(rated.strong), 0.0, rated.strong), g)  # Δ = H whatever stands here
    f, h, q = filled[looked], rated.strong[looked], rated.rates[looked]
    asked = None if rated.selected is None else rated.selected[looked]
    if strata is None:
        assert weight is not None
        if estimand == "pool":
            raise InputError("weights estimate the population's mean; give strata for the pool's own")
        found = estimate_weighted(
            f, h, q, _weights(table, weight, looked), method=method, interval=interval, level=level, selected=asked,
            bounds=bounds, seed=seed,
        )  # fmt: skip
    elif weight is not None:
        raise InputError("give strata or weight, not both: strata know their weights themselves")
    else:
        names = table.texts(strata).astype(np.str_)
        found = estimate_stratified(
            f, h, q, names[looked], sizes=_sizes(table, names, pool_size), method=method, interval=interval,
            level=level, estimand=estimand, selected=asked, bounds=bounds, seed=seed,
        )  # fmt: skip
    bought = int(np.count_nonzero(looked & ~np.isnan(g)))
    return replace(found, spend=money_spent(bought, found.labels, weak_cost, strong_cost))


def _weak(table: Table, column: str | None, rated: ChosenRatings) -> Floats:
    """The weak ratings; rows that always get their strong rating may lack them."""
    g = np.full(rated.strong.size, np.nan) if column is None else table.numbers(column, missing="allow")
    needed = rated.looked & (rated.rates < 1) & np.isnan(g)
    if needed.any():
        row = int(np.argmax(needed)) + 1
        where = "name its column" if column is None else f"rate it first, in column {column!r}"
        raise TableError(f"row {row} of {table.name} has a rate below 1 but no weak rating; {where}")
    return g


def _sizes(table: Table, names: NDArray[np.str_], pool_size: float | None) -> dict[str, float]:
    found, counts = np.unique(names, return_counts=True)
    factor = 1.0 if pool_size is None else number(pool_size, name="pool_size", minimum=1) / table.rows
    if factor < 1:
        raise InputError(f"pool_size is {pool_size:g} but the table has {table.rows} rows; it cannot be smaller")
    return {str(name): float(n) * factor for name, n in zip(found, counts, strict=True)}


def _weights(table: Table, column: str, looked: Mask) -> Floats:
    w = table.numbers(column, missing="allow")
    bad = looked & ~(w > 0)
    if bad.any():
        row = int(np.argmax(bad)) + 1
        raise TableError(f"row {row} of {table.name} has a rate but no weight above 0 in column {column!r}")
    return np.asarray(w[looked])


def money_spent(weak: int, strong: int, weak_cost: float | None, strong_cost: float | None) -> float | None:
    """What so many ratings cost; `None` where no prices are given."""
    if weak_cost is None and strong_cost is None:
        return None
    if weak_cost is None or strong_cost is None:
        raise InputError("give both weak_cost and strong_cost to know the spend, or neither")
    c_g, c_h = (
        number(weak_cost, name="weak_cost", minimum=0),
        number(strong_cost, name="strong_cost", minimum=0),
    )
    return weak * c_g + strong * c_h
