import datetime as dt
import uuid
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest

from ratewise.tables import read_table, write_table

ARRAYS = {
    "text": (np.array(["a", "bb"]), ["a", "bb"]),
    "new text": (np.array(["a", "bb"], dtype=np.dtypes.StringDType()), ["a", "bb"]),
    "other byte order": (np.array([1.5, -2.5], dtype=">f8"), ["1.5", "-2.5"]),
    "half": (np.array([1.5, 0.25], dtype=np.float16), ["1.5", "0.25"]),
    "long": (np.array([1.5, 0.25], dtype=np.longdouble), ["1.5", "0.25"]),
    "strided": (np.arange(10)[::-3][:2], ["9", "6"]),
    "strided text": (np.array(["a", "b", "c"], dtype=object)[::-2], ["c", "a"]),
    "unsigned": (np.array([2**64 - 1, 0], dtype=np.uint64), [str(2**64 - 1), "0"]),
    "huge": (np.array([2**70, 1], dtype=object), [str(2**70), "1"]),
    "mixed": (np.array([1, "a"], dtype=object), ["1", "a"]),
    "whole and real": (np.array([1, 2.5], dtype=object), ["1", "2.5"]),
    "decimal": (np.array([Decimal("1.50"), Decimal(3)], dtype=object), ["1.5", "3"]),
    "identifiers": (np.array([uuid.UUID(int=5)]), ["00000000-0000-0000-0000-000000000005"]),
    "numpy scalars": (np.array([np.float64(1.5), np.int64(3)], dtype=object), ["1.5", "3"]),
    "seconds": (np.array(["1969-12-31T23:59:59"], dtype="M8[s]"), ["1969-12-31 23:59:59"]),
    "nanoseconds": (np.array(["2024-02-29T00:00:00.000000001"], dtype="M8[ns]"), ["2024-02-29 00:00:00.000000001"]),
    "days": (np.array(["2024-02-29", "1900-01-01"], dtype="M8[D]"), ["2024-02-29", "1900-01-01"]),
    "durations": (np.array([3, 3_601_000], dtype="m8[ms]"), ["00:00:00.003", "01:00:01"]),
    "lists": (np.array([[1, 2], {"a": "é"}], dtype=object), ["[1,2]", '{"a":"é"}']),
}


@pytest.mark.parametrize("kind", list(ARRAYS))
def test_every_array_has_its_texts(kind):
    values, expected = ARRAYS[kind]
    assert read_table({"x": values}).texts("x").tolist() == expected


GAPS = {
    "none": [None, "a", None],
    "not a number": [float("nan"), "a", np.float64("nan")],
    "pandas": [pd.NA, "a", pd.NaT],
    "numbers": [None, 2, float("nan")],
    "truth": [None, True, None],
    "whole": [None, 2**60 + 1, None],
    "decimal": [Decimal("nan"), Decimal(2), None],
    "lists": [None, [1], None],
    "nothing": [None, None, None],
}


@pytest.mark.parametrize("kind", list(GAPS))
def test_gaps_of_objects_are_found(kind):
    values = np.empty(3, dtype=object)
    values[:] = GAPS[kind]
    texts = read_table({"x": values}).texts("x", missing="allow").tolist()
    assert [text == "" for text in texts] == [True, kind == "nothing", True]
    assert texts[1] in {"a", "2", "true", str(2**60 + 1), "[1]", ""}


def test_a_late_value_of_another_kind_is_not_lost():
    """DuckDB would take a sample and fail on the rest."""
    values = np.array([1] * 50_000, dtype=object)
    values[33_333] = "x"
    assert read_table({"x": values}).texts("x")[33_332:33_335].tolist() == ["1", "x", "1"]
    late = np.array([None] * 50_000, dtype=object)
    late[44_444] = 0.5
    assert np.nansum(read_table({"x": late}).numbers("x", missing="allow")) == 0.5


def test_text_that_is_not_unicode_is_refused(complaint):
    table = read_table({"x": np.array(["a", "\ud800", "c"], dtype=object), "y": [1, 2, 3]})
    message = "column 'x' has text that is not valid Unicode: surrogates not allowed"
    assert complaint(table.texts, "x") == message
    assert table.numbers("y").tolist() == [1, 2, 3]


@pytest.mark.parametrize("values", [np.array([b"a"]), np.array([b"a"], dtype=object), np.array([1j])])
def test_bytes_and_complex_numbers_are_refused(values, complaint):
    message = complaint(read_table({"x": values}).texts, "x")
    assert message.startswith("column 'x' holds ")
    assert message.endswith("; turn them into numbers or text first")


def test_nested_columns_of_frames_are_written_as_they_are(tmp_path):
    frame = pl.DataFrame({"l": [[1, 2], None, []], "s": [{"a": dt.date(2024, 2, 29)}, None, {"a": None}]})
    path = tmp_path / "nested.jsonl"
    write_table(read_table(frame), path)
    assert path.read_text() == ('{"l":[1,2],"s":{"a":"2024-02-29"}}\n{"l":null,"s":null}\n{"l":[],"s":{"a":null}}\n')
