"""`estimate_mean` with recalibration of the weak rating, cross-fitted (METHODS section 5)."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ratewise.core.checks import Floats, as_floats, choice
from ratewise.core.mean import estimate as core
from ratewise.core.mean.clusters import Codes, cluster_codes
from ratewise.core.mean.estimate import Estimate
from ratewise.core.mean.ratings import Mask, ratings
from ratewise.core.names import RECALIBRATIONS, Calibrator, Estimand, IntervalMethod, Method, Recalibration
from ratewise.errors import InputError, TableError
from ratewise.models.calibration import cross_calibrated
from ratewise.models.rating_model import Covariates, cluster_fitted_rating, fitted_rating
from ratewise.tables import Table, TableLike, read_table
from ratewise.tables.convert import Texts
from ratewise.targets.mean.chosen import ChosenRatings, estimate_chosen, money_spent
from ratewise.targets.mean.pooled import Terms, estimate_pooled, read_pooled, read_terms

_LEVEL = 0.95  # unless another one is asked for


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
    clusters: ArrayLike | None = None,
    bounds: tuple[float, float] | None = None,
    floor: float | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> Estimate:
    """Mean strong rating of the population the items come from, or of the pool they are.

    `strong` is NaN where not rated and `rates` holds the probability each item was drawn with; for a chain, `weak`
    and `rates` are items × steps. `recalibrate` first maps the weak rating to the strong one, each fold by the
    labels of the others (`auto`: as campaigns do, each label by all the others). `selected` says who was asked: an
    answer asked for but missing is reported with worst-case bounds, never dropped. `clusters` names, for every item,
    the conversation, document or person it comes from: the interval then counts those, and no cluster is calibrated by
    its own labels. `bounds` are the ends of the rating scale (found by itself for 0/1 ratings); `floor` is the least
    rate any item could have had, which `anytime` needs. `seed` makes folds and bootstrap.

    Limiting cases: rates of 1 give the plain mean of the strong ratings; one label gives a value and no interval, and
    so does one cluster.
    """
    choice(recalibrate, RECALIBRATIONS, name="recalibration")
    if recalibrate != "none":
        if interval == "anytime":
            raise InputError("the anytime interval needs the weak rating as it was; leave recalibrate out")
        whole = estimand == "pool" and (pool_size is None or pool_size == np.size(strong))  # then only the draw counts
        groups = None if whole else clusters
        weak = recalibrated(weak, strong, rates, kind=recalibrate, clusters=groups, seed=seed)
        method = "difference" if method == "auto" else method  # a line on top would see its own fold's labels
    found = core.estimate_mean(
        weak, strong, rates, method=method, interval=interval, level=level, estimand=estimand, pool_size=pool_size,
        selected=selected, clusters=clusters, bounds=bounds, floor=floor, resamples=resamples, seed=seed,
    )  # fmt: skip
    return found if recalibrate == "none" else replace(found, method=f"{found.method}, {recalibrate} recalibrated")


def recalibrated(
    weak: ArrayLike,
    strong: ArrayLike,
    rates: ArrayLike,
    *,
    kind: Calibrator | Literal["auto"],
    clusters: ArrayLike | None = None,
    seed: int = 0,
) -> Floats:
    """The weak rating mapped to the strong one, cross-fitted; clusters are left out whole."""
    g, h = as_floats(weak, name="weak"), as_floats(strong, name="strong")
    if g.ndim > 1:
        raise InputError("recalibrate is for one weak rater; use method 'regression' or 'auto' for a chain")
    if g.shape != h.shape or np.isnan(g).any():
        raise InputError("weak and strong must have one entry per item, and no weak rating may be missing")
    codes = None if clusters is None else _codes(clusters, g.size)
    if kind != "auto":
        return cross_calibrated(g, h, kind=kind, seed=seed, codes=codes)
    data = ratings(g, h, rates)
    if data.labels < 2:
        return g
    x, weights = Covariates(g), 1.0 / data.rates[:, 0]
    return fitted_rating(x, h, weights) if codes is None else cluster_fitted_rating(x, h, weights, codes)


def _codes(clusters: ArrayLike, items: int) -> Codes | None:
    """None where every item is its own cluster: then items are left out one by one."""
    codes = cluster_codes(clusters, items)
    return None if codes.max() + 1 == items else codes


def estimate_table(
    table: TableLike,
    *,
    weak: str | None = None,
    strong: str | None = None,
    rate: str = "rate",
    selected: str | None = None,
    clusters: str | None = None,
    strata: str | None = None,
    weight: str | None = None,
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

    Without `weak` the strong ratings stand alone: their mean, from a draw at one rate for all. `clusters` is the column
    that says what each row comes from, where several come from one conversation, document or person. `strata` is the
    column by which the rows that were looked at were chosen, `weight` one with what each counts (P/Q).

    The export of a campaign says itself how its columns are combined: unless other columns or methods are asked for,
    its estimate is what the campaign reports.
    """
    read = read_table(table)
    terms = read_terms(read)
    if terms is not None and _as_reported(
        terms, weak, strong, rate, selected, clusters, strata, weight, method, interval, recalibrate, bounds,
        pool_size, floor,
    ):  # fmt: skip
        return _exported(read, terms, level, weak_cost, strong_cost)
    if strong is None:
        raise InputError("name the column with the strong rating: strong, or --strong on the command line")
    selected = asked_column(read, selected)
    if strata is not None or weight is not None:
        if clusters is not None or recalibrate != "none":
            raise InputError("clusters and recalibrate are not for strata or weight; leave them out")
        return estimate_chosen(
            read, _all_rows(read, strong, rate, selected), weak=weak, strata=strata, weight=weight, method=method,
            interval=interval, level=level, estimand=estimand, pool_size=pool_size, bounds=both_ends(bounds),
            weak_cost=weak_cost, strong_cost=strong_cost, seed=seed,
        )  # fmt: skip
    refuse_unused_weights(read, rate)
    drawn = read_ratings(read, weak=weak, strong=strong, rate=rate, selected=selected, clusters=clusters)
    if pool_size is not None and estimand == "population":
        raise InputError("pool_size matters only for the pool's own mean; add estimand pool, or leave it out")
    if weak is None and pool_size is None and estimand == "pool":
        pool_size = float(drawn.looked.sum())
    found = estimate_mean(
        drawn.weak, drawn.strong, drawn.rates, method=method, interval=interval, level=level, estimand=estimand,
        pool_size=pool_size, recalibrate=recalibrate, selected=drawn.selected, clusters=drawn.clusters,
        bounds=both_ends(bounds), floor=floor, seed=seed,
    )  # fmt: skip
    spend = spend_of(found, weak_cost, strong_cost, alone=weak is None)
    return replace(found, spend=spend, notes=drawn.notes() + found.notes)


def _as_reported(terms: Terms, weak: str | None, strong: str | None, rate: str, *others: object) -> bool:
    """Whether an export is to be read as the campaign reports it: nothing was asked for that says otherwise."""
    own = weak is None or weak in terms.weak or (weak.startswith("rating_") and weak != terms.strong)
    defaults = (None, None, None, None, "auto", "auto", "none", (None, None), None, None)
    return own and strong in {None, terms.strong} and rate in {"rate", *terms.rates} and others == defaults


def _exported(table: Table, terms: Terms, level: float, weak_cost: float | None, strong_cost: float | None) -> Estimate:
    found = estimate_pooled(read_pooled(table, terms), level=None if level == _LEVEL else level)
    note = f"computed as campaign {terms.campaign!r} reports it: its own prediction, pooled rates and level"
    spend = spend_of(found, weak_cost, strong_cost, alone=False)
    return replace(found, spend=spend, notes=(note, *found.notes))


@dataclass(frozen=True, slots=True, eq=False)
class RatedRows:
    """The rows of a drawn table that an estimate uses, as arrays for `estimate_mean`."""

    weak: Floats
    strong: Floats
    rates: Floats
    selected: Mask | None
    clusters: Texts | None
    used: Mask  # of all rows
    looked: Mask  # of all rows: those with a rate

    def notes(self) -> tuple[str, ...]:
        """What was left out."""
        left_out = int(np.count_nonzero(~self.looked))
        return (f"{left_out:,} rows without a rate were not looked at and do not count",) if left_out else ()


def read_ratings(
    table: Table, *, weak: str | None, strong: str, rate: str, selected: str | None, clusters: str | None
) -> RatedRows:
    """The columns of the rows that were looked at, checked; without `weak`, of those that were asked for."""
    q = table.numbers(rate, missing="allow")
    h = table.numbers(strong, missing="allow")
    asked = None if selected is None else table.numbers(selected) != 0
    looked = ~np.isnan(q)
    _check_rows(table.name, strong, rate, q, h, looked)
    if weak is None:
        g, use, q = _strong_alone(q, h, asked, looked)
    else:
        g, use = _weak(table, weak, looked), looked
    groups = None if clusters is None else table.texts(clusters)[use]
    return RatedRows(g[use], h[use], q[use], None if asked is None else asked[use], groups, use, looked)


def asked_column(table: Table, selected: str | None) -> str | None:
    """The column that says who was asked: the one named, else `selected` as a draw writes it, if the table has that."""
    if selected is not None or "selected" not in table.columns:
        return selected
    try:
        values = table.numbers("selected", missing="allow")
    except TableError:
        return None
    return "selected" if np.all((values == 0) | (values == 1)) else None


def refuse_unused_weights(table: Table, rate: str, groups: Texts | None = None) -> None:
    """A draw by strata or slices wrote `weight`: a mean that does not use it is of the rows looked at, not of all.

    Within `groups` weights that do not differ need no use.
    """
    if rate != "rate" or not {"rate", "selected", "weight"} <= set(table.columns):
        return
    try:
        w, looked = table.numbers("weight", missing="allow"), ~np.isnan(table.numbers("rate", missing="allow"))
    except TableError:
        return
    if not looked.any() or np.isnan(w[looked]).any():
        return
    parts = [looked] if groups is None else [looked & (groups == name) for name in np.unique(groups[looked])]
    if any(np.ptp(w[part]) > 1e-9 * np.abs(w[part]).max() for part in parts):
        raise InputError(
            f"{table.name} has a column 'weight' beside rate and selected: if a draw by strata or slices wrote it, "
            "name it (--weight weight) or the strata (--strata COLUMN); if it is your own, rename it"
        )


def _all_rows(table: Table, strong: str, rate: str, selected: str | None) -> ChosenRatings:
    """Strata need the rows that were not looked at, too: they say how large each stratum is."""
    q, h = table.numbers(rate, missing="allow"), table.numbers(strong, missing="allow")
    _check_rows(table.name, strong, rate, q, h, ~np.isnan(q))
    return ChosenRatings(h, q, None if selected is None else table.numbers(selected) != 0)


def both_ends(bounds: tuple[float | None, float | None]) -> tuple[float, float] | None:
    """The ends of the rating scale, or neither."""
    low, high = bounds
    if (low is None) != (high is None):
        raise InputError("give both ends of the rating scale (low and high), or neither")
    return None if low is None or high is None else (low, high)


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


def spend_of(found: Estimate, weak_cost: float | None, strong_cost: float | None, *, alone: bool) -> float | None:
    """What the ratings cost; `None` where no prices are given. Strong ratings alone need no weak one's price."""
    if alone and strong_cost is not None:
        weak_cost = 0.0
    return money_spent(found.items, found.labels, weak_cost, strong_cost)
