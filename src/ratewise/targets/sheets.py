"""Labelling in a spreadsheet: drawn rows as a sheet to fill in, and the sheet's answers as rows that fit.

A sheet is blind: it has neither the weak rating nor anything else that tells how an item was drawn, and its rows are
shuffled. Answers come back by id; whatever does not fit is refused with its row, before anything is changed.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ratewise.core.mean.draw import uniform
from ratewise.core.mean.ratings import Mask
from ratewise.core.shown import shown
from ratewise.errors import InputError, TableError
from ratewise.tables import Table, TableLike, read_table
from ratewise.tables.convert import Texts

FILL = "rating"  # the column to fill in where the plan names none
CANNOT_TELL = ("cannot tell", "?", "skip")  # what an annotator may write instead of a rating
_OF_THE_DRAW = ("rate", "selected", "weight", "weak_calibrated", "rate_new", "rate_before", "selected_before")


@dataclass(frozen=True, slots=True)
class SheetRow:
    """A row that was filled in: its number as people count, the item's id, and what was written."""

    number: int
    id: str
    written: str

    @property
    def cannot_tell(self) -> bool:
        """Whether the annotator gave up on the item."""
        return self.written.lower() in CANNOT_TELL


def blind_sheet(
    drawn: TableLike,
    *,
    seed: int,
    fill: Sequence[str] = (FILL,),
    hide: Sequence[str] = (),
    id_column: str | None = None,
) -> Table:
    """The drawn rows that have no strong rating yet, shuffled, each with an empty cell in the columns `fill`.

    `hide` names the weak rating and whatever else would tell the annotator what to expect. What a draw writes, and a
    column of the weak rating's name that ends in `_uncertainty`, are hidden as well.
    """
    table = read_table(drawn)
    if "selected" not in table.columns:
        raise TableError(f"{table.name} has no column 'selected'; draw first with `ratewise draw`")
    wanted = _to_ask(table, fill)
    if not wanted.any():
        raise InputError(f"no row of {table.name} is drawn and has no rating yet; there is nothing to ask")
    ids = table.ids(id_column)
    name = id_column or "id"
    rows = np.flatnonzero(wanted)
    rows = rows[np.argsort(uniform(ids[rows], seed=f"{seed}:sheet"), kind="stable")]
    hidden = {*_OF_THE_DRAW, *hide, *(f"{column}_uncertainty" for column in hide), *fill, name}
    shown = {column: values[rows] for column, values in table.arrays().items() if column not in hidden}
    empty = np.full(rows.size, None, dtype=object)
    return read_table({name: ids[rows], **shown, **dict.fromkeys(fill, empty)}, name="the sheet")


def _to_ask(table: Table, fill: Sequence[str]) -> Mask:
    """Drawn rows that lack a rating in one of the columns."""
    wanted = np.asarray(table.numbers("selected") != 0)
    there = [~np.isnan(table.numbers(column, missing="allow")) for column in fill if column in table.columns]
    return wanted & ~np.logical_and.reduce(there) if len(there) == len(fill) and there else wanted


# Bringing answers back


@shown
@dataclass(frozen=True, slots=True, eq=False)
class Merged:
    """The drawn table with the sheet's answers in it."""

    table: Table
    columns: tuple[str, ...]  # that were filled in
    answers: int  # brought back now
    waiting: int  # drawn rows that have no rating yet, those that nobody can tell among them
    notes: tuple[str, ...] = ()


def merge_sheet(
    drawn: TableLike,
    sheet: TableLike,
    *,
    fill: Sequence[str] = (),
    id_column: str | None = None,
    bounds: tuple[float | None, float | None] = (None, None),
) -> Merged:
    """Bring a sheet's answers back into the drawn table, by id.

    Refused, with the first offender: ids that are not in the table, ids that were not drawn, ids that are there twice,
    and ratings that are no numbers, off the scale (`bounds`) or other than those that the table has already. An empty
    cell is an answer that is not there yet. Without `fill`, the column is the one that the sheet alone has.
    """
    table, filled = read_table(drawn), read_table(sheet)
    if "selected" not in table.columns:
        raise TableError(
            f"{table.name} has no column 'selected', so it does not say who was drawn; give the table that "
            "`ratewise draw -o` wrote"
        )
    columns = tuple(fill) or (_column_to_fill(table, filled, id_column),)
    at = {item: i for i, item in enumerate(table.ids(id_column).tolist())}
    selected = table.numbers("selected") != 0
    added: dict[str, Any] = {}
    count = gave_up = 0
    for column in columns:
        values = _ratings_there(table, column)
        for row in answered_rows(filled, column, id_column=id_column):
            where = f"{filled.name}, row {row.number} (id {row.id!r})"
            i = _position(row, at, selected, where, table.name)
            if row.cannot_tell:
                gave_up += 1
                continue
            rating = _rating(row.written, bounds, where)
            if not np.isnan(values[i]) and values[i] != rating:
                raise InputError(f"{where} says {rating:g}, and {table.name} has {values[i]:g} already; keep one")
            count += 1
            values[i] = rating
        added[column] = values
    left = int(np.count_nonzero(selected & np.isnan(np.column_stack(list(added.values()))).any(axis=1)))
    notes = (f"{gave_up:,} answers say that nobody can tell; they stay empty and are counted",) if gave_up else ()
    return Merged(table.with_columns(added, replace=True), columns, count, left, notes)


def answered_rows(sheet: Table, column: str, *, id_column: str | None = None) -> list[SheetRow]:
    """Rows that were filled in; an id that is there twice and an answer without an id are refused."""
    name = id_column or "id"
    ids, written = sheet.texts(name, missing="allow"), sheet.texts(column, missing="allow")
    rows, first = [], dict[str, int]()
    cells = ((item.strip(), text.strip()) for item, text in zip(ids.tolist(), written.tolist(), strict=True))
    for number, (item, text) in enumerate(cells, start=1):
        if not item and not text:
            continue  # spreadsheets leave empty rows at the end
        if not item:
            raise InputError(f"{sheet.name}, row {number}: an answer without an id; put the id back, or clear the row")
        if first.setdefault(item, number) != number:
            raise InputError(
                f"{sheet.name}, row {number}: the id {item!r} is in row {first[item]} already; remove one of them"
            )
        if text:
            rows.append(SheetRow(number, item, text))
    return rows


def _column_to_fill(table: Table, sheet: Table, id_column: str | None) -> str:
    new = [name for name in sheet.columns if name not in table.columns and name != (id_column or "id")]
    if len(new) == 1:
        return new[0]
    if not new and sheet.columns[-1] in table.columns:
        return sheet.columns[-1]  # where the table has old labels, the sheet still ends with their column
    raise InputError(f"{sheet.name} has the columns {', '.join(new)} to bring back; name one with --strong")


def _ratings_there(table: Table, column: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    if column not in table.columns:
        return np.full(table.rows, np.nan)
    return table.numbers(column, missing="allow").copy()


def _position(row: SheetRow, at: Mapping[str, int], selected: Mask, where: str, name: str) -> int:
    i = at.get(row.id)
    if i is None:
        raise InputError(f"{where}: {name} has no such id; a spreadsheet may have changed it (007 to 7)")
    if not selected[i]:
        raise InputError(f"{where}: this item was not drawn; clear the row, and label only what the sheet asked for")
    return i


def _rating(written: str, bounds: tuple[float | None, float | None], where: str) -> float:
    word = {"true": 1.0, "false": 0.0}.get(written.lower())
    try:
        rating = float(written) if word is None else word
    except ValueError:
        rating = np.nan
    if not np.isfinite(rating):
        raise InputError(f"{where}: {written[:40]!r} is no number; write one, or 'cannot tell'")
    low, high = bounds
    if (low is not None and rating < low) or (high is not None and rating > high):
        ends = f"{'…' if low is None else f'{low:g}'} to {'…' if high is None else f'{high:g}'}"
        raise InputError(f"{where}: {rating:g} is off the scale from {ends}")
    return rating


# Files


def drawn_beside(sheet: str | os.PathLike[str]) -> str:
    """Where `draw` writes rates and draws if it is told of a sheet only."""
    path = Path(sheet)
    return str(path.with_name(f"{path.name.split('.')[0]}-drawn.parquet"))


def drawn_for(pool: str, sheet: str, *, id_column: str | None = None) -> Table:
    """The table that was drawn: the pool itself, or what `draw` wrote beside the sheet, if that is of this pool."""
    table = read_table(pool)
    beside = drawn_beside(sheet)
    if "selected" in table.columns or not os.path.exists(beside):
        return table
    drawn = read_table(beside)
    if not _same_items(table.ids(id_column), drawn.ids(id_column)):
        raise InputError(f"{beside} was not drawn from {pool}: their ids differ; give the table that was drawn")
    return drawn


def _same_items(first: Texts, second: Texts) -> bool:
    return first.size == second.size and set(first.tolist()) == set(second.tolist())


def refuse_existing(sheet: str) -> None:
    """Refuse to overwrite a sheet, which may hold answers already."""
    if os.path.exists(sheet):
        raise InputError(f"{sheet} is there already and may hold answers; choose another name, or remove it")
