"""One way to draw, whatever was planned: every plan prints, goes into a file, and can be drawn from."""

import json

import numpy as np
import pytest

import ratewise as rw
from ratewise.errors import InputError, TableError
from ratewise.questions.comparison import add_difference

PRICES = {"weak_cost": 0.02, "strong_cost": 1.0, "budget": 120}
ITEMS = 600


def pool(seed=5):
    """Two systems' ratings; a third of the rows is labelled, the others are what is drawn from."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=ITEMS)
    h_a, h_b = x + rng.exponential(1.0, ITEMS), x
    g_a, g_b = h_a + 0.6 * np.abs(x) * rng.normal(size=ITEMS), h_b + 0.2 * rng.normal(size=ITEMS)
    known = np.arange(ITEMS) < ITEMS // 3
    return {
        "id": np.arange(ITEMS), "x": x, "topic": np.array(["a", "b"])[np.arange(ITEMS) % 2], "g_a": g_a, "g_b": g_b,
        "h_a": np.where(known, h_a, np.nan), "h_b": np.where(known, h_b, np.nan),
    }  # fmt: skip


ONE, TWO = {"weak": "g_a", "strong": "h_a"}, {"weak": ("g_a", "g_b"), "strong": ("h_a", "h_b")}
MANY = {"baseline": "b", "weak": {"a": "g_a", "b": "g_b"}, "strong": {"a": "h_a", "b": "h_b"}}
PLANS = {
    "mean": lambda table: rw.plan(table, **ONE, **PRICES),
    "comparison": lambda table: rw.plan_comparison(table, **TWO, **PRICES),
    "comparisons": lambda table: rw.plan_comparisons(table, **MANY, **PRICES),
    "quantile": lambda table: rw.plan_quantile(table, quantile=0.3, **ONE, **PRICES),
    "regression": lambda table: rw.plan_regression(table, on=["x"], **ONE, **PRICES),
    "slices": lambda table: rw.plan_slices(table, by="topic", **ONE, **PRICES),
}


@pytest.fixture(scope="module")
def plans():
    return {name: make(pool()) for name, make in PLANS.items()}


@pytest.mark.parametrize("name", PLANS)
def test_every_plan_prints_and_goes_into_a_file(name, plans, tmp_path):
    made = plans[name]
    assert str(made) == made.summary()
    assert "\n" not in str(made)
    made.save(tmp_path / "plan.json")
    stored = json.loads((tmp_path / "plan.json").read_text(encoding="utf-8"))
    assert stored == json.loads(json.dumps(made.to_dict()))
    assert stored["inputs"]["rows"] == ITEMS
    assert list(made.notes) == stored["notes"]


@pytest.mark.parametrize("name", PLANS)
def test_every_plan_can_be_drawn_from(name, plans):
    table = pool()
    drawn = rw.draw_pool(table, plans[name], seed=4, within_budget=False)
    rates = drawn.table.numbers("rate")
    assert rates.min() > 0
    assert rates.max() <= 1
    assert np.array_equal(rw.draw(rates, table["id"].astype(str), seed=4), drawn.selected)
    assert {"id", "x", "g_a", "rate", "selected"} <= set(drawn.table.columns)
    assert "weak_difference" not in drawn.table.columns  # what is made to draw by is no part of the pool
    within = rw.draw_pool(table, plans[name], seed=4, within_budget=True)
    assert within.expected_spend <= 1.1 * 120


@pytest.mark.parametrize("name", ["mean", "comparison", "quantile", "slices"])
def test_a_plan_from_a_file_draws_the_same(name, plans, tmp_path):
    plans[name].save(tmp_path / "plan.json")
    new = {column: values for column, values in pool(seed=8).items() if not column.startswith("h_")}
    from_file = rw.draw_pool(new, tmp_path / "plan.json", seed=9)
    in_memory = rw.draw_pool(new, plans[name], seed=9)
    np.testing.assert_array_equal(from_file.rates, in_memory.rates)
    np.testing.assert_array_equal(from_file.selected, in_memory.selected)


def test_a_comparison_needs_no_difference_column_and_takes_one(plans):
    new = {name: pool(seed=8)[name] for name in ("id", "g_a", "g_b")}
    by_itself = rw.draw_pool(new, plans["comparison"], seed=9)
    by_hand = rw.draw_pool(add_difference(new, weak=("g_a", "g_b")), plans["comparison"].transfer, seed=9)
    np.testing.assert_array_equal(by_itself.rates, by_hand.rates)


def test_a_quantile_plan_rates_a_new_pool_by_the_weak_rating(plans):
    """High where the weak rating is near the quantile: there the two may lie on different sides."""
    made = plans["quantile"]
    assert made.recommendation == "active"
    theta = made.basis["at"]
    drawn = rw.draw_pool({"g_a": np.array([theta - 3, theta + 0.01, theta + 6])}, made, seed=1)
    assert drawn.rates[1] > drawn.rates[2]


@pytest.mark.parametrize("name", ["regression", "comparisons"])
def test_a_plan_for_its_own_rows_refuses_others(name, plans):
    with pytest.raises(InputError, match="plan with the pool itself"):
        rw.draw_pool(pool(seed=8), plans[name], seed=4)
    with pytest.raises(TableError, match="drawn before"):
        rw.draw_pool(rw.draw_pool(pool(), plans[name], seed=4).table, plans[name], seed=4)


def test_many_comparisons_say_what_they_cost(plans):
    made = plans["comparisons"]
    assert made.recommendation in ("random", "active")
    assert "all 2 systems: it costs 0.04 and 2" in made.notes[0]
    np.testing.assert_array_equal(made.rates, made.policy.rates)
