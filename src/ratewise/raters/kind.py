"""What a kind of rater is: its keys in the TOML, checked and in words, and what campaigns must know of it."""

import hashlib
import importlib.util
import json
import os
import shlex
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

from ratewise.judges.judge import Memory
from ratewise.raters.protocol import Rater

SETTINGS = "its settings"


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
class RaterPlace:
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


Reread = Callable[[str, Mapping[str, Any]], "tuple[object, ...] | None"]
"""All that a rater can have said of an item, by its id and row, with None for no rating; None for an unknown item."""


Knows = Callable[[str | None, Mapping[str, Any]], bool]
"""Whether a rater has seen the label of an item, by its id and row."""


class RaterKind:
    """One kind of rater: a frozen record of the keys that only this kind has, and all that campaigns must know of it.

    A kind says what differs from here. One that is not made is not called: others ask it, and it answers later.
    """

    __slots__ = ()
    example: ClassVar[tuple[tuple[str, str], ...]] = ()  # for `ratewise init`: lines of TOML, and what each of them is
    batch: ClassVar[int] = 1  # questions in one call, where the TOML does not say
    fixed: ClassVar[Mapping[str, str]] = {}  # keys that may not change once a campaign has begun: why
    leads_to: ClassVar[tuple[str, ...]] = ()  # keys that say where the rater is found: it must stay the same one
    own_limits: ClassVar[bool] = False  # whether it keeps its timeout and its calls a minute itself
    quotes: ClassVar[bool] = False  # whether prices come from the items' texts, not from the TOML
    is_written: ClassVar[bool] = False  # whether answers can be looked up again, and are the same however often

    def make(self, place: RaterPlace) -> Rater | None:
        """The rater itself; None where nobody calls it."""
        return None

    @property
    def reads(self) -> tuple[str, ...]:
        """Columns of the table that it reads."""
        return ()

    @property
    def votes(self) -> int:
        """Answers of which one rating is made."""
        return 1

    @property
    def adjudicator(self) -> str | None:
        """The person who decides where votes split."""
        return None

    @property
    def paid_by_hour(self) -> bool:
        """Whether its answers are paid by the time that they take."""
        return False

    @property
    def hidden_share(self) -> float:
        """Share of questions that are checks or repeats."""
        return 0.0

    @property
    def doubts(self) -> bool:
        """Whether answers come with an uncertainty."""
        return False

    @property
    def flat_price(self) -> bool:
        """Whether an answer always costs the list price."""
        return False

    def quote(self, place: RaterPlace) -> Quote:
        """What its items cost, of a kind that quotes."""
        raise NotImplementedError

    def check(self, folder: str) -> str:
        """What is wrong with the settings together, in the folder of the TOML; empty where nothing is."""
        return ""

    def sources(self, folder: str) -> tuple[str, ...]:
        """Files behind the settings, seen from the TOML's folder."""
        return ()

    def digests(self, folder: str) -> dict[str, str]:
        """Digests of what it is made of, which may not change on the way."""
        return {}

    def knows(self, folder: str) -> Knows | None:
        """Which labels it was trained on and may not be asked about; None where it was not trained."""
        return None

    def reread(self, folder: str) -> Reread:
        """Its answers from files of the folder, of a kind that is written."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Its keys and their values."""
        out: dict[str, Any] = asdict(self)  # type: ignore[call-overload]
        return out

    def identity(self, folder: str) -> dict[str, str]:
        """SHA-256 by name: of the settings, and of every file in them that can be read."""
        settings = self.to_dict()
        said = json.dumps(settings, sort_keys=True, default=str)
        out = {SETTINGS: hashlib.sha256(said.encode()).hexdigest()}
        words = [word for value in settings.values() for word in _words(value)]
        for name in (*words, *self.sources(folder)):
            found = _digest(Path(folder, name))
            if found is not None:
                out[name] = found
        return out | self.digests(folder)


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
