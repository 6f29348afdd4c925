"""Where the cells of a column live, and the one way to ask DuckDB about them.

A file is kept in its database, as the columns c0, c1, … of the table "data": under names of our own, since
SQL takes "A" and "a" for the same. What came from memory or was added stays in memory and is lent to the
database for the length of a question. Rows have the same order everywhere.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from operator import is_
from types import NoneType
from typing import Any, Literal, TypeAlias

import narwhals as nw
import numpy as np
import numpy.typing as npt
from duckdb import DuckDBPyConnection

from ratewise.errors import TableError, TooLargeError
from ratewise.tables.engine import COUNTED, Own, shortened

Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]

_NESTED = (list, dict, tuple, set, np.ndarray)
_NUMBERS = (bool, np.bool_, int, np.integer, float, np.floating, Decimal)
_RESOLUTIONS = {"D": "s", "ns": "ns"}
_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class LentColumn:
    """`values` are contiguous and of a kind DuckDB knows; where `missing`, they mean nothing."""

    values: Array
    missing: Mask
    sql: str = "{}"


def held(name: str, column: Array | nw.Series[Any]) -> LentColumn:
    """The column in a form that can be registered; its name is for the message if there is none."""
    return _held_series(name, column) if isinstance(column, nw.Series) else _held_array(name, column)


def _held_series(name: str, series: nw.Series[Any]) -> LentColumn:
    """The cells by the type that the frame declares; nulls come from its own mask, since `to_numpy` may lose them."""
    missing = np.asarray(series.is_null().to_numpy(), dtype=bool)
    dtype = series.dtype
    if dtype.is_nested():
        return _as_json(_objects(series.to_list()), missing)
    if dtype.is_decimal():
        series = series.cast(nw.Float64)
    if dtype.is_numeric() or dtype == nw.Boolean:
        if missing.any():
            series = series.fill_null(False if dtype == nw.Boolean else 0)
        return _with_missing(_held_array(name, series.to_numpy()), missing)
    if isinstance(dtype, nw.Datetime) and dtype.time_zone:
        moments = series.to_numpy().astype("datetime64[us]")
        return LentColumn(np.ascontiguousarray(moments), missing, "CAST({} AS TIMESTAMPTZ)")
    values = series.to_numpy()
    if values.dtype == object:
        values = values.copy()
        values[missing] = None
    return _with_missing(_held_array(name, values), missing)


def _held_array(name: str, values: Array) -> LentColumn:
    """The cells by the kind of the array."""
    kind = values.dtype.kind
    if kind in "biuf":
        return _held_numbers(values)
    if kind == "M":
        unit = np.datetime_data(values.dtype)[0]
        moments = np.ascontiguousarray(values.astype(f"datetime64[{_RESOLUTIONS.get(unit, 'us')}]"))
        return LentColumn(moments, np.isnat(values), "CAST({} AS DATE)" if unit == "D" else "{}")
    if kind == "m":
        ticks = values.astype("timedelta64[us]").astype(np.int64)
        return LentColumn(np.ascontiguousarray(ticks), np.isnat(values), "to_microseconds({})")
    if kind in "OUT":
        return _held_objects(name, values.astype(object, copy=False))
    raise TableError(f"column {name!r} holds {values.dtype} values; turn them into numbers or text first")


def _held_numbers(values: Array) -> LentColumn:
    native = values.dtype.newbyteorder("=")
    if native.kind == "f" and native.itemsize > 8:  # long double: DuckDB's widest number is the float64
        native = np.dtype(np.float64)
    missing = np.isnan(values) if native.kind == "f" else np.zeros(len(values), dtype=bool)
    return LentColumn(np.ascontiguousarray(values, dtype=native), missing)


def _held_objects(name: str, values: Array) -> LentColumn:
    """The cells by what all objects are: one kind, or else their texts. Nothing is decided from a sample."""
    kinds = set(map(type, values.tolist())) - {NoneType}
    if any(map(_may_be_gap, kinds)) and not _all_of(kinds, *_NUMBERS):
        values = _objects([None if _is_gap(value) else value for value in values])
        kinds = set(map(type, values.tolist())) - {NoneType}
    missing = np.fromiter(map(partial(is_, None), values), dtype=bool, count=len(values))
    if _all_of(kinds, bytes, bytearray, memoryview):
        raise TableError(f"column {name!r} holds bytes; turn them into numbers or text first")
    if _all_of(kinds, *_NESTED):
        return _as_json(values, missing)
    if _all_of(kinds, *_NUMBERS):
        return _as_numbers(name, values, missing, kinds)
    return _as_text(name, values, missing, plain=kinds <= {str})


def _all_of(kinds: set[type], *allowed: type) -> bool:
    return bool(kinds) and all(issubclass(kind, allowed) for kind in kinds)


def _may_be_gap(kind: type) -> bool:
    """NaN, NaT and pandas' NA stand for a missing value, as None does."""
    return issubclass(kind, float) or kind.__name__ in {"NAType", "NaTType"}


def _is_gap(value: object) -> bool:
    return _may_be_gap(type(value)) and (not isinstance(value, float) or math.isnan(value))


def _as_numbers(name: str, values: Array, missing: Mask, kinds: set[type]) -> LentColumn:
    """Truth values stay so, whole numbers keep all their digits, anything else is a float64."""
    if _all_of(kinds, bool, np.bool_):
        return LentColumn(np.where(missing, False, values).astype(np.bool_), missing)
    if _all_of(kinds, int, np.integer):
        try:
            return LentColumn(np.where(missing, 0, values).astype(np.int64), missing)
        except OverflowError:  # beyond 64 bits
            return _as_text(name, values, missing, plain=False)
    return _held_numbers(values.astype(np.float64))


def _as_json(values: Array, missing: Mask) -> LentColumn:
    """Lists and records, which only files with nested values hold as they are."""
    pairs = zip(values, missing, strict=True)
    texts = [None if gone else json.dumps(value, default=_plain) for value, gone in pairs]
    return LentColumn(_objects(texts), missing, "CAST({} AS JSON)")


def _plain(value: object) -> object:
    """What JSON has no word for: arrays are lists, anything else is its text."""
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)


def _as_text(name: str, values: Array, missing: Mask, *, plain: bool) -> LentColumn:
    """Text that DuckDB can hold; a lone surrogate would bring its database down."""
    if not plain:
        values = _objects([None if gone else str(value) for value, gone in zip(values, missing, strict=True)])
    present = values[~missing]
    try:
        for start in range(0, len(present), _CHUNK):
            "".join(present[start : start + _CHUNK]).encode()
    except UnicodeEncodeError as error:
        raise TableError(f"column {name!r} has text that is not valid Unicode: {error.reason}") from error
    return LentColumn(np.ascontiguousarray(values), missing)


def _objects(values: list[Any]) -> Array:
    """An array of objects, one per item, even if the items are lists."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _with_missing(column: LentColumn, missing: Mask) -> LentColumn:
    return LentColumn(column.values, column.missing | missing, column.sql)


# Where the cells of a column live, and the one way to ask DuckDB about them.


Cells: TypeAlias = str | Array | nw.Series[Any]
"""A column: its name in the table "data", or its values."""


@dataclass(frozen=True, slots=True)
class View:
    """Columns that can be asked about together: `SELECT <fields> FROM <source>` on the cursor."""

    cursor: DuckDBPyConnection
    fields: tuple[str, ...]
    source: str

    def kinds(self) -> tuple[str, ...]:
        """The SQL type of each field."""
        types = ", ".join(f"typeof({field})" for field in self.fields)
        row = self.cursor.execute(f"SELECT {types} FROM {self.source} LIMIT 1").fetchone()
        return tuple(map(str, row or ()))

    def fetch(self, **expressions: str) -> dict[str, Array]:
        """One array per expression of `x`, which is the only field; missing values are masked."""
        (field,) = self.fields
        selected = ", ".join(f"{sql} AS {alias}" for alias, sql in expressions.items())
        query = f"SELECT {selected} FROM (SELECT {field} AS x FROM {self.source})"
        return {str(alias): values for alias, values in self.cursor.execute(query).fetchnumpy().items()}

    def text_in(self, row: int, expression: str) -> str:
        """The text of `expression`, which is of `x`, in one row (counted from 0)."""
        (field,) = self.fields
        query = f"SELECT {expression} FROM (SELECT {field} AS x FROM {self.source} LIMIT 1 OFFSET {row:d})"
        return str((self.cursor.execute(query).fetchone() or ("",))[0])


@contextmanager
def opened(connection: DuckDBPyConnection | Own, cells: Mapping[str, Cells]) -> Iterator[View]:
    """A view of the columns, in their order, on a cursor of its own."""
    lent = {name: held(name, column) for name, column in cells.items() if not isinstance(column, str)}
    numbers = {name: number for number, name in enumerate(lent)}
    fields = tuple(
        column if isinstance(column, str) else _field(lent[name], numbers[name]) for name, column in cells.items()
    )
    with connection.cursor() as cursor:
        if lent:
            cursor.register("lent", _columns(lent))
        sources = ["data"] * (len(lent) < len(cells)) + ["lent"] * bool(lent)
        yield View(cursor, fields, " POSITIONAL JOIN ".join(sources))


def _field(column: LentColumn, number: int) -> str:
    return f"CASE WHEN missing{number} THEN NULL ELSE {column.sql.format(f'value{number}')} END"


def _columns(lent: Mapping[str, LentColumn]) -> dict[str, Array]:
    arrays: dict[str, Array] = {}
    for number, column in enumerate(lent.values()):
        arrays |= {f"value{number}": column.values, f"missing{number}": column.missing}
    return arrays


def unmasked(values: Array) -> Array:
    """An array without a mask: what is missing is NaN among floats and None among anything else."""
    missing = np.ma.getmaskarray(values)
    plain: Array = np.ma.getdata(values)
    if missing.any():
        plain = plain.astype(plain.dtype if plain.dtype.kind == "f" else object)
        plain[missing] = np.nan if plain.dtype.kind == "f" else None
    return plain


Missing: TypeAlias = Literal["error", "allow"]
Texts: TypeAlias = npt.NDArray[np.object_]
Range: TypeAlias = tuple[float, float]

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
        return f"CASE WHEN {whole} THEN {digits} WHEN {no_nan_sql(x)} THEN CAST({x} AS VARCHAR) END"
    return f"({x} ->> '$')" if kind == "JSON" else f"CAST({x} AS VARCHAR)"


def no_nan_sql(x: str) -> str:
    """Whether a float is there and not NaN.

    DuckDB takes `isnan` to be false wherever a Parquet file's statistics have no NaN, and those of Polars never have.
    """
    return f"(isfinite({x}) OR isinf({x}))"


@dataclass(frozen=True, slots=True)
class NumberSql:
    """A column as numbers: its SQL, NULL where missing.

    Where it holds numbers already, cheaper SQL: the number, which may be NaN where it is missing; whether one is there;
    and whether one is there that is not 0. Files may say a range that holds all numbers, and how many values there are,
    NaN included.
    """

    sql: str
    plain: str | None = None
    given: str = ""
    true: str | None = None
    range: Range | None = None
    values: int | None = None

    @property
    def there(self) -> str:
        """The SQL of whether a number is there."""
        return self.given or f"{self.sql} IS NOT NULL"

    def less(self, other: "NumberSql") -> "NumberSql":
        """The difference of two numbers; missing where one is."""
        plain = None if self.plain is None or other.plain is None else f"({self.plain} - {other.plain})"
        one, two = self.range, other.range
        ends = None if one is None or two is None else (one[0] - two[1], one[1] - two[0])
        return NumberSql(f"({self.sql} - {other.sql})", plain, range=ends)


def number_sql(kind: str, field: str) -> tuple[NumberSql, str | None] | None:
    """A field of this type as a number, and the SQL of whether it is something else; nothing where it never is one.

    What is NaN is missing.
    """
    double = f"CAST({field} AS DOUBLE)"
    if kind in _FLOATS:
        there = no_nan_sql(field)
        plain = field if kind == "DOUBLE" else double
        return NumberSql(f"CASE WHEN {there} THEN {double} END", plain, there, f"({field} <> 0 AND {there})"), None
    if _NUMBER.fullmatch(kind):
        return NumberSql(double, double, f"{field} IS NOT NULL", field if kind == "BOOLEAN" else f"{field} <> 0"), None
    if kind in {"VARCHAR", "JSON", '"NULL"'} or kind.startswith("ENUM("):
        bare = f"trim({text_sql(kind, field)}, {_BLANKS})"
        value = (
            f"CASE lower({bare}) WHEN 'true' THEN 1.0::DOUBLE WHEN 'false' THEN 0.0::DOUBLE"
            f" ELSE TRY_CAST({bare} AS DOUBLE) END"
        )
        return NumberSql(f"nullif({value}, 'nan'::DOUBLE)"), f"coalesce({bare} <> '' AND ({value}) IS NULL, false)"
    return None


def numbers(view: View, place: str, *, missing: Missing) -> npt.NDArray[np.float64]:
    """The only column of a view as float64, NaN where missing; never infinite."""
    (kind,) = view.kinds()
    known = number_sql(kind, "x")
    if known is None:
        raise TableError(f"{place} holds {kind} values where numbers belong")
    number, broken = known
    found = view.fetch(value=number.plain or number.sql, broken=broken or "false")
    if found["broken"].any():
        row = int(np.argmax(found["broken"]))
        shown = shortened(view.text_in(row, text_sql(kind)))
        raise TableError(
            f"{place} has text where a number belongs: {shown} in row {row + 1} {COUNTED};"
            " leave the cell empty if the rating is missing"
        )
    return checked(unmasked(found["value"]).astype(np.float64), place, missing=missing)


def checked(values: npt.NDArray[np.float64], place: str, *, missing: Missing) -> npt.NDArray[np.float64]:
    """Numbers that may be worked with, as they came."""
    _refuse_infinite(place, values)
    if missing == "error":
        _refuse_missing(place, np.isnan(values))
    return values


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
