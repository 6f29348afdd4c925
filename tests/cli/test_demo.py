"""`ratewise demo`: the main job on made-up data, with the truth beside the estimate."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest


def column(name: str, column: str) -> list[str]:
    with open(name, encoding="utf-8", newline="") as file:
        return [row[column] for row in csv.DictReader(file)]


def test_json(run):
    done = run("demo", "-o", "here", "--json")
    assert (done.code, done.err) == (0, "")
    found = done.document
    assert found["made_up"] is True
    assert found["estimate"]["low"] <= found["truth"] <= found["estimate"]["high"]
    files = {"pilot.csv", "pool.csv", "plan.json", "rated.csv", "report.html"}
    assert {file.name for file in Path("here").iterdir()} == files
    assert json.loads(Path("here/plan.json").read_text(encoding="utf-8")) == found["plan"]
    labels = sum(cell != "" for cell in column("here/rated.csv", "human"))
    assert found["estimate"]["labels"] == labels == column("here/rated.csv", "selected").count("true")
    assert found["estimate"]["spend"] == pytest.approx(4000 * 0.01 + labels)
    assert len(column("here/pilot.csv", "id")) == 200
    assert "human" not in Path("here/pool.csv").read_text(encoding="utf-8").splitlines()[0]


def test_what_was_saved_is_what_strong_ratings_alone_would_cost_more(run):
    """By hand: base reaches the same variance around the pool's mean with n labels, V (1/n − 1/4000)."""
    found = run("demo", "--json").document
    V = np.var([float(x) for x in column("ratewise-demo/pilot.csv", "human")])
    n = V / (found["estimate"]["standard_error"] ** 2 + V / 4000)
    assert found["saved"] == pytest.approx(n - found["estimate"]["spend"], rel=1e-9)


def test_words(run):
    words = run("demo", "-o", "a")
    assert (words.code, words.err) == (0, "")
    truth = run("demo", "-o", "b", "--json").document["truth"]
    assert "made-up" in words.out or "made up" in words.out
    (line,) = [line for line in words.out.splitlines() if line.startswith("The truth")]
    assert f"{truth:.4f}" in line
    assert "inside the interval" in line
    for name in ("pilot.csv", "pool.csv", "plan.json", "rated.csv"):
        assert Path("a", name).read_bytes() == Path("b", name).read_bytes()  # the same seed, the same demo


def test_its_files_work_with_the_other_commands(run):
    found = run("demo", "--json").document
    options = ("--weak", "judge", "--strong", "human", "--selected", "selected", "--estimand", "pool", "--json")
    again = run("estimate", "ratewise-demo/rated.csv", *options).document
    assert {**again, "spend": None} == {**found["estimate"], "spend": None}
    drawn = run("draw", "ratewise-demo/pool.csv", "--plan", "ratewise-demo/plan.json", "--seed", 7, "-o", "d.csv")
    assert drawn.code == 0
    assert column("d.csv", "selected") == column("ratewise-demo/rated.csv", "selected")


def test_another_seed_is_another_pool(run):
    truths = {run("demo", "--seed", seed, "-o", f"d{seed}", "--json").document["truth"] for seed in (1, 2)}
    assert len(truths) == 2


def test_a_folder_that_cannot_be_made(run):
    Path("taken").write_text("mine", encoding="utf-8")
    done = run("demo", "-o", "taken")
    assert (done.code, done.out) == (2, "")
    (line,) = done.err.splitlines()
    assert line.startswith("ratewise: taken cannot be made")
    assert Path("taken").read_text(encoding="utf-8") == "mine"
