"""Checks at the door of the core: a legal value comes back as floats, anything else is one clear error."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ratewise.errors import InputError, Message, argument

Floats = NDArray[np.float64]

LARGEST_END = 1e50
"""Of a rating scale: its fourth power is a number."""

_USUAL_TOPS = (5, 7, 10)  # of scales of whole numbers


def as_floats(values: ArrayLike, *, name: str) -> Floats:
    """The values as a float64 array; text and ragged lists are an error."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be numbers; got {_short(values)}") from None


def finite(values: ArrayLike, *, name: str, minimum: float = -math.inf) -> Floats:
    """Floats that are all finite and at least `minimum`; the array may not be empty."""
    array = as_floats(values, name=name)
    if array.size == 0:
        raise InputError(f"{name} is empty; give at least one value")
    low, high = float(array.min()), float(array.max())
    if not (math.isfinite(low) and math.isfinite(high)):
        where = int(np.flatnonzero(~np.isfinite(array.ravel()))[0])
        raise InputError(f"{name} must be finite; entry {where} is {array.ravel()[where]}")
    if low < minimum:
        where = int(np.argmin(array))
        raise InputError(f"{name} must be at least {minimum:g}; entry {where} is {low:g}")
    return array


def number(value: Any, *, name: str, above: float = -math.inf, minimum: float = -math.inf) -> float:
    """One finite number that is larger than `above` and at least `minimum`."""
    try:
        x = float(value)
    except (TypeError, ValueError, OverflowError):
        raise _wrong(name, f"must be a number; got {_short(value)}") from None
    if not math.isfinite(x):
        raise _wrong(name, f"must be finite; got {x}")
    if x <= above:
        raise _wrong(name, f"must be above {above:g}; got {x:g}")
    if x < minimum:
        raise _wrong(name, f"must be at least {minimum:g}; got {x:g}")
    return x


def share(value: Any, *, name: str, zero: bool = False, one: bool = False) -> float:
    """One number between 0 and 1; the ends are legal only where said."""
    x = number(value, name=name)
    if not (0 < x < 1 or (zero and x == 0) or (one and x == 1)):
        low, high = "[" if zero else "(", "]" if one else ")"
        raise _wrong(name, f"must be in {low}0, 1{high}; got {x:g}")
    return x


def seed_number(value: Any) -> int:
    """A seed of random numbers: a whole number that is not negative."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < 0:
        raise _wrong("seed", f"must be a whole number from 0; got {_short(value)}")
    return int(value)


def scale_ends(low: Any, high: Any) -> tuple[float, float]:
    """The ends of a rating scale, as numbers whose products are numbers, too."""
    ends = number(low, name="low"), number(high, name="high")
    for name, end in zip(("low", "high"), ends, strict=True):
        if abs(end) > LARGEST_END:
            raise _wrong(name, f"must be from {-LARGEST_END:g} to {LARGEST_END:g}, as an end of a scale; got {end:g}")
    return ends


def usual_ends(low: float, high: float) -> tuple[float, float] | None:
    """The ends of the usual scale, from 1 (or 0) to 5, 7 or 10, that ratings from `low` to `high` are on.

    None where the least or the greatest rating is no whole number, or off such a scale.
    """
    if not (low == round(low) and high == round(high) and 0 <= low <= high <= _USUAL_TOPS[-1]):
        return None
    return min(low, 1.0), float(next(top for top in _USUAL_TOPS if top >= high))


def choice(value: str, legal: tuple[str, ...], *, name: str) -> str:
    """A word that is one of the legal ones."""
    if value not in legal:
        raise InputError(f"unknown {name} {value!r}; choose one of {', '.join(legal)}")
    return value


def _wrong(name: str, what: str) -> InputError:
    """An error about one argument, or about something that is described in words."""
    return InputError(Message(f"{argument(name) if name.isidentifier() else name} {what}"))


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
