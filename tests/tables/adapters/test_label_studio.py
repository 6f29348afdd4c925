"""The exports are made from the field names: Label Studio is a server, and was not run."""

import pytest

from ratewise.tables import read_table
from ratewise.tables.adapters import adapted


def annotation(person, *answers, cancelled=False, seconds=2.0):
    result = [
        {"from_name": name, "to_name": "text", "type": kind, "value": {kind: value}} for name, kind, value in answers
    ]
    return {"completed_by": person, "lead_time": seconds, "was_cancelled": cancelled, "result": result}


def task(id, *annotations):
    return {"id": id, "data": {"prompt": f"q{id}", "response": f"a{id}", "meta": {"k": 1}}, "annotations": annotations}


def test_a_column_for_each_person_and_question(file, roles):
    good, bad = ("verdict", "choices", ["good"]), ("verdict", "choices", ["bad"])
    stars = ("stars", "rating", 4)
    document = [
        task(1, annotation(1, good, stars), annotation({"id": 2, "email": "b@x"}, bad)),
        task(2, annotation(1, bad, cancelled=True)),
    ]
    path = file("export.json", document)
    table = read_table(path)
    assert table.ids().tolist() == ["1", "2"]
    assert table.texts("verdict_1", missing="allow").tolist() == ["good", ""]  # cancelled is missing
    assert table.texts("verdict_b@x", missing="allow").tolist() == ["bad", ""]
    assert table.numbers("stars_1", missing="allow")[0] == 4
    assert table.texts("lead_time").tolist() == ["4.0", "2.0"]
    assert roles(path) == {
        "id": "id", "prompt": "prompt", "response": "answer", "meta": "more", "verdict_1": "human score",
        "stars_1": "human score", "verdict_b@x": "human score", "lead_time": "more",
    }  # fmt: skip


def test_one_person_s_columns_have_the_question_s_name(file):
    several = ("tags", "choices", ["a", "b"])
    text = ("why", "text", ["because"])
    table = read_table(file("export.json", [task(1, annotation(7, several, text))]))
    assert table.texts("tags").tolist() == ["a,b"]
    assert table.texts("why").tolist() == ["because"]


def test_an_answer_given_again_counts(file):
    old, new = annotation(7, ("ok", "choices", ["no"])), annotation(7, ("ok", "choices", ["yes"]))
    found = adapted(file("export.json", [task(1, old, new)]))
    assert found.table.texts("ok").tolist() == ["yes"]
    assert found.notes == ("1 answers were given again by the same person; the last counts",)


def test_json_min_is_the_same(file, roles):
    def row(id, person, verdict):
        own = {"annotator": person, "annotation_id": id, "created_at": "x", "updated_at": "y", "lead_time": 1.5}
        return {"id": id, "prompt": "q", "verdict": verdict, "tags": {"choices": ["a", "b"]}, **own}

    path = file("min.json", [row(1, 5, "good"), row(2, 5, "bad")])
    table = read_table(path)
    assert table.texts("verdict").tolist() == ["good", "bad"]
    assert table.texts("tags").tolist() == ["a,b", "a,b"]
    assert (roles(path)["prompt"], roles(path)["verdict"]) == ("prompt", "human score")


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([task(1), 7], "row 2 of e.json is no task of Label Studio: each has data and annotations; export the file"),
        ({"a": 1}, "e.json is no list of tasks; export JSON or JSON_MIN from Label Studio"),
    ],
)
def test_damage_is_one_line(document, message, file, complaint):
    assert complaint(read_table, file("e.json", document), format="label_studio").startswith(message)
