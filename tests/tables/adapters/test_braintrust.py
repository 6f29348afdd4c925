"""Braintrust's exports: the root of a trace is an item, and a score's name says whether people gave it."""

import numpy as np
import pytest

from ratewise.errors import TableError
from ratewise.tables import read_table
from ratewise.tables.adapters import adapted


def event(number=0, **more):
    return {
        "id": f"e{number}", "span_id": f"s{number}", "root_span_id": f"s{number}", "is_root": True,
        "span_parents": None, "input": {"question": "2+2?"},
        "output": "4", "expected": "four", "scores": {"Factuality": 0.6, "Human": 1},
        "metadata": {"topic": "sums"}, "tags": [], "created": "2026-11-18", **more,
    }  # fmt: skip


@pytest.mark.parametrize("wrapped", [lambda x: x, lambda x: {"events": x}, lambda x: {"data": x, "schema": {}}])
def test_a_trace_is_a_row_with_the_scores_of_its_root(file, roles, wrapped):
    scorer = event(2, root_span_id="s0", is_root=False, span_parents=["s0"], scores={"Factuality": 0.1})
    path = file("export.json", wrapped([event(), scorer, event(1, scores={"Factuality": None})]))
    found = adapted(path)
    table = found.table
    assert found.tool == "Braintrust export"
    assert table.ids().tolist() == ["e0", "e1"]
    np.testing.assert_array_equal(table.numbers("scores.Human", missing="allow"), [1, np.nan])
    assert (table.texts("prompt")[0], table.texts("answer")[0]) == ('{"question": "2+2?"}', "4")
    assert table.texts("metadata.topic").tolist() == ["sums", "sums"]
    assert (roles(path)["scores.Human"], roles(path)["scores.Factuality"]) == ("human score", "judge score")
    assert found.notes == ("1 spans below the root of a trace are left out",)


def test_lines_are_the_same(file):
    assert read_table(file("export.jsonl", [event(), event(1)])).numbers("scores.Factuality").tolist() == [0.6, 0.6]


def test_damage_is_one_line(file):
    with pytest.raises(TableError, match="row 2"):
        read_table(file("export.jsonl", [event(), {"id": "x"}]))
