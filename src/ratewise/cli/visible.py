"""The one way to the terminal: what came from outside cannot command it, and what may be a secret is not shown.

Ids, names and messages of raters are other people's text. An escape sequence in one of them could write over the line
that tells of it, so control characters are shown as escapes: \\x1b[2K.
"""

import re
import sys
import unicodedata
from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

_HARMLESS = frozenset("\n\t\u200c\u200d")  # the last two join letters of scripts and emoji
_HIDDEN = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
_PLAIN = re.compile(r"[\n\t -~]*")
_IN_JSON = re.compile(r"[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """The text with everything that a terminal would obey shown as escapes."""
    if _PLAIN.fullmatch(text):
        return text
    return "".join(_shown(sign) for sign in text)


def _shown(sign: str) -> str:
    if sign in _HARMLESS or unicodedata.category(sign) not in _HIDDEN:
        return sign
    number = ord(sign)
    return f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}" if number < 65536 else f"\\U{number:08x}"


def in_json(text: str) -> str:
    """JSON whose text holds no such sign either; it stays the same JSON."""
    return _IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def say(text: str, *, error: bool = False) -> None:
    """One line or several to standard output, or standard error."""
    print(visible(text), file=sys.stderr if error else sys.stdout)


class PlainConsole(Console):
    """A console whose texts cannot command the terminal; its own colours still do."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Make every piece of text safe on its way to the terminal."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)


def console(**options: Any) -> Console:
    """A console for rich text of any origin."""
    return PlainConsole(**options)
