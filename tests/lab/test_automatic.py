"""`auto` in simulations: money, pools, starts of every kind, and columns that reach it."""

import numpy as np
import pytest

from ratewise.design.rounds import start_labels
from ratewise.lab.automatic import Trial, auto, learn_all
from ratewise.lab.methods import Lab
from ratewise.lab.simulate import simulate
from ratewise.lab.trials import Block, Population, Setting, on_one_scale
from ratewise.lab.worlds import calibrated


def judged(seed, items, *, mean=0.8, spread=0.5):
    world = calibrated(items, mean=mean, spread=spread, rng=np.random.default_rng(seed))
    return {"g": world.weak, "h": world.strong}


def scored(seed, items, error):
    """Real ratings from 20 to 30 or so; the weak ones lean and err."""
    rng = np.random.default_rng(seed)
    h = rng.normal(24, 2, items)
    return {"g": 3 + 0.8 * h + error * rng.standard_normal(items), "h": h}


def blind(seed, items):
    rng = np.random.default_rng(seed)
    return {"g": rng.random(items), "h": (rng.random(items) < 0.6).astype(float)}


def simulated(table, **options):
    given = {
        "weak": "g", "strong": "h", "cost_ratio": 0.05, "budgets": [40, 110], "methods": ["base", "auto"],
        "burn_in": 30, "trials": 12, "workers": 1, "seed": 5,
    }  # fmt: skip
    return simulate(table, **(given | options))


def campaigns(table, *, trials=2, budget, cost_ratio=0.05, burn_in=30, mode="pool", teacher=None, seed=3):
    """What was really bought, before it is summed up, and what it came to."""
    tables = [{"weak": one["g"], "strong": one["h"]} for one in (table, teacher) if one is not None]
    population, *others = on_one_scale(tables)
    taught = learn_all(others[0]) if others else None
    setting = Setting(cost_ratio, (budget,), burn_in, mode, 0.95, 0.1, seed)
    block = Block(population, setting, range(trials))
    for trial in range(trials):
        game = Trial(block, trial, budget, taught)
        yield game, game.play(), population


def cost(bought, cost_ratio, burn_in):
    """From the items and labels themselves: weak ratings are paid for unless every item has its strong one."""
    labels = np.count_nonzero(bought.seen.labelled) - burn_in
    bought_weak = any(phase.rule is not None for phase in bought.seen.phases)
    return labels + cost_ratio * (bought.seen.items - burn_in) * bought_weak


# Money

TABLES = {
    "judge": judged(2003, 400), "sharp": scored(2011, 400, 0.15), "fair": scored(2017, 400, 1.0),
    "blind": blind(2027, 400), "perfect": scored(2029, 400, 0.0), "rare": judged(2039, 400, mean=0.96),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("mode", ["stream", "pool"])
@pytest.mark.parametrize("burn_in", [0, 25])
def test_never_over_budget_and_all_but_spent(name, mode, burn_in):
    """What is really bought, not what is reported. In a stream less than one item with both ratings may be left."""
    for c in (0.01, 0.2, 0.45):
        for budget in (9.3, 37.7, 90.0, 170.0):
            for bought, _, _ in campaigns(
                TABLES[name], trials=1, budget=budget, cost_ratio=c, burn_in=burn_in, mode=mode
            ):
                case = (c, budget)
                assert cost(bought, c, burn_in) <= bought.spent + 1e-9, case
                assert bought.spent <= budget + 1e-9, case
                assert (
                    bought.spent > budget - (2 + 2 * c) if mode == "stream" else bought.spent > 0.97 * budget - (1 + c)
                )


@pytest.mark.parametrize(("items", "c", "share"), [(60, 0.2, 0.12), (60, 0.45, 0.25), (900, 0.2, 0.25)])
def test_a_pool_whose_weak_ratings_cost_all_the_money_is_not_overspent(items, c, share):
    """A good weak rater that is not cheap: the plan is for more of the pool than the money looks at."""
    for bought, _, _ in campaigns(scored(2053, items, 0.2), trials=4, budget=share * items, cost_ratio=c, burn_in=20):
        assert bought.spent <= share * items + 1e-9


@pytest.mark.parametrize("budget", [60, 150, 300])
def test_a_pool_uses_at_least_97_percent_of_the_money(budget):
    """The issue's limit, for each trial, where the money is short of rating everything."""
    for name in ("judge", "sharp", "fair", "blind"):
        for bought, _, _ in campaigns(TABLES[name], trials=3, budget=budget, cost_ratio=0.01):
            assert 0.97 * budget <= bought.spent <= budget + 1e-9, name


@pytest.mark.parametrize("burn_in", [0, 25])
@pytest.mark.parametrize("name", TABLES)
def test_a_pool_that_can_be_rated_whole_is_known_exactly(name, burn_in):
    """With both ratings of every item paid for, whatever was planned first."""
    budget = 1.05 * (400 - burn_in)
    for bought, found, population in campaigns(TABLES[name], budget=budget, burn_in=burn_in):
        assert bought.seen.labelled.all()
        assert bought.seen.items == 400
        assert found.value == pytest.approx(population.mean, abs=1e-12)


@pytest.mark.parametrize(("budget", "burn_in"), [(375, 25), (400, 0)])
def test_a_pool_is_known_exactly_wherever_base_knows_it(budget, burn_in):
    for _, found, population in campaigns(TABLES["judge"], budget=float(budget), burn_in=burn_in):
        assert found.value == pytest.approx(population.mean, abs=1e-12)


@pytest.mark.parametrize("budget", [2.0, 5.0, 8.0])
def test_tiny_budgets_buy_strong_ratings_alone(budget):
    for bought, found, _ in campaigns(TABLES["sharp"], budget=budget, burn_in=0, mode="stream"):
        assert bought.labels == int(budget)
        assert bought.seen.labelled.all()
        assert bought.spent == int(budget)
        assert found.value == pytest.approx(bought.seen.strong.mean())


def test_a_blind_weak_rater_is_not_bought():
    for bought, _, _ in campaigns(TABLES["blind"], trials=6, budget=120.0, mode="stream", burn_in=60):
        assert bought.labels == 120 + 60
        assert bought.seen.labelled.all()


# Starts


def test_without_a_burn_in_the_start_is_paid_for():
    """Labels at the start and after it come out of one budget, and the first phase has its labels."""
    for bought, _, _ in campaigns(TABLES["sharp"], trials=4, budget=100.0, burn_in=0):
        first = bought.seen.phases[0]
        assert first.rule is None
        assert first.items == start_labels(100 / 1.05, 400)
        assert cost(bought, 0.05, 0) == pytest.approx(bought.spent)
        assert bought.labels == np.count_nonzero(bought.seen.labelled) < 100


def test_a_burn_in_is_given_and_not_counted():
    for bought, _, _ in campaigns(TABLES["sharp"], trials=4, budget=100.0, burn_in=50, mode="stream"):
        assert bought.seen.phases[0].items == 50
        assert bought.seen.labelled[:50].all()
        assert cost(bought, 0.05, 50) == pytest.approx(bought.spent)


def test_a_transfer_start_buys_a_few_labels_and_no_burn_in():
    other = scored(2063, 300, 0.4)
    for bought, _, _ in campaigns(scored(2069, 3000, 0.4), budget=80.0, burn_in=0, mode="stream", teacher=other):
        assert bought.seen.phases[0].items == 8
        assert bought.seen.phases[1].rule is not None
        assert not bought.seen.labelled[:28].all()


def test_a_transfer_start_is_better_than_base():
    """From a table like this one: 80 trials, half of base's error leaves room for noise (1e-4 each way)."""
    found = simulated(
        scored(2081, 3000, 0.4), transfer_from=scored(2083, 300, 0.4), burn_in=None, budgets=[80], trials=80
    )
    assert found.settings["burn_in"] == 0
    assert found.of("auto")[0].mse < 0.6 * found.of("base")[0].mse


@pytest.mark.parametrize("budget", [1.06, 1.5, 2.2, 3.3, 5.1, 9.0])
@pytest.mark.parametrize("mode", ["stream", "pool"])
def test_a_transfer_start_with_hardly_any_money_still_answers(budget, mode):
    """Few labels, one or none may be drawn by a good teacher's rates."""
    for c in (0.05, 0.5):
        if budget >= 1 + c:
            for _, found, _ in campaigns(
                scored(2087, 300, 0.1), trials=6, budget=budget, cost_ratio=c, burn_in=0, mode=mode,
                teacher=scored(2089, 200, 0.1),
            ):  # fmt: skip
                assert np.isfinite(found.value)


def test_a_transfer_start_survives_first_labels_that_are_all_equal():
    """A mean of 0.8: eight first labels are all 1 in one trial of six; money must still go to strong ratings."""
    for bought, _, _ in campaigns(
        judged(1, 1500), trials=50, budget=200.0, burn_in=0, mode="stream", teacher=judged(2, 400, mean=0.7), seed=0
    ):
        assert bought.labels >= 40, bought.seen.items


def test_a_start_survives_labels_that_are_all_equal():
    """A mean of 0.96: the first twenty labels are often all 1."""
    table = judged(2099, 3000, mean=0.96, spread=0.3)
    for bought, _, _ in campaigns(table, trials=40, budget=120.0, burn_in=0, mode="stream", seed=0):
        assert bought.labels >= 30, bought.seen.items


# Simulate


def test_a_trial_is_the_same_in_any_block():
    population = Population.of(*(TABLES["fair"][name] for name in ("g", "h")))
    setting = Setting(0.05, (40.0, 80.0), 30, "pool", 0.95, 0.1, 3)
    whole = auto(Block(population, setting, range(6)))
    part = auto(Block(population, setting, range(4, 6)))
    for name in ("value", "low", "high", "spend", "labels"):
        np.testing.assert_array_equal(getattr(whole, name)[4:], getattr(part, name))


def test_one_budget_does_not_depend_on_the_others():
    alone, among = (
        simulated(TABLES["fair"], methods=["auto"], budgets=budgets, mode="pool").of("auto")
        for budgets in ([70], [35, 70, 120])
    )
    assert alone[0].mse == among[1].mse
    assert alone[0].coverage == among[1].coverage


def test_the_result_follows_the_units_of_the_ratings():
    """Strong ratings ×3 + 7 and weak ones alike: errors ×9, everything else the same."""
    table = TABLES["fair"]
    other = {name: 3 * np.asarray(values) + 7 for name, values in table.items()}
    for one, more in zip(simulated(table).of("auto"), simulated(other).of("auto"), strict=True):
        assert more.mse == pytest.approx(9 * one.mse, rel=1e-3)
        assert more.spend_mean == pytest.approx(one.spend_mean, rel=1e-3)


@pytest.mark.parametrize("mode", ["stream", "pool"])
def test_reported_spend_and_labels_are_within_the_budget(mode):
    for r in simulated(TABLES["judge"], mode=mode).of("auto"):
        assert 0.95 * r.budget - 1 < r.spend_mean <= r.spend_max <= r.budget + 1e-9


@pytest.mark.parametrize("transfer", [False, True])
def test_a_feature_that_holds_the_answer_cuts_the_error(transfer):
    rng = np.random.default_rng(2111)
    table, other = scored(2113, 2000, 3.0), scored(2129, 300, 3.0)
    for t in (table, other):
        t["z"] = 0.01 * t["h"] + 0.001 * rng.standard_normal(t["h"].size)
    start = {"transfer_from": other, "burn_in": None} if transfer else {}
    with_, without = (
        simulated(table, features=features, methods=["auto"], budgets=[100], trials=40, **start).of("auto")[0].mse
        for features in (["z"], [])
    )
    assert with_ < 0.35 * without


def hinted(seed, items):
    """A dear judge that tells half of the rating, and columns of the table that tell three quarters."""
    rng = np.random.default_rng(seed)
    h = rng.normal(24, 2, items) + rng.exponential(2, items)  # lopsided, so that a bias would show
    spread = h.std()
    hints = {f"z{k}": h + spread * rng.standard_normal(items) for k in range(3)}
    return {"g": h + spread * rng.standard_normal(items), "h": h, **hints, "noise": rng.standard_normal(items)}


def test_features_of_a_whole_pool_need_no_weak_ratings():
    """A quarter of the variance is left to the labels, plus what learning costs; weak ratings would be worth nothing.

    400 trials: MSE to a factor of 1.3, bias to 0.2 standard deviations and coverage to 4.5 %, each missed by chance
    less than once in 10,000.
    """
    table = hinted(2203, 3000)
    options = {"mode": "pool", "cost_ratio": 0.3, "budgets": [60, 240], "burn_in": 60, "workers": None}
    for found in simulated(table, features=["z0", "z1", "z2", "noise"], trials=400, **options).of("auto"):
        assert found.of_base < 0.25 * 1.25 * 1.3
        assert abs(found.bias) < 0.2 * found.bias_se * 400**0.5
        assert 0.905 < found.coverage < 0.995
        assert found.spend_mean == pytest.approx(found.budget)
    assert all(found.of_base > 0.8 for found in simulated(table, trials=150, **options).of("auto"))


@pytest.mark.parametrize("transfer", [False, True])
def test_an_uncertainty_that_tells_where_the_errors_are_cuts_the_error(transfer):
    """A judge that is right on nine tenths and guesses on the rest, and says which; less is gained from a teacher."""

    def guesses(seed, items):
        rng = np.random.default_rng(seed)
        h, unsure = rng.normal(24, 2, items), rng.random(items) < 0.1
        return {"g": np.where(unsure, rng.normal(24, 8, items), h), "h": h, "u": np.where(unsure, 1.0, 0.001)}

    start = {"transfer_from": guesses(2131, 400), "burn_in": None} if transfer else {"burn_in": 100}
    few = {"budgets": [60], "trials": 40, "cost_ratio": 0.1} if transfer else {"budgets": [150], "trials": 60}
    options = {"methods": ["auto"]} | few | start
    with_, without = (simulated(guesses(2137, 2000), uncertainty=u, **options).of("auto")[0] for u in ("u", None))
    assert with_.mse < (0.95 if transfer else 0.8) * without.mse


def test_auto_alone_needs_nothing_of_the_other_methods():
    population = Population.of(*(TABLES["fair"][name] for name in ("g", "h")))
    setting = Setting(0.05, (40.0,), 30, "stream", 0.95, 0.1, 3)
    lab = Lab.of(population, setting, ["auto"], None)
    found = lab.run(range(2))["auto"]
    assert found.value.shape == (2, 1)
    assert np.all(found.low < found.value)
    assert np.all(found.value < found.high)
