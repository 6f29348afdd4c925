"""Old labels on the command line: plan counts them, draw and its sheet do not ask again, estimate pools both."""

import csv
import io
from pathlib import Path

import numpy as np
import pytest

PRICES = ("--weak", "judge", "--strong", "human", "--weak-cost", 0, "--strong-cost", 1)


def rows_of(name):
    return list(csv.DictReader(io.StringIO(Path(name).read_text(encoding="utf-8"))))


@pytest.fixture
def pool(write):
    rng = np.random.default_rng(3)
    judge = np.round(rng.beta(2.0, 0.7, 240), 3)
    truth = (rng.random(240) < judge).astype(int)
    human = [int(x) if i < 50 else None for i, x in enumerate(truth)]
    write("pool.csv", {"id": [f"q{i}" for i in range(240)], "judge": judge.tolist(), "human": human})
    return truth


def test_from_old_labels_to_one_estimate(run, pool):
    made = run("plan", "pool.csv", *PRICES, "--budget", 40, "--estimand", "pool", "--drawn", "at random", "--json")
    assert made.code == 0
    assert made.document["inputs"]["drawn"] == "at random"
    assert "50 labels that are there count and are free" in made.document["reason"]
    Path("plan.json").write_text(made.out, encoding="utf-8")
    drawn = run("draw", "pool.csv", "--plan", "plan.json", "--seed", 7, "-o", "d.csv", "--sheet", "s.csv", "--json")
    asked = rows_of("s.csv")
    assert drawn.document["asked"] == drawn.document["spend"] == len(asked)
    assert not {row["id"] for row in asked} & {f"q{i}" for i in range(50)}
    with open("filled.csv", "w", newline="", encoding="utf-8") as file:
        out = csv.DictWriter(file, fieldnames=list(asked[0]))
        out.writeheader()
        out.writerows({**row, "human": pool[int(row["id"][1:])]} for row in asked)
    merged = run("merge", "d.csv", "filled.csv", "-o", "rated.csv", "--json")
    assert merged.document["waiting"] == 0
    found = run("estimate", "rated.csv", "--weak", "judge", "--strong", "human", "--estimand", "pool", "--json")
    assert found.document["labels"] == 50 + len(asked)
    assert abs(found.document["value"] - pool.mean()) < 4 * found.document["standard_error"]


def test_a_way_of_drawing_that_is_none_is_refused(run, pool):
    done = run("plan", "pool.csv", *PRICES, "--budget", 40, "--drawn", "somehow")
    assert done.code == 2
    assert "write 'at random', 'by hand', or the name of a column" in done.err
