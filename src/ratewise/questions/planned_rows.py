"""Rates that a plan gives to the rows of its own table, and the draw by them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ratewise.core.checks import Floats
from ratewise.core.draw import Line, Prices, uniform
from ratewise.core.names import PolicyName
from ratewise.errors import InputError
from ratewise.questions.drawing import (
    Drawn,
    DrawRows,
    drawn_table,
    ended_early,
    one_line_end,
    over_budget,
    undrawn,
)
from ratewise.questions.side_by_side import Goal
from ratewise.tables import Table, TableLike
from ratewise.tables.words import Meaning, in_numbers


@dataclass(frozen=True, slots=True, eq=False)
class PlannedRows:
    """The rates of a table's rows, and the weak ratings that say which rows these are.

    A plan for coefficients, or for many comparisons at once, weighs rows by what they do to all of them together: its
    rates are for the rows it has seen, and it is made from the pool itself.
    """

    weak: tuple[str, ...]
    policy: PolicyName
    rates: Floats = field(repr=False)
    items: float  # to look at; for base, strong ratings to buy
    goal: Goal
    seen: Floats = field(repr=False)  # rows × weak columns
    words: Meaning  # what words as weak ratings stand for

    @classmethod
    def of(
        cls, table: Table, weak: Sequence[str], policy: PolicyName, rates: Floats, items: float | None, goal: Goal,
        words: Meaning,
    ) -> "PlannedRows":  # fmt: skip
        """The planned rows of the table that the plan was made from."""
        if policy == "base" and items is not None:
            rates = np.full(table.rows, min(1.0, items / table.rows))
        return cls(
            tuple(weak), policy, rates, math.inf if items is None else items, goal, _weak(table, weak, words), words
        )

    def draw(self, pool: TableLike, *, seed: int, id_column: str | None, within_budget: bool) -> Drawn:
        """Draw from the pool, which must be the table that the plan was made from."""
        table, ids = undrawn(pool, id_column)
        if not np.array_equal(_weak(table, self.weak, self.words), self.seen):
            raise InputError(
                f"this plan gives rates to the rows of the table it was made from, and {table.name} has other rows: "
                "plan with the pool itself, as rows without a strong rating beside the labelled ones"
            )
        goal, base = self.goal, self.policy == "base"
        look, r = (uniform(ids, seed=name) for name in (f"{seed}:look", f"{seed}"))
        rows, prices = DrawRows(r, look, self.rates), Prices(0.0 if base else goal.weak_cost, goal.strong_cost)
        found = one_line_end(
            Line.of(look, r, self.rates), rows.in_bin, self.policy, self.items if within_budget else None, prices,
            goal.budget, table.rows,
        )  # fmt: skip
        items = int(found.items.sum())
        expected, spend = prices.cost(items, found.rate_sum), prices.cost(items, found.asked)
        notes = over_budget(goal.budget, expected, spend, items, self.items, goal.pool_size)
        notes += ended_early(items, found.planned)
        return drawn_table(table, found, rows, expected, spend, notes)


def _weak(table: Table, columns: Sequence[str], words: Meaning) -> Floats:
    read, _ = in_numbers(table, strong=(), weak=columns, meaning=words)
    return np.stack([read.numbers(column) for column in columns], axis=1)
