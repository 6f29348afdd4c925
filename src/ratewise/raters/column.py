"""A rating that is already there: a column of the table."""

from collections.abc import Sequence
from typing import ClassVar

from ratewise.raters.keys import A_COLUMN, Text, key
from ratewise.raters.kind import OLD_ONE, RaterPlace, RaterSpec, Reread, batch
from ratewise.raters.protocol import Answer, Question, Rater


class ColumnSettings(RaterSpec):
    """Kind "column"."""

    batch: int = batch(2000)
    column: Text = key(..., "ratings that are in the table already", must_be=A_COLUMN, example='"judge"', fixed=OLD_ONE)

    is_written: ClassVar[bool] = True

    def make(self, place: RaterPlace) -> Rater:
        return ColumnRater(self.column)

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.column,)

    @property
    def flat_price(self) -> bool:
        return True

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
