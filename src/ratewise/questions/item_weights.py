"""Means of items looked at in unequal proportions: by strata, with weights, or by slices (METHODS section 8)."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ratewise.core.checks import Floats, number
from ratewise.core.estimate import Estimate, EstimateOptions
from ratewise.core.messages import Message, argument
from ratewise.core.names import Recalibration
from ratewise.core.ratings import Mask, Ratings
from ratewise.core.stratified import Shares, stratified, weighted
from ratewise.errors import InputError, TableError
from ratewise.questions import rated as readers
from ratewise.questions.goal import Costs
from ratewise.questions.large import read_large
from ratewise.questions.rated import (
    RatedColumns,
    TableDraw,
    TablePool,
    check_draw,
    check_labels,
    plain_numbers,
    read_draw,
)
from ratewise.tables import Table, count_groups
from ratewise.tables.cells import Texts
from ratewise.tables.spark import SqlTable

_MOST_KINDS = 1000  # of strata or weights, that are told apart in a large table


@dataclass(frozen=True, slots=True)
class ItemWeights:
    """How rows were chosen: the column of their strata, or one with what each counts."""

    strata: str | None
    weight: str | None

    def __post_init__(self) -> None:
        if self.strata is not None and self.weight is not None:
            raise InputError("give strata or weight, not both: strata know their weights themselves")


def estimate_chosen(
    table: Table, columns: RatedColumns, chosen: ItemWeights, how: EstimateOptions, prices: Costs
) -> Estimate:
    """The estimate from the rows that have a rate; all rows together give the strata's sizes.

    With a pool size the pool is larger than the table, in the same shares. Rows of rate 1 need no weak rating.
    """
    h = columns.read(table, columns.strong)
    draw = read_draw(table, ~np.isnan(h), columns.draw)
    check_labels(table.name, columns.strong, int(np.count_nonzero(~np.isnan(h))), 2)
    check_draw(table.name, draw, ~np.isnan(h))
    looked, g = draw.looked, _weak(table, columns.weak, draw)
    filled = np.where(np.isnan(g), np.where(np.isnan(h), 0.0, h), g)  # Δ = H whatever stands here
    rated = Ratings(filled, h, draw.rates, draw.selected).part(looked)
    if table.rows > readers.MANY_ROWS:
        rated = readers.with_row_folds(rated, np.flatnonzero(looked))
    if chosen.strata is None:
        assert chosen.weight is not None
        if how.estimand == "pool":
            raise InputError("weights estimate the population's mean; give strata for the pool's own")
        found = weighted(rated, _weights(table, chosen.weight, looked), how)
    else:
        if how.pool_size is None:
            TablePool.of(table, int(np.count_nonzero(looked))).refuse_left_out("its strata")
        names = table.texts(chosen.strata).astype(np.str_)
        found = stratified(rated, Shares(names[looked], _sizes(table, names, how.pool_size)), replace(how, floor=None))
    bought = int(np.count_nonzero(looked & ~np.isnan(g)))
    return replace(found, spend=prices.spend(bought, found.labels), notes=draw.notes + found.notes)


def estimate_large_chosen(
    relation: SqlTable, columns: RatedColumns, chosen: ItemWeights, how: EstimateOptions, prices: Costs
) -> Estimate | None:
    """`estimate_chosen` of a table that stays in its files; nothing where it has to be read whole.

    Weights may be of few kinds only, as a draw by strata or slices writes them.
    """
    by = chosen.weight if chosen.strata is None else chosen.strata
    assert by is not None
    asked_for_more = prices != Costs() or how.pool_size is not None or by not in relation.columns
    sizes = {} if asked_for_more else count_groups(relation, by)
    if not 0 < len(sizes) <= _MOST_KINDS or (chosen.strata is None and how.estimand == "pool"):
        return None
    large = read_large(relation, columns, folds=how.method == "auto", by=by, sure_without_weak=True)
    if large is None:
        return None
    if chosen.strata is not None:
        large.pool.refuse_left_out("its strata")
    names = large.table.texts(by, missing="allow").astype(np.str_)
    if chosen.strata is not None:
        return stratified(large.items, Shares(names, sizes), replace(how, floor=None))
    try:
        weights = names.astype(np.float64)
    except ValueError:
        return None
    return weighted(large.items, weights, how) if bool((weights > 0).all()) else None


def _weak(table: Table, column: str | None, draw: TableDraw) -> Floats:
    """The weak ratings; rows that always get their strong rating may lack them."""
    g = np.full(table.rows, np.nan) if column is None else plain_numbers(table, column)
    needed = draw.looked & (draw.rates < 1) & np.isnan(g)
    if needed.any():
        row = int(np.argmax(needed)) + 1
        where = "name its column" if column is None else f"rate it first, in column {column!r}"
        raise TableError(f"row {row} of {table.name} has a rate below 1 but no weak rating; {where}")
    return g


def _sizes(table: Table, names: NDArray[np.str_], pool_size: float | None) -> dict[str, float]:
    found, counts = np.unique(names, return_counts=True)
    factor = 1.0 if pool_size is None else number(pool_size, name="pool_size", minimum=1) / table.rows
    if factor < 1:
        raise InputError(
            Message(
                f"{argument('pool_size')} is {pool_size:g} but the table has {table.rows} rows; it cannot be smaller"
            )
        )
    return {str(name): float(n) * factor for name, n in zip(found, counts, strict=True)}


def _weights(table: Table, column: str, looked: Mask) -> Floats:
    w = table.numbers(column, missing="allow")
    bad = looked & ~(w > 0)
    if bad.any():
        row = int(np.argmax(bad)) + 1
        raise TableError(f"row {row} of {table.name} has a rate but no weight above 0 in column {column!r}")
    return np.asarray(w[looked])


_BY_CHANCE = 5.0  # standard errors within which a slice's share of the rows looked at may be chance


def in_proportion(groups: Texts, looked: Mask) -> bool:
    """Whether slices were looked at about alike, so that the rows looked at stand for all."""
    if looked.all():
        return True
    names, code = np.unique(groups.astype(np.str_), return_inverse=True)
    sizes, seen = np.bincount(code, minlength=names.size), np.bincount(code[looked], minlength=names.size)
    expected = sizes * (looked.sum() / looked.size)
    spread = np.maximum(expected * (1 - looked.mean()), 0.25)
    return bool(np.max(np.abs(seen - expected) / np.sqrt(spread)) < _BY_CHANCE)


def whole(
    rated: Ratings, groups: Texts, all_groups: Texts, how: EstimateOptions, recalibrate: Recalibration
) -> Estimate:
    """The mean of all rows where slices were looked at in unequal proportions: Σ W mean_s."""
    if recalibrate != "none" or rated.clusters is not None:
        raise InputError(
            "slices were looked at in proportions of their own, so the whole is weighed by their sizes, which goes "
            "neither with recalibrate nor with clusters nor with texts; leave them out"
        )
    names = np.unique(groups.astype(np.str_))
    labelled = {str(name) for name in np.unique(groups[~np.isnan(rated.strong)].astype(np.str_))}
    told = [str(name) for name in names if str(name) in labelled]
    use = np.isin(groups.astype(np.str_), told)
    each = 1.0 if how.pool_size is None else how.pool_size / all_groups.size
    sizes = {name: each * float(np.count_nonzero(all_groups == name)) for name in told}
    found = stratified(
        rated.part(use), Shares(groups[use].astype(np.str_), sizes), replace(how, interval="auto", floor=None)
    )
    notes = ["the whole is weighed by the slices' sizes, since they were looked at in other proportions"]
    left = sorted({str(name) for name in np.unique(all_groups.astype(np.str_))} - set(told))
    if left:
        notes.append(f"the whole is without {', '.join(map(repr, left[:5]))}: no strong rating there")
    return replace(found, notes=(*notes, *found.notes))
