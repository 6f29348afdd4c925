"""What a legal rating is: raw values of raters, people and files become numbers here, or one clear error."""

import math
import re
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Literal

import numpy as np

from ratewise.errors import InputError
from ratewise.raters.text import short
from ratewise.tables.words import KNOWN_PAIRS

Kind = Literal["binary", "likert", "score", "pairwise"]

_WORDS: dict[str, dict[str, float]] = {
    "binary": {
        word: value for pair in (*KNOWN_PAIRS, ("1", "0")) for word, value in zip(pair, (1.0, 0.0), strict=True)
    },
    "likert": {},
    "score": {},
    "pairwise": {"a": 1.0, "b": 0.0} | dict.fromkeys(("tie", "draw", "equal", "both", "neither"), 0.5),
}
_LEGAL = {"binary": (0.0, 1.0), "pairwise": (0.0, 0.5, 1.0)}
LARGEST = 1e12  # of a rating: models square them, and beyond this the small ones are lost
_LONGEST = 64  # characters a number or a word may have
# ASCII because other alphabets have digits of their own, which float() takes for ours: "１" is 1 to it.
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class RatingScale:
    """The kind of rating and its ends; binary and pairwise ratings always run from 0 to 1.

    A binary scale may have words of its own for 1, and every other word is 0 then; a score may be given in words.
    """

    kind: Kind
    low: float = 0.0
    high: float = 1.0
    positive: tuple[str, ...] = ()
    words: tuple[tuple[str, float], ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in _WORDS:
            raise InputError(f"unknown kind of rating {short(self.kind)}; choose one of {', '.join(_WORDS)}")
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise InputError(f"a scale must run from a lower to a higher number; got {self.low:g} to {self.high:g}")
        if self.kind in _LEGAL and (self.low, self.high) != (0.0, 1.0):
            raise InputError(f"a {self.kind} scale runs from 0 to 1; got {self.low:g} to {self.high:g}")
        if self.kind == "likert" and not (float(self.low).is_integer() and float(self.high).is_integer()):
            raise InputError(f"the ends of a likert scale are whole numbers; got {self.low:g} to {self.high:g}")

    def strong(self, raw: object, *, split: bool = False) -> float:
        """A legal rating on this scale as a number; anything else is a ValueError.

        Where several answers make one rating, it may be `split`: the mean of two legal ones.
        """
        number = _truth(raw) if self.kind == "binary" else None
        number = self._read(raw) if number is None else number
        if number is None or not (self._holds(number) or (split and self._between(number))):
            raise ValueError(f"{short(raw)} is no {self.kind} rating; expected {self._expected()}")
        return number

    def weak(self, raw: object) -> float:
        """A weak rating as a number; it may be on a scale of its own, so any finite number or truth value is legal."""
        number = _truth(raw)
        number = self._usual(raw) if number is None else number
        number = self._read(raw) if number is None else number
        if number is None or abs(number) > LARGEST:
            words = ", ".join(_WORDS[self.kind])
            also = f" or one of {words}" if words else ""
            raise ValueError(
                f"{short(raw)} is no weak rating; expected a number up to {LARGEST:g}, true or false{also}"
            )
        return number

    def _usual(self, raw: object) -> float | None:
        """A judge's yes or no beside people's own words for 1; nothing where those are of the same pair."""
        text = _text(raw) if self.positive else None
        pair = next((pair for pair in KNOWN_PAIRS if text is not None and text.strip() in pair), ())
        return None if not pair or set(pair) & set(self.positive) else float(str(text).strip() == pair[0])

    def _read(self, raw: object) -> float | None:
        """The number a word of this kind or a number stands for, on the scale or not."""
        text = _text(raw)
        if text is None:
            return _number(raw)
        text = " ".join(text.split())
        word = self._word(text)
        number = word if word is not None else _finite(float(text)) if _NUMBER.fullmatch(text) else None
        return 0.0 if number is None and self.positive and text else number

    def _word(self, text: str) -> float | None:
        if self.positive:
            return 1.0 if text in self.positive else None
        return dict(self.words).get(text) if self.words else _WORDS[self.kind].get(text)

    def _holds(self, number: float) -> bool:
        if self.words:
            return number in {value for _, value in self.words}
        if self.kind in _LEGAL:
            return number in _LEGAL[self.kind]
        return self.low <= number <= self.high and (self.kind == "score" or number.is_integer())

    def _between(self, number: float) -> bool:
        """Whether it is the mean of two legal ratings."""
        if self.words or self.kind in _LEGAL:
            legal = {value for _, value in self.words} or _LEGAL[self.kind]
            return any(number == 0.5 * (x + y) for x in legal for y in legal)
        return self.low <= number <= self.high and (2 * number).is_integer()

    def _expected(self) -> str:
        if self.words:
            return f"one of {', '.join(word for word, _ in self.words)}"
        if self.kind == "binary":
            return f"0 or 1, {', '.join(' or '.join(pair) for pair in KNOWN_PAIRS)}"
        if self.kind == "pairwise":
            return "a, b or tie, or the numbers 1 (a wins), 0 (b wins) or 0.5"
        return f"a {'whole ' if self.kind == 'likert' else ''}number from {self.low:g} to {self.high:g}"


def _truth(raw: object) -> float | None:
    return float(raw) if isinstance(raw, bool | np.bool_) else None


def _text(raw: object) -> str | None:
    """Text in lower case, "" where it is far too long; None where it is no text."""
    if not isinstance(raw, str):
        return None
    text = raw.strip()
    return text.lower() if len(text) <= _LONGEST else ""  # not casefold, which makes an "s" of "ſ"


def _number(raw: object) -> float | None:
    """The value as a finite float; `None` for what is no real number, such as True."""
    if isinstance(raw, bool | np.bool_) or not isinstance(raw, Real | Decimal):
        return None
    try:
        return _finite(float(raw))
    except (OverflowError, ValueError):  # whole numbers beyond the floats; a signalling NaN
        return None


def _finite(number: float) -> float | None:
    return number + 0.0 if math.isfinite(number) else None  # −0 becomes 0
