"""Questions and answers as JSON lines, the way programs and recordings hold them."""

import json
import math
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np

from ratewise.raters.protocol import Answer, Failure, Question, is_price
from ratewise.raters.text import one_line, short

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
    price = _decimal(raw)
    if price is None or not is_price(price):
        raise ValueError(f"price {short(raw)} makes no sense")
    return price


def _decimal(raw: object) -> Decimal | None:
    if isinstance(raw, bool) or not isinstance(raw, str | int | float):
        return None
    text = repr(raw) if isinstance(raw, float) else raw
    if isinstance(text, str) and (len(text) > _LONGEST_PRICE or not text.isascii() or "_" in text):
        return None
    try:
        return Decimal(text)
    except InvalidOperation:
        return None


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
