"""Text columns of a table as numbers to learn from."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from textwrap import shorten
from typing import Any

import numpy as np

from ratewise.errors import InputError, TableError
from ratewise.learn.text.learner import Learner, vectors_of
from ratewise.learn.text_coding import SAMPLE, TextCoding, Vectors
from ratewise.learn.text_columns import TextColumns
from ratewise.learn.words import hashed
from ratewise.tables import Table

_ROWS = 1 << 12  # items whose vectors are in memory at once


@dataclass(frozen=True, slots=True, eq=False)
class TextReading:
    """Which columns are read, how texts become vectors, and how these become columns; the same for every table."""

    names: tuple[str, ...]
    learner: Learner
    coding: TextCoding

    def columns(self, table: Table, *, folder: Path | None = None, most: Decimal | None = None) -> TextColumns:
        """The columns of any table that has the texts."""
        return self._of(_Source.of(table, self.names, self.learner, folder, most))

    def _of(self, source: "_Source") -> TextColumns:
        """Piece by piece: vectors are longer than columns, and are never all in memory where they can be made anew."""
        out = np.empty((source.rows, self.coding.centre.size), dtype=np.float32)
        for first in range(0, source.rows, _ROWS):
            here = slice(first, first + _ROWS)
            out[here] = self.coding.columns(source.part(here))
        return TextColumns.of(out)

    def to_dict(self) -> dict[str, Any]:
        """A dictionary, ready for JSON."""
        return {"names": list(self.names), "learner": self.learner.to_dict(), "coding": self.coding.to_dict()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "TextReading":
        """The inverse of `to_dict`."""
        return cls(tuple(data["names"]), Learner(**data["learner"]), TextCoding.from_dict(data["coding"]))


def read_texts(
    table: Table,
    names: Sequence[str],
    learner: str | Learner = "words",
    *,
    folder: Path | None = None,
    most: Decimal | None = None,
) -> tuple[TextColumns, TextReading] | None:
    """The columns of a table's texts, and how another table gets the same; `None` where no text is named.

    Vectors are kept in the `folder`; embeddings that an endpoint is paid for may take `most` of money.
    """
    if not names:
        if Learner.said(learner) != Learner.said("words"):
            raise InputError("a learner needs texts to learn from; name their columns: text, or --text COLUMNS")
        return None
    if len(set(names)) < len(names):
        raise InputError(f"a text column is named twice: {', '.join(names)}")
    said = Learner.said(learner)
    source = _Source.of(table, names, said, folder, most)
    some = source.part(slice(None, None, -(-source.rows // SAMPLE)))
    if source.rows < 2 or not any(np.ptp(part, axis=0).any() for part in some):
        raise TableError(f"the texts of {table.name} are all the same ({', '.join(names)}); leave them out")
    reading = TextReading(tuple(names), said, TextCoding.of(some).rounded())
    return reading._of(source), reading


def use_note(names: Sequence[str], used: bool, labels: int) -> str:
    """Whether texts are learned from, for people."""
    said = f"texts ({', '.join(names)}): "
    if used:
        return f"{said}used, because labels are predicted better with them"
    return f"{said}not used, because the {labels:,} labels are predicted no better with them"


@dataclass(frozen=True, slots=True, eq=False)
class _Source:
    """Vectors of a table's texts: made from words when they are asked for, or held."""

    rows: int
    texts: tuple[list[str], ...]
    held: tuple[Vectors, ...]

    @classmethod
    def of(
        cls, table: Table, names: Sequence[str], learner: Learner, folder: Path | None, most: Decimal | None
    ) -> "_Source":
        if learner.kind == "vectors":
            return cls(table.rows, (), tuple(_given(table, name) for name in names))
        texts = tuple(table.texts(name, missing="allow").tolist() for name in names)
        for name, column in zip(names, texts, strict=True):
            if not any(column):
                raise TableError(f"column {name!r} of {table.name} is empty; leave it out of the texts")
        if learner.kind == "words":
            return cls(table.rows, texts, ())
        every = vectors_of([text for column in texts for text in column], learner, folder=folder, most=most)
        return cls(table.rows, (), tuple(np.split(every, len(names))))

    def part(self, rows: slice) -> list[Vectors]:
        """Vectors of some rows, one array for each column."""
        if self.held:
            return [column[rows] for column in self.held]
        return [hashed(column[rows]).astype(np.float32) for column in self.texts]


def _given(table: Table, name: str) -> Vectors:
    """A column of lists of numbers."""
    rows: list[Vectors] = []
    for i, text in enumerate(table.texts(name)):
        try:
            with np.errstate(over="ignore"):  # what is too large becomes infinite, and is told below
                row = np.array(json.loads(text), dtype=np.float32)
        except (ValueError, TypeError, RecursionError):
            row = np.empty(0, dtype=np.float32)
        if row.ndim != 1 or not row.size or not np.isfinite(row).all():
            raise TableError(
                f"column {name!r} of {table.name}, row {i + 1}: a vector is a list of numbers such as [0.1, -0.2], not "
                f"{shorten(text, 40, placeholder=' …')!r}"
            )
        if rows and row.size != rows[0].size:
            raise TableError(
                f"column {name!r} of {table.name}, row {i + 1}: the vector has {row.size:,} numbers, and that of row 1 "
                f"has {rows[0].size:,}; give all rows vectors of one model"
            )
        rows.append(row)
    return np.stack(rows)
