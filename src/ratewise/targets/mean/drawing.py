"""A plan applied to a pool: every item's rate, and who gets the strong rating."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ratewise.core.checks import Floats
from ratewise.core.mean.draw import draw, uniform
from ratewise.core.mean.ratings import Mask
from ratewise.errors import TableError
from ratewise.tables import Relation, Table, TableLike, open_relation, read_table, write_batches
from ratewise.targets.mean.input_draw import choose_items
from ratewise.targets.mean.transfer import Drift, Transfer

_ROWS = 1 << 16  # read and written at a time
_OVER = 1.01  # how far above the budget the expected spend may be before it is said


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """The pool with `rate` and `selected` added (and `weak_calibrated`, where the plan calibrates; `weight`, where
    it chooses the items by strata)."""

    table: Table
    rates: Floats  # NaN for items that are not looked at
    selected: Mask
    drift: Drift | None  # None where the pool has no weak ratings to compare, and needs none
    expected_spend: float  # before anyone is asked: weak ratings of the items looked at, and strong ones at their rates
    spend: float  # the same for the items that were in fact selected
    notes: tuple[str, ...]


def draw_pool(
    pool: TableLike,
    transfer: Transfer,
    *,
    seed: int,
    id_column: str | None = None,
    within_budget: bool = False,
) -> Drawn:
    """Give every item its rate and draw, by hash of the seed and the item's id.

    With `within_budget`, only as many items are looked at as the plan foresees (chosen by another hash), and the
    rest get no rate; without it all are, and a note says so where that is expected to cost more than the budget. A plan
    by strata says itself how many of each are looked at; `weight` is what each of those counts, 1 on average.
    """
    table = read_table(pool)
    _refuse_drawn(table)
    made = _decide(table, table.ids(id_column), transfer, seed=seed, within_budget=within_budget)
    return Drawn(table.with_columns(made.added), **made.told)


def draw_file(
    pool: str | os.PathLike[str],
    transfer: Transfer,
    output: str | os.PathLike[str],
    *,
    seed: int,
    id_column: str | None = None,
    within_budget: bool = False,
) -> Drawn:
    """The same from file to file: rows are read and written in batches, and only what decides is held in memory.

    `output` is as `write_table` takes it. The table of what is returned has the columns that were added.
    """
    relation = open_relation(pool)
    _refuse_drawn(relation)
    keys = id_column if id_column is not None else "id" if "id" in relation.columns else None
    ids = _ids(relation, keys)
    table = relation.table(*_deciding(relation, transfer))
    made = _decide(table, ids, transfer, seed=seed, within_budget=within_budget)
    write_batches(_with_added(relation, made.added), output)
    return Drawn(read_table(made.added, name=relation.name), **made.told)


def _refuse_drawn(pool: Table | Relation) -> None:
    drawn_before = [name for name in ("rate", "selected") if name in pool.columns]
    if drawn_before:
        raise TableError(
            f"{pool.name} has a column {drawn_before[0]!r} already: it was drawn before; take the pool as it was then"
        )


def _ids(relation: Relation, column: str | None) -> NDArray[Any]:
    """All ids as NumPy's own text, without a Python string for each."""
    if column is None:
        return np.arange(relation.count())  # hashed as their text
    relation.check_ids(column)
    parts = [np.array(part.texts(column), dtype=np.dtypes.StringDType()) for part in relation.scan(column, rows=_ROWS)]
    return np.concatenate(parts)


def _deciding(relation: Relation, transfer: Transfer) -> list[str]:
    """Columns that rates hang on; at least one, to count rows by."""
    wanted = [transfer.weak, transfer.uncertainty, None if transfer.inputs is None else transfer.inputs.column]
    wanted += [] if transfer.models is None else [coding.name for coding in transfer.models.features]
    if not _needs_weak(transfer, relation):
        wanted = wanted[2:3]
    return list(dict.fromkeys(column for column in wanted if column is not None)) or [relation.columns[0]]


def _with_added(relation: Relation, added: Mapping[str, Floats | Mask]) -> Iterator[Table]:
    first = 0
    for rows in relation.scan(rows=_ROWS):
        end = first + rows.rows
        yield replace(rows, name=relation.name).with_columns({name: x[first:end] for name, x in added.items()})
        first = end


def _needs_weak(transfer: Transfer, pool: Table | Relation) -> bool:
    return transfer.policy == "active" or transfer.weak in pool.columns


@dataclass(frozen=True, slots=True, eq=False)
class _Made:
    """Columns to add to a pool, and what is to be told of them."""

    added: dict[str, Floats | Mask]
    told: dict[str, Any]


def _decide(table: Table, ids: NDArray[Any], transfer: Transfer, *, seed: int, within_budget: bool) -> _Made:
    needed = _needs_weak(transfer, table)
    weak, error = transfer.columns(table) if needed else (np.zeros(table.rows), np.zeros(table.rows))
    rates = transfer.rates(error)
    looked = np.ones(table.rows, dtype=np.bool_)
    chosen = None if transfer.inputs is None else choose_items(table, transfer.inputs, error, ids, seed=seed)
    if chosen is not None:
        looked, rates = chosen.looked, chosen.rates
    elif within_budget and transfer.policy != "base" and transfer.items < table.rows:
        looked = first_items(ids, int(transfer.items), seed)
        rates = np.where(looked, rates, np.nan)
    selected = draw(np.where(looked, rates, 0.0), ids, seed=seed) & looked
    added: dict[str, Floats | Mask] = {"rate": rates, "selected": selected}
    if chosen is not None:
        added["weight"] = chosen.weights
    if transfer.calibrates and needed:
        added["weak_calibrated"] = weak
    drift = transfer.drift(weak, error) if needed else None
    buys_weak = looked & (transfer.policy != "base") if chosen is None else chosen.buys_weak
    weak_spend = transfer.weak_cost * np.count_nonzero(buys_weak)
    expected = float(weak_spend + transfer.strong_cost * np.nansum(rates))
    spend = float(weak_spend + transfer.strong_cost * np.count_nonzero(selected))
    notes = () if chosen is None else chosen.notes
    notes += _notes(transfer, drift, expected, spend, int(np.count_nonzero(looked)))
    told = {
        "rates": rates, "selected": selected, "drift": drift, "expected_spend": expected, "spend": spend, "notes": notes
    }  # fmt: skip
    return _Made(added, told)


def first_items(ids: NDArray[Any], count: int, seed: int) -> Mask:
    """As many items as said, by a hash of the seed and the item that has nothing to do with the draw."""
    order = np.argpartition(uniform(ids, seed=f"{seed}:look"), min(count, ids.size) - 1)[:count]
    looked = np.zeros(ids.size, dtype=np.bool_)
    looked[order] = True
    return looked


def _notes(transfer: Transfer, drift: Drift | None, expected: float, spend: float, rows: int) -> tuple[str, ...]:
    notes = [drift.summary()] if drift is not None and drift.drifted else []
    budget = transfer.budget
    if transfer.inputs is None and budget is not None and expected > _OVER * budget and rows > transfer.items + 1:
        again = "" if transfer.pool_size == rows else f"plan again with --pool-size {rows}, or "
        notes.append(
            f"rating all {rows:,} items is expected to cost {expected:,.2f}, more than the budget of {budget:,.2f}: "
            f"{again}draw with --within-budget"
        )
    elif budget is not None and spend > budget:
        notes.append(
            f"by chance this draw costs {spend:,.2f}, more than the budget of {budget:,.2f}; where that may not be, "
            "plan with a somewhat smaller one"
        )
    return tuple(notes)
