"""Items with known answers, from a table beside the TOML: for training and for hidden checks."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ratewise.campaign.load import plain_rows
from ratewise.campaign.spec.spec import Spec
from ratewise.errors import InputError
from ratewise.raters.people import PeopleSettings
from ratewise.tables import read_table

EXPECTED, WHY = "expected", "why"


@dataclass(frozen=True, slots=True)
class KnownItem:
    """One of them: its row, the rating that it should get, and the reason for learners."""

    row: Mapping[str, Any]
    expected: float
    why: str


def known_items(spec: Spec, k: int, settings: PeopleSettings, like: Mapping[str, Any]) -> tuple[KnownItem, ...]:
    """All of them, in the order of the file; their cells have the kinds of those of `like`, an item of the campaign.

    A number among texts, or a column that is not there, would tell a check from a question.
    """
    if settings.known is None:
        return ()
    path = str(spec.folder / settings.known)
    try:
        stamp = os.stat(path)
    except OSError as error:
        raise InputError(f"known = {settings.known!r} cannot be read: {error.strerror}") from None
    rows = _rows(path, stamp.st_mtime_ns, stamp.st_size)
    needed = [*settings.show, *(settings.sides or ()), EXPECTED]
    if missing := [name for name in needed if rows and name not in rows[0]]:
        raise InputError(f"{settings.known} has no column {missing[0]!r}; known items need: {', '.join(needed)}")
    found = tuple(_known(spec, k, settings.known, n, row, like) for n, row in enumerate(rows, start=1))
    fewest = settings.training + bool(settings.checks)
    if len(found) < fewest:
        raise InputError(
            f"{settings.known} has {len(found)} items; {settings.training} are for training, and hidden checks take "
            f"others, so at least {fewest} are needed"
        )
    return found


@lru_cache(maxsize=8)
def _rows(path: str, _: int, __: int) -> tuple[dict[str, Any], ...]:
    """The rows of a file as it is now."""
    return tuple(plain_rows(read_table(path)))


def _known(spec: Spec, k: int, file: str, number: int, row: Mapping[str, Any], like: Mapping[str, Any]) -> KnownItem:
    try:
        expected = spec.number(k, row[EXPECTED])
    except ValueError as error:
        raise InputError(f"{file}, row {number}, column {EXPECTED}: {error}") from None
    cells = {name: _alike(value, like.get(name)) for name, value in row.items() if name not in (EXPECTED, WHY)}
    return KnownItem(cells, expected, "" if row.get(WHY) is None else str(row[WHY]))


def _alike(value: Any, example: Any) -> Any:
    """The value as the kind of the example: a text as a number or the other way round."""
    if isinstance(example, str) and not isinstance(value, str) and value is not None:
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, str) and isinstance(example, bool | int | float | list | dict):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value
