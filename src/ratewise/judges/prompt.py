"""The messages of one call: instructions in the system message, fenced content and the question in the user message."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ratewise.judges.fence import LONGEST, fenced, new_code, shown_cells
from ratewise.judges.scale import Verdicts
from ratewise.judges.template import Template

Form = Literal["json", "line", "decision"]  # a decision is asked for beside the messages
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
