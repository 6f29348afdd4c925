"""A plain list of objects: what lies in an object is a column by its path, as in JSON lines."""

import numpy as np
import pytest

from ratewise.errors import TableError
from ratewise.tables import open_relation, read_table

ROWS = [
    {"id": "a", "judge": 0.5, "scores": {"Human": 1, "by": {"name": "ann"}}, "turns": [1, 2], "tags": {}},
    {"id": "b", "judge": 1, "scores": {"Human": None}},
    {"id": "c", "judge": 0, "late": True},
]


def test_nested_values_are_columns_by_their_path(file):
    for path in (file("t.json", ROWS), file("t.jsonl", ROWS)):
        for table in (read_table(path), open_relation(path).table()):
            assert table.columns == ("id", "judge", "scores.Human", "scores.by.name", "turns", "tags", "late")
            np.testing.assert_array_equal(table.numbers("scores.Human", missing="allow"), [1, np.nan, np.nan])
            assert table.texts("scores.by.name", missing="allow").tolist() == ["ann", "", ""]
            assert table.texts("turns", missing="allow").tolist() == ["[1,2]", "", ""]


def test_a_map_by_id_and_a_name_that_is_taken_stay_as_they_are(file):
    many = [{"id": 1, "map": {f"q{i}": i for i in range(101)}}]
    assert read_table(file("many.jsonl", many)).columns == ("id", "map")
    taken = [{"id": 1, "a": {"b": 1}, "a.b": 2}]
    assert read_table(file("taken.jsonl", taken)).columns == ("id", "a", "a.b")


@pytest.mark.parametrize("content", [[{"id": 1}, 2], [], {"id": 1}, [1]])
def test_another_document_is_told_in_one_line(file, content):
    with pytest.raises(TableError):
        read_table(file("t.json", content))
