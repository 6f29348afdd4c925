"""Content is data: it stands between two lines with a random code that no content can know."""

import json
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

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
