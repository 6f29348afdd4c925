"""Plans for comparisons: rates from the uncertainty of the difference."""

import numpy as np
import pytest

from ratewise.core.policy import optimal_policy
from ratewise.errors import InputError, TableError
from ratewise.questions.comparison import add_difference, compare, plan_comparison, plan_comparisons
from ratewise.questions.drawing import draw_pool
from ratewise.questions.plan import plan
from ratewise.questions.policies import learn_pilot

WEAK, STRONG = ("g_a", "g_b"), ("h_a", "h_b")
PRICES = {"weak_cost": 0.02, "strong_cost": 1.5}


def pilot(items=400, seed=2):
    """The judges are wrong together where both scores are high, and each by itself where they differ."""
    rng = np.random.default_rng(seed)
    hard = rng.normal(0, 1, items)
    d = rng.exponential(1.0, items)
    h_a, h_b = hard + d, hard
    shared = rng.normal(0, 2, items)
    g_a = h_a + shared + 0.6 * d * rng.normal(size=items)
    g_b = h_b + shared
    return {"g_a": g_a, "g_b": g_b, "h_a": h_a, "h_b": h_b}


def test_it_is_the_plan_of_the_difference_columns():
    data = pilot()
    made = plan_comparison(data, weak=WEAK, strong=STRONG, budget=200, **PRICES)
    by_hand = plan(
        {"d_g": data["g_a"] - data["g_b"], "d_h": data["h_a"] - data["h_b"]}, weak="d_g", strong="d_h", weak_cost=0.04,
        strong_cost=3.0, budget=200,
    )  # fmt: skip
    assert made.recommendation == by_hand.recommendation == "active"
    assert np.array_equal(made.rates, by_hand.rates)
    assert made.policies["active"] == by_hand.policies["active"]
    assert "its weak ratings cost 0.04, its strong ones 3" in made.notes[0]


def test_the_difference_is_planned_better_than_by_either_system():
    """What the judges share cancels in the difference: one system's own error says little about it."""
    data = pilot(4000)
    made = plan_comparison(data, weak=WEAK, strong=STRONG, budget=300, **PRICES)
    residual = (data["h_a"] - data["h_b"]) - (data["g_a"] - data["g_b"])
    one = plan(data, weak="g_a", strong="h_a", weak_cost=0.04, strong_cost=3.0, budget=300)

    def error(rates):
        V = np.var(data["h_a"] - data["h_b"])
        return (0.04 + 3 * rates.mean()) * (V + np.mean(residual**2 * (1 / rates - 1)))

    assert error(made.rates) < 0.8 * error(one.rates)


def test_plan_draw_compare():
    made = plan_comparison(pilot(), weak=WEAK, strong=STRONG, budget=600, pool_size=2000, **PRICES)
    truth = pilot(2000, seed=9)
    pool = add_difference({name: truth[name] for name in WEAK}, weak=WEAK)
    drawn = draw_pool(pool, made.transfer, seed=4, within_budget=True)
    assert drawn.expected_spend == pytest.approx(600, rel=0.15)
    rated = drawn.table.with_columns({name: np.where(drawn.selected, truth[name], np.nan) for name in STRONG})
    found = compare(rated, weak=WEAK, strong=STRONG, estimand="pool", selected="selected", names=("A", "B"))
    real = float(np.mean(truth["h_a"] - truth["h_b"]))
    assert abs(found.difference.value - real) < 4 * found.difference.standard_error
    assert found.sentence.startswith("A is better than B")


def test_rows_with_one_strong_rating_are_no_part_of_the_pilot():
    data = pilot()
    data["h_b"][:3] = np.nan
    made = plan_comparison(data, weak=WEAK, strong=STRONG, budget=200, **PRICES)
    assert made.basis["labels"] == 397
    assert "3 rows with one of the two strong ratings" in made.notes[1]


def test_names_that_are_taken():
    with pytest.raises(TableError, match="has a column 'weak_difference' already"):
        add_difference(pilot() | {"weak_difference": np.zeros(400)}, weak=WEAK)


def test_no_pilot_is_one_clear_error():
    data = pilot() | {"h_b": np.full(400, np.nan)}
    with pytest.raises(TableError, match="no row"):
        plan_comparison(data, weak=WEAK, strong=STRONG, budget=200, **PRICES)
    with pytest.raises(InputError, match="budget or a target"):
        plan_comparison(pilot(), weak=WEAK, strong=STRONG, **PRICES)


# Many


def three(items=600, seed=5):
    rng = np.random.default_rng(seed)
    data = pilot(items, seed)
    return data | {"h_c": data["h_b"] + 0.3, "g_c": data["g_b"] + 0.3 + rng.normal(0, 0.3, items)}


MANY = {
    "baseline": "b", "weak": {"a": "g_a", "b": "g_b", "c": "g_c"}, "strong": {"a": "h_a", "b": "h_b", "c": "h_c"},
}  # fmt: skip


def test_many_systems_by_hand():
    """u and V are means over the differences; an item costs the three systems' ratings."""
    data = three()
    data["h_c"] = data["h_c"] + np.linspace(0, 0.5, 600)
    made = plan_comparisons(data, **MANY, budget=400, floor=0.02, **PRICES)
    pilots = [
        learn_pilot(data[f"g_{k}"] - data["g_b"], data[f"h_{k}"] - data["h_b"], None, calibrate=None, seed=0)
        for k in ("a", "c")
    ]
    u = np.mean([p.error for p in pilots], axis=0)
    V = np.mean([np.var(data[f"h_{k}"] - data["h_b"]) for k in ("a", "c")])
    expected = optimal_policy(u, variance=V, weak_cost=0.06, strong_cost=4.5, budget=400, floor=0.02)
    assert np.allclose(made.rates, expected.rates)
    assert made.expected_se == pytest.approx(expected.expected_se)


def test_one_rate_for_all_where_the_error_is_even():
    rng = np.random.default_rng(4)
    h = rng.normal(0, 1, (3, 500))
    data = {f"h_{k}": h[i] for i, k in enumerate("abc")}
    data |= {f"g_{k}": h[i] + rng.normal(0, 0.3, 500) for i, k in enumerate("abc")}
    made = plan_comparisons(data, **MANY, budget=400, **PRICES)
    assert np.ptp(made.rates) < 0.5 * made.rates.mean()


def test_many_needs_a_pilot_and_known_systems():
    data = three()
    with pytest.raises(InputError, match="same systems"):
        plan_comparisons(data, **(MANY | {"baseline": "x"}), budget=100, **PRICES)
    with pytest.raises(TableError, match="0 rows of table have every strong rating"):
        plan_comparisons(data | {"h_c": np.full(600, np.nan)}, **MANY, budget=100, **PRICES)
