"""What a judge may say: words with values for verdicts, or any number between two ends."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from statistics import median
from typing import Any

from ratewise.judges.template import JudgeKind

FIRST, SECOND, TIE = "first", "second", "tie"
_NUMBER = re.compile(r"[+-]?[0-9]{1,12}(\.[0-9]{1,12})?")
_MOST_NUMBERS = 1000  # whole numbers of a score that are looked through
_MOST_WORDS = 101  # whole numbers of a likert scale that become words

Chances = Mapping[float, float]  # value → probability; they sum to 1


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Legal verdicts: `words` with their values; empty for a score, which is any number from `low` to `high`."""

    kind: JudgeKind
    low: float
    high: float
    words: tuple[str, ...] = ()
    values: tuple[float, ...] = ()

    @classmethod
    def of(cls, kind: JudgeKind, low: float, high: float) -> "Verdicts":
        if kind == "binary":
            return cls(kind, 0.0, 1.0, ("yes", "no"), (1.0, 0.0))
        if kind == "pairwise":
            return cls(kind, 0.0, 1.0, (FIRST, SECOND, TIE), (1.0, 0.0, 0.5))
        if kind == "likert" and high - low < _MOST_WORDS:
            numbers = range(math.ceil(low), math.floor(high) + 1)
            return cls(kind, low, high, tuple(map(str, numbers)), tuple(map(float, numbers)))
        return cls(kind, low, high)

    def read(self, word: object) -> float | None:
        """The value of a verdict; None for anything that is not exactly one, whatever its spaces and capitals."""
        if isinstance(word, bool) or not isinstance(word, str | int | float):
            return None
        text = (word if isinstance(word, str) else f"{word:g}" if isinstance(word, float) else str(word)).strip()
        if self.words:
            return dict(zip(self.words, self.values, strict=True)).get(text.lower())
        if not _NUMBER.fullmatch(text):
            return None
        number = float(text)
        legal = self.low <= number <= self.high and (self.kind != "likert" or number.is_integer())
        return number if legal else None

    def beginning(self, text: str) -> list[float]:
        """Values of the verdicts whose words begin so; of a score, only whole numbers are counted."""
        if not text:
            return []
        if self.words:
            return [value for word, value in zip(self.words, self.values, strict=True) if word.startswith(text)]
        numbers = range(math.ceil(self.low), math.floor(self.high) + 1) if self.high - self.low <= _MOST_NUMBERS else ()
        return [float(number) for number in numbers if str(number).startswith(text)]

    def goes_on(self, text: str) -> bool:
        """Whether a longer verdict begins so; a number always may, by its decimals."""
        return not self.words or any(word.startswith(text) and word != text for word in self.words)

    @property
    def said(self) -> str:
        if self.kind == "binary":
            return "yes or no"
        if self.kind == "pairwise":
            return f"{FIRST}, {SECOND} or {TIE}"
        whole = "a whole number" if self.kind == "likert" else "a number"
        return f"{whole} from {self.low:g} to {self.high:g}"

    def schema(self) -> dict[str, object]:
        if self.words:
            return {"type": "string", "enum": list(self.words)}
        return {"type": "integer" if self.kind == "likert" else "number"}


def mixed(parts: Sequence[Chances]) -> dict[float, float]:
    """The mean of several distributions."""
    out: dict[float, float] = {}
    for part in parts:
        for value, p in part.items():
            out[value] = out.get(value, 0.0) + p / len(parts)
    return out


def mean_of(chances: Chances) -> float:
    """Expected value."""
    return math.fsum(value * p for value, p in chances.items())


def variance_of(chances: Chances) -> float:
    """Expected squared distance from the expected value; never below 0."""
    mean = mean_of(chances)
    return max(math.fsum((value - mean) ** 2 * p for value, p in chances.items()), 0.0)


def from_confidence(verdicts: Verdicts, value: float, confidence: float) -> dict[float, float]:
    """A verdict with its stated confidence; the rest is spread evenly over the other verdicts."""
    others = [v for v in verdicts.values if v != value]
    if not others:
        return {value: 1.0}
    rest = (1.0 - confidence) / len(others)
    return {value: confidence, **dict.fromkeys(others, rest)}


@dataclass(frozen=True, slots=True)
class Ballot:
    """What one call said: the verdict, and the chances of all verdicts where the source tells them."""

    vote: float
    chances: Chances
    told: bool  # whether the chances come from the source, or are the bare vote
    answer: str = field(default="", compare=False)  # the whole answer, without the code of its call


@dataclass(frozen=True, slots=True)
class NoVerdict:
    """A reply without a verdict: why, and whether asking for the verdict alone may help."""

    reason: str
    answer: str = ""
    repairable: bool = False


PER_ANSWER = ("logprobs", "verbal")  # sources that tell a probability with each answer, or fail to
MANY_ALIKE = 5  # items on which all samples agree to the letter
Place = tuple[bool, int]  # (whether the answers were swapped, number of the sample)


@dataclass(frozen=True, slots=True)
class JudgeVerdict:
    """A judge's verdict on an item. `value` is what it expects, `hard` is the majority's verdict."""

    value: float | None  # None: there is no rating
    hard: float | None
    doubt: float | None  # expected squared error, by its own chances; None where they are not known
    price: Decimal
    note: str  # JSON of who has answered; or why there is no rating
    repeated: bool = False  # whether it was asked for an item of the same text before, and cost nothing now


def counted(
    ballots: Mapping[Place, Ballot | NoVerdict], verdicts: Verdicts, *, paid: Decimal, facts: Mapping[str, Any]
) -> JudgeVerdict:
    """What all ballots come to. One without a verdict is left out; where an order has none left, there is no rating."""
    good = {  # in terms of a and b, whichever was shown first
        place: Ballot(1.0 - one.vote, {1.0 - value: p for value, p in one.chances.items()}, one.told)
        if place[0]
        else one
        for place, one in ballots.items()
        if isinstance(one, Ballot)
    }
    orders = sorted({swap for swap, _ in ballots})
    if any(not any(place[0] == swap for place in good) for swap in orders):
        lost = next(ballot.reason for ballot in ballots.values() if isinstance(ballot, NoVerdict))
        return JudgeVerdict(None, None, None, paid, lost)
    parts = [mixed([b.chances for place, b in good.items() if place[0] == swap]) for swap in orders]
    chances = mixed(parts)
    told = len(good) > 1 or all(ballot.told for ballot in good.values())
    note = dict(facts)
    if len(orders) == 2:
        note |= {name: round(mean_of(part), 6) for name, part in zip(("ab", "ba"), parts, strict=True)}
    if len(good) < len(ballots):
        note["lost"] = len(ballots) - len(good)
    bare = sum(not ballot.told for ballot in good.values())
    if bare and facts.get("source") in PER_ANSWER:
        note["bare"] = bare
    if _are_alike(ballots):
        note["alike"] = True
    hard = majority([good[place].vote for place in sorted(good)], verdicts)
    doubt = variance_of(chances) if told else None
    return JudgeVerdict(mean_of(chances), hard, doubt, paid, json.dumps(note, ensure_ascii=False))


def alike_said(items: int, samples: int) -> str:
    """What is told where samples bring nothing new."""
    return (
        f"all {samples} samples were the same answer, word for word, on each of {items:,} items: the server does not "
        "sample, or the judge is sure of everything, and more samples cost more for nothing; write samples = 1, or let "
        "it sample: temperature = 1, or for some servers do_sample in the model's generation_config.json"
    )


def _are_alike(ballots: Mapping[Place, Ballot | NoVerdict]) -> bool:
    """Whether all samples of an order are the same answer, word for word, in every order."""
    answers: dict[bool, list[str]] = {}
    for (swap, _), ballot in ballots.items():
        answers.setdefault(swap, []).append(ballot.answer)
    return all(len(said) > 1 and said[0] and len(set(said)) == 1 for said in answers.values())


def majority(votes: Sequence[float], verdicts: Verdicts) -> float:
    """The median of votes; of comparisons, the verdict of most votes, and as many for a as for b is a tie.

    Votes that are split evenly come to the mean of the two middle ones, as people's do: of one yes and one no, 0.5.
    """
    if verdicts.kind != "pairwise":
        return median(votes)
    ones, zeros = (sum(vote == end for vote in votes) for end in (1.0, 0.0))
    if ones == zeros or len(votes) - ones - zeros > max(ones, zeros):
        return 0.5
    return 1.0 if ones > zeros else 0.0


@dataclass(frozen=True, slots=True)
class PlaceEffect:
    """How verdicts on pairs follow the place in which an answer stands."""

    pairs: int
    first: int  # pairs in which the first place won in both orders
    second: int  # pairs in which the second place won in both orders
    gain: float  # mean rating of an answer when it stands first, less its rating when it stands second
    gain_se: float | None  # None for one pair

    @property
    def said(self) -> str:
        more = "" if self.gain_se is None else f" ± {1.96 * self.gain_se:.3f}"
        return (
            f"the verdict followed the place in {self.first + self.second:,} of {self.pairs:,} pairs "
            f"({self.first:,} times the first, {self.second:,} times the second); "
            f"standing first is worth {self.gain:+.3f}{more}"
        )


def place_effect(notes: Sequence[str]) -> PlaceEffect | None:
    """The effect of the place, from what is stored with the ratings; None where no pair was asked in both orders."""
    pairs = []
    for note in notes:
        with suppress(ValueError, TypeError, KeyError):
            row = json.loads(note)
            pairs.append((float(row["ab"]), float(row["ba"])))
    if not pairs:
        return None
    gains = [ab - ba for ab, ba in pairs]
    mean = math.fsum(gains) / len(gains)
    spread = math.fsum((gain - mean) ** 2 for gain in gains)
    error = math.sqrt(spread / (len(gains) - 1) / len(gains)) if len(gains) > 1 else None
    first = sum(ab > 0.5 > ba for ab, ba in pairs)
    second = sum(ab < 0.5 < ba for ab, ba in pairs)
    return PlaceEffect(len(pairs), first, second, mean, error)
