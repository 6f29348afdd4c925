"""`ratewise draw`: who is selected can be recomputed by anyone with hashlib."""

import csv
import hashlib
import io
import json
import os
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from ratewise import read_table

WHOLE = "--whole-pool"


def r(seed: int, item: str) -> float:
    """METHODS section 9, written down a second time."""
    return int(hashlib.md5(f"{seed}:{item}".encode()).hexdigest()[:13], 16) / 2**52


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def drawn(name: str = "drawn.csv") -> list[dict[str, str]]:
    return rows_of(Path(name).read_text(encoding="utf-8"))


def test_selected_is_the_hash_below_the_rate(run, made):
    done = run("draw", WHOLE, made.pool, "--plan", made.plan, "--seed", 7, "-o", "drawn.csv", "--json")
    assert (done.code, done.err) == (0, "")
    rows = drawn()
    assert list(rows[0]) == ["id", "judge", "rate", "selected"]
    for row in rows:
        assert row["selected"] == str(r(7, row["id"]) < float(row["rate"])).lower()
    count = sum(row["selected"] == "true" for row in rows)
    assert 0 < count < len(rows) == 900
    assert done.document.items() >= {"output": "drawn.csv", "items": 900, "selected": count, "seed": 7}.items()


def test_the_rates_are_the_plan_s(run, made):
    run("draw", WHOLE, made.pool, "--plan", made.plan, "--seed", 7, "-o", "drawn.csv")
    assert made.document["recommendation"] == "active"
    active = made.document["policies"]["active"]
    judge = np.array([float(row["judge"]) for row in drawn()])
    by_hand = np.clip(active["scale"] * np.sqrt(judge * (1 - judge)), active["floor"], 1)
    np.testing.assert_allclose([float(row["rate"]) for row in drawn()], by_hand, rtol=1e-12)
    assert len(set(by_hand)) > 100


def test_the_same_seed_draws_the_same_and_another_one_does_not(run, made):
    for name, seed in (("a.csv", 7), ("b.csv", 7), ("c.csv", 8)):
        assert run("draw", WHOLE, made.pool, "--plan", made.plan, "--seed", seed, "-o", name).code == 0
    assert Path("a.csv").read_bytes() == Path("b.csv").read_bytes()
    first, other = ({row["id"] for row in drawn(name) if row["selected"] == "true"} for name in ("a.csv", "c.csv"))
    assert first - other
    assert other - first


def test_the_order_of_the_rows_does_not_matter(run, made):
    head, *lines = Path(made.pool).read_text(encoding="utf-8").splitlines()
    Path("turned.csv").write_text("\n".join([head, *reversed(lines)]) + "\n", encoding="utf-8")
    for name, out in ((made.pool, "a.csv"), ("turned.csv", "b.csv")):
        run("draw", WHOLE, name, "--plan", made.plan, "--seed", 3, "-o", out)
    a, b = ({row["id"]: (row["rate"], row["selected"]) for row in drawn(name)} for name in ("a.csv", "b.csv"))
    assert a == b


def test_ids_come_from_the_column_asked_for_else_from_the_row_number(run, made, write, pool):
    name = write("named.csv", {"judge": pool["judge"], "key": [f"k/{i}" for i in range(900)]})
    run("draw", WHOLE, name, "--plan", made.plan, "--seed", 7, "-o", "a.csv", "--id", "key")
    run("draw", WHOLE, name, "--plan", made.plan, "--seed", 7, "-o", "b.csv")
    for row in drawn("a.csv"):
        assert (row["selected"] == "true") == (r(7, row["key"]) < float(row["rate"]))
    for number, row in enumerate(drawn("b.csv")):
        assert (row["selected"] == "true") == (r(7, str(number)) < float(row["rate"]))


def test_every_kind_of_file_and_standard_output(run, made):
    run("draw", WHOLE, made.pool, "--plan", made.plan, "--seed", 7, "-o", "drawn.csv")
    chosen = [(row["id"], float(row["rate"]), row["selected"] == "true") for row in drawn()]
    run("draw", WHOLE, made.pool, "--plan", made.plan, "--seed", 7, "-o", "drawn.jsonl")
    lines = [json.loads(line) for line in Path("drawn.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [(row["id"], row["rate"], row["selected"]) for row in lines] == chosen
    run("draw", WHOLE, made.pool, "--plan", made.plan, "--seed", 7, "-o", "drawn.parquet")
    table = pq.read_table("drawn.parquet").to_pylist()
    assert [(row["id"], row["rate"], row["selected"]) for row in table] == chosen
    data = Path(made.pool).read_bytes()
    piped = run("draw", WHOLE, "-", "--plan", made.plan, "--seed", 7, "-o", "-", stdin=data)
    assert piped.code == 0
    assert rows_of(piped.out) == drawn()


def test_a_pipe_of_two_processes(process, made):
    data = Path(made.pool).read_bytes()
    done = process("draw", WHOLE, "-", "--plan", made.plan, "--seed", 7, "-o", "-", stdin=data)
    assert done.code == 0
    assert len(rows_of(done.out)) == 900
    assert all(line.startswith("note: ") for line in done.err.splitlines())


def test_the_spend_is_counted(run, made):
    told = run("draw", WHOLE, made.pool, "--plan", made.plan, "--seed", 7, "-o", "drawn.csv", "--json").document
    rates = np.array([float(row["rate"]) for row in drawn()])
    assert told["expected_spend"] == pytest.approx(900 * 0.02 + 1.5 * rates.sum())
    assert told["spend"] == pytest.approx(900 * 0.02 + 1.5 * told["selected"])


def test_a_pool_that_costs_more_than_the_budget_is_said(run, made):
    told = run("draw", WHOLE, made.pool, "--plan", made.plan, "--seed", 7, "-o", "drawn.csv", "--json").document
    assert told["expected_spend"] > 90
    (note,) = told["notes"]
    assert "--within-budget" in note
    words = run("draw", WHOLE, made.pool, "--plan", made.plan, "--seed", 7, "-o", "again.csv")
    assert note in " ".join(words.out.split())
    assert "Written to again.csv" in words.out


def test_within_budget_looks_at_as_many_items_as_planned(run, made):
    planned = int(made.document["policies"]["active"]["items"])
    assert 100 < planned < 900
    arguments = ("draw", made.pool, "--plan", made.plan, "--seed", 7, "--within-budget", "--json")
    told = run(*arguments, "-o", "drawn.csv").document
    looked = [row for row in drawn() if row["rate"]]
    assert told["items"] == len(looked) <= planned  # fewer where chance makes them dearer
    assert told["spend"] <= 90
    assert all(row["selected"] == "false" for row in drawn() if not row["rate"])
    assert all((row["selected"] == "true") == (r(7, row["id"]) < float(row["rate"])) for row in looked)
    assert told["expected_spend"] == pytest.approx(90, rel=0.15)  # the rates of those looked at vary a little
    assert [row["rate"] for row in drawn()[:planned]] != [row["rate"] for row in looked]  # not just the first rows
    run(*arguments, "-o", "again.csv")
    assert drawn("again.csv") == drawn()
    run("draw", made.pool, "--plan", made.plan, "--seed", 8, "--within-budget", "-o", "other.csv")
    assert {row["id"] for row in drawn("other.csv") if row["rate"]} != {row["id"] for row in looked}


def test_within_budget_is_not_told_to_use_within_budget(run, made):
    for seed in range(12):
        told = run("draw", made.pool, "--plan", made.plan, "--seed", seed, "--within-budget", "-o", "d.csv", "--json")
        assert not [note for note in told.document["notes"] if "--within-budget" in note or "all 900 items" in note]


def test_the_advice_of_a_note_helps(run, made, write):
    """A plan made with the pool's size is not told to be made with the pool's size."""
    prices = ("--weak", "judge", "--strong", "human", "--weak-cost", "0.02", "--strong-cost", "1.5")
    planned = run("plan", made.pilot, *prices, "--budget", 90, "--pool-size", 900, "--json")
    Path("sized.json").write_text(planned.out, encoding="utf-8")
    told = run("draw", WHOLE, made.pool, "--plan", "sized.json", "--seed", 7, "-o", "drawn.csv", "--json").document
    assert told["expected_spend"] > 1.05 * 90  # fewer items than the pool has are best for this budget
    (note,) = told["notes"]
    assert "--within-budget" in note
    assert "--pool-size" not in note


def test_a_drifted_pool_is_said(run, made, write, pool):
    shifted = write("shifted.csv", {"id": pool["id"], "judge": [x / 3 for x in pool["judge"]]})
    told = run("draw", WHOLE, shifted, "--plan", made.plan, "--seed", 7, "-o", "drawn.csv", "--json").document
    assert told["drift"]["drifted"] is True
    assert any("drifted" in note for note in told["notes"])
    same = run("draw", WHOLE, made.pool, "--plan", made.plan, "--seed", 7, "-o", "drawn.csv", "--json").document
    assert same["drift"]["drifted"] is False
    assert same["drift"]["weak"] < told["drift"]["weak"]


def test_a_calibrated_plan_writes_the_calibrated_rating(run, write, pilot, pool):
    tenths = {**pilot, "judge": [10 * x for x in pilot["judge"]]}
    prices = ("--weak", "judge", "--strong", "human", "--weak-cost", "0.02", "--strong-cost", "1.5")
    plan = run("plan", write("pilot.csv", tenths), *prices, "--budget", 90, "--calibrate", "affine", "--json")
    Path("plan.json").write_text(plan.out, encoding="utf-8")
    name = write("pool.csv", {"id": pool["id"], "judge": [10 * x for x in pool["judge"]]})
    assert run("draw", WHOLE, name, "--plan", "plan.json", "--seed", 1, "-o", "drawn.csv").code == 0
    line = plan.document["transfer"]["calibration"]
    for row in drawn()[:50]:
        by_hand = line["intercept"] + line["slope"] * float(row["judge"])
        assert float(row["weak_calibrated"]) == pytest.approx(by_hand)


@pytest.fixture
def base_plan(run, write, pilot):
    """A plan that says not to buy the weak rater."""
    prices = ("--weak", "judge", "--strong", "human", "--weak-cost", "0.5", "--strong-cost", "1.5")
    noise = np.random.default_rng(3).random(260).round(3).tolist()
    planned = run("plan", write("noise.csv", {**pilot, "judge": noise}), *prices, "--budget", 150, "--json")
    assert planned.document["recommendation"] == "base"
    Path("base.json").write_text(planned.out, encoding="utf-8")
    return "base.json"


def test_a_plan_without_the_weak_rater_needs_no_weak_ratings(run, write, pool, base_plan):
    told = run(
        "draw",
        WHOLE,
        write("ids.csv", {"id": pool["id"]}),
        "--plan",
        base_plan,
        "--seed",
        7,
        "-o",
        "d.csv",
        "--json",
    )
    assert (told.code, told.err) == (0, "")
    assert told.document["drift"] is None
    assert told.document["expected_spend"] == pytest.approx(150)
    assert told.document["spend"] == pytest.approx(1.5 * told.document["selected"])
    rows = drawn("d.csv")
    assert [float(row["rate"]) for row in rows] == pytest.approx([100 / 900] * 900)
    assert all((row["selected"] == "true") == (r(7, row["id"]) < float(row["rate"])) for row in rows)
    words = run("draw", WHOLE, "ids.csv", "--plan", base_plan, "--seed", 7, "-o", "d.csv")
    assert words.code == 0
    assert "of 900 items" in words.out


def test_a_draw_that_came_out_dearer_than_the_budget_is_said(run, write, pool, base_plan):
    write("ids.csv", {"id": pool["id"]})
    draws = [run("draw", WHOLE, "ids.csv", "--plan", base_plan, "--seed", seed, "-o", "d.csv", "--json").document
             for seed in range(12)]  # fmt: skip
    dearer = [told["spend"] > 150 for told in draws]
    assert any(dearer)
    assert not all(dearer)
    for told, over in zip(draws, dearer, strict=True):
        assert len(told["notes"]) == over
        assert not over or f"{told['spend']:,.2f}" in told["notes"][0]


def test_a_draw_keeps_within_the_budget_if_nothing_is_said(run, made):
    """Whatever the seed; and nearly all of the money is used."""
    planned, spends = int(made.document["policies"]["active"]["items"]), []
    for seed in range(15):
        told = run("draw", made.pool, "--plan", made.plan, "--seed", seed, "-o", "d.csv", "--json").document
        assert told["spend"] <= 90
        assert told["items"] <= planned
        fewer = [note for note in told["notes"] if "by chance the money lasts for" in note]
        assert bool(fewer) == (told["items"] < planned)
        spends.append(told["spend"])
    assert np.mean(spends) > 0.9 * 90
    assert max(spends) > 86


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--master", "local[2]", "-o", "drawn.csv"), "--master is for --engine spark"),
        (("--engine", "spark", "-o", "drawn.csv"), "Spark writes a folder; type -o drawn.csv/"),
        (("--engine", "spark", "--sheet", "sheet.csv", "-o", "drawn/"), "leave out --sheet"),
    ],
)
def test_what_does_not_go_with_an_engine_is_refused(run, made, options, message):
    done = run("draw", made.pool, "--plan", made.plan, "--seed", "3", *options)
    assert done.code == 2
    assert message in done.err


def test_a_folder_gets_the_drawn_pool_in_parts(run, made):
    assert run("draw", made.pool, "--plan", made.plan, "--seed", "3", "-o", "parts/").code == 0
    run("draw", made.pool, "--plan", made.plan, "--seed", "3", "-o", "drawn.csv")
    assert os.listdir("parts") == ["part-00000.parquet"]
    parts, whole = read_table("parts/part-00000.parquet"), read_table("drawn.csv")
    assert parts.numbers("selected").tolist() == whole.numbers("selected").tolist()


def test_a_first_draw_needs_no_plan_and_selects_just_so_many(run, made):
    done = run("draw", made.pool, "--at-random", 50, "--seed", 7, "-o", "drawn.csv", "--json")
    assert (done.code, done.err) == (0, "")
    rows = drawn()
    assert {float(row["rate"]) for row in rows} == {50 / 900}
    chosen = {row["id"] for row in rows if row["selected"] == "true"}
    assert chosen == set(sorted((row["id"] for row in rows), key=lambda item: r(7, item))[:50])
    assert done.document.items() >= {"items": 900, "selected": 50, "spend": None, "expected_spend": None}.items()
    assert run("draw", made.pool, "--at-random", 80, "--seed", 7, "-o", "more.csv").code == 0
    assert chosen < {row["id"] for row in drawn("more.csv") if row["selected"] == "true"}


def test_a_first_draw_takes_every_row_that_can_be_named_by_its_number(run, write):
    write("texts.csv", {"text": ["=a", "b", "c"]})
    done = run("draw", "texts.csv", "--at-random", 3, "--seed", 1, "-o", "drawn.csv", "--safe-cells")
    assert done.code == 0
    assert "cost" not in done.out
    assert [(row["text"], row["rate"], row["selected"]) for row in drawn()] == [
        (text, "1.0", "true") for text in ("'=a", "b", "c")
    ]


@pytest.mark.parametrize("number", [0, -1, 901])
def test_a_first_draw_of_rows_that_are_not_there_is_refused(run, made, number):
    done = run("draw", made.pool, "--at-random", number, "--seed", 7, "-o", "drawn.csv")
    assert done.code == 2
    assert "1 to 900" in done.err
    assert not Path("drawn.csv").exists()


def test_a_draw_has_a_plan_or_a_number(run, made):
    for given in ((), ("--plan", made.plan, "--at-random", 5)):
        done = run("draw", made.pool, *given, "--seed", 7, "-o", "drawn.csv")
        assert done.code == 2
        assert "--at-random" in done.err
