"""A table's columns as a design matrix: numbers as they are, words as one column for each but the most frequent.

It also says which rows the labels say nothing about.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ratewise.core.checks import Floats
from ratewise.core.ratings import Mask
from ratewise.errors import InputError, TableError
from ratewise.tables import Table

INTERCEPT = "(intercept)"
_MOST_WORDS = 200
_MOSTLY = 0.5  # numbers in a column, to be taken for one of numbers
_SINGULAR = 1e-9  # of a column's own size: what is left of it once earlier columns are taken out


@dataclass(frozen=True, slots=True, eq=False)
class DesignMatrix:
    """X with the names of its columns, those that say nothing new left out and named."""

    names: tuple[str, ...]
    matrix: Floats
    left_out: tuple[tuple[str, str], ...]  # name and reason
    against: tuple[tuple[str, str], ...] = ()  # columns of words, and the word that the others are compared with
    groups: tuple[Mask, ...] = ()  # rows of every word, and of either value of columns that have two

    @property
    def told(self) -> tuple[str, ...]:
        """Names of the columns that get a coefficient, and of the reference words, which need none."""
        return (*self.names, *(f"{column}={word}" for column, word in self.against))

    def standardised(self) -> tuple[Floats, Floats]:
        """X with columns of unit variance (and mean 0, beside an intercept), and the matrix that takes back θ to X's.

        A fit is then the same whatever the columns' units and origins are, as far as numbers can tell.
        """
        X, d = self.matrix, self.matrix.shape[1]
        with_intercept = self.names[0] == INTERCEPT
        centre = X.mean(axis=0) if with_intercept else np.zeros(d)
        size = np.sqrt(((X - centre) ** 2).mean(axis=0))
        if with_intercept:
            centre[0], size[0] = 0.0, 1.0
        size = np.where(size > 0, size, 1.0)
        back = np.diag(1.0 / size)
        if with_intercept:
            back[0, 1:] = -centre[1:] / size[1:]
        return (X - centre) / size, back


def design(table: Table, on: Sequence[str], *, rows: Mask, intercept: bool) -> DesignMatrix:
    """The columns `on` of the rows used; a word's column is named column=word."""
    if not on and not intercept:
        raise InputError("name at least one column to regress on, or keep the intercept")
    if len(set(on)) < len(on):
        raise InputError("a column is named twice; name each column once")
    names = [INTERCEPT] if intercept else []
    parts = [np.ones(int(rows.sum()))] if intercept else []
    against: list[tuple[str, str]] = []
    groups: list[Mask] = []
    for column in on:
        if column == INTERCEPT:
            raise InputError(f"a column cannot be called {INTERCEPT!r}; rename it")
        x = _numbers(table, column, rows)
        coded = [(column, x)] if x is not None else _words(table, column, rows)
        groups += [values != 0 for _, values in coded] if x is None else _halves(x)
        if x is None and intercept:
            against.append((column, coded[0][0].removeprefix(f"{column}=")))
            coded = coded[1:]
        names += [name for name, _ in coded]
        parts += [values for _, values in coded]
    if not parts:
        raise InputError("no column varies; there is nothing to regress on")
    return replace(_independent(names, np.stack(parts, axis=1)), against=tuple(against), groups=tuple(groups))


def _numbers(table: Table, column: str, rows: Mask) -> Floats | None:
    """The column, or None if it holds words."""
    try:
        x = table.numbers(column, missing="allow")[rows]
    except TableError:
        texts = table.texts(column, missing="allow")  # says it better if the column is not there
        if np.mean([_is_number(text) for text in texts.tolist()]) > _MOSTLY:
            raise  # a column of numbers with a slip in it
        return None
    _refuse_gap(table.name, column, rows, np.isnan(x))
    return x


def _refuse_gap(name: str, column: str, rows: Mask, gap: Mask) -> None:
    if gap.any():
        row = int(np.flatnonzero(rows)[int(np.argmax(gap))]) + 1
        raise TableError(f"row {row} of {name} has no value in column {column!r}; fill it or leave the row out")


def _halves(x: Floats) -> list[Mask]:
    values = np.unique(x[:_MOST_WORDS])  # a look at some rows rules most columns out
    if values.size > 2:
        return []
    values = np.unique(x)
    return [x == value for value in values] if values.size == 2 else []


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _words(table: Table, column: str, rows: Mask) -> list[tuple[str, Floats]]:
    """A column for each word, the most frequent first."""
    texts = table.texts(column, missing="allow")[rows]
    _refuse_gap(table.name, column, rows, np.asarray(texts == ""))
    counts = Counter(texts.tolist())
    if len(counts) > _MOST_WORDS:
        raise TableError(
            f"column {column!r} of {table.name} has {len(counts):,} different texts; a regression takes at most "
            f"{_MOST_WORDS} of a column: group them first"
        )
    words = [word for word, _ in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))]
    return [(f"{column}={word}", np.asarray(texts == word, dtype=np.float64)) for word in words]


def _independent(names: list[str], X: Floats) -> DesignMatrix:
    """The columns without those that are zero or a combination of earlier ones: the fit is the same."""
    keep = np.zeros(X.shape[1], dtype=np.bool_)
    Q = np.empty_like(X)  # an orthonormal basis of the columns kept so far
    for j in range(X.shape[1]):
        count, length = int(keep.sum()), float(np.linalg.norm(X[:, j]))
        rest = X[:, j] / length if length > 0 else X[:, j].copy()
        for _ in range(2):  # once more for what rounding left
            rest -= Q[:, :count] @ (Q[:, :count].T @ rest)
        left = float(np.linalg.norm(rest))
        if left > _SINGULAR:
            Q[:, count], keep[j] = rest / left, True
    same, collinear = "is the same on every row", "says nothing that the columns before it do not say (collinear)"
    left_out = tuple((names[j], same if np.ptp(X[:, j]) == 0 else collinear) for j in np.flatnonzero(~keep))
    if not keep.any():
        raise InputError("no column varies; there is nothing to regress on")
    return DesignMatrix(tuple(name for name, k in zip(names, keep, strict=True) if k), X[:, keep], left_out)


_ALIGNED = 1e-9  # of the largest: a row whose predictor does not depend on an unknown direction
_NEARLY_ALL = 0.1  # quantile of a group's rows that moves
_RUNS = 0.2  # of the fastest group: one that runs as well


def unlabelled_rows(X: Floats, labelled: Mask) -> Mask:
    """Rows whose predictor the labelled rows cannot tell, because they do not span it."""
    size = np.sqrt((X**2).mean(axis=0))
    scaled = X / size
    _, values, right = np.linalg.svd(scaled[labelled], full_matrices=True)
    rank = int(np.count_nonzero(values > _ALIGNED * max(float(values.max(initial=0.0)), 1e-300)))
    moved = np.abs(scaled @ right[rank:].T).max(axis=1, initial=0.0)
    return np.asarray(moved > _ALIGNED * np.abs(scaled).max())


def running_rows(X: Floats, direction: Floats, groups: Sequence[Mask]) -> Mask:
    """Rows of the groups on which the predictor runs away along this direction: nearly all of a group's rows do.

    Every row, where it runs for another reason than one group's ratings: along a number, or for all of them.
    """
    moved = np.abs(X @ direction)
    slowest = np.array([float(np.quantile(moved[group], _NEARLY_ALL)) for group in groups] + [0.0])
    running = slowest > max(_RUNS * float(slowest.max()), _RUNS / 4 * float(moved.max()))
    if not running.any():
        return np.ones(moved.size, dtype=np.bool_)
    return np.asarray(np.any([group for group, runs in zip(groups, running[:-1], strict=True) if runs], axis=0))
