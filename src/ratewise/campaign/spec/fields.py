"""The kinds of values a campaign's TOML may hold: pydantic checks them, and each says plainly what it must be."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from decimal import Decimal
from difflib import get_close_matches
from functools import cache
from typing import Annotated, Any, get_type_hints

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from ratewise.campaign.spec.toml import Parsed, Place, line_numbers, line_of
from ratewise.errors import SpecError
from ratewise.raters.kind import TEXT, Says, hint, text
from ratewise.raters.text import safe_text
from ratewise.tables.engine import one_line

_LONGEST = 40  # signs of a text or a key that are shown
_CLOSE = 0.75  # so near must a key of another table be
_MOST_DIGITS = 10**20
_BARE = re.compile(r"[A-Za-z0-9_-]{1,40}")


class Mistakes:
    """The mistakes of one document, and where each key of others belongs: `homes`."""

    def __init__(self, file: str, read: Parsed, homes: Mapping[str, str]) -> None:
        self._file = one_line(file)
        self._homes = homes
        self._raters = _rater_names(read.values)
        self._lines = line_numbers(read.text)
        self._broken = read.broken  # lines of which nothing more is told
        self._found: list[tuple[int | None, str]] = [(line, f"{self._file}:{what}") for line, what in read.wrong]
        self._torn = bool(self._found)

    def lacks(self, place: Place, sentence: str) -> None:
        """Something is missing; where lines are no TOML, it may stand in one of them."""
        if not self._torn:
            self.add(place, sentence)

    def add(self, place: Place, sentence: str) -> None:
        """A mistake: `sentence` goes on from the key's name."""
        if any(self._lines.get(place[:length]) in self._broken for length in range(1, len(place) + 1)):
            return
        line = line_of(place, self._lines)
        where = self._file if line is None else f"{self._file}:{line}"
        self._found.append((line, f"{where}: {self.key(place)} {sentence}"))

    def unknown(self, place: Place, legal: Iterable[str], listed: Iterable[str] = ()) -> str | None:
        """Add a mistake about an unknown key: another table's, a slip, or invented. Returns the key that was meant."""
        name, every, homes = str(place[-1])[:_LONGEST], list(legal), self._homes
        legal, others = list(listed) or every, [home for home in homes if home not in every]
        close = get_close_matches(name.lower(), legal, n=1)
        elsewhere = get_close_matches(name.lower(), others, n=1, cutoff=_CLOSE)
        if name in homes:
            hint = f"it belongs {homes[name]}"
        elif close:
            hint = f"did you mean {close[0]!r}?"
        elif elsewhere:
            hint = f"did you mean {elsewhere[0]!r}, {homes[elsewhere[0]]}?"
        else:
            hint = f"the keys here are {', '.join(legal)}"
        self.add(place, f"is unknown; {hint}")
        return close[0] if close and name not in homes else None

    def key(self, place: Place) -> str:
        """A place as people write it; a rater by its name, or by its number (from 1) if that is no name."""
        parts: list[str] = []
        for depth, part in enumerate(place):
            if isinstance(part, str):
                parts.append(part if _BARE.fullmatch(part) else quoted(part))
            elif depth == 1 and part in self._raters:
                parts.append(self._raters[part])
            else:
                parts[-1] += f"[{part + 1}]"
        return ".".join(parts)

    def raise_any(self) -> None:
        """Stop here if there was a mistake; they come in the order of the file."""
        if self._found:
            in_order = sorted(self._found, key=lambda found: (found[0] is None, found[0] or 0))
            raise SpecError(*(sentence for _, sentence in in_order))


def _rater_names(document: Mapping[str, Any]) -> dict[int, str]:
    """Names of the raters that a name alone identifies, by number."""
    raters = document.get("raters")
    listed = raters if isinstance(raters, list) else []
    given = [rater.get("name") if isinstance(rater, dict) else None for rater in listed]
    names = [name if isinstance(name, str) else "" for name in given]
    times = Counter(names)
    return {number: name for number, name in enumerate(names) if _BARE.fullmatch(name) and times[name] == 1}


def quoted(text: str) -> str:
    """A text as TOML writes it, on one line, cut where it is long."""
    cut = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    return one_line(json.dumps(cut, ensure_ascii=False))


def either(words: Iterable[str]) -> str:
    """Words for a sentence: "a", "b" or "c"."""
    *most, last = map(quoted, words)
    return f"{', '.join(most)} or {last}" if most else last


def shown(value: object) -> str:
    """What was written, for people: its kind where that could be the mistake."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f"the text {quoted(safe_text(value))}"
    if isinstance(value, int) and abs(value) >= _MOST_DIGITS:  # Python may refuse to print it
        return "a number of more than 20 digits"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, date | time):
        kind = "date-time" if isinstance(value, datetime) else "date" if isinstance(value, date) else "time"
        return f"the {kind} {value.isoformat()}"
    return "a list" if isinstance(value, list) else "a table" if isinstance(value, dict) else "nothing"


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

    mistakes: Mistakes
    place: Place = ()  # nowhere, where it is left out or no table
    raw: Mapping[str, Any] = field(default_factory=dict)
    good: Mapping[str, Any] = field(default_factory=dict)

    def wrong(self, name: str, sentence: str) -> None:
        """Add a mistake about a key; "" is the table itself."""
        self.mistakes.add((*self.place, name) if name else self.place, sentence)

    def lacks(self, name: str, sentence: str) -> None:
        """Add that a key is missing; "" is the table itself."""
        self.mistakes.lacks((*self.place, name) if name else self.place, sentence)

    @property
    def written(self) -> str:
        return self.mistakes.key(self.place)


Keys = Mapping[str, tuple[Says, TypeAdapter[Any]]]


def keys_of(record: type) -> Keys:
    """The keys of a table: the fields of its record that say what they must be."""
    return _keys_of(record)


@cache
def _keys_of(record: type) -> Keys:
    found = {}
    for name, kind in get_type_hints(record, include_extras=True).items():
        for said in getattr(kind, "__metadata__", ()):
            if isinstance(said, Says):
                found[name] = said, TypeAdapter(kind, config=_STRICT)
    return found


def read_keys(
    keys: Keys, raw: Mapping[str, Any], place: Place, mistakes: Mistakes, *,
    also: Iterable[str] = (), listed: Iterable[str] = (),
) -> Section:  # fmt: skip
    """What of a table can be read; `also` are legal keys that are read elsewhere, `listed` the keys to tell of."""
    also = tuple(also)
    raw = {name: value for name, value in raw.items() if value is not None}  # JSON's null is nothing
    unknown = [name for name in raw if name not in keys and name not in also]
    meant = [mistakes.unknown((*place, name), (*keys, *also), listed) for name in unknown]
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
    return Section(mistakes, place, {**dict.fromkeys(filter(None, meant)), **raw}, good)


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
