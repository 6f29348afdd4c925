"""Texts as numbers: one matrix for all items of a table, held once, and the rows of it that some items are.

A campaign or a simulation hands items on all the time: looked at, labelled, drawn anew. Hundreds of columns would be
copied each time, so only row numbers are.
"""

import base64
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ratewise.core.checks import Floats
from ratewise.errors import InputError

Index = NDArray[np.intp]

_CHUNK = 1 << 14  # rows turned into float64 at a time


@dataclass(frozen=True, slots=True, eq=False)
class TextColumns:
    """Rows of a shared matrix. Its columns have mean 0 over all items, and its rows a mean squared length of 1."""

    matrix: "NDArray[np.float32]"  # all items × columns
    index: Index

    @classmethod
    def of(cls, matrix: "NDArray[np.floating[Any]]") -> "TextColumns":
        """All rows of a matrix that is scaled already."""
        return cls(np.ascontiguousarray(matrix, dtype=np.float32), np.arange(matrix.shape[0]))

    @property
    def columns(self) -> int:
        """How many."""
        return int(self.matrix.shape[1])

    def rows(self, index: "Index | NDArray[np.bool_] | slice") -> "TextColumns":
        """Some of the items."""
        return TextColumns(self.matrix, self.index[index])

    def joined(self, more: "TextColumns") -> "TextColumns":
        """The items of both, these first; rows that were read apart are put into one matrix."""
        if self.columns != more.columns:
            raise InputError("texts of two tables cannot be put together: their columns mean different things")
        if self.matrix is more.matrix:
            return TextColumns(self.matrix, np.concatenate([self.index, more.index]))
        matrix = np.concatenate([self.matrix, more.matrix])
        return TextColumns(matrix, np.concatenate([self.index, self.matrix.shape[0] + more.index]))

    def packed(self) -> dict[str, Any]:
        """These items' rows, bit for bit, ready for JSON."""
        rows = np.ascontiguousarray(self.matrix[self.index], dtype="<f4")
        return {"columns": self.columns, "rows": base64.b64encode(rows.tobytes()).decode()}

    @classmethod
    def unpacked(cls, data: dict[str, Any]) -> "TextColumns":
        """The inverse of `packed`."""
        rows = np.frombuffer(base64.b64decode(data["rows"]), dtype="<f4")
        return cls.of(rows.reshape(-1, data["columns"]))

    def dense(self) -> Floats:
        """Items × columns."""
        return self.matrix[self.index].astype(np.float64)

    def times(self, coefficients: Floats) -> Floats:
        """Each item's row times the coefficients. Items that come up again and again are computed once."""
        if not coefficients.any():
            return np.zeros(self.index.size)
        if self.index.size < self.matrix.shape[0] // 2:
            return _product(self.matrix, self.index, coefficients)
        return _product(self.matrix, np.arange(self.matrix.shape[0]), coefficients)[self.index]


def _product(matrix: "NDArray[np.float32]", index: Index, coefficients: Floats) -> Floats:
    out = np.empty(index.size)
    for first in range(0, index.size, _CHUNK):
        part = index[first : first + _CHUNK]
        out[first : first + part.size] = matrix[part].astype(np.float64) @ coefficients
    return out
