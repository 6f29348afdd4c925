"""Labelling in a spreadsheet: drawn rows as a sheet to fill in, and the sheet's answers as rows that fit.

A sheet is blind: it has neither the weak rating nor anything else that tells how an item was drawn, and its rows are
shuffled. Answers come back by id; whatever does not fit is refused with its row, before anything is changed.
"""

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ratewise.core.draw import uniform
from ratewise.core.result import Result
from ratewise.errors import InputError, Message, TableError, argument
from ratewise.questions.rated import POOL_SIZE, SELECTED, large_relation
from ratewise.tables import Relation, Table, TableLike, read_table
from ratewise.tables.blind import seen
from ratewise.tables.cells import Array
from ratewise.tables.engine import quoted_text
from ratewise.tables.relation import Piece, check_place, pieces_of, write_pieces
from ratewise.tables.table import no_column
from ratewise.tables.words import Meaning, Positive, Scale, in_numbers, meaning_of, number_in
from ratewise.tables.write import plain_cells, plain_text, safe_cells

FILL = "rating"  # the column to fill in where the plan names none
CANNOT_TELL = ("cannot tell", "?", "skip")  # what an annotator may write instead of a rating
OF_THE_DRAW = ("rate", "selected", POOL_SIZE, "weight", "weak_calibrated", "rate_new", "rate_before", "selected_before")
"""Columns that a draw writes."""


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
    show: Sequence[str] = (),
    id_column: str | None = None,
) -> Table:
    """The drawn rows that have no strong rating yet, shuffled, each with an empty cell in the columns `fill`.

    `hide` names the weak rating and whatever else would tell the annotator what to expect. What a draw writes, and
    columns whose names say that somebody rated or which system wrote a text, are hidden as well; `show` names the only
    columns that are shown. Texts that a spreadsheet would run as formulas get an apostrophe before them, which
    `merge_sheet` takes away again.
    """
    table = read_table(drawn)
    unknown = next((column for column in show if column not in table.columns), None)
    if unknown is not None:
        raise no_column(table.name, unknown, table.columns)
    if SELECTED not in table.columns:
        raise TableError(f"{table.name} has no column 'selected'; draw first with `ratewise draw`")
    wanted = np.asarray(table.numbers(SELECTED) != 0)
    there = [table.texts(column, missing="allow") != "" for column in fill if column in table.columns]
    if there and len(there) == len(fill):
        wanted &= ~np.logical_and.reduce(there)
    if not wanted.any():
        raise InputError(f"no row of {table.name} is drawn and has no rating yet; there is nothing to ask")
    ids = table.ids(id_column)
    name = id_column or "id"
    rows = np.flatnonzero(wanted)
    rows = rows[np.argsort(uniform(ids[rows], seed=f"{seed}:sheet"), kind="stable")]
    own = {*OF_THE_DRAW, *fill, name}
    hidden = {*own, *hide, *(f"{column}_by_hand" for column in fill)}  # labels that were not drawn
    arrays = table.arrays()
    shown = {column: arrays[column][rows] for column in (show or seen(arrays, hidden=hidden)) if column not in own}
    empty = np.full(rows.size, None, dtype=object)
    return safe_cells(read_table({name: ids[rows], **shown, **dict.fromkeys(fill, empty)}, name="the sheet"))


# Bringing answers back


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Merged(Result):
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
    positive: Positive = None,
    scale: Scale = None,
) -> Merged:
    """Bring a sheet's answers back into the drawn table, by id.

    Refused, with the first offender: ids that are not in the table, ids that were not drawn, ids that are there twice,
    and ratings that are neither numbers nor words that were explained, off the scale (`bounds`) or other than those
    that the table has already. An empty cell is an answer that is not there yet. Words are kept as they were written;
    `positive` and `scale` say what they mean, as for `estimate_table`. Without `fill`, the column is the one that the
    sheet alone has.
    """
    meaning = meaning_of(positive, scale)
    return _merged(read_table(drawn), plain_cells(read_table(sheet)), fill, id_column, meaning, bounds)


def _merged(
    table: Table, sheet: Table, fill: Sequence[str], id_column: str | None, meaning: Meaning,
    bounds: tuple[float | None, float | None], others: Callable[[str], bool] = lambda _: False,
) -> Merged:  # fmt: skip
    """The table with the sheet's answers; `others` tells whether an id is that of a row which is not in this part."""
    if SELECTED not in table.columns:
        raise TableError(
            f"{table.name} has no column 'selected', so it does not say who was drawn; give the table that "
            "`ratewise draw -o` wrote"
        )
    columns = tuple(fill) or (column_to_fill(table, sheet, id_column),)
    ids, selected = table.ids(id_column).tolist(), np.asarray(table.numbers(SELECTED) != 0)
    # a table that was drawn with --safe-cells has the apostrophes in its own ids
    at = {plain_text(item): i for i, item in enumerate(ids)} | {item: i for i, item in enumerate(ids)}
    filled, answers, gave_up = dict[str, Any](), 0, 0
    for column in columns:
        there = column in table.columns
        cells = table.texts(column, missing="allow").tolist() if there else [""] * table.rows
        for row in answered_rows(sheet, column, id_column=id_column):
            where, i = f"{sheet.name}, row {row.number} (id {row.id!r})", at.get(row.id)
            if i is None and not others(row.id):
                raise InputError(f"{where}: {table.name} has no such id; a spreadsheet may have changed it (007 to 7)")
            if i is None or not selected[i]:
                asked = "clear the row, and label only what the sheet asked for"
                raise InputError(f"{where}: this item was not drawn; {asked}")
            if row.cannot_tell:
                gave_up += 1
                continue
            rating = _legal(row.written, meaning, bounds, where)
            if cells[i] and number_in(cells[i], meaning) != rating:
                told = f"{where} says {_short(row.written)}, and {table.name} has {_short(cells[i])} already"
                raise InputError(f"{told}; keep one")
            answers += 1
            cells[i] = cells[i] or row.written
        filled[column] = _numbers_or_texts(cells)
    merged = table.with_columns(filled, replace=True)
    merged_numbers, notes = in_numbers(merged, strong=columns, meaning=meaning)  # words that go together
    empty = [np.isnan(merged_numbers.numbers(column, missing="allow")) for column in columns]
    left = int(np.count_nonzero(selected & np.logical_or.reduce(empty)))
    if gave_up:
        notes += (f"answers that say that nobody can tell: {gave_up:,}; they stay empty and are counted",)
    return Merged(merged, columns, answers, left, notes)


def _legal(written: str, meaning: Meaning, bounds: tuple[float | None, float | None], where: str) -> float:
    """The number that was written, or that the word stands for: one that was explained, within the bounds."""
    rating = number_in(written, meaning)
    if rating is None and meaning.scale:
        words = ", ".join(word for word, _ in meaning.scale)
        raise InputError(f"{where}: {written[:40]!r} is not on the scale; write one of {words}, or 'cannot tell'")
    if rating is None:
        todo = f"say what the words mean with {argument('positive')} or {argument('scale')}"
        raise InputError(Message(f"{where}: {written[:40]!r} is no number; write one, or 'cannot tell', or {todo}"))
    low, high = (-math.inf if bounds[0] is None else bounds[0], math.inf if bounds[1] is None else bounds[1])
    if not low <= rating <= high:
        ends = " to ".join("…" if end is None else f"{end:g}" for end in bounds)
        raise InputError(f"{where}: {rating:g} is off the scale from {ends}")
    return rating


def _short(cell: str) -> str:
    """A word as it is, a number without needless zeros."""
    number = number_in(cell, Meaning())
    return cell[:40] if number is None or cell.isalpha() else f"{number:g}"


def _numbers_or_texts(cells: list[str]) -> Any:
    try:
        return np.array([float(cell) if cell else np.nan for cell in cells])
    except ValueError:
        return np.array([cell or None for cell in cells], dtype=object)


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


def column_to_fill(table: Table, sheet: Table, id_column: str | None) -> str:
    """The column of answers: the one that the sheet alone has."""
    new = [name for name in sheet.columns if name not in table.columns and name != (id_column or "id")]
    if len(new) == 1:
        return new[0]
    if not new and sheet.columns[-1] in table.columns:
        return sheet.columns[-1]  # where the table has old labels, the sheet still ends with their column
    raise InputError(f"{sheet.name} has the columns {', '.join(new)} to bring back; name one with --strong")


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
    if sorted(table.ids(id_column)) != sorted(drawn.ids(id_column)):
        raise InputError(f"{beside} was not drawn from {pool}: their ids differ; give the table that was drawn")
    return drawn


def refuse_existing(sheet: str) -> None:
    """Refuse to overwrite a sheet, which may hold answers already."""
    if os.path.exists(sheet):
        raise InputError(f"{sheet} is there already and may hold answers; choose another name, or remove it")


def merge_files(
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
    relation, name = large_relation(drawn), id_column or "id"
    if not isinstance(relation, Relation) or not {SELECTED, name} <= set(relation.columns):
        return None
    check_place(output)
    some, filled = relation.where(SELECTED), plain_cells(read_table(sheet))
    columns = tuple(fill) or (column_to_fill(some, filled, id_column),)
    if set(columns) & set(relation.columns):
        return None
    source, id_sql = relation.source_in_sql(), relation.text_in_sql(name)

    def others(item: str) -> bool:
        found = relation.ask(f"SELECT count(*) AS n FROM {source} WHERE {id_sql} = {quoted_text(item)}")
        return bool(found["n"][0])

    merged = _merged(some, filled, columns, id_column, meaning_of(positive, scale), bounds, others)
    selected = relation.number_in_sql(SELECTED)
    assert selected is not None
    rows = relation.ask(f"SELECT row AS r FROM {source} WHERE {selected.sql} <> 0 ORDER BY r")["r"].astype(np.int64)
    arrays = merged.table.arrays()
    answers = {name: arrays[name].astype(float if arrays[name].dtype.kind in "fiu" else object) for name in columns}

    def of_piece(piece: Piece) -> dict[str, Array]:
        """The answers of a piece; empty where nothing was asked."""
        first, stop = np.searchsorted(rows, [piece.first, piece.first + piece.size])
        added: dict[str, Array] = {}
        for name, values in answers.items():
            added[name] = np.full(piece.size, np.nan if values.dtype.kind == "f" else None, dtype=values.dtype)
            added[name][rows[first:stop] - piece.first] = values[first:stop]
        return added

    write_pieces(pieces_of(relation), of_piece, output)
    return merged
