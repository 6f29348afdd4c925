"""What the judge server says: it reads the fenced content of a request, rates it by the hidden rule, and words it."""

import json
import math
import random
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ratewise.testing.hidden_rule import HiddenRule, logistic

_BLOCK = re.compile(r"^BEGIN ([0-9a-f]{16})\n(.*?)\nEND \1$", re.DOTALL | re.MULTILINE)
_LINE = re.compile(r"VERDICT, the code ([0-9a-f]{16})")
_RANGE = re.compile(r"number from (-?[0-9.]+) to (-?[0-9.]+)")
_REASONS = "I looked at it closely."
_TOKEN = re.compile(r"\s*(?:[A-Za-z]+|[0-9]|[^\sA-Za-z0-9])")


Asked = Mapping[str, float]  # verdicts of a request with their probabilities


def rate(text: str, rule: HiddenRule, model: str, *, noise: float, position_bias: float) -> Asked:
    """Rate what a request asks about: two answers where it shows three blocks or names a first and a second one.

    A score has a binomial distribution over the whole numbers of its scale.
    """
    blocks = [body for _, body in _BLOCK.findall(text)] or [text]
    seen = replace(rule, noise=noise)
    if re.search(r"\bfirst, second or tie\b", text) or (len(blocks) >= 3 and "second" in text):
        gap = seen.seen(blocks[-2], model) - seen.seen(blocks[-1], model) + position_bias
        tie, p = 0.15 * math.exp(-abs(gap)), logistic(gap)
        return {"first": (1 - tie) * p, "second": (1 - tie) * (1 - p), "tie": tie}
    worth, scale = logistic(seen.seen(blocks[-1], model)), _RANGE.search(text)
    if scale is None:
        return {"yes": worth, "no": 1.0 - worth}
    low, steps = float(scale[1]), int(float(scale[2]) - float(scale[1]))
    return {f"{low + k:g}": math.comb(steps, k) * worth**k * (1 - worth) ** (steps - k) for k in range(steps + 1)}


def drawn(asked: Asked, rng: random.Random, temperature: float) -> str:
    """A verdict: the likeliest at temperature 0, else a random one."""
    if temperature <= 0:
        return max(asked, key=lambda word: (asked[word], word))
    return rng.choices(list(asked), list(asked.values()))[0]


def worded(asked: Asked, word: str, body: Mapping[str, Any], text: str) -> str:
    """The verdict in the form that the request asks for."""
    sure, form, code = round(100 * asked[word]), body.get("response_format"), _LINE.search(text)
    if isinstance(form, Mapping):
        schema = form["schema"] if form.get("type") == "json_object" else form["json_schema"]["schema"]
        verdict = schema["properties"].get("verdict", {})
        said = {
            "confidence": sure,
            "verdict": json.loads(word) if verdict.get("type") in ("integer", "number") else word,
        }
        return json.dumps({name: said.get(name, _REASONS) for name in schema["properties"]})
    if code is None:
        return word
    return f"{_REASONS}\nVERDICT {code[1]}: {word}{f' {sure}' if 'how sure you are' in text else ''}"


def tokens_of(text: str) -> list[str]:
    """The text in pieces: words, digits and signs, each with the space before it."""
    found = _TOKEN.findall(text)
    rest = text[sum(map(len, found)) :]
    return [*found, rest] if rest else found


def logprobs_of(answer: str, word: str, asked: Asked) -> list[dict[str, Any]]:
    """Tokens of an answer: sure of all but the verdict, whose alternatives come in several spellings."""
    tokens = tokens_of(answer)
    place = max((i for i, token in enumerate(tokens) if token.strip() == tokens_of(word)[0].strip()), default=-1)
    return [
        _place(token, _alternatives(asked, token) if i == place else {token: 0.0}) for i, token in enumerate(tokens)
    ]


def _alternatives(asked: Asked, token: str) -> dict[str, float]:
    """Verdicts in the spelling of the token, and a little of each in capitals; and a word that is no verdict."""
    space = token[: len(token) - len(token.lstrip())]
    out: dict[str, float] = {}
    for word, p in asked.items():
        for spelling, share in ((space + word, 0.9), (space + word.upper(), 0.06)):
            out[spelling] = out.get(spelling, 0.0) + share * p
    out[space + "maybe"] = 0.04
    return {spelling: math.log(max(p, 1e-12)) for spelling, p in out.items()}


def _place(token: str, listed: Mapping[str, float]) -> dict[str, Any]:
    top = sorted(listed.items(), key=lambda pair: -pair[1])[:20]
    return {
        "token": token, "logprob": listed.get(token, 0.0), "bytes": list(token.encode()),
        "top_logprobs": [{"token": t, "logprob": p, "bytes": list(t.encode())} for t, p in top],
    }  # fmt: skip


def decided(question: Mapping[str, Any], asked: Asked) -> dict[str, Any]:
    """An answer of the decisions endpoint."""
    kind, name = question.get("type"), question.get("name")
    if kind == "predicate":
        return {"type": kind, "name": name, "probability": asked["yes"]}
    best, p = max(asked.items(), key=lambda row: row[1])
    if kind == "choice":
        choices = [{"value": word, "probability": q} for word, q in asked.items()]
        return {"type": kind, "name": name, "choice": best, "confidence": p, "probabilities": choices}
    levels = [{"label": word, "value": i, "probability": q} for i, (word, q) in enumerate(asked.items())]
    score = sum(i * q for i, q in enumerate(asked.values()))
    return {"type": "score", "name": name, "score": score, "confidence": p, "probabilities": levels}
