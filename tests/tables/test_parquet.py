"""Tables that stay in Parquet files, against the same table loaded."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ratewise.tables import open_relation, read_table

COLUMNS = {
    "A": pa.array([2**60 + 1, None, 3]),
    "a": pa.array([0.1, float("nan"), None]),
    "l": pa.array([[1, 2], None, []]),
    "s": pa.array([{"x": 1, "y": {"z": "q"}}, None, None]),
    "d": pa.array(["a", None, "b"]).dictionary_encode(),
    "b": pa.array([True, None, False]),
    "n": pa.array([None, None, None]),
    "e": pa.array([1, 2, 3], pa.decimal128(9, 2)),
    'q"q\n': pa.array(["x", "", None]),
}


@pytest.fixture
def path(tmp_path):
    pq.write_table(pa.table(COLUMNS), tmp_path / "pool.parquet")
    return tmp_path / "pool.parquet"


def test_every_type_is_that_of_the_table_loaded(path):
    loaded, asked = read_table(path), open_relation(path)
    assert asked.columns == loaded.columns
    for column in COLUMNS:
        expected = loaded.texts(column, missing="allow").tolist()
        assert asked.table(column).texts(column, missing="allow").tolist() == expected
        parts = [part.texts(column, missing="allow") for part in asked.scan(column, rows=2)]
        assert np.concatenate(parts).tolist() == expected


def test_the_rows_of_small_row_groups_are_kept_in_order(tmp_path):
    values = np.random.default_rng(5).permutation(10_000)
    path = tmp_path / "pool.parquet"
    pq.write_table(pa.table({"n": values}), path, row_group_size=77)
    parts = list(open_relation(path).scan("n", rows=1_001))
    assert [part.rows for part in parts] == [1_001] * 9 + [991]
    np.testing.assert_array_equal(np.concatenate([part.numbers("n") for part in parts]), values)
    assert parts[1].name == "pool.parquet from row 1,002 on"


def test_a_part_without_rows_is_no_hindrance(path, tmp_path):
    pq.write_table(pa.table(COLUMNS).slice(0, 0), tmp_path / "a.parquet")
    relation = open_relation(tmp_path)
    assert relation.count() == 3
    assert relation.table("b").texts("b", missing="allow").tolist() == ["true", "", "false"]


def test_many_parts_keep_their_order(tmp_path):
    for number in range(40):
        pq.write_table(pa.table({"n": np.arange(500) + 500 * number}), tmp_path / f"part-{number:03}.parquet")
    relation = open_relation(tmp_path)
    np.testing.assert_array_equal(relation.table().numbers("n"), np.arange(20_000))
    parts = relation.scan("n", rows=300)
    np.testing.assert_array_equal(np.concatenate([part.numbers("n") for part in parts]), np.arange(20_000))


def test_a_batch_may_be_kept_and_widened(path):
    first, second = open_relation(path).scan("b", rows=2)
    wider = first.with_columns({"rate": [0.5, 1.0]})
    assert wider.numbers("rate").tolist() == [0.5, 1.0]
    assert second.numbers("b").tolist() == [0]
