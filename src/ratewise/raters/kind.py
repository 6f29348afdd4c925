"""A kind of rater: everything that campaigns must know about it, given by its own file."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from ratewise.judges.memory import Memory
from ratewise.raters.protocol import Rater


@dataclass(frozen=True, slots=True)
class Place:
    """The place where a rater is made: the folder of the TOML, its limits, and what it may remember."""

    folder: str
    concurrency: int
    timeout: float = 60.0
    per_minute: float | None = None
    scale: tuple[float, float] = (0.0, 1.0)
    strong: bool = False  # whether its ratings are believed, and must be on the scale
    flat_price: bool = False  # whether the TOML gives a price for each rating
    memory: Memory | None = None  # None: nothing is kept


@dataclass(frozen=True, slots=True)
class Quote:
    """What a rater's items cost, by their rows: (expected, most)."""

    of: Callable[[Mapping[str, Any]], tuple[Decimal, Decimal]]
    calls: int  # for one item
    source: str  # of the prices
    facts: Mapping[str, str]  # to be kept with the campaign, for its rater


def _none(_: Any) -> tuple[str, ...]:
    return ()


def _no_more(_: Any, __: str) -> tuple[str, ...]:
    return ()


def _nothing_wrong(_: Any, __: str) -> str:
    return ""


def _no_digests(_: Any, __: str) -> dict[str, str]:
    return {}


def _no(_: Any) -> bool:
    return False


def _one(_: Any) -> int:
    return 1


def always(_: Any) -> bool:
    """Whatever the settings are."""
    return True


Reread = Callable[[str, Mapping[str, Any]], "tuple[object, ...] | None"]
"""All that a rater can have said of an item, by its id and row, with None for no rating; None for an unknown item."""


Knows = Callable[[str | None, Mapping[str, Any]], bool]
"""Whether a rater has seen the label of an item, by its id and row."""


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
    flat_price: Callable[[Any], bool] = _no  # whether an answer always costs the list price
    sources: Callable[[Any, str], tuple[str, ...]] = _no_more  # files behind the settings, seen from the TOML's folder
    quote: Callable[[Any, Place], Quote] | None = None  # where prices come from the items' texts, not from the TOML
    check: Callable[[Any, str], str] = _nothing_wrong  # what is wrong with the settings together, in the folder
    doubts: Callable[[Any], bool] = _no  # whether answers come with an uncertainty
    votes: Callable[[Any], int] = _one  # answers of which one rating is made
    own_limits: bool = False  # whether it keeps its timeout and its calls a minute itself
    digests: Callable[[Any, str], dict[str, str]] = _no_digests  # of what it is made of; may not change on the way
    knows: Callable[[Any, str], Knows] | None = None  # where it was trained on labels, which it may not be asked about
    reread: Callable[[Any, str], Reread] | None = None  # where answers can be looked up again, in files of the folder
