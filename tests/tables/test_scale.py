"""A million rows, and not one line of Python per row."""

import os
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest

import ratewise.tables
from ratewise.tables import read_table, write_table

from ..bounds import further

FOLDER = os.path.dirname(ratewise.tables.__file__)
MANY = 1_000_000
FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "mapping": dict}


def steps(call, *args, **options):
    """The result, and how many lines of ratewise.tables ran for it."""
    count = 0

    def line(frame, event, argument):
        nonlocal count
        count += event == "line"
        return line

    def enter(frame, event, argument):
        return line if frame.f_code.co_filename.startswith(FOLDER) else None

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        return call(*args, **options), count
    finally:
        sys.settrace(before)


def columns(rows):
    rng = np.random.default_rng(rows)
    human = np.where(rng.random(rows) < 0.03, rng.random(rows), np.nan)
    groups = np.array(["a", "b,b", "c\nc", None], dtype=object)
    return {
        "id": np.arange(rows)[::-1] + 10**7,
        "judge": rng.random(rows),
        "human": human,
        "group": groups[rng.integers(4, size=rows)],
    }


def work(source, target):
    """What a draw does: read, look at four columns, add two, write, and read again."""
    table = read_table(source)
    ids, judge = table.ids(), table.numbers("judge")
    human, group = table.numbers("human", missing="allow"), table.texts("group", missing="allow")
    write_table(table.with_columns({"rate": judge / 2, "selected": judge > 0.9, "key": ids}), target)
    return ids, judge, human, group, read_table(target)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "pandas", further("polars"), further("mapping")])
def test_the_work_in_python_does_not_grow_with_the_rows(ending, tmp_path):
    counts = []
    for rows in (1_000, MANY):
        values = columns(rows)
        source, target = tmp_path / f"{rows}.{ending}", tmp_path / f"out-{rows}.{ending}"
        if ending in FRAMES:
            target = tmp_path / f"out-{rows}.parquet"
            source = FRAMES[ending](values)
        else:
            write_table(read_table(values), source)
        (ids, judge, human, group, back), count = steps(work, source, target)
        counts.append(count)
        np.testing.assert_array_equal(ids, values["id"].astype(str))
        np.testing.assert_array_equal(judge, values["judge"])
        np.testing.assert_array_equal(human, values["human"])
        np.testing.assert_array_equal(group, np.where(values["group"] == None, "", values["group"]))  # noqa: E711
        assert back.rows == rows
        np.testing.assert_array_equal(back.numbers("rate"), values["judge"] / 2)
        np.testing.assert_array_equal(back.numbers("selected"), values["judge"] > 0.9)
        np.testing.assert_array_equal(back.ids(), back.texts("key"))
    small, large = counts
    assert small > 100  # the lines are counted at all
    assert large < small + 500
