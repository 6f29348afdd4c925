"""The kinds of values a campaign's TOML may hold: pydantic checks them, and each says plainly what it must be."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from difflib import get_close_matches
from functools import cache
from typing import Annotated, Any, get_type_hints

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from ratewise.campaign.spec.mistakes import Mistakes, quoted, shown
from ratewise.campaign.spec.places import Place
from ratewise.raters.kind import TEXT, Says, hint, text

LARGEST_AMOUNT = 9_000_000_000  # in billionths it still fits into 64 bits
DECIMALS = 9
LARGEST_SEED = 2**63 - 1
LONGEST_WAIT = 31_536_000.0  # a year: clocks of operating systems overflow somewhere above
_STRICT = ConfigDict(strict=True, allow_inf_nan=False)
_LONGEST_WORD = 40
_NUMBER = re.compile(r"\s*[-+]?[0-9]*\.?[0-9]+\s*")
_AMOUNT = re.compile(r"-?[0-9]+(\.[0-9]+)?")


def one_of(choices: tuple[str, ...], needed: str = "") -> Says:
    """One of a few words."""
    return Says("one of " + ", ".join(map(quoted, choices)), needed, choices)


@dataclass(frozen=True, slots=True)
class Section:
    """A table of the document: `raw` as it was written or clearly meant, `good` what of it could be read."""

    place: Place = ()
    raw: Mapping[str, Any] = field(default_factory=dict)
    good: Mapping[str, Any] = field(default_factory=dict)


Keys = Mapping[str, tuple[Says, TypeAdapter[Any]]]


@cache
def keys_of(record: type) -> Keys:
    """The keys of a table: the fields of its record that say what they must be."""
    found = {}
    for name, kind in get_type_hints(record, include_extras=True).items():
        for said in getattr(kind, "__metadata__", ()):
            if isinstance(said, Says):
                found[name] = said, TypeAdapter(kind, config=_STRICT)
    return found


def read_keys(
    keys: Keys, raw: Mapping[str, Any], place: Place, mistakes: Mistakes, *,
    homes: Mapping[str, str], also: Iterable[str] = (), listed: Iterable[str] = (),
) -> Section:  # fmt: skip
    """What of a table can be read.

    `also` are legal keys that are read elsewhere, `homes` where others' keys belong, `listed` the keys to tell of.
    """
    also = tuple(also)
    raw = {name: value for name, value in raw.items() if value is not None}  # JSON's null is nothing
    unknown = [name for name in raw if name not in keys and name not in also]
    meant = [mistakes.unknown((*place, name), (*keys, *also), homes, listed) for name in unknown]
    good = {}
    for name, (said, adapter) in keys.items():
        if name not in raw:
            if said.needed and name not in meant:  # one slip of the pen is one mistake
                mistakes.lacks((*place, name), f"is missing; write {said.needed}")
            continue
        try:
            good[name] = taken(adapter, raw[name])
        except ValidationError as error:
            mistakes.add((*place, name), _wrong(said, raw[name], error))
    return Section(place, {**dict.fromkeys(filter(None, meant)), **raw}, good)


def taken(adapter: TypeAdapter[Any], value: object) -> Any:
    """The value as its type wants it; TOML's lists are tuples in records, which are frozen."""
    return adapter.validate_python(tuple(value) if isinstance(value, list) else value)


def _wrong(said: Says, value: object, error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    got = shown(value)
    if isinstance(value, list) and first["loc"] and isinstance(first["loc"][0], int):
        got += f" with {shown(value[first['loc'][0]])} in it"
    hint = first["msg"] if first["type"] == "hint" else _guess(said, value)
    return f"must be {said.expected}; got {got}" + (f"; {hint}" if hint else "")


def _guess(said: Says, value: object) -> str:
    """A hint at what a wrong text was meant to be; empty where there is none."""
    if not isinstance(value, str):
        return ""
    close = get_close_matches(value.lower()[:_LONGEST_WORD], said.choices, n=1)
    if close:
        return f"did you mean {quoted(close[0])}?"
    return "leave the quotes out" if _NUMBER.fullmatch(value) and "number" in said.expected else ""


def _printable(value: str) -> str:
    if not value.isprintable():
        raise hint("take line breaks and other signs that cannot be seen out")
    return text(value)


def _amount(value: object) -> Decimal:
    """Exact money: text, a whole number, or a float by its shortest spelling."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise hint('write it as "0.01"')
    if isinstance(value, int):  # far too large or too small stays so, and can be printed
        value = max(-1, min(value, LARGEST_AMOUNT))
    text = format(Decimal(repr(value)), "f") if isinstance(value, float) else str(value).strip()
    if not _AMOUNT.fullmatch(text):
        raise hint('write digits and a point, such as "0.01", without currency, commas or exponent')
    whole, _, decimals = text.partition(".")
    decimals = decimals.rstrip("0")
    if len(decimals) > DECIMALS:
        raise hint(f"it has {len(decimals)} decimals")
    amount = Decimal(f"{whole}.{decimals}" if decimals else whole)
    if amount >= LARGEST_AMOUNT:
        raise hint("count in a larger unit")
    return abs(amount) if amount == 0 else amount


def plain(amount: Decimal) -> str:
    """An amount in digits, never with an exponent."""
    return format(amount, "f")


def _price_text(value: object) -> str:
    """A price as text, which other rooms read."""
    amount = _amount(value)
    if amount < 0:
        raise hint("it is below 0")
    return plain(amount)


def _moment(value: object) -> datetime:
    """A moment in UTC; what has no offset is local time."""
    if isinstance(value, str):
        raise hint("leave the quotes out")
    if not isinstance(value, datetime):
        raise hint("add the time of day" if isinstance(value, date) else "write a day and a time of day")
    try:
        return value.astimezone(UTC)
    except (OverflowError, OSError, ValueError):
        raise hint("choose a year that clocks can count") from None


_AMOUNTS = f"and below {LARGEST_AMOUNT:,}, with at most {DECIMALS} decimals"
NAME = AfterValidator(_printable)
Columns = tuple[Annotated[str, TEXT], ...]
Price = Annotated[Decimal | None, Field(ge=0), BeforeValidator(_amount), Says(f"an amount of 0 or more {_AMOUNTS}")]
PriceText = Annotated[str | None, BeforeValidator(_price_text), Says(f"an amount of 0 or more {_AMOUNTS}")]
Budget = Annotated[Decimal | None, Field(gt=0), BeforeValidator(_amount), Says(f"an amount above 0 {_AMOUNTS}")]
Moment = Annotated[datetime | None, BeforeValidator(_moment), Says("a date-time, such as 2026-12-01T18:00:00Z")]
Words = tuple[Annotated[str, TEXT], ...]
Shares = dict[Annotated[str, TEXT], Annotated[float, Field(gt=0, le=1e9)]]
