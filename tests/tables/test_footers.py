"""What Parquet files say at their ends is what their rows say."""

import duckdb
import numpy as np

import ratewise as rw


def placed(folder, parts):
    for number, columns in enumerate(parts):
        rw.write_table(rw.read_table(columns), folder / f"{number}.parquet")
    return rw.tables.open_relation(folder)


def test_ranges_and_rows_with_a_value_are_those_of_all_files(tmp_path):
    first = {"x": np.array([0.5, -2.0]), "n": np.array([1, None], dtype=object), "t": np.array(["a", "b"])}
    second = {"x": np.array([7.0]), "n": np.array([5], dtype=object), "t": np.array(["c"])}
    found = placed(tmp_path, [first, second])
    x, n = found.number_in_sql("x"), found.number_in_sql("n")
    assert (x.range, x.values, n.range, n.values) == ((-2.0, 7.0), 3, (1.0, 5.0), 2)
    assert found.number_in_sql("t") is None


def test_nothing_is_said_of_files_laid_out_unlike_or_of_what_is_infinite(tmp_path):
    relation = placed(tmp_path, [{"x": np.array([1.0]), "y": np.array([2.0])}, {"y": np.array([2.0]), "x": np.ones(1)}])
    assert (relation.number_in_sql("x").range, relation.number_in_sql("x").values) == (None, None)
    other = tmp_path / "other.parquet"
    duckdb.sql(f"COPY (SELECT 'inf'::DOUBLE AS x) TO '{other}' (FORMAT parquet)")
    assert rw.tables.open_relation(other).number_in_sql("x").range is None
