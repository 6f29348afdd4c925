"""Labels that a campaign's table has before it begins: what they are good for, by how they were drawn (METHODS 13).

At random: they are the first round. A random part of the pool with all its strong ratings is just what a round is in
which everyone is asked, so these items come first in the campaign's order and their strong ratings cost nothing. Pooled
with later rounds of rates p₁, a label then counts by n₀/N + (1 − n₀/N) p₁ = 1 − (1 − p₀)(1 − p₁).

By a column of rates: items keep their random order. A label is used wherever its item is looked at, drawn again or not,
and counts by 1 − (1 − p₀)(1 − π̄). One that is drawn again costs nothing.

By hand: for a pool's mean the labels are the known values of their items, which are never looked at; the campaign is
about the others. For a population's mean they are not used unless their items are drawn, and then cost nothing.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ratewise.campaign.spec.spec import Spec
from ratewise.core.checks import Floats
from ratewise.core.names import Estimand
from ratewise.core.result import JsonRecord
from ratewise.errors import InputError, TableError
from ratewise.questions.drawing import AT_RANDOM, BY_HAND, drawn_rates
from ratewise.questions.rated import warn_of_choice
from ratewise.tables import Table


@dataclass(frozen=True, slots=True)
class Start(JsonRecord):
    """The labels that were there when the campaign began."""

    how: str  # "at random", "by hand" or "rates"
    labels: int
    mean: float
    estimand: Estimand

    @property
    def first(self) -> int:
        """Items that the first round consists of."""
        return self.labels if self.how == "at random" else 0

    @property
    def known(self) -> int:
        """Items that are never looked at, because their ratings count as they are."""
        return self.labels if self.how == "by hand" and self.estimand == "pool" else 0

    def order(self, values: Floats, turn: Floats) -> NDArray[np.intp]:
        """Items in their order: random, but labels drawn at random come first and known values last (NaN: no label)."""
        return np.lexsort((turn, np.where(np.isnan(values), 0, -1 if self.first else 1 if self.known else 0)))

    @property
    def pooled(self) -> bool:
        """Whether a label counts by the rate it was drawn with and by the rounds' rates."""
        return self.how == "rates"

    def summary(self) -> str:
        many = f"{self.labels:,} labels were there already"
        if self.how == "at random":
            return f"{many}, drawn at random: they are the first round, and cost nothing"
        if self.how == "rates":
            return f"{many}, drawn by a column of rates: they are pooled with the new ones, and cost nothing"
        if self.known:
            return f"{many}, picked by hand: they count as the known values of their items, and the others are drawn"
        return f"{many}, picked by hand: for a population's mean they are not used; those drawn anyway cost nothing"


def load_start(spec: Spec, table: Table, ratings: Table | None = None) -> tuple[Start, Floats, Floats] | None:
    """What the old labels are good for, each on the scale of the campaign (NaN: none), and their rates (0: unknown).

    `None` where the TOML has no [start]. `ratings` are columns of weak ratings, which tell whether labels were drawn
    at random.
    """
    if spec.start is None:
        return None
    values = _labels(spec, table, spec.start.labels)
    old, where = ~np.isnan(values), f"column {spec.start.labels!r} of {table.name}"
    if not old.any():
        raise TableError(f"{where} has no label; leave [start] out, or name another column")
    if old.all():
        raise InputError(f"{where} has a label for every item; there is nothing to ask")
    drawn = spec.start.drawn
    if drawn == AT_RANDOM:
        labels_and_ids = {name for name in (spec.start.labels, spec.items.id) if name is not None}  # no features
        for one in (ratings, table) if ratings is not None else (table,):
            todo = "say how they were drawn: start.drawn, 'by hand'"
            warn_of_choice(one, old, {}, apart=labels_and_ids, todo=todo)
    rated = drawn not in (AT_RANDOM, BY_HAND)
    rates = drawn_rates(table, drawn, old, key="start.drawn") if rated else np.zeros(values.size)
    start = Start("rates" if rated else drawn, int(old.sum()), float(values[old].mean()), spec.estimand)
    return start, values, rates


def _labels(spec: Spec, table: Table, column: str) -> Floats:
    out = np.full(table.rows, np.nan)
    for i, text in enumerate(table.texts(column, missing="allow").tolist()):
        if text.strip():
            try:
                out[i] = spec.rating_of(spec.steps[-1], text)
            except ValueError as error:
                raise TableError(f"column {column!r} of {table.name}, row {i + 1}: {error}") from None
    return out
