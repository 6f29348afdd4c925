"""`ratewise estimate`: the library's numbers from every kind of file, and what counts."""

import io
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ratewise as rw

COLUMNS = ("--weak", "judge", "--strong", "human")
NAMED = {
    "value", "standard_error", "low", "high", "level", "items", "labels", "method", "interval", "notes",
}  # fmt: skip


def arrays(table):
    return (np.array(table[name], dtype=float) for name in ("judge", "human", "rate"))


def test_the_json_has_what_the_interface_names(run, write, rated):
    done = run("estimate", write("rated.csv", rated), *COLUMNS, "--rate", "rate", "--json")
    assert (done.code, done.err) == (0, "")
    found = done.document
    assert set(found) >= NAMED
    labels = int(np.count_nonzero(~np.isnan(rated["human"])))
    assert (found["items"], found["labels"], found["level"], found["estimand"]) == (140, labels, 0.95, "population")
    assert found["low"] < found["value"] < found["high"]
    assert found["spend"] is None


def test_the_estimate_by_hand(run, write, rated):
    g, h, pi = arrays(rated)
    contributions = g + np.where(np.isnan(h), 0.0, (h - g) / pi)
    options = ("--method", "difference", "--interval", "normal", "--level", "0.9")
    found = run("estimate", write("rated.csv", rated), *COLUMNS, *options, "--json").document
    se = contributions.std(ddof=1) / np.sqrt(140)
    assert found["value"] == pytest.approx(contributions.mean(), rel=1e-12)
    assert found["standard_error"] == pytest.approx(se, rel=1e-9)
    assert found["high"] - found["value"] == pytest.approx(1.6448536 * se, rel=1e-6)
    assert (found["method"], found["interval"]) == ("difference", "normal")


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_every_kind_of_file_gives_the_same_estimate(run, csv_text, rated, kind):
    missing_is_none = {**rated, "human": [None if np.isnan(x) else x for x in rated["human"]]}
    if kind == "csv":
        data = csv_text(rated).encode()
    elif kind == "jsonl":
        rows = [dict(zip(rated, row, strict=True)) for row in zip(*missing_is_none.values(), strict=True)]
        data = "\n".join(map(json.dumps, rows)).encode()
    else:
        sink = io.BytesIO()
        pq.write_table(pa.table(missing_is_none), sink)
        data = sink.getvalue()
    Path(f"rated.{kind}").write_bytes(data)
    in_python = rw.estimate_mean(*arrays(rated)).to_dict()
    assert run("estimate", f"rated.{kind}", *COLUMNS, "--json").document == in_python
    assert run("estimate", "-", *COLUMNS, "--json", stdin=data).document == in_python


def test_every_option_reaches_the_estimate(run, write, rated):
    name = write("rated.csv", rated)
    plain = run("estimate", name, *COLUMNS, "--json").document
    for option, value, key in (
        ("--method", "regression", "method"), ("--interval", "bootstrap", "interval"), ("--level", 0.8, "level"),
        ("--estimand", "pool", "estimand"), ("--recalibrate", "affine", "method"),
    ):  # fmt: skip
        found = run("estimate", name, *COLUMNS, option, value, "--json").document
        assert found[key] != plain[key], option
        assert (found["low"], found["high"]) != (plain["low"], plain["high"]), option
        direct = rw.estimate_table(rated, weak="judge", strong="human", **{option[2:]: value})
        assert found == direct.to_dict()
    pool = [run("estimate", name, *COLUMNS, "--estimand", "pool", *more, "--json").document for more in
            ((), ("--pool-size", 9000))]  # fmt: skip
    assert pool[0]["high"] - pool[0]["low"] < pool[1]["high"] - pool[1]["low"]
    wide = run("estimate", name, *COLUMNS, "--interval", "score", "--low", -2, "--high", 3, "--json").document
    assert wide == rw.estimate_table(
        rated, weak="judge", strong="human", interval="score", bounds=(-2, 3)
    ).to_dict()  # fmt: skip
    assert (wide["low"], wide["high"]) != (plain["low"], plain["high"])
    spent = run("estimate", name, *COLUMNS, "--weak-cost", 0.25, "--strong-cost", 3, "--json").document
    assert spent["spend"] == pytest.approx(140 * 0.25 + 3 * spent["labels"])
    bootstrap = [run("estimate", name, *COLUMNS, "--interval", "bootstrap", "--seed", s, "--json").document["low"]
                 for s in (1, 1, 2)]  # fmt: skip
    assert bootstrap[0] == bootstrap[1] != bootstrap[2]


def test_the_rate_column_is_the_one_that_is_named(run, write, rated):
    other = {**rated, "rate": [1.0 for _ in rated["rate"]], "pi": rated["rate"]}
    found = run("estimate", write("rated.csv", other), *COLUMNS, "--rate", "pi", "--json").document
    assert found == rw.estimate_mean(*arrays(rated)).to_dict()


def test_rows_without_a_rate_do_not_count(run, write, rated):
    more = {
        "id": [*rated["id"], "x", "y", "z"], "judge": [*rated["judge"], 0.1, None, 0.3],
        "human": [*rated["human"], None, None, None], "rate": [*rated["rate"], None, None, None],
        "selected": [*rated["selected"], False, False, False],
    }  # fmt: skip
    without = run("estimate", write("rated.csv", rated), *COLUMNS, "--selected", "selected", "--json").document
    found = run("estimate", write("more.csv", more), *COLUMNS, "--selected", "selected", "--json").document
    note, *rest = found.pop("notes")
    assert "3 rows without a rate" in note
    assert rest == without.pop("notes")
    assert found == without


def test_missing_answers_widen_the_interval_and_are_said(run, write, rated):
    asked = [i for i, selected in enumerate(rated["selected"]) if selected]
    gone = set(asked[5:17])
    holes = {**rated, "human": [None if i in gone else h for i, h in enumerate(rated["human"])]}
    whole = run("estimate", write("rated.csv", rated), *COLUMNS, "--selected", "selected", "--json").document
    name = write("holes.csv", holes)
    found = run("estimate", name, *COLUMNS, "--selected", "selected", "--json").document
    assert any("12 answers" in note and "missing" in note for note in found["notes"])
    assert not any("missing" in note for note in whole["notes"])
    assert found["labels"] == whole["labels"] - 12
    assert found["low"] < whole["low"] < whole["high"] < found["high"]  # whatever the answers were
    words = run("estimate", name, *COLUMNS, "--selected", "selected")
    assert "12 answers" in words.out
    assert run("estimate", name, *COLUMNS, "--json").document == found  # a column of that name is taken by itself
    untold = {key: column for key, column in holes.items() if key != "selected"}
    dropped = run("estimate", write("untold.csv", untold), *COLUMNS, "--json").document  # nobody can know
    assert not any("missing" in note for note in dropped["notes"])


def test_in_words(run, write, rated):
    name = write("rated.csv", rated)
    words = run("estimate", name, *COLUMNS, "--weak-cost", 0.25, "--strong-cost", 3)
    found = run("estimate", name, *COLUMNS, "--weak-cost", 0.25, "--strong-cost", 3, "--json").document
    assert (words.code, words.err) == (0, "")
    for shown in (
        f"{found['value']:.4f}", f"{found['low']:.4f} to {found['high']:.4f}", "95% interval",
        f"{found['labels']} strong ratings on 140 items", f"{found['spend']:,.2f}", found["method"], *found["notes"],
    ):  # fmt: skip
        assert shown in words.out


def test_an_interval_that_cannot_be_is_null_with_a_reason(run, write):
    table = {"judge": [3, 3, 3, 3], "human": [3, None, 3, None], "rate": [0.5, 0.5, 0.5, 0.5]}
    found = run("estimate", write("flat.csv", table), *COLUMNS, "--json").document
    assert (found["value"], found["low"], found["high"], found["standard_error"]) == (3, None, None, None)
    assert any("spread is unknown" in note for note in found["notes"])
    assert "none" in run("estimate", "flat.csv", *COLUMNS).out


def test_strong_ratings_can_stand_alone(run, write):
    """Drawn at one rate for all; the mean of those who answered, and by hand the variance of a plain sample."""
    rng = np.random.default_rng(53)
    selected = rng.random(300) < 0.3
    human = np.where(selected, np.round(rng.gamma(2, 3, 300), 2), np.nan)
    table = {"human": human.tolist(), "rate": [0.3] * 300, "selected": selected.tolist()}
    options = ("--strong", "human", "--interval", "normal", "--json")
    found = run("estimate", write("t.csv", table), *options, "--strong-cost", 2).document
    answers = human[selected]
    assert found["value"] == pytest.approx(answers.mean())
    assert found["standard_error"] == pytest.approx(answers.std(ddof=1) / np.sqrt(answers.size))
    assert (found["labels"], found["spend"]) == (answers.size, 2 * answers.size)
    pool = run("estimate", "t.csv", *options, "--estimand", "pool").document
    by_hand = answers.var() * (1 / answers.size - 1 / 300)
    assert pool["standard_error"] == pytest.approx(np.sqrt(by_hand), rel=0.01)
    holes = {**table, "human": [None if i in np.flatnonzero(selected)[:5] else h for i, h in enumerate(human)]}
    bounds = ("--low", 0, "--high", 40, "--selected", "selected")
    wide = run("estimate", write("holes.csv", holes), *options, *bounds).document
    assert any("5 answers" in note for note in wide["notes"])
    assert wide["low"] < found["low"] < found["high"] < wide["high"]


def test_strong_ratings_drawn_at_different_rates_cannot_stand_alone(run, write, rated):
    done = run("estimate", write("rated.csv", rated), "--strong", "human")
    assert (done.code, done.out) == (2, "")
    (line,) = done.err.splitlines()
    assert "one rate for all" in line


def test_a_long_tail_is_told_as_options_are_typed(run, write):
    rng = np.random.default_rng(0)
    human = np.where(np.arange(500) % 5, None, np.exp(1.5 * rng.normal(size=500)))
    file = write("long.csv", {"judge": rng.random(500), "human": list(human), "rate": [0.2] * 500})
    said = " ".join(run("estimate", file, *COLUMNS).out.split())
    assert "ratings have a long tail" in said
    assert "give --low and --high" in said
    assert any("long tail" in note for note in run("estimate", file, *COLUMNS, "--json").document["notes"])
    sliced = write("sliced.csv", {"judge": rng.random(500), "human": list(human), "rate": [0.2] * 500,
                                  "topic": ["a", "b"] * 250})  # fmt: skip
    assert run("estimate", sliced, *COLUMNS, "--by", "topic").out.count("ratings have a long tail") == 1
    assert "long tail" not in run("estimate", file, *COLUMNS, "--low", "0", "--high", "10000").out
