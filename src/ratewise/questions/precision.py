"""A precision as people state it, "±2 points", as the standard error that plans work with."""

from collections.abc import Mapping
from typing import overload

from scipy import special

from ratewise.core.checks import number, share
from ratewise.core.messages import Message, argument
from ratewise.errors import InputError

ONE_GOAL = Message(
    f"give a budget or a target, {argument('within')} (such as 0.02) or {argument('target_se')} (one of them)"
)


def standard_error_within(within: float, level: float) -> float:
    """The standard error whose plain interval at `level` reaches `within` to either side."""
    half = number(within, name="within", above=0)
    return half / float(special.ndtri(0.5 + share(level, name="level") / 2))


@overload
def target_of(target_se: float | None, within: float | None, level: float) -> float | None: ...
@overload
def target_of(
    target_se: float | Mapping[str, float] | None, within: float | Mapping[str, float] | None, level: float
) -> float | Mapping[str, float] | None: ...
def target_of(
    target_se: float | Mapping[str, float] | None, within: float | Mapping[str, float] | None, level: float
) -> float | Mapping[str, float] | None:
    """The target standard error, given as such or as the interval's half-width; one of the two."""
    if within is None:
        return target_se
    if target_se is not None:
        raise InputError(
            Message(f"{argument('within')} and {argument('target_se')} both say how precise; give one of them")
        )
    if isinstance(within, Mapping):
        return {name: standard_error_within(half, level) for name, half in within.items()}
    return standard_error_within(within, level)


def within(half_width: float, *, points: bool) -> str:
    """± in points where ratings are 0 or 1, else in their own unit."""
    if not points:
        return f"±{half_width:.3g}"
    return f"±{100 * half_width:.1f} points" if half_width >= 0.001 else f"±{100 * half_width:.2g} points"
