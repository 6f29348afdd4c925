"""What a trained rater has seen is known again: by id, by text, and by nearly the same text."""

import json

import pytest

from ratewise.errors import InputError
from ratewise.learn.rater_folder import Settings, TrainedOn, read_settings
from ratewise.tables.write import write_text

LONG = "the committee met on tuesday and decided after a long talk that the old bridge over the river must be closed"


@pytest.fixture
def known():
    return TrainedOn.of(["a1", "a2"], [("What is it?", LONG), ("Who?", "Paris")])


@pytest.mark.parametrize(
    ("id", "row", "knows"),
    [
        ("a1", ("other", "text"), True),
        ("b1", ("other", "text"), False),
        (None, ("Who?", "Paris"), True),
        (None, ("who", "PARIS!"), True),  # the same words
        (None, ("Who?", "London"), False),  # short texts must be the same
        (None, ("What is it?", LONG.replace("old bridge", "old wooden bridge")), True),
        (None, ("What was it?", LONG), False),  # another question
        (None, ("What is it?", " ".join(reversed(LONG.split()))), False),
    ],
)
def test_items_are_known_again(known, id, row, knows, tmp_path):
    assert known.knows(id, row) is knows
    write_text(tmp_path / "trained_on.json", known.to_json())
    assert TrainedOn.read(tmp_path).knows(id, row) is knows


def test_the_file_does_not_hold_the_texts(known):
    assert "bridge" not in known.to_json()


def test_settings_come_back_and_fill_the_template(tmp_path):
    settings = Settings(kind="causal", text=("q", "a"), template="Q {q} A {a} {other}", words=("bad", "good"))
    write_text(tmp_path / "ratewise.json", settings.to_json())
    again = read_settings(tmp_path)
    assert again == settings
    assert again.prompt(("{a}", "x")) == "Q {a} A x {other}"


def test_a_folder_without_settings_is_refused(tmp_path):
    with pytest.raises(InputError, match="no trained rater"):
        read_settings(tmp_path)
    with pytest.raises(InputError, match="train again"):
        TrainedOn.read(tmp_path)
    (tmp_path / "ratewise.json").write_text("{}")
    with pytest.raises(InputError, match="train the rater again"):
        read_settings(tmp_path)


def test_columns_of_any_name_are_filled_in():
    settings = Settings(
        kind="encoder", text=("the question", "ответ-1", "a.b"), template="{the question}|{ответ-1}|{a.b}"
    )
    assert settings.prompt(("{a.b}", "y", "z")) == "{a.b}|y|z"
    settings.check()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kind": "zebra"}, "kind: Input should be 'encoder' or 'causal'"),
        ({"text": []}, "text:"),
        ({"text": [1]}, "text.0:"),
        ({"template": "no column here"}, "has no {q}"),
        ({"temperature": 0}, "temperature"),
        ({"temperature": "hot"}, "temperature"),
        ({"shift": float("nan")}, "shift"),
        ({"low": 5}, "not below"),
        ({"longest": -3}, "longest:"),
        ({"longest": 1.5}, "longest:"),
        ({"words": ["no"]}, "words"),
    ],
)
def test_settings_made_by_hand_are_checked(change, words, tmp_path):
    good = json.loads(Settings(kind="encoder", text=("q",), template="{q}").to_json())
    (tmp_path / "ratewise.json").write_text(json.dumps(good | change))
    with pytest.raises(InputError, match="train the rater again") as error:
        read_settings(tmp_path)
    assert words in str(error.value)


def test_texts_without_a_word_are_not_all_the_same():
    known = TrainedOn.of([], [("👍",)])
    assert known.knows(None, ("👍 ",))
    assert not known.knows(None, ("👎",))
    assert not known.knows(None, ("",))


def test_a_rater_that_goes_on_from_another_knows_what_both_have_seen(known):
    both = known.joined(TrainedOn.of(["b7"], [("Where?", "Rome")]))
    assert all(both.knows(*item) for item in (("a1", ("x", "y")), ("b7", ("x", "y")), (None, ("where", "rome"))))
    assert not both.knows("c", ("x", "y"))
