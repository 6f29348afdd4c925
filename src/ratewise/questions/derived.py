"""Columns that a plan was made from and a pool lacks: how to compute them from those it has."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from ratewise.core.checks import Floats
from ratewise.learn.error_model import ErrorModel
from ratewise.tables import Table

WEAK_DIFFERENCE, STRONG_DIFFERENCE = "weak_difference", "strong_difference"
WEAK_BELOW, STRONG_BELOW, UNCERTAINTY = "weak_at_or_below", "strong_at_or_below", "expected_disagreement"


@dataclass(frozen=True, slots=True)
class Derived:
    """The difference of two weak ratings, or whether one is at or below a number, and how likely that is wrong."""

    kind: Literal["difference", "at or below"]
    columns: tuple[str, ...]
    at: float | None = None
    error: ErrorModel | None = None  # of the weak rating: how likely the strong one is on the other side

    def added_to(self, table: Table) -> Table:
        """The table with these columns; as it is where it has them, or has nothing to make them of."""
        if not set(self.columns) <= set(table.columns):
            return table
        made = {name: values for name, values in self._made(table).items() if name not in table.columns}
        return table.with_columns(made) if made else table

    @property
    def made(self) -> tuple[str, ...]:
        """The columns that are made."""
        return (WEAK_DIFFERENCE,) if self.kind == "difference" else (WEAK_BELOW, UNCERTAINTY)

    def _made(self, table: Table) -> dict[str, Floats]:
        weak = [table.numbers(column) for column in self.columns]
        if self.kind == "difference":
            return {WEAK_DIFFERENCE: weak[0] - weak[1]}
        assert self.at is not None
        assert self.error is not None
        return {WEAK_BELOW: (weak[0] <= self.at).astype(np.float64), UNCERTAINTY: self.error.predict(weak[0])}

    def to_dict(self) -> dict[str, Any]:
        """A dictionary, ready for JSON."""
        plain = asdict(self) | {"columns": list(self.columns)}
        return plain | {"error": None if self.error is None else self.error.to_dict()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Derived":
        """The inverse of `to_dict`."""
        error = None if data["error"] is None else ErrorModel.from_dict(data["error"])
        return cls(data["kind"], tuple(data["columns"]), data["at"], error)
