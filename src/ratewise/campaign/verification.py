"""What a check of a campaign has found: counts of what was looked at, and every difference."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ratewise.core.shown import shown
from ratewise.raters.text import one_line

_MOST_TOLD = 20


@shown
@dataclass(slots=True)
class Verification:
    """What was checked and what differs; nothing where all is as it should be."""

    items: int = 0
    rounds: int = 0
    draws: int = 0
    ratings: int = 0
    payments: int = 0
    earlier_plans: int = 0  # rounds planned by an earlier version: checked by the rules they stored
    differences: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether nothing differs."""
        return not self.differences

    def differ(self, what: str) -> None:
        """Note a difference."""
        self.differences.append(what)

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {"passed": self.passed, **{name: getattr(self, name) for name in self.__slots__}}

    def __str__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """One line, and one more for each difference."""
        counted = (
            f"{self.items:,} items, {self.rounds} rounds, {self.draws:,} draws, {self.ratings:,} ratings and "
            f"{self.payments:,} payments checked"
        )
        if self.earlier_plans:
            counted += f" ({self.earlier_plans} rounds were planned by another version: by the rules they stored)"
        if self.passed:
            return f"{counted}: nothing differs"
        told = self.differences[:_MOST_TOLD]
        more = len(self.differences) - len(told)
        return "\n".join(
            [f"{counted}: {len(self.differences)} differences", *told, *([f"and {more} more"] if more else [])]
        )


@contextmanager
def telling(where: str, found: Verification) -> Iterator[None]:
    """What cannot even be read or computed differs, too."""
    try:
        with np.errstate(all="ignore"):
            yield
    except (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError) as error:
        found.differ(f"{where} cannot be replayed: {one_line(str(error)) or type(error).__name__}")
