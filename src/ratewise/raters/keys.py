"""The keys of a campaign's TOML: pydantic checks their values, and each says plainly what it must be."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from types import MappingProxyType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError, PydanticUndefined

from ratewise.raters.text import one_line

LONGEST_SHOWN = 40  # signs of a text or a key that are shown
LARGEST_AMOUNT = 9_000_000_000  # in billionths it still fits into 64 bits
DECIMALS = 9
LONGEST_WAIT = 31_536_000.0  # a year: clocks of operating systems overflow somewhere above
_AMOUNT = re.compile(r"-?[0-9]+(\.[0-9]+)?")


@dataclass(frozen=True, slots=True)
class TomlKey:
    """All that is said of one key beside its type."""

    expected: str  # what the value must be
    example: str = ""  # a line to write
    what: str = ""  # the example is, for `ratewise init`
    fixed: str = ""  # why it may not change once a campaign has begun
    note: str = ""  # what to mind where it changes
    choices: tuple[str, ...] = ()


class TomlTable(BaseModel):
    """A table of the TOML as an immutable record; numbers are no text, and true is no number."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", allow_inf_nan=False)


def key(
    default: Any = ..., what: str = "", *, must_be: str = "", example: str = "", fixed: str = "", note: str = "",
    **limits: float | str,
) -> Any:  # fmt: skip
    """A key of a table; `limits` are those of pydantic's fields.

    `must_be` is for what its type and limits do not say, and the `example` is a value, where the default is none.
    """
    said = {"expected": must_be, "example": example, "what": what, "fixed": fixed, "note": note}
    more: dict[str, Any] = {**limits, "json_schema_extra": said}
    return Field(default, **more)


@cache
def keys_of(table: type[BaseModel]) -> Mapping[str, TomlKey]:
    """What is said of each key of a table."""
    fields = {name: field for name, field in table.model_fields.items() if isinstance(field.json_schema_extra, dict)}
    return MappingProxyType({name: _said(name, field) for name, field in fields.items()})


def _said(name: str, field: FieldInfo) -> TomlKey:
    said: Any = field.json_schema_extra
    is_union = get_origin(field.annotation) in (Union, UnionType)
    kind: Any = get_args(field.annotation)[0] if is_union else field.annotation
    choices = get_args(kind) if get_origin(kind) is Literal else ()
    example = said["example"]
    if not example and field.default not in (PydanticUndefined, None, ()):
        example = json.dumps(field.default)
    must_be = said["expected"] or ("one of " + ", ".join(map(quoted, choices)) if choices else _number(kind, field))
    if example and said["expected"] not in ("a table", "a list"):
        example = f"{name} = {example}"
    return TomlKey(must_be, example, said["what"], said["fixed"], said["note"], choices)


def _number(kind: object, field: FieldInfo) -> str:
    """What a number must be, by its limits."""
    ends = {end: getattr(one, end) for one in field.metadata for end in ("ge", "gt", "le", "lt") if hasattr(one, end)}
    said = [f"{ends[end]:,}" if kind is int else f"{ends[end]:g}" for end in ("ge", "gt", "le", "lt") if end in ends]
    if not said:
        return "true or false" if kind is bool else "a legal value"
    between = f"between {' and '.join(said)}" if "lt" in ends else f"from {' to '.join(said)}"
    return f"{'a whole number' if kind is int else 'a number'} {between if len(said) > 1 else f'above {said[0]}'}"


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
Seconds = Annotated[float, Field(gt=0, le=LONGEST_WAIT)]
A_TIME = f"a number of seconds above 0, at most {LONGEST_WAIT:,.0f}"
