"""What an adapter hands back: a flat table, and what became which of its columns; and how it is put together."""

import json
import math
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np

from ratewise.errors import TableError
from ratewise.tables.adapters.source import Source
from ratewise.tables.cells import Array
from ratewise.tables.engine import no_rows, one_line, shortened
from ratewise.tables.table import Table, table_from_mapping

Role: TypeAlias = Literal[
    "id", "prompt", "answer", "target", "system", "judge score", "human score", "epoch", "cluster", "input", "more"
]
Row: TypeAlias = dict[str, Any]

MOST_PATHS = 100
"""The most keys of an object that become columns; one with more is data, such as a map by id."""

_NUMBERS = frozenset(("judge score", "human score", "epoch"))


@dataclass(frozen=True, slots=True)
class Became:
    """One column of the table, what it is, and where the file has it.

    `source` is for readers; it is also the path of the value in an object of the file, such as response.output, unless
    `value` says how it is found.
    """

    column: str
    role: Role
    source: str
    value: Callable[[Mapping[str, Any]], Any] | None = field(default=None, repr=False, compare=False)

    def of(self, found: Mapping[str, Any]) -> Any:
        """The cell of an object: nested values as JSON."""
        cell = at(found, self.source) if self.value is None else self.value(found)
        return shown(cell) if self.role not in _NUMBERS and isinstance(cell, dict | list | bool) else cell


@dataclass(frozen=True, slots=True, eq=False)
class Imported:
    """The table of another tool's file."""

    table: Table
    tool: str
    became: tuple[Became, ...]
    notes: tuple[str, ...] = ()


class TableBuilder:
    """The table of one file in the making: its rows, its format's columns, and those that the rows turn out to have."""

    def __init__(self, source: Source, tool: str, columns: Sequence[Became], last: Sequence[Became] = ()) -> None:
        self.source, self.tool, self.columns, self.last = source, tool, columns, last
        self.scores: dict[str, Became] = {}
        self.others: dict[str, Became] = {}
        self.rows: dict[Any, Row] = {}
        self.notes: list[str] = []

    def objects(self, rows: Iterable[tuple[int, Any]], what: str, *needed: str) -> Iterator[dict[str, Any]]:
        """Rows of the file that are objects with all keys that are needed; anything else is damage."""
        for self.source.row, value in rows:
            if not isinstance(value, dict) or not value.keys() >= set(needed):
                raise damaged(self.source, self.source.row, what)
            yield value

    def row(self, value: Mapping[str, Any], key: Any = None) -> Row:
        """The row of a key; a new one, with the cells of the format's columns, if there is none or no key."""
        key = len(self.rows) if key is None else key
        if key not in self.rows:
            self.rows[key] = {each.column: each.of(value) for each in (*self.columns, *self.last)}
        return self.rows[key]

    def score(self, row: Row, name: str, value: Any, source: str | None = None, role: Role = "judge score") -> None:
        """Set a score, in a column whose name is no other column's."""
        row[self.score_column(name, source or name, role)] = value

    def score_column(self, name: str, source: str, role: Role) -> str:
        """The column of a score."""
        column = f"{name} score" if any(name == each.column for each in (*self.columns, *self.last)) else name
        self.scores.setdefault(column, Became(column, role, source))
        return column

    def inside(self, row: Row, name: str, value: Any, role: Role = "more") -> None:
        """Set the values in an object, each in a column named by its path."""
        found = _by_path(name, value or None)
        self.others |= {path: Became(path, role, path) for path in found if path not in self.others}
        row |= found

    def note(self, count: int, words: str) -> None:
        """Note how many of something there are, if any."""
        if count:
            self.notes.append(f"{count} {words}")

    def imported(self) -> Imported:
        """The table; a column without any value is left out.

        Scores are numbers, NaN where there is none; where a score is a word, its column holds words.
        """
        rows = list(self.rows.values())
        if not rows:
            raise no_rows(self.source.name)
        told = (*self.columns, *self.scores.values(), *self.others.values(), *self.last)
        kept = [each for each in told if each.role == "id" or any(there(row.get(each.column)) for row in rows)]
        columns = {each.column: _cells([row.get(each.column) for row in rows], each.role) for each in kept}
        for each in kept:
            if each.role == "id":
                ((most, times),) = Counter(row.get(each.column) for row in rows).most_common(1)
                if times > 1:
                    raise TableError(
                        f"{self.source.name} has {times} rows with the id {shortened(str(most))}: it was written twice "
                        "or appended to; give a file of one run"
                    )
        return Imported(table_from_mapping(columns, name=self.source.name), self.tool, tuple(kept), tuple(self.notes))


def at(value: Any, path: str) -> Any:
    """What lies at a path of nested objects, such as response.output; None where there is nothing."""
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def mapping(value: Any) -> dict[str, Any]:
    """An object as it is; of anything else an empty one."""
    return value if isinstance(value, dict) else {}


def number(value: Any) -> float | None:
    """A finite number, NaN for none, or None where the value is no number at all."""
    if value is None:
        return math.nan
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else math.nan


def text(value: Any) -> str | None:
    """A text that can be written anywhere: half a character, as JSON may hold it, is a question mark."""
    return None if value is None else str(value).encode("utf-8", "replace").decode("utf-8")


def shown(value: Any) -> str | None:
    """A text as it is, anything else as JSON."""
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def snake(name: str) -> str:
    """`traceId` as `trace_id`, and `Data Type` as `data_type`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).replace(" ", "_").lower()


def damaged(source: Source, row: int, what: str) -> TableError:
    """The complaint about a row that the tool would not have written."""
    return TableError(f"row {row} of {source.name} is no {what}; export the file once more")


def _by_path(name: str, value: Any) -> Row:
    """An object's values by their paths, such as metadata.topic; of anything else itself, lists as JSON."""
    if not isinstance(value, dict) or not 0 < len(value) <= MOST_PATHS:
        return {} if value is None else {name: shown(value)}
    return {path: found for key, inside in value.items() for path, found in _by_path(f"{name}.{key}", inside).items()}


def there(value: Any) -> bool:
    """Whether a value is neither None nor NaN."""
    return value is not None and not (isinstance(value, float) and math.isnan(value))


def _cells(values: list[Any], role: Role) -> Array:
    if role in _NUMBERS:
        numbers = [number(value) for value in values]
        if None not in numbers:
            array = np.array(numbers, dtype=np.float64)
            return array.astype(np.int64) if role == "epoch" and not np.isnan(array).any() else array
        values = [value if there(value) else None for value in values]
    return np.array([text(value) for value in values], dtype=object)


# Several files of one tool as one table


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
    stems = [os.path.splitext(file.removesuffix(".gz"))[0] for file in files]
    short = [os.path.basename(stem) for stem in stems]
    stems = [one_line(stem) for stem in (short if len(set(short)) == len(short) else stems)]
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


def _one_below_the_other(values: Sequence[Array | None], parts: Sequence[Imported]) -> Array:
    """A column of all files: numbers if all of them are, else text; nothing where a file has no such column."""
    pairs = list(zip(values, (part.table.rows for part in parts), strict=True))
    if all(each is None or each.dtype.kind in "biuf" for each in values):
        return np.concatenate([np.full(rows, np.nan) if each is None else each for each, rows in pairs])
    return np.concatenate([np.full(rows, None) if each is None else _texts(each) for each, rows in pairs])


def _texts(values: Array) -> Array:
    """Texts as they are, numbers as text; NaN is missing."""
    return np.array([None if x is None or x != x else text(x) for x in values.tolist()], dtype=object)  # noqa: PLR0124
