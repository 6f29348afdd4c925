"""Further columns as numbers to learn from: numbers as they are, words as one column for each frequent one."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ratewise.core.checks import Floats
from ratewise.core.result import JsonRecord
from ratewise.errors import InputError, TableError, TooLargeError
from ratewise.tables import Table

_MOST_WORDS = 20
_LEAST_SHARE = 0.01  # a word on fewer rows than this says nothing that could be learned


@dataclass(frozen=True, slots=True)
class Coding(JsonRecord):
    """How one column becomes numbers, the same way in every table.

    Words: a column for each, 1 where the row has it. Numbers: as they are; where `fill` is given it stands for missing
    ones, and a column more says where they were missing.
    """

    name: str
    words: tuple[str, ...] | None = None
    fill: float | None = None

    @classmethod
    def of(cls, table: Table, name: str) -> "Coding":
        try:
            x = table.numbers(name, missing="allow")
        except TooLargeError:
            raise
        except TableError:
            return cls(name, words=_frequent(table, name))  # says it better if the column is not there
        missing = np.isnan(x)
        if missing.all():
            raise TableError(f"column {name!r} of {table.name} is empty; leave it out of the features")
        return cls(name, fill=float(np.nanmedian(x)) if missing.any() else None)

    def columns(self, table: Table) -> list[Floats]:
        if self.words is not None:
            texts = table.texts(self.name, missing="allow")
            return [np.asarray(texts == word, dtype=np.float64) for word in self.words]
        x = table.numbers(self.name, missing="error" if self.fill is None else "allow")
        if self.fill is None:
            return [x]
        missing = np.isnan(x)
        return [np.where(missing, self.fill, x), missing.astype(np.float64)]


def refuse_labels(names: Sequence[str], strong: str | Sequence[str] | None) -> None:
    """Refuse to learn from the strong rating itself: it would predict every label, and say nothing of other items."""
    columns = (strong,) if isinstance(strong, str) else tuple(strong or ())
    labels = {*columns, *(name.strip() for column in columns for name in column.split(","))}  # of several people
    for name in names:
        if name in labels:
            raise InputError(
                f"column {name!r} holds the strong ratings, so that nothing can be learned from it; leave it out of "
                "the features and texts"
            )


def codings(table: Table, names: Sequence[str]) -> tuple[Coding, ...]:
    """How each column becomes numbers."""
    return tuple(Coding.of(table, name) for name in names)


def feature_matrix(table: Table, coded: Sequence[Coding]) -> Floats | None:
    """Items × columns, all finite; `None` for no features."""
    parts = [column for coding in coded for column in coding.columns(table)]
    return np.stack(parts, axis=1) if parts else None


def _frequent(table: Table, name: str) -> tuple[str, ...]:
    counts = Counter(table.texts(name, missing="allow").tolist())
    least = _LEAST_SHARE * table.rows
    frequent = tuple(word for word, count in counts.most_common(_MOST_WORDS) if count >= least)
    if not frequent or len(counts) == 1:
        raise TableError(
            f"column {name!r} of {table.name} has nothing to learn from: {len(counts):,} different texts; leave it out "
            "of the features, or give numbers made from it"
        )
    return frequent
