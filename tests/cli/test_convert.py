import json
from pathlib import Path

import pytest

from ratewise.tables import read_table

FIXTURES = Path(__file__).parents[1] / "tables" / "adapters" / "fixtures"
LOG = FIXTURES / "inspect_ai.eval"


def test_it_says_what_became_which_column(run):
    done = run("convert", LOG, "-o", "items.parquet")
    assert (done.code, done.err.splitlines()[0]) == (
        0,
        "note: lenient has no value for 1 of 8 rows, which were not scored",
    )
    lines = [" ".join(line.split()) for line in done.out.splitlines()]
    assert lines[0] == "inspect_ai log, schema 2: 8 rows written to items.parquet."
    assert "sample_id cluster id: the epochs of a sample belong together" in lines
    assert "match judge score scores.match: C is 1, P 0.5, I and N 0" in lines
    assert read_table("items.parquet").ids().tolist() == read_table(LOG).ids().tolist()


def test_json(run):
    done = run("convert", LOG, "-o", "items.csv", "--json")
    assert (done.document["tool"], done.document["rows"]) == ("inspect_ai log, schema 2", 8)
    assert done.document["columns"][1] == {
        "column": "sample_id", "role": "cluster", "source": "id: the epochs of a sample belong together",
    }  # fmt: skip
    assert len(done.document["notes"]) == 3


def test_standard_output_holds_the_table_alone(run):
    assert run("convert", LOG, "-o", "-").out.startswith("id,sample_id,epoch,prompt,")


def test_a_plain_table_is_written_as_it_is(run, write):
    write("a.csv", {"id": [1, 2], "x": [3, 4]})
    done = run("convert", "a.csv", "-o", "a.parquet")
    assert done.out == "a.csv is a plain table: 2 rows written to a.parquet, its columns as they are.\n"
    assert run("convert", "a.csv", "-o", "b.parquet", "--json").document["columns"][0]["column"] == "id"


def test_any_command_takes_such_a_file(run):
    """People's votes as they were exported: no step between."""
    rows = [{"model_a": "x", "model_b": "y", "winner": who, "conversation_a": []} for who in ("x", "y", "tie", "x")]
    Path("votes.json").write_text(json.dumps(rows), encoding="utf-8")
    board = run("leaderboard", "votes.json", "--strong", "winner", "--json").document
    assert [model["name"] for model in board["models"]] == ["x", "y"]
    found = run("estimate", LOG, "--strong", "match", "--cluster", "sample_id", "--json")
    assert (found.code, found.document["value"]) == (0, 0.5)


def test_scores_go_back(run, write):
    write("rated.csv", {"id": ["a/1", "a/2"], "sample_id": ["a", "a"], "epoch": [1, 2], "human": [1, None]})
    done = run("convert", "rated.csv", "--scores", "human", "-o", "scores.json")
    assert done.out == "1 scores written to scores.json, for precomputed_scores of inspect_ai.\n"
    assert json.loads(Path("scores.json").read_text()) == [{"id": "a", "epoch": 1, "value": 1.0}]
    assert run("convert", "rated.csv", "--scores", "human", "-o", "s.jsonl", "--json").document["scores"] == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("convert", LOG, "-o", "x.csv", "--format", "helm"), "ratewise: inspect_ai.eval is not JSON: "),
        (("convert", LOG, "-o", "x.csv", "--format", "heml"), "ratewise: 'heml' is no format; the formats of other"),
        (("convert", "none.eval", "-o", "x.csv"), "ratewise: none.eval does not exist; check the path"),
        (("convert", LOG, "-o", "none/x.csv"), "ratewise: 'none/x.csv' cannot be written: the folder 'none' does not"),
        (("convert", LOG, "-o", "-", "--json"), "ratewise: --json and -o - both want standard output;"),
    ],
)
def test_refusals_are_one_line(arguments, message, run):
    done = run(*arguments)
    assert done.code == 2
    assert done.err.startswith(message)
    assert done.err.count("\n") == 1
