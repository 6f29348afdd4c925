"""Labels that are there already: they are counted, not asked for again, and pooled with the new draw."""

import json

import numpy as np
import pytest

import ratewise as rw
from ratewise.errors import InputError, TableError
from ratewise.questions.transfer import Transfer

from ..bounds import most

N, OLD = 300, 60
PRICES = {"weak": "judge", "strong": "human", "weak_cost": 0.0, "strong_cost": 1.0}


def pool(seed=1, by=None):
    rng = np.random.default_rng(seed)
    judge = np.round(rng.beta(2.0, 0.7, N), 4)
    truth = (rng.random(N) < judge).astype(float)
    chance = np.full(N, OLD / N) if by is None else by(judge)
    old = rng.random(N) < chance
    return {"id": [f"q{i}" for i in range(N)], "judge": judge, "human": np.where(old, truth, np.nan), "was": chance}


@pytest.mark.parametrize("estimand", ["pool", "population"])
def test_the_rate_is_that_of_two_independent_draws(estimand):
    table = pool(by=lambda judge: 0.1 + 0.3 * (1 - judge))
    plan = rw.plan(table, **PRICES, budget=50, drawn="was", estimand=estimand)
    drawn = rw.draw_pool(table, plan.transfer, seed=7)
    old = ~np.isnan(table["human"])
    new = drawn.table.numbers("rate_new", missing="allow")
    np.testing.assert_allclose(drawn.rates[~old], (1 - (1 - table["was"]) * (1 - new))[~old], rtol=1e-12)
    assert np.isnan(new[old]).all()
    assert drawn.selected[old].all()
    assert drawn.spend == np.count_nonzero(drawn.selected & ~old)
    assert (drawn.rates >= table["was"] - 1e-12).all()


def test_at_random_is_one_old_rate_for_all():
    table = pool()
    drawn = rw.draw_pool(table, rw.plan(table, **PRICES, budget=50, drawn="at random").transfer, seed=7)
    old = ~np.isnan(table["human"])
    new = drawn.table.numbers("rate_new", missing="allow")
    np.testing.assert_allclose(drawn.rates[~old], (1 - (1 - old.mean()) * (1 - new))[~old], rtol=1e-12)


def test_the_plan_counts_old_labels_and_money_buys_new_ones_alone():
    table = pool()
    with_old = rw.plan(table, **PRICES, budget=50, drawn="at random")
    without = rw.plan(table, **PRICES, budget=50, pool_size=N)
    best = with_old.policies[with_old.recommendation]
    assert best.expected_se < without.policies[without.recommendation].expected_se
    assert best.spend == pytest.approx(50)
    assert best.strong_labels == pytest.approx(50)
    count = int(np.count_nonzero(~np.isnan(table["human"])))
    assert f"The {count} labels that are there count and are free. Buy about 50 more" in with_old.reason


@pytest.mark.parametrize("drawn", ["at random", "by hand", "was"])
def test_a_draw_beside_old_labels_never_costs_more_than_the_budget(drawn):
    table = pool(by=lambda judge: 0.1 + 0.3 * (1 - judge))
    plan = rw.plan(table, **PRICES, budget=50, drawn=drawn, estimand="pool")
    spent = [rw.draw_pool(table, plan, seed=seed).spend for seed in range(12)]
    assert max(spent) <= 50
    assert min(spent) >= 49
    free = [rw.draw_pool(table, plan, seed=seed, within_budget=False).spend for seed in range(12)]
    assert max(free) > 50  # by chance


def test_more_money_is_more_precise_until_every_item_has_a_label():
    table = pool()
    errors = []
    for budget in (10, 50, 150, 1000):
        plan = rw.plan(table, **PRICES, budget=budget, drawn="at random", estimand="pool")
        errors.append(plan.policies[plan.recommendation].expected_se)
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] == 0
    drawn = rw.draw_pool(table, plan.transfer, seed=1)
    assert drawn.selected.all()
    np.testing.assert_array_equal(drawn.rates, 1.0)


def test_a_target_buys_only_what_old_labels_have_not_given():
    table = pool()
    plan = rw.plan(table, **PRICES, target_se=0.02, drawn="at random", estimand="pool")
    best = plan.policies[plan.recommendation]
    assert best.expected_se == pytest.approx(0.02, rel=1e-6)
    easy = rw.plan(table, **PRICES, target_se=0.5, drawn="at random", estimand="pool")
    assert easy.policies[easy.recommendation].strong_labels == pytest.approx(0, abs=1e-6)


def test_an_old_label_s_rate_does_not_hang_on_the_label():
    """u is fitted to scores here, so that a label shapes the rates around it; its own comes from a fit without it."""
    rng = np.random.default_rng(5)
    judge = rng.uniform(0, 10, N)
    truth = judge + rng.normal(size=N) * np.where(judge > 7, 3.0, 0.3)
    old = np.arange(N) < 100
    table = {"id": [f"q{i}" for i in range(N)], "judge": judge, "human": np.where(old, truth, np.nan)}
    where = int(np.argmin(np.where(old, np.abs(judge - 5), np.inf)))
    moved = {**table, "human": table["human"].copy()}
    moved["human"][where] += 6.0
    scaled = []
    for each in (table, moved):
        drawn = rw.draw_pool(each, rw.plan(each, **PRICES, budget=60, drawn="at random").transfer, seed=3)
        near = int(np.argmin(np.where(~old, np.abs(judge - judge[where]), np.inf)))
        scaled.append((drawn.rates[where], drawn.rates[near]))
    (own, around), (own_moved, around_moved) = scaled
    assert around_moved > 1.1 * around  # the others see the large residual
    assert 0.85 * own < own_moved <= own  # it does not see itself


@pytest.mark.parametrize("estimand", ["pool", "population"])
def test_labels_picked_by_hand_are_known_in_a_pool_and_only_teach_for_a_population(estimand):
    table = pool()
    plan = rw.plan(table, **PRICES, budget=50, drawn="by hand", estimand=estimand)
    drawn = rw.draw_pool(table, plan.transfer, seed=7)
    old = ~np.isnan(table["human"])
    if estimand == "pool":
        np.testing.assert_array_equal(drawn.rates[old], 1.0)
        assert drawn.selected[old].all()
        assert "known values of their items" in drawn.notes[0]
        assert "known values of their items" in " ".join(plan.notes)
        return
    assert (drawn.rates[old] < 1).all()
    left = drawn.table.numbers("human", missing="allow")
    assert np.isnan(left[~drawn.selected]).all()
    np.testing.assert_array_equal(drawn.table.numbers("human_by_hand", missing="allow"), table["human"])
    assert "only teach" in drawn.notes[0]
    assert "can only teach" in " ".join(plan.notes)


def test_a_plan_keeps_its_old_labels_in_its_file(tmp_path):
    table = pool()
    plan = rw.plan(table, **PRICES, budget=50, drawn="at random")
    plan.save(tmp_path / "plan.json")
    again = rw.load_transfer(tmp_path / "plan.json")
    first, second = (rw.draw_pool(table, each, seed=7) for each in (plan.transfer, again))
    np.testing.assert_array_equal(first.rates, second.rates)
    assert Transfer.from_dict(json.loads(json.dumps(plan.transfer.to_dict()))).old == plan.transfer.old


def test_other_labels_than_those_planned_with_are_refused():
    table = pool()
    plan = rw.plan(table, **PRICES, budget=50, drawn="at random")
    more = {**table, "human": np.where(np.arange(N) == int(np.argmax(np.isnan(table["human"]))), 1.0, table["human"])}
    with pytest.raises(TableError, match="other labels in column 'human' than the plan was made with"):
        rw.draw_pool(more, plan.transfer, seed=1)


def test_what_is_no_way_of_drawing_is_refused():
    table = pool()
    with pytest.raises(InputError, match="write 'at random', 'by hand', or the name of a column"):
        rw.plan(table, **PRICES, budget=50, drawn="somehow")
    with pytest.raises(TableError, match="has no rate that it can have been drawn with in column 'none'"):
        rw.plan({**table, "none": np.zeros(N)}, **PRICES, budget=50, drawn="none")
    with pytest.raises(InputError, match="nothing left to buy"):
        rw.plan({**table, "human": np.arange(N) % 2.0}, **PRICES, budget=50, drawn="at random")


def test_a_sheet_asks_only_for_what_has_no_label():
    table = pool()
    drawn = rw.draw_pool(table, rw.plan(table, **PRICES, budget=50, drawn="at random").transfer, seed=7)
    sheet = rw.blind_sheet(drawn.table, seed=7, fill=["human"], hide=["judge", "was"])
    assert sheet.rows == drawn.spend
    assert sheet.columns == ("id", "human")


def test_estimate_takes_the_rates_of_two_draws():
    table = {**pool(by=lambda judge: 1 - 0.8 * 0.7 * np.ones(N)), "was": np.full(N, 0.2), "then": np.full(N, 0.3)}
    label = ~np.isnan(table["human"])
    both = rw.estimate_table(table, weak="judge", strong="human", rate="was,then")
    one = rw.estimate_table({**table, "rate": 1 - 0.8 * 0.7 * np.ones(N)}, weak="judge", strong="human", rate="rate")
    assert both.value == pytest.approx(one.value, rel=1e-12)
    assert both.labels == np.count_nonzero(label)


def test_a_weak_rating_that_harms_is_told_with_what_to_do():
    table = pool()
    assert not any(
        "strong ratings alone" in note for note in rw.plan(table, **PRICES, budget=50, drawn="at random").notes
    )
    noise = {**table, "judge": np.random.default_rng(5).random(N)}
    for goal in ({"budget": 50.0}, {"target_se": 0.03}):
        plan = rw.plan(noise, **PRICES, **goal, drawn="at random")
        [told] = [note for note in plan.notes if "larger than strong ratings alone would" in note]
        assert told.endswith("map it to the strong one first (calibrate auto)")
        calm = rw.plan(noise, **PRICES, **goal, drawn="at random", calibrate="auto").notes
        assert not any("calibrate auto" in note for note in calm)


# Calibrated weak ratings


def with_features(seed, items=1500, labels=75):
    """A judge that two of six columns correct; some items are labelled at random."""
    rng = np.random.default_rng([seed, 91])
    F, z = rng.normal(size=(items, 6)), rng.normal(size=items)
    line = 0.9 + 1.2 * z + 0.6 * F[:, 0] + 0.4 * F[:, 1]
    truth = line + rng.normal(size=items)
    judge = 1 / (1 + np.exp(-(line - 0.6 * F[:, 0] + 0.5 * rng.normal(size=items))))
    old = np.zeros(items, dtype=bool)
    old[rng.permutation(items)[:labels]] = True
    table = {"id": np.arange(items), "judge": judge, "human": np.where(old, truth, np.nan)}
    return table | {name: F[:, k] for k, name in enumerate(FEATURES)}, truth, old


FEATURES = tuple(f"f{k}" for k in range(6))


def learned_plan(table, *, calibrate="auto", features=FEATURES, estimand="pool", budget=125):
    more = {"calibrate": calibrate, "features": features, "estimand": estimand, "drawn": "at random"}
    return rw.plan(table, **PRICES, budget=budget, **more)


@pytest.mark.parametrize("calibrate", ["auto", "affine"])
def test_an_old_label_does_not_teach_its_own_calibrated_rating(calibrate):
    table, _, old = with_features(1)
    features = FEATURES if calibrate == "auto" else ()
    where = int(np.flatnonzero(old)[3])
    moved = table | {"human": table["human"] + np.where(np.arange(old.size) == where, 8.0, 0.0)}
    found = []
    for each in (table, moved):
        plan = learned_plan(each, calibrate=calibrate, features=features)
        found.append(rw.draw_pool(each, plan, seed=3).table.numbers("weak_calibrated"))
    shift = np.abs(found[1] - found[0])
    assert shift[where] < 1e-6
    assert np.median(shift[old]) > 1e-3  # all others learn from it


def test_calibrated_ratings_err_as_much_on_labels_that_taught_as_on_others():
    """Over 40 pools; with their own label among those they learn from, the first errors would be a fifth smaller."""
    taught, others, seeing = [], [], []
    for seed in range(40):
        table, truth, old = with_features(seed)
        plan = learned_plan(table)
        drawn = rw.draw_pool(table, plan, seed=seed).table
        off = (truth - drawn.numbers("weak_calibrated")) ** 2
        taught.append(off[old].mean())
        others.append(off[~old].mean())
        seeing.append(((truth - plan.transfer.columns(drawn)[0]) ** 2)[old].mean())
    gap = np.array(taught) - np.array(others)
    assert abs(gap.mean()) < 4 * gap.std(ddof=1) / np.sqrt(gap.size)
    too_small = np.array(seeing) - np.array(others)
    assert too_small.mean() < -4 * too_small.std(ddof=1) / np.sqrt(gap.size)


@pytest.mark.soak
@pytest.mark.parametrize("labels", [50, 100])
def test_intervals_of_calibrated_ratings_with_features_cover(labels):
    """200 labels in all; at most 5 % of 1,000 pools are missed, which a check fails by chance with probability 1e-4."""
    missed, off = 0, []
    for seed in range(1000):
        table, truth, _ = with_features(5000 + seed, labels=labels)
        drawn = rw.draw_pool(table, learned_plan(table, budget=200 - labels), seed=seed)
        rated = drawn.table.with_columns({"human": np.where(drawn.selected, truth, np.nan)}, replace=True)
        columns = {"weak": "weak_calibrated", "strong": "human", "rate": "rate", "selected": "selected"}
        found = rw.estimate_table(rated, **columns, estimand="pool")
        missed += not found.low <= truth.mean() <= found.high
        off.append((found.value - truth.mean()) / found.standard_error)
    assert missed / 1000 <= most(0.05, 1000)
    assert np.std(off) < 1.06
