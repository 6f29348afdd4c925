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

STRONG = dict.fromkeys(
    ("human", "humans", "expert", "gold", "strong", "annotator", "person", "people", "reviewer", "manual"), 5
)
STRONG |= dict.fromkeys(("truth", "label", "labels", "annotation", "true"), 4) | {"rating": 1}
"""Words in the name of a person's rating, and how much each says so."""

WEAK = dict.fromkeys(("judge", "weak", "llm", "autorater", "gpt", "claude", "gemini", "llama", "reward"), 5)
WEAK |= dict.fromkeys(("ai", "bot", "classifier", "deepseek", "heuristic", "mistral", "qwen"), 5)
WEAK |= {"auto": 4, "probability": 3, "prob": 3, "confidence": 2, "score": 1}
WEAK |= dict.fromkeys(("model", "pred", "predicted", "prediction"), 3)
"""The same of a machine's rating."""

_SCORE = 1  # people and machines both give scores
_OF_NOBODY = {"class", "correct", "final", "ground", "mean", "overall", "score"}  # beside label, they name no giver

_ALWAYS = {
    "judge", "judges", "judged", "graded", "grader", "autorater", "rater", "raters", "rating", "ratings", "score",
    "scores", "verdict", "verdicts", "annotator", "annotators", "reviewer", "reviewers", "reward", "uncertainty",
}  # fmt: skip
_VERDICTS = {"exact_match", "success", "correct", "passed", "acc", "accuracy"}
"""As whole names, the last part of rubric/correct, or after a verb: is_correct."""
_VERBS = {"is", "was", "has"}
_PLAINLY = 5
_TEXTS = {"model", "pred", "prediction", "predicted"}  # which name the text that is rated as often as a rating of it


def words_in(name: str) -> list[str]:
    """The words of a column's name in small letters, without numbers."""
    return re.findall(r"[a-z]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).lower())


def of_people(name: str) -> bool:
    """Whether a score of this name is one that people gave, as far as names say: Human, expert_rating."""
    words = set(words_in(name))
    return any(STRONG.get(word, 0) >= _PLAINLY for word in words) and not words & WEAK.keys()


def leaning(name: str) -> int:
    """Above 0 where a name says that people gave the ratings, below 0 where it says that a machine did; else 0.

    A label of somebody whom nobody knows (snorkel_label) may be a machine's, and one that a machine is named in is its.
    """
    words = {word for word in words_in(name) if len(word) > 1}
    strong, weak = (max((of.get(word, 0) for word in words), default=0) for of in (STRONG, WEAK))
    if strong and weak > _SCORE:
        return 0 if strong >= _PLAINLY else -weak
    if 0 < strong < _PLAINLY and words - STRONG.keys() - _OF_NOBODY:
        return 0
    return strong - weak


def tells(name: str) -> bool:
    """Whether a column of this name would tell a labeller what to expect: another's rating, or the system."""
    plain, words = name.lower(), set(words_in(name))
    last = plain.rsplit("/", 1)[-1]
    verdict = last in _VERDICTS or "_".join(word for word in words_in(name) if word not in _VERBS) in _VERDICTS
    if plain in SYSTEMS or verdict or words & _ALWAYS:
        return True
    return bool(words) and words <= (STRONG.keys() | WEAK.keys()) - _TEXTS


def seen(columns: Iterable[str], *, hidden: Iterable[str] = ()) -> list[str]:
    """The columns that people see where nobody says which: neither those that are hidden nor those that tell."""
    out = set(hidden)
    return [name for name in columns if name not in out and not tells(name)]
