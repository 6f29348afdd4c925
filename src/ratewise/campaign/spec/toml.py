"""Where a key stands in a TOML text: tomllib does not say, so a small scan finds the lines."""

import os
import re
import stat
import tomllib
from collections.abc import Mapping, Sequence
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


def line_of(place: Place, lines: Mapping[Place, int]) -> int | None:
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


_HEADER = re.compile(rf"[ \t]*\[{{1,2}}[ \t]*{DOTTED}")
_BEGINS = re.compile(rf"[ \t]*(?:{DOTTED}[ \t]*=|\[{{1,2}}[ \t]*{DOTTED}[ \t]*\]{{1,2}}[ \t]*(?:#.*)?$)")
_AT = re.compile(r"(?P<what>.*) \(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)", re.DOTALL)
_TOO_LONG = re.compile(r"[0-9_]{4300,}")  # Python reads no longer number
_HINTS = {
    "Invalid value": "; text needs quotes",
    "Expected '=' after a key": "; a line is key = value, a [table] or a # comment",
    "Illegal character '\\n'": "; the quote is not closed",
    "Cannot overwrite a value": "; the key stands there twice",
    "Cannot declare": "; the table stands there twice, and every rater begins with [[raters]]",
}


def read_values(text: str, file: str) -> Mapping[str, Any]:
    """The values of a TOML text; what is none is a SpecError with its line."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        wrong = _syntax(str(error), text.split("\n"))
    except RecursionError:
        wrong = " lists or tables are nested too deeply; a campaign needs no such nesting"
    except ValueError as error:  # a number of thousands of digits
        line = next((n for n, line in enumerate(text.split("\n"), start=1) if _TOO_LONG.search(line)), 1)
        wrong = f"{line}: a value cannot be read: {one_line(str(error).split(';')[0]).lower()}"
    raise SpecError(f"{one_line(file)}:{wrong}")


def _syntax(message: str, lines: Sequence[str]) -> str:
    """tomllib's message with its line; what was never closed is reported where it was opened."""
    found = _AT.fullmatch(message)
    what = found["what"] if found else message
    line = int(found["line"]) if found and found["line"] else len(lines)
    opened = _opened_at(lines)
    if opened is not None and opened < line:
        return f"{opened}: not TOML: invalid value; a bracket or a quote is not closed"
    hint = next((hint for start, hint in _HINTS.items() if what.startswith(start)), "")
    column = f":{found['column']}" if found and found["column"] else ""
    return f"{line}{column}: not TOML: {one_line(what[:1].lower() + what[1:])}{hint}"


def _opened_at(lines: Sequence[str]) -> int | None:
    """The line of the first bracket or quote that is not closed: inside a list, no line looks like a key or a table."""
    first, quote, depth = 1, "", 0
    for number, line in enumerate(lines, start=1):
        if depth and not quote and _BEGINS.match(line):
            return first
        if not quote and depth <= 0:
            first, depth = number, 0
            if _HEADER.match(line):
                continue
        quote, depth = left_open(line, quote, depth)
    return first if (quote or depth > 0) and any(map(str.strip, lines[first - 1 :])) else None


_LARGEST = 2**18  # bytes; no campaign is described at such length


def read_text(file: str) -> str:
    """The whole file, which must be a short one in UTF-8."""
    shown = one_line(file)
    try:
        # Without waiting for a writer, as a pipe otherwise would.
        with open(file, "rb", opener=lambda path, flags: os.open(path, flags | getattr(os, "O_NONBLOCK", 0))) as opened:
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
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise SpecError(f"{shown}:{line}: the file is not UTF-8 text; save it in that encoding") from None
