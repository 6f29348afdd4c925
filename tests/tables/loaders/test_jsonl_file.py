"""JSONL into a database: the kind of a column is that of all its values. More is in ../test_load.py."""

import pytest

from ratewise.errors import TableError
from ratewise.tables.engine import connect
from ratewise.tables.load import copy_jsonl, count_jsonl, load_jsonl


@pytest.fixture
def path(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"n": 1, "a/b": true}\n{"n": 2.5, "t": "x"}\n{"n": null}\n')
    return str(tmp_path / "a.jsonl")


def test_columns_are_those_of_all_rows(path):
    connection = connect()
    assert load_jsonl(connection, path, "pool") == ["n", "a/b", "t"]
    assert connection.execute("SELECT * FROM data").fetchall() == [(1.0, True, None), (2.5, None, "x"), (None,) * 3]


def test_rows_are_counted_and_copied(path, tmp_path):
    assert count_jsonl(connect(), path, "pool") == 3
    assert copy_jsonl(connect(), [path, path], "pool", str(tmp_path / "out.parquet")) == ["n", "a/b", "t"]
    assert (tmp_path / "out.parquet").exists()


@pytest.mark.parametrize("text", ["[1]\n", "1\n", '{"n": \n'])
def test_rows_that_are_no_objects_are_told(tmp_path, text):
    (tmp_path / "b.jsonl").write_text('{"n": 1}\n' + text)
    with pytest.raises(TableError, match="pool"):
        load_jsonl(connect(), str(tmp_path / "b.jsonl"), "pool")
