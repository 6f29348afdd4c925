"""What is known of every slice, and of the whole: for people, JSON, frames and notebooks."""

import html
from dataclasses import dataclass
from typing import Any

from ratewise.core.estimate import Estimate
from ratewise.core.result import FrameKind, frame_of_rows, shown
from ratewise.errors import InputError
from ratewise.questions.shrinkage import Shrunk


@shown
@dataclass(frozen=True, slots=True, eq=False)
class Slice:
    """One group: its estimate, or why there is none; and, if slices were shrunk, what it becomes."""

    name: str
    items: int
    labels: int
    estimate: Estimate | None
    reason: str | None = None  # why there is no estimate, or no interval
    shrunk: Shrunk | None = None

    @property
    def value(self) -> float | None:
        """The mean; the shrunk one if slices were shrunk."""
        if self.shrunk is not None:
            return self.shrunk.value
        return None if self.estimate is None else self.estimate.value

    @property
    def standard_error(self) -> float | None:
        """Standard error of the value."""
        if self.shrunk is not None:
            return self.shrunk.standard_error
        return None if self.estimate is None else self.estimate.standard_error

    @property
    def interval(self) -> tuple[float, float] | None:
        """Interval of the value."""
        if self.shrunk is not None:
            return self.shrunk.interval
        return None if self.estimate is None else self.estimate.interval

    @property
    def interval_kind(self) -> str | None:
        """Which kind of interval it is; shrunk, if slices were."""
        if self.shrunk is not None:
            return "shrunk"
        return None if self.estimate is None else self.estimate.interval_kind

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON; the unshrunk numbers stand beside shrunk ones."""
        low, high = self.interval or (None, None)
        out: dict[str, Any] = {
            "name": self.name, "value": self.value, "standard_error": self.standard_error, "low": low, "high": high,
            "items": self.items, "labels": self.labels, "reason": self.reason,
            "method": None if self.estimate is None else self.estimate.method,
            "interval": self.interval_kind, "interval_kind": self.interval_kind,
            "clusters": None if self.estimate is None else self.estimate.clusters,
            "notes": [] if self.estimate is None else list(self.estimate.notes),
        }  # fmt: skip
        if self.shrunk is not None and self.estimate is not None:
            own = self.estimate
            out["weight"] = self.shrunk.weight
            out["unshrunk"] = {
                "value": own.value, "standard_error": own.standard_error, "low": own.low, "high": own.high,
                "interval": own.interval_method,
            }  # fmt: skip
        return out


@shown
@dataclass(frozen=True, slots=True, eq=False)
class Slices:
    """Every slice in the order of names, and the whole. `level` holds for each interval, or for all at once."""

    by: str
    slices: tuple[Slice, ...]
    overall: Estimate
    level: float
    simultaneous: bool
    shrink: bool
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Slice:
        for one in self.slices:
            if one.name == name:
                return one
        raise InputError(f"there is no slice {name!r}; there are {', '.join(repr(one.name) for one in self.slices)}")

    def to_dict(self) -> dict[str, Any]:
        """A dictionary, ready for JSON."""
        return {
            "by": self.by, "level": self.level, "simultaneous": self.simultaneous, "shrink": self.shrink,
            "slices": [one.to_dict() for one in self.slices], "overall": self.overall.to_dict(),
            "notes": list(self.notes),
        }  # fmt: skip

    def to_frame(self, kind: FrameKind | None = None) -> Any:
        """A row for each slice, as a pandas, Polars or PyArrow frame."""
        return frame_of_rows([{"by": self.by} | _row(one) for one in self.slices], kind)

    def summary(self) -> str:
        """A line for each slice and one for the whole, for people."""
        lines = [f"{one.name}: {_line(one)}" for one in self.slices]
        return "\n".join([*lines, f"all: {self.overall.summary()}"])

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        by, level = html.escape(self.by), f"{self.level:.0%}"
        head = f"<tr><th>{by}</th><th>estimate</th><th>{level} interval</th><th>labels</th></tr>"
        rows = [(one.name, one.value, one.interval, one.labels) for one in self.slices]
        rows.append(("all", self.overall.value, self.overall.interval, self.overall.labels))
        body = "".join(
            f"<tr><td>{html.escape(name)}</td><td>{'–' if value is None else f'{value:.4f}'}</td>"
            f"<td>{'–' if ends is None else f'{ends[0]:.4f} to {ends[1]:.4f}'}</td><td>{labels}</td></tr>"
            for name, value, ends, labels in rows
        )
        return f"<table>{head}{body}</table>"


def _row(one: Slice) -> dict[str, Any]:
    return {name: value for name, value in one.to_dict().items() if name != "unshrunk"}


def _line(one: Slice) -> str:
    if one.value is None:
        return f"no estimate: {one.reason}"
    if one.interval is None:
        return f"{one.value:.4f} (no interval: {one.reason})"
    return f"{one.value:.4f} [{one.interval[0]:.4f}, {one.interval[1]:.4f}] from {one.labels} strong ratings"
