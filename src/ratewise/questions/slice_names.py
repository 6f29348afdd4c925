"""The slices of a table by the names in a column: which there are, in which order, and how many rows each has."""

import os
from collections.abc import Iterable

import numpy as np

from ratewise.errors import TableError
from ratewise.tables import Table, TableLike, count_groups
from ratewise.tables.cells import Texts

MISSING = "(missing)"
_MOST_SLICES = 1000


def slice_names(table: Table, by: str) -> tuple[list[str], Texts]:
    """The slices in the order of names, and every row's; rows without a group are the slice "(missing)", the last."""
    groups = table.texts(by, missing="allow")
    return _names_of(table.name, by, set(groups.tolist())), np.where(groups == "", MISSING, groups)


def _names_of(table: str, by: str, found: set[str]) -> list[str]:
    if {MISSING, ""} <= found:
        raise TableError(f"column {by!r} of {table} has both rows without a group and a group named {MISSING}")
    names = in_order([name or MISSING for name in found])
    if len(names) > _MOST_SLICES:
        raise TableError(
            f"column {by!r} of {table} has {len(names):,} different values; slices are at most {_MOST_SLICES:,}"
        )
    return names


def slice_sizes(table: TableLike, by: str) -> dict[str, float]:
    """How many rows every slice of a table has."""
    counts = count_groups(table, by)
    named = os.path.basename(os.fsdecode(table)) if isinstance(table, str | os.PathLike) else "table"
    return {name: float(counts["" if name == MISSING and "" in counts else name])
            for name in _names_of(named, by, set(counts))}  # fmt: skip


def in_order(groups: Iterable[str]) -> list[str]:
    """Groups in alphabetical order, or by size where all are numbers; rows without a group last."""
    names = sorted(set(groups), key=lambda name: (name == MISSING, name))
    try:
        return sorted(names, key=lambda name: (name == MISSING, 0.0 if name == MISSING else float(name)))
    except ValueError:
        return names
