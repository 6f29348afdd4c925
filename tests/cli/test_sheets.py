"""`draw --sheet` and `merge`: a batch goes out blind and comes back by id, or is refused with its first offender."""

import csv
import io
from pathlib import Path

import numpy as np
import pytest

from ratewise.questions import drawing
from ratewise.questions import rated as readers
from ratewise.tables import read_table, write_table

from .conftest import PRICES


def rows_of(name):
    return list(csv.DictReader(io.StringIO(Path(name).read_text(encoding="utf-8"))))


def filled(sheet, answer, name="filled.csv"):
    """The sheet with what `answer` gives for each row."""
    rows = rows_of(sheet)
    with open(name, "w", newline="", encoding="utf-8") as file:
        out = csv.DictWriter(file, fieldnames=list(rows[0]))
        out.writeheader()
        out.writerows({**row, "human": answer(row)} for row in rows)
    return name


@pytest.fixture
def drawn(run, made, write):
    """A pool with a text and an uncertainty, drawn with a sheet."""
    pool = rows_of(made.pool)
    columns = {name: [row[name] for row in pool] for name in pool[0]}
    columns |= {"answer": [f"text {i}" for i in range(len(pool))], "judge_uncertainty": [0.1] * len(pool)}
    write("texts.csv", columns)
    arguments = ("draw", "texts.csv", "--plan", made.plan, "--seed", 7, "-o", "drawn.csv", "--sheet", "labels.csv")
    done = run(*arguments, "--json")
    assert (done.code, done.err) == (0, "")
    return done.document


def test_a_sheet_has_the_drawn_rows_shuffled_and_nothing_that_tells_what_to_expect(drawn):
    sheet = rows_of("labels.csv")
    chosen = [row["id"] for row in rows_of("drawn.csv") if row["selected"] == "true"]
    assert list(sheet[0]) == ["id", "answer", "human"]
    assert [row["id"] for row in sheet] != chosen
    assert sorted(row["id"] for row in sheet) == sorted(chosen)
    assert {row["human"] for row in sheet} == {""}
    assert drawn["sheet"] == "labels.csv"
    assert drawn["asked"] == drawn["selected"] == len(chosen)


def test_merge_brings_the_answers_back_and_estimate_reads_them(run, drawn):
    human = {row["id"]: int(np.random.default_rng(i).random() < 0.7) for i, row in enumerate(rows_of("drawn.csv"))}
    filled("labels.csv", lambda row: human[row["id"]])
    done = run("merge", "drawn.csv", "filled.csv", "-o", "rated.csv", "--json")
    assert done.code == 0
    assert done.document.items() >= {"answers": drawn["selected"], "waiting": 0, "columns": ["human"]}.items()
    for row in rows_of("rated.csv"):
        said = "" if row["human"] == "" else int(float(row["human"]))
        assert said == (human[row["id"]] if row["selected"] == "true" else "")
    estimate = run("estimate", "rated.csv", "--weak", "judge", "--strong", "human", "--json")
    assert estimate.document["labels"] == drawn["selected"]


def test_a_sheet_that_is_partly_filled_in_can_be_merged_now_and_again_later(run, drawn):
    first = {row["id"] for row in rows_of("labels.csv")[:10]}
    filled("labels.csv", lambda row: 1 if row["id"] in first else "")
    done = run("merge", "drawn.csv", "filled.csv", "-o", "some.csv")
    left = drawn["selected"] - 10
    first_line, following, *calibrated = done.out.splitlines()
    assert first_line == f"10 answers brought back, written to some.csv; still without one: {left} of those drawn."
    assert following == "Next: ratewise estimate some.csv --weak judge --strong human"
    assert not calibrated
    filled("labels.csv", lambda row: 1 if row["id"] in first else 0)
    assert run("merge", "some.csv", "filled.csv", "-o", "all.csv", "--json").document["waiting"] == 0


def test_one_who_cannot_tell_says_so_and_is_counted(run, drawn):
    first = rows_of("labels.csv")[0]["id"]
    filled("labels.csv", lambda row: "cannot tell" if row["id"] == first else 1)
    done = run("merge", "drawn.csv", "filled.csv", "-o", "rated.csv", "--json")
    assert done.document["waiting"] == 1
    assert done.document["notes"] == ["answers that say that nobody can tell: 1; they stay empty and are counted"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows[3].update(id="nobody"), "row 4 (id 'nobody'): drawn.csv has no such id"),
        (lambda rows: rows[3].update(id="NOT DRAWN"), "this item was not drawn"),
        (lambda rows: rows[3].update(id=rows[1]["id"]), "is in row 2 already; remove one of them"),
        (lambda rows: rows[3].update(human="good"), "'good' is no number; write one, or 'cannot tell'"),
        (lambda rows: rows[3].update(human="nan"), "'nan' is no number"),
        (lambda rows: rows[3].update(human="7"), "7 is off the scale from 0 to 1"),
        (lambda rows: rows[3].update(id=""), "row 4: an answer without an id"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line_with_the_first_offender(run, drawn, change, message):
    rows = [{**row, "human": "1"} for row in rows_of("labels.csv")]
    passed_over = next(row["id"] for row in rows_of("drawn.csv") if row["selected"] == "false")
    change(rows)
    rows = [{**row, "id": passed_over if row["id"] == "NOT DRAWN" else row["id"]} for row in rows]
    with open("bad.csv", "w", newline="", encoding="utf-8") as file:
        out = csv.DictWriter(file, fieldnames=list(rows[0]))
        out.writeheader()
        out.writerows(rows)
    done = run("merge", "drawn.csv", "bad.csv", "-o", "rated.csv", "--low", 0, "--high", 1)
    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1
    assert "bad.csv" in done.err
    assert message in done.err
    assert not Path("rated.csv").exists()


def test_another_rating_of_an_item_that_has_one_is_refused(run, drawn):
    filled("labels.csv", lambda row: 1)
    run("merge", "drawn.csv", "filled.csv", "-o", "rated.csv")
    filled("labels.csv", lambda row: 0)
    done = run("merge", "rated.csv", "filled.csv", "-o", "again.csv")
    assert done.code == 2
    assert "says 0, and rated.csv has 1 already" in done.err


def test_without_an_output_the_draw_is_kept_beside_the_sheet_and_merge_finds_it(run, made):
    assert run("draw", made.pool, "--plan", made.plan, "--seed", 7, "--sheet", "labels.csv", "--whole-pool").code == 0
    assert Path("labels-drawn.parquet").exists()
    filled("labels.csv", lambda row: 1, name="labels.csv")
    done = run("merge", made.pool, "labels.csv", "-o", "rated.csv", "--json")
    assert (done.code, done.document["waiting"]) == (0, 0)
    rated = rows_of("rated.csv")
    assert len(rated) == 900
    assert all(0 < float(row["rate"]) <= 1 for row in rated)


def test_a_sheet_that_may_hold_answers_is_not_written_over(run, made, drawn):
    done = run("draw", made.pool, "--plan", made.plan, "--seed", 8, "-o", "other.csv", "--sheet", "labels.csv")
    assert done.code == 2
    assert "labels.csv is there already and may hold answers" in done.err
    assert not Path("other.csv").exists()


def test_a_pool_that_was_not_drawn_is_refused(run, made, drawn):
    done = run("merge", made.pool, "labels.csv", "-o", "rated.csv")
    assert done.code == 2
    assert "has no column 'selected'" in done.err


def test_a_draw_needs_a_place_to_be_written_to(run, made):
    done = run("draw", made.pool, "--plan", made.plan, "--seed", 8)
    assert done.code == 2
    assert "-o drawn.csv" in done.err


def test_the_sheet_of_a_large_pool_needs_its_drawn_rows_alone(run, drawn, made, monkeypatch):
    """The same sheet, written without reading the pool whole."""
    sheet = Path("labels.csv").read_text()
    write_table(read_table("texts.csv"), "texts.parquet")
    monkeypatch.setattr(readers, "MANY_ROWS", 10)
    monkeypatch.setattr(drawing, "draw_pool", None)
    given = ("--plan", made.plan, "--seed", 7, "-o", "parts/", "--sheet", "again.csv", "--json")
    done = run("draw", "texts.parquet", *given)
    assert (done.code, done.document["asked"]) == (0, drawn["asked"])
    assert Path("again.csv").read_text() == sheet
    assert run("merge", "parts", filled("again.csv", lambda row: 1), "-o", "rated.csv").code == 0


def test_merge_says_what_to_type_next_and_that_works(run, write):
    rng = np.random.default_rng(5)
    judge = rng.random(300).round(3)
    write("pool.csv", {"id": [f"q{i}" for i in range(300)], "text": ["t"] * 300, "judge": judge})
    arguments = ("draw", "pool.csv", "--at-random", 60, "--seed", 3, "-o", "drawn.csv", "--sheet", "labels.csv")
    assert run(*arguments, "--strong", "human").code == 0
    filled("labels.csv", lambda row: "good" if rng.random() < 0.7 else "bad")
    done = run("merge", "drawn.csv", "filled.csv", "-o", "rated.csv", "--positive", "good", "--json")
    following = done.document["next"].split()
    assert " ".join(following) == "ratewise estimate rated.csv --weak judge --strong human --positive good"
    found = run(*following[1:], "--json").document
    assert (found["items"], found["labels"]) == (300, 60)


def test_merge_names_the_calibrated_weak_rating_where_the_draw_wrote_one(run, write, made):
    planned = run("plan", made.pilot, *PRICES, "--budget", 90, "--calibrate", "auto", "--json")
    Path("plan.json").write_text(planned.out, encoding="utf-8")
    arguments = ("draw", made.pool, "--plan", "plan.json", "--seed", 7, "-o", "drawn.csv", "--sheet", "labels.csv")
    assert run(*arguments).code == 0
    assert "weak_calibrated" in rows_of("drawn.csv")[0]
    filled("labels.csv", lambda row: 1 if int(row["id"][1:]) % 3 else 0)
    done = run("merge", "drawn.csv", "filled.csv", "-o", "rated.csv")
    assert "Next: ratewise estimate rated.csv --weak weak_calibrated --strong human" in done.out.splitlines()
    assert "weak_calibrated" in done.out.splitlines()[-1]


def test_a_sheet_shows_neither_another_rating_nor_the_system_and_says_what_it_left_out(run, write):
    n = 40
    columns = {
        "id": range(n), "question": ["why"] * n, "model_answer": ["42"] * n, "topic": ["law"] * n,
        "judge_helpful": [1, 0] * (n // 2), "rater2": [0] * n, "gpt score": [0.3] * n, "system": ["v2"] * n,
    }  # fmt: skip
    write("pool.csv", columns)
    arguments = ("draw", "pool.csv", "--at-random", 9, "--seed", 3, "-o", "drawn.csv")
    done = run(*arguments, "--sheet", "labels.csv", "--json")
    assert list(rows_of("labels.csv")[0]) == ["id", "question", "model_answer", "topic", "rating"]
    assert done.document["hidden"] == ["judge_helpful", "rater2", "gpt score", "system"]
    assert run(*arguments, "--sheet", "named.csv", "--show", "question,system").code == 0
    assert list(rows_of("named.csv")[0]) == ["id", "question", "system", "rating"]
    refused = run(*arguments, "--sheet", "again.csv", "--show", "questoin")
    assert refused.code == 2
    assert "questoin" in refused.err
