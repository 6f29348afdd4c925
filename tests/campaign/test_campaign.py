"""Whole campaigns on tables, at every size, price and scale, with and without every answer."""

import json
from decimal import Decimal

import numpy as np
import pytest

from ratewise.campaign.campaign import Campaign
from ratewise.core.draw import uniform
from ratewise.errors import InputError, TableError
from ratewise.questions.estimation import estimate_mean
from ratewise.store import audit
from ratewise.tables import read_table

from .making import holds, judged, log_of, looked_at, ran, scored, strong_mean, write

ENDS = ("the budget is spent", "every item has been looked at", "the next item costs more than is left")


# Prices


def test_prices_by_item_are_paid_one_by_one_and_never_exceed_the_budget(tmp_path):
    columns = judged(500, spread=0.75)
    rng = np.random.default_rng(5)
    columns["cost"] = [f"{x:.9f}" for x in rng.uniform(0.2, 3.0, 500)]
    columns["fee"] = [f"{x:.9f}" for x in rng.uniform(0.001, 0.03, 500)]
    campaign = ran(tmp_path, columns, raters=(("judge", "fee"), ("human", "cost")), goal='budget = "120.123456789"')
    status = holds(campaign)
    pairs = zip(map(Decimal, columns["fee"]), map(Decimal, columns["cost"]), strict=True)
    prices = dict(zip(columns["id"], pairs, strict=True))
    log = log_of(campaign)
    asked = [(log["items"][position][1], step) for position, step, *_ in log["ratings"]]
    assert status.spent == sum(prices[item][step] for item, step in asked)  # to the last digit
    assert 115 < status.spent <= Decimal("120.123456789")
    assert {row[4] for row in log["ledger"] if row[2] == 1} <= {int(p[1] * 10**9) for p in prices.values()}


def test_a_weak_rater_that_is_paid_for_already(tmp_path):
    columns = judged(400, spread=0.75)
    campaign = ran(tmp_path, columns, raters=(("judge", "0"), ("human", "1")))
    status = holds(campaign)
    assert (status.looked, status.spent, status.labels) == (400, 60, 60)  # every item is looked at, to the last label


def test_everything_for_nothing(tmp_path):
    columns = judged(40)
    campaign = ran(tmp_path, columns, raters=(("judge", "0"), ("human", "0")))
    status = holds(campaign)
    assert (status.labels, status.spent) == (40, 0)
    assert campaign.estimate().interval == (strong_mean(columns),) * 2


def test_an_item_that_costs_more_than_the_budget_ends_it_and_a_larger_budget_goes_on(tmp_path):
    columns = judged(100)
    columns["cost"] = ["1"] * 100
    columns["cost"][columns["id"].index(_first_id(columns, 7))] = "1000"
    path = write(tmp_path / "b", columns, raters=(("judge", "0.05"), ("human", "cost")))
    campaign = Campaign.open(path)
    assert campaign.run() == "the next item costs more than is left"
    assert campaign.status().spent == 0
    assert campaign.estimate() is None
    path.write_text(path.read_text().replace('budget = "60"', 'budget = "1060"'))
    campaign = Campaign.open(path)
    assert campaign.run() in ENDS
    assert campaign.status().labels > 10
    holds(campaign)


def _first_id(columns, seed):
    ids = np.array(columns["id"], dtype=object)
    return ids[np.argmin(uniform(ids, seed=f"{seed}:order"))]


# Sizes


@pytest.mark.parametrize("items", [1, 2, 3, 5, 9])
@pytest.mark.parametrize("budget", ["1", "2.5", "100"])
@pytest.mark.parametrize("weak", ["0", "0.05"])
def test_few_items_and_tiny_budgets(tmp_path, items, budget, weak):
    columns = judged(items)
    campaign = ran(tmp_path, columns, goal=f'budget = "{budget}"', raters=(("judge", weak), ("human", "1")))
    status = holds(campaign)
    assert status.ended in ENDS
    assert status.labels == min(items, int(Decimal(budget)))
    found = campaign.estimate()
    if status.labels == items:
        assert found.value == pytest.approx(strong_mean(columns), rel=1e-12)
        assert found.interval == (found.value, found.value)
    else:
        assert found.interval is None or found.interval[0] < found.interval[1]


@pytest.mark.parametrize("column", ["judge", "human"])
@pytest.mark.parametrize("value", [0, 1])
def test_ratings_that_are_all_alike(tmp_path, column, value):
    """No crash, no interval of width 0 from a part of the pool."""
    columns = judged(300)
    columns[column] = [value] * 300
    campaign = ran(tmp_path, columns)
    holds(campaign)
    found = campaign.estimate()
    low, high = found.interval
    assert low < high
    if column == "human":
        assert low <= value <= high


def test_scores_that_are_all_alike_have_no_interval_but_a_reason(tmp_path):
    columns = scored(200)
    columns["human"] = [5.0] * 200
    campaign = ran(tmp_path, columns, rating='kind = "score"\nlow = 1\nhigh = 9')
    holds(campaign)
    found = campaign.estimate()
    assert found.interval is None or found.interval[0] < 5.0 < found.interval[1]
    assert found.interval is not None or found.notes


def test_enough_money_for_everything_gives_the_exact_value(tmp_path):
    columns = judged(150)
    campaign = ran(tmp_path, columns, goal='budget = "150"')
    status = holds(campaign)
    assert (status.labels, status.spent) == (150, 150)
    found = campaign.estimate()
    assert found.value == pytest.approx(strong_mean(columns), rel=1e-12)
    assert found.interval == (found.value, found.value)


# Raters


def test_weak_ratings_that_are_missing_for_some_items(tmp_path):
    columns = judged(400, spread=0.75)
    columns["judge"] = ["" if i % 7 == 0 else x for i, x in enumerate(columns["judge"])]
    campaign = ran(tmp_path, columns)
    holds(campaign)
    history, _ = looked_at(campaign)
    assert np.all(np.isfinite(history.looked.x.weak))
    log = log_of(campaign)
    none = [row for row in log["ratings"] if row[1] == 0 and row[3] is None]
    assert {row[2] for row in none} == {2}
    low, high = campaign.estimate().interval
    assert low <= strong_mean(columns) <= high


def test_features_words_and_uncertainty_reach_the_models(tmp_path):
    """A judge that is blind for one topic: told the topic, rates there are higher; without it, they cannot be."""
    rng = np.random.default_rng(11)
    topic = rng.integers(0, 2, 500)
    human = (rng.random(500) < 0.6).astype(int)
    judge = np.where(topic == 1, 0.6 + 0.05 * rng.random(500), np.where(human == 1, 0.95, 0.05))
    columns = {
        "id": [f"q{i}" for i in range(500)], "judge": np.round(judge, 3).tolist(), "human": human.tolist(),
        "topic": ["law" if x else "sport" for x in topic], "length": rng.integers(10, 99, 500).tolist(),
        "doubt": np.where(topic == 1, 0.25, 0.01).tolist(),
    }  # fmt: skip
    rates = {}
    for name, lines in {"told": 'features = ["topic", "length"]', "doubt": 'uncertainty = "doubt"', "not": ""}.items():
        campaign = ran(tmp_path / name, columns, items=lines, goal='budget = "120"')
        holds(campaign)
        history, reader = looked_at(campaign)
        x = history.looked.x
        assert (x.features is None, x.uncertainty is None) == (name != "told", name != "doubt")
        if name == "told":
            assert (
                x.features.shape[1] == reader.facts.parts.widths["features"] == 3
            )  # a column for each word, and the length
            np.testing.assert_array_equal(x.features[:, 0] + x.features[:, 1], 1.0)
        rates[name] = history.looked.rates[-60:, 0]
    for name in ("told", "doubt"):  # some are asked for twice as often as others
        assert rates[name].std() > 0.3 * rates[name].mean(), name


@pytest.mark.parametrize(
    ("rating", "words"),
    [
        ('kind = "likert"\nlow = 1\nhigh = 5', [1, 2, 3, 4, 5]),
        ('kind = "score"\nlow = -10\nhigh = 10', [-9.5, 0.25, 3.0, 9.75]),
        ('kind = "pairwise"', ["a", "b", "tie"]),
        ('kind = "binary"', ["yes", "no"]),
    ],
)  # fmt: skip
def test_scales(tmp_path, rating, words):
    rng = np.random.default_rng(13)
    picked = rng.integers(0, len(words), 300)
    numbers = {"a": 1.0, "b": 0.0, "tie": 0.5, "yes": 1.0, "no": 0.0}
    value = np.array([float(numbers.get(w, w)) for w in words])[picked]
    columns = {
        "id": [f"q{i}" for i in range(300)], "judge": np.round(value + 0.3 * rng.normal(size=300), 3).tolist(),
        "human": [words[i] for i in picked],
    }  # fmt: skip
    campaign = ran(tmp_path, columns, rating=rating, goal='budget = "90"')
    holds(campaign)
    found = campaign.estimate()
    assert found.interval[0] <= value.mean() <= found.interval[1]
    history, _ = looked_at(campaign)
    seen = history.looked.values[:, 0]
    assert set(seen[~np.isnan(seen)]) <= set(value)


def test_population_and_pool_differ_by_the_pool_s_share(tmp_path):
    columns = judged(200, spread=0.75)
    pool = ran(tmp_path / "pool", columns, estimand="pool", goal='budget = "120"').estimate()
    population = ran(tmp_path / "population", columns, estimand="population", goal='budget = "120"').estimate()
    assert pool.value == population.value
    assert pool.standard_error < population.standard_error
    assert (pool.estimand, population.estimand) == ("pool", "population")


def test_method_base_and_one_rater_alone_are_a_plain_mean(tmp_path):
    columns = judged(300)
    for name, keys in {"base": {"method": "base"}, "one": {"raters": (("human", "1"),)}}.items():
        campaign = ran(tmp_path / name, columns, goal='budget = "77.5"', **keys)
        status = holds(campaign)
        assert (status.labels, status.spent, status.looked) == (77, 77, 77)
        log = log_of(campaign)
        assert {row[1] for row in log["ratings"]} == {1}
        values = np.array([row[3] for row in log["ratings"]])
        right = estimate_mean(np.zeros(77), values, 1.0, method="difference", estimand="pool", pool_size=300)
        assert campaign.estimate().value == pytest.approx(right.value, rel=1e-12)
        assert campaign.estimate().interval == pytest.approx(right.interval, rel=1e-12)
    a, b = (log_of(Campaign.open(tmp_path / name / "c.toml"))["ratings"] for name in ("base", "one"))
    assert a == b


@pytest.mark.parametrize(
    "ids", [[str(i) for i in range(100)], [i * 7 for i in range(100)], [f"été {i} 漢字 ☃" for i in range(100)]]
)
def test_ids_of_every_kind(tmp_path, ids):
    columns = {**judged(100), "id": ids}
    campaign = ran(tmp_path, columns, goal='budget = "30"')
    holds(campaign)
    assert {row[1] for row in log_of(campaign)["items"]} == {str(i) for i in ids}


def test_ids_that_come_twice_are_refused_before_anything_is_written(tmp_path):
    columns = judged(100)
    columns["id"][5] = columns["id"][17]
    campaign = Campaign.open(write(tmp_path, columns))
    with pytest.raises(TableError, match="q17"):
        campaign.run()
    with pytest.raises(InputError, match="has not begun"):
        campaign.status()


# Missing strong answers


def test_missing_strong_answers_are_counted_at_both_ends(tmp_path):
    """The estimates with every missing answer at 0 and at 1, from the same draws, lie at the ends of what is told."""
    columns = judged(600, spread=0.75)
    columns["human"] = ["" if i % 9 == 0 else x for i, x in enumerate(columns["human"])]
    campaign = ran(tmp_path, columns, goal='budget = "150"', estimand="population")
    status = holds(campaign)
    history, _ = looked_at(campaign)
    missing = history.looked.missing
    assert 5 < status.missing == missing.sum() == sum(x == "" for x in _asked(campaign, columns))
    found = campaign.estimate()
    assert found.standard_error is None
    assert any("missing" in note for note in found.notes)
    delta, share = 1.0 / history.seen.rates()[missing].clip(max=1.0), 1.0 / history.items
    low, high = _told(found)
    assert high - low == pytest.approx(float(delta.sum()) * share, abs=2e-4)  # as it is printed
    assert found.value == pytest.approx(0.5 * (low + high), abs=1e-4)
    assert found.interval[0] < low
    assert found.interval[1] > high


def _asked(campaign, columns):
    by_id = dict(zip(columns["id"], columns["human"], strict=True))
    log = log_of(campaign)
    return [by_id[log["items"][row[0]][1]] for row in log["ratings"] if row[1] == 1]


def _told(found):
    words = next(note for note in found.notes if "missing" in note).split()
    return float(words[-3]), float(words[-1])


def test_answers_that_are_all_missing_give_no_estimate(tmp_path):
    columns = judged(60)
    columns["human"] = [""] * 59 + ["1"]  # an empty column is refused at the start
    path = write(tmp_path, columns, goal='budget = "7"')  # seven items, and the one with an answer is not among them
    campaign = Campaign.open(path)
    campaign.run()
    status = holds(campaign)
    assert (status.labels, status.missing > 0) == (0, True)
    assert campaign.estimate() is None
    assert status.estimate is None


# The store


def test_the_items_of_the_store_are_those_of_the_table(tmp_path):
    columns = judged(120)
    campaign = ran(tmp_path, columns)
    with campaign.look() as now:
        rows = [(row.id, json.loads(row.content)) for row in audit.item_contents(now.store, 0, now.facts.items)]
    table = read_table(tmp_path / "items.csv")
    right = dict(zip(columns["id"], zip(table.numbers("judge"), table.numbers("human"), strict=True), strict=True))
    assert len(rows) == 120
    for item, content in rows:
        assert (float(content["judge"]), float(content["human"])) == right[item]


def test_a_campaign_is_opened_by_its_file():
    with pytest.raises(InputError, match=r"Campaign\.open"):
        Campaign("campaign.toml")
