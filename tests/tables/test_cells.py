"""Columns of a database and of this process, asked about together."""

import numpy as np
import pytest

from ratewise.tables.cells import opened, unmasked
from ratewise.tables.engine import connect


@pytest.fixture
def connection():
    made = connect()
    made.execute("CREATE TABLE data AS SELECT * FROM (VALUES (1, 'a'), (NULL, 'b')) AS t(c0, c1)")
    return made


def test_stored_and_lent_columns_stand_side_by_side(connection):
    cells = {"n": "c0", "x": np.array([0.5, np.nan])}
    with opened(connection, cells) as view:
        rows = view.cursor.execute(f"SELECT {', '.join(view.fields)} FROM {view.source}").fetchall()
    assert rows == [(1, 0.5), (None, None)]


def test_one_column_by_expressions(connection):
    with opened(connection, {"s": "c1"}) as view:
        assert view.kinds() == ("VARCHAR",)
        assert view.fetch(big="upper(x)")["big"].tolist() == ["A", "B"]
        assert view.text_in(1, "x || '!'") == "b!"


def test_what_is_missing_has_no_mask_any_more():
    np.testing.assert_array_equal(unmasked(np.ma.array([1.0, 2.0], mask=[0, 1])), [1.0, np.nan])
    assert unmasked(np.ma.array([1, 2], mask=[0, 1])).tolist() == [1, None]
    assert unmasked(np.array([1, 2])).dtype.kind == "i"
