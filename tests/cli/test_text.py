"""`--text` on the command line."""

import csv
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from ratewise.cli.main import app

WEAK = ["--weak", "judge", "--strong", "human"]
TEXT = ["--text", "request", "--json"]


@pytest.fixture(scope="module")
def rated(tmp_path_factory):
    """A table whose texts tell the rating."""
    rng = np.random.default_rng(6)
    human = rng.integers(0, 2, 300)
    path = tmp_path_factory.mktemp("text") / "rated.csv"
    with open(path, "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "request", "judge", "human", "half"])
        for i, h in enumerate(human.tolist()):
            polite = (h == 1) ^ (rng.random() < 0.1)
            words = f"{'thank you' if polite else 'at once'} {i % 7}"
            rows.writerow([i, words, round(0.4 + 0.2 * rng.random(), 3), h, "odd" if i % 2 else "even"])
    return str(path)


def run(*words):
    """JSON of a command that succeeds."""
    done = CliRunner().invoke(app, list(words))
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_plan_estimate_and_simulate_learn_from_text(rated):
    money = ["--weak-cost", "0.05", "--strong-cost", "1", "--budget", "100"]
    plain, texts = (run("plan", rated, *WEAK, *money, "--calibrate", "auto", *more) for more in (["--json"], TEXT))
    assert texts["policies"]["random"]["error_ratio"] < 0.8 * plain["policies"]["random"]["error_ratio"]
    assert texts["inputs"]["learner"] == {"kind": "words"}
    found = run("estimate", rated, *WEAK, "--rate", "1", *TEXT)
    assert found["method"] == "difference, auto recalibrated"
    used = "texts (request): used, because labels are predicted better with them"
    assert used in found["notes"]
    assert used in texts["notes"]
    few = run("estimate", rated, *WEAK, "--rate", "1", "--text", "id", "--json")
    assert any(note.startswith("texts (id): not used, because the 300 labels") for note in few["notes"])
    how = ["--cost-ratio", "0.05", "--budgets", "60", "--burn-in", "40", "--methods", "auto", "--mode", "pool"]
    trials = run("simulate", rated, *WEAK, *how, "--trials", "4", "--workers", "1", *TEXT)
    assert trials["results"][0]["trials"] == 4


def test_slices_learn_from_text(rated):
    money = ["--weak-cost", "0.05", "--strong-cost", "1", "--budget", "100", "--by", "half"]
    plain, texts = (run("plan", rated, *WEAK, *money, "--calibrate", "auto", *more) for more in (["--json"], TEXT))
    assert texts["overall"]["worst_se"] < 0.9 * plain["overall"]["worst_se"]
    assert texts["slices"][0]["plan"]["transfer"]["models"]["text"]["names"] == ["request"]
    asked = ["--by", "half", "--rate", "0.5", "--recalibrate", "auto"]
    half = rated.replace("rated", "half")
    with open(rated, newline="") as file, open(half, "w", newline="") as out:
        rows = csv.reader(file)
        csv.writer(out).writerows([next(rows), *([*row[:3], row[3] * (int(row[0]) % 4 < 2), row[4]] for row in rows)])
    plain, texts = (run("estimate", half, *WEAK, *asked, *more) for more in (["--json"], TEXT))
    for a, b in zip(plain["slices"], texts["slices"], strict=True):
        assert b["standard_error"] < 0.9 * a["standard_error"]
    assert texts["overall"]["standard_error"] < 0.9 * plain["overall"]["standard_error"]
    assert any(note.startswith("texts (request): used") for note in texts["notes"])


def test_simulate_transfers_what_texts_have_taught(rated):
    how = ["--cost-ratio", "0.05", "--budgets", "40", "--methods", "auto", "--trials", "40", "--workers", "1"]
    plain, texts = (run("simulate", rated, *WEAK, *how, "--transfer-from", rated, *more) for more in (["--json"], TEXT))
    assert texts["settings"]["transfer"]
    assert texts["results"][0]["mse"] < 0.8 * plain["results"][0]["mse"]


def test_mistakes_are_one_line(rated):
    money = ["--weak-cost", "0.05", "--strong-cost", "1", "--budget", "100"]
    for command, more, words in (
        ("plan", [*money, "--by", "half", "--calibrate", "platt"], "texts are for calibrate 'auto'"),
        ("estimate", ["--by", "half", "--recalibrate", "platt"], "texts are for recalibrate 'auto'"),
        ("plan", [*money, "--calibrate", "platt"], "texts are for calibrate 'auto'"),
        ("estimate", ["--learner", "/nowhere/model"], "there is no such folder"),
    ):
        done = CliRunner().invoke(app, [command, rated, *WEAK, "--text", "request", *more])
        assert (done.exit_code, words in done.stderr) == (2, True), done.stderr
        assert done.stderr.count("\n") == 1


def test_labels_are_no_text_and_no_feature(rated):
    money = ["--weak-cost", "0.05", "--strong-cost", "1", "--budget", "100"]
    trials = ["--cost-ratio", "0.05", "--budgets", "40", "--trials", "1"]
    for command, more in (
        ("plan", [*money, "--text", "request,human"]),
        ("plan", [*money, "--by", "half", "--text", "human"]),
        ("plan", [*money, "--calibrate", "auto", "--features", "human"]),
        ("estimate", ["--rate", "1", "--text", "human"]),
        ("estimate", ["--rate", "1", "--text", "human", "--by", "half"]),
        ("simulate", [*trials, "--text", "human"]),
        ("simulate", [*trials, "--features", "human"]),
    ):
        done = CliRunner().invoke(app, [command, rated, *WEAK, *more])
        assert (done.exit_code, "'human' holds the strong ratings" in done.stderr) == (2, True), (command, more)
        assert done.stderr.count("\n") == 1
