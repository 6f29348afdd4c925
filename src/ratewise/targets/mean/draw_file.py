"""A plan applied to a pool from file to file: rows are read and written in batches."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ratewise.core.checks import Floats
from ratewise.core.mean.ratings import Mask
from ratewise.tables import Relation, Table, open_relation, read_table, write_batches
from ratewise.targets.mean.drawing import Drawn, decide_draw, refuse_drawn
from ratewise.targets.mean.transfer import Transfer

_ROWS = 1 << 16  # read and written at a time


def draw_file(
    pool: str | os.PathLike[str],
    transfer: Transfer,
    output: str | os.PathLike[str],
    *,
    seed: int,
    id_column: str | None = None,
    within_budget: bool = True,
) -> Drawn:
    """What `draw_transfer` gives, written to `output` as `write_table` writes it.

    Only what decides is held in memory. The table of what is returned has just the columns that were added.
    """
    relation = open_relation(pool)
    refuse_drawn(relation)
    ids = _ids(relation, id_column if id_column is not None else "id" if "id" in relation.columns else None)
    table = _deciding(relation, transfer)
    made = decide_draw(table, ids, transfer, seed=seed, within_budget=within_budget)
    write_batches(_with_added(relation, made.added), output)
    return Drawn(table=read_table(made.added, name=relation.name), **made.told)


def _ids(relation: Relation, column: str | None) -> NDArray[Any]:
    """All ids as NumPy's own text, without a Python string for each."""
    if column is None:
        return np.arange(relation.count())  # hashed as their text
    relation.check_ids(column)
    parts = [np.array(part.texts(column), dtype=np.dtypes.StringDType()) for part in relation.scan(column, rows=_ROWS)]
    return np.concatenate(parts)


def _deciding(relation: Relation, transfer: Transfer) -> Table:
    """The columns that rates hang on; at least one, to count rows by."""
    strata = () if transfer.inputs is None else (transfer.inputs.column,)
    own = () if transfer.uncertainty is None else (transfer.uncertainty,)
    features = () if transfer.models is None else transfer.models.columns
    sources = () if transfer.derived is None else transfer.derived.columns
    wanted = dict.fromkeys((transfer.weak, *own, *features, *strata, *sources))
    held = [column for column in wanted if column in relation.columns] or [relation.columns[0]]
    table = transfer.prepared(relation.table(*held))
    read = (transfer.weak, *own, *features) if transfer.policy == "active" or transfer.weak in table.columns else ()
    for column in (*read, *strata):
        if column not in table.columns:
            relation.table(column)  # says what columns there are
    return table


def _with_added(relation: Relation, added: Mapping[str, Floats | Mask]) -> Iterator[Table]:
    first = 0
    for rows in relation.scan(rows=_ROWS):
        end = first + rows.rows
        yield replace(rows, name=relation.name).with_columns({name: x[first:end] for name, x in added.items()})
        first = end
