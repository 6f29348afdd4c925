"""`ratewise plan`: the same plan from every kind of file, and the JSON that scripts rely on."""

import io
import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ratewise as rw

PRICES = ("--weak", "judge", "--strong", "human", "--weak-cost", "0.02", "--strong-cost", "1.5")
EVERY = {"error_times_budget", "error_ratio", "expected_se", "items", "strong_labels", "spend", "mean_rate"}


def as_parquet(columns) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue()


def as_jsonl(columns) -> bytes:
    rows = zip(*columns.values(), strict=True)
    return "".join(json.dumps(dict(zip(columns, row, strict=True))) + "\n" for row in rows).encode()


@pytest.fixture
def as_bytes(csv_text, pilot):
    return {"csv": csv_text(pilot).encode(), "jsonl": as_jsonl(pilot), "parquet": as_parquet(pilot)}


def test_the_json_has_what_the_interface_names(run, write, pilot):
    done = run("plan", write("pilot.csv", pilot), *PRICES, "--budget", 90, "--json")
    assert (done.code, done.err) == (0, "")
    plan = done.document
    assert plan["recommendation"] in {"base", "random", "active"}
    assert set(plan["policies"]) == {"base", "random", "active"}
    for policy in plan["policies"].values():
        assert set(policy) >= EVERY
        assert all(isinstance(policy[name], int | float) for name in EVERY)
    assert "rate" in plan["policies"]["random"]
    assert set(plan["policies"]["active"]) >= {"scale", "threshold", "floor"}
    asked = {"weak": "judge", "strong": "human", "weak_cost": 0.02, "strong_cost": 1.5, "budget": 90, "target_se": None}
    assert plan["inputs"].items() >= asked.items()
    assert (plan["inputs"]["rows"], plan["inputs"]["labels"]) == (260, 260)


def test_the_numbers_are_those_of_the_library(run, write, pilot):
    found = run("plan", write("pilot.csv", pilot), *PRICES, "--budget", 90, "--json").document
    h, g = np.array(pilot["human"]), np.array(pilot["judge"])
    M, V = np.mean((h - g) ** 2), np.var(h)
    by_formula = rw.optimal_uniform_rate(M, variance=V, weak_cost=0.02, strong_cost=1.5)
    random, base = found["policies"]["random"], found["policies"]["base"]
    assert random["error_times_budget"] == pytest.approx(by_formula.error_times_budget, rel=1e-9)
    assert random["rate"] == pytest.approx(by_formula.rate, rel=1e-9)
    assert base["error_times_budget"] == pytest.approx(1.5 * V, rel=1e-12)
    assert base["strong_labels"] == pytest.approx(60)


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_every_kind_of_file_gives_the_same_plan(run, as_bytes, kind, pilot):
    Path(f"pilot.{kind}").write_bytes(as_bytes[kind])
    from_file = run("plan", f"pilot.{kind}", *PRICES, "--budget", 90, "--json").document
    from_input = run("plan", "-", *PRICES, "--budget", 90, "--json", stdin=as_bytes[kind]).document
    in_python = rw.plan(pilot, weak="judge", strong="human", weak_cost=0.02, strong_cost=1.5, budget=90)
    assert from_file["policies"] == from_input["policies"] == in_python.to_dict()["policies"]
    assert from_file["transfer"] == from_input["transfer"] == in_python.transfer.to_dict()
    assert from_file["inputs"]["table"] == f"pilot.{kind}"
    assert from_input["inputs"]["table"] == "standard input"


def test_a_process_of_its_own_reads_standard_input(process, as_bytes):
    done = process("plan", "-", *PRICES, "--budget", 90, "--json", stdin=as_bytes["csv"])
    assert (done.code, done.err) == (0, "")
    assert done.document["inputs"]["rows"] == 260


def test_every_option_reaches_the_plan(run, write, pilot):
    table = {**pilot, "u": np.round(np.random.default_rng(5).random(260) + 0.01, 3).tolist()}
    options = {
        "--target-se": 0.025, "--uncertainty": "u", "--pool-size": 4000, "--floor": 0.07, "--calibrate": "isotonic",
        "--estimand": "pool", "--seed": 12,
    }  # fmt: skip
    flat = [word for pair in options.items() for word in pair]
    found = run("plan", write("pilot.csv", table), *PRICES, *flat, "--json").document
    named = {name.removeprefix("--").replace("-", "_"): value for name, value in options.items()}
    direct = rw.plan(table, weak="judge", strong="human", weak_cost=0.02, strong_cost=1.5, **named)
    assert found["policies"] == direct.to_dict()["policies"]
    assert found["policies"]["active"]["floor"] == 0.07
    assert found["transfer"]["calibration"]["kind"] == "isotonic"
    assert found["policies"]["random"]["expected_se"] == pytest.approx(0.025)
    without = rw.plan(pilot, weak="judge", strong="human", weak_cost=0.02, strong_cost=1.5, target_se=0.025)
    for name in EVERY - {"expected_se", "error_ratio"}:
        assert found["policies"]["active"][name] != without.to_dict()["policies"]["active"][name], name


def test_rows_without_a_strong_rating_are_the_pool(run, write, pilot):
    some = [h if i % 3 else None for i, h in enumerate(pilot["human"])]
    found = run("plan", write("pilot.csv", {**pilot, "human": some}), *PRICES, "--budget", 90, "--json").document
    h = np.array([x for x in some if x is not None])
    assert (found["inputs"]["rows"], found["inputs"]["labels"]) == (260, 173)
    assert found["inputs"]["variance"] == pytest.approx(np.var(h))


def test_in_words_the_plan_is_a_table_and_a_recommendation(run, write, pilot):
    name = write("pilot.csv", pilot)
    words = run("plan", name, *PRICES, "--budget", 90)
    plan = run("plan", name, *PRICES, "--budget", 90, "--json").document
    assert (words.code, words.err) == (0, "")
    (marked,) = [line for line in words.out.splitlines() if line.startswith("▶")]
    best = plan["policies"][plan["recommendation"]]
    assert plan["recommendation"] in marked
    for shown in (f"{best['expected_se']:.4f}", f"{best['spend']:,.2f}", f"{best['strong_labels']:,.0f}"):
        assert shown in marked
    assert " ".join(plan["reason"].split()) in " ".join(words.out.split())


def test_a_weak_rater_dearer_than_the_strong_one_is_warned_about_and_planned(run, write, pilot):
    prices = ("--weak", "judge", "--strong", "human", "--weak-cost", "4", "--strong-cost", "1.5")
    done = run("plan", write("pilot.csv", pilot), *prices, "--budget", 90, "--json")
    assert done.code == 0
    (line,) = done.err.splitlines()
    assert line.startswith("ratewise: warning: ")
    assert "swapped" in line
    assert done.document["recommendation"] == "base"


def test_a_terminal_that_knows_few_letters_gets_the_table_too(process, write, pilot):
    """Windows hands a pipe cp1252, which has no ▶."""
    done = process("plan", write("pilot.csv", pilot), *PRICES, "--budget", 90, encoding="cp1252")
    assert (done.code, done.err) == (0, "")
    assert "active: " in done.out


def test_within_is_the_half_width_at_the_level(run, write, pilot):
    options = ("plan", write("pilot.csv", pilot), *PRICES, "--within", 0.04, "--level", 0.9)
    found = run(*options, "--json").document
    assert found["inputs"]["within"] == 0.04
    shown = run(*options)
    assert (shown.code, "90% interval" in shown.out) == (0, True)
    assert all(float(half) <= 0.04 for half in re.findall(r"± (0\.\d+)", shown.out))
    both = run(*options, "--target-se", 0.01)
    assert (both.code, both.err) == (2, "ratewise: --within and --target-se both say how precise; give one of them\n")


def test_a_budget_that_would_rate_the_whole_pool_is_told(run, write, pilot):
    for budget, told in ((599, False), (60_000, True)):
        done = run("plan", write("pilot.csv", pilot), *PRICES, "--budget", budget, "--pool-size", 400, "--json")
        assert any("400 items, which cost 600.00 together" in note for note in done.document["notes"]) == told
