"""Cells → numbers and texts, by DuckDB in one pass each; a complaint names the column, table and row."""

import re
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from ratewise.errors import TableError, TooLargeError
from ratewise.tables.cells import Array, View, unmasked
from ratewise.tables.engine import COUNTED, shortened

Missing: TypeAlias = Literal["error", "allow"]
Texts: TypeAlias = npt.NDArray[np.object_]

_NUMBER = re.compile(r"BOOLEAN|U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL\(.*\)")
_FLOATS = frozenset({"FLOAT", "DOUBLE"})
_BLANKS = "' \t\r\n\u00a0'"

LARGEST = 1e50  # squares and fourth powers of it are still numbers


def text_sql(kind: str, x: str = "x") -> str:
    """The text of `x`, a value of an SQL type.

    A whole float has no decimal point while it fits into 64 bits: pandas makes floats of ids with gaps.
    """
    if kind in {"FLOAT", "DOUBLE"}:
        whole = f"{x} = trunc({x}) AND abs({x}) < 9.2e18"
        digits = f"CAST(TRY_CAST({x} AS BIGINT) AS VARCHAR)"
        return f"CASE WHEN isnan({x}) THEN NULL WHEN {whole} THEN {digits} ELSE CAST({x} AS VARCHAR) END"
    return f"({x} ->> '$')" if kind == "JSON" else f"CAST({x} AS VARCHAR)"


def number_sql(kind: str, field: str) -> tuple[str, str | None] | None:
    """The SQL of a field of this type as a number, and of whether it is something else; nothing where it never is one.

    What is NaN is missing.
    """
    if kind in _FLOATS:
        return f"CASE WHEN isnan({field}) THEN NULL ELSE CAST({field} AS DOUBLE) END", None
    if _NUMBER.fullmatch(kind):
        return f"CAST({field} AS DOUBLE)", None
    if kind in {"VARCHAR", '"NULL"'}:
        parsed = _parsed(text_sql(kind, field))
        return parsed["value"], parsed["broken"]
    return None


def holds_numbers(kind: str) -> bool:
    """Whether fields of this type are numbers, or truth values, whatever they hold."""
    return _NUMBER.fullmatch(kind) is not None


def given_sql(kind: str, field: str) -> str:
    """The SQL of whether a field that holds numbers has one."""
    return f"({field} IS NOT NULL AND NOT isnan({field}))" if kind in _FLOATS else f"{field} IS NOT NULL"


def true_sql(kind: str, field: str) -> str:
    """The SQL of whether a field that holds numbers has one that is not 0."""
    if kind == "BOOLEAN":
        return field
    return f"({field} <> 0 AND NOT isnan({field}))" if kind in _FLOATS else f"{field} <> 0"


def numbers(view: View, place: str, *, missing: Missing) -> npt.NDArray[np.float64]:
    """The only column of a view as float64, NaN where missing; never infinite."""
    (kind,) = view.kinds()
    if _NUMBER.fullmatch(kind):
        found = view.fetch(value="CAST(x AS DOUBLE)")
    elif kind in {"VARCHAR", "JSON", '"NULL"'} or kind.startswith("ENUM("):
        found = view.fetch(**_parsed(text_sql(kind)))
        _refuse_text(view, place, found["broken"], text_sql(kind))
    else:
        raise TableError(f"{place} holds {kind} values where numbers belong")
    return checked(unmasked(found["value"]).astype(np.float64), place, missing=missing)


def checked(values: npt.NDArray[np.float64], place: str, *, missing: Missing) -> npt.NDArray[np.float64]:
    """Numbers that may be worked with, as they came."""
    _refuse_infinite(place, values)
    if missing == "error":
        _refuse_missing(place, np.isnan(values))
    return values


def _parsed(text: str) -> dict[str, str]:
    """The number a text stands for, and whether it stands for none although it is not blank."""
    bare = f"trim({text}, {_BLANKS})"
    value = (
        f"CASE lower({bare}) WHEN 'true' THEN 1.0::DOUBLE WHEN 'false' THEN 0.0::DOUBLE"
        f" ELSE TRY_CAST({bare} AS DOUBLE) END"
    )
    return {"value": value, "broken": f"coalesce({bare} <> '' AND ({value}) IS NULL, false)"}


def texts(view: View, place: str, *, missing: Missing) -> Texts:
    """The only column of a view as an object array of str, "" where missing."""
    (kind,) = view.kinds()
    found = view.fetch(text=f"nullif({text_sql(kind)}, '')")["text"]
    gone = np.ma.getmaskarray(found)
    if missing == "error":
        _refuse_missing(place, gone)
    return np.where(gone, "", np.ma.getdata(found)).astype(object)


def check_ids(view: View, place: str) -> None:
    """Ids, the only column of a view, are there in every row and name one row each.

    DuckDB's 64-bit hashes are compared, eight bytes an id whatever its length: a set of the texts would take ten
    times as much. Texts are looked at only where hashes agree.
    """
    (kind,) = view.kinds()
    text = f"nullif({text_sql(kind)}, '')"
    hashes = view.fetch(hash=f"CASE WHEN {text} IS NOT NULL THEN hash({text}) END")["hash"]
    _refuse_missing(place, np.ma.getmaskarray(hashes))
    pair = _first_repeat(np.ma.getdata(hashes))
    if pair is not None and len({view.text_in(row, text) for row in pair}) > 1:  # two texts with one hash: very rare
        pair = _first_repeat(np.unique(texts(view, place, missing="error"), return_inverse=True)[1])
    if pair is not None:
        raise TableError(
            f"{place} has the id {shortened(view.text_in(pair[0], text))} twice, in rows {pair[0] + 1} and"
            f" {pair[1] + 1} {COUNTED}; ids must be unique"
        )


def _first_repeat(codes: Array) -> tuple[int, int] | None:
    """The first row whose code was there before, and where it was first; None where all differ."""
    ordered = np.sort(codes)
    if not (ordered[1:] == ordered[:-1]).any():
        return None
    order = np.argsort(codes, kind="stable")
    again = np.flatnonzero(codes[order][1:] == codes[order][:-1]) + 1
    second = int(order[again].min())
    return int(np.argmax(codes == codes[second])), second


def _refuse_text(view: View, place: str, broken: Array, text: str) -> None:
    if not broken.any():
        return
    row = int(np.argmax(broken))
    shown = shortened(view.text_in(row, text))
    raise TableError(
        f"{place} has text where a number belongs: {shown} in row {row + 1} {COUNTED};"
        " leave the cell empty if the rating is missing"
    )


def _refuse_infinite(place: str, values: npt.NDArray[np.float64]) -> None:
    infinite = np.isinf(values)
    if infinite.any():
        row = int(np.argmax(infinite)) + 1
        raise TableError(f"{place} is infinite in row {row} {COUNTED}; give a finite number or an empty cell")
    large = np.abs(values) > LARGEST
    if large.any():
        row = int(np.argmax(large))
        raise TooLargeError(
            f"{place} holds {values[row]:g} in row {row + 1} {COUNTED}; numbers up to {LARGEST:g} can be worked with:"
            " use a larger unit"
        )


def _refuse_missing(place: str, gone: npt.NDArray[np.bool_]) -> None:
    count = int(np.count_nonzero(gone))
    if count:
        row = int(np.argmax(gone)) + 1
        raise TableError(
            f"{place} has no value in row {row} {COUNTED}; {count} of {len(gone)} rows are empty:"
            " fill them or leave them out"
        )
