"""The rule by which the judge server rates: every text has a hidden worth, and models see it through noise.

worth(text)     between 0 and 1: the chance that careful people find the content right
truth(text)     0 or 1: what careful people would say
seen(text, …)   a model's own estimate of the worth: the same text always gets the same one
"""

import hashlib
import math
from dataclasses import dataclass
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
