"""`draw_pool`: columns added, spend counted, and selections that are as frequent as their rates."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import ratewise as rw
from ratewise import TableError
from ratewise.questions.drawing import draw_file

from ..bounds import FALSE_ALARM
from .drawn import r


def test_columns_are_added_and_the_rest_is_kept(plan, pool):
    drawn = rw.draw_pool({**pool, "note": ["ü"] * 8500}, plan.transfer, seed=4, within_budget=False)
    assert drawn.table.columns == ("id", "g", "note", "rate", "selected")
    np.testing.assert_array_equal(drawn.table.numbers("rate"), drawn.rates)
    np.testing.assert_array_equal(drawn.table.numbers("selected"), drawn.selected)
    np.testing.assert_array_equal(drawn.table.numbers("g"), pool["g"])
    expected = [r(4, item) < rate for item, rate in zip(pool["id"], drawn.rates, strict=True)]
    np.testing.assert_array_equal(drawn.selected, expected)


def test_the_calibrated_rating_is_added(plan, pool, judged):
    pilot = {"g": 10 * judged.weak[:500], "h": judged.strong[:500]}
    made = rw.plan(pilot, weak="g", strong="h", weak_cost=0.02, strong_cost=1.1, budget=260, calibrate="isotonic")
    drawn = rw.draw_pool({"g": 10 * pool["g"]}, made.transfer, seed=4)
    assert drawn.table.columns == ("g", "rate", "selected", "pool_size", "weak_calibrated")
    mapped = made.transfer.calibration.predict(10 * pool["g"])
    np.testing.assert_array_equal(drawn.table.numbers("weak_calibrated"), mapped)


def too_far(selected, rates, *, false_alarm=FALSE_ALARM):
    """Whether the number selected is further from Σπ than chance explains."""
    sd = np.sqrt(np.sum(rates * (1 - rates)))
    return abs(selected.sum() - rates.sum()) > stats.norm.isf(false_alarm / 2) * sd


def test_items_are_selected_as_often_as_their_rates_say(plan, pool):
    drawn = rw.draw_pool(pool, plan.transfer, seed=11, within_budget=False)
    assert not too_far(drawn.selected, drawn.rates)
    for high in (False, True):  # also among those with high and those with low rates
        half = (drawn.rates > np.median(drawn.rates)) == high
        assert not too_far(drawn.selected[half], drawn.rates[half], false_alarm=FALSE_ALARM / 2)
    wrong = rw.draw(drawn.rates**1.2, pool["id"], seed=11)
    assert too_far(wrong, drawn.rates)


def test_spend(plan, pool):
    drawn = rw.draw_pool(pool, plan.transfer, seed=11, within_budget=False)
    assert drawn.expected_spend == pytest.approx(0.02 * 8500 + 1.1 * drawn.rates.sum())
    assert drawn.spend == pytest.approx(0.02 * 8500 + 1.1 * drawn.selected.sum())
    assert drawn.expected_spend > 260
    (note,) = drawn.notes
    assert "8,500" in note
    assert "260" in note


def test_a_plan_for_the_pool_is_expected_to_cost_its_budget(judged, pool):
    """The rates were set on a pilot; on the pool itself they cost as much, up to the pilot's noise (some 4 %)."""
    pilot = {"g": judged.weak[:500], "h": judged.strong[:500]}
    made = rw.plan(pilot, weak="g", strong="h", weak_cost=0.02, strong_cost=1.1, budget=2000, pool_size=8500)
    assert made.recommendation == "active"
    drawn = rw.draw_pool(pool, made.transfer, seed=11)
    assert drawn.expected_spend == pytest.approx(2000, rel=0.12)


def test_base_buys_no_weak_ratings(judged, pool):
    pilot = {"g": np.random.default_rng(3).random(500), "h": judged.strong[:500]}
    made = rw.plan(pilot, weak="g", strong="h", weak_cost=0.02, strong_cost=1.1, budget=260)
    drawn = rw.draw_pool(pool, made.transfer, seed=11, within_budget=False)
    assert made.recommendation == "base"
    assert drawn.expected_spend == pytest.approx(260)
    assert drawn.spend == pytest.approx(1.1 * drawn.selected.sum())


def test_within_budget(plan, pool):
    drawn = rw.draw_pool(pool, plan.transfer, seed=11, within_budget=True)
    looked = ~np.isnan(drawn.rates)
    assert looked.sum() <= int(plan.policies["active"].items) < 8500
    assert drawn.spend <= 260
    assert not drawn.selected[~looked].any()
    whole = rw.draw_pool(pool, plan.transfer, seed=11, within_budget=False)
    np.testing.assert_array_equal(drawn.rates[looked], whole.rates[looked])
    np.testing.assert_array_equal(drawn.selected[looked], whole.selected[looked])
    assert drawn.expected_spend == pytest.approx(0.02 * looked.sum() + 1.1 * np.nansum(drawn.rates))


def test_who_is_looked_at_is_independent_of_who_is_selected(plan, pool):
    """Another hash: with the same one, only items that are selected would be looked at (or none of them)."""
    share = int(plan.policies["active"].items) / 8500
    draws = [rw.draw_pool(pool, plan.transfer, seed=s, within_budget=True) for s in range(5)]
    rates = np.concatenate([d.rates[~np.isnan(d.rates)] for d in draws])
    selected = np.concatenate([d.selected[~np.isnan(d.rates)] for d in draws])
    assert not too_far(selected, rates)
    by_same_hash = np.array([r(0, item) for item in pool["id"]]) < share
    whole = rw.draw_pool(pool, plan.transfer, seed=0, within_budget=False)
    assert too_far(whole.selected[by_same_hash], whole.rates[by_same_hash])


def test_ids(plan, pool):
    with pytest.raises(TableError, match="twice"):
        rw.draw_pool({"id": ["a", "a"], "g": [0.1, 0.2]}, plan.transfer, seed=1)
    named = rw.draw_pool({"key": pool["id"], "g": pool["g"]}, plan.transfer, seed=11, id_column="key")
    np.testing.assert_array_equal(named.selected, rw.draw_pool(pool, plan.transfer, seed=11).selected)
    with pytest.raises(TableError, match="'rate' already"):
        rw.draw_pool({**pool, "rate": np.ones(8500)}, plan.transfer, seed=1)


@pytest.mark.parametrize("budget", [260, 31.7])
def test_the_budget_is_kept_whatever_chance_does(judged, pool, budget):
    """By plans of every policy, for many seeds; an item is given up only where the money would not have lasted."""
    pilot = {"g": judged.weak[:500], "h": judged.strong[:500], "x": np.random.default_rng(3).random(500)}
    new = {**pool, "x": np.random.default_rng(4).random(8500)}
    for weak, cost in (("g", 0.02), ("x", 0.02), ("g", 0.0001)):
        made = rw.plan(pilot, weak=weak, strong="h", weak_cost=cost, strong_cost=1.1, budget=budget, pool_size=8500)
        draws = [rw.draw_pool(new, made.transfer, seed=seed) for seed in range(12)]
        assert max(d.spend for d in draws) <= budget * (1 + 1e-9)
        most = int(made.transfer.items) if made.recommendation != "base" else 8500
        cut = [d for d in draws if np.count_nonzero(~np.isnan(d.rates)) < min(most, 8500)]
        assert 0 < len(cut) < 12
        assert all(d.spend > budget - (cost + 1.1) for d in cut)
        assert all("by chance the money lasts for" in d.notes[-1] for d in cut)
        np.testing.assert_array_equal(draws[0].selected, rw.draw_pool(new, made.transfer, seed=0).selected)


def test_giving_up_the_dearest_draws_leaves_no_bias(judged, pool, plan):
    """Strong ratings over rates, on the items that the money lasted for, over 150 seeds; false alarm 1e-4."""
    h = judged.strong[500:]
    found = []
    for seed in range(150):
        d = rw.draw_pool(pool, plan.transfer, seed=seed)
        looked = ~np.isnan(d.rates)
        residual = np.where(d.selected, (h - pool["g"]) / np.where(looked, d.rates, 1.0), 0.0)
        found.append(float(np.mean(pool["g"][looked] + residual[looked])))
    error = (np.mean(found) - h.mean()) / (np.std(found) / np.sqrt(150))
    assert abs(error) < stats.norm.isf(FALSE_ALARM / 2)


@pytest.mark.parametrize("rows", [892, 2000])
def test_money_for_so_many_items_looks_at_so_many(tmp_path, plan, pool, rows):
    """A budget over the price of an item may come out as 891.9999999999999, which is 892."""
    transfer = replace(plan.transfer, items=891.9999999999999, budget=None)
    part = {name: values[:rows] for name, values in pool.items()}
    assert rw.draw_pool(part, transfer, seed=4).items == 892
    rw.write_table(rw.read_table(part), tmp_path / "pool.parquet")
    assert draw_file(tmp_path / "pool.parquet", transfer, tmp_path / "out.parquet", seed=4).items == 892
