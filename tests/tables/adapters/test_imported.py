import numpy as np
import pytest

from ratewise.tables.adapters.imported import Became, TableBuilder, number, shown, text
from ratewise.tables.adapters.source import Source

COLUMNS = [Became("id", "id", "a"), Became("s", "judge score", "b.c"), Became("none", "more", "d")]


def made(*objects):
    builder = TableBuilder(Source("x.json"), "tool", COLUMNS)
    for value in builder.objects(enumerate(objects, start=1), "thing", "a"):
        builder.score(builder.row(value), "id", number(value.get("id")), "e")
    return builder.imported()


def test_columns_are_found_by_their_paths_and_left_out_without_a_value():
    found = made({"a": 1, "b": {"c": True}}, {"a": 2, "b": 7, "id": 0.5})
    assert found.table.columns == ("id", "s", "id score")  # a score takes no other column's name
    np.testing.assert_array_equal(found.table.numbers("s", missing="allow"), [1, np.nan])
    np.testing.assert_array_equal(found.table.numbers("id score", missing="allow"), [np.nan, 0.5])
    assert [(each.column, each.role, each.source) for each in found.became] == [
        ("id", "id", "a"),
        ("s", "judge score", "b.c"),
        ("id score", "judge score", "e"),
    ]


def test_repeated_ids_damage_and_nothing_are_refused(complaint):
    assert complaint(made, {"a": "a"}, {"a": "a"}) == (
        "x.json has 2 rows with the id 'a': it was written twice or appended to; give a file of one run"
    )
    assert "has no rows" in complaint(made)
    for odd in ({"b": 1}, 7):
        assert complaint(made, {"a": 1}, odd) == "row 2 of x.json is no thing; export the file once more"


@pytest.mark.parametrize(("value", "expected"), [(True, 1), ("2.5", 2.5), (0, 0), (None, None), (10**400, "word")])
def test_numbers(value, expected):
    found = number(value)
    assert (found is None) if expected == "word" else np.isnan(found) if expected is None else found == expected
    assert np.isnan(number(float("inf")))


def test_texts_can_be_written_anywhere():
    assert text("a\ud800b") == "a?b"
    assert (text(None), text(7), shown({"a": "é"}), shown("x")) == (None, "7", '{"a": "é"}', "x")
