"""The verdict in a judge's answer, strictly: exactly what was asked for, in the place where it was asked for, or none.

Words in quoted content cannot be taken for a verdict: JSON must be the whole answer, and the line of an answer in words
must carry the code of its call, which content cannot know.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ratewise.judges.prompt import Prompt
from ratewise.judges.verdicts import Ballot, Chances, NoVerdict, Verdicts, from_confidence

_LONGEST = 200_000  # characters of an answer that are looked at
_FENCED = re.compile(r"```(?:json)?\s*\n(?P<body>.*)\n```", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    """A verdict as a value, where in the answer it stands, and the confidence stated with it, from 0 to 1."""

    value: float
    start: int  # of its word in the answer
    confidence: float | None = None


def read_answer(answer: str, prompt: Prompt, verdicts: Verdicts) -> ReadAnswer | None:
    """The verdict of an answer; None where there is none in the form asked for."""
    if len(answer) > _LONGEST:
        return None
    return _from_json(answer, prompt, verdicts) if prompt.rung.form != "line" else _from_line(answer, prompt, verdicts)


def _from_json(answer: str, prompt: Prompt, verdicts: Verdicts) -> ReadAnswer | None:
    body = answer.strip()
    found = _FENCED.fullmatch(body)
    body = found["body"].strip() if found else body
    try:
        row = json.loads(body, object_pairs_hook=_unique)
    except (ValueError, RecursionError):
        return None
    if not isinstance(row, dict) or not row.keys() <= {"reasons", "verdict", "confidence"}:
        return None
    value = verdicts.read(row.get("verdict"))
    if value is None:
        return None
    confidence = _confidence(row.get("confidence"))
    if prompt.rung.source == "verbal" and confidence is None:
        return None
    return ReadAnswer(value, _place(answer, str(row["verdict"])), confidence)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a key stands twice")
    return dict(pairs)


def _place(answer: str, word: str) -> int:
    """Where the verdict's word stands: after the last key of that name, as JSON writes it."""
    keys = list(re.finditer(r'"verdict"\s*:\s*"?\s*', answer))
    return next((key.end() for key in reversed(keys) if answer.startswith(word.strip(), key.end())), -1)


def _from_line(answer: str, prompt: Prompt, verdicts: Verdicts) -> ReadAnswer | None:
    """The one line with the call's code; a second one is no answer, since it is not known which is meant."""
    line = rf"^[ \t*]*VERDICT[ \t]+{re.escape(prompt.code)}[ \t]*:[ \t]*(?P<said>.*?)[ \t*.]*$"
    found = list(re.finditer(line, answer, re.MULTILINE))
    if len(found) != 1 or answer[found[0].end() :].strip():
        return None
    said, confidence = found[0]["said"], None
    if prompt.rung.source == "verbal":
        said, _, number = said.rpartition(" ")
        confidence = _confidence(number.strip("%"))
        if confidence is None:
            return None
    value = verdicts.read(said)
    return None if value is None else ReadAnswer(value, found[0].start("said"), confidence)


def _confidence(raw: object) -> float | None:
    if isinstance(raw, str) and re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,6})?", raw):
        raw = float(raw)
    if isinstance(raw, bool) or not isinstance(raw, int | float) or not 0 <= raw <= 100:
        return None
    return raw / 100


_LEAST = 0.05  # of the probability must be on verdicts, or they say little about the answer
_QUOTES = " \t\n\r\"'*`.,:;!"
_WORD = re.compile(r"[a-z]+|[0-9+.-]+")


def chances_of(
    content: Sequence[Mapping[str, Any]], answer: str, said: ReadAnswer, verdicts: Verdicts
) -> dict[float, float] | None:
    """value → probability by the tokens of the verdict; None where they are not found or do not tell."""
    tokens = [_bytes(row) for row in content]
    at = _place_of_tokens(b"".join(tokens), answer, said)
    if at < 0:
        return None
    weights: dict[float, float] = {}
    left, written, end = 1.0, "", 0  # probability of what of the verdict is written so far
    for row, token in zip(content, tokens, strict=True):
        start, end = end, end + len(token)
        if end <= at:
            continue
        before = token[: max(at - start, 0)].decode("utf-8", "replace")
        word, is_over = _read(token.decode("utf-8", "replace"), before, written)
        passed_on = 0.0
        listed = [(*_read(text, before, written), p) for text, p in _top_tokens(row).items()]
        whole = any(len(other) > len(written) + 1 and verdicts.read(other) is not None for other, _, _ in listed)
        for other, ends_here, p in listed:
            if (other, ends_here) == (word, is_over):
                passed_on += p
                continue
            value = verdicts.read(other) if ends_here else _begun(other, said.value, whole, verdicts)
            if value is not None:
                weights[value] = weights.get(value, 0.0) + left * p
        left, written = left * passed_on, word
        if is_over or not verdicts.goes_on(word):
            break
    if verdicts.read(written.rstrip(".")) != said.value:
        return None
    weights[said.value] = weights.get(said.value, 0.0) + left
    total = math.fsum(weights.values())
    return None if total < _LEAST else {value: weight / total for value, weight in weights.items()}


def _place_of_tokens(joined: bytes, answer: str, said: ReadAnswer) -> int:
    """Where the verdict's word stands in the joined tokens; −1 where it is not found.

    Servers trim answers, and leave out what was thought before, so places in answer and tokens differ.
    """
    if said.start < 0:
        return -1
    tail = answer[said.start :].rstrip().encode("utf-8", "replace")
    whole = answer.strip().encode("utf-8", "replace")
    at = joined.rfind(whole)
    return joined.rfind(tail) if at < 0 else at + len(whole) - len(tail)


def _bytes(row: Mapping[str, Any]) -> bytes:
    """A token as the server counts it: its bytes, which may be half a letter, or its text."""
    found = row.get("bytes")
    if isinstance(found, list) and all(isinstance(b, int) and 0 <= b < 256 for b in found):
        return bytes(found)
    token = row.get("token")
    return token.encode("utf-8", "replace") if isinstance(token, str) else b""


def _read(token: str, before: str, written: str) -> tuple[str, bool]:
    """(what is written of a word after a token, whether the word is over with it)."""
    text = token.removeprefix(before).lower()
    text = text if written else text.lstrip(_QUOTES)
    found = _WORD.match(text)
    more = found[0] if found else ""
    is_over = len(more) < len(text)
    return (written + more).rstrip("." if is_over else ""), is_over


def _top_tokens(row: Mapping[str, Any]) -> dict[str, float]:
    """token → probability of the likeliest tokens at a place, the one that was taken among them."""
    top = row.get("top_logprobs")
    out: dict[str, float] = {}
    for one in [*(top if isinstance(top, list) else []), row]:
        logprob = one.get("logprob") if isinstance(one, Mapping) else None
        if isinstance(logprob, int | float) and not isinstance(logprob, bool) and logprob <= 1e-6:
            out.setdefault(_bytes(one).decode("utf-8", "replace"), math.exp(logprob))
    return out


def _begun(text: str, verdict: float, whole: bool, verdicts: Verdicts) -> float | None:
    """The verdict that begins so: itself where the list has `whole` numbers, else the nearest to the one given."""
    itself, found = verdicts.read(text), verdicts.beginning(text)
    if (whole and itself is not None) or (len(found) > 1 and not text.isdigit()):
        return itself
    return min(found, key=lambda value: (abs(value - verdict), value), default=itself)


def read_reply(data: Mapping[str, Any], prompt: Prompt, verdicts: Verdicts) -> Ballot | NoVerdict | None:
    """The ballot in a reply; None where the reply is not what the protocol says."""
    if prompt.rung.source == "decisions":
        return _decision(data, verdicts)
    choice = _only(data.get("choices"))
    message = None if choice is None else choice.get("message")
    if choice is None or not isinstance(message, Mapping):
        return None
    answer, refusal = message.get("content"), message.get("refusal")
    if (isinstance(refusal, str) and refusal) or choice.get("finish_reason") == "content_filter":
        return NoVerdict("the judge refused to answer")
    if not isinstance(answer, str):
        return NoVerdict("the judge gave no text", repairable=True)
    said = read_answer(answer, prompt, verdicts)
    if said is None:
        cut = " (it was cut at max_tokens)" if choice.get("finish_reason") == "length" else ""
        return NoVerdict(f"the answer holds no verdict{cut}", answer, repairable=True)
    chances: Chances | None = None
    if prompt.rung.source == "logprobs":
        chances = chances_of(_token_list(choice), answer, said, verdicts)
    elif prompt.rung.source == "verbal" and said.confidence is not None and verdicts.words:
        chances = from_confidence(verdicts, said.value, said.confidence)
    bare = {said.value: 1.0} if chances is None else chances
    return Ballot(said.value, bare, chances is not None, answer.replace(prompt.code, ""))


def has_logprobs(data: Mapping[str, Any]) -> bool:
    """Whether a reply has log-probabilities at all."""
    choice = _only(data.get("choices"))
    return choice is not None and bool(_token_list(choice))


def _token_list(choice: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    logprobs = choice.get("logprobs")
    content = logprobs.get("content") if isinstance(logprobs, Mapping) else None
    return [row for row in content if isinstance(row, Mapping)] if isinstance(content, list) else []


def _decision(data: Mapping[str, Any], verdicts: Verdicts) -> Ballot | NoVerdict | None:
    answer = _only(data.get("answers"))
    if answer is None:
        return None
    if answer.get("type") == "refusal":
        return NoVerdict("the judge refused to answer")
    if answer.get("type") == "predicate":
        p = _probability(answer.get("probability"))
        weights = {} if p is None else {1.0: p, 0.0: 1.0 - p}
    else:
        weights = _listed(answer, verdicts)
    total = sum(weights.values())
    if total <= 0:
        return None
    chances = {value: weight / total for value, weight in weights.items()}
    likeliest = min(chances, key=lambda value: (-chances[value], value))  # the lowest of equals
    return Ballot(likeliest, chances, told=True)


def _listed(answer: Mapping[str, Any], verdicts: Verdicts) -> dict[float, float]:
    """Probabilities of a choice or a score, by verdict."""
    out: dict[float, float] = {}
    rows = answer.get("probabilities")
    for row in rows if isinstance(rows, list) else []:
        word = row.get("label", row.get("value")) if isinstance(row, Mapping) else None
        value, p = verdicts.read(word), _probability(row.get("probability") if isinstance(row, Mapping) else None)
        if value is not None and p is not None:
            out[value] = out.get(value, 0.0) + p
    return out


def _probability(raw: object) -> float | None:
    is_one = isinstance(raw, int | float) and not isinstance(raw, bool) and 0 <= raw <= 1
    return float(raw) if is_one else None  # type: ignore[arg-type]


def _only(rows: object) -> Mapping[str, Any] | None:
    return rows[0] if isinstance(rows, list) and len(rows) == 1 and isinstance(rows[0], Mapping) else None
