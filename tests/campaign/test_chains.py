"""Chains of three raters as campaigns."""

import json
from decimal import Decimal

import numpy as np
import pytest

from ratewise.campaign.answers import estimate_history
from ratewise.campaign.rehearsal import Pool, Rehearsal
from ratewise.core.mean.draw import uniform
from ratewise.core.mean.estimate import estimate_mean

from .making import log_of, looked_at, ran, scored

RATERS = (("judge", "0.02"), ("expert", "0.2"), ("human", "1"))
SCORE = 'kind = "score"\nlow = 1\nhigh = 9'


def campaign(folder, columns=None, **keys):
    return ran(
        folder,
        scored(600) if columns is None else columns,
        **({"rating": SCORE, "raters": RATERS, "goal": 'budget = "80"'} | keys),
    )


def test_it_starts_with_everyone_and_goes_on_with_nested_draws(tmp_path):
    found = campaign(tmp_path)
    assert found.verify().passed
    log = log_of(found)
    plans = [json.loads(row[2]) for row in log["rounds"]]
    assert (plans[0]["policy"], plans[0]["weak"]) == ("base", True)
    assert {plan["policy"] for plan in plans[1:]} == {"chain"}
    history, _ = looked_at(found)
    looked = history.looked
    assert np.all(np.diff(looked.rates, axis=1) <= 0)
    assert np.all(looked.selected[:, 0] >= looked.selected[:, 1])
    ids = [row[1] for row in log["items"]][: history.items]
    r = uniform(np.array(ids, dtype=object), seed=7)
    np.testing.assert_array_equal(looked.selected, r[:, None] < looked.rates)
    start = plans[0]["items"]
    assert 0 < looked.selected[start:, 1].mean() < looked.selected[start:, 0].mean() < 1


def test_money_is_the_sum_of_the_prices_of_all_three(tmp_path):
    found = campaign(tmp_path)
    log, status = log_of(found), found.status()
    prices = [Decimal("0.02"), Decimal("0.2"), Decimal("1")]
    assert status.spent == sum(prices[row[1]] for row in log["ratings"])
    assert 80 - Decimal("1.22") < status.spent <= 80
    assert status.labels == sum(row[1] == 2 and row[2] == 1 for row in log["ratings"])


def test_the_estimate_is_that_of_the_chain_by_its_own_rates(tmp_path):
    found = campaign(tmp_path, estimand="population")
    history, _ = looked_at(found)
    looked = history.looked
    weak = np.column_stack([looked.x.weak, looked.values[:, 0]])
    right = estimate_mean(weak, looked.values[:, 1], looked.rates, bounds=(1, 9))
    assert found.estimate().value == pytest.approx(right.value, rel=1e-12)
    assert found.estimate().interval == pytest.approx(right.interval, rel=1e-12)


def test_raters_that_give_up(tmp_path):
    """The middle one on some items, the strong one on others, the weak one on a few."""
    columns = scored(600)
    for name, every in (("judge", 31), ("expert", 11), ("human", 13)):
        columns[name] = ["" if i % every == 0 else x for i, x in enumerate(columns[name])]
    found = campaign(tmp_path, columns)
    assert found.verify().passed
    status, estimate = found.status(), found.estimate()
    assert status.missing > 0
    assert any("missing" in note for note in estimate.notes)
    truth = np.mean(scored(600)["human"])
    assert estimate.interval[0] <= truth <= estimate.interval[1]


def test_a_middle_rater_that_never_answers_does_not_stop_it():
    """As a campaign finds it where the rater falls silent later: one that is silent from the start is down."""
    columns = scored(300)
    ratings = [np.array(columns["judge"]), np.full(300, np.nan), np.array(columns["human"])]
    pool = Pool.of(*ratings, prices=[Decimal(price) for _, price in RATERS])
    game = Rehearsal(pool, pool.terms(budget=Decimal(60), bounds=(1, 9)))
    game.play()
    low, high = estimate_history(game.history, game.terms.wanted).interval
    assert low <= np.mean(columns["human"]) <= high


@pytest.mark.parametrize("prices", [("0", "0", "1"), ("0", "0", "0"), ("0.01", "0", "1"), ("0", "0.5", "0")])
def test_ratings_for_nothing(prices):
    columns = scored(200)
    ratings = [np.array(columns[name]) for name, _ in RATERS]
    pool = Pool.of(*ratings, prices=[Decimal(p) for p in prices])
    game = Rehearsal(pool, pool.terms(budget=Decimal(40), bounds=(1, 9)))
    reason = game.play()
    assert reason in ("the budget is spent", "every item has been looked at")
    found = estimate_history(game.history, game.terms.wanted)
    assert found.interval[0] <= ratings[2].mean() <= found.interval[1]
    if prices[2] == "0":
        assert game.history.labels == 200


def test_a_middle_rater_that_knows_nothing_is_hardly_bought(tmp_path):
    """Bad and dear: everything is bought from the strong one, or the middle one only where the strong one is asked."""
    columns = scored(600, mid=4.0, weak=1.0)
    found = campaign(tmp_path, columns, raters=(("judge", "0.02"), ("expert", "0.9"), ("human", "1")))
    history, _ = looked_at(found)
    later = history.looked.selected[history.seen.phases[0].items if history.seen else 20 :]
    assert later[:, 0].sum() <= later[:, 1].sum() + 2


def test_a_target_is_reached_by_a_chain():
    columns = scored(3000)
    ratings = [np.array(columns[name]) for name, _ in RATERS]
    pool = Pool.of(*ratings, prices=[Decimal(p) for _, p in RATERS])
    game = Rehearsal(pool, pool.terms(target_se=0.08, bounds=(1, 9)))
    assert game.play() == "the precision asked for is reached"
    assert abs(estimate_history(game.history, game.terms.wanted).value - ratings[2].mean()) < 4 * 0.08
    assert game.spent / 1e9 < 1.5 * 1.5**2 / 0.08**2  # what strong ratings alone would take, and half as much again
