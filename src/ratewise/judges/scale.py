"""What a judge may say: words with values for verdicts, or any number between two ends."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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
        """The verdicts of a kind on a scale."""
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
        """The scale in words."""
        if self.kind == "binary":
            return "yes or no"
        if self.kind == "pairwise":
            return f"{FIRST}, {SECOND} or {TIE}"
        whole = "a whole number" if self.kind == "likert" else "a number"
        return f"{whole} from {self.low:g} to {self.high:g}"

    def schema(self) -> dict[str, object]:
        """JSON schema of one verdict."""
        if self.words:
            return {"type": "string", "enum": list(self.words)}
        return {"type": "integer" if self.kind == "likert" else "number"}


def certain(value: float) -> dict[float, float]:
    """All the probability on one value."""
    return {value: 1.0}


def swapped(chances: Chances) -> dict[float, float]:
    """A comparison with the answers in the other order."""
    return {1.0 - value: p for value, p in chances.items()}


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


def likeliest(chances: Chances) -> float:
    """The value of most probability; the lowest of equals."""
    return min(chances, key=lambda value: (-chances[value], value))


def from_confidence(verdicts: Verdicts, value: float, confidence: float) -> dict[float, float]:
    """A verdict with its stated confidence; the rest is spread evenly over the other verdicts."""
    others = [v for v in verdicts.values if v != value]
    if not others:
        return certain(value)
    rest = (1.0 - confidence) / len(others)
    return {value: confidence, **dict.fromkeys(others, rest)}
