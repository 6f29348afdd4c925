"""What a judge keeps from run to run, and how it tells people something; a campaign's store, or nothing."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Rated:
    """An item that was rated before: its row, and what was said."""

    item: Mapping[str, Any]
    value: float
    doubt: float | None
    note: str


class Memory(Protocol):
    """Facts by name, earlier ratings, and notes for people."""

    def recall(self, name: str) -> str | None:
        """A fact that was kept; None where there is none."""
        ...

    def keep(self, name: str, value: str) -> None:
        """Keep a fact."""
        ...

    def tell(self, sentence: str) -> None:
        """Tell people."""
        ...

    def earlier(self) -> Iterable[Rated]:
        """Ratings of earlier runs."""
        ...


@dataclass(slots=True)
class Forgetful:
    """Memory of one run."""

    facts: dict[str, str] = field(default_factory=dict)
    told: list[str] = field(default_factory=list)

    def recall(self, name: str) -> str | None:
        """A fact that was kept in this run."""
        return self.facts.get(name)

    def keep(self, name: str, value: str) -> None:
        """Keep a fact until the run ends."""
        self.facts[name] = value

    def tell(self, sentence: str) -> None:
        """Add to the list of what was told."""
        self.told.append(sentence)

    def earlier(self) -> Iterable[Rated]:
        """Nothing."""
        return ()
