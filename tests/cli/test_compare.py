"""`ratewise compare`: the library's numbers, a table, a picture, and what it refuses."""

from pathlib import Path

import numpy as np
import pytest

from ratewise.questions import comparison

NEW, OLD, MINI = "new:judge_new:human_new", "old:judge_old:human_old", "mini:judge_mini:human_mini"
PAIR = ("--system", NEW, "--system", OLD)


@pytest.fixture(scope="module")
def columns():
    rng = np.random.default_rng(61)
    n = 220
    rate = rng.choice([0.3, 0.6, 1.0], n)
    selected = rng.random(n) < rate
    out = {"rate": rate.tolist(), "talk": [f"t{i // 4}" for i in range(n)]}
    for name, mean in (("new", 0.8), ("old", 0.6), ("mini", 0.3)):
        human = (rng.random(n) < mean).astype(float)
        out[f"judge_{name}"] = np.where(rng.random(n) < 0.1, 1 - human, human).tolist()
        out[f"human_{name}"] = np.where(selected, human, np.nan).tolist()
    return out


@pytest.fixture
def table(write, columns):
    return write("rated.csv", columns)


def test_two_systems_give_what_the_library_gives(run, table, columns):
    done = run("compare", table, *PAIR, "--json")
    assert (done.code, done.err) == (0, "")
    strong, weak = ("human_new", "human_old"), ("judge_new", "judge_old")
    assert done.document == comparison.compare(columns, weak=weak, strong=strong, names=("new", "old")).to_dict()
    assert done.document["probability_better"] > 0.99


def test_the_baseline_turns_it_round(run, table):
    found = run("compare", table, *PAIR, "--baseline", "new", "--json").document
    assert found["names"] == ["old", "new"]
    assert found["difference"]["value"] < 0


def test_many_systems(run, table, columns):
    options = (*PAIR, "--system", MINI, "--baseline", "old", "--level", "0.9", "--seed", "3")
    done = run("compare", table, *options, "--json")
    names = ("new", "old", "mini")
    expected = comparison.compare_many(
        columns, baseline="old", weak={n: f"judge_{n}" for n in names}, strong={n: f"human_{n}" for n in names},
        level=0.9, seed=3,
    )  # fmt: skip
    assert done.document == expected.to_dict()
    assert [rival["name"] for rival in done.document["rivals"]] == ["new", "mini"]


def test_clusters_and_options_reach_the_library(run, table, columns):
    options = ("--cluster", "talk", "--estimand", "pool", "--pool-size", "900", "--method", "difference")
    found = run("compare", table, *PAIR, *options, "--json").document
    expected = comparison.compare(
        columns, weak=("judge_new", "judge_old"), strong=("human_new", "human_old"), names=("new", "old"),
        clusters="talk", estimand="pool", pool_size=900, method="difference",
    )  # fmt: skip
    assert found == expected.to_dict()


def test_the_text_says_it_in_words(run, table):
    done = run("compare", table, *PAIR)
    text = " ".join(done.out.split())
    assert (done.code, done.err) == (0, "")
    assert "new is better than old by 0." in text
    assert "relative lift" in text
    assert "Rests on" in text
    assert "two separate samples" not in text  # made-up systems that err apart: pairing brings nothing
    text = " ".join(run("compare", table, *PAIR, "--system", MINI, "--baseline", "old").out.split())
    assert "new is better than old; mini is worse than old" in text
    assert "baseline" in text


def test_the_text_says_what_pairing_brings(run, write, columns):
    lost = [h if i % 9 else 0.0 * h for i, h in enumerate(columns["human_new"])]
    alike = write("alike.csv", {**columns, "human_old": lost, "judge_old": columns["judge_new"]})
    pairing = run("compare", alike, *PAIR, "--json").document["pairing"]
    assert pairing > 1.5
    assert f"two separate samples would need {pairing:.1f} times as many" in " ".join(
        run("compare", alike, *PAIR).out.split()
    )


@pytest.mark.parametrize("name", ["picture.svg", "picture.png"])
def test_a_picture(run, table, name):
    done = run("compare", table, *PAIR, "--system", MINI, "--baseline", "old", "--picture", name)
    assert (done.code, done.err) == (0, "")
    first = Path(name).read_bytes()
    run("compare", table, *PAIR, "--system", MINI, "--baseline", "old", "--picture", name)
    assert Path(name).read_bytes() == first  # no date, no chance
    assert first[:5] == (b"<?xml" if name.endswith("svg") else b"\x89PNG\r")


def test_answers_missing_of_one_system(run, write, columns):
    row = int(np.flatnonzero(~np.isnan(columns["human_old"]))[0])
    human = [*columns["human_old"]]
    human[row] = None
    table = write("rated.csv", columns | {"human_old": human})
    found = run("compare", table, *PAIR, "--json").document
    assert found["probability_better"] is None
    assert any("1 answers" in note for note in found["notes"])
    likert = {name: [2 * x + 1 for x in values] if name.startswith("human") else values
              for name, values in columns.items() if name != "talk"}  # fmt: skip
    likert["human_old"][row] = None
    done = run("compare", write("likert.csv", likert), *PAIR)
    assert (done.code, done.out) == (2, "")
    assert f"row {row + 1}" in done.err
    assert "--low and --high" in done.err
    assert run("compare", "likert.csv", *PAIR, "--low", 1, "--high", 3).code == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--system", NEW), "two systems at least"),
        (("--system", "new:judge_new", "--system", OLD), "NAME:WEAK:STRONG"),
        (("--system", "new::human_new", "--system", OLD), "NAME:WEAK:STRONG"),
        (("--system", NEW, "--system", NEW), "two systems are called 'new'"),
        ((*PAIR, "--system", MINI), "need a --baseline"),
        ((*PAIR, "--baseline", "best"), "'best' is no system"),
        ((*PAIR, "--low", "0"), "both ends"),
        ((*PAIR, "--picture", "picture.pdf"), ".svg or .png"),
        ((*PAIR, "--picture", "nowhere/picture.svg"), "does not exist"),
        ((*PAIR, "--rate", "rates"), "rates"),
        (("--system", "new:judge_new:human_neu", "--system", OLD), "human_neu"),
        ((*PAIR, "--pool-size", "900"), "--estimand pool"),
        ((*PAIR, "--level", "95"), "level"),
    ],
)
def test_refusals_are_one_line(run, table, options, message):
    done = run("compare", table, *options)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert done.err.count("\n") == 1


def test_a_name_may_hold_colons(run, table):
    found = run("compare", table, "--system", f"org/{NEW.replace('new:', 'new:v2:', 1)}", "--system", OLD, "--json")
    assert found.document["names"] == ["org/new:v2", "old"]
