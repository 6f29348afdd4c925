"""Frames come out where a table comes out, of the kind that is asked for."""

import numpy as np
import pytest

import ratewise as rw
from ratewise.core import result
from ratewise.core.result import frame_of_rows

KINDS = {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "Table"}
PRICES = {"weak_cost": 0.02, "strong_cost": 1.0, "budget": 60}


def names_of(frame):
    return list(getattr(frame, "column_names", None) or frame.columns)


def rated():
    rng = np.random.default_rng(2)
    h = (rng.random(200) < 0.6).astype(float)
    known = np.arange(200) % 3 == 0
    first = rng.integers(0, 3, 200)
    models = np.array(["ann", "bob", "cy"])
    return {
        "g": np.where(rng.random(200) < 0.2, 1 - h, h), "h": np.where(known, h, np.nan), "x": rng.normal(size=200),
        "topic": np.array(["a", "b"])[np.arange(200) % 2], "g2": rng.random(200), "h2": np.where(known, 1 - h, np.nan),
        "model_a": models[first], "model_b": models[(first + rng.integers(1, 3, 200)) % 3],
    }  # fmt: skip


def without(table, column):
    return {name: values for name, values in table.items() if name != column}


ONE = {"weak": "g", "strong": "h"}
RESULTS = {
    "slices": (lambda t: rw.estimate_slices(t, by="topic", **ONE), "name", 2),
    "compare": (lambda t: rw.compare(t, weak=("g", "g2"), strong=("h", "h2")), "name", 3),
    "compare_many": (
        lambda t: rw.compare_many(t, baseline="b", weak={"a": "g", "b": "g2"}, strong={"a": "h", "b": "h2"}), "name", 1,
    ),
    "regress": (lambda t: rw.regress(t, on=["x"], **ONE), "name", 2),
    "quantiles": (lambda t: rw.quantile_table(t, at=[0.2, 0.8], **ONE), "quantile", 2),
    "leaderboard": (lambda t: rw.leaderboard(t, **ONE), "name", 3),
    "plan": (lambda t: rw.plan(t, **ONE, **PRICES), "policy", 3),
    "plan_regression": (lambda t: rw.plan_regression(t, on=["x"], **ONE, **PRICES), "policy", 3),
    "plan_slices": (lambda t: rw.plan_slices(t, by="topic", **ONE, **PRICES), "name", 2),
    "draw_pool": (lambda t: rw.draw_pool(t, rw.plan(t, **ONE, **PRICES), seed=1), "rate", 200),
    "ask_votes": (lambda t: rw.ask_votes(without(t, "h"), votes=9, weak="g", seed=1), "rate", 200),
}  # fmt: skip


@pytest.mark.parametrize("name", RESULTS)
def test_every_result_that_is_a_table_gives_a_frame(name):
    make, column, rows = RESULTS[name]
    found = make(rated())
    for kind, type_name in KINDS.items():
        frame = found.to_frame(kind)
        assert type(frame).__name__ == type_name
        assert type(frame).__module__.startswith(kind)
        assert len(frame) == rows
        assert column in names_of(frame)


def test_the_drawn_pool_comes_back_as_it_came():
    import polars as pl

    drawn = rw.draw_pool(pl.DataFrame(rated()), rw.plan(rated(), **ONE, **PRICES), seed=1)
    assert isinstance(drawn.to_frame(), pl.DataFrame)


def test_numbers_and_what_is_missing():
    frame = frame_of_rows([{"a": 1.5, "b": None}, {"a": 2.5, "b": "x", "notes": ["p", "q"]}], "polars")
    assert frame["a"].to_list() == [1.5, 2.5]
    assert frame["b"].to_list() == [None, "x"]
    assert frame["notes"].to_list() == [None, "p; q"]


def test_the_first_kind_that_is_installed(monkeypatch):
    rows = [{"a": 1.0}]
    assert type(frame_of_rows(rows)).__module__.startswith("pandas")
    monkeypatch.setattr(result, "find_spec", lambda name: None if name == "pandas" else object())
    assert type(frame_of_rows(rows)).__module__.startswith("polars")
    with pytest.raises(rw.InputError, match="pip install pandas"):
        frame_of_rows(rows, "pandas")
    with pytest.raises(rw.InputError, match="unknown kind of frame 'excel'"):
        frame_of_rows(rows, "excel")


def test_the_kind_of_interval_has_one_name_everywhere():
    found = rw.estimate_table(rated(), **ONE)
    assert found.interval == (found.low, found.high)
    assert found.to_dict()["interval_kind"] == found.interval_kind == found.to_dict()["interval"] == "score"
    one = rw.estimate_slices(rated(), by="topic", **ONE)["a"]
    assert one.to_dict()["interval_kind"] == one.interval_kind == "score"
