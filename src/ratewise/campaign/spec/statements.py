"""A TOML text that may be broken, line by line: where each statement begins and ends, as its author meant it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ratewise.campaign.spec.places import DOTTED, left_open

_HEADER = re.compile(rf"[ \t]*(?P<open>\[{{1,2}})[ \t]*(?P<name>{DOTTED})")
_WHOLE_HEADER = re.compile(rf"[ \t]*\[{{1,2}}[ \t]*{DOTTED}[ \t]*\]{{1,2}}[ \t]*(?:#.*)?$")
_KEY = re.compile(rf"[ \t]*(?P<name>{DOTTED})[ \t]*=")
_WORD = re.compile(r"[ \t]*(?P<name>[A-Za-z0-9_-]+)\b")


@dataclass(frozen=True, slots=True)
class Statement:
    """Lines `first` to `last` (from 0); `closed` says whether every bracket and quote that it opens is closed."""

    first: int
    last: int
    closed: bool


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
    return bool(_KEY.match(line) or _WHOLE_HEADER.match(line))


def header_of(line: str) -> str | None:
    """The header that a line was meant to be: [items for [items], [raters] for [[raters]]."""
    match = _HEADER.match(line)
    if match is None:
        return None
    double = match["open"] == "[[" or match["name"] == "raters"
    return f"[[{match['name']}]]" if double else f"[{match['name']}]"


def key_of(line: str) -> str | None:
    """The key that a line was meant to give a value to; `seed: 7` means seed."""
    match = _KEY.match(line) or _WORD.match(line)
    return None if match is None else match["name"]
