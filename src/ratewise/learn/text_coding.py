"""How vectors of texts become columns to learn from, the same way for every table.

Each text has a vector. Vectors are turned to their main directions and cut to as many as there is room for. Several
texts of an item stand side by side; of every two of them, the product and the absolute difference are added: whether
an answer fits a question is in neither alone.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ratewise.core.checks import Floats

MOST_COLUMNS = 400  # in all: a plan is made again after every round, and more would slow it down for little
SAMPLE = 5000  # items that directions and scales are taken from
_LEAST_SHARE = 1e-6  # of the variance: directions below it are rounding

Vectors = NDArray[np.float32]


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
        """Items × columns of any table's vectors."""
        turned = [(part.astype(np.float64) - self.mean) @ self.turn for part in vectors]
        made = (np.concatenate(_columns(turned), axis=1) - self.centre) * self.scale
        return made.astype(np.float32)

    def to_dict(self) -> dict[str, Any]:
        """Numbers in half precision, as text: enough to give the same rates to three digits, and small in a file."""
        return {name: _packed(getattr(self, name)) for name in ("mean", "turn", "centre", "scale")}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "TextCoding":
        """The inverse of `to_dict`."""
        return cls(*(_unpacked(data[name]) for name in ("mean", "turn", "centre", "scale")))

    def rounded(self) -> "TextCoding":
        """The coding as a file would give it back: models that are saved with it must be fitted to its columns."""
        return TextCoding.from_dict(self.to_dict())


def blocks(texts: int) -> int:
    """Blocks of columns: one for each text, and two for every pair."""
    return texts + texts * (texts - 1)


def _columns(vectors: Sequence[Floats]) -> list[Floats]:
    pairs = [part for a, b in combinations(vectors, 2) for part in (a * b, np.abs(a - b))]
    return [*vectors, *pairs]


def _packed(array: Floats) -> dict[str, Any]:
    half = np.ascontiguousarray(array, dtype="<f4" if array.ndim == 1 else "<f2")
    return {"shape": list(half.shape), "kind": half.dtype.str, "data": base64.b64encode(half.tobytes()).decode()}


def _unpacked(data: dict[str, Any]) -> Floats:
    found = np.frombuffer(base64.b64decode(data["data"]), dtype=np.dtype(data["kind"]))
    return found.reshape(data["shape"]).astype(np.float64)
