"""What all results can do: show themselves at a prompt, in a notebook and in Markdown, and be frames.

A prompt shows the sentence, then the notes; what has no sentence shows its fields, arrays by their size. `str` is the
sentence alone.
"""

import json
from collections.abc import Mapping, Sequence, Sized
from dataclasses import fields, is_dataclass
from decimal import Decimal
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import NoneType
from typing import Any, ClassVar, Literal, Self, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from ratewise.core.document import FactTable, Part, Sentence, as_html, as_markdown, noted
from ratewise.errors import InputError

FrameKind = Literal["pandas", "polars", "pyarrow"]
KINDS: tuple[FrameKind, ...] = get_args(FrameKind)
_Record = TypeVar("_Record")
_MAKERS = {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "table"}


def frame_of_rows(rows: Sequence[Mapping[str, Any]], kind: FrameKind | None = None) -> Any:
    """Rows as a frame of this kind; words in a list become one text, as a cell of a table holds one value."""
    names = dict.fromkeys(name for row in rows for name in row)
    cells = {name: [row.get(name) for row in rows] for name in names}
    words = {
        name: ["; ".join(map(str, x)) if isinstance(x, list | tuple) else x for x in cells[name]] for name in names
    }
    return frame_of_columns(words, kind)


def frame_of_columns(columns: Mapping[str, Any], kind: FrameKind | None = None) -> Any:
    """Columns of one length, as a frame of this kind; by default the first kind that is installed."""
    backend = _installed(kind)
    plain = {name: values.tolist() if hasattr(values, "tolist") else values for name, values in columns.items()}
    return getattr(import_module(backend), _MAKERS[backend])(plain)


def _flat(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record in one row; records within it become columns of their own, such as estimate_value."""
    out: dict[str, Any] = {}
    for name, value in record.items():
        out |= {f"{name}_{k}": v for k, v in _flat(value).items()} if isinstance(value, Mapping) else {name: value}
    return out


def _installed(kind: FrameKind | None) -> FrameKind:
    if kind is not None and kind not in KINDS:
        raise InputError(f"unknown kind of frame {kind!r}; choose one of {', '.join(KINDS)}")
    wanted = KINDS if kind is None else (kind,)
    for name in wanted:
        if find_spec(name) is not None:
            return name
    raise InputError(f"a frame needs {' or '.join(wanted)}, which is not installed; try: pip install {wanted[0]}")


_LONGEST = 76  # signs of a value
_MOST = 20  # fields


class Result:
    """What every result can do: be text, a frame, and a table in notebooks and in Markdown.

    A result says its `summary`, its `_rows` and its `document`; all else follows. Records that inherit from this are
    dataclasses with `repr=False`.
    """

    __slots__ = ()
    json_names: ClassVar[tuple[str, ...]] = ()  # what JSON has: fields and properties; all shown fields by default

    def to_dict(self) -> dict[str, Any]:
        """A dictionary, ready for JSON."""
        return {name: _in_json(getattr(self, name)) for name in self.json_names} or fields_in_json(self)

    def summary(self) -> str:
        """The result in plain words."""
        return "\n".join(f"  {name}: {text}" for name, text in _cells(self))

    def document(self) -> list[Part]:
        """What it says, part by part; terminals, notebooks, Markdown and pages show these parts."""
        said = [Sentence(self.summary())] if _has_words(self) else []
        return [FactTable(_cells(self)), *said, *noted(getattr(self, "notes", ()))]

    def _rows(self) -> Sequence[Mapping[str, Any]]:
        return [_flat(self.to_dict())]

    def to_frame(self, kind: FrameKind | None = None) -> Any:
        """Its rows as a pandas, Polars or PyArrow frame; by default the first of them that is installed."""
        return frame_of_rows(self._rows(), kind)

    def to_markdown(self) -> str:
        """What it says as Markdown, for a pull request or a wiki."""
        return as_markdown(self.document())

    def _repr_html_(self) -> str:
        return as_html(self.document())

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        said = f"{type(self).__name__}{': ' if _has_words(self) else chr(10)}{self.summary()}"
        return "\n".join([said, *(f"note: {note}" for note in getattr(self, "notes", ()))])

    def __dir__(self) -> list[str]:
        return sorted(name for name in object.__dir__(self) if not name.startswith("_") or name.startswith("__"))


def _has_words(self: Result) -> bool:
    """Whether the result has a sentence of its own."""
    return type(self).summary is not Result.summary


def fields_in_json(record: Any) -> dict[str, Any]:
    """The shown fields of a dataclass, and those of the records within it, ready for JSON."""
    return {one.name: _in_json(getattr(record, one.name)) for one in fields(record) if one.repr}


def _in_json(value: Any) -> Any:
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if is_dataclass(value):
        return fields_in_json(value)
    if isinstance(value, Mapping):
        return {name: _in_json(one) for name, one in value.items()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Decimal):  # as text, so that it stays exact
        return f"{value:f}"
    return [_in_json(one) for one in value] if isinstance(value, list | tuple) else value


class JsonRecord:
    """A dataclass that is kept as JSON: its shown fields, with every bit of their numbers."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """A dictionary, ready for JSON."""
        return fields_in_json(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The record that `to_dict` gave."""
        return record_of(cls, data)

    def to_json(self) -> str:
        """JSON text in which numbers keep every bit."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The record that `to_json` gave."""
        return cls.from_dict(json.loads(text))


def record_of(record: type[_Record], data: Mapping[str, Any]) -> _Record:
    """The dataclass of which `fields_in_json` has made the data; what is not there has its default."""
    kinds, there = _kinds(record), [one.name for one in fields(record) if one.name in data]  # type: ignore[arg-type]
    return record(**{name: _from_json(kinds[name], data[name]) for name in there})


_kinds = cache(get_type_hints)  # of a record's fields: they take longer to be found out than the record to be made


def _from_json(kind: Any, value: Any) -> Any:
    """The value of this type: a record, a tuple, an array of numbers, or what JSON has itself."""
    if value is None:
        return None
    inside = get_args(kind)
    if NoneType in inside:
        return _from_json(next(one for one in inside if one is not NoneType), value)
    if get_origin(kind) is tuple:
        each = inside[:1] * len(value) if inside[-1] is Ellipsis else inside
        return tuple(map(_from_json, each, value))
    if get_origin(kind) is np.ndarray:
        return np.array(value, dtype=np.float64)
    if hasattr(kind, "from_dict"):
        return kind.from_dict(value)
    return record_of(kind, value) if isinstance(kind, type) and is_dataclass(kind) else value


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
    if isinstance(value, Result) and _has_words(value):
        return _cut(value.summary())
    if isinstance(value, Sized) and not isinstance(value, str) and len(repr(value)) > _LONGEST:
        return f"{type(value).__name__} of {len(value):,}"
    text = repr(value) if len(repr(value)) <= _LONGEST or isinstance(value, str) else type(value).__name__
    return _cut(text)


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
