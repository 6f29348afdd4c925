"""A table's columns as a design matrix: numbers as they are, words as one column for each but the most frequent."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from ratewise.core.checks import Floats
from ratewise.core.ratings import Mask
from ratewise.errors import InputError, TableError
from ratewise.tables import Table

INTERCEPT = "(intercept)"
_MOST_WORDS = 200
_SINGULAR = 1e-9  # of a column's own size: what is left of it once earlier columns are taken out


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """X with the names of its columns, those that say nothing new left out and named."""

    names: tuple[str, ...]
    matrix: Floats
    left_out: tuple[tuple[str, str], ...]  # name and reason


def design(table: Table, on: Sequence[str], *, rows: Mask, intercept: bool) -> Columns:
    """The columns `on` of the rows used; a word's column is named column=word."""
    if not on and not intercept:
        raise InputError("name at least one column to regress on, or keep the intercept")
    if len(set(on)) < len(on):
        raise InputError("a column is named twice; name each column once")
    names = [INTERCEPT] if intercept else []
    parts = [np.ones(int(rows.sum()))] if intercept else []
    for column in on:
        for name, values in _coded(table, column, rows, all_words=not intercept):
            names.append(name)
            parts.append(values)
    return _independent(names, np.stack(parts, axis=1))


def _coded(table: Table, column: str, rows: Mask, *, all_words: bool) -> list[tuple[str, Floats]]:
    try:
        x = table.numbers(column, missing="allow")[rows]
    except TableError:
        return _words(table, column, rows, all_words=all_words)
    if np.isnan(x).any():
        row = int(np.flatnonzero(rows)[int(np.argmax(np.isnan(x)))]) + 1
        raise TableError(f"row {row} of {table.name} has no value in column {column!r}; fill it or leave the row out")
    return [(column, x)]


def _words(table: Table, column: str, rows: Mask, *, all_words: bool) -> list[tuple[str, Floats]]:
    texts = table.texts(column)[rows]
    counts = Counter(texts.tolist())
    if len(counts) > _MOST_WORDS:
        raise TableError(
            f"column {column!r} of {table.name} has {len(counts):,} different texts; a regression takes at most "
            f"{_MOST_WORDS} of a column: group them first"
        )
    words = [word for word, _ in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))]
    return [
        (f"{column}={word}", np.asarray(texts == word, dtype=np.float64)) for word in words[0 if all_words else 1 :]
    ]


def _independent(names: list[str], X: Floats) -> Columns:
    """Without columns that are constant zero or a combination of earlier ones: the fit is the same without them."""
    size = np.sqrt((X**2).mean(axis=0))
    scaled = X / np.where(size > 0, size, 1.0)
    r = linalg.qr(scaled, mode="r", pivoting=False, check_finite=False)[0]
    keep = np.abs(np.diag(r)[: X.shape[1]]) > _SINGULAR * np.sqrt(X.shape[0])
    keep = np.concatenate([keep, np.zeros(X.shape[1] - keep.size, dtype=np.bool_)])
    left = tuple(
        (name, "is 0 on every row" if s == 0 else "says nothing that the columns before it do not say (collinear)")
        for name, s, k in zip(names, size, keep, strict=True)
        if not k
    )
    if not keep.any():
        raise InputError("no column varies; there is nothing to regress on")
    return Columns(tuple(name for name, k in zip(names, keep, strict=True) if k), X[:, keep], left)
