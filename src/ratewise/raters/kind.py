"""A kind of rater: everything that campaigns must know about it, given by its own file."""

import hashlib
import importlib.util
import json
import os
import shlex
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

from ratewise.judges.judge import Memory
from ratewise.raters.protocol import Rater


@dataclass(frozen=True, slots=True)
class Says:
    """What a key must be, in plain words; `needed` is a line to write where the key may not be left out."""

    expected: str
    needed: str = ""
    choices: tuple[str, ...] = ()


def hint(sentence: str) -> PydanticCustomError:
    """An error for a value's check to raise; the sentence says what to type instead."""
    return PydanticCustomError("hint", sentence)


def text(value: str) -> str:
    """Text that is not blank."""
    if not value.strip():
        raise hint("write something between the quotes")
    if "\0" in value:
        raise hint("take the NUL sign out")
    return value


TEXT = AfterValidator(text)
A_COLUMN = "the name of a column of the table, as text"
Column = Annotated[str | None, TEXT, Says(A_COLUMN)]


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


SETTINGS = "its settings"


def identity(kind: RaterKind, settings: Any, folder: str) -> dict[str, str]:
    """SHA-256 by name: of the settings, and of every file in them that can be read."""
    said = json.dumps(asdict(settings), sort_keys=True, default=str)
    out = {SETTINGS: hashlib.sha256(said.encode()).hexdigest()}
    words = [word for value in asdict(settings).values() for word in _words(value)]
    for name in (*words, *kind.sources(settings, folder)):
        found = _digest(Path(folder, name))
        if found is not None:
            out[name] = found
    return out | kind.digests(settings, folder)


def module_file(function: str, folder: str) -> tuple[str, ...]:
    """The file of a function's module: in the folder, or where Python finds it."""
    name = function.partition(":")[0]
    for place in (Path(*name.split(".")).with_suffix(".py"), Path(*name.split("."), "__init__.py")):
        if Path(folder, place).is_file():
            return (str(place),)
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return ()
    return (spec.origin,) if spec is not None and spec.origin is not None and os.path.isfile(spec.origin) else ()


def _words(value: object) -> list[str]:
    """Words of a setting, each of which may name a file."""
    if isinstance(value, str):
        try:
            return [value, *shlex.split(value)] if value else []
        except ValueError:
            return [value]
    return [word for word in value if isinstance(word, str)] if isinstance(value, tuple | list) else []


def _digest(path: Path) -> str | None:
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError):
        return None
