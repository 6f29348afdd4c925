"""A campaign's file → its text → TOML's plain values; whatever prevents it is one SpecError with its place."""

import os
import re
import stat
import tomllib
from typing import Any

from ratewise.errors import SpecError
from ratewise.tables.engine import one_line

_LARGEST = 2**18  # bytes; no campaign is described at such length
_AT = re.compile(r"(?P<what>.*) \(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)", re.DOTALL)
_HINTS = {
    "Invalid value": "; text needs quotes",
    "Expected '=' after a key": "; a line is key = value, a [table] or a # comment",
    "Cannot overwrite a value": "; the key stands there twice",
    "Cannot declare": "; the table stands there twice, and every rater begins with [[raters]]",
}


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
    """A pipe that nobody writes to would else be waited for."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _decoded(data: bytes, shown: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise SpecError(f"{shown}:{line}: the file is not UTF-8 text; save it in that encoding") from None


def parse(text: str, file: str) -> dict[str, Any]:
    """The values of a TOML text."""
    shown = one_line(file)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SpecError(_syntax(str(error), text, shown)) from None
    except RecursionError:
        raise SpecError(f"{shown}: lists or tables are nested too deeply; a campaign needs no such nesting") from None
    except ValueError as error:  # Python reads no number of more than 4,300 digits
        raise SpecError(f"{shown}: a value cannot be read: {one_line(str(error).split(';')[0]).lower()}") from None


def _syntax(message: str, text: str, shown: str) -> str:
    """tomllib's message with its place in front; what it finds at the end of the file is on the last line."""
    found = _AT.fullmatch(message)
    what = found["what"] if found else message
    place = f"{found['line']}:{found['column']}" if found and found["line"] else str(text.rstrip().count("\n") + 1)
    hint = next((hint for start, hint in _HINTS.items() if what.startswith(start)), "")
    hint = hint if found and found["line"] else "; a bracket or a quote is not closed"
    return f"{shown}:{place}: not TOML: {one_line(what[:1].lower() + what[1:])}{hint}"
