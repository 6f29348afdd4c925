"""What wrong beliefs cost, as a table, as JSON and as a picture."""

import csv
import json

import numpy as np
import pytest
from typer.testing import CliRunner

import ratewise as rw
from ratewise.cli.main import app


@pytest.fixture
def pilot(tmp_path):
    rng = np.random.default_rng(9)
    g = rng.beta(0.8, 0.8, 300)
    rows = zip(g.round(4), (rng.random(300) < g).astype(int), strict=True)
    path = tmp_path / "pilot.csv"
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("judge", "human"), *rows])
    return path


def run(*words):
    return CliRunner().invoke(app, ["plan", *map(str, words)])


def asked(pilot, *more):
    costs = ("--weak", "judge", "--strong", "human", "--weak-cost", "0.01", "--strong-cost", "1")
    return run(pilot, *costs, "--budget", "100", *more)


def test_plan_says_what_wrong_beliefs_would_cost(pilot, tmp_path):
    found = asked(pilot, "--what-if", "--picture", tmp_path / "if.svg")
    assert found.exit_code == 0, found.output
    assert "squared error of the weak rater" in found.output
    assert "500 labels" in found.output
    assert "The costliest mistake" in found.output
    assert (tmp_path / "if.svg").read_text(encoding="utf-8").startswith("<?xml")


def test_json_and_python_say_the_same(pilot):
    document = json.loads(asked(pilot, "--what-if", "--json").stdout)
    made = rw.plan(pilot, weak="judge", strong="human", weak_cost=0.01, strong_cost=1.0, budget=100, what_if=True)
    assert document["what_if"] == json.loads(json.dumps(made.what_if.to_dict()))
    assert {b["what"] for b in document["what_if"]["beliefs"]} == {
        "weak price", "strong price", "variance", "weak error", "uncertainty",
    }  # fmt: skip
    assert "what_if" not in json.loads(asked(pilot, "--json").stdout)


def test_a_target_is_tried_with_the_money_that_it_takes(pilot):
    made = rw.plan(pilot, weak="judge", strong="human", weak_cost=0.01, strong_cost=1.0, within=0.05, what_if=True)
    assert min(b.ratio for b in made.what_if.beliefs) >= 1 - 1e-9


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--picture", "x.svg"), "--picture is for --what-if"),
        (("--what-if", "--by", "judge"), "--what-if and --by do not go together"),
        (("--what-if", "--picture", "x.gif"), "pictures are .svg or .png"),
        (("--what-if", "--drawn", "at random"), "what-if is for a plan from a pilot"),
    ],
)
def test_what_does_not_go_with_it_is_refused(pilot, words, said):
    found = asked(pilot, *words)
    assert found.exit_code == 2
    assert said in found.output
