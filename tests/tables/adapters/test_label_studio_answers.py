"""Annotations one by one; the field names are those of label_studio_sdk's converter."""

import pytest

from ratewise.errors import TableError
from ratewise.tables.adapters.label_studio import read_annotations


def test_json_and_json_min_tell_the_same(file):
    choice = {"from_name": "rating", "type": "choices", "value": {"choices": ["Yes"]}}
    comment = {"from_name": "comment", "type": "textarea", "value": {"text": ["so it is"]}}
    long = [{"id": 1, "data": {"q": "x"}, "annotations": [
        {"completed_by": 3, "lead_time": 2.5, "result": [choice, comment]},
        {"completed_by": {"id": 4, "email": "b@x"}, "was_cancelled": True, "result": []},
    ]}]  # fmt: skip
    short = [{"id": 1, "q": "x", "rating": "Yes", "comment": "so it is", "annotator": 3, "annotation_id": 7,
              "created_at": "", "updated_at": "", "lead_time": 2.5}]  # fmt: skip
    (one, skipped), (two,) = read_annotations(file("a.json", long)), read_annotations(file("b.json", short))
    for found in (one, two):
        assert (found.person, found.seconds, found.cancelled, found.data["q"]) == ("3", 2.5, False, "x")
        assert (found.answers["rating"], found.answers["comment"]) == ("Yes", "so it is")
    assert (skipped.person, skipped.cancelled, skipped.answers) == ("b@x", True, {})


@pytest.mark.parametrize("value", [[{"number": 62.5}], [{"rating": 62.5}]])
def test_numbers_of_json_min(file, value):
    row = {"id": 1, "rating": value, "annotator": 3, "annotation_id": 7, "lead_time": None}
    assert read_annotations(file("a.json", [row]))[0].answers["rating"] == 62.5


@pytest.mark.parametrize("document", [{}, [1], [{"data": {}}]])
def test_other_files_are_refused(file, document):
    with pytest.raises(TableError):
        read_annotations(file("a.json", document))
