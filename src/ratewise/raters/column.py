"""A rating that is already there: a column of the table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from ratewise.raters.kind import A_COLUMN, TEXT, RaterKind, RaterPlace, Reread, Says
from ratewise.raters.protocol import Answer, Question, Rater


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnSettings(RaterKind):
    """The keys of kind "column"."""

    column: Annotated[str, TEXT, Says(A_COLUMN, 'column = "judge"')]

    example = (('column = "judge"', "ratings that are in the table already"),)
    batch = 2000
    fixed: ClassVar[Mapping[str, str]] = {"column": "the ratings so far came from the old one"}
    flat_price = True
    is_written = True

    def make(self, place: RaterPlace) -> Rater:
        """The rater that reads the column."""
        return ColumnRater(self.column)

    @property
    def reads(self) -> tuple[str, ...]:
        """The column."""
        return (self.column,)

    def reread(self, folder: str) -> Reread:
        """The cell of an item, as it is now."""
        return lambda _, item: (_answer(item.get(self.column)).value,)


class ColumnRater:
    """Reads the rating out of the item's row."""

    def __init__(self, column: str) -> None:
        self._column = column

    async def rate(self, questions: Sequence[Question]) -> Sequence[Answer]:
        """The cell of every item as it is; an empty one is no rating."""
        return [_answer(question.item.get(self._column)) for question in questions]

    async def close(self) -> None:
        """Close the rater; it holds nothing open."""


def _answer(cell: object) -> Answer:
    return Answer(None, note="the column is empty") if _is_empty(cell) else Answer(cell)


def _is_empty(cell: object) -> bool:
    if cell is None or isinstance(cell, str):
        return not (cell and cell.strip())
    try:
        return bool(cell != cell)  # noqa: PLR0124 - NaN of any library differs from itself
    except TypeError:  # pandas' NA refuses to be compared
        return True
    except ValueError:  # an array: it is there, though hardly a rating
        return False
