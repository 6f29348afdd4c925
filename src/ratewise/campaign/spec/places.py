"""Where a key stands in a TOML text: tomllib does not say, so a small scan finds the lines."""

import re
import tomllib

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
