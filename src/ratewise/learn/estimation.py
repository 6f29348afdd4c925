"""`estimate_mean` with recalibration of the weak rating, cross-fitted (METHODS section 5)."""

from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ratewise.core import estimate as core
from ratewise.core.checks import Floats, as_floats, choice, number
from ratewise.core.estimate import Estimate
from ratewise.core.names import RECALIBRATIONS, Calibrator, Estimand, IntervalMethod, Method, Recalibration
from ratewise.core.ratings import Mask, ratings
from ratewise.errors import InputError, TableError
from ratewise.learn.calibration import cross_calibrated
from ratewise.learn.rating_model import Covariates, fitted_rating
from ratewise.tables import Table, TableLike, read_table


def estimate_mean(
    weak: ArrayLike,
    strong: ArrayLike,
    rates: ArrayLike,
    *,
    method: Method = "auto",
    interval: IntervalMethod = "auto",
    level: float = 0.95,
    estimand: Estimand = "population",
    pool_size: float | None = None,
    recalibrate: Recalibration = "none",
    selected: ArrayLike | None = None,
    bounds: tuple[float, float] | None = None,
    floor: float | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> Estimate:
    """Mean strong rating of the population the items come from, or of the pool they are.

    `strong` is NaN where not rated and `rates` holds the probability each item was drawn with; for a chain, `weak`
    and `rates` are items × steps. `recalibrate` first maps the weak rating to the strong one, each fold by the
    labels of the others (`auto`: as campaigns do, each label by all the others). `selected` says who was asked: an
    answer asked for but missing is reported with worst-case bounds, never dropped. `bounds` are the ends of the
    rating scale (found by itself for 0/1 ratings); `floor` is the least rate any item could have had, which
    `anytime` needs. `seed` makes folds and bootstrap.

    Limiting cases: rates of 1 give the plain mean of the strong ratings; one label gives a value and no interval.
    """
    choice(recalibrate, RECALIBRATIONS, name="recalibration")
    if recalibrate != "none":
        if interval == "anytime":
            raise InputError("the anytime interval needs the weak rating as it was; leave recalibrate out")
        weak = _recalibrated(weak, strong, rates, recalibrate, seed)
        method = "difference" if method == "auto" else method  # a line on top would see its own fold's labels
    found = core.estimate_mean(
        weak, strong, rates, method=method, interval=interval, level=level, estimand=estimand, pool_size=pool_size,
        selected=selected, bounds=bounds, floor=floor, resamples=resamples, seed=seed,
    )  # fmt: skip
    return found if recalibrate == "none" else replace(found, method=f"{found.method}, {recalibrate} recalibrated")


def _recalibrated(
    weak: ArrayLike, strong: ArrayLike, rates: ArrayLike, kind: Calibrator | Literal["auto"], seed: int
) -> ArrayLike:
    g, h = as_floats(weak, name="weak"), as_floats(strong, name="strong")
    if g.ndim > 1:
        raise InputError("recalibrate is for one weak rater; use method 'regression' or 'auto' for a chain")
    if g.shape != h.shape or np.isnan(g).any():
        raise InputError("weak and strong must have one entry per item, and no weak rating may be missing")
    if kind != "auto":
        return cross_calibrated(g, h, kind=kind, seed=seed)
    data = ratings(g, h, rates)
    return g if data.labels < 2 else fitted_rating(Covariates(g), h, 1.0 / data.rates[:, 0])


def estimate_table(
    table: TableLike,
    *,
    weak: str | None,
    strong: str,
    rate: str = "rate",
    selected: str | None = None,
    bounds: tuple[float | None, float | None] = (None, None),
    weak_cost: float | None = None,
    strong_cost: float | None = None,
    method: Method = "auto",
    interval: IntervalMethod = "auto",
    level: float = 0.95,
    estimand: Estimand = "population",
    pool_size: float | None = None,
    recalibrate: Recalibration = "none",
    floor: float | None = None,
    seed: int = 0,
) -> Estimate:
    """`estimate_mean` on a table's columns. Rows without a rate were not looked at and do not count.

    Without `weak` the strong ratings stand alone: their mean, from a draw at one rate for all.
    """
    read = read_table(table)
    q = read.numbers(rate, missing="allow")
    h = read.numbers(strong, missing="allow")
    asked = None if selected is None else read.numbers(selected) != 0
    looked = ~np.isnan(q)
    _check_rows(read.name, strong, rate, q, h, looked)
    if (bounds[0] is None) != (bounds[1] is None):
        raise InputError("give both ends of the rating scale (low and high), or neither")
    ends = None if bounds[0] is None or bounds[1] is None else (bounds[0], bounds[1])
    if pool_size is not None and estimand == "population":
        raise InputError("pool_size matters only for the pool's own mean; add estimand pool, or leave it out")
    if weak is None:
        g, use, q = _strong_alone(q, h, asked, looked)
        pool_size = float(looked.sum()) if pool_size is None and estimand == "pool" else pool_size
    else:
        g, use = _weak(read, weak, looked), looked
    found = estimate_mean(
        g[use], h[use], q[use], method=method, interval=interval, level=level, estimand=estimand,
        pool_size=pool_size, recalibrate=recalibrate, selected=None if asked is None else asked[use], bounds=ends,
        floor=floor, seed=seed,
    )  # fmt: skip
    left_out = int(np.count_nonzero(~looked))
    notes = (f"{left_out:,} rows without a rate were not looked at and do not count",) if left_out else ()
    spend = _spend(found, 0.0 if weak is None and strong_cost is not None else weak_cost, strong_cost)
    return replace(found, spend=spend, notes=notes + found.notes)


def _weak(table: Table, column: str, looked: Mask) -> Floats:
    g = table.numbers(column, missing="allow")
    missing = np.isnan(g) & looked
    if missing.any():
        row = int(np.argmax(missing)) + 1
        raise TableError(f"row {row} of {table.name} has a rate but no weak rating in column {column!r}; rate it first")
    return g


def _strong_alone(q: Floats, h: Floats, asked: Mask | None, looked: Mask) -> tuple[Floats, Mask, Floats]:
    """The rows that were asked for, as a sample in which everybody was."""
    if np.ptp(q[looked]) > 0:
        raise InputError("strong ratings alone need one rate for all rows; name the weak rating's column")
    return np.zeros(h.size), looked & (~np.isnan(h) if asked is None else asked), np.ones(h.size)


def _check_rows(name: str, strong: str, rate: str, q: Floats, h: Floats, looked: Mask) -> None:
    """What the core would refuse by item number is refused here by row, counted as the user counts."""
    if not looked.any():
        raise TableError(f"no row of {name} has a rate in column {rate!r}; draw first with `ratewise draw`")
    labels = int(np.count_nonzero(~np.isnan(h)))
    if labels < 2:
        many = "no row has" if labels == 0 else "only one row has"
        raise TableError(
            f"{many} a strong rating in column {strong!r} of {name}; an estimate with an interval needs two"
        )
    drawn_without = ~np.isnan(h) & ((q == 0) | ~looked)
    outside = looked & ~((q > 0) & (q <= 1)) & ~drawn_without
    for bad, what in (
        (drawn_without, "has a strong rating but no rate above 0: give the rate it was drawn with"),
        (outside, f"has a rate outside (0, 1] in column {rate!r}"),
    ):
        if bad.any():
            raise TableError(f"row {int(np.argmax(bad)) + 1} of {name} {what}")


def _spend(found: Estimate, weak_cost: float | None, strong_cost: float | None) -> float | None:
    if weak_cost is None and strong_cost is None:
        return None
    if weak_cost is None or strong_cost is None:
        raise InputError("give both weak_cost and strong_cost to know the spend, or neither")
    c_g, c_h = (
        number(weak_cost, name="weak_cost", minimum=0),
        number(strong_cost, name="strong_cost", minimum=0),
    )
    return found.items * c_g + found.labels * c_h
