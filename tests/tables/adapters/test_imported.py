import numpy as np
import pytest

from ratewise.tables.adapters.imported import Became, Scores, imported, number, shown, text
from ratewise.tables.adapters.source import Source


def test_columns_without_a_value_are_left_out():
    told = [Became("id", "id", "a"), Became("s", "judge score", "b"), Became("none", "more", "c")]
    found = imported(Source("x.json"), "tool", [{"id": 1, "s": True}, {"id": 2}], told)
    assert found.table.columns == ("id", "s")
    np.testing.assert_array_equal(found.table.numbers("s", missing="allow"), [1, np.nan])
    assert [each.column for each in found.became] == ["id", "s"]
    assert found.became[1].to_dict() == {"column": "s", "role": "judge score", "source": "b"}


def test_a_repeated_id_is_refused(complaint):
    rows = [{"id": "a"}, {"id": "a"}]
    assert complaint(imported, Source("x.json"), "tool", rows, [Became("id", "id", "a")]) == (
        "x.json has 2 rows with the id 'a': it was written twice or appended to; give a file of one run"
    )
    assert "has no rows" in complaint(imported, Source("x.json"), "tool", [], [])


@pytest.mark.parametrize(("value", "expected"), [(True, 1), ("2.5", 2.5), (0, 0), (None, None), (10**400, "word")])
def test_numbers(value, expected):
    found = number(value)
    assert (found is None) if expected == "word" else np.isnan(found) if expected is None else found == expected
    assert np.isnan(number(float("inf")))


def test_texts_can_be_written_anywhere():
    assert text("a\ud800b") == "a?b"
    assert (text(None), text(7), shown({"a": "é"}), shown("x")) == (None, "7", '{"a": "é"}', "x")


def test_a_score_takes_no_other_column_s_name():
    scores = Scores([Became("id", "id", "a")])
    assert (scores.column("f1", "x"), scores.column("id", "y")) == ("f1", "id score")
    assert [each.source for each in scores.values()] == ["x", "y"]
