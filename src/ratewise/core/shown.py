"""How results show themselves where they are looked at: a prompt, a notebook, tab completion.

A prompt shows what the terminal shows: the sentence, then the notes. What has no sentence shows its fields, arrays by
their size. `str` stays the sentence alone.
"""

import html
from collections.abc import Sized
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np

from ratewise.core.frames import FrameKind, frame_of_record

_T = TypeVar("_T")
_LONGEST = 76  # signs of a value
_MOST = 20  # fields


def shown(cls: type[_T]) -> type[_T]:
    """A class decorator for frozen records of results."""
    own: Any = cls
    own.__repr__ = _repr
    own.__dir__ = _dir
    if hasattr(cls, "to_dict") and not hasattr(cls, "to_frame"):
        own.to_frame = _to_frame
    own._repr_html_ = _with_notes(own._repr_html_) if hasattr(cls, "_repr_html_") else _html
    return cls


def _to_frame(self: Any, kind: FrameKind | None = None) -> Any:
    """One row with the record's fields, as a pandas, Polars or PyArrow frame."""
    return frame_of_record(self.to_dict(), kind)


def _repr(self: Any) -> str:
    lines = [f"{type(self).__name__}: {self.summary()}" if hasattr(self, "summary") else _fields_in_lines(self)]
    return "\n".join([*lines, *(f"note: {note}" for note in getattr(self, "notes", ()))])


def _fields_in_lines(self: Any) -> str:
    return "\n".join([type(self).__name__, *(f"  {name}: {text}" for name, text in _cells(self))])


def _cells(self: Any) -> list[tuple[str, str]]:
    """The text of each field."""
    names = [one.name for one in fields(self) if one.repr and not one.name.startswith("_") and one.name != "notes"]
    cells = [(name, _short(getattr(self, name))) for name in names]
    more = len(cells) - _MOST
    return cells if more <= 0 else [*cells[:_MOST], ("…", f"{more} more")]


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"array of {' × '.join(f'{n:,}' for n in value.shape)}"
    if isinstance(value, float):
        return f"{value:.6g}"
    if hasattr(value, "summary"):
        return _cut(value.summary())
    if isinstance(value, Sized) and not isinstance(value, str) and len(repr(value)) > _LONGEST:
        return f"{type(value).__name__} of {len(value):,}"
    text = repr(value) if len(repr(value)) <= _LONGEST or isinstance(value, str) else type(value).__name__
    return _cut(text)


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def _html(self: Any) -> str:
    rows = "".join(f"<tr><th>{html.escape(n)}</th><td>{html.escape(text)}</td></tr>" for n, text in _cells(self))
    said = f"<p>{html.escape(self.summary())}</p>" if hasattr(self, "summary") else ""
    return f"<table>{rows}</table>{said}{_notes_html(self, '')}"


def _with_notes(made: Any) -> Any:
    """The record's own HTML table, with the notes that it lacks added."""

    def _repr_html_(self: Any) -> str:
        own = made(self)
        return str(own) + _notes_html(self, own)

    return _repr_html_


def _notes_html(self: Any, own: str) -> str:
    notes = [html.escape(str(note)) for note in getattr(self, "notes", ())]
    return "".join(f"<p>note: {note}</p>" for note in notes if note not in own)


def _dir(self: Any) -> list[str]:
    """Names for tab completion; the record's helpers are left out."""
    return sorted(name for name in object.__dir__(self) if not name.startswith("_") or name.startswith("__"))
