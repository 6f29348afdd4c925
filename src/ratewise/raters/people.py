"""People as raters: they are not called. Their questions stay open until another client brings answers."""

import os
from decimal import ROUND_CEILING, Decimal, localcontext

from ratewise.raters.keys import A_COLUMN, A_TIME, COLUMNS, Money, Seconds, Text, Texts, key
from ratewise.raters.kind import RaterSpec

_DEAREST_HOUR = 10**6
_UNIT = Decimal("1e-9")
_MOST_HIDDEN = 0.3  # of the questions; with more, people label little else
_LONGEST_ANSWER = 3600.0
_AN_ANSWER = f"a number of seconds above 0, at most {_LONGEST_ANSWER:,.0f}"
_OLD_COST = "ratings were chosen by what they could cost"
_OLD_COLUMNS = "ratings so far compare the old columns"
_OLD_SHARE = "rounds so far were planned with the money set aside for the old share"


class PeopleSettings(RaterSpec):
    """Kind "people"; the price is that of an item, however many answer."""

    votes: int = key(
        1, "answers of people; the median counts (an even split: the mean)", ge=1, le=99,
        fixed="ratings so far were made of the old number of answers",
    )  # fmt: skip
    lease: Seconds = key(
        600.0, "seconds without a sign of life before others get the question", must_be=A_TIME, example="600"
    )
    show: Texts = key(
        (), "the columns that people see; nothing else leaves the server", must_be=COLUMNS,
        example='["question", "answer"]',
    )  # fmt: skip
    a: Text | None = key(
        None, "of comparisons: the column of one answer", must_be=A_COLUMN, example='"answer_a"', fixed=_OLD_COLUMNS
    )
    b: Text | None = key(
        None, "of comparisons: the column of the other one", must_be=A_COLUMN, example='"answer_b"', fixed=_OLD_COLUMNS
    )
    guidelines: Text | None = key(
        None, "what people read beside the question; `ratewise serve` shows it",
        must_be="the path of a Markdown or text file", example='"guidelines.md"',
    )  # fmt: skip
    criterion: Text | None = key(
        None, "what is judged, above the buttons", must_be="what is judged, in a sentence", example='"It is correct."'
    )
    ends: Texts = key(
        (), "words for the lowest and the highest rating", must_be='two short texts, such as ["not at all", "fully"]',
        example='["not at all", "fully"]',
    )  # fmt: skip
    per_hour: Money | None = key(
        None, "pay for an hour of answering, idle pauses cut; price may be left out", gt=0, lt=_DEAREST_HOUR,
        must_be='an amount above 0 as text, such as "30"', example='"30"', fixed=_OLD_COST,
    )  # fmt: skip
    answer_seconds: float = key(
        60.0, "by the hour: what an answer is expected to take", gt=0, le=_LONGEST_ANSWER, must_be=_AN_ANSWER,
        example="60", fixed=_OLD_COST,
    )  # fmt: skip
    most_seconds: float = key(
        300.0, "by the hour: what is paid of an answer at most", gt=0, le=_LONGEST_ANSWER, must_be=_AN_ANSWER,
        example="300", fixed=_OLD_COST,
    )  # fmt: skip
    adjudicator: Text | None = key(
        None, "who decides where the votes of others split", example='"ann"',
        must_be="the name of the person who decides where votes split",
        fixed="splits so far were decided by the old one",
    )  # fmt: skip
    known: Text | None = key(
        None, "items with known answers: what people see, `expected`, `why`",
        must_be="the path of a table of items with known answers", example='"known.jsonl"',
    )  # fmt: skip
    training: int = key(0, "so many known items come first, with feedback", ge=0, le=200, example="5")
    pass_mark: float = key(0.8, "share of them that must be right before real questions come", ge=0, le=1)
    checks: float = key(
        0.0, "share of questions that are known items in disguise; paid, no votes", ge=0, le=_MOST_HIDDEN,
        example="0.05", fixed=_OLD_SHARE,
    )  # fmt: skip
    repeats: float = key(
        0.0, "share of questions that come a second time; paid, no votes", ge=0, le=_MOST_HIDDEN, example="0.05",
        fixed=_OLD_SHARE,
    )  # fmt: skip

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
        if len(self.ends) not in (0, 2):
            return 'ends are two words, for the lowest and the highest rating, as in ends = ["not at all", "fully"]'
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
