"""Chains of three raters as campaigns."""

import json
from decimal import Decimal
from functools import cache

import numpy as np
import pytest

from ratewise.campaign.estimates import anytime_estimate, estimate_history
from ratewise.campaign.log import Reader
from ratewise.campaign.planner import Done, DrawItems, decide
from ratewise.campaign.rehearsal import Rehearsal, RehearsalPool
from ratewise.core.estimate import EstimateOptions, estimate_rated
from ratewise.core.ratings import Ratings
from ratewise.design.chain import Design, pooled_steps

from ..worlds import unsure_judge
from .making import log_of, looked_at, ran, scored

RATERS = (("judge", "0.02"), ("expert", "0.2"), ("human", "1"))
SCORE = 'kind = "score"\nlow = 1\nhigh = 9'


STEPS = (("judge", "0.01"), ("expert", "0.15"), ("human", "1"))
DEAR = (("judge", "0.02"), ("expert", "0.3"), ("human", "1"))


def campaign(folder, columns=None, **keys):
    return ran(
        folder,
        scored(600) if columns is None else columns,
        **({"rating": SCORE, "raters": RATERS, "goal": 'budget = "80"'} | keys),
    )


def unsure(items, seed=1):
    """A table on which the expert is worth a step."""
    judge, expert, human = (column.tolist() for column in unsure_judge(items, seed))
    return {"id": [f"q{i}" for i in range(items)], "judge": judge, "expert": expert, "human": human}


def stepwise(folder, **keys):
    given = {"rating": 'kind = "binary"', "raters": STEPS, "goal": 'budget = "200"'}
    return campaign(folder, unsure(900), **(given | keys))


@cache
def rehearsed(seed, *, items=900, budget="200", **keys):
    pool = RehearsalPool.of(*unsure_judge(items, seed), prices=[Decimal(p) for _, p in STEPS], seed=seed)
    game = Rehearsal(pool, pool.terms(budget=Decimal(budget), **keys))
    game.play()
    return game


def test_it_starts_with_everyone_and_goes_on_with_nested_draws(tmp_path):
    found = stepwise(tmp_path)
    verified = found.verify()
    assert verified.passed
    log = log_of(found)
    plans = [json.loads(row[2]) for row in log["rounds"]]
    assert (plans[0]["policy"], plans[0]["weak"]) == ("base", True)
    assert {plan["policy"] for plan in plans[1:]} == {"chain"}
    history, _ = looked_at(found)
    looked = history.looked
    assert np.all(np.diff(looked.rates, axis=1) <= 0)
    assert np.all(looked.selected[:, 0] >= looked.selected[:, 1])
    start = plans[0]["items"]
    assert 0 < looked.selected[start:, 1].mean() < looked.selected[start:, 0].mean() < 1


def test_people_are_drawn_after_the_expert_has_answered():
    """Two draws for each batch of a round with steps, one for a start."""
    game = rehearsed(1, items=3000, budget="150")
    draws = [action for action in game.actions if isinstance(action, DrawItems)]
    later = [action for action in draws if action.first >= game.plans[0].items]
    assert len(later) == 2 * len({action.first for action in later})
    assert len(draws) == len(later) + 1


def test_a_pool_that_ends_early_leaves_no_money():
    """Every item is looked at, and what is left does not pay for another label."""
    game = rehearsed(2, items=300, budget="90")
    assert game.history.items == 300
    assert 90 - game.spent / 1e9 < 1


def test_the_money_is_spent_in_a_large_pool_too():
    game = rehearsed(1, items=3000, budget="150")
    assert game.history.design == Design((0,), (1,))
    assert 150 - game.spent / 1e9 < 1.16


def test_the_estimate_is_that_of_all_rounds_as_one_draw(tmp_path):
    """By hand: f in the raters' place, each label's from the others, and the rates of all rounds together."""
    found = stepwise(tmp_path, estimand="population")
    history, _ = looked_at(found)
    looked = history.looked
    p = pooled_steps(history.steps, reached=looked.selected[:, :1], asked=looked.selected[:, 1])
    f, rates, factor = p.weak, p.rates, p.factor
    how = EstimateOptions("difference", bounds=(0, 1), variance_factor=factor)
    right = estimate_rated(Ratings(f, looked.values[:, 1], rates), how)
    h, asked = looked.values[:, 1], looked.selected
    by_hand = (
        f[:, 0]
        + np.where(asked[:, 0], f[:, 1] - f[:, 0], 0.0) / rates[:, 0]
        + np.where(asked[:, 1], h - f[:, 1], 0.0) / rates[:, 1]
    )
    assert found.estimate().value == pytest.approx(by_hand.mean(), rel=1e-12)
    assert found.estimate().interval == pytest.approx(right.interval, rel=1e-12)


def test_a_rater_that_is_not_worth_its_price_is_left_out():
    judge, _, human = unsure_judge(900, 4)
    noise = np.random.default_rng(4).random(900)
    pool = RehearsalPool.of(judge, noise, human, prices=[Decimal(p) for _, p in STEPS])
    game = Rehearsal(pool, pool.terms(budget=Decimal(200)))
    game.play()
    assert game.history.design == Design((0,))
    start = game.plans[0].items
    assert not game.history.looked.selected[start:, 0].any()
    assert game.history.seen is not None  # from here on it is a campaign of two raters


def test_two_cheap_judges_both_see_every_item():
    """The second one is a feature of all items: it costs next to nothing and is wrong where the first is not."""
    rng = np.random.default_rng(6)
    h = (rng.random(1500) < 0.5) * 1.0
    first, second = (np.clip(0.5 + 0.28 * (2 * h - 1) + 0.25 * rng.normal(size=1500), 0, 1) for _ in range(2))
    pool = RehearsalPool.of(first, second, h, prices=[Decimal(p) for p in ("0.002", "0.002", "1")])
    game = Rehearsal(pool, pool.terms(budget=Decimal(150)))
    game.play()
    assert game.history.design == Design((0, 1))
    assert game.history.looked.selected[:, 0].all()
    low, high = estimate_history(game.history, game.terms.wanted).interval
    assert low <= h.mean() <= high


@pytest.mark.parametrize("columns", [unsure(300), scored(300)])
def test_a_round_of_steps_that_was_killed_goes_on(tmp_path, columns):
    """The planner is a function of the log: stopped after any action, it ends in the same place."""
    binary = "human" in columns and set(columns["human"]) <= {0.0, 1.0}
    bounds = (0.0, 1.0) if binary else (1.0, 9.0)
    pool = RehearsalPool.of(
        *(np.array(columns[n]) for n in ("judge", "expert", "human")), prices=[Decimal(p) for _, p in STEPS]
    )
    whole = Rehearsal(pool, pool.terms(budget=Decimal(60), bounds=bounds))
    whole.play()
    again = Rehearsal(pool, whole.terms)
    while not isinstance(
        action := decide(Reader(again.queue, again, again.terms, pool.empty(again.terms)).state()), Done
    ):
        again.do(action, Reader(again.queue, again, again.terms, pool.empty(again.terms)).state())
    np.testing.assert_array_equal(again.history.looked.selected, whole.history.looked.selected)
    assert again.queue.ledger == whole.queue.ledger


@pytest.mark.parametrize("goal", ['budget = "120"', "target_se = 0.14"])
def test_a_dear_rater_that_knows_nothing_is_left_out_after_a_trial(tmp_path, goal):
    found = campaign(tmp_path, scored(900, mid=4.0, weak=4.0), raters=DEAR, goal=goal)
    verified = found.verify()
    assert verified.passed
    plans = [json.loads(row[2]) for row in log_of(found)["rounds"]]
    first, rest = plans[:2]
    assert first["items"] < first["trial"] == first["items"] + rest["items"]
    assert rest["hopes"][1] >= 1 > rest["hopes"][0]
    history, now = looked_at(found)
    assert history.looked.selected[:, 0].sum() == first["items"]
    worth = now.worth[1]
    assert worth.startswith(f"expert is never worth its price here, and is left out after a trial on {first['items']}")
    low, high = found.estimate().interval
    assert low <= np.mean(scored(900, mid=4.0, weak=4.0)["human"]) <= high


def test_a_dear_rater_that_is_worth_it_stays_after_its_trial():
    judge, expert, human = (np.array(scored(900, mid=0.1, weak=6.0)[n]) for n in ("judge", "expert", "human"))
    pool = RehearsalPool.of(judge, expert, human, prices=[Decimal(p) for _, p in DEAR])
    game = Rehearsal(pool, pool.terms(budget=Decimal(120), bounds=(1, 9)))
    game.play()
    assert game.plans[0].items < game.plans[0].trial
    assert game.plans[1].asked(3).first == (0, 1)
    assert game.history.design is not None
    assert 1 in (*game.history.design.first, *game.history.design.steps)
    assert 120 - game.spent / 1e9 < 1.32


@pytest.mark.parametrize("stop", [1, 2, 3])
def test_a_start_in_two_parts_has_an_estimate_after_each(stop):
    """After the trial, after the start, after the choice: an interval that may be looked at."""
    judge, expert, human = (np.array(scored(300, mid=4.0)[n]) for n in ("judge", "expert", "human"))
    pool = RehearsalPool.of(judge, expert, human, prices=[Decimal(p) for _, p in DEAR])
    game, found = Rehearsal(pool, pool.terms(budget=Decimal(60), bounds=(1, 9))), []
    game.play(each_round=lambda g: found.append(anytime_estimate(g.history, g.terms.wanted)))
    assert found[stop - 1].interval[0] <= human.mean() <= found[stop - 1].interval[1]


def test_money_is_the_sum_of_the_prices_of_all_three(tmp_path):
    found = campaign(tmp_path)
    log, status = log_of(found), found.status()
    prices = [Decimal("0.02"), Decimal("0.2"), Decimal("1")]
    assert status.spent == sum(prices[row[1]] for row in log["ratings"])
    assert 80 - Decimal("1.22") < status.spent <= 80
    assert status.labels == sum(row[1] == 2 and row[2] == 1 for row in log["ratings"])


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
    pool = RehearsalPool.of(*ratings, prices=[Decimal(price) for _, price in RATERS])
    game = Rehearsal(pool, pool.terms(budget=Decimal(60), bounds=(1, 9)))
    game.play()
    low, high = estimate_history(game.history, game.terms.wanted).interval
    assert low <= np.mean(columns["human"]) <= high


@pytest.mark.parametrize("prices", [("0", "0", "1"), ("0", "0", "0"), ("0.01", "0", "1"), ("0", "0.5", "0")])
def test_ratings_for_nothing(prices):
    columns = scored(200)
    ratings = [np.array(columns[name]) for name, _ in RATERS]
    pool = RehearsalPool.of(*ratings, prices=[Decimal(p) for p in prices])
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
    pool = RehearsalPool.of(*ratings, prices=[Decimal(p) for _, p in RATERS])
    game = Rehearsal(pool, pool.terms(target_se=0.08, bounds=(1, 9)))
    assert game.play() == "the precision asked for is reached"
    assert abs(estimate_history(game.history, game.terms.wanted).value - ratings[2].mean()) < 4 * 0.08
    assert game.spent / 1e9 < 1.5 * 1.5**2 / 0.08**2  # what strong ratings alone would take, and half as much again
