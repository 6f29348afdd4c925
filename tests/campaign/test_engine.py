"""One engine for simulation and production: a campaign buys what the laboratory's does, item by item."""

from decimal import Decimal

import numpy as np
import pytest

from ratewise.core.draw import uniform
from ratewise.core.estimate import EstimateOptions
from ratewise.design.rounds import estimate_seen, score_prior
from ratewise.lab.automatic import Trial
from ratewise.lab.trials import Block, Population, Setting
from ratewise.report.campaign import campaign_page

from .making import holds, judged, log_of, looked_at, ran, strong_mean


def simulated(columns, *, seed, budget, cost_ratio, features=None, prior=None):
    """The laboratory's campaign on the same items in the same order with the same random numbers."""
    ids = np.array(columns["id"], dtype=object)
    order = np.argsort(uniform(ids, seed=f"{seed}:order"), kind="stable")
    weak, strong = (np.array(columns[name], dtype=float) for name in ("judge", "human"))
    known = None if features is None else np.array([columns[name] for name in features], dtype=float).T
    setting = Setting(cost_ratio, (budget,), 0, "pool", 0.95, 0.1, 1)
    block = Block(Population.of(weak, strong, features=known), setting, range(1))
    block.index, block.uniform = order[None, :], uniform(ids[order], seed=seed)[None, :]
    game = Trial(block, 0, budget, prior=prior)
    return game, game.play(), order


_WITH_PRIOR = '\n[learner]\nprior = "probability"'


@pytest.mark.parametrize(
    ("items", "budget", "cost", "mean", "seed", "learner"),
    [
        (1500, 60, "0.05", 0.7, 7, ""),  # the budget ends before the pool
        (900, 45, "0.03", 0.8, 8, ""),
        (500, 140, "0.02", 0.7, 9, ""),  # the pool ends before the budget: exact rounds
        (400, 150.5, "0.01", 0.6, 10, ""),
        (300, 60, "0.4", 0.7, 11, ""),  # strong ratings alone
        (60, 80, "0.1", 0.7, 12, ""),  # enough for everything
        (50, 7, "0.1", 0.7, 13, ""),  # too little to learn from
        (1500, 60, "0.01", 0.9, 14, _WITH_PRIOR),
        (700, 80.5, "0.02", 0.7, 15, _WITH_PRIOR),  # the pool ends before the budget
        (3000, 300, "0.01", 0.9, 16, _WITH_PRIOR),  # more labels than the prior counts for
        (900, 45, "0.03", 0.8, 8, _WITH_PRIOR),  # too dear for it
    ],
)  # fmt: skip
def test_a_campaign_is_the_simulation_of_it(tmp_path, items, budget, cost, mean, seed, learner):
    """Items, draws, labels and estimate, for the pool's mean and the population's."""
    columns = judged(items, seed=seed, mean=mean, spread=0.7)
    prior = score_prior("probability", float(cost), 1.0) if learner else None
    bought, found, order = simulated(columns, seed=seed, budget=budget, cost_ratio=float(cost), prior=prior)
    for estimand in ("pool", "population"):
        campaign = ran(
            tmp_path / estimand, columns, seed=seed, goal=f'budget = "{budget}"' + learner, estimand=estimand,
            raters=(("judge", cost), ("human", "1")),
        )  # fmt: skip
        history, _ = looked_at(campaign)
        assert history.items == bought.seen.items
        ids = [row[1] for row in log_of(campaign)["items"]][: history.items]
        assert ids == [columns["id"][i] for i in order[: history.items]]
        np.testing.assert_array_equal(history.looked.values[:, 0], bought.seen.strong)
        np.testing.assert_array_equal(history.looked.selected[:, 0], bought.seen.labelled)
        np.testing.assert_allclose(history.seen.mass, bought.seen.mass, rtol=1e-9)
        assert [phase.items for phase in history.seen.phases] == [phase.items for phase in bought.seen.phases]
        pool = float(items) if estimand == "pool" else None
        right = estimate_seen(bought.seen, EstimateOptions(estimand=estimand, pool_size=pool, bounds=(0.0, 1.0)))
        ours = campaign.estimate()
        assert ours.value == pytest.approx(right.value, rel=1e-9)
        assert ours.interval == pytest.approx(right.interval, rel=1e-9)
        assert campaign.status().spent == Decimal(str(round(bought.spent, 9)))
        if estimand == "pool":
            assert ours.value == pytest.approx(found.value, rel=1e-9)
        holds(campaign)


def hinted(items, seed):
    """A column that says more than the judge does."""
    columns = judged(items, seed=seed, spread=0.1)
    noise = np.random.default_rng([seed, 31]).normal(size=items)
    return columns | {"hint": np.round(np.array(columns["human"]) + 0.4 * noise, 3).tolist()}


@pytest.mark.parametrize(("items", "budget", "seed"), [(1500, 90, 3), (600, 90.5, 4), (2000, 180, 5)])
def test_features_that_say_as_much_as_the_weak_rater_save_its_price(tmp_path, items, budget, seed):
    """It rates the start and no more. The whole pool is looked at, and the laboratory does the same."""
    columns = hinted(items, seed)
    bought, _, _ = simulated(columns, seed=seed, budget=budget, cost_ratio=0.05, features=["hint"])
    campaign = ran(tmp_path, columns, seed=seed, goal=f'budget = "{budget}"', items='features = ["hint"]')
    status = holds(campaign)
    history, _ = looked_at(campaign)
    start = history.seen.phases[0].items
    assert [(p.weak, p.rule is None) for p in history.seen.phases] == [(True, True)] + [(False, False)] * (
        len(history.seen.phases) - 1
    )
    assert np.all(np.isnan(history.looked.x.weak[start:]))
    asked = [row for row in log_of(campaign)["ratings"] if row[1] == 0]
    assert len(asked) == start
    assert history.items == items
    assert status.spent == Decimal(str(round(bought.spent, 9)))
    assert budget - 1 < status.spent
    np.testing.assert_array_equal(history.looked.selected[:, 0], bought.seen.labelled)
    found = campaign.estimate()
    right = estimate_seen(bought.seen, EstimateOptions(estimand="pool", pool_size=items, bounds=(0.0, 1.0)))
    assert found.value == pytest.approx(right.value, rel=1e-9)
    assert found.interval == pytest.approx(right.interval, rel=1e-9)
    assert any("features" in line for line in campaign.diagnosis().words())
    assert [c.by_features for c in campaign.story()] == [False] + [True] * (len(history.seen.phases) - 1)
    assert campaign_page(campaign).count("by features alone") == len(history.seen.phases) - 1


def test_a_precision_is_reached_by_features_without_using_up_the_pool(tmp_path):
    columns = hinted(4000, 6)
    campaign = ran(tmp_path, columns, goal="target_se = 0.02", items='features = ["hint"]')
    status = holds(campaign)
    assert status.ended == "the precision asked for is reached"
    assert status.labels < 0.21 / 0.02**2
    low, high = campaign.estimate().interval
    assert low <= strong_mean(columns) <= high
    history, _ = looked_at(campaign)
    assert history.items < 4000
