"""`plan`: the closed forms on the labelled rows, the goal kept, and a recommendation that is never worse than base."""

import json
import math

import numpy as np
import pytest
from studies.worlds import bernoulli, gaussian

import ratewise as rw
from ratewise import InputError, PolicyError, RatewiseWarning, TableError
from ratewise.lab.worlds import calibrated

PRICES = {"weak": "g", "strong": "h", "weak_cost": 0.08, "strong_cost": 1.6}
NAMES = ["base", "random", "active"]


def rated(world, rng, *, share=1.0):
    """The world as a table, some rows without a strong rating."""
    labelled = rng.random(world.strong.size) < share
    return {"g": world.weak, "h": np.where(labelled, world.strong, np.nan), "u": world.error}


@pytest.fixture(scope="module")
def coins():
    """Hard 0/1 ratings, wrong with a probability that varies from item to item; a third has no strong rating."""
    rng = np.random.default_rng(401)
    world = bernoulli(9000, mean=0.7, weak_error=0.12, error_variance=0.03, rng=rng)
    return rated(world, rng, share=0.67) | {"noise": rng.permutation(world.error), "against": 1.001 - world.error}


@pytest.fixture(scope="module")
def scores():
    """Real-valued ratings on a scale far from 0, of a weak rater that is worth having."""
    rng = np.random.default_rng(409)
    world = gaussian(4000, variance=9.0, weak_error=1.2, error_variance=2.0, mean=55.0, rng=rng)
    return rated(world, rng, share=0.8)


@pytest.fixture(scope="module")
def judged():
    """A calibrated probability of a 0/1 rating."""
    rng = np.random.default_rng(419)
    return rated(calibrated(3000, mean=0.85, spread=0.6, rng=rng), rng)


def moments(table):
    has = ~np.isnan(table["h"])
    return float(np.var(table["h"][has])), float(np.mean((table["h"] - table["g"])[has] ** 2))


# What each policy would cost and give


@pytest.mark.parametrize("world", ["coins", "scores", "judged"])
def test_random_is_the_closed_form_and_base_is_one(world, request):
    table = request.getfixturevalue(world)
    V, M = moments(table)
    plan = rw.plan(table, **PRICES, budget=300)
    exact = rw.optimal_uniform_rate(M, variance=V, weak_cost=0.08, strong_cost=1.6)
    random, base = plan.policies["random"], plan.policies["base"]
    assert random.error_ratio == pytest.approx(exact.error_ratio, rel=1e-9)
    assert random.error_times_budget == pytest.approx(exact.error_times_budget, rel=1e-9)
    assert random.rate == random.mean_rate == pytest.approx(exact.rate, rel=1e-9)
    assert random.items == pytest.approx(300 / (0.08 + 1.6 * exact.rate))
    assert (base.error_ratio, base.rate, base.mean_rate) == (1.0, 1.0, 1.0)
    assert base.error_times_budget == pytest.approx(1.6 * V)
    assert base.expected_se == pytest.approx(math.sqrt(1.6 * V / 300))
    assert base.items == base.strong_labels == pytest.approx(300 / 1.6)


@pytest.mark.parametrize("world", ["coins", "scores", "judged"])
@pytest.mark.parametrize("goal", [{"budget": 70.0}, {"budget": 3000.0}, {"target_se": 0.04}], ids=str)
@pytest.mark.parametrize("pool", [None, 700, 20_000])
def test_the_numbers_of_a_policy_fit_together(world, goal, pool, request):
    table = request.getfixturevalue(world)
    try:
        plan = rw.plan(table, **PRICES, **goal, pool_size=pool)
    except PolicyError:
        assert pool == 700
        assert math.sqrt(moments(table)[0] / pool) > 0.04  # the pool is too small for the target
        return
    for name, policy in plan.policies.items():
        cost = policy.mean_rate * 1.6 + (0.08 if name != "base" else 0.0)
        assert policy.strong_labels == pytest.approx(policy.items * policy.mean_rate)
        assert policy.spend == pytest.approx(policy.items * cost)
        assert policy.error_times_budget == pytest.approx(policy.expected_se**2 * policy.items * cost)
        assert policy.error_ratio == pytest.approx(policy.error_times_budget / plan.policies["base"].error_times_budget)
        assert policy.spend <= goal.get("budget", math.inf) * (1 + 1e-12)
        assert policy.items <= (pool or math.inf) * (1 + 1e-12)


@pytest.mark.parametrize("uncertainty", [None, "u", "noise", "against"])
@pytest.mark.parametrize("estimand", ["population", "pool"])
def test_no_policy_looks_at_more_items_than_there_are(coins, uncertainty, estimand):
    for goal in ({"budget": 800.0}, {"target_se": 0.02}):
        plan = rw.plan(coins, **PRICES, **goal, pool_size=900, uncertainty=uncertainty, estimand=estimand)
        assert all(policy.items <= 900 * (1 + 1e-12) for policy in plan.policies.values())


@pytest.mark.parametrize("uncertainty", [None, "u", "noise"])
@pytest.mark.parametrize(
    ("pool", "estimand"),
    [(None, "population"), (900, "population"), (900, "pool"), (2500, "population"), (2500, "pool")],
)
def test_a_target_is_reached_by_what_is_recommended(coins, pool, estimand, uncertainty):
    plan = rw.plan(coins, **PRICES, target_se=0.018, pool_size=pool, estimand=estimand, uncertainty=uncertainty)
    best = plan.policies[plan.recommendation]
    assert best.expected_se == pytest.approx(0.018, rel=1e-6)
    assert best.spend <= plan.policies["base"].spend
    assert "0.018" in plan.reason


def test_a_budget_and_the_target_it_reaches_are_the_same_plan(judged):
    there = rw.plan(judged, **PRICES, budget=250)
    for name in NAMES:
        back = rw.plan(judged, **PRICES, target_se=there.policies[name].expected_se)
        assert back.policies[name].spend == pytest.approx(250, rel=1e-6)


@pytest.mark.parametrize("estimand", ["population", "pool"])
@pytest.mark.parametrize("weak_cost", [0.0, 0.02])
def test_a_finite_pool_gets_the_whole_budget(judged, estimand, weak_cost):
    prices = {**PRICES, "weak_cost": weak_cost}
    plan = rw.plan(judged, **prices, budget=200, pool_size=500, estimand=estimand)
    assert plan.recommendation == "active"
    for name in ("random", "active"):
        policy = plan.policies[name]
        assert policy.items == pytest.approx(500, rel=1e-12)
        assert policy.spend == pytest.approx(200, rel=1e-9)
        assert policy.strong_labels == pytest.approx((200 - 500 * weak_cost) / 1.6, rel=1e-9)
    V, M = moments(judged)
    random = plan.policies["random"]
    lost = V / 500 if estimand == "pool" else 0.0
    assert random.expected_se**2 == pytest.approx((V + M * (1 / random.rate - 1)) / 500 - lost, rel=1e-9)


def test_more_money_than_the_pool_can_take_is_not_spent(judged):
    plan = rw.plan(judged, **PRICES, budget=5000, pool_size=500)
    assert plan.recommendation == "base"
    base = plan.policies["base"]
    assert (base.items, base.spend) == (500, pytest.approx(800))


def test_a_pool_that_can_be_rated_whole_is_said_in_numbers_one_can_read(scores):
    """Its own mean is then known exactly: the error is 0, and nothing can be a share of it."""
    plan = rw.plan(scores, **PRICES, budget=1.6 * 500, pool_size=500, estimand="pool")
    assert plan.recommendation == "base"
    assert plan.policies["base"].expected_se == 0
    assert len(plan.reason) < 400


# The active policy


def test_a_true_uncertainty_is_recommended_and_nearly_optimal():
    """J from 30,000 labels against the exact optimum for the true u.

    The floor costs 0.5 %, and the labels' noise is 1.5 %: 6.5 % is exceeded once in ten thousand seeds.
    """
    rng = np.random.default_rng(421)
    world = bernoulli(30_000, mean=0.7, weak_error=0.12, error_variance=0.03, rng=rng)
    plan = rw.plan(rated(world, rng), **PRICES, budget=500, uncertainty="u")
    best = rw.optimal_policy(world.error, variance=world.variance, weak_cost=0.08, strong_cost=1.6)
    assert plan.recommendation == "active"
    assert plan.policies["active"].error_times_budget == pytest.approx(best.error_times_budget, rel=0.065)
    assert best.error_times_budget < 0.8 * plan.policies["random"].error_times_budget
    wrong = rw.plan(rated(world, rng) | {"u": np.sqrt(world.error)}, **PRICES, budget=500, uncertainty="u")
    assert wrong.policies["active"].error_times_budget != pytest.approx(best.error_times_budget, rel=0.065)


@pytest.mark.parametrize("column", ["noise", "against"])
def test_an_uncertainty_that_tells_nothing_is_not_acted_on_and_said(coins, column):
    plan = rw.plan(coins, **PRICES, budget=300, uncertainty=column)
    assert plan.recommendation == "random"
    assert plan.policies["active"].error_ratio > plan.policies["random"].error_ratio
    assert any("does not show where the weak rater errs" in note for note in plan.notes)
    good = rw.plan(coins, **PRICES, budget=300, uncertainty="u")
    assert good.recommendation == "active"
    assert not any("does not tell" in note for note in good.notes)


def test_the_active_policy_is_scored_with_residuals_not_with_its_own_u(judged):
    """By hand from the plan's own rates."""
    plan = rw.plan(judged, **PRICES, budget=300)
    active = plan.policies["active"]
    V, _ = moments(judged)
    g, h = judged["g"], judged["h"]
    pi = np.clip(active.scale * np.sqrt(g * (1 - g)), active.floor, 1)
    np.testing.assert_allclose(plan.rates, pi, rtol=1e-9)
    variance = V + np.mean((h - g) ** 2 * (1 / pi - 1))
    cost = 0.08 + 1.6 * pi.mean()
    assert active.error_times_budget == pytest.approx(cost * variance, rel=1e-9)
    assert active.mean_rate == pytest.approx(pi.mean())
    assert active.threshold == pytest.approx(1 / active.scale)


def test_the_floor_is_a_tenth_of_the_mean_rate_or_what_is_asked(judged):
    V, _ = moments(judged)
    g = judged["g"]
    plain = rw.optimal_policy(g * (1 - g), variance=V, weak_cost=0.08, strong_cost=1.6)
    assert rw.plan(judged, **PRICES, budget=300).policies["active"].floor == pytest.approx(0.1 * plain.mean_rate)
    asked = rw.plan(judged, **PRICES, budget=300, floor=0.2)
    assert asked.policies["active"].floor == 0.2
    assert asked.rates.min() == 0.2
    with pytest.raises(InputError, match="floor"):
        rw.plan(judged, **PRICES, budget=300, floor=1.2)


def test_without_a_column_u_is_learned_for_real_ratings():
    rng = np.random.default_rng(431)
    g = rng.uniform(10, 20, 6000)
    sd = 0.2 + np.abs(g - 13)
    table = {"g": g, "h": g + sd * rng.standard_normal(6000)}
    plan = rw.plan(table, **PRICES, budget=300)
    exact = rw.optimal_policy(sd**2, variance=float(np.var(table["h"])), weak_cost=0.08, strong_cost=1.6)
    assert plan.basis["error_source"] == "fitted"
    assert plan.recommendation == "active"
    assert plan.policies["active"].error_ratio == pytest.approx(exact.error_ratio, rel=0.1)
    assert exact.error_ratio < 0.85 * plan.policies["random"].error_ratio


@pytest.mark.parametrize("budget", [200, 300, 350, 400, 900])
def test_items_that_cannot_be_wrong_leave_the_money_to_the_others(budget):
    """u is 0 for most items; with money left over, everyone with u > 0 is rated, and then some of the rest."""
    rng = np.random.default_rng(433)
    u = np.where(rng.random(1200) < 0.7, 0.0, 0.3)
    h = rng.integers(0, 2, 1200).astype(float)
    g = np.where((u > 0) & (rng.random(1200) < 0.4), 1 - h, h)
    prices = {**PRICES, "weak_cost": 0.0, "strong_cost": 1.0}
    plan = rw.plan({"g": g, "h": h, "u": u}, **prices, budget=budget, pool_size=1000, uncertainty="u")
    for policy in plan.policies.values():
        assert all(math.isfinite(x) for x in (policy.expected_se, policy.error_times_budget, policy.spend))
    assert plan.policies["active"].spend == pytest.approx(budget, rel=1e-6)
    assert plan.recommendation == "active"
    back = rw.plan({"g": g, "h": h, "u": u}, **prices, budget=budget, pool_size=1000, uncertainty="u").transfer
    _, error = back.columns(rw.read_table({"g": g, "u": u}))
    np.testing.assert_allclose(back.rates(error), plan.rates, rtol=1e-9)


def test_a_weak_rater_without_an_error_in_the_pilot(judged):
    """Nothing is known to go wrong, so nothing is known of where: numbers all the same."""
    table = {"g": judged["h"], "h": judged["h"]}
    for goal in ({"budget": 100.0}, {"budget": 100.0, "pool_size": 500}, {"target_se": 0.02, "pool_size": 500}):
        plan = rw.plan(table, **PRICES, **goal)
        assert all(math.isfinite(policy.expected_se) for policy in plan.policies.values())


# The recommendation


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("labels", [60, 1500])
def test_a_weak_rater_that_is_noise_is_not_bought(seed, labels):
    rng = np.random.default_rng(439 + seed)
    table = {"g": rng.random(labels), "h": (rng.random(labels) < 0.7).astype(float)}
    plan = rw.plan(table, **PRICES, budget=200)
    assert plan.recommendation == "base"
    assert "not worth buying" in plan.reason
    assert f"{plan.policies['base'].items:,.0f} strong ratings" in plan.reason
    np.testing.assert_array_equal(plan.rates, 1.0)


def test_never_worse_than_base(coins, scores, judged):
    for table in (coins, scores, judged):
        for weak_cost in (0.001, 0.05, 0.4, 1.5):
            plan = rw.plan(table, **{**PRICES, "weak_cost": weak_cost}, budget=200)
            best, ratios = plan.policies[plan.recommendation], [p.error_ratio for p in plan.policies.values()]
            assert best.error_ratio <= 1
            assert best.error_ratio <= min(ratios) / 0.99 + 1e-12


def test_a_tie_goes_to_the_simpler_one(scores):
    """A constant u makes active and random the same."""
    plan = rw.plan(scores | {"u": np.full(4000, 3.0)}, **PRICES, budget=200, uncertainty="u")
    assert plan.policies["active"].error_ratio == pytest.approx(plan.policies["random"].error_ratio, rel=1e-6)
    assert plan.recommendation == "random"


def test_the_reason_has_the_numbers(judged):
    plan = rw.plan(judged, **PRICES, budget=300)
    best, base = plan.policies["active"], plan.policies["base"]
    for shown in (f"{best.items:,.0f} items", f"{best.strong_labels:,.0f} strong ones", f"{best.expected_se:.4g}",
                  f"{base.expected_se:.4g}", f"{1 - best.error_ratio:.0%} less"):  # fmt: skip
        assert shown in plan.reason
    assert str(plan) == plan.summary() == plan.reason
    for name in NAMES:
        assert f" {name}</td>" in plan._repr_html_()
    assert plan._repr_html_().count("<svg") == 1


# Calibration


def test_scores_on_another_scale_are_hinted_at_and_mended():
    rng = np.random.default_rng(443)
    world = calibrated(2500, mean=0.7, spread=0.6, rng=rng)
    table = {"g": 100 - 100 * (1 - world.weak) ** 2, "h": world.strong}  # per cent, and too kind
    raw = rw.plan(table, **PRICES, budget=300)
    assert raw.recommendation == "base"
    (hint,) = [note for note in raw.notes if "calibrate affine" in note]
    for kind in ("platt", "affine", "isotonic"):
        mended = rw.plan(table, **PRICES, budget=300, calibrate=kind)
        assert mended.recommendation == "active"
        assert mended.policies["random"].error_ratio < 0.9 * raw.policies["random"].error_ratio
        assert not any("calibrate affine" in note for note in mended.notes)
    affine = rw.plan(table, **PRICES, budget=300, calibrate="affine")
    assert f"{affine.policies['random'].error_ratio:.0%}" in hint


def test_no_hint_where_the_scale_is_right(judged):
    assert rw.plan(judged, **PRICES, budget=300).notes == ()


def test_a_pilot_of_few_labels_is_said(judged):
    few = {name: values[:49] for name, values in judged.items()}
    assert any("49 labels" in note for note in rw.plan(few, **PRICES, budget=300).notes)
    more = {name: values[:50] for name, values in judged.items()}
    assert not any("labels" in note for note in rw.plan(more, **PRICES, budget=300).notes)


# Records and refusals


def test_json_round_trip(judged, tmp_path):
    plan = rw.plan(judged, **PRICES, budget=300, calibrate="platt")
    plan.save(tmp_path / "plan.json")
    saved = json.loads((tmp_path / "plan.json").read_text(encoding="utf-8"))
    assert saved == json.loads(json.dumps(plan.to_dict()))
    assert saved["inputs"]["budget"] == 300


def test_a_saved_plan_is_strict_json(judged, tmp_path):
    """With money to rate every item there is no largest u that is left out: the scale is not a number."""

    def refuse(name):
        raise AssertionError(f"{name} is not JSON")

    plan = rw.plan(judged, **PRICES, budget=5000, pool_size=500)
    plan.save(tmp_path / "plan.json")
    plan.transfer.save(tmp_path / "policy.json")
    for name in ("plan.json", "policy.json"):
        json.loads((tmp_path / name).read_text(encoding="utf-8"), parse_constant=refuse)
    drawn = rw.draw_pool({"g": judged["g"][:500]}, rw.load_transfer(tmp_path / "plan.json"), seed=1)
    np.testing.assert_array_equal(drawn.rates, 1.0)


def test_seed_and_folds(scores):
    first, same, other = (rw.plan(scores, **PRICES, budget=300, calibrate="affine", seed=s) for s in (1, 1, 2))
    assert first.to_dict() == same.to_dict()
    assert first.policies["random"].error_ratio != other.policies["random"].error_ratio


def test_a_dear_weak_rater_is_warned_about(judged):
    with pytest.warns(RatewiseWarning, match="swapped"):
        plan = rw.plan(judged, **{**PRICES, "weak_cost": 2.0}, budget=300)
    assert plan.recommendation == "base"


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({}, InputError, "budget or a target"),
        ({"budget": 9, "target_se": 0.1}, InputError, "one of them"),
        ({"budget": 1.5}, InputError, "too small for one strong rating"),
        ({"budget": 9, "strong_cost": 0}, InputError, "strong_cost must be above 0"),
        ({"budget": 9, "weak_cost": -1}, InputError, "weak_cost must be at least 0"),
        ({"budget": 9, "weak_cost": 0}, PolicyError, "pool"),
        ({"target_se": 1e-5, "pool_size": 400}, PolicyError, "cannot be reached"),
        ({"budget": 9, "calibrate": "magic"}, InputError, "choose one of none, platt"),
        ({"budget": 9, "estimand": "pool"}, InputError, "pool_size"),
        ({"budget": 9, "weak": "judge"}, TableError, "no column 'judge'"),
        ({"budget": math.nan}, InputError, "budget must be finite"),
    ],
)
def test_refusals(judged, options, error, words):
    with pytest.raises(error, match=words):
        rw.plan(judged, **{**PRICES, **options})


# The pool


def test_a_pool_is_counted_and_not_loaded(coins, tmp_path, monkeypatch):
    """A file, a folder of files, or a frame: its rows are the size of the pool."""
    size = rw.plan(coins, **PRICES, budget=300, pool_size=4000)
    half = {"g": coins["g"][:2000]}
    for name in ("a", "b"):
        rw.write_table(rw.read_table(half), tmp_path / f"{name}.parquet")
    whole = {"g": np.concatenate([half["g"], half["g"]])}
    rw.write_table(rw.read_table(whole), tmp_path / "pool.csv")
    monkeypatch.setattr("ratewise.tables.load.loaded", None)
    for pool in (tmp_path / "pool.csv", str(tmp_path / "[ab].parquet"), whole):
        planned = rw.plan(coins, **PRICES, budget=300, pool=pool)
        assert planned.to_dict() == size.to_dict()


def test_a_pool_that_is_not_there_is_refused(coins, tmp_path):
    with pytest.raises(TableError, match="does not exist; check the path"):
        rw.plan(coins, **PRICES, budget=300, pool=tmp_path / "pool.csv", pool_size=4000)


@pytest.mark.parametrize("options", [{}, {"calibrate": "auto"}, {"drawn": "at random"}])
@pytest.mark.parametrize("said", [0.0, 1.0])
def test_labels_that_all_agree_plan_with_one_mistake(options, said):
    """Forty labels of a system that is right 98 % of the time: nearly half of the time they are all 1."""
    g = np.random.default_rng(5).beta(9, 1, 800)
    columns = {"id": np.arange(800), "judge": g, "human": np.where(np.arange(800) < 40, said, np.nan)}
    made = rw.plan(columns, weak="judge", strong="human", weak_cost=0.02, strong_cost=1, budget=300, **options)
    assert f"all 40 labels are {said:g}" in made.notes[0]
    assert made.basis["variance"] == pytest.approx(1 / 40 * (1 - 1 / 40))
    assert made.policies[made.recommendation].expected_se > 0
    assert not any("off the strong ones' scale" in note for note in made.notes)  # one imagined mistake is no scale


def test_a_pilot_that_nobody_drew_is_warned_of():
    """Labels where the judge doubts: the pilot is no sample of the pool, and the plan says so."""
    g = np.random.default_rng(6).beta(9, 1, 800)
    doubtful = np.argsort(np.argsort(g)) < 40
    human = np.where(doubtful, (np.random.default_rng(7).random(800) < g).astype(float), np.nan)
    options = {"weak": "judge", "strong": "human", "weak_cost": 0.02, "strong_cost": 1, "budget": 300}
    with pytest.warns(rw.RatewiseWarning, match="clearly lower values in column 'judge'.*rows like these.*'by hand'"):
        rw.plan({"id": np.arange(800), "judge": g, "human": human}, **options)
