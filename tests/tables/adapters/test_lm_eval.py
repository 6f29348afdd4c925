import pytest

from ratewise.tables import read_table
from ratewise.tables.adapters import adapted


def test_samples_of_several_filters_are_clusters(fixture, roles):
    path = fixture("lm_eval_samples_sums.jsonl")
    table = read_table(path)
    assert table.ids().tolist() == [f"{n}/{filter}" for filter in ("strict", "lenient") for n in range(5)]
    assert table.texts("doc_id").tolist() == ["0", "1", "2", "3", "4"] * 2
    assert table.texts("prompt")[0] == "Question: What is 1 + 2?\nAnswer:"
    assert (table.texts("answer")[0], table.texts("answer")[5]) == ("[invalid]", "lol")
    assert table.texts("target").tolist() == ["3", "6", "9", "12", "15"] * 2
    assert table.numbers("exact_match").tolist() == [0] * 10
    assert roles(path)["doc_id"] == "cluster"
    assert roles(path)["exact_match"] == "judge score"


def test_the_answer_to_choices_is_the_likeliest(fixture):
    table = read_table(fixture("lm_eval_samples_parity.jsonl"))
    assert table.ids().tolist() == ["0", "1", "2", "3", "4"]
    assert table.texts("answer")[:2].tolist() == ["yes", "no"]  # -0.03 against -0.24, -0.80 against -0.41
    assert {"acc", "acc_norm"} <= set(table.columns)


def test_results_are_means_of_tasks(fixture):
    found = adapted(fixture("lm_eval_results.json"))
    assert found.table.ids().tolist() == ["sums/strict", "sums/lenient", "parity/none"]
    assert found.table.numbers("acc_norm", missing="allow")[2] == 0.2
    assert found.notes[0].startswith("these are means over whole tasks; the scores of items are in samples_")


def sample(**more):
    return {"doc_id": 1, "doc": {}, "resps": [["4"]], "filtered_resps": ["4"], **more}


def test_older_files_name_no_metrics_and_have_lists(file):
    old = sample(arguments=[["2+2?", {"until": []}]], target="4", acc=True, bleu=["a", "b"], doc_hash="x")
    found = adapted(file("samples_a.jsonl", [old]))
    assert found.table.columns == ("id", "doc_id", "prompt", "answer", "target", "acc")
    assert found.table.numbers("acc").tolist() == [1]
    assert found.notes == ("bleu is no number for each item, and is left out",)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([sample(), sample()], "a.jsonl has 2 rows with the id '1': it was written twice or appended to;"),
        ([sample(), {"x": 1}], "row 2 of a.jsonl is no sample of lm-eval: each has doc_id; export the file once more"),
    ],
)
def test_damage_is_one_line(lines, message, file, complaint):
    assert complaint(read_table, file("a.jsonl", lines)).startswith(message)


def test_another_file_is_refused_by_name(file, complaint):
    message = "a.jsonl is no file of lm-eval; give its samples_….jsonl, or its results_….json"
    assert complaint(read_table, file("a.jsonl", [{"x": 1}]), format="lm_eval") == message


def test_the_fields_of_a_document_are_columns(file):
    sample = {
        "doc_id": 0, "doc": {"subject": "law", "level": 3, "choices": ["a", "b"], "source": {"name": "x"}},
        "target": "1", "arguments": [], "resps": [["1"]], "filtered_resps": ["1"], "metrics": ["acc"], "acc": 1.0,
    }  # fmt: skip
    table = read_table(file("samples.jsonl", [sample, sample | {"doc_id": 1, "doc": "a text"}]))
    assert table.texts("doc.subject", missing="allow").tolist() == ["law", ""]
    assert table.numbers("doc.level", missing="allow")[0] == 3
    assert table.texts("doc.choices", missing="allow")[0] == '["a", "b"]'
    assert table.texts("doc.source.name", missing="allow")[0] == "x"
    assert table.texts("doc", missing="allow").tolist() == ["", "a text"]
