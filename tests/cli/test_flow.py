"""The whole job by commands alone: plan → draw → ratings filled in → estimate."""

import csv
from pathlib import Path

import numpy as np
import pytest

PRICES = ("--weak", "judge", "--strong", "human", "--weak-cost", "0.02", "--strong-cost", "1.5")
LEVEL = 0.9999  # so that a right interval misses this truth once in ten thousand seeds
PILOT, POOL = 240, 1500


def scores(seed: int, n: int) -> tuple[list[float], list[float]]:
    """A judge that is right on average and mostly sure: probabilities of mean 0.8, and what a person says."""
    rng = np.random.default_rng(seed)
    judge = np.round(rng.beta(0.6, 0.15, n), 4)
    return judge.tolist(), (rng.random(n) < judge).astype(float).tolist()


@pytest.fixture(scope="module")
def pilot():
    judge, human = scores(61, PILOT)
    return {"judge": judge, "human": human}


@pytest.fixture(scope="module")
def pool():
    judge, human = scores(67, POOL)
    return {"id": [f"q{i}" for i in range(POOL)], "judge": judge, "truth": human}


def filled_in(name: str, out: str, truth: dict[str, float]) -> None:
    """What a person would do between `draw` and `estimate`."""
    with open(name, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row["human"] = str(truth[row["id"]]) if row["selected"] == "true" else ""
    with open(out, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def as_if_a_plain_sample(name: str, out: str) -> None:
    """Deliberately wrong: only the rated rows, as if everyone had been asked."""
    with open(name, encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["human"]]
    lines = ["judge,human,rate", *(f"{row['judge']},{row['human']},1" for row in rows)]
    Path(out).write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.fixture
def flow(run, write, pilot, pool):
    def flow(*, plan=(), draw=(), estimate=()):
        write("pilot.csv", pilot)
        write("pool.csv", {name: pool[name] for name in ("id", "judge")})
        planned = run("plan", "pilot.csv", *PRICES, *plan, "--json")
        Path("plan.json").write_text(planned.out, encoding="utf-8")
        drawn = run("draw", "pool.csv", "--plan", "plan.json", "--seed", 19, "-o", "drawn.csv", *draw, "--json")
        filled_in("drawn.csv", "rated.csv", dict(zip(pool["id"], pool["truth"], strict=True)))
        options = ("--weak", "judge", "--strong", "human", "--level", LEVEL, "--selected", "selected", *estimate)
        found = run("estimate", "rated.csv", *options, "--json")
        assert (planned.code, drawn.code, found.code) == (0, 0, 0)
        return planned.document, drawn.document, found.document

    return flow


@pytest.mark.parametrize("estimand", ["pool", "population"])
def test_the_interval_holds_the_truth(run, flow, pool, estimand):
    truth = float(np.mean(pool["truth"])) if estimand == "pool" else 0.8
    planned, drawn, found = flow(
        plan=("--budget", 500, "--pool-size", POOL, "--estimand", estimand), estimate=("--estimand", estimand)
    )
    assert planned["recommendation"] == "active"
    assert found["low"] <= truth <= found["high"]
    assert found["high"] - found["low"] < 0.25
    assert (found["items"], found["labels"]) == (POOL, drawn["selected"])
    assert drawn["expected_spend"] == pytest.approx(500, rel=0.15)
    as_if_a_plain_sample("rated.csv", "wrong.csv")
    wrong = run("estimate", "wrong.csv", "--weak", "judge", "--strong", "human", "--level", LEVEL, "--json").document
    assert not wrong["low"] <= truth <= wrong["high"]


def test_within_budget_on_a_part_of_the_pool(flow, pool):
    planned, drawn, found = flow(
        plan=("--budget", 90), draw=("--within-budget",), estimate=("--estimand", "pool", "--pool-size", POOL)
    )
    assert found["items"] == drawn["items"] == int(planned["policies"]["active"]["items"]) < POOL
    assert found["low"] <= float(np.mean(pool["truth"])) <= found["high"]
    assert any("without a rate" in note for note in found["notes"])


def test_a_calibrated_flow_on_another_scale(run, write, pilot, pool):
    """Scores out of ten, which say nothing as they are: planned, drawn and estimated on the calibrated column."""
    write("pilot.csv", {**pilot, "judge": [10 * x for x in pilot["judge"]]})
    write("pool.csv", {"id": pool["id"], "judge": [10 * x for x in pool["judge"]]})
    planned = run("plan", "pilot.csv", *PRICES, "--budget", 500, "--pool-size", POOL, "--calibrate", "platt", "--json")
    Path("plan.json").write_text(planned.out, encoding="utf-8")
    run("draw", "pool.csv", "--plan", "plan.json", "--seed", 19, "-o", "drawn.csv")
    filled_in("drawn.csv", "rated.csv", dict(zip(pool["id"], pool["truth"], strict=True)))
    options = ("--strong", "human", "--level", LEVEL, "--estimand", "pool", "--method", "difference", "--json")
    good = run("estimate", "rated.csv", "--weak", "weak_calibrated", *options).document
    raw = run("estimate", "rated.csv", "--weak", "judge", *options).document
    assert planned.document["recommendation"] == "active"
    assert good["low"] <= float(np.mean(pool["truth"])) <= good["high"]
    assert good["high"] - good["low"] < 0.2 * (raw["high"] - raw["low"])
