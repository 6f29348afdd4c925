"""Raters who are not called and answer later: what the page, the sheets and the files of other tools share.

A client hands out open questions as `Respondent.shown` lets people see them, reads each answer with `value`, and gives
it to `settle`. Whoever answers in another way, by e-mail, say, needs these and a caller: `engine.py` or `campaign.py`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ratewise.campaign.outcomes import hourly, list_price
from ratewise.campaign.raters import rule_of
from ratewise.campaign.spec.spec import Spec
from ratewise.errors import InputError
from ratewise.raters.kind import RaterSpec
from ratewise.raters.scale import RatingScale
from ratewise.store.desk import Desk, Heard, Price, Rule, Vote
from ratewise.store.queue import Claim
from ratewise.tables import Table, read_table
from ratewise.tables.blind import seen
from ratewise.tables.write import safe_cells

CANNOT_TELL = "Cannot tell"
LONGEST_COMMENT = 4000  # characters
LONGEST_ANSWER = 3600.0  # seconds that an answer can have taken
_MOST_BUTTONS = 20


@dataclass(frozen=True, slots=True)
class Respondent:
    """One rater of this sort, at its step."""

    spec: Spec
    step: int

    @property
    def rater(self) -> Any:
        """The rater, whose keys depend on its kind."""
        return self.spec.at(self.step)

    @property
    def rule(self) -> Rule:
        """When its answers settle a question."""
        return rule_of(self.rater)

    def price(self, claim: Claim) -> Price:
        return list_price(self.spec, claim) if self.rater.hourly is None else hourly(self.rater)

    def number(self, written: object, *, where: str = "", hint: str = "") -> float:
        """An answer as a number; what is none is an InputError with the place and a hint."""
        try:
            return self.spec.number(self.step, written)
        except ValueError as error:
            raise InputError(f"{where}{error}{hint}") from None

    def value(self, written: object, sides: str | None = None, *, where: str = "", hint: str = "") -> float | None:
        """An answer on the scale, None for cannot tell; of a comparison, as if the texts stood in the table's order."""
        if written is None:
            return None
        named = number_of(self.spec.scale, written)
        value = self.number(written, where=where, hint=hint) if named is None else named
        return self.turned(value) if sides == "ba" else value

    def turned(self, value: float) -> float:
        """A comparison with the texts in the other order."""
        return self.spec.scale.high + self.spec.scale.low - value

    def settle(self, desk: Desk, claim: Claim, said: Vote) -> Heard:
        """Write an answer down; where it is enough, the question is settled and its price paid, in one transaction."""
        return desk.answer(claim, said, price=self.price(claim), rule=self.rule)

    def shown(self, row: Mapping[str, Any], sides: str | None = None) -> dict[str, Any]:
        """What is seen of an item, in order: nothing that tells what to expect, or that the TOML does not show.

        The texts of a comparison are "a" and "b", by this person's sides.
        """
        both = getattr(self.rater, "sides", None) or ()
        names = self.rater.show or seen(row, hidden=_telling(self.spec))
        out = {name: row.get(name) for name in names if name not in both}
        return out | dict(zip("ab", map(row.get, both[::-1] if sides == "ba" else both), strict=False))


def respondents(spec: Spec, kind: type[RaterSpec]) -> list[Respondent]:
    """All raters of this kind."""
    return [Respondent(spec, step) for step in spec.steps if isinstance(spec.at(step), kind)]


def _telling(spec: Spec) -> set[str]:
    """Columns that would tell what to expect: ids, other raters' ratings, their uncertainty, prices, old labels."""
    named = {rater.name for rater in spec.raters} | {spec.items.id or "id"}
    for rater in spec.raters:
        if rater.kind == "column":
            named |= set(rater.reads)
        if rater.price_column is not None:
            named.add(rater.price_column)
    if spec.start is not None:
        named |= {spec.start.labels, spec.start.drawn}
    return named | {name for name in (spec.items.uncertainty, spec.items.clusters) if name is not None}


def choices_of(scale: RatingScale) -> tuple[tuple[str, float], ...]:
    """(word, number) of each answer that a scale offers, in the order of buttons; none where a number is written."""
    if scale.words:
        return scale.words
    if scale.kind == "binary":
        return (("Yes", 1.0), ("No", 0.0))
    if scale.kind == "pairwise":
        return (("A", 1.0), ("B", 0.0), ("Tie", 0.5))
    if scale.kind == "likert" and scale.high - scale.low < _MOST_BUTTONS:
        return tuple((f"{value}", float(value)) for value in range(int(scale.low), int(scale.high) + 1))
    return ()


def number_of(scale: RatingScale, written: object) -> float | None:
    """The number that one of these words stands for, however it is spelled; None where it is none of them."""
    if not isinstance(written, str):
        return None
    text = " ".join(written.split()).lower()
    return next((number for word, number in choices_of(scale) if word.lower() == text), None)


def bounded_seconds(seconds: float | None) -> float | None:
    """The time that an answer took, within reason."""
    return None if seconds is None else min(max(seconds, 0.0), LONGEST_ANSWER)


def blank_table(rows: Sequence[Mapping[str, Any]], name: str) -> Table:
    """A table of these rows for people to fill in: cells are kept as they are, lists too."""
    columns = {column: np.empty(len(rows), dtype=object) for column in rows[0]}
    for column, cells in columns.items():
        cells[:] = [row[column] for row in rows]
    return safe_cells(read_table(columns, name=name))
