"""Rules that make one rating of the answers of several annotators."""

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True)
class Vote:
    """What one annotator said to a question; no value: cannot tell."""

    annotator: str
    value: float | None
    note: str = ""
    seconds: float | None = None  # that it took; None where nobody timed it


def name_key(name: str) -> str:
    """A name as people are told apart by it: Ben and ben are one person, and have one vote."""
    return " ".join(unicodedata.normalize("NFKC", name).split()).casefold()


@dataclass(frozen=True, slots=True)
class Verdict:
    """The rating of a question that is settled; no value: it is missing."""

    value: float | None


Rule = Callable[[Sequence[Vote]], Verdict | None]  # None: more answers are needed


def one_answer(votes: Sequence[Vote]) -> Verdict | None:
    """The first answer settles."""
    return Verdict(votes[0].value) if votes else None


def median_of(k: int) -> Rule:
    """Settles when k annotators have answered, at their median: for yes and no, the majority.

    Where they are split evenly, the rating is the mean of the two middle answers: of one yes and one no, 0.5. Those who
    cannot tell do not count; if nobody can, the rating is missing.
    """

    def rule(votes: Sequence[Vote]) -> Verdict | None:
        if len(votes) < k:
            return None
        values = [vote.value for vote in votes if vote.value is not None]
        return Verdict(median(values) if values else None)

    return rule


def decided_by(k: int, referee: str) -> Rule:
    """Settles when k others agree; where they do not, the named person decides, who sees none of their answers."""

    def rule(votes: Sequence[Vote]) -> Verdict | None:
        theirs = [vote.value for vote in votes if name_key(vote.annotator) != name_key(referee)]
        if len(theirs) < k:
            return None
        if len(set(theirs)) == 1:
            return Verdict(theirs[0])
        return next((Verdict(vote.value) for vote in votes if name_key(vote.annotator) == name_key(referee)), None)

    return rule
