"""Where a key stands in a TOML text: tomllib does not say, so a small scan finds the lines."""

import os
import re
import stat
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ratewise.errors import SpecError
from ratewise.tables.engine import one_line

Place = tuple[str | int, ...]
"""The way to a value: names of keys, and numbers (from 0) in lists of tables."""

_KEY = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
DOTTED = rf"{_KEY}(?:[ \t]*\.[ \t]*{_KEY})*"
_LINE = re.compile(
    rf"[ \t]*(?:\[\[[ \t]*(?P<list>{DOTTED})[ \t]*\]\]|\[[ \t]*(?P<table>{DOTTED})[ \t]*\]|(?P<key>{DOTTED})[ \t]*=)"
)
_DEEPEST = 4  # no legal key is deeper
_TOKEN = re.compile(r'"""|\'\'\'|"(?:[^"\\]|\\.)*"|\'[^\']*\'|#|[\[\]{}]')


def line_numbers(text: str) -> dict[Place, int]:
    """The line (from 1) of every table and key that begins one; `text` must be TOML."""
    found: dict[Place, int] = {}
    tables: dict[Place, int] = {}  # how many of a list of tables there are so far
    table: Place = ()
    quote, depth = "", 0
    for number, line in enumerate(text.split("\n"), start=1):
        match = None if quote or depth else _LINE.match(line)
        if match is None or match["key"]:
            quote, depth = left_open(line[match.end() if match else 0 :], quote, depth)
        if match is None:
            continue
        place = table + _parts(match["key"]) if match["key"] else _header(match, tables)
        table = table if match["key"] else place
        for length in range(1, len(place) + 1):
            found.setdefault(place[:length], number)
    return found


def line_of(place: Place, lines: dict[Place, int]) -> int | None:
    """The line of a key, or of the nearest table around it: a key that is missing has no line of its own."""
    for length in range(len(place), 0, -1):
        if place[:length] in lines:
            return lines[place[:length]]
    return None


def _header(match: re.Match[str], tables: dict[Place, int]) -> Place:
    """[a.b] and [[a.b]]; what is under a list of tables belongs to the last of them."""
    *outer, last = _parts(match["list"] or match["table"])
    place: Place = ()
    for part in outer:
        place = (*place, part)
        place = (*place, tables[place] - 1) if place in tables else place
    place = (*place, last)
    if match["list"]:
        tables[place] = tables.get(place, 0) + 1
        place = (*place, tables[place] - 1)
    return place


def _parts(dotted: str) -> tuple[str, ...]:
    """Parts of a dotted key, by tomllib; of an absurdly long key, its beginning."""
    node, parts = tomllib.loads(f"{dotted} = 0"), []
    while isinstance(node, dict):
        [(part, node)] = node.items()
        parts.append(part)
    return tuple(parts[:_DEEPEST])


def left_open(line: str, quote: str, depth: int) -> tuple[str, int]:
    """The multi-line text and the number of brackets still open at the end of the line."""
    at = 0
    while True:
        if quote:
            end = line.find(quote, at)
            if end < 0:
                return quote, depth
            quote, at = "", end + len(quote)
        token = _TOKEN.search(line, at)
        if token is None or token[0] == "#":
            return "", depth
        at = token.end()
        quote = token[0] if token[0] in {'"""', "'''"} else ""
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token[0], 0)


_HEADER = re.compile(rf"[ \t]*(?P<open>\[{{1,2}})[ \t]*(?P<name>{DOTTED})")
_WHOLE_HEADER = re.compile(rf"[ \t]*\[{{1,2}}[ \t]*{DOTTED}[ \t]*\]{{1,2}}[ \t]*(?:#.*)?$")
_KEY_LINE = re.compile(rf"[ \t]*(?P<name>{DOTTED})[ \t]*=")
_WORD = re.compile(r"[ \t]*(?P<name>[A-Za-z0-9_-]+)\b")


@dataclass(frozen=True, slots=True)
class Statement:
    """Lines `first` to `last` (from 0); `closed` says whether every bracket and quote that it opens is closed."""

    first: int
    last: int
    closed: bool

    def of(self, lines: Sequence[str]) -> Sequence[str]:
        return lines[self.first : self.last + 1]


def statements(lines: Sequence[str]) -> list[Statement]:
    """The statements of a text; every line belongs to one.

    A list that is not closed ends where the next key or table begins: in TOML, no line of a list looks like that.
    """
    found: list[Statement] = []
    first, quote, depth = 0, "", 0
    for number, line in enumerate(lines):
        if depth and not quote and _begins(line):
            found.append(Statement(first, number - 1, closed=False))
            first, depth = number, 0
        header = depth == 0 and not quote and _HEADER.match(line)
        quote, depth = ("", 0) if header else left_open(line, quote, max(depth, 0))
        if not quote and depth <= 0:
            found.append(Statement(first, number, closed=True))
            first = number + 1
    if first < len(lines):
        found.append(Statement(first, len(lines) - 1, closed=False))
    return found


def _begins(line: str) -> bool:
    return bool(_KEY_LINE.match(line) or _WHOLE_HEADER.match(line))


def header_of(line: str) -> str | None:
    """The header that a line was meant to be: [items for [items], [raters] for [[raters]]."""
    match = _HEADER.match(line)
    if match is None:
        return None
    double = match["open"] == "[[" or match["name"] == "raters"
    return f"[[{match['name']}]]" if double else f"[{match['name']}]"


def key_of(line: str) -> str | None:
    """The key that a line was meant to give a value to; `seed: 7` means seed."""
    match = _KEY_LINE.match(line) or _WORD.match(line)
    return None if match is None else match["name"]


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
_BROKEN = "[ratewise-broken-"
_NOT_CLOSED = "not TOML: invalid value; a bracket or a quote is not closed"
_TOO_DEEP = "lists or tables are nested too deeply; a campaign needs no such nesting"


@dataclass(frozen=True, slots=True)
class Parsed:
    """The values of a TOML text, and its errors; `text` is the repaired text, with the same lines."""

    values: Mapping[str, Any]
    text: str = ""
    wrong: tuple[tuple[int, str], ...] = ()  # (line from 1, "line:column: what")
    broken: frozenset[int] = frozenset()  # lines of which nothing more is said


def parse_all(text: str) -> Parsed:
    """Read a TOML text to its end, whatever errors it has.

    Each broken statement is reported once and replaced by one that can be read and says as little as possible, so that
    line numbers stay.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    wrong: dict[int, tuple[int, str]] = {}  # by the first line of a statement: one mistake each
    broken: set[int] = set()
    for _ in range(2 * _MOST):
        try:
            values, now = tomllib.loads("\n".join(lines)), "\n".join(lines)
            break
        except tomllib.TOMLDecodeError as error:
            statement, line, sentence = _syntax(str(error), lines)
        except RecursionError:
            statement = max(statements(lines), key=lambda each: sum(map(_brackets, each.of(lines))))
            line, sentence = statement.first + 1, f"{statement.first + 1}: {_TOO_DEEP}"
        except ValueError as error:  # a number of thousands of digits
            listed = statements(lines)
            statement = next((each for each in listed if any(map(_TOO_LONG.search, each.of(lines)))), listed[0])
            what = one_line(str(error).split(";")[0]).lower()
            line, sentence = statement.first + 1, f"{statement.first + 1}: a value cannot be read: {what}"
        written, instead = lines[statement.first], ""
        if statement.first not in wrong:
            instead = _instead(written, statement.first, sentence)
            if instead != header_of(written):
                broken.add(statement.first + 1)
        wrong.setdefault(statement.first, (line, sentence))
        lines[statement.first : statement.last + 1] = [instead] + [""] * (statement.last - statement.first)
    else:
        values, now = {}, ""
    return Parsed(values, now, tuple(sorted(wrong.values())[:_MOST]), frozenset(broken))


def _instead(written: str, first: int, sentence: str) -> str:
    """What stands in the place of a broken statement."""
    header, key, twice = header_of(written), key_of(written), _TWICE.search(sentence)
    if header is not None:  # where it stands there twice, its keys are nobody's
        return f"{_BROKEN}{first}]" if twice else header
    return "" if key is None or twice else f"{key} = 0"


def _brackets(line: str) -> int:
    return line.count("[") + line.count("{")


def _syntax(message: str, lines: list[str]) -> tuple[Statement, int, str]:
    """tomllib's message with its line; what was never closed is reported where it was opened."""
    found = _AT.fullmatch(message)
    what = found["what"] if found else message
    line = int(found["line"]) if found and found["line"] else len(lines)
    listed = statements(lines)
    is_open = next((s for s in listed if not s.closed and s.first < line and any(map(str.strip, s.of(lines)))), None)
    if is_open is not None:
        return is_open, is_open.first + 1, f"{is_open.first + 1}: {_NOT_CLOSED}"
    hint = next((hint for start, hint in _HINTS.items() if what.startswith(start)), "")
    statement = next((s for s in listed if s.first < line <= s.last + 1), listed[-1])
    column = f":{found['column']}" if found and found["column"] else ""
    return statement, line, f"{line}{column}: not TOML: {one_line(what[:1].lower() + what[1:])}{hint}"


_LARGEST = 2**18  # bytes; no campaign is described at such length


def read_text(file: str) -> str:
    """The whole file, which must be a short one in UTF-8."""
    shown = one_line(file)
    try:
        with open(file, "rb", opener=_open_at_once) as opened:
            if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                raise SpecError(f"{shown} is not a regular file; give the path of a campaign's TOML")
            data = opened.read(_LARGEST + 1)
    except FileNotFoundError:
        raise SpecError(f"{shown} does not exist; check the path, or write an example with `ratewise init`") from None
    except IsADirectoryError:
        raise SpecError(f"{shown} is a directory; give the path of the TOML in it") from None
    except PermissionError:
        raise SpecError(f"{shown} may not be read; ask its owner for the permission") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise SpecError(f"{shown} cannot be read: {reason.lower()}; check the path") from None
    if len(data) > _LARGEST:
        raise SpecError(f"{shown} is larger than {_LARGEST // 2**10} KiB; give the TOML, not the table of items")
    return _decoded(data, shown)


def _open_at_once(path: str, flags: int) -> int:
    """Open without waiting for a writer, as a pipe otherwise would."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _decoded(data: bytes, shown: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise SpecError(f"{shown}:{line}: the file is not UTF-8 text; save it in that encoding") from None
