"""Where a campaign's items lie: a table that is taken in whole, or a large pool, of which the first items are.

A pool of 10⁸ rows stays where it is. The campaign takes in the first items of its random order, which is a simple
random sample of the pool that anyone can draw again by seed and ids, and keeps a digest of the files. Nothing else of
it is read, and an estimate of the pool's mean counts all of its rows.
"""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from ratewise.campaign.seed import seed_of
from ratewise.campaign.spec.spec import Spec
from ratewise.errors import InputError
from ratewise.tables import Relation, open_relation
from ratewise.tables.adapters import several_files
from ratewise.tables.files import files_of

LARGEST = 1 << 20
"""Rows of a table that is taken in whole, where the TOML does not say."""
TAKEN = 1 << 18
"""Items that are taken in of a larger one."""

_PARTS = "parts:"  # before a digest of names, sizes, beginnings and ends
_EDGE = 1 << 20  # bytes at either end of a file; a Parquet file ends with what it says of all its columns


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """The items that a campaign can look at, and how many rows they are the first of."""

    relation: Relation
    rows: int
    digest: str

    @property
    def partly(self) -> bool:
        """Whether the pool has more rows than items are taken in."""
        return self.relation.count() < self.rows


def open_pool(spec: Spec, *, seed: int | str | None = None) -> Pool:
    """The items of a campaign, before anything of them is checked; a seed that is no longer secret may be given."""
    relation = open_relation(spec.table_path, format=spec.items.format)
    rows, most = relation.count(), spec.items.at_most or TAKEN
    if rows <= (spec.items.at_most or LARGEST):
        return Pool(relation, rows, whole_digest(spec.table_path))
    column = _refuse(spec, relation, rows)
    first = relation.first_by(column, seed=f"{seed_of(spec) if seed is None else seed}:order", rows=most)
    return Pool(first, rows, parts_digest(spec.table_path))


def _refuse(spec: Spec, relation: Relation, rows: int) -> str:
    """Refuse what needs all rows of a pool, with the reason; returns the column of ids."""
    first = spec.items.at_most or TAKEN
    taken = f"{relation.name} has {rows:,} rows, of which the campaign takes in the first {first:,}"
    all_of_them = f"items.at_most = {rows} takes in all"
    column = spec.items.id or ("id" if "id" in relation.columns else None)
    if column is None:
        raise InputError(f"{taken} by the hashes of their ids: name the column of ids (items.id), or {all_of_them}")
    relation.refuse_unknown([column])
    if spec.inputs is not None:
        raise InputError(f"{taken} at random, and [inputs] chooses among all: leave it out, or {all_of_them}")
    if spec.start is not None:
        raise InputError(f"{taken} at random, and the labels of [start] are anywhere: leave it out, or {all_of_them}")
    return column


def taken_in(spec: Spec, rows: int, items: int) -> str:
    """What users should know of a pool that stays where it is."""
    return (
        f"{spec.items.table} stays where it is: of its {rows:,} rows, the first {items:,} in the campaign's random "
        "order can be looked at (items.at_most); all of them count in the pool's mean"
    )


# Whether a table is still the same


def whole_digest(path: Path) -> str:
    """SHA-256 of a file; of several, of their names and contents."""
    if path.is_file():
        return _of_file(path)
    lines = (f"{os.path.basename(file)} {_of_file(Path(file))}\n" for file in _files(path))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def parts_digest(path: Path) -> str:
    """SHA-256 of the files' names, sizes, beginnings and ends: of 10⁸ rows in a moment."""
    found = hashlib.sha256()
    for file in _files(path):
        size = os.path.getsize(file)
        found.update(f"{os.path.basename(file)} {size}\n".encode())
        with open(file, "rb") as opened:
            found.update(opened.read(_EDGE))
            opened.seek(max(size - _EDGE, 0))
            found.update(opened.read())
    return _PARTS + found.hexdigest()


def _files(path: Path) -> tuple[str, ...]:
    """The files of a table, another tool's among them."""
    return several_files(str(path)) or files_of(str(path))


def is_same(path: Path, digest: str | None) -> bool:
    """Whether the table has this digest, in the form that it was computed in."""
    compute = parts_digest if digest is not None and digest.startswith(_PARTS) else whole_digest
    return compute(path) == digest


def _of_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
