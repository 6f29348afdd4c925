"""People as raters: they are not called. Their questions stay open until another client brings answers."""

import os
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from ratewise.raters.keys import A_COLUMN, TEXT, Says
from ratewise.raters.kind import RaterKind

_MOST_VOTES = 99
_LONGEST_LEASE = 31_536_000.0
_COLUMNS = tuple[Annotated[str, TEXT], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleSettings:
    """The keys of kind "people"; the price is that of an item, however many answer."""

    votes: Annotated[int, Field(ge=1, le=_MOST_VOTES), Says(f"a whole number from 1 to {_MOST_VOTES}")] = 1
    lease: Annotated[
        float, Field(gt=0, le=_LONGEST_LEASE), Says(f"a number of seconds above 0, at most {_LONGEST_LEASE:,.0f}")
    ] = 600.0
    show: Annotated[_COLUMNS, Says('a list of names of columns, such as ["question", "answer"]')] = ()
    a: Annotated[str | None, TEXT, Says(A_COLUMN)] = None
    b: Annotated[str | None, TEXT, Says(A_COLUMN)] = None
    guidelines: Annotated[str | None, TEXT, Says("the path of a Markdown or text file")] = None
    criterion: Annotated[str | None, TEXT, Says("what is judged, in a sentence")] = None
    adjudicator: Annotated[str | None, TEXT, Says("the name of the person who decides where votes split")] = None

    @property
    def sides(self) -> tuple[str, str] | None:
        """The columns of the two texts that are compared; None where none are."""
        return None if self.a is None or self.b is None else (self.a, self.b)


def _columns(settings: PeopleSettings) -> tuple[str, ...]:
    return (*settings.show, *(settings.sides or ()))


def _check(settings: PeopleSettings, folder: str) -> str:
    if (settings.a is None) != (settings.b is None):
        return 'a and b go together; name both columns, as in a = "answer_a" and b = "answer_b"'
    if settings.adjudicator is not None and settings.votes < 2:
        return "adjudicator decides where votes split, so votes must be at least 2"
    if settings.guidelines is not None and not os.path.isfile(os.path.join(folder, settings.guidelines)):
        return f"guidelines = {settings.guidelines!r} is no file beside the TOML; write it, or take the line out"
    return ""


KIND = RaterKind(
    settings=PeopleSettings,
    make=None,
    example=(
        ("votes = 1", "answers of people, who take their time; the median counts"),
        ("lease = 600", "seconds without a sign of life before others get the question"),
        ('show = ["question", "answer"]', "the columns that people see; nothing else leaves the server"),
        ('a = "answer_a"', "of comparisons: the column of one answer"),
        ('b = "answer_b"', "of comparisons: the column of the other one"),
        ('guidelines = "guidelines.md"', "what people read beside the question; `ratewise serve` shows it"),
        ('criterion = "It is correct."', "what is judged, above the buttons"),
        ('adjudicator = "ann"', "who decides where the votes of others split"),
    ),
    columns=_columns,
    fixed={
        "votes": "ratings so far were made of the old number of answers",
        "a": "ratings so far compare the old columns",
        "b": "ratings so far compare the old columns",
        "adjudicator": "splits so far were decided by the old one",
    },
    check=_check,
)
