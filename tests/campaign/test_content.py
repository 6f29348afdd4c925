"""Rows as raters get them."""

import numpy as np

from ratewise.campaign.load import cells, plain_rows
from ratewise.tables import read_table


def test_what_is_missing_is_none():
    assert cells(np.array([1.5, np.nan, np.inf])) == [1.5, None, None]
    assert cells(np.array(["2026-01-02", "NaT"], dtype="datetime64[D]")) == ["2026-01-02", None]
    assert cells(np.array(["a", None], dtype=object)) == ["a", None]


def test_rows_are_plain_dictionaries():
    table = read_table({"id": [1, 2], "text": ["a", "b"]})
    assert list(plain_rows(table)) == [{"id": 1, "text": "a"}, {"id": 2, "text": "b"}]
