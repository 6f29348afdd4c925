"""The rule by which the judge server rates: every text has a hidden worth, and models see it through noise.

worth(text)     between 0 and 1: the chance that careful people find the content right
truth(text)     0 or 1: what careful people would say
seen(text, …)   a model's own estimate of the worth: the same text always gets the same one
"""

import csv
import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist

_NORMAL = NormalDist()


def chance(*parts: str) -> float:
    """A number between 0 and 1 that is random but for these words: the same for the same words."""
    digest = hashlib.sha256("\x1f".join(parts).encode("utf-8", "replace")).digest()
    return (int.from_bytes(digest[:8], "big") + 0.5) / 2**64


def bell(*parts: str) -> float:
    """The same, from a normal distribution."""
    return _NORMAL.inv_cdf(chance(*parts))


@dataclass(frozen=True, slots=True)
class HiddenRule:
    """Worths are logistic in a normal number: `middle` and `spread` are its mean and deviation.

    A model sees that number with an error of `noise` times another normal number, so larger models have smaller noise.
    """

    middle: float = 0.8
    spread: float = 2.0
    noise: float = 1.0

    def quality(self, text: str) -> float:
        """The number behind the worth."""
        return self.middle + self.spread * bell("quality", text.strip())

    def worth(self, text: str) -> float:
        """The chance that careful people find the content right."""
        return logistic(self.quality(text))

    def truth(self, text: str) -> int:
        """What careful people say."""
        return int(chance("truth", text.strip()) < self.worth(text))

    def seen(self, text: str, model: str) -> float:
        """A model's estimate of the number behind the worth."""
        return self.quality(text) + self.noise * bell("noise", model, text.strip())

    def better(self, a: str, b: str) -> float:
        """What careful people say of two answers: 1 where a is better, 0 where b is, 0.5 where nobody could tell."""
        gap = self.quality(a) - self.quality(b)
        return 0.5 if abs(gap) < 0.25 else float(gap > 0)


def logistic(x: float) -> float:
    """1 / (1 + exp(−x)), without overflow."""
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


SHOWN = ("question", "answer")
_QUESTIONS = ("How do I cancel", "Why was I charged for", "Can I change", "Where do I find", "What happens to")
_THINGS = ("my subscription", "an order that is late", "my address", "the invoice", "my data", "a refund")
_ANSWERS = ("Open the settings and follow the steps.", "Write to us and we will see to it.", "It is on the last page.")


def content_of(row: Sequence[tuple[str, str]]) -> str:
    """The text by which the server rates an item: the columns that a judge is shown, as it is shown them."""
    return "\n\n".join(f"{name}:\n{text}" for name, text in row)


def made_up_rows(items: int, rule: HiddenRule, seed: int = 1) -> list[dict[str, str]]:
    """Questions and answers, with what careful people say of each."""
    rows = []
    for i in range(items):
        parts = [words[int(chance(str(seed), str(i), name) * len(words))]
                 for name, words in (("q", _QUESTIONS), ("t", _THINGS), ("a", _ANSWERS))]  # fmt: skip
        shown = {"question": f"{parts[0]} {parts[1]}?", "answer": f"{parts[2]} Ticket {seed}-{i}."}
        people = rule.truth(content_of(list(shown.items())))
        rows.append({"id": f"item-{i:05d}", **shown, "human": str(people)})
    return rows


def write_rows(path: Path, rows: Sequence[dict[str, str]]) -> None:
    """The rows as a CSV file."""
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, list(rows[0]))
        table.writeheader()
        table.writerows(rows)
