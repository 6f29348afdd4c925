"""The messages of one call: instructions in the system message, fenced content and the question in the user message."""

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ratewise.judges.ladder import Rung
from ratewise.judges.template import Template
from ratewise.judges.verdicts import Verdicts

LONGEST = 20_000  # characters of one cell, where the TOML does not say


def new_code() -> str:
    """A code for one call: 64 random bits."""
    return secrets.token_hex(8)


def fenced(code: str, cells: Sequence[tuple[str, str]], longest: int = LONGEST) -> str:
    """Named texts between two lines with the code; what is cut is told below the fence, where content cannot reach."""
    parts, notes = [], []
    for name, text in cells:
        kept, note = cut(text, longest)
        parts.append(f"{_one_line(name)}:\n{kept}" if name else kept)
        if note:
            notes.append(f"(Note: {_one_line(name) or 'the text'} was cut: {note}.)")
    return "\n".join([f"BEGIN {code}", "\n\n".join(parts), f"END {code}", *notes])


def cut(text: str, longest: int) -> tuple[str, str]:
    """The beginning of a long text, and what was left out; the note is empty where nothing was."""
    if len(text) <= longest:
        return text, ""
    return text[:longest], f"{longest:,} of {len(text):,} characters are shown"


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


def _one_line(name: str) -> str:
    return " ".join(name.split())


Form = Literal["json", "line", "decision"]  # a decision is asked for beside the messages
CHAT, DECISIONS = "chat/completions", "decisions"
_TOP = 20  # log-probabilities that are asked for at each place
_MOST_LEVELS = 255
Message = dict[str, str]


@dataclass(frozen=True, slots=True)
class Shown:
    """What a judge is shown of an item: the columns, and for a comparison those of the two answers."""

    columns: tuple[str, ...]
    a: str = ""
    b: str = ""
    longest: int = LONGEST

    @property
    def all(self) -> tuple[str, ...]:
        """Every column it reads."""
        return tuple(dict.fromkeys(name for name in (*self.columns, self.a, self.b) if name))


@dataclass(frozen=True, slots=True)
class Asked:
    """How an answer is to look: as JSON, or with a line that carries the call's code; with a confidence or without."""

    form: Form
    confidence: bool = False


@dataclass(frozen=True, slots=True)
class Prompt:
    """Messages of one call, the code of their fences, and how the answer is to look."""

    messages: tuple[Message, ...]
    code: str
    asked: Asked

    def repaired(self, answer: str, verdicts: Verdicts) -> "Prompt":
        """The same conversation, which goes on with a request for the verdict alone."""
        again = "Your answer holds no verdict in the form asked for. " + format_of(
            verdicts, self.asked, reasons=False, code=self.code
        )
        more = ({"role": "assistant", "content": answer or "(no answer)"}, {"role": "user", "content": again})
        return Prompt((*self.messages, *more), self.code, self.asked)


def prompt_for(
    template: Template, verdicts: Verdicts, shown: Shown, item: Mapping[str, Any], *,
    criterion: str, asked: Asked, swap: bool = False, code: str = "",
) -> Prompt:  # fmt: skip
    """The prompt about an item; `swap` puts answer b first. A code is made up where none is given."""
    code = code or new_code()
    a, b = (shown.b, shown.a) if swap else (shown.a, shown.b)
    fields = {
        "criterion": criterion,
        "scale": verdicts.said,
        "format": format_of(verdicts, asked, reasons=template.reasons, code=code),
        "item": _block(code, item, shown.columns, shown.longest),
        "first": _block(code, item, (a,), shown.longest, named=False),
        "second": _block(code, item, (b,), shown.longest, named=False),
    }
    system = {"role": "system", "content": template.fill("system", fields)}
    return Prompt((system, {"role": "user", "content": template.fill("user", fields)}), code, asked)


def _block(code: str, item: Mapping[str, Any], columns: tuple[str, ...], longest: int, *, named: bool = True) -> str:
    cells = shown_cells(item, [name for name in columns if name])
    return fenced(code, cells if named else [("", text) for _, text in cells], longest)


def format_of(verdicts: Verdicts, asked: Asked, *, reasons: bool, code: str) -> str:
    """How to answer, for the judge."""
    if asked.form == "decision":
        return ""
    sure = "how sure you are, from 0 to 100"
    if asked.form == "json":
        keys = ['"reasons" (your reasons, in short)'] if reasons else []
        keys += [f'"verdict" ({verdicts.said})'] + ([f'"confidence" ({sure})'] if asked.confidence else [])
        first = "; write the reasons before you decide" if reasons else ""
        return f"Answer with one JSON object and nothing else. Its keys: {', '.join(keys)}{first}."
    begin = "First write your reasons, in short. Then end" if reasons else "Answer"
    number = f", a space, and {sure}" if asked.confidence else ""
    return (
        f"{begin} with one line that consists of the word VERDICT, the code {code}, a colon, and your verdict "
        f"({verdicts.said}){number}."
    )


def answer_schema(verdicts: Verdicts, asked: Asked, *, reasons: bool) -> dict[str, Any]:
    """JSON schema of an answer, for servers that enforce one."""
    properties: dict[str, Any] = {"reasons": {"type": "string"}} if reasons else {}
    properties["verdict"] = verdicts.schema()
    if asked.confidence:
        properties["confidence"] = {"type": "number"}
    return {
        "type": "object", "properties": properties, "required": list(properties), "additionalProperties": False,
    }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Request:
    """What stays the same in all requests of a judge."""

    model: str
    verdicts: Verdicts
    criterion: str
    reasons: bool
    max_tokens: int
    temperature: float | None

    def asked(self, rung: Rung) -> Asked:
        """How answers are to look on this rung."""
        if rung.source == "decisions":
            return Asked("decision")
        return Asked("line" if rung.form == "line" else "json", confidence=rung.source == "verbal")

    def body(self, prompt: Prompt, rung: Rung) -> dict[str, Any]:
        """The request as JSON."""
        messages = list(prompt.messages)
        if rung.source == "decisions":
            return {"model": self.model, "input": messages, "questions": [self._question()]}
        limit = "max_tokens" if "max_tokens" in rung.takes else "max_completion_tokens"
        out: dict[str, Any] = {"model": self.model, "messages": messages, limit: self.max_tokens}
        if self.temperature is not None and "temperature" in rung.takes:
            out["temperature"] = self.temperature
        if rung.source == "logprobs":
            out |= {"logprobs": True, "top_logprobs": _TOP}
        if prompt.asked.form == "json":
            schema = answer_schema(self.verdicts, prompt.asked, reasons=self.reasons)
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
