"""One case of an estimate: how to estimate, the pool's size, and the clusters that these items come in."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ratewise.core.clusters import Codes, cluster_codes
from ratewise.core.how import How
from ratewise.core.ratings import Ratings
from ratewise.errors import InputError


@dataclass(frozen=True, slots=True, eq=False)
class Grouping:
    """Items in clusters; no codes where they change nothing, or where there is but one."""

    clusters: int
    codes: Codes | None
    note: str


@dataclass(frozen=True, slots=True)
class Case:
    """How to estimate, and what that means for these items."""

    how: How
    pool_size: float  # inf: the population
    grouping: Grouping | None
    folds: NDArray[np.int64] | None = None  # where they are given

    @property
    def codes(self) -> Codes | None:
        """Cluster codes; `None` where clusters change nothing."""
        return None if self.grouping is None else self.grouping.codes


def grouping_of(clusters: ArrayLike | None, data: Ratings, pool_size: float, interval: str) -> Grouping | None:
    """The clusters of the items, and whether the interval counts them; `None` where none were named."""
    if clusters is None:
        return None
    if interval == "anytime":
        raise InputError("the anytime interval goes item by item and knows no clusters; leave out one of the two")
    codes = cluster_codes(clusters, data.rows)
    count = int(codes.max()) + 1
    many = f"{count:,} cluster{'s' if count > 1 else ''}"
    if count == data.items > 1:
        return Grouping(count, None, f"{many}; each is a single item, so they change nothing")
    if pool_size == data.items:
        return Grouping(
            count, None, f"{many}; they change nothing: the whole pool was looked at, and drawn item by item"
        )
    if count == 1:
        return Grouping(1, None, f"{many}; an interval needs at least two, because items of one cluster are alike")
    return Grouping(count, codes, f"{many}; the interval counts them, not items")
