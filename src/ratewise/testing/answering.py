"""What the judge server says: it reads the fenced content of a request, rates it by the hidden rule, and words it."""

import json
import math
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ratewise.testing.hidden_rule import HiddenRule, logistic

_BLOCK = re.compile(r"^BEGIN ([0-9a-f]{16})\n(.*?)\nEND \1$", re.DOTALL | re.MULTILINE)
_LINE = re.compile(r"VERDICT, the code ([0-9a-f]{16})")
_RANGE = re.compile(r"number from (-?[0-9.]+) to (-?[0-9.]+)")
_TOKEN = re.compile(r"\s*(?:[A-Za-z]+|[0-9]|[^\sA-Za-z0-9])")


@dataclass(frozen=True, slots=True)
class VerdictChances:
    """What a request wants to know: its verdicts with their probabilities."""

    words: tuple[str, ...]
    chances: tuple[float, ...]

    def drawn(self, rng: random.Random, temperature: float) -> str:
        """A verdict: the likeliest at temperature 0, else a random one."""
        if temperature <= 0:
            return max(zip(self.chances, self.words, strict=True))[1]
        return rng.choices(self.words, self.chances)[0]


def rate(text: str, rule: HiddenRule, model: str, *, noise: float, position_bias: float) -> VerdictChances:
    """Rate what a request asks about: two answers where it shows three blocks or names a first and a second one."""
    blocks = [body for _, body in _BLOCK.findall(text)] or [text]
    seen = HiddenRule(rule.middle, rule.spread, noise)
    if re.search(r"\bfirst, second or tie\b", text) or (len(blocks) >= 3 and "second" in text):
        return _compared(blocks[-2], blocks[-1], seen, model, position_bias)
    content, scale = blocks[-1], _RANGE.search(text)
    logit = seen.seen(content, model)
    if scale is None:
        p = logistic(logit)
        return VerdictChances(("yes", "no"), (p, 1.0 - p))
    return _scored(logistic(logit), float(scale[1]), float(scale[2]))


def _compared(first: str, second: str, rule: HiddenRule, model: str, bias: float) -> VerdictChances:
    gap = rule.seen(first, model) - rule.seen(second, model) + bias
    tie = 0.15 * math.exp(-abs(gap))
    p = logistic(gap)
    return VerdictChances(("first", "second", "tie"), ((1 - tie) * p, (1 - tie) * (1 - p), tie))


def _scored(worth: float, low: float, high: float) -> VerdictChances:
    """A binomial distribution over the whole numbers of the scale."""
    steps = int(high - low)
    chances = [math.comb(steps, k) * worth**k * (1 - worth) ** (steps - k) for k in range(steps + 1)]
    return VerdictChances(tuple(f"{low + k:g}" for k in range(steps + 1)), tuple(chances))


def worded(asked: VerdictChances, word: str, body: Mapping[str, Any], text: str) -> str:
    """The verdict in the form that the request asks for."""
    sure = round(100 * asked.chances[asked.words.index(word)])
    schema = _schema(body)
    if schema is not None:
        return json.dumps(_object(schema, word, sure))
    code = _LINE.search(text)
    if code is not None:
        ending = f" {sure}" if "how sure you are" in text else ""
        return f"I looked at it closely.\nVERDICT {code[1]}: {word}{ending}"
    return word


def _schema(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    form = body.get("response_format")
    if not isinstance(form, Mapping):
        return None
    found = (form["schema"] if form.get("type") == "json_object" else form["json_schema"]["schema"])["properties"]
    return found if isinstance(found, Mapping) else None


def _object(schema: Mapping[str, Any], word: str, sure: int) -> dict[str, Any]:
    said: dict[str, Any] = {"confidence": sure}
    if "verdict" in schema:
        said["verdict"] = word if schema["verdict"]["type"] == "string" else json.loads(word)
    return {name: said.get(name, "I looked at it closely.") for name in schema}


def tokens_of(text: str) -> list[str]:
    """The text in pieces: words, digits and signs, each with the space before it."""
    found = _TOKEN.findall(text)
    rest = text[sum(map(len, found)) :]
    return [*found, rest] if rest else found


def logprobs_of(answer: str, word: str, asked: VerdictChances) -> list[dict[str, Any]]:
    """Tokens of an answer: sure of all but the verdict, whose alternatives come in several spellings."""
    tokens = tokens_of(answer)
    place = max((i for i, token in enumerate(tokens) if token.strip() == tokens_of(word)[0].strip()), default=-1)
    listed = [_alternatives(asked, token) if i == place else {token: 0.0} for i, token in enumerate(tokens)]
    return [_place(token, alternatives) for token, alternatives in zip(tokens, listed, strict=True)]


def _alternatives(asked: VerdictChances, token: str) -> dict[str, float]:
    """Verdicts in the spelling of the token, and a little of each in capitals; and a word that is no verdict."""
    space = token[: len(token) - len(token.lstrip())]
    out: dict[str, float] = {}
    for word, p in zip(asked.words, asked.chances, strict=True):
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


def decided(question: Mapping[str, Any], asked: VerdictChances) -> dict[str, Any]:
    """An answer of the decisions endpoint."""
    kind, name = question.get("type"), question.get("name")
    if kind == "predicate":
        return {"type": kind, "name": name, "probability": asked.chances[0]}
    rows = list(zip(asked.words, asked.chances, strict=True))
    best = max(rows, key=lambda row: row[1])
    if kind == "choice":
        listed: Sequence[dict[str, Any]] = [{"value": word, "probability": p} for word, p in rows]
        return {"type": kind, "name": name, "choice": best[0], "confidence": best[1], "probabilities": listed}
    listed = [{"label": word, "value": i, "probability": p} for i, (word, p) in enumerate(rows)]
    score = sum(i * p for i, (_, p) in enumerate(rows))
    return {"type": "score", "name": name, "score": score, "confidence": best[1], "probabilities": listed}
