"""The keys of a campaign's TOML: pydantic checks their values, and each says plainly what it must be."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer
from pydantic_core import PydanticCustomError

from ratewise.raters.text import one_line

LONGEST_SHOWN = 40  # signs of a text or a key that are shown
LARGEST_AMOUNT = 9_000_000_000  # in billionths it still fits into 64 bits
DECIMALS = 9
LONGEST_WAIT = 31_536_000.0  # a year: clocks of operating systems overflow somewhere above
_AMOUNT = re.compile(r"-?[0-9]+(\.[0-9]+)?")


@dataclass(frozen=True, slots=True)
class TomlKey:
    """All that is said of one key beside its type: the metadata of a field of a `TomlTable`."""

    expected: str  # what the value must be
    example: str = ""  # a line to write
    what: str = ""  # the example is, for `ratewise init`
    fixed: str = ""  # why it may not change once a campaign has begun
    note: str = ""  # what to mind where it changes
    choices: tuple[str, ...] = ()


class TomlTable(BaseModel):
    """A table of the TOML as an immutable record; numbers are no text, and true is no number."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", allow_inf_nan=False)


def keys_of(table: type[BaseModel]) -> dict[str, TomlKey]:
    """What is said of each key of a table."""
    return {name: one for name, field in table.model_fields.items() for one in field.metadata if type(one) is TomlKey}


def hint(sentence: str) -> PydanticCustomError:
    """An error for a value's check to raise; the sentence says what to type instead."""
    return PydanticCustomError("hint", "{sentence}", {"sentence": sentence})


def quoted(text: str) -> str:
    """A text as TOML writes it, on one line, cut where it is long."""
    cut = text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 1] + "…"
    return one_line(json.dumps(cut, ensure_ascii=False))


def either(words: Iterable[str]) -> str:
    """Words for a sentence: "a", "b" or "c"."""
    *most, last = map(quoted, words)
    return f"{', '.join(most)} or {last}" if most else last


def one_of(choices: tuple[str, ...], example: str = "", what: str = "", fixed: str = "") -> TomlKey:
    """A key that takes one of a few words."""
    return TomlKey("one of " + ", ".join(map(quoted, choices)), example, what, fixed, choices=choices)


def _not_blank(value: str) -> str:
    if not value.strip():
        raise hint("write something between the quotes")
    if "\0" in value:
        raise hint("take the NUL sign out")
    return value


def _printable(value: str) -> str:
    if not value.isprintable():
        raise hint("take line breaks and other signs that cannot be seen out")
    return _not_blank(value)


def plain(amount: Decimal) -> str:
    """An amount in digits, never with an exponent."""
    return format(amount, "f")


def _amount(value: object) -> Decimal:
    """Exact money: text, a whole number, or a float by its shortest spelling."""
    if isinstance(value, Decimal):
        return value
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise hint('write it as "0.01"')
    if isinstance(value, int):  # far too large or too small stays so, and can be printed
        value = max(-1, min(value, LARGEST_AMOUNT))
    written = plain(Decimal(repr(value))) if isinstance(value, float) else str(value).strip()
    if not _AMOUNT.fullmatch(written):
        raise hint('write digits and a point, such as "0.01", without currency, commas or exponent')
    whole, _, decimals = written.partition(".")
    decimals = decimals.rstrip("0")
    if len(decimals) > DECIMALS:
        raise hint(f"it has {len(decimals)} decimals")
    amount = Decimal(f"{whole}.{decimals}" if decimals else whole)
    if amount >= LARGEST_AMOUNT:
        raise hint("count in a larger unit")
    return abs(amount) if amount == 0 else amount


STILL_THE_SAME = "it must still be the same rater"
A_COLUMN = "the name of a column of the table, as text"
COLUMNS = 'a list of names of columns, such as ["question", "answer"]'
PRICE = f"an amount of 0 or more and below {LARGEST_AMOUNT:,}, with at most {DECIMALS} decimals"
Text = Annotated[str, AfterValidator(_not_blank)]
Name = Annotated[str, AfterValidator(_printable)]
Texts = tuple[Text, ...]
Money = Annotated[Decimal, BeforeValidator(_amount), PlainSerializer(plain, return_type=str, when_used="json")]
Price = Annotated[Money, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[float, Field(gt=0)]
Seconds = Annotated[float, Field(gt=0, le=LONGEST_WAIT)]
A_TIME = f"a number of seconds above 0, at most {LONGEST_WAIT:,.0f}"
