"""Which columns people must not see while they label: those whose names say that somebody rated, or which system.

The one rule of the labelling page, of sheets and of exports. It goes by names alone, so that a column is shown for all
items or for none.
"""

import re
from collections.abc import Iterable

SYSTEMS = {
    "model", "model_a", "model_b", "model_name", "system", "system_a", "system_b", "provider", "source", "winner",
}  # fmt: skip
"""Columns that tell who wrote an answer."""

STRONG = dict.fromkeys(("human", "humans", "expert", "gold", "strong", "annotator", "person", "people", "reviewer"), 5)
STRONG |= dict.fromkeys(("truth", "label", "labels", "annotation", "manual", "true"), 4) | {"rating": 1}
"""Words in the name of a person's rating, and how much each says so."""

WEAK = dict.fromkeys(("judge", "weak", "llm", "autorater", "gpt", "claude", "gemini", "llama", "reward"), 5)
WEAK |= {"auto": 4, "probability": 3, "prob": 3, "confidence": 2, "score": 1}
WEAK |= dict.fromkeys(("model", "predicted", "prediction"), 3)
"""The same of a machine's rating."""

_ALWAYS = {
    "judge", "judges", "judged", "graded", "grader", "autorater", "rater", "raters", "rating", "ratings", "score",
    "scores", "verdict", "verdicts", "annotator", "annotators", "reviewer", "reviewers", "reward", "uncertainty",
}  # fmt: skip
_VERDICTS = {"exact_match", "success", "correct", "passed"}  # as whole names, or the last part of rubric/correct
_PLAINLY = 5
_TEXTS = {"model", "prediction", "predicted"}  # which name the text that is rated as often as a rating of it


def words_in(name: str) -> list[str]:
    """The words of a column's name in small letters, without numbers."""
    return re.findall(r"[a-z]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).lower())


def of_people(name: str) -> bool:
    """Whether a score of this name is one that people gave, as far as names say: Human, expert_rating."""
    words = set(words_in(name))
    return any(STRONG.get(word, 0) >= _PLAINLY for word in words) and not words & WEAK.keys()


def tells(name: str) -> bool:
    """Whether a column of this name would tell a labeller what to expect: another's rating, or the system."""
    plain, words = name.lower(), set(words_in(name))
    if plain in SYSTEMS or plain.rsplit("/", 1)[-1] in _VERDICTS or words & _ALWAYS:
        return True
    return bool(words) and words <= (STRONG.keys() | WEAK.keys()) - _TEXTS


def seen(columns: Iterable[str], *, hidden: Iterable[str] = ()) -> list[str]:
    """The columns that people see where nobody says which: neither those that are hidden nor those that tell."""
    out = set(hidden)
    return [name for name in columns if name not in out and not tells(name)]
