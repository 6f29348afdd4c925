import json

import numpy as np
import pytest

from ratewise.tables import count_rows, open_relation, read_table, write_table


def stat(name, mean, count=1, **more):
    return {"name": {"name": name, "split": "test"}, "count": count, "sum": mean * count, "mean": mean, **more}


ENTRIES = [
    {"instance_id": "id3", "train_trial_index": 0, "stats": [stat("exact_match", 1.0), stat("num_tokens", 12.5)]},
    {"instance_id": "id8", "train_trial_index": 0, "stats": [stat("exact_match", 0.0), stat("f1", 0.25, count=4)]},
    {
        "instance_id": "id8",
        "train_trial_index": 0,
        "perturbation": {"name": "typos", "robustness": True},
        "stats": [stat("exact_match", 0.0, count=0)],
    },
]


@pytest.fixture
def written(tmp_path):
    def write(document):
        path = tmp_path / "per_instance_stats.json"
        path.write_text(document if isinstance(document, str) else json.dumps(document))
        return path

    return write


def test_a_row_is_an_instance_and_a_column_a_statistic(written):
    table = read_table(written(ENTRIES), format="helm")
    assert (table.name, table.rows) == ("per_instance_stats.json", 3)
    keys = ("id", "instance_id", "train_trial_index", "perturbation", "split")
    assert table.columns == (*keys, "exact_match", "num_tokens", "f1")
    assert table.ids().tolist() == ["id3", "id8/0", "id8/0/typos"]
    assert table.texts("perturbation", missing="allow").tolist() == ["", "", "typos"]
    np.testing.assert_array_equal(table.numbers("exact_match", missing="allow"), [1, 0, np.nan])
    np.testing.assert_array_equal(table.numbers("num_tokens", missing="allow"), [12.5, np.nan, np.nan])
    np.testing.assert_array_equal(table.numbers("f1", missing="allow"), [np.nan, 0.25, np.nan])


def test_a_mean_that_is_left_out_is_the_sum_over_the_count(written):
    entry = {"instance_id": "a", "stats": [{"name": {"name": "f1"}, "count": 4, "sum": 3.0}]}
    table = read_table(written([entry]), format="helm")
    assert table.columns == ("id", "instance_id", "f1")
    assert table.numbers("f1").tolist() == [0.75]


def test_it_is_a_table_like_any_other(written, tmp_path):
    table = read_table(written(ENTRIES), format="helm", name="boolq")
    assert table.name == "boolq"
    write_table(table, tmp_path / "out.parquet")
    assert read_table(tmp_path / "out.parquet").ids().tolist() == table.ids().tolist()
    assert open_relation(table).count() == 3


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("[{", "per_instance_stats.json is not JSON: "),
        ({"a": 1}, "per_instance_stats.json is no list of instances; give HELM's per_instance_stats.json"),
        ([], "per_instance_stats.json has no rows; there is nothing to work on"),
        ([ENTRIES[0], {"stats": []}], "row 2 of per_instance_stats.json is no instance of HELM: each has"),
        ([{"instance_id": "a", "stats": [{}]}], "row 1 of per_instance_stats.json is damaged, or no file of"),
        ([7], "row 1 of per_instance_stats.json is no instance of HELM: "),
    ],
)
def test_another_document_is_refused(document, message, written, complaint):
    assert complaint(read_table, written(document), format="helm").startswith(message)


def test_an_unknown_format_is_refused(written, complaint):
    assert complaint(read_table, written([]), format="hlem") == (
        "'hlem' is no format; the formats of other tools are 'excel', 'inspect_ai', 'lm_eval', 'helm', 'openai_evals',"
        " 'promptfoo', 'langfuse', 'braintrust', 'deepeval', 'arena', 'label_studio', 'json', and those of plain tables"
        " 'csv', 'jsonl', 'parquet'"
    )
    assert complaint(read_table, {"a": [1]}, format="helm") == (
        "dict is no file of 'helm'; give a path, or leave the format out"
    )
    assert complaint(read_table, "none.json", format="helm") == "none.json does not exist; check the path"


def test_it_is_known_by_its_content(written):
    path = written(ENTRIES)
    assert read_table(path).ids().tolist() == ["id3", "id8/0", "id8/0/typos"]
    assert (open_relation(path).count(), count_rows(path)) == (3, 3)


def test_it_is_only_read(written, complaint):
    path = written(ENTRIES)
    table = read_table(path, format="helm")
    assert "is not a table by its ending" in complaint(write_table, table, path)
