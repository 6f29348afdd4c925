"""Results as frames: pandas, Polars or PyArrow, whichever is there; none of them is needed otherwise."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal, get_args

from ratewise.errors import InputError

FrameKind = Literal["pandas", "polars", "pyarrow"]
KINDS: tuple[FrameKind, ...] = get_args(FrameKind)
_MAKERS = {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "table"}


def frame_of_rows(rows: Sequence[Mapping[str, Any]], kind: FrameKind | None = None) -> Any:
    """Rows with the same names each, as a frame of this kind; by default the first kind that is installed."""
    return frame_of_columns(_columns(rows), kind)


def frame_of_columns(columns: Mapping[str, Any], kind: FrameKind | None = None) -> Any:
    """Columns of one length, as a frame of this kind; by default the first kind that is installed."""
    backend = _installed(kind)
    plain = {name: values.tolist() if hasattr(values, "tolist") else values for name, values in columns.items()}
    return getattr(import_module(backend), _MAKERS[backend])(plain)


def frame_of_record(record: Mapping[str, Any], kind: FrameKind | None = None) -> Any:
    """One row; records within the record become columns of their own, such as estimate_value."""
    return frame_of_rows([_flat(record)], kind)


def _flat(record: Mapping[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, value in record.items():
        out |= {f"{name}_{k}": v for k, v in _flat(value).items()} if isinstance(value, Mapping) else {name: value}
    return out


def _columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [_cell(row.get(name)) for row in rows] for name in names}


def _cell(value: Any) -> Any:
    """Words in a list become one text: a cell of a table holds one value."""
    return "; ".join(map(str, value)) if isinstance(value, list | tuple) else value


def _installed(kind: FrameKind | None) -> FrameKind:
    if kind is not None and kind not in KINDS:
        raise InputError(f"unknown kind of frame {kind!r}; choose one of {', '.join(KINDS)}")
    wanted = KINDS if kind is None else (kind,)
    for name in wanted:
        if find_spec(name) is not None:
            return name
    raise InputError(f"a frame needs {' or '.join(wanted)}, which is not installed; try: pip install {wanted[0]}")
