"""The ratio of two means whose errors are dependent: Fieller's theorem, the exact set."""

import math
from dataclasses import dataclass
from typing import Any

from ratewise.core.checks import Floats
from ratewise.core.result import shown


@shown
@dataclass(frozen=True, slots=True)
class Ratio:
    """One mean over another, less a part of it for the lift; `None` with the reason where there is no such number."""

    value: float | None
    interval: tuple[float, float] | None
    level: float
    reason: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """A dictionary, ready for JSON."""
        low, high = (None, None) if self.interval is None else self.interval
        return {"value": self.value, "low": low, "high": high, "level": self.level, "reason": self.reason}


def no_ratio(first: float, second: float) -> str | None:
    """Why there is no such number; None where there is one."""
    if second == 0:
        return "the second mean is 0, so there is no ratio to it"
    return None if math.isfinite(first / second) else "the second mean is too close to 0, so there is no ratio to it"


def ratio(first: float, second: float, covariance: Floats, *, quantile: float, level: float) -> Ratio:
    """first / second with the set of all ρ that a test of E[first − ρ second] = 0 does not reject (Fieller).

    (a − ρ b)² ≤ q² (v_aa − 2 ρ v_ab + ρ² v_bb), a parabola in ρ: an interval where b is clearly away from 0, that is
    b² > q² v_bb; else the set is unbounded and there is none. `covariance` is that of the two estimates (2 × 2).

    Limiting cases: v_bb = v_ab = 0 gives the first one's interval over b; no variance at all gives the ratio alone.
    """
    a, b, q2 = first, second, quantile**2
    v_aa, v_ab, v_bb = float(covariance[0, 0]), float(covariance[0, 1]), float(covariance[1, 1])
    A, B, C = b * b - q2 * v_bb, a * b - q2 * v_ab, a * a - q2 * v_aa
    none = no_ratio(a, b)
    if none is not None:
        return Ratio(None, None, level, none)
    if A <= 0:
        return Ratio(a / b, None, level, "the second mean is not clearly away from 0, so the ratio has no bounds")
    if v_aa <= 0 and v_bb <= 0:
        return Ratio(a / b, None, level, "all contributions are equal, so their spread is unknown")
    half = math.sqrt(max(B * B - A * C, 0.0))
    return Ratio(a / b, ((B - half) / A, (B + half) / A), level)


def lift(found: Ratio, second: float) -> Ratio:
    """(first − second) / |second|: above 0 where the first is higher, also where the second mean is below 0."""
    if found.value is None:
        return found
    sign = math.copysign(1.0, second)
    ends = None if found.interval is None else sorted(sign * (x - 1.0) for x in found.interval)
    return Ratio(sign * (found.value - 1.0), None if ends is None else (ends[0], ends[1]), found.level, found.reason)
