import json
import zipfile

import numpy as np
import pytest

from ratewise.tables import count_rows, open_relation, read_table
from ratewise.tables.adapters import adapted

LOGS = ("inspect_ai.eval", "inspect_ai_chunked.eval", "inspect_ai.json")


@pytest.mark.parametrize("log", LOGS)
def test_the_logs_that_inspect_wrote(log, fixture, roles):
    """Zstd members, samples in chunks, and JSON: one table, by three ways."""
    path = fixture(log)
    table = read_table(path)
    assert table.ids().tolist() == [f"sum-{number}/{epoch}" for number in range(1, 5) for epoch in (1, 2)]
    assert table.texts("sample_id").tolist() == [f"sum-{number}" for number in range(1, 5) for _ in range(2)]
    assert table.texts("epoch").tolist() == ["1", "2"] * 4
    np.testing.assert_array_equal(table.numbers("match"), [1, 1, 0, 0, 0, 0, 1, 1])
    np.testing.assert_array_equal(table.numbers("lenient", missing="allow"), [1, 1, 0.5, 0.5, 0.5, 0.5, 1, np.nan])
    np.testing.assert_array_equal(table.numbers("rubric/right", missing="allow"), [1, 1, 0, 0, 0, 0, 1, np.nan])
    assert table.numbers("metadata.n").tolist() == [1, 1, 2, 2, 3, 3, 4, 4]
    assert roles(path) == {
        "id": "id", "sample_id": "cluster", "epoch": "epoch", "prompt": "prompt", "answer": "answer",
        "target": "target", "system": "system", "match": "judge score", "lenient": "judge score",
        "rubric/right": "judge score", "rubric/short": "judge score", "metadata.n": "input",
    }  # fmt: skip


@pytest.mark.parametrize("log", LOGS)
def test_long_texts_are_whole(log, fixture):
    """They stand elsewhere in the log, as attachments."""
    table = read_table(fixture(log))
    prompts, answers = table.texts("prompt"), table.texts("answer")
    assert prompts[0].startswith("Please answer with the number alone")
    assert prompts[0].endswith("What is 1 + 2?")
    assert prompts[2].startswith("system: You add.\n\nuser: Please answer")
    assert answers[2].count("because that is what one gets by adding the two numbers.") == 4
    assert not any("attachment://" in text for text in [*prompts, *answers])


def test_the_notes_say_what_was_not_scored(fixture):
    found = adapted(fixture("inspect_ai.eval"))
    assert found.tool == "inspect_ai log, schema 2"
    assert found.notes[0] == "lenient has no value for 1 of 8 rows, which were not scored"
    told = {each.column: each.source for each in found.became}
    assert told["match"] == "scores.match: C is 1, P 0.5, I and N 0"
    assert told["rubric/right"] == "scores.rubric.value.right"


def test_it_is_a_table_for_every_door(fixture):
    path = fixture("inspect_ai.eval")
    relation = open_relation(path, name="run")
    assert (relation.name, relation.count(), count_rows(path)) == ("run", 8, 8)


def sample(id="a", epoch=1, **more):
    return {"id": id, "epoch": epoch, "input": "2+2?", "target": "4", "output": {"completion": "4"}, **more}


def header(**more):
    return {"version": 2, "status": "success", "eval": {"model": "m", "dataset": {}}, **more}


@pytest.fixture
def log(tmp_path):
    def write(members, name="run.eval", method=zipfile.ZIP_DEFLATED):
        path = tmp_path / name
        with zipfile.ZipFile(path, "w", method) as archive:
            for member, document in members.items():
                archive.writestr(member, document if isinstance(document, str) else json.dumps(document))
        return str(path)

    return write


def test_one_epoch_needs_no_number(log):
    table = read_table(log({"header.json": header(), "samples/a_epoch_1.json": sample()}))
    assert table.ids().tolist() == ["a"]
    assert table.texts("answer").tolist() == ["4"]


def test_a_run_that_did_not_end_is_read_and_told(log):
    start = {"version": 2, "eval": {"model": "m"}}
    path = log({"_journal/start.json": start, "samples/a_epoch_1.json": sample(scores={"s": {"value": "yes"}})})
    found = adapted(path)
    assert found.notes == ("the run's status is 'started': samples may be missing",)
    assert found.table.numbers("s").tolist() == [1]


def test_words_that_are_no_letters_stay_words(log):
    scores = [{"tone": {"value": "warm"}, "id": {"value": 3}}, {"tone": {"value": "C"}}]
    members = {f"samples/{n}_epoch_1.json": sample(id=n, scores=each) for n, each in enumerate(scores)}
    table = read_table(log({"header.json": header(), **members}))
    assert table.texts("tone").tolist() == ["warm", "C"]
    assert "id score" in table.columns


def test_messages_and_parts_of_them(log):
    asked = [
        {"role": "system", "content": "Add."},
        {"role": "user", "content": [{"type": "text", "text": "2+2?"}, {"type": "image", "image": "x"}]},
    ]
    output = {
        "choices": [{"message": {"content": [{"type": "reasoning", "reasoning": "…"}, {"type": "text", "text": "4"}]}}]
    }
    path = log({"header.json": header(), "samples/a_epoch_1.json": sample(input=asked, output=output, target=["4"])})
    table = read_table(path)
    assert table.texts("prompt").tolist() == ["system: Add.\n\nuser: 2+2?\n[image]"]
    assert table.texts("answer").tolist() == ["4"]
    assert table.texts("target").tolist() == ["4"]


def test_a_newer_schema_says_what_it_found(log, file, complaint):
    expected = (
        " is a log of schema 3; schemas up to 2 can be read: write it by an older inspect_ai, or take a newer ratewise"
    )
    assert complaint(read_table, log({"header.json": header(version=3)})) == "run.eval" + expected
    assert complaint(read_table, file("run.json", header(version=3))) == "run.json" + expected


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"a.txt": "x"}, "run.eval is a zip archive without header.json of inspect_ai; it holds a.txt"),
        ({"header.json": header()}, "run.eval has no rows; there is nothing to work on"),
        ({"header.json": "{"}, "header.json in run.eval is not JSON: "),
        ({"header.json": header(), "samples/a_epoch_1.json": []}, "samples/a_epoch_1.json in run.eval is no sample;"),
        ({"header.json": header(), "samples/a_epoch_1.json": {}}, "a sample of run.eval has no id and epoch;"),
    ],
)
def test_a_damaged_log_is_one_line(members, message, log, complaint):
    assert complaint(read_table, log(members)).startswith(message)


def test_a_truncated_log_is_one_line(fixture, tmp_path, complaint):
    with open(fixture("inspect_ai.eval"), "rb") as file:
        data = file.read()
    path = tmp_path / "cut.eval"
    path.write_bytes(data[: len(data) // 2])
    assert complaint(read_table, path) == "cut.eval is a damaged or incomplete zip archive; copy it once more"


def test_another_file_is_refused_by_name(file, complaint):
    message = "x.json is no log of inspect_ai; give its .eval or .json file"
    assert complaint(read_table, file("x.json", [1]), format="inspect_ai") == message
