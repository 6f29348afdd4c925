"""The labelling config that goes with the tasks: every scale has its answers, and every text its place.

Configs, tasks and what comes back were checked with label_studio_sdk 2.1.2 (`LabelInterface.validate`, `validate_task`,
and its converter to JSON_MIN and CSV) for all four scales; it is heavy, and not installed here.
"""

import json
import xml.etree.ElementTree as ET

import pytest

from ratewise.campaign.clients.files import labelling_config
from ratewise.raters.scale import RatingScale
from ratewise.tables.adapters.label_studio import field_names, tasks_of


def parts(scale, columns=("question", "answer"), criterion=""):
    root = ET.fromstring(labelling_config(columns, scale, criterion))
    names = {tag.get("name") for tag in root.iter() if tag.get("name")}
    for tag in root.iter():
        if tag.get("toName"):
            assert tag.get("toName") in names
    return root


@pytest.mark.parametrize(
    ("scale", "words"),
    [
        (RatingScale("binary"), ["Yes", "No"]),
        (RatingScale("likert", 1, 5), ["1", "2", "3", "4", "5"]),
        (RatingScale("pairwise"), ["A", "B", "Tie"]),
        (RatingScale("score", 0, 2, words=(("bad", 0.0), ("good", 2.0))), ["bad", "good"]),
    ],
)
def test_choices(scale, words):
    root = parts(scale, ("question", "a", "b") if scale.kind == "pairwise" else ("question",))
    choices = root.find(".//Choices[@name='rating']")
    assert [one.get("value") for one in choices] == [*words, "Cannot tell"]
    assert [one.get("hotkey") for one in choices] == [str(i + 1) for i in range(len(words) + 1)]
    assert choices.get("required") == "true"


def test_a_score_is_a_number_with_a_way_out():
    root = parts(RatingScale("score", 0, 100))
    number = root.find(".//Number[@name='rating']")
    assert (number.get("min"), number.get("max"), number.get("required")) == ("0", "100", None)
    assert root.find(".//Choices[@name='cannot_tell']") is not None


def test_names_and_texts_from_outside_stay_texts():
    columns = ("my question?", "my question!", "1st", "rating", "<b>", "$x", "日本")
    names = field_names(columns)
    assert len(set(names.values())) == len(columns)
    assert all(name.isidentifier() and name.isascii() for name in names.values())
    evil = '"/><script>x</script>'
    root = parts(RatingScale("binary"), columns, evil)
    assert root.find(".//script") is None
    assert evil in [tag.get("value") for tag in root.iter("Header")]
    tasks = json.loads(tasks_of([("k", dict.fromkeys(columns, evil) | {"1st": None, "$x": [1]})], columns))
    assert tasks[0]["data"][names["<b>"]] == evil
    assert (tasks[0]["data"][names["1st"]], tasks[0]["data"][names["$x"]]) == ("", "[1]")
    shown = {tag.get("value").removeprefix("$") for tag in root.iter("Text")}
    assert shown == tasks[0]["data"].keys() - {"ratewise_key"}
