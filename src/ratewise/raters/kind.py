"""A kind of rater: everything that campaigns must know about it, given by its own file."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ratewise.raters.protocol import Rater


@dataclass(frozen=True, slots=True)
class Place:
    """The place where a rater is made: the folder of the TOML, and how many calls it gets at once."""

    folder: str
    concurrency: int


def _none(_: Any) -> tuple[str, ...]:
    return ()


def _no_more(_: Any, __: str) -> tuple[str, ...]:
    return ()


Reread = Callable[[str, Mapping[str, Any]], "tuple[object, ...] | None"]
"""All that a rater can have said of an item, by its id and row, with None for no rating; None for an unknown item."""


@dataclass(frozen=True, slots=True, eq=False)
class RaterKind:
    """One kind of rater. The fields of `settings` that say what they must be are the keys that only this kind has."""

    settings: type  # a frozen record
    make: Callable[[Any, Place], Rater] | None  # from the settings; None: others ask it, and it answers later
    example: tuple[tuple[str, str], ...]  # for `ratewise init`: lines of TOML, and what each of them is
    batch: int = 1  # questions in one call, where the TOML does not say
    columns: Callable[[Any], tuple[str, ...]] = _none  # of the table, that it reads
    fixed: Mapping[str, str] = field(default_factory=dict)  # keys that may not change once a campaign has begun: why
    leads_to: tuple[str, ...] = ()  # keys that say where the rater is found: it must stay the same one
    flat_price: bool = False  # whether an answer always costs the list price
    sources: Callable[[Any, str], tuple[str, ...]] = _no_more  # files behind the settings, seen from the TOML's folder
    reread: Callable[[Any, str], Reread] | None = None  # where answers can be looked up again, in files of the folder
