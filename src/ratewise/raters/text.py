"""Makes foreign text fit for one line of a report and for a database."""

import reprlib

_SHOWN = 60
_REPR = reprlib.Repr()
_REPR.maxstring = _REPR.maxother = _SHOWN


def one_line(text: str, most: int = 300) -> str:
    """The first line that is not blank, shortened and without control characters, which could command a terminal."""
    line = next((line for line in text.splitlines() if line.strip()), "")[: 4 * most]
    plain = "".join(c if c.isprintable() else " " for c in line).strip()
    return plain if len(plain) <= most else plain[: most - 3] + "..."


def storable(text: str) -> str:
    """The text without NULs and halves of surrogate pairs, which databases refuse."""
    return text.replace("\0", "�").encode("utf-8", "replace").decode("utf-8")


def short(value: object) -> str:
    """A value as it is shown in a message, whatever it is: one line of at most 60 characters."""
    try:
        return one_line(_REPR.repr(value), _SHOWN)
    except Exception:  # a number of 10,000 digits has no repr, and other people's classes may do anything
        return f"a value of type {type(value).__name__}"
