import gzip
import shutil
from pathlib import Path

import numpy as np

from ratewise.tables import count_rows, open_relation, read_table
from ratewise.tables.adapters import adapted

SAMPLES = ("lm_eval_samples_parity.jsonl", "lm_eval_samples_sums.jsonl")


def test_a_folder_of_logs_is_one_table(fixture, tmp_path):
    for name in ("inspect_ai.eval", "inspect_ai_chunked.eval"):
        shutil.copy(fixture(name), tmp_path / name)
    (tmp_path / "listing.json").write_text('{"what inspect view": "keeps beside them"}')
    both = [read_table(fixture(name)) for name in ("inspect_ai.eval", "inspect_ai_chunked.eval")]
    table = read_table(tmp_path)
    assert table.rows == sum(each.rows for each in both) == count_rows(tmp_path) == open_relation(tmp_path).count()
    assert set(table.texts("file")) == {"inspect_ai", "inspect_ai_chunked"}
    assert len(set(table.ids().tolist())) == table.rows
    assert table.numbers("match", missing="allow").tolist()[: both[0].rows] == both[0].numbers("match").tolist()


def test_ids_in_common_get_their_file_before_them(fixture, tmp_path):
    for name in ("model-1.jsonl", "model-2.jsonl"):
        shutil.copy(fixture(SAMPLES[0]), tmp_path / name)
    (tmp_path / "results_2026.json").write_text("no part of it: tables come first")
    found = adapted(str(tmp_path))
    assert found.table.ids().tolist()[0] == "model-1:0"
    assert "files have ids in common: each is now its file's name, a colon and the id" in found.notes
    assert found.became[-1].column == "file"
    assert adapted(str(tmp_path / "*-2*")).table.columns == read_table(fixture(SAMPLES[0])).columns


def test_columns_that_a_file_has_not_are_missing_there(file, tmp_path):
    spec = {"spec": {"completion_fns": ["m"], "run_id": "r"}}
    event = {"sample_id": "s", "run_id": "r", "event_id": 0}
    file("a.jsonl", [spec, event | {"type": "match", "data": {"correct": True}}])
    file("b.jsonl", [spec, event | {"type": "metrics", "data": {"accuracy": 0.5}}])
    table = read_table(tmp_path)
    assert table.ids().tolist() == ["a:s", "b:s"]
    assert table.texts("correct", missing="allow").tolist() == ["1", ""]
    np.testing.assert_array_equal(table.numbers("accuracy", missing="allow"), [np.nan, 0.5])


def test_gzip_is_unpacked_on_the_way(fixture, tmp_path, complaint):
    for name in ("promptfoo.json", SAMPLES[0], "inspect_ai.json"):
        packed = tmp_path / f"{name}.gz"
        packed.write_bytes(gzip.compress(Path(fixture(name)).read_bytes()))
        assert read_table(packed).columns == read_table(fixture(name)).columns
    (tmp_path / "votes.csv.gz").write_bytes(gzip.compress(b"winner_model_a,winner_model_b\n1,0\n0,1\n"))
    assert read_table(tmp_path / "votes.csv.gz").texts("winner").tolist() == ["model_a", "model_b"]
    cut = tmp_path / "cut.json.gz"
    cut.write_bytes(gzip.compress(Path(fixture("promptfoo.json")).read_bytes())[:-20])
    assert complaint(read_table, cut) == "cut.json.gz cannot be read: Compressed file ended before the end-of-stream " \
        "marker was reached"  # fmt: skip


def test_folders_of_two_kinds_are_refused(fixture, tmp_path, complaint):
    shutil.copy(fixture(SAMPLES[0]), tmp_path / "a.jsonl")
    (tmp_path / "b.jsonl").write_text('{"id": 1, "x": 2}\n')
    assert complaint(read_table, tmp_path) == (
        "a.jsonl is a file of 'lm_eval', and b.jsonl beside it is none; name those of one kind with a pattern in "
        "quotation marks"
    )
    assert "has no file in it that could be of 'helm'" in complaint(read_table, tmp_path / "none*", format="helm")
