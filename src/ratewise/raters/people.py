"""People as raters: they are not called. Their questions stay open until another client brings answers."""

import os
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from ratewise.raters.keys import A_COLUMN, TEXT, Says
from ratewise.raters.kind import RaterKind

_MOST_VOTES = 99
_LONGEST_LEASE = 31_536_000.0
_MOST_TRAINING = 200
_MOST_HIDDEN = 0.3  # of the questions; with more, people label little else
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
    known: Annotated[str | None, TEXT, Says("the path of a table of items with known answers")] = None
    training: Annotated[int, Field(ge=0, le=_MOST_TRAINING), Says(f"a whole number from 0 to {_MOST_TRAINING}")] = 0
    pass_mark: Annotated[float, Field(ge=0, le=1), Says("a number from 0 to 1")] = 0.8
    checks: Annotated[float, Field(ge=0, le=_MOST_HIDDEN), Says(f"a number from 0 to {_MOST_HIDDEN:g}")] = 0.0
    repeats: Annotated[float, Field(ge=0, le=_MOST_HIDDEN), Says(f"a number from 0 to {_MOST_HIDDEN:g}")] = 0.0

    @property
    def hidden_share(self) -> float:
        """Share of questions that are checks or repeats."""
        return self.checks + self.repeats

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
    if settings.known is None and (settings.training or settings.checks):
        return 'training and checks need items with known answers; name their table, as in known = "known.jsonl"'
    if settings.known is not None and not os.path.isfile(os.path.join(folder, settings.known)):
        return f"known = {settings.known!r} is no file beside the TOML; write it, or take the line out"
    if settings.known is not None and not (settings.show or settings.sides):
        return 'known items must look like all others, so say what people see: show = ["question", "answer"]'
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
        ('known = "known.jsonl"', "items with known answers: what people see, `expected`, `why`"),
        ("training = 5", "so many known items come first, with feedback"),
        ("pass_mark = 0.8", "share of them that must be right before real questions come"),
        ("checks = 0.05", "share of questions that are known items in disguise; paid, no votes"),
        ("repeats = 0.05", "share of questions that come a second time; paid, no votes"),
    ),
    columns=_columns,
    fixed={
        "votes": "ratings so far were made of the old number of answers",
        "a": "ratings so far compare the old columns",
        "b": "ratings so far compare the old columns",
        "adjudicator": "splits so far were decided by the old one",
        "checks": "rounds so far were planned with the money set aside for the old share",
        "repeats": "rounds so far were planned with the money set aside for the old share",
    },
    check=_check,
)
