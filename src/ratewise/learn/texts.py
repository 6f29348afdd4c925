"""Texts as numbers: one matrix for all items of a table, held once, and the rows of it that some items are.

A campaign or a simulation hands items on all the time: looked at, labelled, drawn anew. Hundreds of columns would be
copied each time, so only row numbers are.
"""

import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from itertools import combinations, pairwise
from pathlib import Path
from textwrap import shorten
from typing import Any

import numpy as np

from ratewise.core.checks import Floats
from ratewise.core.result import JsonRecord
from ratewise.errors import InputError, TableError
from ratewise.learn.covariates import TextColumns, packed, unpacked
from ratewise.learn.embeddings import Learner, Vault, Vectors
from ratewise.tables import Table

MOST_COLUMNS = 400  # in all: a plan is made again after every round, and more would slow it down for little
SAMPLE = 5000  # items that directions and scales are taken from
_LEAST_SHARE = 1e-6  # of the variance: directions below it are rounding


@dataclass(frozen=True, slots=True, eq=False)
class TextCoding:
    """From vectors to columns: directions of the vectors, then the columns' centre and scale."""

    mean: Floats
    turn: Floats  # numbers of a vector × directions kept
    centre: Floats
    scale: Floats

    @classmethod
    def of(cls, vectors: Sequence[Vectors]) -> "TextCoding":
        """Learned from some texts of a table, without a look at ratings; one array of vectors for each text column."""
        some = [part.astype(np.float64) for part in vectors]
        every = np.concatenate(some)
        mean = every.mean(axis=0)
        spread = (every - mean).T @ (every - mean) / every.shape[0]
        values, turn = np.linalg.eigh(spread)
        room = max(MOST_COLUMNS // blocks(len(vectors)), 1)
        kept = int(np.count_nonzero(values > _LEAST_SHARE * max(float(values[-1]), 1e-300)))
        turn = turn[:, ::-1][:, : max(min(room, kept), 1)]
        raw = _columns([(part - mean) @ turn for part in some])
        centre = [block.mean(axis=0) for block in raw]
        length = [float(np.mean(np.sum((block - c) ** 2, axis=1))) for block, c in zip(raw, centre, strict=True)]
        size = [
            np.full(c.size, 1.0 / np.sqrt(x * len(raw)) if x > 0 else 0.0) for c, x in zip(centre, length, strict=True)
        ]
        return cls(mean, turn, np.concatenate(centre), np.concatenate(size))

    def columns(self, vectors: Sequence[Vectors]) -> Vectors:
        turned = [(part.astype(np.float64) - self.mean) @ self.turn for part in vectors]
        made = (np.concatenate(_columns(turned), axis=1) - self.centre) * self.scale
        return made.astype(np.float32)

    def to_dict(self) -> dict[str, Any]:
        """Numbers in half precision, as text: enough to give the same rates to three digits, and small in a file."""
        arrays = {name: getattr(self, name) for name in self.__slots__}
        return {name: packed(array, "<f4" if array.ndim == 1 else "<f2") for name, array in arrays.items()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "TextCoding":
        return cls(**{name: unpacked(data[name]).astype(np.float64) for name in cls.__slots__})

    def rounded(self) -> "TextCoding":
        """The coding as a file would give it back: models that are saved with it must be fitted to its columns."""
        return TextCoding.from_dict(self.to_dict())


def blocks(texts: int) -> int:
    """Blocks of columns: one for each text, and two for every pair."""
    return texts + texts * (texts - 1)


def _columns(vectors: Sequence[Floats]) -> list[Floats]:
    pairs = [part for a, b in combinations(vectors, 2) for part in (a * b, np.abs(a - b))]
    return [*vectors, *pairs]


BUCKETS = 1024
_TOKEN = re.compile(r"\w+|[^\w\s]")
_PARTS = (3, 4)  # letters
_MOST = 2000  # words of a text that are looked at


def grams(text: str) -> Iterator[str]:
    """Words, neighbouring pairs of them, and parts of each, so that related words share something."""
    words = _TOKEN.findall(text.lower())[:_MOST]
    yield from words
    yield from (f"{a} {b}" for a, b in pairwise(words))
    for word in words:
        whole = f"<{word}>"
        for n in _PARTS:
            yield from ("#" + whole[i : i + n] for i in range(len(whole) - n + 1))


def hashed(texts: Iterable[str]) -> Floats:
    """Texts × buckets: log(1 + count) of what falls into each, rows of length 1. The same on every machine."""
    bucket = cache(lambda gram: zlib.crc32(gram.encode("utf-8", "replace")) % BUCKETS)
    rows = []
    for text in texts:
        places = [bucket(gram) for gram in grams(text)]
        row = np.log1p(np.bincount(places, minlength=BUCKETS).astype(np.float64)) if places else np.zeros(BUCKETS)
        rows.append(row / max(float(np.sqrt(row @ row)), 1e-12))
    return np.array(rows).reshape(-1, BUCKETS)


_ROWS = 1 << 12  # items whose vectors are in memory at once
_Vectors = Callable[[slice], list[Vectors]]  # of some rows of a table, an array for each text column


@dataclass(frozen=True, slots=True, eq=False)
class TextReading(JsonRecord):
    """Which columns are read, how texts become vectors, and how these become columns; the same for every table."""

    names: tuple[str, ...]
    learner: Learner
    coding: TextCoding

    def columns(self, table: Table, *, folder: Path | None = None, most: Decimal | None = None) -> TextColumns:
        return self._of(_vectors(table, self.names, self.learner, folder, most), table.rows)

    def _of(self, vectors: _Vectors, rows: int) -> TextColumns:
        """Piece by piece: vectors are longer than columns, and are never all in memory where they can be made anew."""
        out = np.empty((rows, self.coding.centre.size), dtype=np.float32)
        for first in range(0, rows, _ROWS):
            here = slice(first, first + _ROWS)
            out[here] = self.coding.columns(vectors(here))
        return TextColumns.of(out)


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
    said = Learner.said(learner)
    if not names:
        if said != Learner("words"):
            raise InputError("a learner needs texts to learn from; name their columns: text, or --text COLUMNS")
        return None
    if len(set(names)) < len(names):
        raise InputError(f"a text column is named twice: {', '.join(names)}")
    vectors = _vectors(table, names, said, folder, most)
    some = vectors(slice(None, None, -(-table.rows // SAMPLE)))
    if table.rows < 2 or not any(np.ptp(part, axis=0).any() for part in some):
        raise TableError(f"the texts of {table.name} are all the same ({', '.join(names)}); leave them out")
    reading = TextReading(tuple(names), said, TextCoding.of(some).rounded())
    return reading._of(vectors, table.rows), reading


def use_note(names: Sequence[str], used: bool, labels: int) -> str:
    """Whether texts are learned from, for people."""
    said = f"texts ({', '.join(names)}): "
    if used:
        return f"{said}used, because labels are predicted better with them"
    return f"{said}not used, because the {labels:,} labels are predicted no better with them"


def _vectors(
    table: Table, names: Sequence[str], learner: Learner, folder: Path | None, most: Decimal | None
) -> _Vectors:
    """Vectors of a table's texts: made from words when they are asked for, or held."""
    if learner.kind == "vectors":
        held = [_given(table, name) for name in names]
        return lambda rows: [column[rows] for column in held]
    texts = [table.texts(name, missing="allow").tolist() for name in names]
    for name, column in zip(names, texts, strict=True):
        if not any(column):
            raise TableError(f"column {name!r} of {table.name} is empty; leave it out of the texts")
    if learner.kind == "words":
        return lambda rows: [hashed(column[rows]).astype(np.float32) for column in texts]
    every = Vault(learner, folder).vectors([text for column in texts for text in column], most=most)
    parts = np.split(every, len(names))
    return lambda rows: [column[rows] for column in parts]


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
