"""Campaigns that choose their items by strata: end to end on SQLite, from the TOML to the export."""

import json

import numpy as np
import pytest

import ratewise as rw
from ratewise.campaign.campaign import Campaign
from ratewise.campaign.history import LookedItems
from ratewise.campaign.strata import Inputs
from ratewise.errors import InputError, SpecError, TableError
from ratewise.learn.covariates import Covariates

from .making import log_of, looked_at, ran, tamper, write

SHARES = '[inputs]\nstrata = "topic"\nshares = { easy = 2, hard = 1.5, odd = 0.5 }\n'
IN_PROPORTION = '[inputs]\nstrata = "topic"\n'


def topics(items, seed=1):
    """Mostly easy items, which both raters find right."""
    rng = np.random.default_rng([seed, 4111])
    code = rng.choice(3, items, p=[0.8, 0.15, 0.05])
    h = (rng.random(items) < np.array([0.98, 0.6, 0.4])[code]).astype(int)
    wrong = rng.random(items) < np.array([0.02, 0.25, 0.2])[code]
    g = np.where(wrong, rng.random(items), 0.9 * h + 0.05)
    names = np.array(["easy", "hard", "odd"])[code].tolist()
    return {
        "id": [f"q{i}" for i in range(items)], "topic": names, "judge": np.round(g, 3).tolist(), "human": h.tolist()
    }  # fmt: skip


def items(inputs, more=""):
    return f'id = "id"\n{more}\n{inputs}'


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    return ran(tmp_path_factory.mktemp("chosen"), topics(700), items=items(SHARES), goal='budget = "60"')


# From begin to end


def test_items_come_in_the_wanted_shares(campaign):
    history, reader = looked_at(campaign)
    inputs, code = reader.facts.inputs, history.looked.strata
    assert inputs.names == ("easy", "hard", "odd")
    assert inputs.shares == pytest.approx((0.5, 0.375, 0.125))
    assert all(np.count_nonzero(code[:6] == s) == 2 for s in range(3))
    used_up = np.flatnonzero(code == 2)[-1] if np.count_nonzero(code == 2) == inputs.sizes[2] else code.size
    for end in (40, 80, 120):
        assert end < used_up
        counts = np.bincount(code[:end], minlength=3)
        assert np.abs(counts - np.array(inputs.shares) * end).max() <= 3


def test_the_estimate_is_by_strata_and_verify_passes(campaign):
    found = campaign.estimate()
    assert found.method == "stratified difference"
    assert found.interval_method == "score"  # ratings are 0 or 1, whatever scale plans are made on
    assert found.interval[0] < np.mean(topics(700)["human"]) < found.interval[1]
    checked = campaign.verify()
    assert checked.passed, checked.summary()
    assert campaign.status().spent <= 60
    assert campaign.diagnosis().words()


def test_the_export_gives_the_same_estimate(campaign, tmp_path):
    """Weights are the strata's shares of the table over those of the items looked at; and plain tools can use them."""
    table = campaign.export(tmp_path / "out.csv")
    weight, topic = table.numbers("weight"), table.texts("topic")
    assert weight.mean() == pytest.approx(1.0)
    whole = topics(700)["topic"]
    for name in ("easy", "hard", "odd"):
        assert weight[topic == name].sum() / weight.sum() == pytest.approx(whole.count(name) / 700)
    again = rw.estimate_table(
        tmp_path / "out.csv", weak="rating_judge", strong="rating_human", weight="weight", method="difference"
    )
    assert abs(again.value - campaign.estimate().value) < 3 * again.standard_error


@pytest.mark.filterwarnings("ignore:with this goal:ratewise.errors.RatewiseWarning")
def test_a_campaign_goes_on_where_it_was(tmp_path):
    """Two runs, the second with more money, give what the log says; it is verified again."""
    path = write(tmp_path, topics(700), items=items(SHARES), goal='budget = "40"')
    first = Campaign.open(path)
    first.run()
    before = log_of(first)["items"]
    path.write_text(path.read_text(encoding="utf-8").replace('"40"', '"60"'), encoding="utf-8")
    second = Campaign.open(path)
    second.run()
    assert log_of(second)["items"] == before
    assert second.estimate().labels > 0
    assert second.verify().passed


@pytest.mark.parametrize("raters", [(("human", "1"),), (("judge", "0.05"), ("expert", "0.3"), ("human", "1"))])
def test_strong_ratings_alone_and_chains(tmp_path, raters):
    columns = topics(400)
    columns["expert"] = columns["human"]
    campaign = ran(tmp_path, columns, items=items(SHARES), raters=raters, goal='budget = "50"')
    found = campaign.estimate()
    assert found.method.startswith("stratified")
    assert found.interval[0] < found.value < found.interval[1]
    assert campaign.verify().passed


def test_scores_with_features_and_uncertainty(tmp_path):
    """All the columns that a campaign can learn from, beside the strata."""
    rng = np.random.default_rng(8)
    columns = topics(500)
    truth = np.array(columns["human"]) * 4.0 + rng.uniform(0, 1, 500)
    columns |= {"human": np.round(truth, 3).tolist(), "judge": np.round(truth + rng.normal(0, 0.5, 500), 3).tolist()}
    columns |= {"length": rng.integers(1, 99, 500).tolist(), "doubt": rng.uniform(0.1, 0.4, 500).round(3).tolist()}
    campaign = ran(
        tmp_path, columns, items=items(IN_PROPORTION, 'features = ["length"]\nuncertainty = "doubt"'),
        rating='kind = "score"\nlow = 0\nhigh = 5', goal='budget = "60"',
    )  # fmt: skip
    found = campaign.estimate()
    assert found.interval[0] < truth.mean() < found.interval[1]
    assert campaign.verify().passed


def test_missing_answers_count_at_both_ends(tmp_path):
    columns = topics(300)
    columns["human"] = ["" if i % 9 == 0 else h for i, h in enumerate(columns["human"])]
    campaign = ran(tmp_path, columns, items=items(SHARES), goal='budget = "50"')
    assert "whatever they would have been" in campaign.estimate().notes[0]
    assert campaign.verify().passed


def test_a_target_stops_a_chosen_campaign(tmp_path):
    campaign = ran(tmp_path, topics(1500), items=items(SHARES), goal="target_se = 0.03")
    found = campaign.estimate()
    assert campaign.status().ended == "the precision asked for is reached"
    assert 0.5 * (found.interval[1] - found.interval[0]) <= 1.96 * 0.03 + 1e-9
    assert campaign.verify().passed


# Shares


def test_shares_from_a_plan(tmp_path):
    """The plan's items become shares, its means the centres."""
    pilot, columns = topics(300, seed=2), topics(600)
    plan = rw.plan(
        {name: np.array(x) for name, x in pilot.items()}, weak="judge", strong="human", weak_cost=0.05, strong_cost=1,
        budget=60, strata="topic",
    )  # fmt: skip
    plan.save(tmp_path / "plan.json")
    path = write(tmp_path, columns, items=items('[inputs]\nstrata = "topic"\nplan = "plan.json"\n'))
    campaign = Campaign.open(path)
    campaign.begin()
    _, reader = looked_at(campaign)
    inputs = reader.facts.inputs
    wanted = np.array([s.items for s in plan.by_stratum.strata])
    assert inputs.shares == pytest.approx(tuple(wanted / wanted.sum()))
    assert inputs.centres == pytest.approx(tuple(s.mean for s in plan.by_stratum.strata))
    (tmp_path / "plan.json").unlink()  # a campaign that has begun needs it no more
    campaign.run()
    assert campaign.verify().passed


@pytest.mark.parametrize(
    ("inputs", "error", "message"),
    [
        ("[inputs]\nshares = { easy = 1 }\n", SpecError, "inputs.strata is missing"),
        ('[inputs]\nstrata = "topic"\nshares = { easy = 0 }\n', SpecError, "a number above 0 for each stratum"),
        ('[inputs]\nstrata = "topic"\nplan = "p.json"\nshares = { easy = 1 }\n', SpecError, "both given"),
        ('[inputs]\nstrata = "topic"\nsizes = 3\n', SpecError, "inputs.sizes is unknown"),
        ('[inputs]\nstrata = "tropic"\n', TableError, "no column 'tropic'"),
        ('[inputs]\nstrata = "id"\n', TableError, "300 different values"),
        (
            '[inputs]\nstrata = "topic"\nshares = { easy = 1, hard = 1 }\n',
            InputError,
            "says nothing of the stratum 'odd'",
        ),
        (
            '[inputs]\nstrata = "topic"\nshares = { easy = 1, hard = 1, odd = 1, off = 2 }\n',
            InputError,
            "'off' that no",
        ),
        ('[inputs]\nstrata = "topic"\nplan = "none.json"\n', TableError, "cannot be read as a plan"),
        ('[inputs]\nstrata = "topic"\nplan = "items.csv"\n', TableError, "cannot be read as a plan"),
    ],
)
def test_refusals(tmp_path, inputs, error, message):
    path = write(tmp_path, topics(300), items=items(inputs))
    with pytest.raises(error, match=message):
        Campaign.open(path).begin()


def test_a_stratum_of_one_item_is_refused(tmp_path):
    columns = topics(300)
    columns["topic"][0] = "lonely"
    with pytest.raises(TableError, match="'lonely' of column 'topic' has one item only"):
        Campaign.open(write(tmp_path, columns, items=items(IN_PROPORTION))).begin()


def test_inputs_cannot_change_on_the_way(tmp_path):
    path = write(tmp_path, topics(300), items=items(SHARES))
    Campaign.open(path).begin()
    text = path.read_text(encoding="utf-8")
    for changed in (text.replace("hard = 1.5", "hard = 3"), text.replace(SHARES, "")):
        path.write_text(changed, encoding="utf-8")
        with pytest.raises(InputError, match="put into their order"):
            Campaign.open(path)


# Verify


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE items SET content = replace(content, '\"hard\"', '\"easy\"')", "its row says 'easy'"),
        ("UPDATE meta SET value = replace(value, '0.125', '0.126') WHERE key = 'strata'", "order of their strata's"),
    ],
)
def test_verify_sees_other_strata(tmp_path, statement, message):
    campaign = Campaign.open(write(tmp_path, topics(300), items=items(SHARES)))
    campaign.begin()
    tamper(campaign, statement)
    assert any(message in difference for difference in campaign.verify().differences)


# The two scales


def test_ratings_go_to_the_plans_scale_and_back():
    inputs = Inputs("topic", ("a", "b"), (30, 10), (0.4, 0.6), (0.2, 3.0))
    assert inputs.weights == pytest.approx([0.75 / 0.4, 0.25 / 0.6])
    assert inputs.middle == pytest.approx(0.75 * 0.2 + 0.25 * 3.0)
    code, g, h = np.array([0, 1, 1]), np.array([1.0, 2.0, np.nan]), np.array([[0.5], [4.0], [np.nan]])
    x = Covariates(g, np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]), np.full(3, 0.1))
    looked = inputs.scaled(LookedItems(x, np.zeros(3), np.ones((3, 1)), np.ones((3, 1), dtype=bool), h, strata=code))
    assert looked.strata.tolist() == [0, 1, 1]
    assert looked.x.features.shape == (3, 2)
    assert looked.x.uncertainty == pytest.approx(0.1 * inputs.weights[code] ** 2)
    assert inputs.as_rated(looked.x.weak, code) == pytest.approx(g, nan_ok=True)
    assert inputs.as_rated(looked.values, code) == pytest.approx(h, nan_ok=True)
    assert Inputs.from_json(json.dumps(json.loads(inputs.to_json()))) == inputs


def test_the_order_has_every_stratum_first_and_keeps_the_shares_until_one_ends():
    inputs = Inputs("topic", ("a", "b", "c"), (600, 50, 350), (0.2, 0.5, 0.3), (0.0, 0.0, 0.0))
    code = np.repeat(np.arange(3), inputs.sizes)
    order = code[inputs.order(code, np.random.default_rng(1).random(1000))]
    assert sorted(order[:6].tolist()) == [0, 0, 1, 1, 2, 2]
    assert np.bincount(order[:90]) == pytest.approx([18, 45, 27], abs=2)
    rest = np.bincount(order[110:400], minlength=3)
    assert rest[1] == 0
    assert rest[0] / rest[2] == pytest.approx(2 / 3, rel=0.05)


def test_on_the_plans_scale_the_plain_mean_is_the_target():
    """Items in the wanted shares: mean(H') = Σ W mean_s, whatever the centres; with means Var(H') is Σ Q w² Var_s."""
    rng = np.random.default_rng(4)
    code = np.repeat([0, 1], [40, 60])
    h = np.array([0.3, 5.0])[code] + rng.normal(size=100) * np.array([0.1, 2.0])[code]
    means = [float(h[code == s].mean()) for s in (0, 1)]
    for centres in ((0.0, 0.0), (2.0, -1.0), tuple(means)):
        inputs = Inputs("topic", ("a", "b"), (900, 100), (0.4, 0.6), centres)
        x = Covariates(h, inputs.columns(code), None)
        table = np.ones((100, 1))
        looked = LookedItems(x, np.zeros(100), table, table.astype(bool), h[:, None], strata=code)
        scaled = inputs.scaled(looked).values[:, 0]
        assert scaled.mean() == pytest.approx(0.9 * means[0] + 0.1 * means[1])
    w = inputs.weights
    within = sum(q * w[s] ** 2 * h[code == s].var() for s, q in enumerate(inputs.shares))
    assert scaled.var() == pytest.approx(within)
