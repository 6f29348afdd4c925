"""What a rater is to a campaign: its keys in the TOML, and the methods by which one kind differs from another."""

import hashlib
import importlib.util
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from ratewise.judges.client import PATIENCE
from ratewise.judges.judge import Memory
from ratewise.raters.keys import (
    A_COLUMN,
    A_TIME,
    LONGEST_WAIT,
    PRICE,
    Name,
    Price,
    Seconds,
    Text,
    TomlTable,
    key,
)
from ratewise.raters.protocol import Rater
from ratewise.raters.text import words_of

_MOST = 1000  # calls at once, and attempts
_LARGEST_BATCH = 1_000_000
_PAID = "ratings were chosen and paid for at the old price"
OLD_ONE = "the ratings so far came from the old one"


def batch(usual: int) -> Any:
    """The key for how many questions go into one call."""
    return key(usual, ge=1, le=_LARGEST_BATCH)


@dataclass(frozen=True, slots=True)
class RaterPlace:
    """The place where a rater is made: the folder of the TOML, the scale, and what it may remember."""

    folder: str
    scale: tuple[float, float] = (0.0, 1.0)
    strong: bool = False  # whether its ratings are believed, and must be on the scale
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


class RaterSpec(TomlTable):
    """[[raters]]: one rater. A kind adds its own keys and says what differs from here.

    Prices that follow from others are filled in by `priced`. With `price_column` the price is the item's own: `price`
    is None, and so are `max_price` and `failed_price` unless they are given.
    """

    name: Name = key(must_be="a name, as text", example='"judge"')
    kind: str = key(must_be="a kind of rater", fixed=OLD_ONE)
    price: Price | None = key(None, must_be=PRICE, fixed=_PAID)
    price_column: Text | None = key(None, must_be=A_COLUMN, fixed=_PAID)
    max_price: Price | None = key(None, must_be=PRICE, fixed="ratings were chosen by what they could cost")
    failed_price: Price | None = key(None, must_be=PRICE)
    concurrency: int = key(1, ge=1, le=_MOST)
    batch: int = batch(1)
    timeout: Seconds = key(60.0, must_be=A_TIME)
    attempts: int = key(3, ge=1, le=_MOST)
    backoff: float = key(1.0, ge=0, le=LONGEST_WAIT, must_be=f"a number of seconds from 0 to {LONGEST_WAIT:,.0f}")
    patience: Seconds = key(PATIENCE, must_be=A_TIME)
    per_minute: float | None = key(None, gt=0)
    lost_calls: Literal["ask again", "count as paid"] = key("ask again")

    own_limits: ClassVar[bool] = False  # whether it keeps its timeout and its calls a minute itself
    quotes: ClassVar[bool] = False  # whether prices come from the items' texts where the TOML gives none
    found_out: ClassVar[str | None] = None  # the fact that its first question finds out; it is asked alone
    is_written: ClassVar[bool] = False  # whether answers can be looked up again, and are the same however often

    def make(self, place: RaterPlace) -> Rater | None:
        """The rater itself; None where nobody calls it: others ask it, and it answers later."""
        return None

    @property
    def reads(self) -> tuple[str, ...]:
        """Columns of the table that it reads."""
        return ()

    @property
    def answers(self) -> int:
        """Answers of which one rating is made."""
        return 1

    @property
    def referee(self) -> str | None:
        """The person who decides where answers split."""
        return None

    @property
    def hourly(self) -> tuple[Decimal, Decimal] | None:
        """What an item is expected to cost and the most it can, where answers are paid by the time that they take."""
        return None

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

    @property
    def is_quoted(self) -> bool:
        """Whether its prices come from the items' texts."""
        return self.quotes and self.price is None and self.price_column is None

    @property
    def most(self) -> Decimal | None:
        """The most one call can cost: `max_price`, else `price`; None where the item says."""
        usual = self.price if self.hourly is None else self.hourly[1]
        return usual if self.max_price is None else self.max_price

    def priced(self) -> Self:
        """With the prices that follow from those that are given."""
        price = self.price if self.price is not None or self.hourly is None else self.hourly[0]
        failed = price if self.failed_price is None else self.failed_price
        return self.model_copy(update={"price": price, "max_price": self.most, "failed_price": failed})

    def quote(self, place: RaterPlace) -> Quote:
        """What its items cost, of a kind that quotes."""
        raise NotImplementedError

    def check(self, folder: str) -> str:
        """What is wrong with the keys together, in the folder of the TOML; empty where nothing is."""
        return ""

    def sources(self, folder: str) -> tuple[str, ...]:
        """Files behind the keys, seen from the TOML's folder."""
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

    def own(self) -> dict[str, Any]:
        """The keys that only its kind has, and their values."""
        return {name: getattr(self, name) for name in type(self).model_fields if name not in RaterSpec.model_fields}

    def identity(self, folder: str) -> dict[str, str]:
        """SHA-256 by name of every file that its own keys name and that can be read, and of what else it is made of."""
        values = self.own().values()
        words = (word for value in values for word in (*words_of(value), *([value] if isinstance(value, str) else [])))
        found = {name: _digest(Path(folder, name)) for name in (*words, *self.sources(folder)) if name}
        return {name: digest for name, digest in found.items() if digest is not None} | self.digests(folder)


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


def _digest(path: Path) -> str | None:
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError):
        return None
