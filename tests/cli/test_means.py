"""`--by` of estimate and plan, `--cluster`, and a draw by a slice plan."""

import json
from pathlib import Path

import numpy as np
import pytest

PRICES = ["--weak", "judge", "--strong", "human", "--weak-cost", 0.05, "--strong-cost", 1]
RATED = ["--weak", "judge", "--strong", "human"]


@pytest.fixture
def grouped(write, rated, pilot, pool):
    """The tables of the other tests with a topic and a conversation for each row."""
    topics = ["code", "law", "math", "travel"]
    for name, table in (("rated.csv", rated), ("pilot.csv", pilot), ("pool.csv", pool)):
        rows = len(table["judge"])
        more = {"topic": [topics[i % 7 % 4] for i in range(rows)], "chat": [f"c{i // 4}" for i in range(rows)]}
        write(name, {**{key: values for key, values in table.items() if key != "truth"}, **more})


@pytest.mark.usefixtures("grouped")
class TestEstimate:
    def test_json(self, run):
        done = run("estimate", "rated.csv", *RATED, "--by", "topic", "--json")
        assert (done.code, done.err) == (0, "")
        assert [one["name"] for one in done.document["slices"]] == ["code", "law", "math", "travel"]
        whole = run("estimate", "rated.csv", *RATED, "--json").document
        assert done.document["overall"] == whole
        for one in done.document["slices"]:
            assert one["low"] < one["value"] < one["high"]

    def test_at_once_is_wider_and_shrunk_is_closer_to_the_whole(self, run):
        plain, wide, shrunk = (
            run("estimate", "rated.csv", *RATED, "--by", "topic", *more, "--json").document["slices"]
            for more in ([], ["--simultaneous"], ["--shrink"])
        )
        for a, b, c in zip(plain, wide, shrunk, strict=True):
            assert b["high"] - b["low"] > a["high"] - a["low"]
            assert c["unshrunk"]["value"] == a["value"]
        assert np.ptp([one["value"] for one in shrunk]) < np.ptp([one["value"] for one in plain])

    def test_text(self, run):
        done = run("estimate", "rated.csv", *RATED, "--by", "topic", "--weak-cost", 0.1, "--strong-cost", 1)
        assert done.code == 0
        assert all(f"\n{name} " in done.out for name in ("code", "law", "math", "travel", "all"))
        assert "spent" in done.out

    def test_picture(self, run):
        assert run("estimate", "rated.csv", *RATED, "--by", "topic", "--picture", "slices.svg").code == 0
        assert "<svg" in Path("slices.svg").read_text(encoding="utf-8")

    def test_clusters(self, run):
        plain = run("estimate", "rated.csv", *RATED, "--json").document
        done = run("estimate", "rated.csv", *RATED, "--cluster", "chat", "--json").document
        assert (plain["clusters"], done["clusters"]) == (None, 35)
        assert any(note.startswith("35 clusters; ") for note in done["notes"])
        own = run("estimate", "rated.csv", *RATED, "--cluster", "id", "--json").document
        assert (own["low"], own["high"]) == (plain["low"], plain["high"])
        assert run("estimate", "rated.csv", *RATED, "--cluster", "chat", "--by", "topic").code == 0

    @pytest.mark.parametrize(
        ("more", "message"),
        [
            (["--shrink"], "name their column with --by"),
            (["--picture", "a.svg"], "name their column with --by"),
            (["--by", "topic", "--picture", "a.pdf"], ".svg or .png"),
            (["--by", "subject"], "has no column 'subject'"),
            (["--by", "topic", "--shrink", "--simultaneous"], "choose shrink or simultaneous"),
            (["--by", "topic", "--pool-size", 900], "add --estimand pool"),
            (["--cluster", "chat", "--interval", "anytime"], "anytime interval goes item by item"),
        ],
    )
    def test_refusals_are_one_line(self, run, more, message):
        done = run("estimate", "rated.csv", *RATED, *more)
        assert (done.code, done.out) == (2, "")
        (line,) = done.err.splitlines()
        assert message in line


@pytest.mark.usefixtures("grouped")
class TestPlanAndDraw:
    def test_a_target_in_every_slice(self, run):
        done = run("plan", "pilot.csv", *PRICES, "--target-se", 0.06, "--by", "topic", "--json")
        assert (done.code, done.err) == (0, "")
        assert [one["expected_se"] for one in done.document["slices"]] == pytest.approx([0.06] * 4)
        spends = [one["spend"] for one in done.document["slices"]]
        assert done.document["overall"]["spend"] == pytest.approx(sum(spends))

    def test_a_budget_for_the_worst(self, run):
        done = run("plan", "pilot.csv", *PRICES, "--budget", 90, "--by", "topic", "--objective", "worst", "--json")
        errors = [one["expected_se"] for one in done.document["slices"]]
        assert max(errors) == pytest.approx(min(errors), rel=0.02)
        text = run("plan", "pilot.csv", *PRICES, "--budget", 90, "--by", "topic")
        assert "90.00" in text.out
        sized = run("plan", "pilot.csv", *PRICES, "--budget", 90, "--by", "topic", "--pool", "pool.csv", "--json")
        rows = len(Path("pool.csv").read_text(encoding="utf-8").splitlines()) - 1
        assert sum(one["pool_size"] for one in sized.document["slices"]) == rows

    def test_from_plan_to_estimate(self, run):
        planned = run("plan", "pilot.csv", *PRICES, "--budget", 60, "--by", "topic", "--pool", "pool.csv", "--json")
        Path("plan.json").write_text(planned.out, encoding="utf-8")
        drawn = run(
            "draw", "pool.csv", "--plan", "plan.json", "--seed", 7, "-o", "drawn.jsonl", "--within-budget", "--json"
        )
        assert (drawn.code, drawn.err) == (0, "")
        rows = [json.loads(line) for line in Path("drawn.jsonl").read_text(encoding="utf-8").splitlines()]
        assert {row["topic"] for row in rows if row["rate"]} == {"code", "law", "math", "travel"}
        assert drawn.document["expected_spend"] == pytest.approx(60, rel=0.15)
        again = run("draw", "pool.csv", "--plan", "plan.json", "--seed", 7, "-o", "all.csv", "--whole-pool", "--json")
        assert any("draw with --within-budget" in note for note in again.document["notes"])
