"""The exports are made from the field names: Langfuse is a service, and was not run."""

import numpy as np
import pytest

from ratewise.tables import read_table
from ratewise.tables.adapters import adapted

HEADER = "id,timestamp,trace_id,observation_id,name,value,string_value,data_type,source,comment"
ROWS = [
    "s1,2026-01-01,t1,,helpful,0.9,,NUMERIC,EVAL,",
    "s2,2026-01-01,t1,,helpful,1,True,BOOLEAN,ANNOTATION,good",
    "s3,2026-01-01,t2,,helpful,0.2,,NUMERIC,EVAL,",
    "s4,2026-01-01,t1,,tone,1,warm,CATEGORICAL,ANNOTATION,",
    "s5,2026-01-01,t2,,tone,0,cold,CATEGORICAL,ANNOTATION,",
    "s6,2026-01-01,t2,,note,0,see below,TEXT,API,",
    "s7,2026-01-01,t2,o1,helpful,0.5,,NUMERIC,EVAL,",
    "s8,2026-01-02,t2,,helpful,0.3,,NUMERIC,EVAL,",
]


def test_a_row_is_a_trace_and_a_column_a_score(file, roles):
    path = file("scores.csv", "\n".join([HEADER, *ROWS]))
    table = read_table(path)
    assert table.ids().tolist() == ["t1", "t2", "t2/o1"]
    assert table.texts("trace_id").tolist() == ["t1", "t2", "t2"]
    np.testing.assert_array_equal(table.numbers("helpful"), [0.9, 0.3, 0.5])
    np.testing.assert_array_equal(table.numbers("helpful (human)", missing="allow"), [1, np.nan, np.nan])
    assert adapted(path).notes == ("1 scores were given again for the same trace; the latest counts",)
    assert roles(path)["helpful"] == "judge score"
    assert roles(path)["helpful (human)"] == "human score"


def test_categories_and_texts_are_no_numbers(file, roles):
    """Their value is an index, or 0: the words count."""
    path = file("scores.csv", "\n".join([HEADER, *ROWS]))
    table = read_table(path)
    assert table.texts("tone (human)", missing="allow").tolist() == ["warm", "cold", ""]
    assert table.texts("note", missing="allow").tolist() == ["", "see below", ""]
    assert (roles(path)["tone (human)"], roles(path)["note"]) == ("human score", "more")


def test_json_of_the_interface_is_the_same(file):
    keys = ("traceId", "name", "value", "stringValue", "dataType", "source", "timestamp")
    rows = [dict(zip(keys, row, strict=True)) for row in [("t1", "ok", 1, None, "BOOLEAN", "API", "1")]]
    for path in (file("a.json", {"data": rows, "meta": {}}), file("b.json", rows), file("c.jsonl", rows)):
        assert read_table(path).numbers("ok").tolist() == [1]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("s,1,t,,a,1,,IMAGE,API,", "row 1 of s.csv is a score of the unknown data_type 'IMAGE'; leave such rows out"),
        ("s,1,t,,a,much,,NUMERIC,API,", "row 1 of s.csv has the value 'much', which is no number; leave such rows out"),
        ("s,1,,,a,1,,NUMERIC,API,", "row 1 of s.csv is no score of Langfuse: each has data_type, name, source,"),
    ],
)
def test_damage_is_one_line(row, message, file, complaint):
    assert complaint(read_table, file("s.csv", f"{HEADER}\n{row}\n")).startswith(message)
