"""Text columns of a table: words, vectors of the user's own, and what is refused."""

from pathlib import Path

import numpy as np
import pytest

import ratewise as rw
from ratewise.errors import InputError, TableError
from ratewise.learn.embeddings import Learner
from ratewise.learn.texts import TextReading, read_texts
from ratewise.tables import read_table


def _table(n: int = 300, seed: int = 1) -> dict[str, list[object]]:
    """The strong rating is mostly in the text, and the weak rating knows little of it."""
    rng = np.random.default_rng(seed)
    good = rng.random(n) < 0.5
    kind = np.where(good, "thank you kindly", "do it now")
    filler = rng.choice(["please check", "the file", "my code", "this page"], n)
    h = (rng.random(n) < np.where(good, 0.85, 0.15)).astype(int)
    g = np.clip(0.5 + 0.1 * (h - 0.5) + 0.2 * rng.standard_normal(n), 0.01, 0.99)
    text = [f"{a} {b} {i % 7}" for i, (a, b) in enumerate(zip(kind, filler, strict=True))]
    return {"id": list(range(n)), "judge": g.tolist(), "human": h.tolist(), "text": text}


def test_another_table_gets_the_same_columns_for_the_same_texts() -> None:
    table = read_table(_table())
    found = read_texts(table, ["text"])
    assert found is not None
    columns, reading = found
    some = read_table({"text": _table()["text"][10:20]})
    np.testing.assert_array_equal(reading.columns(some).matrix, columns.matrix[10:20])
    again = TextReading.from_dict(reading.to_dict())
    np.testing.assert_array_equal(again.columns(some).matrix, columns.matrix[10:20])


def test_vectors_that_the_user_has() -> None:
    rows = [[0.5, float(i % 3), -1.0 * i] for i in range(40)]
    found = read_texts(read_table({"v": [str(row) for row in rows]}), ["v"], "vectors")
    assert found is not None
    assert found[0].matrix.shape == (40, 2)  # the first number never varies


def test_a_list_column_of_parquet(tmp_path: Path) -> None:
    import polars as pl

    path = tmp_path / "vectors.parquet"
    pl.DataFrame({"v": [[0.5, float(i)] for i in range(20)]}).write_parquet(path)
    found = read_texts(read_table(path), ["v"], "vectors")
    assert found is not None
    assert found[0].matrix.shape == (20, 1)


@pytest.mark.parametrize(
    ("columns", "learner", "words"),
    [
        (["text", "text"], "words", "named twice"),
        (["missing"], "words", "no column 'missing'"),
        (["empty"], "words", "column 'empty' of .* is empty"),
        (["same"], "words", "all the same"),
        (["text"], "vectors", "row 1: a vector is a list of numbers"),
        (["longer"], "vectors", r"row 3: the vector has 3 numbers, and that of row 1 has 2"),
        (["huge"], "vectors", r"row 2: a vector is a list of numbers .*, not '\[1e300, 2\]'"),
        (["nan"], "vectors", r"row 2: a vector is a list of numbers .*, not '\[NaN, 2\]'"),
        (["deep"], "vectors", r"row 1: a vector is a list of numbers"),
        (["text"], " ", "the learner is empty"),
        (["text"], "/nowhere/model", "cannot be loaded"),
    ],
)
def test_what_cannot_be_read_says_what_to_do(columns: list[str], learner: str, words: str, tmp_path: Path) -> None:
    few = {"longer": ["[1, 2]", "[1, 2]", "[1, 2, 3]"], "huge": ["[1, 2]", "[1e300, 2]", "[1, 2]"]}
    few |= {"nan": ["[1, 2]", "[NaN, 2]", "[1, 2]"], "deep": ["[" * 100_000] * 3}
    vectors = {name: column + ["[1, 2]"] * 17 for name, column in few.items()}
    table = read_table(_table(20) | {"empty": [None] * 20, "same": ["x"] * 20} | vectors)
    with pytest.raises((InputError, TableError), match=words):
        read_texts(table, columns, learner, folder=tmp_path)


def test_one_word_says_the_learner() -> None:
    assert Learner.said("words").kind == "words"
    assert Learner.said("vectors").kind == "vectors"
    assert Learner.said("models/mini") == Learner("embeddings", "models/mini")


def test_no_text_is_nothing() -> None:
    assert read_texts(read_table(_table(5)), []) is None


def test_a_plan_goes_by_what_the_text_says_and_draws_from_another_pool(tmp_path: Path) -> None:
    pilot, money = _table(), {"weak_cost": 0.05, "strong_cost": 1.0, "budget": 200}
    plain = rw.plan(pilot, weak="judge", strong="human", calibrate="auto", **money)
    texts = rw.plan(pilot, weak="judge", strong="human", text=["text"], **money)
    best = min(p.error_times_budget for p in texts.policies.values())
    assert best < 0.8 * min(p.error_times_budget for p in plain.policies.values())
    texts.save(tmp_path / "plan.json")
    pool = {name: column for name, column in _table(seed=2).items() if name != "human"}
    drawn = rw.draw_pool(pool, tmp_path / "plan.json", seed=1)
    rates = np.asarray(drawn.table.numbers("rate", missing="allow"))
    assert np.nanmin(rates) > 0
    assert texts.to_dict()["inputs"]["text"] == ["text"]


def test_an_estimate_with_text_is_more_precise_and_right() -> None:
    table = _table(1200, seed=3)
    truth = float(np.mean(table["human"]))
    keep = np.random.default_rng(4).random(1200) < 0.3
    table["human"] = [h if k else None for h, k in zip(table["human"], keep, strict=True)]
    how = {"weak": "judge", "strong": "human", "rate": 0.3}
    plain = rw.estimate_table(table, recalibrate="auto", **how)
    texts = rw.estimate_table(table, text=["text"], **how)
    assert texts.standard_error < 0.85 * plain.standard_error
    assert abs(texts.value - truth) < 4 * texts.standard_error
    with pytest.raises(InputError, match="recalibrate 'auto'"):
        rw.estimate_table(table, text=["text"], recalibrate="platt", **how)


def test_clusters_leave_out_their_own_texts() -> None:
    table = _table(600, seed=5)
    table["chat"] = [i // 3 for i in range(600)]
    keep = np.random.default_rng(4).random(600) < 0.4
    table["human"] = [h if k else None for h, k in zip(table["human"], keep, strict=True)]
    found = rw.estimate_table(table, weak="judge", strong="human", rate=0.4, clusters="chat", text=["text"])
    plain = rw.estimate_table(table, weak="judge", strong="human", rate=0.4, clusters="chat", recalibrate="auto")
    assert found.standard_error < 0.9 * plain.standard_error


def test_a_simulation_learns_from_text() -> None:
    how = {"weak": "judge", "strong": "human", "cost_ratio": 0.02, "budgets": [60], "burn_in": 40, "trials": 16}
    table = _table(400, seed=6)
    plain, texts = (
        rw.simulate(table, methods=["auto"], mode="pool", workers=1, text=text, **how).results[0].mse
        for text in ([], ["text"])
    )
    assert texts < 0.9 * plain


def test_a_learner_without_texts_is_told():
    with pytest.raises(InputError, match="name their columns: text, or --text COLUMNS"):
        read_texts(read_table({"weak": [0.1, 0.2]}), (), "vectors")
    assert read_texts(read_table({"weak": [0.1, 0.2]}), ()) is None
