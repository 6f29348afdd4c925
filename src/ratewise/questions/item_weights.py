"""Means of items looked at in unequal proportions: by strata, with weights, or by slices (METHODS section 8)."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ratewise.core.checks import Floats, number
from ratewise.core.estimate import Estimate, EstimateOptions
from ratewise.core.messages import Message, argument
from ratewise.core.names import Recalibration
from ratewise.core.ratings import Mask, Ratings
from ratewise.core.stratified import Shares, stratified, weighted
from ratewise.errors import InputError, TableError
from ratewise.questions.large import read_large
from ratewise.questions.people import strong_columns
from ratewise.questions.rated import RATE, RatedTable, TableColumns, refuse_row
from ratewise.tables import Table, count_groups
from ratewise.tables.cells import Texts
from ratewise.tables.spark import SqlTable
from ratewise.tables.words import Meaning

_MOST_KINDS = 1000  # of strata or weights, that are told apart in a large table


def estimate_chosen(
    rated: RatedTable,
    strata: str | None,
    weight: str | None,
    how: EstimateOptions,
    sizes: Mapping[str, float] | None = None,
) -> Estimate:
    """The estimate from rows that were chosen by their strata, or that count by a column of weights (P/Q).

    All rows of the table together give the strata's `sizes`, where those are not known otherwise. With a pool size the
    pool is larger than the table, in the same shares.
    """
    if weight is not None:
        if how.estimand == "pool":
            raise InputError("weights estimate the population's mean; give strata for the pool's own")
        return weighted(rated.items, _weights(rated, weight), how)
    assert strata is not None
    if how.pool_size is None:
        rated.pool.refuse_left_out("its strata")
    names = rated.table.texts(strata, missing="allow" if sizes else "error").astype(np.str_)
    sizes = sizes or _sizes(rated.table, names, how.pool_size)
    return stratified(rated.items, Shares(names[rated.rows], sizes), replace(how, floor=None))


def estimate_large_chosen(
    relation: SqlTable, columns: TableColumns, strata: str | None, weight: str | None, how: EstimateOptions
) -> Estimate | None:
    """`estimate_chosen` of a table that stays in its files; nothing where it has to be read whole.

    Weights may be of few kinds only, as a draw by strata or slices writes them.
    """
    by = strata if weight is None else weight
    drawn = (columns.rate is not None or RATE in relation.columns) and columns.clusters is None
    several = len(strong_columns(relation, columns.strong or ())) > 1
    if by is None or by not in relation.columns or not drawn or several or how.pool_size is not None:
        return None
    sizes = count_groups(relation, by)
    if not 0 < len(sizes) <= _MOST_KINDS or (weight is not None and how.estimand == "pool"):
        return None
    large = read_large(relation, columns, Meaning(), folds=how.method == "auto", by=by, sure_without_weak=True)
    if large is None:
        return None
    try:
        return estimate_chosen(large, strata, weight, how, sizes)
    except TableError:  # a weight that is no number above 0: who reads the table whole says which row has it
        if weight is None:
            raise
        return None


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


def _weights(rated: RatedTable, column: str) -> Floats:
    w = rated.table.numbers(column, missing="allow")
    what = f"has a rate but no weight above 0 in column {column!r}"
    refuse_row(rated.table.name, rated.rows & ~(w > 0), what)
    return np.asarray(w[rated.rows])


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
