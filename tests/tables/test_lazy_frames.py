"""Frames and engines behind one relation; errors of any engine are one line about the table."""

import narwhals as nw
import numpy as np
import polars as pl
import pytest

from ratewise.errors import TableError
from ratewise.tables.frames import EngineTable, FrameTable, answer, one_complaint, spooled

DATA = {"id": ["a", "b", "c"], "n": [1.0, None, 3.0]}


def test_a_frame_keeps_its_order():
    frame = FrameTable("pool", ("id", "n"), nw.from_native(pl.DataFrame(DATA)))
    assert frame.count() == 3
    np.testing.assert_array_equal(frame.table(["n"]).numbers("n", missing=True), [1.0, np.nan, 3.0])
    assert [part.rows for part in frame.scan(["n"], 2)] == [2, 1]
    frame.check_ids("id")


def test_an_engine_answers_and_may_be_spooled():
    lazy = nw.from_native(pl.DataFrame(DATA).lazy())
    engine = EngineTable("pool", ("id", "n"), lazy)
    assert engine.count() == 3
    found = answer("pool", lazy.select(nw.col("n").sum()))
    assert found["n"].tolist() == [4.0]
    assert spooled("pool", lazy).count() == 3


def test_a_complaint_is_one_line_about_the_table():
    with pytest.raises(TableError, match="pool") as caught, one_complaint("pool"):
        raise RuntimeError("first\nsecond")
    assert "\n" not in str(caught.value)
