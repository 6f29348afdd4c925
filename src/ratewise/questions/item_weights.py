"""Means of items looked at in unequal proportions: by strata, with weights, or by slices (METHODS section 8)."""

from dataclasses import replace

import numpy as np

from ratewise.core.checks import number
from ratewise.core.estimate import Estimate, EstimateOptions
from ratewise.core.messages import Message, argument
from ratewise.core.names import Recalibration
from ratewise.core.ratings import Mask, Ratings
from ratewise.core.stratified import Shares, stratified, weighted
from ratewise.errors import InputError, TableError
from ratewise.questions.large import large_relation, read_in_files, read_whole
from ratewise.questions.people import made_ready, strong_columns
from ratewise.questions.rated import RATE, RatedTable, TableColumns, read_rated, refuse_row
from ratewise.tables import TableLike, count_groups
from ratewise.tables.cells import Texts
from ratewise.tables.spark import SqlTable
from ratewise.tables.words import Meaning

_MOST_KINDS = 1000  # of strata or weights, that are told apart in a large table


def estimate_chosen(
    source: TableLike,
    columns: TableColumns,
    meaning: Meaning,
    strata: str | None,
    weight: str | None,
    how: EstimateOptions,
    *,
    whole: bool,
) -> tuple[Estimate, RatedTable]:
    """The estimate from rows that were chosen by their strata, or that count by a column of weights (P/Q).

    All rows of the table together give the strata's sizes. With a pool size the pool is larger than the table, in the
    same shares. With `whole` the table is read whole, however large it is.
    """
    if weight is not None and how.estimand == "pool":
        raise InputError("weights estimate the population's mean; give strata for the pool's own")
    relation, by = large_relation(source), str(strata if weight is None else weight)
    rated, counted = (None, {}) if whole or meaning != Meaning() else _in_files(relation, columns, by, how, weight)
    if rated is None:
        ready = made_ready(read_whole(source, relation), columns.strong or "", columns.weak, meaning)
        ready.refuse_pool(how.estimand)
        rated = read_rated(ready, columns, fewest=2, sure_without_weak=True)
        counted = {} if strata is None else count_groups(ready.table, strata)
    how = replace(how, bounds=rated.scale if how.bounds is None else how.bounds)
    if weight is not None:
        w = rated.table.numbers(weight, missing="allow")
        refuse_row(rated.table.name, rated.rows & ~(w > 0), f"has a rate but no weight above 0 in column {weight!r}")
        return weighted(rated.items, w[rated.rows], how), rated
    if how.pool_size is None:
        rated.pool.refuse_left_out("its strata")
    names = rated.table.texts(by, missing="error" if rated.items.counts is None else "allow").astype(np.str_)
    factor = 1.0 if how.pool_size is None else number(how.pool_size, name="pool_size", minimum=1) / rated.pool.rows
    if factor < 1:
        size, rows = argument("pool_size"), rated.pool.rows
        raise InputError(Message(f"{size} is {how.pool_size:g} but the table has {rows} rows; it cannot be smaller"))
    sizes = {name: rows * factor for name, rows in counted.items()}
    return stratified(rated.items, Shares(names[rated.rows], sizes), replace(how, floor=None)), rated


def _in_files(
    relation: SqlTable | None, columns: TableColumns, by: str, how: EstimateOptions, weight: str | None
) -> tuple[RatedTable | None, dict[str, int]]:
    """The rated rows of a table that stays in its files, and all its strata; no rows where it has to be read whole.

    Weights may be of few kinds only, as a draw by strata or slices writes them.
    """
    if relation is None or by not in relation.columns or how.pool_size is not None or columns.clusters is not None:
        return None, {}
    drawn = columns.rate is not None or RATE in relation.columns
    if not drawn or len(strong_columns(relation, columns.strong or ())) > 1:
        return None, {}
    counted = count_groups(relation, by)
    rated = (
        read_in_files(relation, columns, Meaning(), how, by=by, chosen=True) if len(counted) <= _MOST_KINDS else None
    )
    if rated is not None and weight is not None:
        try:
            rated = rated if (rated.table.numbers(weight, missing="allow") > 0).all() else None
        except TableError:  # who reads the table whole says which row has a weight that is none
            rated = None
    return rated, counted


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
