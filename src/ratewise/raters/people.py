"""People as raters: they are not called. Their questions stay open until another client brings answers."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal, InvalidOperation, localcontext
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field

from ratewise.raters.kind import A_COLUMN, TEXT, RaterKind, Says, hint

_MOST_VOTES = 99
_LONGEST_LEASE = 31_536_000.0
_LONGEST_ANSWER = 3600.0
_LARGEST_AMOUNT = 10**6
_UNIT = Decimal("1e-9")
PAID_SECONDS = {"answer_seconds": 60.0, "most_seconds": 300.0}  # by the hour: expected of an answer, and at most
_MOST_TRAINING = 200
_MOST_HIDDEN = 0.3  # of the questions; with more, people label little else
_COLUMNS = tuple[Annotated[str, TEXT], ...]


def _money(value: object) -> Decimal:
    """An amount as it is written, in text or as a number."""
    if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal):
        raise hint('write it as text, such as "30"')
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        raise hint('write it as text, such as "30"') from None
    if not amount.is_finite() or amount != amount.quantize(_UNIT):
        raise hint("it has more than 9 decimals")
    return amount


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleSettings(RaterKind):
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
    per_hour: Annotated[
        Decimal | None,
        Field(gt=0, lt=_LARGEST_AMOUNT),
        BeforeValidator(_money),
        Says('an amount above 0 as text, such as "30"'),
    ] = None
    answer_seconds: Annotated[
        float, Field(gt=0, le=_LONGEST_ANSWER), Says(f"a number of seconds above 0, at most {_LONGEST_ANSWER:,.0f}")
    ] = PAID_SECONDS["answer_seconds"]
    most_seconds: Annotated[
        float, Field(gt=0, le=_LONGEST_ANSWER), Says(f"a number of seconds above 0, at most {_LONGEST_ANSWER:,.0f}")
    ] = PAID_SECONDS["most_seconds"]
    adjudicator: Annotated[str | None, TEXT, Says("the name of the person who decides where votes split")] = None
    known: Annotated[str | None, TEXT, Says("the path of a table of items with known answers")] = None
    training: Annotated[int, Field(ge=0, le=_MOST_TRAINING), Says(f"a whole number from 0 to {_MOST_TRAINING}")] = 0
    pass_mark: Annotated[float, Field(ge=0, le=1), Says("a number from 0 to 1")] = 0.8
    checks: Annotated[float, Field(ge=0, le=_MOST_HIDDEN), Says(f"a number from 0 to {_MOST_HIDDEN:g}")] = 0.0
    repeats: Annotated[float, Field(ge=0, le=_MOST_HIDDEN), Says(f"a number from 0 to {_MOST_HIDDEN:g}")] = 0.0

    @property
    def paid_by_hour(self) -> bool:
        """Whether answers are paid by the time that they take."""
        return self.per_hour is not None

    @property
    def hidden_share(self) -> float:
        """Share of questions that are checks or repeats."""
        return self.checks + self.repeats

    @property
    def sides(self) -> tuple[str, str] | None:
        """The columns of the two texts that are compared; None where none are."""
        return None if self.a is None or self.b is None else (self.a, self.b)

    example = (
        ("votes = 1", "answers of people; the median counts (an even split: the mean)"),
        ("lease = 600", "seconds without a sign of life before others get the question"),
        ('show = ["question", "answer"]', "the columns that people see; nothing else leaves the server"),
        ('a = "answer_a"', "of comparisons: the column of one answer"),
        ('b = "answer_b"', "of comparisons: the column of the other one"),
        ('guidelines = "guidelines.md"', "what people read beside the question; `ratewise serve` shows it"),
        ('criterion = "It is correct."', "what is judged, above the buttons"),
        ('per_hour = "30"', "pay for an hour of answering, idle pauses cut; price may be left out"),
        ("answer_seconds = 60", "by the hour: what an answer is expected to take"),
        ("most_seconds = 300", "by the hour: what is paid of an answer at most"),
        ('adjudicator = "ann"', "who decides where the votes of others split"),
        ('known = "known.jsonl"', "items with known answers: what people see, `expected`, `why`"),
        ("training = 5", "so many known items come first, with feedback"),
        ("pass_mark = 0.8", "share of them that must be right before real questions come"),
        ("checks = 0.05", "share of questions that are known items in disguise; paid, no votes"),
        ("repeats = 0.05", "share of questions that come a second time; paid, no votes"),
    )
    fixed: ClassVar[Mapping[str, str]] = {
        "votes": "ratings so far were made of the old number of answers",
        "per_hour": "ratings were chosen by what they could cost",
        "answer_seconds": "ratings were chosen by what they could cost",
        "most_seconds": "ratings were chosen by what they could cost",
        "a": "ratings so far compare the old columns",
        "b": "ratings so far compare the old columns",
        "adjudicator": "splits so far were decided by the old one",
        "checks": "rounds so far were planned with the money set aside for the old share",
        "repeats": "rounds so far were planned with the money set aside for the old share",
    }

    @property
    def reads(self) -> tuple[str, ...]:
        """What people see."""
        return (*self.show, *(self.sides or ()))

    def check(self, folder: str) -> str:
        """What is wrong with the settings together; empty where nothing is."""
        if (self.a is None) != (self.b is None):
            return 'a and b go together; name both columns, as in a = "answer_a" and b = "answer_b"'
        if self.per_hour is not None and self.most_seconds < self.answer_seconds:
            return (
                "most_seconds must be at least answer_seconds: the most that is paid of an answer, and what is expected"
            )
        if self.adjudicator is not None and self.votes < 2:
            return "adjudicator decides where votes split, so votes must be at least 2"
        if self.known is None and (self.training or self.checks):
            return 'training and checks need items with known answers; name their table, as in known = "known.jsonl"'
        if self.known is not None and not os.path.isfile(os.path.join(folder, self.known)):
            return f"known = {self.known!r} is no file beside the TOML; write it, or take the line out"
        if self.known is not None and not (self.show or self.sides):
            return 'known items must look like all others, so say what people see: show = ["question", "answer"]'
        if self.guidelines is not None and not os.path.isfile(os.path.join(folder, self.guidelines)):
            return f"guidelines = {self.guidelines!r} is no file beside the TOML; write it, or take the line out"
        return ""


def hourly_prices(keys: Mapping[str, Any]) -> tuple[Decimal, Decimal] | None:
    """What an item is expected to cost by the hour, and the most it can; None where people are paid by the answer."""
    hour = keys.get("per_hour") if keys.get("kind") == "people" else None
    if hour is None:
        return None
    people = keys.get("votes", 1) + (keys.get("adjudicator") is not None)
    times = (keys.get(name, PAID_SECONDS[name]) for name in ("answer_seconds", "most_seconds"))
    with localcontext() as context:
        context.prec = 60
        each = [(hour * Decimal(str(s)) / 3600).quantize(_UNIT, rounding=ROUND_CEILING) for s in times]
    return each[0] * people, each[1] * people
