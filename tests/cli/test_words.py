"""Words, several people, two tables and rows per system on the command line."""

import json
from pathlib import Path

import numpy as np
import pytest

import ratewise as rw


def read_text(name):
    return Path(name).read_text(encoding="utf-8")


def write_text(name, text):
    Path(name).write_text(text, encoding="utf-8")


COLUMNS = ("--weak", "judge", "--strong", "human")


@pytest.fixture(scope="module")
def spoken(rated):
    """The rated table with words in the people's column."""
    words = ["" if np.isnan(x) else ("bad", "good")[int(x)] for x in rated["human"]]
    return {**rated, "human": words}


def test_a_positive_word(run, write, rated, spoken):
    done = run("estimate", write("t.csv", spoken), *COLUMNS, "--positive", "good", "--json")
    plain = run("estimate", write("p.csv", rated), *COLUMNS, "--json").document
    assert done.code == 0
    assert (done.document["value"], done.document["low"]) == (plain["value"], plain["low"])
    assert done.document["notes"][0] == "words as ratings: 'good' counts as 1 and 'bad' as 0"


def test_a_scale(run, write, rated, spoken):
    plain = run("estimate", write("p.csv", rated), *COLUMNS, "--json").document
    table = write("t.csv", spoken)
    for scale in ("bad,good", "bad=0,good=1"):
        assert run("estimate", table, *COLUMNS, "--scale", scale, "--json").document["value"] == plain["value"]
    out = run("estimate", table, *COLUMNS, "--scale", "poor,good")
    assert (out.code, out.out) == (2, "")
    assert "has 'bad' in column 'human', which is not on the scale" in out.err


def test_words_nobody_explained_are_refused_with_what_to_type(run, write, spoken):
    for command in (("estimate",), ("plan", "--weak-cost", 0.1, "--strong-cost", 1, "--budget", 50)):
        done = run(command[0], write("t.csv", spoken), *COLUMNS, *command[1:])
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
        assert "say which word counts as 1 (--positive), or list all from the worst to the best (--scale)" in done.err
    both = run("estimate", write("t.csv", spoken), *COLUMNS, "--positive", "good", "--scale", "bad,good")
    assert "--positive and --scale both say what words mean" in both.err


def test_every_command_takes_words(run, write, rated, spoken):
    table, plain = write("t.csv", spoken), write("p.csv", rated)
    prices = ("--weak-cost", 0.1, "--strong-cost", 1, "--budget", 50)
    for command in (
        ("estimate", "--by", "rate"),
        ("plan", *prices),
        ("check", "--at-least", 0.78),
        ("regress", "--on", "judge"),
        ("quantile", "--at", 0.5),
    ):
        said = run(command[0], table, *COLUMNS, *command[1:], "--positive", "good", "--json")
        assert said.code == run(command[0], plain, *COLUMNS, *command[1:], "--json").code, said.err


def test_several_people(run, write, rated):
    other = np.where(np.isnan(rated["human"]), np.nan, np.arange(140) % 5 > 0).tolist()
    table = write("t.csv", {**rated, "ann2": other})
    done = run("estimate", table, "--weak", "judge", "--strong", "human,ann2", "--json")
    assert done.code == 0, done.err
    same = rw.estimate_table({**rated, "ann2": other}, weak="judge", strong=["human", "ann2"])
    assert done.document == json.loads(json.dumps(same.to_dict()))
    assert done.document["agreement"]["people"] == 2
    assert "Krippendorff's alpha" in run("estimate", table, "--weak", "judge", "--strong", "human,ann2").out


def test_rates_that_do_not_fit_are_refused_and_choice_is_warned_of(run, write, rated):
    lost = np.where(np.arange(140) % 3, np.nan, rated["human"]).tolist()
    table = {name: rated[name] for name in ("judge", "rate")} | {"human": lost}
    done = run("estimate", write("t.csv", table), *COLUMNS)
    assert done.code == 2
    assert "name the column that says which items were asked for (--selected)" in done.err
    picked = {"judge": rated["judge"], "human": np.where(np.array(rated["judge"]) < 0.8, 1.0, np.nan).tolist()}
    done = run("estimate", write("t.csv", picked), *COLUMNS)
    assert "warning: rows of t.csv with a strong rating have clearly lower values in column 'judge'" in done.err


def test_two_tables_and_rows_per_system(run, write, rated):
    table = write("new.csv", rated)
    last = write("last.csv", {**rated, "id": list(range(5000, 5140))})
    done = run("compare", table, "--with", last, *COLUMNS, "--json")
    assert (done.code, done.document["paired"], done.document["difference"]["value"]) == (0, False, 0.0)
    assert "Rests on" in run("compare", table, "--with", last, *COLUMNS).out
    both = {name: [*column, *column] for name, column in rated.items()}
    long = write("long.csv", {**both, "model": ["a"] * 140 + ["b"] * 140})
    done = run("compare", long, "--system", "model", *COLUMNS, "--json")
    assert (done.code, done.document["names"], done.document["paired"]) == (0, ["a", "b"], True)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--with", "t.csv"), "--strong human"),
        (("--with", "t.csv", "--strong", "human", "--system", "a:b:c"), "leave them out of --with"),
        (("--weak", "judge", "--system", "a:judge:human", "--system", "b:judge:human"), "go with --with"),
        ((), "two systems at least"),
        (("--with", "t.csv", "--strong", "human", "--pool-size", 900), "--pool-size is for systems in columns"),
    ],
)
def test_what_does_not_go_together(run, write, rated, options, words):
    done = run("compare", write("t.csv", rated), *options)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert words in done.err


def test_leaderboards_take_other_words_and_say_why_not_positive(run, write):
    rng = np.random.default_rng(1)
    models = [("a", "b"), ("b", "c"), ("c", "a")]
    pairs = [models[i % 3] for i in range(90)]
    votes = {"model_a": [p[0] for p in pairs], "model_b": [p[1] for p in pairs], "human": rng.integers(0, 2, 90)}
    words = {**votes, "human": [("second", "first")[x] for x in votes["human"]]}
    plain = run("leaderboard", write("p.csv", votes), "--strong", "human", "--json")
    done = run("leaderboard", write("w.csv", words), "--strong", "human", "--scale", "second,same,first", "--json")
    assert (done.code, done.document["models"]) == (0, plain.document["models"])
    done = run("leaderboard", "w.csv", "--strong", "human", "--positive", "first")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert "a vote has a winner: model_a, model_b or tie; list other words" in done.err


def test_labels_in_words_from_the_plan_to_the_estimate(run, write, rated):
    """Some labels are there; a sheet asks for more, words go in and come out, and formulas do not run."""
    human = ["" if np.isnan(x) or i % 2 else ("wrong", "right")[int(x)] for i, x in enumerate(rated["human"])]
    pool = {"id": [f"={i}" for i in range(140)], "judge": rated["judge"], "text": ["=1+1"] * 140, "human": human}
    table = write("pool.csv", pool)
    prices = ("--weak-cost", 0, "--strong-cost", 1, "--budget", 20, "--drawn", "at random", "--positive", "right")
    made = run("plan", table, *COLUMNS, *prices, "--json")
    write_text("plan.json", made.out)
    asked = run("draw", table, "--plan", "plan.json", "--seed", 3, "-o", "drawn.csv", "--sheet", "sheet.csv", "--json")
    assert asked.code == 0, asked.err
    lines = read_text("sheet.csv").splitlines()
    assert lines[0] == "id,text,human"
    assert all(line.startswith("'=") and ",'=1+1," in line for line in lines[1:])
    write_text("filled.csv", "\n".join([lines[0], *(f"{line}right" for line in lines[1:])]) + "\n")
    merged = run("merge", "drawn.csv", "filled.csv", "-o", "rated.csv", "--positive", "right", "--json")
    assert (merged.code, merged.document["answers"]) == (0, asked.document["asked"]), merged.err
    found = run("estimate", "rated.csv", *COLUMNS, "--positive", "right", "--json")
    assert (found.code, found.document["labels"]) == (0, asked.document["selected"])
