"""People as raters: they are not called. Their questions stay open until another client brings answers."""

import os
from decimal import ROUND_CEILING, Decimal, localcontext
from typing import Annotated

from pydantic import Field

from ratewise.raters.keys import A_COLUMN, A_TIME, COLUMNS, Money, Seconds, Share, Text, Texts, TomlKey
from ratewise.raters.kind import RaterSpec

_MOST_VOTES = 99
_LONGEST_ANSWER = 3600.0
_DEAREST_HOUR = 10**6
_UNIT = Decimal("1e-9")
_MOST_TRAINING = 200
_MOST_HIDDEN = 0.3  # of the questions; with more, people label little else
_OLD_COST = "ratings were chosen by what they could cost"
_OLD_COLUMNS = "ratings so far compare the old columns"
_OLD_SHARE = "rounds so far were planned with the money set aside for the old share"
_A_SHARE = f"a number from 0 to {_MOST_HIDDEN:g}"
_ANSWER = f"a number of seconds above 0, at most {_LONGEST_ANSWER:,.0f}"
_AnswerTime = Annotated[float, Field(gt=0, le=_LONGEST_ANSWER)]
_HiddenShare = Annotated[float, Field(ge=0, le=_MOST_HIDDEN)]


class PeopleSettings(RaterSpec):
    """Kind "people"; the price is that of an item, however many answer."""

    votes: Annotated[
        int, Field(ge=1, le=_MOST_VOTES),
        TomlKey(
            f"a whole number from 1 to {_MOST_VOTES}", "votes = 1",
            "answers of people; the median counts (an even split: the mean)",
            fixed="ratings so far were made of the old number of answers",
        ),
    ] = 1  # fmt: skip
    lease: Annotated[
        Seconds, TomlKey(A_TIME, "lease = 600", "seconds without a sign of life before others get the question")
    ] = 600.0
    show: Annotated[
        Texts,
        TomlKey(
            COLUMNS, 'show = ["question", "answer"]', "the columns that people see; nothing else leaves the server"
        ),
    ] = ()  # fmt: skip
    a: Annotated[
        Text | None,
        TomlKey(A_COLUMN, 'a = "answer_a"', "of comparisons: the column of one answer", fixed=_OLD_COLUMNS),
    ] = None
    b: Annotated[
        Text | None,
        TomlKey(A_COLUMN, 'b = "answer_b"', "of comparisons: the column of the other one", fixed=_OLD_COLUMNS),
    ] = None
    guidelines: Annotated[
        Text | None,
        TomlKey(
            "the path of a Markdown or text file", 'guidelines = "guidelines.md"',
            "what people read beside the question; `ratewise serve` shows it",
        ),
    ] = None  # fmt: skip
    criterion: Annotated[
        Text | None,
        TomlKey("what is judged, in a sentence", 'criterion = "It is correct."', "what is judged, above the buttons"),
    ] = None
    per_hour: Annotated[
        Annotated[Money, Field(gt=0, lt=_DEAREST_HOUR)] | None,
        TomlKey(
            'an amount above 0 as text, such as "30"', 'per_hour = "30"',
            "pay for an hour of answering, idle pauses cut; price may be left out", fixed=_OLD_COST,
        ),
    ] = None  # fmt: skip
    answer_seconds: Annotated[
        _AnswerTime,
        TomlKey(_ANSWER, "answer_seconds = 60", "by the hour: what an answer is expected to take", fixed=_OLD_COST),
    ] = 60.0
    most_seconds: Annotated[
        _AnswerTime,
        TomlKey(_ANSWER, "most_seconds = 300", "by the hour: what is paid of an answer at most", fixed=_OLD_COST),
    ] = 300.0
    adjudicator: Annotated[
        Text | None,
        TomlKey(
            "the name of the person who decides where votes split", 'adjudicator = "ann"',
            "who decides where the votes of others split", fixed="splits so far were decided by the old one",
        ),
    ] = None  # fmt: skip
    known: Annotated[
        Text | None,
        TomlKey(
            "the path of a table of items with known answers", 'known = "known.jsonl"',
            "items with known answers: what people see, `expected`, `why`",
        ),
    ] = None  # fmt: skip
    training: Annotated[
        int, Field(ge=0, le=_MOST_TRAINING),
        TomlKey(
            f"a whole number from 0 to {_MOST_TRAINING}", "training = 5",
            "so many known items come first, with feedback",
        ),
    ] = 0  # fmt: skip
    pass_mark: Annotated[
        Share,
        TomlKey(
            "a number from 0 to 1", "pass_mark = 0.8", "share of them that must be right before real questions come"
        ),
    ] = 0.8  # fmt: skip
    checks: Annotated[
        _HiddenShare,
        TomlKey(
            _A_SHARE, "checks = 0.05", "share of questions that are known items in disguise; paid, no votes",
            fixed=_OLD_SHARE,
        ),
    ] = 0.0  # fmt: skip
    repeats: Annotated[
        _HiddenShare,
        TomlKey(
            _A_SHARE, "repeats = 0.05", "share of questions that come a second time; paid, no votes", fixed=_OLD_SHARE
        ),
    ] = 0.0  # fmt: skip

    @property
    def answers(self) -> int:
        return self.votes

    @property
    def referee(self) -> str | None:
        return self.adjudicator

    @property
    def hourly(self) -> tuple[Decimal, Decimal] | None:
        if self.per_hour is None:
            return None
        people = self.votes + (self.adjudicator is not None)
        with localcontext() as context:
            context.prec = 60
            times = (Decimal(str(seconds)) for seconds in (self.answer_seconds, self.most_seconds))
            usual, most = ((self.per_hour * t / 3600).quantize(_UNIT, rounding=ROUND_CEILING) for t in times)
        return usual * people, most * people

    @property
    def hidden_share(self) -> float:
        return self.checks + self.repeats

    @property
    def sides(self) -> tuple[str, str] | None:
        """The columns of the two texts that are compared; None where none are."""
        return None if self.a is None or self.b is None else (self.a, self.b)

    @property
    def reads(self) -> tuple[str, ...]:
        return (*self.show, *(self.sides or ()))

    def check(self, folder: str) -> str:
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
