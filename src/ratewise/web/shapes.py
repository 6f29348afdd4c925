"""What a cell of an item is: a conversation, JSON, code, the name of a picture, or text. Recognised by shape alone."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

PartKind = Literal["text", "thinking", "call", "result", "image", "other"]
_CODE_LINE = re.compile(
    r"[(){}=<>\[\]\"].*;\s*$|[{}]\s*$|^\s*(#include|#define|import |from \w+ import|def |class |return\b|@\w+|"
    r"</?\w+.*>$|(els?e?if|if|for|while) .*[:{]$|else:|try:|except .*:|func |fn |let |const |var |package |using |"
    r"public |private |SELECT |FROM |WHERE )"
)
_INDENTED = re.compile(r"^(\t| {2,})\S")
_SHARE_OF_CODE = 0.6  # of the lines
_ENOUGH = 4_000  # characters of a text that say whether it is code
_PROSE = re.compile(r"^(```|~~~|[-*+] |\d+[.)] )|\]\(|^\|.*\|\s*$", re.MULTILINE)  # Markdown that has its own say


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a message: what is said, a tool that is called, with its arguments, or what it answered."""

    kind: PartKind
    value: Any
    name: str = ""  # of the tool


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """Who speaks, and what."""

    role: str
    parts: tuple[Part, ...]


def from_json(text: str) -> Any:
    """The list or object that a text is the JSON of; the text where it is none."""
    if text.lstrip()[:1] not in ("{", "["):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def messages_of(value: Any) -> list[ChatMessage]:
    """A conversation as OpenAI, Anthropic and inspect_ai write it: a list of messages, or an object that has one."""
    first: list[ChatMessage] = []
    if isinstance(value, Mapping) and isinstance(value.get("messages"), list) and set(value) <= _AROUND:
        if (system := value.get("system")) is not None:
            first = [ChatMessage("system", tuple(_parts_of({"content": system})))]
        value = value["messages"]
    if not isinstance(value, list) or not value or not all(map(_is_message, value)):
        return []
    called = {
        call["id"]: _call(call).name
        for message in value for call in _list(message.get("tool_calls")) + _list(message.get("content"))
        if isinstance(call, Mapping) and isinstance(call.get("id"), str)
    }  # fmt: skip
    return first + [ChatMessage(message["role"], tuple(_parts_of(message, called))) for message in value]


_AROUND = {"messages", "system", "model", "tools", "id", "temperature", "max_tokens", "metadata"}


def _is_message(one: Any) -> bool:
    said = isinstance(one, Mapping) and isinstance(one.get("role"), str) and len(one["role"]) <= 30
    return said and (isinstance(one.get("content"), str | list) or bool(_list(one.get("tool_calls"))))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _parts_of(message: Mapping[str, Any], called: Mapping[str, str] = {}) -> Iterable[Part]:
    """What is thought, said and called, in this order; what a tool says is its result."""
    if isinstance(thought := message.get("reasoning_content"), str) and thought:
        yield Part("thinking", thought)
    content = message.get("content")
    if message.get("role") in ("tool", "function"):
        name = called.get(str(message.get("tool_call_id")), "") or _named(message)
        yield Part("result", from_json(_text_of(content)), name)
        if message.get("error") is not None:
            yield Part("other", {"error": message["error"]})
        return
    for one in [content] if isinstance(content, str) else _list(content):
        yield _part(one, called)
    for call in _list(message.get("tool_calls")):
        yield _call(call)


def _part(one: Any, called: Mapping[str, str]) -> Part:
    """One block of a message's content."""
    if isinstance(one, str):
        return Part("text", one)
    kind = one.get("type") if isinstance(one, Mapping) else None
    if kind in ("text", "input_text", "output_text") and isinstance(one.get("text"), str):
        return Part("text", one["text"])
    if kind in ("thinking", "reasoning"):
        return Part("thinking", next((str(one[k]) for k in ("thinking", "reasoning", "text") if one.get(k)), ""))
    if kind == "tool_use":
        return _call(one)
    if kind == "tool_result":
        return Part("result", from_json(_text_of(one.get("content"))), called.get(str(one.get("tool_use_id")), ""))
    if kind in ("image", "image_url", "input_image"):
        return Part("image", _address(one))
    return Part("other", one)


def _call(call: Any) -> Part:
    """The call of a tool; its arguments may be written as JSON."""
    if not isinstance(call, Mapping):
        return Part("other", call)
    function = call.get("function")
    of = function if isinstance(function, Mapping) else call
    given = next((of[key] for key in ("arguments", "input") if key in of), None)
    return Part("call", from_json(given) if isinstance(given, str) else given, _named(of))


def _named(one: Mapping[str, Any]) -> str:
    return next((one[key] for key in ("name", "function") if isinstance(one.get(key), str)), "")


def _text_of(content: Any) -> str:
    """What a tool said: its text, or its blocks' texts below each other."""
    if isinstance(content, str):
        return content
    blocks = [one.get("text") if isinstance(one, Mapping) else one for one in _list(content)]
    texts = [one for one in blocks if isinstance(one, str)]
    if texts and len(texts) == len(blocks):
        return "\n".join(texts)
    return "" if content is None else json.dumps(content, ensure_ascii=False)


def _address(one: Mapping[str, Any]) -> str:
    """Where a picture of a message is: a file, an address, or its bytes in a data URL."""
    for source in (one.get("image_url"), one.get("image"), one.get("source"), one.get("url")):
        if isinstance(source, str):
            return source
        if isinstance(source, Mapping):
            if isinstance(source.get("data"), str):
                return f"data:{source.get('media_type')};base64,{source['data']}"
            return str(source.get("url") or "")
    return ""


def is_code(text: str) -> bool:
    """Whether most lines of a text are those of a program, as where a model writes one without a fence."""
    lines = [line for line in text[:_ENOUGH].splitlines() if line.strip()]
    if len(lines) < 3 or _PROSE.search(text, 0, _ENOUGH):
        return False
    sure = sum(bool(_CODE_LINE.search(line)) for line in lines)
    likely = sum(bool(_CODE_LINE.search(line) or _INDENTED.match(line)) for line in lines)
    return sure >= max(2, len(lines) // 4) and likely >= _SHARE_OF_CODE * len(lines)
