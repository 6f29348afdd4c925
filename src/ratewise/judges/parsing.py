"""The verdict in a judge's answer, strictly: exactly what was asked for, in the place where it was asked for, or none.

Words in quoted content cannot be taken for a verdict: JSON must be the whole answer, and the line of an answer in words
must carry the code of its call, which content cannot know.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

from ratewise.judges.prompt import Prompt
from ratewise.judges.scale import Verdicts

_LONGEST = 200_000  # characters of an answer that are looked at
_FENCED = re.compile(r"```(?:json)?\s*\n(?P<body>.*)\n```", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Said:
    """A verdict as a value, where in the answer it stands, and the confidence stated with it, from 0 to 1."""

    value: float
    start: int  # of its word in the answer
    word: str
    confidence: float | None = None


def read_answer(answer: str, prompt: Prompt, verdicts: Verdicts) -> Said | None:
    """The verdict of an answer; None where there is none in the form asked for."""
    if len(answer) > _LONGEST:
        return None
    return _from_json(answer, prompt, verdicts) if prompt.asked.form == "json" else _from_line(answer, prompt, verdicts)


def _from_json(answer: str, prompt: Prompt, verdicts: Verdicts) -> Said | None:
    body = answer.strip()
    found = _FENCED.fullmatch(body)
    body = found["body"].strip() if found else body
    try:
        row = json.loads(body, object_pairs_hook=_unique, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return None
    if not isinstance(row, dict) or not row.keys() <= {"reasons", "verdict", "confidence"}:
        return None
    value = verdicts.read(row.get("verdict"))
    if value is None:
        return None
    confidence = _confidence(row.get("confidence"))
    if prompt.asked.confidence and confidence is None:
        return None
    word = str(row["verdict"])
    return Said(value, _place(answer, word), word.strip(), confidence)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    if len(set(names)) != len(names):
        raise ValueError("a key stands twice")
    return dict(pairs)


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no number")


def _place(answer: str, word: str) -> int:
    """Where the verdict's word stands: after the last key of that name, as JSON writes it."""
    keys = list(re.finditer(r'"verdict"\s*:\s*"?\s*', answer))
    return next((key.end() for key in reversed(keys) if answer.startswith(word.strip(), key.end())), -1)


def _from_line(answer: str, prompt: Prompt, verdicts: Verdicts) -> Said | None:
    """The one line with the call's code; a second one is no answer, since it is not known which is meant."""
    line = rf"^[ \t*]*VERDICT[ \t]+{re.escape(prompt.code)}[ \t]*:[ \t]*(?P<said>.*?)[ \t*.]*$"
    found = list(re.finditer(line, answer, re.MULTILINE))
    if len(found) != 1 or answer[found[0].end() :].strip():
        return None
    said, confidence = found[0]["said"], None
    if prompt.asked.confidence:
        said, _, number = said.rpartition(" ")
        confidence = _confidence(number.strip("%"))
        if confidence is None:
            return None
    value = verdicts.read(said)
    return None if value is None else Said(value, found[0].start("said"), said.strip(), confidence)


def _confidence(raw: object) -> float | None:
    if isinstance(raw, str) and re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,6})?", raw):
        raw = float(raw)
    if isinstance(raw, bool) or not isinstance(raw, int | float) or not 0 <= raw <= 100:
        return None
    return raw / 100
