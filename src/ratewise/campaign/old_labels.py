"""Labels that a campaign's table has before it begins: what they are good for, by how they were drawn (METHODS 13).

At random: they are the first round. A random part of the pool with all its strong ratings is just what a round is in
which everyone is asked, so these items come first in the campaign's order and their strong ratings cost nothing. Pooled
with later rounds of rates p₁, a label then counts by n₀/N + (1 − n₀/N) p₁ = 1 − (1 − p₀)(1 − p₁).

By a column of rates: items keep their random order. A label is used wherever its item is looked at, drawn again or not,
and counts by 1 − (1 − p₀)(1 − π̄). One that is drawn again costs nothing.

By hand: for a pool's mean the labels are the known values of their items, which are never looked at; the campaign is
about the others. For a population's mean they are not used unless their items are drawn, and then cost nothing.
"""

import json
from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ratewise.campaign.spec.spec import Spec
from ratewise.core.checks import Floats
from ratewise.core.names import Estimand
from ratewise.errors import InputError, TableError
from ratewise.questions.draw_checks import warn_of_choice
from ratewise.tables import Table

_AT_RANDOM, _BY_HAND = "at random", "by hand"


@dataclass(frozen=True, slots=True)
class Start:
    """The labels that were there when the campaign began."""

    how: Literal["at random", "by hand", "rates"]
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

    def group(self, values: Floats) -> NDArray[np.intp]:
        """Place of each item in the order, by its old label (NaN: none): random draws first, known values last."""
        old = ~np.isnan(values)
        return np.where(old, -1 if self.first else 1 if self.known else 0, 0)

    @property
    def pooled(self) -> bool:
        """Whether a label counts by the rate it was drawn with and by the rounds' rates."""
        return self.how == "rates"

    def summary(self) -> str:
        """What was done with the labels, in words."""
        many = f"{self.labels:,} labels were there already"
        if self.how == "at random":
            return f"{many}, drawn at random: they are the first round, and cost nothing"
        if self.how == "rates":
            return f"{many}, drawn by a column of rates: they are pooled with the new ones, and cost nothing"
        if self.known:
            return f"{many}, picked by hand: they count as the known values of their items, and the others are drawn"
        return f"{many}, picked by hand: for a population's mean they are not used; those drawn anyway cost nothing"

    def to_json(self) -> str:
        """JSON text in which numbers keep every bit."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Start":
        """The inverse of `to_json`."""
        return cls(**json.loads(text))


@dataclass(frozen=True, slots=True, eq=False)
class LoadedLabels:
    """The labels of a table, and the order that they put its items into."""

    start: Start
    values: Floats  # NaN where there is none
    rates: Floats  # p₀; 0 where no rates are known

    def order(self, turn: Floats) -> NDArray[np.intp]:
        """Order of the items: random, but labels drawn at random come first and known values last."""
        return np.lexsort((turn, self.start.group(self.values)))


def load_start(spec: Spec, table: Table, ratings: Table | None = None) -> LoadedLabels | None:
    """The old labels, each on the scale of the campaign; None where the TOML has no [start].

    `ratings` are columns of weak ratings, which tell whether labels were drawn at random.
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
    mean, count = float(values[old].mean()), int(old.sum())
    if drawn == _AT_RANDOM:
        for one in (ratings, table) if ratings is not None else (table,):
            warn_of_choice(one, old, {}, apart=_ratings(spec), todo="say how they were drawn: start.drawn, 'by hand'")
    if drawn in (_AT_RANDOM, _BY_HAND):
        how: Literal["at random", "by hand"] = "at random" if drawn == _AT_RANDOM else "by hand"
        return LoadedLabels(Start(how, count, mean, spec.estimand), values, np.zeros(values.size))
    return LoadedLabels(Start("rates", count, mean, spec.estimand), values, _rates(table, drawn, old))


def _ratings(spec: Spec) -> set[str]:
    """Columns of labels and ids, which are no features."""
    assert spec.start is not None
    named = {spec.start.labels, spec.items.id}
    return {name for name in named if name is not None}


def _labels(spec: Spec, table: Table, column: str) -> Floats:
    out = np.full(table.rows, np.nan)
    for i, text in enumerate(table.texts(column, missing="allow").tolist()):
        if text.strip():
            try:
                out[i] = spec.rating(len(spec.raters) - 1, text)
            except ValueError as error:
                raise TableError(f"column {column!r} of {table.name}, row {i + 1}: {error}") from None
    return out


def _rates(table: Table, column: str, old: NDArray[np.bool_]) -> Floats:
    if column not in table.columns:
        raise InputError(
            f"start.drawn is {column!r}; write 'at random', 'by hand', or the name of a column of rates of {table.name}"
        )
    rates = table.numbers(column)
    bad = ~((rates >= 0) & (rates <= 1)) | (old & (rates == 0))
    if bad.any():
        row = int(np.argmax(bad)) + 1
        raise TableError(f"row {row} of {table.name} has no rate that it can have been drawn with in column {column!r}")
    return rates
