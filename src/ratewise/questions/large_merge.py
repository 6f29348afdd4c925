"""A sheet's answers brought back into a drawn table that is too large to hold: only rows that were drawn are loaded."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ratewise.errors import InputError
from ratewise.questions.large import large_relation
from ratewise.questions.sheets import Merged, SheetRow, answered_rows, column_to_fill, merge_sheet, not_drawn
from ratewise.tables import Relation, Table, TableLike, read_table
from ratewise.tables.cells import Array
from ratewise.tables.engine import quoted_text
from ratewise.tables.pieces import Piece, check_place, write_pieces
from ratewise.tables.words import Positive, Scale
from ratewise.tables.write import plain_cells, plain_text

_SELECTED = "selected"


def merge_large(
    drawn: TableLike,
    sheet: TableLike,
    output: str,
    *,
    fill: Sequence[str] = (),
    id_column: str | None = None,
    bounds: tuple[float | None, float | None] = (None, None),
    positive: Positive = None,
    scale: Scale = None,
) -> Merged | None:
    """`merge_sheet` of a table that stays in its files, written piece by piece; its `table` has the drawn rows alone.

    Nothing where it has to be read whole: it is small, does not say who was drawn, or has such a column already.
    """
    relation = large_relation(drawn)
    if relation is None or not relation.in_files or _SELECTED not in relation.columns:
        return None
    check_place(output)
    some, filled = relation.where(_SELECTED), plain_cells(read_table(sheet))
    columns = tuple(fill) or (column_to_fill(some, filled, id_column),)
    if set(columns) & set(relation.columns) or (id_column or "id") not in relation.columns:
        return None
    for column in columns:
        _refuse_not_drawn(relation, some, answered_rows(filled, column, id_column=id_column), filled.name, id_column)
    merged = merge_sheet(
        some, filled, fill=columns, id_column=id_column, bounds=bounds, positive=positive, scale=scale
    )  # fmt: skip
    answers = _Answers(_rows(relation), {name: _cells(merged, name) for name in columns})
    write_pieces(relation.pieces(), answers.of, output)
    return merged


@dataclass(frozen=True, slots=True, eq=False)
class _Answers:
    """The columns that come back, by the numbers of the rows that were drawn."""

    rows: NDArray[np.int64]
    columns: Mapping[str, Array]

    def of(self, piece: Piece) -> dict[str, Array]:
        """The columns of a piece; empty where nothing was asked."""
        first, stop = np.searchsorted(self.rows, [piece.first, piece.first + piece.size])
        at, out = self.rows[first:stop] - piece.first, {}
        for name, values in self.columns.items():
            empty: Any = np.nan if values.dtype.kind == "f" else None
            out[name] = np.full(piece.size, empty, dtype=values.dtype)
            out[name][at] = values[first:stop]
        return out


def _rows(relation: Relation) -> NDArray[np.int64]:
    numbers = relation.numbers_in_sql([_SELECTED])
    assert numbers is not None, "`where` has read the column"
    found = relation.ask(f"SELECT row AS r FROM {relation.source_in_sql()} WHERE {numbers[_SELECTED]} <> 0 ORDER BY r")
    return np.asarray(found["r"], dtype=np.int64)


def _cells(merged: Merged, column: str) -> Array:
    """The column as it is written: numbers, or texts."""
    values: Array = merged.table.arrays()[column]
    return values.astype(np.float64) if values.dtype.kind in "fiu" else values.astype(object)


def _refuse_not_drawn(
    relation: Relation, some: Table, rows: Sequence[SheetRow], sheet: str, id_column: str | None
) -> None:
    """An id that is in the table but was not drawn is told apart from one that is in neither."""
    drawn = {plain_text(item) for item in some.ids(id_column).tolist()} | set(some.ids(id_column).tolist())
    strange = next((row for row in rows if row.id not in drawn), None)
    if strange is None:
        return
    is_it = f"{relation.text_in_sql(id_column or 'id')} = {quoted_text(strange.id)}"
    if int(relation.ask(f"SELECT count(*) AS n FROM {relation.source_in_sql()} WHERE {is_it}")["n"][0]):
        raise InputError(not_drawn(f"{sheet}, row {strange.number} (id {strange.id!r})"))
