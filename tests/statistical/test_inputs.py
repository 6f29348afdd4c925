"""Campaigns that choose their items by strata, as random quantities; played in memory by the decisions themselves.

A table with very different strata: 80 % easy items that are nearly all right, 15 % hard ones on which the weak rater
often errs, 5 % odd ones. Every bound states what is allowed and adds noise: a check fails by chance with probability
1e-4 at most.
"""

from dataclasses import replace
from decimal import Decimal
from functools import cache

import numpy as np
import pytest
from scipy import stats

from ratewise.campaign.estimates import estimate_history
from ratewise.campaign.rehearsal import Rehearsal, RehearsalPool
from ratewise.campaign.strata import Inputs

from ..bounds import FALSE_ALARM, most, sizes, so_many

Z = stats.norm.isf(FALSE_ALARM / 2)
CAMPAIGNS = sizes(250, all=600)
USING_UP = so_many(300, some=150)
NAMES = ("easy", "hard", "odd")
SIZES = np.array([800, 150, 50])
RIGHT, WRONG = np.array([0.98, 0.6, 0.4]), np.array([0.02, 0.25, 0.2])
SHARES = (0.5, 0.38, 0.12)


def made(seed):
    """Stratum, weak and strong rating of a pool's items."""
    rng = np.random.default_rng([seed, 9001])
    code = np.repeat(np.arange(3), SIZES)
    h = (rng.random(code.size) < RIGHT[code]).astype(float)
    g = np.where(rng.random(code.size) < WRONG[code], rng.random(code.size), 0.9 * h + 0.05)
    return code, g, h


def chosen_pool(seed, shares, centres=(0.97, 0.6, 0.4)):
    code, g, h = made(seed)
    inputs = Inputs("topic", NAMES, tuple(SIZES.tolist()), shares, centres)
    order = inputs.order(code, np.random.default_rng([seed, 5]).random(code.size))
    code, g, h = code[order], g[order], h[order]
    plain = RehearsalPool.of(g, h, prices=(Decimal("0.05"), Decimal(1)), seed=seed)
    pool = replace(plain, features=inputs.columns(code), inputs=inputs, strata=code)
    return pool, float(h.mean())


def plain_pool(seed):
    code, g, h = made(seed)
    order = np.random.default_rng([seed, 5]).permutation(code.size)
    strata = (code[:, None] == np.arange(3)).astype(float)[order]  # to learn from, as the others have it
    return RehearsalPool.of(
        g[order], h[order], prices=(Decimal("0.05"), Decimal(1)), seed=seed, features=strata
    ), float(h.mean())


BUDGET = 60  # with twice as much, campaigns that have the strata as features have caught up


def played(pool, budget=BUDGET):
    game = Rehearsal(pool, pool.terms(budget=Decimal(budget), estimand="pool"))
    game.play()
    assert game.spent <= budget * 10**9
    return game


@cache
def campaigns(kind, trials):
    """Errors, and whether the interval misses, of many campaigns."""
    errors, misses = [], []
    for seed in range(trials):
        pool, truth = plain_pool(seed) if kind == "plain" else chosen_pool(seed, SHARES)
        game = played(pool)
        found = estimate_history(game.history, game.terms.wanted)
        errors.append(found.value - truth)
        misses.append(not found.interval[0] <= truth <= found.interval[1])
    return np.array(errors), np.array(misses)


@pytest.mark.parametrize("trials", CAMPAIGNS)
def test_chosen_campaigns_are_unbiased(trials):
    errors, _ = campaigns("chosen", trials)
    assert abs(errors.mean()) < Z * errors.std() / np.sqrt(trials)


@pytest.mark.parametrize("trials", CAMPAIGNS)
def test_intervals_of_chosen_campaigns_cover(trials):
    """Misses of a plain interval at the end: at most 8 %, as for campaigns that do not choose."""
    _, misses = campaigns("chosen", trials)
    assert misses.mean() <= most(0.08, trials)


@pytest.mark.parametrize("trials", CAMPAIGNS)
def test_choosing_pays_where_strata_differ(trials):
    """The squared error is smaller, by pairs on the same items; without a gain this would pass one time in twenty."""
    chosen, plain = campaigns("chosen", trials)[0] ** 2, campaigns("plain", trials)[0] ** 2
    gain = plain - chosen
    assert gain.mean() > stats.norm.isf(0.05) * gain.std() / np.sqrt(trials)


@cache
def used_up():
    """Errors of campaigns that use a stratum up in the first round, with rounds pooled within strata and over all."""
    within, over_all = [], []
    for seed in range(USING_UP):
        pool, truth = chosen_pool(seed, (0.1, 0.1, 0.8), centres=(0.5, 0.5, 0.5))
        game = played(pool, budget=150)
        history, wanted = game.history, game.terms.wanted
        within.append(estimate_history(history, wanted).value - truth)
        assert np.bincount(history.looked.strata)[2] == SIZES[2]
        pooled = replace(history, stratum_mass=history.seen.mass * _of_own(history) / history.items)
        over_all.append(estimate_history(pooled, wanted).value - truth)
    return np.array(within), np.array(over_all)


def _of_own(history):
    return np.bincount(history.looked.strata)[history.looked.strata]


def test_a_stratum_that_is_used_up_does_no_harm():
    errors, _ = used_up()
    assert abs(errors.mean()) < Z * errors.std() / np.sqrt(USING_UP)


def test_rounds_pooled_over_all_strata_would_be_biased():
    """Labels of a stratum that was used up at rate 1 would count as if drawn at the rates of later rounds."""
    within, over_all = used_up()
    assert abs(over_all.mean()) > Z * over_all.std() / np.sqrt(USING_UP)
    assert np.mean(over_all**2) > np.mean(within**2)
