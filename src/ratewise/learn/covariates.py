"""What is known of items before anyone is asked for a strong rating: the weak rating and all columns to learn from.

A campaign or a simulation hands items on all the time: looked at, labelled, drawn anew. Texts are hundreds of columns,
so their matrix is held once, and only row numbers are copied. A campaign that trains a model of its own after its
rounds has a column of predictions for each refit: the rates of a round are those of the refit that there was when it
was planned, whatever was trained since.
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ratewise.core.checks import Floats
from ratewise.core.ratings import Mask
from ratewise.core.result import JsonRecord
from ratewise.errors import InputError

Index = NDArray[np.intp]

_CHUNK = 1 << 14  # rows turned into float64 at a time
_CLIP = 1e-3  # probabilities are kept this far from 0 and 1 before the logit


def packed(array: NDArray[Any], kind: str) -> dict[str, Any]:
    """An array in numbers of this kind, ready for JSON."""
    ready = np.ascontiguousarray(array, dtype=kind)
    return {"shape": list(ready.shape), "kind": ready.dtype.str, "data": base64.b64encode(ready.tobytes()).decode()}


def unpacked(data: Mapping[str, Any]) -> NDArray[Any]:
    """The array that `packed` was given."""
    return np.frombuffer(base64.b64decode(data["data"]), dtype=np.dtype(data["kind"])).reshape(data["shape"])


@dataclass(frozen=True, slots=True, eq=False)
class TextColumns:
    """Rows of a shared matrix. Its columns have mean 0 over all items, and its rows a mean squared length of 1."""

    matrix: NDArray[np.float32]  # all items × columns
    index: Index

    @classmethod
    def of(cls, matrix: NDArray[Any]) -> "TextColumns":
        return cls(np.ascontiguousarray(matrix, dtype=np.float32), np.arange(matrix.shape[0]))

    @property
    def columns(self) -> int:
        return int(self.matrix.shape[1])

    def __getitem__(self, index: Index | Mask | slice) -> "TextColumns":
        return TextColumns(self.matrix, self.index[index])

    def joined(self, more: "TextColumns") -> "TextColumns":
        if self.columns != more.columns:
            raise InputError("texts of two tables cannot be put together: their columns mean different things")
        if self.matrix is more.matrix:
            return TextColumns(self.matrix, np.concatenate([self.index, more.index]))
        matrix = np.concatenate([self.matrix, more.matrix])
        return TextColumns(matrix, np.concatenate([self.index, self.matrix.shape[0] + more.index]))

    def to_dict(self) -> dict[str, Any]:
        """These items' rows, bit for bit, ready for JSON."""
        return packed(self.matrix[self.index], "<f4")

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "TextColumns":
        return cls.of(unpacked(data))

    def dense(self) -> Floats:
        return self.matrix[self.index].astype(np.float64)

    def times(self, coefficients: Floats) -> Floats:
        """Each item's row times the coefficients. Where items repeat, each row of the matrix is computed once."""
        if not coefficients.any():
            return np.zeros(self.index.size)
        items = self.matrix.shape[0]
        once = self.index.size >= items // 2
        rows = np.arange(items) if once else self.index
        out = np.empty(rows.size)
        for first in range(0, rows.size, _CHUNK):
            here = slice(first, first + _CHUNK)
            out[here] = self.matrix[rows[here]].astype(np.float64) @ coefficients
        return out[self.index] if once else out


@dataclass(frozen=True, slots=True)
class RefitColumns(JsonRecord):
    """Columns of one refit, by its number from 1: its prediction, and the log-odds of it if it is a probability."""

    number: int
    log_odds: bool

    @classmethod
    def latest(cls, refits: Floats | None) -> "RefitColumns | None":
        if refits is None or not refits.size:
            return None
        last = refits[:, -1]
        return cls(refits.shape[1], bool(last.min() >= 0 and last.max() <= 1))

    @property
    def count(self) -> int:
        return 1 + self.log_odds

    def of(self, refits: Floats | None) -> Floats:
        assert refits is not None
        said = refits[:, self.number - 1]
        if not self.log_odds:
            return said[:, None]
        return np.column_stack([said, special.logit(np.clip(said, _CLIP, 1 - _CLIP))])


@dataclass(frozen=True, slots=True, eq=False)
class Covariates:
    """What is known of items before anyone is asked for a strong rating."""

    weak: Floats
    features: Floats | None = None  # items × columns
    uncertainty: Floats | None = None  # the user's own guess of (H−G)²
    text: TextColumns | None = None
    refits: Floats | None = None  # items × refits: what a model trained on earlier rounds' labels predicts
    doubts: tuple[Floats | None, ...] = ()  # of each rater between the first and the last: its own guess of (H−R)²
    filled: Mask | None = None  # where `weak` is a stand-in: not bought, or it did not come; None: nowhere
    place: Floats | None = None  # items × columns: where an item stands in a question, such as its group; not learned

    @property
    def rated(self) -> Mask:
        return ~np.isnan(self.weak) if self.filled is None else ~self.filled

    @property
    def items(self) -> int:
        return int(self.weak.size)

    @property
    def known_for_nothing(self) -> bool:
        return self.features is not None or self.text is not None or self.refits is not None

    def rows(self, index: Index | Mask | slice) -> "Covariates":
        def of(column: Any) -> Any:
            return None if column is None else column[index]

        return Covariates(
            self.weak[index], of(self.features), of(self.uncertainty), of(self.text), of(self.refits),
            tuple(map(of, self.doubts)), of(self.filled), of(self.place),
        )  # fmt: skip

    def some(self, most: int) -> "Covariates":
        """The covariates of at most so many items, evenly spread over all."""
        return self if self.items <= most else self.rows(slice(None, None, -(-self.items // most)))

    def without_weak(self) -> "Covariates":
        return Covariates(np.zeros(self.items), self.features, text=self.text, refits=self.refits, place=self.place)

    def joined(self, more: "Covariates") -> "Covariates":
        """The covariates of both, these first, with as many refits as these know of."""

        def both(one: Floats | None, other: Floats | None) -> Floats | None:
            return None if one is None or other is None else np.concatenate([one, other])

        text = None if self.text is None or more.text is None else self.text.joined(more.text)
        known = None if self.refits is None or more.refits is None else more.refits[:, : self.refits.shape[1]]
        nowhere = self.filled is None and more.filled is None
        return Covariates(
            np.concatenate([self.weak, more.weak]), both(self.features, more.features),
            both(self.uncertainty, more.uncertainty), text, both(self.refits, known),
            tuple(both(a, b) for a, b in zip(self.doubts, more.doubts, strict=True)),
            None if nowhere else ~np.concatenate([self.rated, more.rated]), both(self.place, more.place),
        )  # fmt: skip
