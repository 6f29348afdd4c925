"""Reads a campaign's file past its TOML errors: each broken line is reported and repaired, and the rest is read.

tomllib stops at the first mistake and has no other way. Here each broken statement is replaced by one that can be read
and says as little as possible, so that line numbers stay and one slip of the pen is told once.
"""

import re
import tomllib
from dataclasses import dataclass, field
from typing import Any

from ratewise.campaign.spec.statements import Statement, header_of, key_of, statements
from ratewise.tables.engine import one_line

_MOST = 50  # mistakes of syntax that are told; such a file is something else
_AT = re.compile(r"(?P<what>.*) \(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)", re.DOTALL)
_TOO_LONG = re.compile(r"[0-9_]{4300,}")  # Python reads no longer number
_HINTS = {
    "Invalid value": "; text needs quotes",
    "Expected '=' after a key": "; a line is key = value, a [table] or a # comment",
    "Illegal character '\\n'": "; the quote is not closed",
    "Cannot overwrite a value": "; the key stands there twice",
    "Cannot declare": "; the table stands there twice, and every rater begins with [[raters]]",
}
_TWICE = re.compile(r"not TOML: cannot (overwrite|declare|mutate|append)")
_NOT_CLOSED = "not TOML: invalid value; a bracket or a quote is not closed"
_TOO_DEEP = "lists or tables are nested too deeply; a campaign needs no such nesting"


@dataclass(frozen=True, slots=True)
class Parsed:
    """The values of a TOML text, and its errors; `text` is the repaired text, with the same lines."""

    values: dict[str, Any]
    text: str
    wrong: tuple[tuple[int, str], ...] = ()  # (line from 1, "line:column: what")
    broken: frozenset[int] = frozenset()  # lines of which nothing more is said


@dataclass(slots=True)
class _Mending:
    """The lines of a text while they are repaired."""

    lines: list[str]
    wrong: dict[int, tuple[int, str]] = field(default_factory=dict)  # by statement: one mistake each
    broken: set[int] = field(default_factory=set)

    def mend(self, statement: Statement, line: int, sentence: str) -> None:
        """Report a statement's error once, and take the statement out of the text."""
        again = statement.first in self.wrong
        self.wrong.setdefault(statement.first, (line, sentence))
        instead = "" if again else self._instead(statement, sentence)
        self.lines[statement.first : statement.last + 1] = [instead] + [""] * (statement.last - statement.first)

    def _instead(self, statement: Statement, sentence: str) -> str:
        written = self.lines[statement.first]
        header, key = header_of(written), key_of(written)
        twice = _TWICE.search(sentence)
        if header is not None and not twice:
            return header
        self.broken.add(statement.first + 1)
        if header is not None:  # it stands there twice: its keys are nobody's
            return f"[ratewise-broken-{statement.first}]"
        return "" if key is None or twice else f"{key} = 0"


def parse_all(text: str) -> Parsed:
    """Read a TOML text to its end, whatever errors it has."""
    text = text.replace("\r\n", "\n")
    mending = _Mending(text.split("\n"))
    for _ in range(2 * _MOST):
        now = "\n".join(mending.lines)
        try:
            return _parsed(tomllib.loads(now), now, mending)
        except tomllib.TOMLDecodeError as error:
            statement, line, sentence = _syntax(str(error), mending.lines)
        except RecursionError:
            statement = _most_brackets(mending.lines)
            line, sentence = statement.first + 1, f"{statement.first + 1}: {_TOO_DEEP}"
        except ValueError as error:
            statement = _longest_number(mending.lines)
            what = one_line(str(error).split(";")[0]).lower()
            line, sentence = statement.first + 1, f"{statement.first + 1}: a value cannot be read: {what}"
        mending.mend(statement, line, sentence)
    return _parsed({}, "", mending)


def _parsed(values: dict[str, Any], text: str, mending: _Mending) -> Parsed:
    return Parsed(values, text, tuple(sorted(mending.wrong.values())[:_MOST]), frozenset(mending.broken))


def _syntax(message: str, lines: list[str]) -> tuple[Statement, int, str]:
    """tomllib's message with its line; what was never closed is reported where it was opened."""
    found = _AT.fullmatch(message)
    what = found["what"] if found else message
    line = int(found["line"]) if found and found["line"] else len(lines)
    listed = statements(lines)
    is_open = next((s for s in listed if not s.closed and s.first < line and _has_text(s, lines)), None)
    if is_open is not None:
        return is_open, is_open.first + 1, f"{is_open.first + 1}: {_NOT_CLOSED}"
    hint = next((hint for start, hint in _HINTS.items() if what.startswith(start)), "")
    statement = next((s for s in listed if s.first < line <= s.last + 1), listed[-1])
    column = f":{found['column']}" if found and found["column"] else ""
    return statement, line, f"{line}{column}: not TOML: {one_line(what[:1].lower() + what[1:])}{hint}"


def _has_text(statement: Statement, lines: list[str]) -> bool:
    return any(line.strip() for line in lines[statement.first : statement.last + 1])


def _most_brackets(lines: list[str]) -> Statement:
    def brackets(statement: Statement) -> int:
        return sum(line.count("[") + line.count("{") for line in lines[statement.first : statement.last + 1])

    return max(statements(lines), key=brackets)


def _longest_number(lines: list[str]) -> Statement:
    def has_one(statement: Statement) -> bool:
        return any(_TOO_LONG.search(line) for line in lines[statement.first : statement.last + 1])

    listed = statements(lines)
    return next((statement for statement in listed if has_one(statement)), listed[0])
