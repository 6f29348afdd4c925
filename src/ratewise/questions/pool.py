"""What a pool is: every row that was there when it was drawn from, looked at or not (METHODS section 17).

A table holds all of them, or says how many there were in a column, as a draw and an export write it where some rows
were not looked at: then rows may be left out of the file without changing what the pool is.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ratewise.core.estimate import EstimateOptions
from ratewise.core.messages import Message, argument
from ratewise.errors import InputError, TableError
from ratewise.tables import Relation, Table

POOL_SIZE = "pool_size"  # as a draw and an export name the column


@dataclass(frozen=True, slots=True)
class Pool:
    """The pool that a table's rows are from."""

    name: str  # of the table
    rows: int  # of the table
    size: float  # N
    sure: bool  # a column says it, or rows are there that were not looked at

    @classmethod
    def of(cls, table: Table, looked: int) -> "Pool":
        """The pool of a table of which so many rows were looked at."""
        if POOL_SIZE not in table.columns:
            return cls._of_sizes(table.name, table.rows, looked, np.empty(0))
        return cls._of_sizes(table.name, table.rows, looked, table.numbers(POOL_SIZE, missing="allow"))

    @classmethod
    def of_relation(cls, relation: Relation, rows: int, looked: int) -> "Pool":
        """The same of a table that stays in its files."""
        numbers = relation.numbers_in_sql([POOL_SIZE]) if POOL_SIZE in relation.columns else None
        if numbers is None:
            return cls._of_sizes(relation.name, rows, looked, np.empty(0))
        n = numbers[POOL_SIZE]
        ends = relation.ask(f"SELECT min({n}) AS a, max({n}) AS b FROM {relation.source_in_sql()}")
        return cls._of_sizes(relation.name, rows, looked, np.array([ends["a"][0], ends["b"][0]], dtype=np.float64))

    @classmethod
    def _of_sizes(cls, name: str, rows: int, looked: int, sizes: Any) -> "Pool":
        told = np.unique(sizes[~np.isnan(sizes)])
        if not told.size:
            return cls(name, rows, float(rows), sure=looked < rows)
        if told.size > 1:
            raise TableError(
                f"column {POOL_SIZE!r} of {name} holds {told[0]:,g} and {told[-1]:,g}, so its rows are of several "
                "pools; estimate each of them by itself"
            )
        if told[0] < rows:
            raise TableError(
                f"column {POOL_SIZE!r} of {name} says {told[0]:,g}, but the table has {rows:,} rows; no pool is "
                "smaller than the rows of it: correct the column or remove it"
            )
        return cls(name, rows, float(told[0]), sure=True)

    def how(self, how: EstimateOptions) -> EstimateOptions:
        """The options with the pool's size, where the pool's own value is wanted."""
        if how.estimand == "population":
            return how
        if how.pool_size is None:
            return replace(how, pool_size=self.size)
        if how.pool_size < self.rows:
            raise InputError(
                Message(
                    f"{argument('pool_size')} is {how.pool_size:g}, but {self.name} has {self.rows:,} rows, looked at "
                    "or not; it cannot be smaller"
                )
            )
        return how

    def notes(self, how: EstimateOptions) -> tuple[str, ...]:
        """What was taken for the pool, where the table cannot tell; `how` is as it was asked for."""
        if how.estimand == "population" or how.pool_size is not None or self.sure:
            return ()
        return (
            f"the pool is taken to be these {self.rows:,} rows; if there were more when it was drawn, say how many "
            f"({POOL_SIZE}, as an option or a column)",
        )

    def refuse_left_out(self, what: str) -> None:
        """Refuse a table without all rows of its pool, where those say how large its parts are."""
        if self.rows < self.size:
            raise TableError(
                f"{self.name} has {self.rows:,} of the {self.size:,g} rows of its pool, so the sizes of {what} are not "
                "known; give a table with all of them"
            )
