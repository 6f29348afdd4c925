"""Several files of one tool as one table: the rows of one below those of the other, and which file each is from."""

import os
from collections import Counter
from collections.abc import Sequence

import numpy as np

from ratewise.tables.adapters.imported import Became, Imported, text
from ratewise.tables.engine import one_line
from ratewise.tables.frames import table_from_mapping
from ratewise.tables.held import Array

FILE = "file"
"""The column that says which file a row is from."""


def joined(parts: Sequence[Imported], files: Sequence[str], name: str) -> Imported:
    """The rows of all files; where they have an id in common, every id has its file's name before it."""
    if len(parts) == 1:
        return parts[0]
    arrays = [part.table.arrays() for part in parts]
    told = {each.column: each for part in reversed(parts) for each in part.became}
    order = list(dict.fromkeys(column for part in parts for column in part.table.columns))
    columns = {column: _one_below_the_other([each.get(column) for each in arrays], parts) for column in order}
    stems = _stems(files)
    from_file = np.repeat(np.array(stems, dtype=object), [part.table.rows for part in parts])
    notes = [note for part in parts for note in part.notes]
    for column in (column for column in order if column in told and told[column].role == "id"):
        if len(set(columns[column].tolist())) < columns[column].size:
            pairs = zip(from_file.tolist(), columns[column].tolist(), strict=True)
            columns[column] = np.array([f"{file}:{id}" for file, id in pairs], dtype=object)
            notes.append("files have ids in common: each is now its file's name, a colon and the id")
    if FILE not in columns:
        columns[FILE] = from_file
        told[FILE] = Became(FILE, "more", "the name of the file")
    became = tuple(told[column] for column in columns if column in told)
    return Imported(table_from_mapping(columns, name=name), parts[0].tool, became, tuple(dict.fromkeys(notes)))


def _stems(files: Sequence[str]) -> list[str]:
    """The files' names without their endings; with their folders where two are alike."""
    stems = [os.path.splitext(os.path.basename(file).removesuffix(".gz"))[0] for file in files]
    if max(Counter(stems).values()) > 1:
        stems = [os.path.splitext(file.removesuffix(".gz"))[0] for file in files]
    return [one_line(stem) for stem in stems]


def _one_below_the_other(values: Sequence[Array | None], parts: Sequence[Imported]) -> Array:
    """A column of all files: numbers if all of them are, else text; nothing where a file has no such column."""
    pairs = list(zip(values, (part.table.rows for part in parts), strict=True))
    if all(each is None or each.dtype.kind in "biuf" for each in values):
        return np.concatenate([np.full(rows, np.nan) if each is None else each for each, rows in pairs])
    return np.concatenate([np.full(rows, None) if each is None else _texts(each) for each, rows in pairs])


def _texts(values: Array) -> Array:
    """Texts as they are, numbers as text; NaN is missing."""
    return np.array([None if x is None or x != x else text(x) for x in values.tolist()], dtype=object)  # noqa: PLR0124
