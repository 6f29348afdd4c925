"""The one seam for everything that rates: questions go in, answers or failures come out, one for each, in order."""

import json
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Protocol

import numpy as np

from ratewise.raters.text import one_line, short

_DEAREST = Decimal(10) ** 9  # counted in billionths, a few of them still fit into 64 bits
_CHEAPEST = -40  # power of ten; a price like 1E-999999 is finite, but a million digits long once written out


@dataclass(frozen=True, slots=True)
class Question:
    """One item to be rated."""

    key: str  # stays the same when asked again after a crash or a retry of the transport: an idempotency key
    id: str
    item: Mapping[str, Any]  # its row of the table
    most: Decimal | None = None  # what is reserved for it, beyond which nothing may be sent; None: no limit


@dataclass(frozen=True, slots=True)
class Answer:
    """What a rater said, as it said it; None means that it cannot tell, or skips the item."""

    value: object | None  # raw: a number, a truth value or a word
    price: Decimal | None = None  # what it really cost where that is known only afterwards; None: the list price
    note: str = ""  # why there is no value, or anything worth keeping
    doubt: float | None = None  # expected squared error of the value, where the rater knows its own uncertainty


@dataclass(frozen=True, slots=True)
class Failure:
    """There is no answer, and why."""

    reason: str  # one line
    price: Decimal | None = None  # None: counted at the list price
    after: float = 0.0  # seconds to wait at least before it is asked again


class Rater(Protocol):
    """Anything that rates items."""

    async def rate(self, questions: Sequence[Question]) -> Sequence[Answer | Failure]:
        """One answer or failure per question, in the same order."""

    async def close(self) -> None:
        """Release what the rater holds; it is not asked again."""


class RaterError(Exception):
    """Raised by a rater to say what the failure of each question of the call has cost."""

    def __init__(self, reason: str, price: Decimal | None = None, after: float = 0.0) -> None:
        super().__init__(reason, price, after)  # all, so that the error can be pickled and copied
        self.reason = reason
        self.price = price
        self.after = after

    def __str__(self) -> str:
        return self.reason


def failure_from(error: BaseException) -> Failure:
    """The failure an error stands for: its type and the first line of its message; RaterError brings its own."""
    if isinstance(error, RaterError):
        return Failure(one_line(str(error.reason)) or "no reason was given", error.price, error.after)
    try:
        message = one_line(str(error))
    except Exception:  # other people's classes may do anything
        message = ""
    name = type(error).__name__
    return Failure(f"{name}: {message}" if message else name)


def not_asked(reason: str) -> Failure:
    """A failure on our side, before anyone was asked: it costs nothing."""
    return Failure(one_line(reason) or "no reason was given", Decimal(0))


def is_price(price: object) -> bool:
    """Whether it is None (the list price) or an amount of money: a finite Decimal, at least 0 and of sane size."""
    if price is None:
        return True
    if not isinstance(price, Decimal) or not price.is_finite():
        return False
    return 0 <= price < _DEAREST and price.adjusted() >= _CHEAPEST


# Questions and answers as JSON lines, the way programs and recordings hold them

_LONGEST_PRICE = 50  # characters


def question_line(question: Question) -> bytes:
    """The question as one line of plain ASCII, so that no program has to guess an encoding."""
    row = {"key": question.key, "id": question.id, "item": _plain(question.item)}
    return json.dumps(row, allow_nan=False).encode("ascii") + b"\n"


def read_object(line: bytes) -> dict[str, Any]:
    """One line as a JSON object; anything else is a ValueError."""
    try:
        value = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise ValueError(f"no JSON object: {short(line[:200].decode('utf-8', 'replace'))}")
    return value


def read_reply(line: Mapping[str, Any]) -> Answer | Failure:
    """What a line says: "rating" is an answer, "error" a failure, each with a "price"; ValueError where neither is."""
    price, error = read_price(line.get("price")), line.get("error")
    if error:
        return Failure(one_line(str(error)) or "no reason was given", price)
    if "rating" not in line:
        raise ValueError('there is neither a "rating" nor an "error"')
    note = line.get("note")
    return Answer(line["rating"], price, "" if note is None else str(note))


def read_price(raw: object) -> Decimal | None:
    """A price written as text (exact) or as a JSON number; ValueError where it makes no sense."""
    if raw is None:
        return None
    text = repr(raw) if isinstance(raw, float) else raw
    is_long = isinstance(text, str) and (len(text) > _LONGEST_PRICE or not text.isascii() or "_" in text)
    with suppress(InvalidOperation):
        if isinstance(text, str | int) and not isinstance(text, bool) and not is_long and is_price(Decimal(text)):
            return Decimal(text)
    raise ValueError(f"price {short(raw)} makes no sense")


def _plain(value: Any) -> Any:
    """A cell as JSON knows it: NaN and infinity become null, dates and the like text."""
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind not in "mM":
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(name): _plain(cell) for name, cell in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(cell) for cell in value]
    if isinstance(value, float | Decimal):
        return float(value) if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int) else str(value)
