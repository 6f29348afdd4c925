"""What a check of a campaign has found: counts of what was looked at, and every difference."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ratewise.core.result import shown
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
    head: str = ""  # of the record as it is
    entries: int = 0  # of the record
    anchored: int | None = None  # the entry whose head was given: everything up to it is what it was then
    unrecorded: int = 0  # rounds that are older than the record
    told: list[str] = field(default_factory=list)  # what is worth knowing and no difference
    differences: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether nothing differs."""
        return not self.differences

    def differ(self, what: str) -> None:
        """Note a difference."""
        self.differences.append(what)

    def to_dict(self) -> dict[str, Any]:
        """A dictionary, ready for JSON."""
        return {"passed": self.passed, **{name: getattr(self, name) for name in self.__slots__}}

    def __str__(self) -> str:
        return "\n".join(self._verdict())

    def summary(self) -> str:
        """One line, one more for each difference, and what is to be said about the record."""
        return "\n".join([*self._verdict(), *self._about_the_record()])

    def _verdict(self) -> list[str]:
        counted = (
            f"{self.items:,} items, {self.rounds} rounds, {self.draws:,} draws, {self.ratings:,} ratings and "
            f"{self.payments:,} payments checked"
        )
        if self.passed:
            return [f"{counted}: nothing differs"]
        told = self.differences[:_MOST_TOLD]
        more = len(self.differences) - len(told)
        head = f"{counted}: {_counted(len(self.differences))}"
        return [head, *told, *([f"and {more} more"] if more else [])]

    def _about_the_record(self) -> list[str]:
        """What the given head proves, the present head, and other notes."""
        lines = list(self.told)
        if self.unrecorded:
            lines.append(
                f"rounds 1 to {self.unrecorded} were begun before there was a record: a change from before that moment "
                "is found only where replaying finds it"
            )
        if self.anchored is not None:
            later = self.entries - self.anchored
            after = f"; {later} entries were written after it" if later else ""
            lines.append(f"the head is that of entry {self.anchored} of the record{after}")
        return [*lines, *([f"head of the record: {self.head}"] if self.head else [])]


@contextmanager
def telling(where: str, found: Verification) -> Iterator[None]:
    """Report what cannot be read or computed as a difference."""
    try:
        with np.errstate(all="ignore"):
            yield
    except (ArithmeticError, AssertionError, AttributeError, LookupError, MemoryError, TypeError, ValueError) as error:
        found.differ(f"{where} cannot be replayed: {one_line(str(error)) or type(error).__name__}")


def _counted(differences: int) -> str:
    return "1 difference" if differences == 1 else f"{differences} differences"
