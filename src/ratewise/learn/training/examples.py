"""What a rater is trained on: texts, ratings between 0 and 1, and which part is held out."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ratewise.core.checks import Floats
from ratewise.core.clusters import cluster_codes
from ratewise.core.draw import uniform
from ratewise.core.ratings import Mask
from ratewise.errors import InputError, TableError
from ratewise.tables import Table

HELD_OUT = 0.15  # of the labels: for early stopping, calibration and the card
FEWEST = 20  # labels


@dataclass(frozen=True, slots=True, eq=False)
class Examples:
    """Labelled items: their ids, rows of texts, ratings scaled to [0, 1], and whether each is held out."""

    ids: tuple[str, ...]
    texts: tuple[tuple[str, ...], ...]
    target: Floats
    held_out: Mask
    low: float
    high: float
    named: bool = True  # whether ids are the table's own; without a column of them they are numbers of rows

    @property
    def count(self) -> int:
        """How many."""
        return len(self.ids)


def read_examples(
    table: Table, text: Sequence[str], strong: str, *, groups: str | None = None, seed: int = 0,
    id_column: str | None = None,
) -> Examples:  # fmt: skip
    """The labelled rows of a table. With `groups`, whole groups are held out: the card then tells of new ones."""
    if strong in text:
        raise InputError(f"column {strong!r} holds the labels, so that it cannot be a text; leave it out of the texts")
    h = table.numbers(strong, missing="allow")
    use = ~np.isnan(h)
    count = int(np.count_nonzero(use))
    if count < FEWEST:
        raise TableError(
            f"{count} rows of {table.name} have a rating in column {strong!r}; training needs {FEWEST} at least"
        )
    low, high = (0.0, 1.0) if h[use].min() >= 0 and h[use].max() <= 1 else (float(h[use].min()), float(h[use].max()))
    if np.ptp(h[use]) == 0:
        raise TableError(f"all ratings in column {strong!r} of {table.name} are {h[use][0]:g}; nothing can be learned")
    ids = table.ids(id_column)[use]
    columns = [table.texts(name, missing="allow")[use] for name in text]
    held = _held_out(ids, None if groups is None else table.texts(groups)[use], seed)
    rows = tuple(zip(*(column.tolist() for column in columns), strict=True))
    named = id_column is not None or "id" in table.columns
    return Examples(tuple(ids.tolist()), rows, (h[use] - low) / (high - low), held, low, high, named)


def _held_out(ids: NDArray[np.object_], groups: NDArray[np.object_] | None, seed: int) -> Mask:
    """About a seventh of the items, by the hash of seed and id; or whole groups, until there are as many."""
    if groups is None:
        return np.asarray(uniform(ids, seed=f"{seed}:held out") < HELD_OUT)
    codes = cluster_codes(groups, ids.size)
    sizes = np.bincount(codes)
    if sizes.size < 2:
        raise InputError("all labelled rows are of one group, so that none can be held out; leave the groups out")
    order = np.random.default_rng([seed, 31]).permutation(sizes.size)
    taken = np.cumsum(sizes[order]) - sizes[order] < HELD_OUT * ids.size
    taken[-1] = False  # one group is always trained on
    return np.asarray(np.isin(codes, order[taken]))
