import numpy as np
import pytest

from ratewise.tables import read_table
from ratewise.tables.adapters import adapted


def row(test=0, prompt=0, **more):
    return {
        "testIdx": test, "promptIdx": prompt, "provider": {"id": "echo", "label": "e"}, "vars": {"q": "2+2", "n": [1]},
        "prompt": {"raw": "What is 2+2?", "label": f"p{prompt}"}, "response": {"output": "4"}, "success": True,
        "score": 0.5, "failureReason": 0, "namedScores": {"tone": 0.25}, "cost": 0.01, **more,
    }  # fmt: skip


def document(*rows, version=3):
    return {"evalId": "e", "results": {"version": version, "prompts": [], "stats": {}, "results": rows}, "config": {}}


def test_a_document_and_lines_are_the_same_table(file, roles):
    rows = [row(), row(1)]
    for path in (file("results.json", document(*rows)), file("results.jsonl", rows)):
        table = read_table(path)
        assert table.ids().tolist() == ["0/0", "1/0"]
        assert table.texts("test").tolist() == ["0", "1"]
        assert table.numbers("score").tolist() == [0.5, 0.5]
        assert table.numbers("success").tolist() == [1, 1]
        assert table.numbers("tone").tolist() == [0.25, 0.25]
        assert (table.texts("prompt")[0], table.texts("answer")[0], table.texts("system")[0]) == (
            "What is 2+2?",
            "4",
            "e",
        )
        assert (table.texts("vars.q")[0], table.texts("vars.n")[0]) == ("2+2", "[1]")
        assert (roles(path)["test"], roles(path)["score"]) == ("cluster", "judge score")


@pytest.mark.parametrize("name", ["promptfoo.json", "promptfoo.jsonl"])
def test_the_files_that_promptfoo_wrote(name, fixture):
    """Two prompts, two tests; the provider echoes, and half of the assertions have a metric of their own."""
    found = adapted(fixture(name))
    table = found.table
    scores = dict(zip(table.ids(), table.numbers("score"), strict=True))
    assert scores == {"0/0": 1, "0/1": 0.5, "1/0": 0, "1/1": 0}
    assert set(table.texts("system")) == {"echo, What is {{a}} + {{b}}?", "echo, Add {{a}} and {{b}}."}
    assert sorted(table.texts("answer")) == ["Add 1 and 2.", "Add 3 and 4.", "What is 1 + 2?", "What is 3 + 4?"]
    assert np.isnan(table.numbers("asks", missing="allow")).sum() == 2
    assert (found.tool, found.notes) == ("promptfoo results, version 3", ())


def test_an_error_of_the_provider_is_no_score_of_zero(file):
    failed = row(1, success=False, score=0, failureReason=2, error="down", response=None)
    found = adapted(file("results.json", document(row(), failed, row(2, success=False, score=0, failureReason=1))))
    np.testing.assert_array_equal(found.table.numbers("score", missing="allow"), [0.5, np.nan, 0])
    assert found.table.texts("error", missing="allow").tolist() == ["", "down", ""]
    assert found.notes == ("1 rows are errors of a provider; they have no score",)


def test_repeats_are_epochs_and_prompts_are_systems(file):
    table = read_table(file("results.json", document(row(), row(), row(0, 1))))
    assert table.ids().tolist() == ["0/0/1", "0/0/2", "0/1/1"]
    assert table.texts("epoch").tolist() == ["1", "2", "1"]
    assert table.texts("system").tolist() == ["e, p0", "e, p0", "e, p1"]


@pytest.mark.parametrize("version", [2, 4, None])
def test_another_version_says_what_it_found(version, file, complaint):
    assert complaint(read_table, file("r.json", document(row(), version=version))) == (
        f"r.json is of promptfoo's version {version!r}; version 3 can be read: write it with"
        " `promptfoo eval -o results.json`, or as results.jsonl"
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (document(row(), 7), "row 2 of r.json is no result of promptfoo: each has testIdx and promptIdx; export the"),
        ({"results": {"version": 3, "stats": {}}}, "r.json has no list of results; write it with `promptfoo eval -o"),
        (document(row(test=[1])), "row 1 of r.json is damaged, or no file of 'promptfoo'; export it once more"),
        (document(), "r.json has no rows; there is nothing to work on"),
    ],
)
def test_damage_is_one_line(content, message, file, complaint):
    assert complaint(read_table, file("r.json", content)).startswith(message)


def test_another_file_is_refused_by_name(file, complaint):
    message = "a.json is no file of promptfoo; give what `promptfoo eval -o results.json` writes"
    assert complaint(read_table, file("a.json", [1]), format="promptfoo") == message
