"""Designs from a table's columns: numbers as they are, a column for each word but the most frequent."""

import numpy as np
import pytest

from ratewise.errors import TableError
from ratewise.questions.regression import INTERCEPT, design
from ratewise.tables import read_table

TABLE = {
    "x": [1.0, 2.0, 4.0, 8.0], "twice": [2.0, 4.0, 8.0, 16.0], "topic": ["law", "law", "art", "sport"],
    "one": ["en"] * 4,
}  # fmt: skip
ALL = np.ones(4, dtype=bool)


def made(on, *, intercept=True, rows=ALL):
    return design(read_table(TABLE), on, rows=rows, intercept=intercept)


def test_numbers_and_words():
    found = made(["x", "topic"])
    assert found.names[:2] == (INTERCEPT, "x")
    assert set(found.names[2:]) == {"topic=art", "topic=sport"}
    np.testing.assert_array_equal(found.matrix[:, 1], TABLE["x"])
    np.testing.assert_array_equal(found.matrix[:, 2:].sum(axis=1), [0, 0, 1, 1])
    assert found.against == (("topic", "law"),)
    assert found.matrix.shape == (4, 4)
    assert made(["x"], intercept=False).names == ("x",)
    assert made(["x"], rows=np.array([True, False, True, False])).matrix.shape[0] == 2


def test_what_says_nothing_is_left_out_and_told():
    found = made(["x", "twice"])
    assert found.names == (INTERCEPT, "x")
    assert [name for name, _ in found.left_out] == ["twice"]
    assert made(["topic"]).told[-1] == "topic=law"  # it needs no coefficient
    with pytest.raises(TableError, match="'gone'"):
        made(["gone"])
