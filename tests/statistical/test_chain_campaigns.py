"""Chains of raters as random quantities: intervals cover, estimates are unbiased, and steps are worth their money.

Played in memory by the decisions that spend real money. Every bound adds noise: where the truth is just at what is
allowed, a check fails by chance with probability 1e-4.
"""

from decimal import Decimal
from functools import cache

import numpy as np
import pytest
from scipy import stats

from ratewise.campaign.estimates import estimate_history
from ratewise.campaign.rehearsal import Rehearsal, RehearsalPool

from ..bounds import FALSE_ALARM, most
from ..worlds import knowing_expert, unsure_judge

PRICES = ("0.01", "0.15", "1")
Z = stats.norm.isf(FALSE_ALARM / 2)


@cache
def played(trials, *, items, budget, raters=(0, 1, 2)):
    """Errors, whether the interval covers, and whether steps were taken."""
    errors, covers, steps = [], [], []
    for seed in range(trials):
        world = unsure_judge(items, 500 + seed)
        pool = RehearsalPool.of(*(world[k] for k in raters), prices=[Decimal(PRICES[k]) for k in raters], seed=seed)
        game = Rehearsal(pool, pool.terms(budget=Decimal(budget)))
        game.play()
        found, truth = estimate_history(game.history, game.terms.wanted), float(world[2].mean())
        errors.append(found.value - truth)
        covers.append(found.interval[0] - 1e-12 <= truth <= found.interval[1] + 1e-12)
        steps.append(game.history.steps is not None)
    return np.array(errors), np.array(covers), np.array(steps)


@cache
def with_doubts(trials, *, told, items=1500, budget=150):
    """Errors, and whether the interval covers, with an expert who knows when it is wrong."""
    errors, covers = [], []
    for seed in range(trials):
        *raters, doubt = knowing_expert(items, seed)
        pool = RehearsalPool.of(
            *raters, prices=[Decimal(price) for price in PRICES], seed=seed, doubts=(doubt,) if told else ()
        )  # fmt: skip
        game = Rehearsal(pool, pool.terms(budget=Decimal(budget)))
        game.play()
        found, truth = estimate_history(game.history, game.terms.wanted), float(raters[-1].mean())
        errors.append(found.value - truth)
        covers.append(found.interval[0] <= truth <= found.interval[1])
    return np.array(errors), np.array(covers)


def check(errors, covers):
    assert 1 - covers.mean() <= most(0.06, covers.size)
    assert abs(errors.mean()) <= (Z * errors.std() + 0.3 * errors.std()) / np.sqrt(errors.size)


def test_intervals_of_chains_cover():
    errors, covers, steps = played(40, items=300, budget=90)
    check(errors, covers)
    assert steps.mean() > 0.2


def test_the_check_notices_an_interval_of_half_the_width():
    """Half the width covers 67 % of the time, and 40 campaigns are enough to see that."""
    assert most(0.06, 40) < 1 - 0.67


@pytest.mark.soak
@pytest.mark.parametrize(("items", "budget"), [(300, 90), (1500, 150), (4000, 300)])
def test_chains_cover_in_many_trials(items, budget):
    """Several hundred campaigns of each kind."""
    errors, covers, steps = played(400, items=items, budget=budget)
    check(errors, covers)
    assert steps.mean() > 0.2


@pytest.mark.soak
def test_steps_are_worth_their_money():
    """Squared error no more than 3 % above the better pair of raters, less noise."""
    ours = played(400, items=4000, budget=300)[0] ** 2
    pairs = [played(400, items=4000, budget=300, raters=raters)[0] ** 2 for raters in ((0, 2), (1, 2))]
    best = min(pairs, key=np.mean)
    noise = Z * np.std(ours - best) / np.sqrt(ours.size)
    assert ours.mean() <= 1.03 * best.mean() + noise


@pytest.mark.soak
def test_an_expert_who_says_when_it_is_unsure_is_worth_more():
    """Unbiased, covering, and at most 0.9 of the squared error without its doubt, and noise."""
    told, silent = (with_doubts(400, told=told) for told in (True, False))
    check(*told)
    gain = told[0] ** 2 - 0.9 * silent[0] ** 2
    assert gain.mean() <= Z * gain.std() / np.sqrt(gain.size)


def test_intervals_cover_where_an_expert_says_when_it_is_unsure():
    check(*with_doubts(12, told=True, items=300, budget=60))
