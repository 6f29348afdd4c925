import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ratewise.tables import read_table
from ratewise.tables.adapters import adapted
from ratewise.tables.adapters.source import Source


def test_the_first_value_of_lines_and_of_documents(file):
    assert Source(file("a.jsonl", [{"a": 1}, {"a": 2}])).first == {"a": 1}
    assert Source(file("a.json", '\n\n{\n "a": [1]\n}\n')).first == {"a": [1]}
    assert Source(file("b.json", "\ufeff[1, 2]")).first == [1, 2]
    assert Source(file("a.csv", "a,b\n1,2\n")).first is None
    assert Source("none.json").first is None


def test_columns_of_flat_files(file, tmp_path):
    assert Source(file("a.csv", '"a",b c\n1,2\n')).columns == {"a", "b c"}
    pq.write_table(pa.table({"winner_model_a": [1], "winner_model_b": [0], "z": [1]}), tmp_path / "a.parquet")
    assert Source(str(tmp_path / "a.parquet")).columns == {"winner_model_a", "winner_model_b"}


def test_plain_tables_are_left_alone(file, tmp_path):
    for path in (file("a.csv", "id,x\n1,2\n"), file("a.jsonl", [{"id": 1, "x": 2}]), file("b.jsonl", '{"broken')):
        assert adapted(path) is None
    short = tmp_path / "a.parquet"
    short.write_bytes(b"PAR1")
    assert adapted(str(short)) is None


def test_json_that_nobody_knows_is_told(file, complaint):
    message = complaint(read_table, file("a.json", {"x": 1}))
    assert "is not a table by its ending" in message
    assert message.endswith("(a .json file is a list of objects, or one that another tool wrote; this is neither)")
    assert complaint(read_table, file("b.json", '{"x": ')).startswith("b.json is not JSON: ")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are POSIX")
def test_a_pipe_is_not_waited_for(tmp_path, complaint):
    os.mkfifo(tmp_path / "pipe.json")
    assert Source(str(tmp_path / "pipe.json")).head == b""
    assert "is no file" in complaint(read_table, tmp_path / "pipe.json", format="helm")
