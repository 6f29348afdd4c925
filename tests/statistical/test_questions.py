"""Campaigns with a question as random quantities, played in memory by the planner that spends real money.

Every bound states what is allowed and adds noise: where the truth is just at what is allowed, a check fails by chance
with probability 1e-4. A broken version must fail the same check.
"""

from dataclasses import replace
from decimal import Decimal
from functools import cache

import numpy as np
import pytest

from ratewise.campaign.answers import Goals
from ratewise.campaign.estimates import Look, final_answers, level_of_look
from ratewise.campaign.rehearsal import Rehearsal, RehearsalPool
from ratewise.questions.question import CampaignQuestion
from ratewise.tables import read_table

from ..bounds import FALSE_ALARM, most, so_many

PRICES = (Decimal("0.001"), Decimal(1))
TRIALS = so_many(500, some=40)


def slices(trial, items=500):
    """Four slices of different sizes, a judge that is calibrated, and the slices' own means."""
    rng = np.random.default_rng([trial, 9001])
    topic = rng.choice(4, items, p=[0.5, 0.25, 0.15, 0.1])
    p = rng.beta(np.array([6, 4, 4, 3])[topic], 2)
    human = (rng.random(items) < p) * 1.0
    question = CampaignQuestion.of("slices", ("by",), read_table({"by": np.array(list("abcd"))[topic]}))
    pool = RehearsalPool.of(p, human, prices=PRICES, question=question, place=topic[:, None].astype(float), seed=trial)
    return pool, {name: human[topic == k].mean() for k, name in enumerate("abcd")}


def systems(trial, gap, prompts=300):
    """Two systems on the same prompts, drawn together; their difference in the pool."""
    rng = np.random.default_rng([trial, 9002])
    hard = rng.normal(0, 1, prompts)
    z = np.column_stack([hard + 0.7 + gap, hard + 0.7]) + 0.6 * rng.normal(size=(prompts, 2))
    p = 1 / (1 + np.exp(-z))
    human = (rng.random((prompts, 2)) < p) * 1.0
    question = CampaignQuestion("compare", ("system",), ("new", "old"), (prompts, prompts), "old")
    place = np.tile([0.0, 1.0], prompts)[:, None]
    pool = RehearsalPool.of(p.ravel(), human.ravel(), prices=PRICES, question=question, place=place)
    together = np.repeat(np.arange(prompts), 2)
    pool = replace(pool, uniform=rng.random(prompts)[together], clusters=together)
    return pool, float(human[:, 0].mean() - human[:, 1].mean())


def ended(pool, budget, goals=None):
    game = Rehearsal(pool, pool.terms(budget=Decimal(budget), goals=goals or Goals()))
    game.play()
    look = Look.of(game.terms.wanted, changed=False, ended=True, more=False)
    return final_answers(game.history, game.terms.wanted, look), game


@cache
def sliced():
    """Errors of all slices over half their intervals, trials × slices."""
    out = []
    for trial in range(TRIALS):
        pool, truth = slices(trial)
        found, _ = ended(pool, 100)
        middle = [(one.low + one.high) / 2 for one in found.answers]
        off = [truth[one.name] - m for one, m in zip(found.answers, middle, strict=True)]
        out.append([abs(x) * 2 / (one.high - one.low) for x, one in zip(off, found.answers, strict=True)])
    return np.array(out)


def test_intervals_of_all_slices_hold_at_once():
    assert (sliced().max(axis=1) > 1).mean() <= most(0.05, TRIALS)


def test_half_as_wide_they_would_not():
    """The check above notices intervals that are too narrow."""
    assert (sliced().max(axis=1) > 0.5).mean() > most(0.05, TRIALS)


@pytest.mark.parametrize("gap", [0.0, 0.1])
def test_a_decision_between_near_ties_is_rarely_wrong(gap):
    wrong = 0
    for trial in range(TRIALS):
        pool, truth = systems(trial, gap)
        (one,) = ended(pool, 120, Goals(decide=0.0))[0].answers
        wrong += one.decided is not None and (one.decided == "above") != (truth > 0)
    assert wrong / TRIALS <= most(0.05, TRIALS)


def test_a_clear_difference_is_decided_before_the_money_is_spent():
    spent = []
    for trial in range(8):
        found, game = ended(systems(trial, 1.5)[0], 300, Goals(decide=0.0))
        assert found.answers[0].decided == "above"
        spent.append(game.spent)
    assert np.mean(spent) < 0.6 * 300 * 10**9


def test_the_error_of_all_looks_together_is_what_was_asked_for():
    """Whatever the number of rounds, planned or not."""
    pool, _ = slices(0)
    for budget in (60, 150, 400):
        wanted = pool.terms(budget=Decimal(budget), goals=Goals(decide=0.5)).wanted
        assert wanted.looks > 1
        shares = [1 - level_of_look(wanted, look) for look in range(1, 5000)]
        assert sum(shares) <= 0.05 + 1e-9
        assert sum(shares[: wanted.looks]) > 0.04
    assert FALSE_ALARM < 1e-3
