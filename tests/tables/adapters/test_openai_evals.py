"""The file is made from the field names: `oaieval` needs a network and was not run."""

import numpy as np
import pytest

from ratewise.tables import read_table
from ratewise.tables.adapters import adapted

SPEC = {"spec": {"completion_fns": ["gpt-x"], "eval_name": "match.s1.v0", "run_id": "r1"}}


def event(number, sample, kind, **data):
    return {"run_id": "r1", "event_id": number, "sample_id": sample, "type": kind, "data": data}


EVENTS = [
    SPEC,
    event(0, "m.0", "sampling", prompt=[{"role": "user", "content": "2+2?"}], sampled=["4"]),
    event(1, "m.0", "match", correct=True, expected="4", picked="4", sampled="4"),
    event(2, "m.1", "match", correct=False, expected=["5", "five"], picked="6", sampled="6"),
    event(3, "m.2", "metrics", f1=0.5, label="x"),
    {"final_report": {"accuracy": 0.5}},
]


def test_a_row_is_a_sample(file, roles):
    path = file("run.jsonl", EVENTS)
    table = read_table(path)
    assert table.ids().tolist() == ["m.0", "m.1", "m.2"]
    assert table.texts("prompt", missing="allow").tolist() == ["user: 2+2?", "", ""]
    assert table.texts("answer", missing="allow").tolist() == ["4", "6", ""]
    assert table.texts("target", missing="allow").tolist() == ["4", '["5", "five"]', ""]
    np.testing.assert_array_equal(table.numbers("correct", missing="allow"), [1, 0, np.nan])
    np.testing.assert_array_equal(table.numbers("f1", missing="allow"), [np.nan, np.nan, 0.5])
    assert set(table.texts("system")) == {"gpt-x"}
    assert roles(path)["correct"] == "judge score"


def test_a_run_that_was_stopped_is_told(file):
    lines = [*EVENTS[:3], event(9, "m.3", "error", message="down")]
    found = adapted(file("run.jsonl", lines))
    assert found.notes == (
        "there is no final_report: the run was stopped before its end",
        "1 events are errors; their samples have no score",
    )
    assert found.table.rows == 2


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([SPEC], "run.jsonl has no event of a sample; give the JSONL that `oaieval` records"),
        ([SPEC, 7], "row 2 of run.jsonl is no event of OpenAI evals; export the file once more"),
    ],
)
def test_damage_is_one_line(lines, message, file, complaint):
    assert complaint(read_table, file("run.jsonl", lines)) == message
