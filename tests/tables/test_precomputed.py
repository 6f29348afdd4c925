import json

import numpy as np

from ratewise.tables import read_table
from ratewise.tables.write import write_precomputed_scores


def test_records_of_samples_and_epochs(tmp_path):
    columns = {"id": ["a/1", "a/2"], "sample_id": ["a", "a"], "epoch": [1, 2], "human": [1.0, np.nan]}
    path = tmp_path / "scores.json"
    assert write_precomputed_scores(read_table(columns), "human", str(path)) == 1
    assert json.loads(path.read_text()) == [{"id": "a", "epoch": 1, "value": 1.0}]


def test_lines_and_words(tmp_path):
    path = tmp_path / "scores.jsonl"
    table = read_table({"id": ["a", "b"], "human": np.array(["good", None], dtype=object)})
    assert write_precomputed_scores(table, "human", str(path)) == 1
    assert path.read_text() == '{"id": "a", "value": "good"}\n'


def test_what_cannot_be_written_is_one_line(tmp_path, complaint):
    table = read_table({"id": ["a"], "human": [np.nan]})
    assert complaint(write_precomputed_scores, table, "human", str(tmp_path / "s.json")) == (
        "column 'human' of table has no rating; rate some rows first"
    )
    assert "inspect_ai reads .json and .jsonl" in complaint(write_precomputed_scores, table, "human", "s.csv")
    assert "has no column 'x'" in complaint(write_precomputed_scores, table, "x", str(tmp_path / "s.json"))
