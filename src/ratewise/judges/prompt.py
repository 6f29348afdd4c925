"""What a judge is and what it is asked: instructions in the system message, the item and the question in the user's.

Content is data: it stands between two lines with a code that no content can know, since the code is a digest of it.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from ratewise.judges.ladder import Rung, Wish
from ratewise.judges.prices import TokenPrices, most_tokens, usual_tokens
from ratewise.judges.template import Template
from ratewise.judges.verdicts import Place, Verdicts

LONGEST = 20_000  # characters of one cell, where the TOML does not say
CHAT, DECISIONS = "chat/completions", "decisions"
Message = dict[str, str]
_TOP = 20  # log-probabilities that are asked for at each place
_MOST_LEVELS = 255
_ANY_CODE = "0" * 16  # of the dearest digits
_ASKED = 2  # messages of a prompt; what follows asks for the verdict again
_REPAIR = 100  # tokens of a request for the verdict alone, beside what was said before
_USUAL = 0.4  # of max_tokens, that reasons take
_SHORT = 12  # tokens of an answer without reasons


def fenced(code: str, cells: Sequence[tuple[str, str]], longest: int = LONGEST) -> str:
    """Named texts between two lines with the code; what is cut is told below the fence, where content cannot reach."""
    parts, notes = [], []
    for name, text in cells:
        line = " ".join(name.split())
        parts.append(f"{line}:\n{text[:longest]}" if name else text[:longest])
        if len(text) > longest:
            notes.append(f"(Note: {line or 'the text'} was cut: {longest:,} of {len(text):,} characters are shown.)")
    return "\n".join([f"BEGIN {code}", "\n\n".join(parts), f"END {code}", *notes])


def columns_read(show: Sequence[str], a: str | None, b: str | None) -> tuple[str, ...]:
    """Every column that a judge reads, once."""
    return tuple(dict.fromkeys(name for name in (*show, a, b) if name))


def shown_cells(item: Mapping[str, Any], columns: Sequence[str]) -> list[tuple[str, str]]:
    """(column, text) of what the judge sees."""
    return [(column, text_of(item.get(column))) for column in columns]


def text_of(cell: Any) -> str:
    """A cell as text: nothing for an empty one, JSON for lists and tables."""
    if cell is None:
        return ""
    if isinstance(cell, str):
        return cell
    return json.dumps(cell, ensure_ascii=False, default=str)


@dataclass(frozen=True, slots=True)
class Prompt:
    """Messages of one call, the code of their fences, and the rung that says how the answer is to look."""

    messages: tuple[Message, ...]
    code: str
    rung: Rung

    def repaired(self, answer: str, verdicts: Verdicts) -> "Prompt":
        """The same conversation, which goes on with a request for the verdict alone."""
        form = format_of(verdicts, self.rung, reasons=False, code=self.code)
        again = f"Your answer holds no verdict in the form asked for. {form}"
        more = ({"role": "assistant", "content": answer or "(no answer)"}, {"role": "user", "content": again})
        return replace(self, messages=(*self.messages, *more))


def format_of(verdicts: Verdicts, rung: Rung, *, reasons: bool, code: str) -> str:
    """How to answer, for the judge: as JSON, or with a line that carries the call's code."""
    if rung.source == "decisions":  # a decision is asked for beside the messages
        return ""
    confidence, sure = rung.source == "verbal", "how sure you are, from 0 to 100"
    if rung.form != "line":
        keys = ['"reasons" (your reasons, in short)'] if reasons else []
        keys += [f'"verdict" ({verdicts.said})'] + ([f'"confidence" ({sure})'] if confidence else [])
        first = "; write the reasons before you decide" if reasons else ""
        return f"Answer with one JSON object and nothing else. Its keys: {', '.join(keys)}{first}."
    begin = "First write your reasons, in short. Then end" if reasons else "Answer"
    number = f", a space, and {sure}" if confidence else ""
    return (
        f"{begin} with one line that consists of the word VERDICT, the code {code}, a colon, and your verdict "
        f"({verdicts.said}){number}."
    )


def answer_schema(verdicts: Verdicts, *, reasons: bool, confidence: bool) -> dict[str, Any]:
    """JSON schema of an answer, for servers that enforce one."""
    properties: dict[str, Any] = {"reasons": {"type": "string"}} if reasons else {}
    properties["verdict"] = verdicts.schema()
    if confidence:
        properties["confidence"] = {"type": "number"}
    return {
        "type": "object", "properties": properties, "required": list(properties), "additionalProperties": False,
    }  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSpec:
    """What a judge is: change any of it and it is another rater."""

    template: Template
    verdicts: Verdicts
    model: str
    criterion: str
    show: tuple[str, ...]  # columns that it is shown
    a: str = ""  # of a comparison, the columns of the two answers
    b: str = ""
    longest: int = LONGEST
    samples: int = 1
    wish: Wish = "auto"
    temperature: float | None = None  # None: 0 for a single answer, else the model's own
    max_tokens: int | None = None  # None: the template's
    structured: bool = True  # whether the server may be asked to enforce the form of answers

    @property
    def orders(self) -> tuple[bool, ...]:
        """Whether the answers are swapped, for each order that is asked."""
        return (False, True) if self.template.kind == "pairwise" else (False,)

    @property
    def calls(self) -> int:
        return len(self.orders) * self.samples

    @property
    def limit(self) -> int:
        """Tokens of an answer, at most."""
        return self.max_tokens or self.template.max_tokens

    def facts(self) -> dict[str, Any]:
        """Everything that makes it this judge, ready for JSON."""
        return {
            "model": self.model, "template": self.template.name, "template_sha256": self.template.digest,
            "criterion": self.criterion, "show": list(self.show), "a": self.a, "b": self.b,
            "longest": self.longest, "low": self.verdicts.low, "high": self.verdicts.high,
            "samples": self.samples, "probability": self.wish, "temperature": self.temperature,
            "max_tokens": self.limit,
        }  # fmt: skip

    @property
    def digest(self) -> str:
        """16 digits that name the judge."""
        return hashlib.sha256(json.dumps(self.facts(), sort_keys=True).encode()).hexdigest()[:16]

    @staticmethod
    def code(judge: str, text: str, place: Place) -> str:
        """The code of a call's fences, 64 bits: a digest of the judge, the text it is shown, and the call's place.

        Nothing in a request is random, so what is repeated is the same to the byte.
        """
        return hashlib.sha256(f"{judge} {text} {place}".encode()).hexdigest()[:16]

    def text_digest(self, item: Mapping[str, Any]) -> str:
        """The same for items of the same text."""
        cells = shown_cells(item, columns_read(self.show, self.a, self.b))
        return hashlib.sha256(json.dumps(cells, ensure_ascii=True).encode()).hexdigest()

    def prompt(self, item: Mapping[str, Any], rung: Rung, *, code: str, swap: bool = False) -> Prompt:
        """The prompt about an item, with the code of its fences; `swap` puts answer b first."""
        a, b = (self.b, self.a) if swap else (self.a, self.b)
        fields = {
            "criterion": self.criterion,
            "scale": self.verdicts.said,
            "format": format_of(self.verdicts, rung, reasons=self.template.reasons, code=code),
            "item": fenced(code, shown_cells(item, self.show), self.longest),
            "first": fenced(code, [("", text_of(item.get(a)))] if a else [], self.longest),
            "second": fenced(code, [("", text_of(item.get(b)))] if b else [], self.longest),
        }
        system, user = ({"role": role, "content": self.template.fill(role, fields)} for role in ("system", "user"))
        return Prompt((system, user), code, rung)

    def quote(self, item: Mapping[str, Any], prices: TokenPrices) -> tuple[Decimal, Decimal]:
        """(expected, most): what one item costs, by its text."""
        prompt, limit = self.prompt(item, Rung("none"), code=_ANY_CODE), self.limit
        messages = prompt.messages
        written = min(limit, max(_SHORT, round(_USUAL * limit))) if self.template.reasons else min(limit, _SHORT)
        usual = prices.most(usual_tokens(messages), written)
        longest = self.most_input(prompt)
        repair = prices.most(longest + limit + _REPAIR, limit)
        return self.calls * usual, self.calls * prices.most(longest, limit) + repair

    def most_input(self, prompt: Prompt) -> int:
        """More tokens than a call with this prompt takes in, whatever form of answers it asks for."""
        reasons, question = self.template.reasons, self._question() if self.can_decide else {}
        form = format_of(self.verdicts, Rung("verbal", takes=frozenset()), reasons=reasons, code=_ANY_CODE)
        around = [form, json.dumps([answer_schema(self.verdicts, reasons=reasons, confidence=True), question])]
        repair = self.limit + _REPAIR if len(prompt.messages) > _ASKED else 0
        return most_tokens([*prompt.messages[:_ASKED], *({"content": text} for text in around)]) + repair

    def body(self, prompt: Prompt) -> dict[str, Any]:
        messages, rung = list(prompt.messages), prompt.rung
        if rung.source == "decisions":
            return {"model": self.model, "input": messages, "questions": [self._question()]}
        limit = "max_tokens" if "max_tokens" in rung.takes else "max_completion_tokens"
        out: dict[str, Any] = {"model": self.model, "messages": messages, limit: self.limit}
        warmth = 0.0 if self.temperature is None and self.samples == 1 else self.temperature
        if warmth is not None and "temperature" in rung.takes:
            out["temperature"] = warmth
        if rung.source == "logprobs":
            out |= {"logprobs": True, "top_logprobs": _TOP}
        if rung.form != "line":
            reasons, confidence = self.template.reasons, rung.source == "verbal"
            schema = answer_schema(self.verdicts, reasons=reasons, confidence=confidence)
            named = {"type": "json_schema", "json_schema": {"name": "verdict", "strict": True, "schema": schema}}
            plain = {"type": "json_object", "schema": schema}
            out["response_format"] = named if rung.form == "structured" else plain
        return out

    @property
    def can_decide(self) -> bool:
        """Whether the decisions endpoint has a question for this scale."""
        whole = float(self.verdicts.low).is_integer() and float(self.verdicts.high).is_integer()
        return bool(self.verdicts.words) or (whole and self.verdicts.high - self.verdicts.low < _MOST_LEVELS)

    def _question(self) -> dict[str, Any]:
        kind, words = self.verdicts.kind, self.verdicts.words
        if kind == "binary":
            return {"type": "predicate", "name": "verdict", "instructions": f"The content meets this: {self.criterion}"}
        if kind == "pairwise":
            choices = [{"value": word} for word in words]
            instructions = f"Which of the two answers is better? What to compare: {self.criterion}"
            return {"type": "choice", "name": "verdict", "instructions": instructions, "choices": choices}
        levels = words or [str(n) for n in range(int(self.verdicts.low), int(self.verdicts.high) + 1)]
        rated = f"Rate the content from {levels[0]} (worst) to {levels[-1]} (best): {self.criterion}"
        return {"type": "score", "name": "verdict", "instructions": rated, "levels": [{"label": n} for n in levels]}
