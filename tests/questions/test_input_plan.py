"""Plans by strata: what the pilot's few labels say, what is chosen, and how a pool is drawn and estimated by it."""

import json
import math

import numpy as np
import pytest

import ratewise as rw
from ratewise.core.allocation import choose_inputs
from ratewise.questions.strata import InputPlan, shrunk
from ratewise.questions.transfer import load_transfer

NAMES = np.array(["chat", "code", "law"])
SHARES, RIGHT, WRONG = np.array([0.6, 0.3, 0.1]), np.array([0.97, 0.7, 0.5]), np.array([0.02, 0.2, 0.4])
PRICES = {"weak": "judge", "strong": "human", "weak_cost": 0.02, "strong_cost": 1.0, "uncertainty": "flat"}


def made(rng, n):
    code = rng.choice(3, n, p=SHARES)
    h = (rng.random(n) < RIGHT[code]).astype(float)
    g = np.where(rng.random(n) < WRONG[code], rng.random(n), 0.9 * h + 0.05)
    return {"id": np.arange(n).astype(str), "topic": NAMES[code], "judge": g, "human": h, "flat": np.ones(n)}


@pytest.fixture(scope="module")
def pilot():
    return made(np.random.default_rng(71), 600)


@pytest.fixture(scope="module")
def pool():
    return made(np.random.default_rng(72), 6000)


def without_labels(table):
    return {name: column for name, column in table.items() if name != "human"}


# What few labels say


def test_shrinking_goes_as_far_as_values_are_noise():
    rng = np.random.default_rng(1)
    code = np.repeat(np.arange(4), [400, 400, 400, 4])
    far = rng.normal(size=code.size) + np.array([0.0, 5.0, 10.0, 20.0])[code]
    own = np.array([far[code == s].mean() for s in range(4)])
    found = shrunk(far, code, 4)
    assert found[:3] == pytest.approx(own[:3], abs=0.2)
    assert own[:3].mean() < found[3] < own[3]  # four values: a third of the way is that of all
    alike = rng.normal(size=code.size)
    assert np.ptp(shrunk(alike, code, 4)) < 0.5 * np.ptp([alike[code == s].mean() for s in range(4)])
    assert shrunk(alike, code, 5)[4] == pytest.approx(alike.mean())  # nothing is known of it
    assert shrunk(np.ones(3), np.arange(3), 3) == pytest.approx(np.ones(3))


# The plan


def test_the_plan_is_the_best_choice_for_what_the_pilot_says(pilot):
    plan = rw.plan(pilot, **PRICES, budget=300, strata="topic").by_stratum
    assert [s.name for s in plan.strata] == ["chat", "code", "law"]
    assert plan.spend == pytest.approx(300)
    share, variance, error, items, rate = (
        np.array([getattr(s, name) for s in plan.strata])
        for name in ("share", "variance", "weak_error", "items", "rate")
    )
    best = choose_inputs(variance, error, probabilities=share, weak_cost=0.02, strong_cost=1.0, budget=300)
    assert plan.policy == "random"
    assert items == pytest.approx(best.items, rel=1e-6)
    assert rate == pytest.approx(best.rates, rel=1e-6)
    assert plan.expected_se == pytest.approx(best.expected_se)
    assert share == pytest.approx([np.mean(pilot["topic"] == name) for name in NAMES])
    for s in plan.strata:
        h = pilot["human"][pilot["topic"] == s.name]
        assert s.labels == h.size
        assert s.variance == pytest.approx(h.var(), rel=0.35)


def test_choosing_beats_the_best_policy_without(pilot):
    made = rw.plan(pilot, **PRICES, budget=300, strata="topic")
    chosen, rival = made.by_stratum, made.policies[made.recommendation]
    assert chosen.worth_it
    assert chosen.expected_se < rival.expected_se
    assert chosen.error_ratio == pytest.approx((chosen.expected_se / rival.expected_se) ** 2, rel=1e-6)
    assert "Better, choose the items by strata of 'topic'" in made.reason
    plain = rw.plan(pilot, **PRICES, budget=300)
    assert plain.by_stratum is None
    assert "inputs_by_stratum" not in plain.to_dict()
    assert made.policies == plain.policies


def test_strata_that_say_nothing_are_not_worth_it(pilot):
    blind = pilot | {"topic": np.random.default_rng(5).choice(["a", "b"], 600)}
    made = rw.plan(blind, **PRICES, budget=300, strata="topic")
    assert not made.by_stratum.worth_it
    assert made.transfer.inputs is None
    assert "would not help enough" in made.reason


def test_a_target_costs_less(pilot):
    made = rw.plan(pilot, **PRICES, target_se=0.01, strata="topic")
    assert made.by_stratum.expected_se == pytest.approx(0.01)
    assert made.by_stratum.spend < made.policies[made.recommendation].spend
    assert "reach it for" in made.reason


def test_the_pool_says_how_large_strata_are(pilot, pool):
    """Shares and sizes are the pool's; the population's mean also pays for not knowing the shares exactly."""
    keep = np.flatnonzero((pool["topic"] != "law") | (np.arange(6000) % 12 == 0))
    small = {name: column[keep] for name, column in pool.items()}
    population = rw.plan(pilot, **PRICES, budget=300, strata="topic", pool=without_labels(small))
    own = rw.plan(pilot, **PRICES, budget=300, strata="topic", pool=without_labels(small), estimand="pool")
    law = population.by_stratum.strata[2]
    assert law.size == np.count_nonzero(small["topic"] == "law")
    assert law.share == pytest.approx(law.size / keep.size)
    assert law.items <= law.size
    assert population.basis["pool_size"] == keep.size
    assert own.by_stratum.expected_se < population.by_stratum.expected_se


def test_rates_follow_u_within_strata_where_the_policy_is_active():
    """A judge that knows where it errs: the plan is active within strata, and better than one rate in each."""
    rng = np.random.default_rng(8)
    table = made(rng, 3000)
    u = rng.gamma(0.4, 1.0, 3000) * 0.1 + 1e-3
    code = np.searchsorted(NAMES, table["topic"])
    h = np.array([1.0, 3.0, 8.0])[code] + np.array([0.2, 0.5, 1.0])[code] * rng.normal(size=3000)
    table |= {"human": h, "judge": h + np.sqrt(u) * rng.normal(size=3000), "doubt": u}
    active = rw.plan(table, **PRICES | {"uncertainty": "doubt"}, budget=300, strata="topic")
    blind = rw.plan(table, **PRICES, budget=300, strata="topic")
    assert active.by_stratum.expected_se < 0.95 * blind.by_stratum.expected_se
    assert active.recommendation == "active"
    assert active.by_stratum.policy == "active"
    assert all(s.scale is not None for s in active.by_stratum.strata)
    drawn = rw.draw_pool(without_labels(table), active.transfer, seed=3)
    u = active.transfer.error_model.predict(u)
    for s in active.by_stratum.strata:
        here = (table["topic"] == s.name) & ~np.isnan(drawn.rates)
        assert drawn.rates[here].mean() == pytest.approx(s.rate, rel=0.15)
        assert drawn.rates[here] == pytest.approx(np.clip(s.scale * np.sqrt(u[here]), s.floor, 1.0))


def test_a_file_and_back(pilot, tmp_path):
    made = rw.plan(pilot, **PRICES, budget=300, strata="topic")
    made.save(tmp_path / "plan.json")
    data = json.loads((tmp_path / "plan.json").read_text(encoding="utf-8"))
    assert InputPlan.from_dict(data["inputs_by_stratum"]) == made.by_stratum
    assert load_transfer(tmp_path / "plan.json").inputs == made.by_stratum
    data["transfer"]["inputs"]["strata"][0]["rate"] = 0
    (tmp_path / "plan.json").write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(rw.TableError, match="rate of stratum 'chat'"):
        load_transfer(tmp_path / "plan.json")


@pytest.mark.parametrize(
    ("column", "message"),
    [("id", "600 different values"), ("nothing", "1 different values"), ("tropic", "no column 'tropic'")],
)
def test_refusals(pilot, column, message):
    with pytest.raises(rw.TableError, match=message):
        rw.plan(pilot | {"nothing": np.full(600, "x")}, **PRICES, budget=300, strata=column)


# Drawing and estimating


def test_the_draw_is_what_was_planned(pilot, pool):
    plan = rw.plan(pilot, **PRICES, budget=300, strata="topic", pool=without_labels(pool))
    drawn = rw.draw_pool(without_labels(pool), plan.transfer, seed=11)
    looked = ~np.isnan(drawn.rates)
    weight = drawn.table.numbers("weight", missing="allow")
    assert np.array_equal(np.isnan(weight), ~looked)
    assert weight[looked].mean() == pytest.approx(1.0)
    for s in plan.by_stratum.strata:
        here = (pool["topic"] == s.name) & looked
        assert np.count_nonzero(here) == math.floor(s.items)
        assert np.all(drawn.rates[here] == s.rate)
        assert weight[here].sum() / weight[looked].sum() == pytest.approx(s.share)
    assert drawn.expected_spend == pytest.approx(300, rel=0.02)
    again = rw.draw_pool(without_labels(pool), plan.transfer, seed=11)
    assert np.array_equal(again.selected, drawn.selected)


def test_a_pool_with_other_strata(pilot, pool):
    plan = rw.plan(pilot, **PRICES, budget=300, strata="topic")
    strange = without_labels(pool) | {"topic": np.where(np.arange(6000) == 4, "art", pool["topic"])}
    with pytest.raises(rw.InputError, match="of the stratum 'art'"):
        rw.draw_pool(strange, plan.transfer, seed=1)
    keep = np.flatnonzero((pool["topic"] != "law") | (np.cumsum(pool["topic"] == "law") <= 9))
    few = {name: column[keep] for name, column in without_labels(pool).items()}
    drawn = rw.draw_pool(few, plan.transfer, seed=1)
    assert np.count_nonzero(~np.isnan(drawn.rates) & (few["topic"] == "law")) == 9
    assert "'law' (9 of" in drawn.notes[0]


def rated(pool, drawn):
    return drawn.table.with_columns({"human": np.where(drawn.selected, pool["human"], np.nan)})


def test_the_estimate_is_by_strata(pilot, pool):
    plan = rw.plan(pilot, **PRICES, budget=300, strata="topic", pool=without_labels(pool))
    table = rated(pool, rw.draw_pool(without_labels(pool), plan.transfer, seed=12))
    words = {"weak": "judge", "strong": "human", "method": "difference"}
    found = rw.estimate_table(table, strata="topic", estimand="pool", **words)
    by_weight = rw.estimate_table(table, weight="weight", **words)
    assert found.value == pytest.approx(by_weight.value)
    assert found.interval[0] < pool["human"].mean() < found.interval[1]
    assert found.standard_error == pytest.approx(plan.by_stratum.expected_se, rel=0.3)
    assert found.standard_error < by_weight.standard_error
    with pytest.raises(rw.InputError, match="has a column 'weight' beside rate and selected"):
        rw.estimate_table(table, **words)
    kept = [name for name in table.columns if name != "weight"]
    plain = rw.estimate_table(
        {name: table.texts(name) if name in ("id", "topic") else table.numbers(name, missing="allow") for name in kept},
        **words,
    )
    assert abs(plain.value - pool["human"].mean()) > 3 * plain.standard_error  # as if nothing had been chosen
    paid = rw.estimate_table(table, strata="topic", weak_cost=0.02, strong_cost=1.0, **words)
    assert paid.spend == pytest.approx(0.02 * found.items + found.labels)


def test_strata_rated_without_the_weak_rater_need_no_weak_ratings(pool):
    n = 400
    part = {name: column[:n] for name, column in pool.items()}
    law = part["topic"] == "law"
    table = part | {"judge": np.where(law, np.nan, part["judge"]), "rate": np.where(law, 1.0, 0.5)}
    drawn = law | (np.random.default_rng(3).random(n) < 0.5)
    table["human"] = np.where(drawn, part["human"], np.nan)
    found = rw.estimate_table(table, weak="judge", strong="human", strata="topic", weak_cost=0.1, strong_cost=1.0)
    assert found.items == n
    assert found.spend == pytest.approx(0.1 * np.count_nonzero(~law) + np.count_nonzero(drawn))
    table["rate"] = np.where(law, 0.9, 0.5)
    with pytest.raises(rw.TableError, match="rate below 1 but no weak rating"):
        rw.estimate_table(table, weak="judge", strong="human", strata="topic")


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"strata": "topic", "weight": "weight"}, "not both"),
        ({"weight": "weight", "estimand": "pool"}, "give strata for the pool's own"),
        ({"strata": "topic", "pool_size": 3, "estimand": "pool"}, "it cannot be smaller"),
        ({"strata": "topic", "recalibrate": "affine"}, "leave them out"),
        ({"weight": "id"}, "no weight above 0"),
    ],
)
def test_estimate_refusals(pilot, pool, keys, message):
    plan = rw.plan(pilot, **PRICES, budget=300, strata="topic")
    table = rated(pool, rw.draw_pool(without_labels(pool), plan.transfer, seed=12))
    if keys.get("weight") == "id":
        table = table.with_columns({"id": -np.ones(6000)}, replace=True)
    with pytest.raises(rw.InputError, match=message):
        rw.estimate_table(table, weak="judge", strong="human", **keys)
