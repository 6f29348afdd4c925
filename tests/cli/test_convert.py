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


def test_a_folder_and_standard_input(run):
    Path("logs").mkdir()
    for name in ("inspect_ai.eval", "inspect_ai_chunked.eval"):
        Path("logs", name).write_bytes((FIXTURES / name).read_bytes())
    done = run("convert", "logs", "-o", "items.csv", "--json")
    assert done.document["rows"] == read_table("items.csv").rows
    assert done.document["columns"][-1] == {"column": "file", "role": "more", "source": "the name of the file"}
    piped = run("convert", "-", "-o", "piped.csv", stdin=LOG.read_bytes())
    assert piped.out.startswith("inspect_ai log, schema 2: 8 rows written to piped.csv.")
    found = run("estimate", "logs", "--strong", "match", "--cluster", "sample_id", "--json")
    assert found.code == 0


FULL = ("--weak", "lenient", "--strong", "match")
COSTS = ("--weak-cost", "0", "--strong-cost", "1")


@pytest.mark.parametrize(
    "arguments",
    [
        ("plan", *FULL, *COSTS, "--budget", 5),
        ("draw", "--plan", "none.json", "--seed", 1, "-o", "x.csv"),
        ("estimate", *FULL),
        ("estimate", *FULL, "--by", "epoch"),
        ("check", *FULL, "--at-least", 0.5),
        ("compare", *FULL, "--with", "x.csv"),
        ("leaderboard", "--strong", "match"),
        ("regress", *FULL, "--on", "epoch"),
        ("quantile", *FULL),
        ("simulate", *FULL, "--cost-ratio", 0.1, "--budgets", 4),
        ("train", "--text", "prompt", "--strong", "match", "-o", "rater"),
        ("convert", "-o", "x.csv"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_every_command_takes_a_format(arguments, run):
    """They insist on it: a log of inspect_ai is none of HELM, and its bytes are no JSON."""
    if arguments[0] == "draw":
        Path("none.json").write_text("{}")
    name, *others = arguments
    done = run(name, LOG, *others, "--format", "helm")
    assert (done.code, done.err) == (2, f"ratewise: {LOG.name} is not JSON: it is not UTF-8 text\n")
