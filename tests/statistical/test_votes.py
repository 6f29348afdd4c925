"""Coverage where a rating is the mean of one to k noisy votes, seeded: thousands of trials.

Each bound is one that true coverage of the stated target misses with probability 1e-4.
"""

import numpy as np
import pytest
from scipy import stats

import ratewise as rw
from ratewise.core.estimate import EstimateOptions
from ratewise.core.ratings import Ratings
from ratewise.core.votes import Votes
from ratewise.questions.estimation import estimate_rated
from ratewise.questions.rated import RatedTable, TablePool, with_votes

from ..bounds import FALSE_ALARM, fewest, further


def real(rng, mu, k):
    """Real votes, noisier on some items."""
    return mu[:, None] + (0.5 + (mu[:, None] > 3)) * rng.normal(size=(mu.size, k))


def binary(rng, mu, k):
    """0/1 votes: an item's mean is the share of all people who would say 1."""
    return (rng.random((mu.size, k)) < mu[:, None]).astype(float)


def estimated(rng, mu, vote, estimand, *, rate=0.5, most=3, bounds=None):
    """One trial: who is drawn, how many vote (one to three, at random), and what they say."""
    T = mu.size
    drawn = rng.random(T) < rate
    voted = drawn[:, None] & (np.arange(most) < rng.integers(1, most + 1, T)[:, None])
    votes = Votes(np.where(voted, vote(rng, mu, most), np.nan), ("a", "b", "c")[:most])
    judge = mu + rng.normal(0, 0.3 * mu.std(), T)
    items = Ratings(judge, votes.means, np.full(T, rate))
    everyone = np.ones(T, dtype=np.bool_)
    found = estimate_rated(items, EstimateOptions(estimand=estimand, bounds=bounds))
    rated = RatedTable(None, items, everyone, everyone, (), False, TablePool("", T, T, True), votes, bounds)
    return found, with_votes(found, rated)


def test_population_real_votes():
    """Items and votes anew in every trial. Target 94 %, 2,000 trials; the estimate is unbiased."""
    trials, values, held = 2000, [], 0
    for trial in range(trials):
        rng = np.random.default_rng([51, trial])
        _, found = estimated(rng, rng.normal(3, 1, 200), real, "population")
        values.append(found.value)
        held += found.low <= 3 <= found.high
    assert held / trials >= fewest(0.94, trials)
    assert abs(np.mean(values) - 3) < stats.norm.isf(FALSE_ALARM / 2) * np.std(values) / np.sqrt(trials)


@pytest.mark.parametrize("rate", [0.5, further(1.0)])
def test_pool_real_votes(rate):
    """The same items in every trial: draw and votes are anew. Target 94 %; broken: the draw's variance alone."""
    mu = np.random.default_rng(52).normal(3, 1, 200)
    trials, held, broken = 2000, 0, 0
    for trial in range(trials):
        plain, found = estimated(np.random.default_rng([53, trial]), mu, real, "pool", rate=rate)
        held += found.low <= mu.mean() <= found.high
        broken += plain.low <= mu.mean() <= plain.high
    assert held / trials >= fewest(0.94, trials)
    assert broken / trials < fewest(0.94, trials)


def test_people_who_nearly_all_say_yes():
    """0/1 votes, 97 % of them 1: the scale's ends are known, so the interval is a score's. Target 93 %."""
    trials, held = 300, 0
    for trial in range(trials):
        rng = np.random.default_rng([54, trial])
        _, found = estimated(rng, rng.beta(9.7, 0.3, 300), binary, "population", bounds=(0.0, 1.0))
        held += found.low <= 0.97 <= found.high
    assert held / trials >= fewest(0.93, trials)


def test_pools_of_items_that_nearly_everyone_says_yes_to():
    """Three people, gaps, 99 % yes, a judge in tenths, rates by its doubt: what the draw adds is nearly nothing.

    Votes' own variance is added to either side; sides stretched by one factor are 0.4 wide and hold 87 %.
    """
    trials, held, widths, size = 150, 0, [], 1000
    for trial in range(trials):
        rng = np.random.default_rng([55, trial])
        mu = stats.norm.cdf(stats.norm.ppf(0.99) * np.sqrt(17) + 4 * rng.normal(size=size))
        judge = np.round(mu, 1)
        rates = np.where(judge == 1, 0.3, 1.0)
        votes = np.where((rng.random(size) < rates)[:, None], binary(rng, mu, 3), np.nan)
        votes[:, 1:][rng.random((size, 2)) < 0.4] = np.nan
        people = {f"p{k}": votes[:, k] for k in range(3)}
        table = {"judge": judge, "rate": rates, **people}
        found = rw.estimate_table(table, weak="judge", strong=list(people), estimand="pool", recalibrate="auto")
        held += found.low <= mu.mean() <= found.high
        widths.append(found.high - found.low)
    assert held / trials >= fewest(0.95, trials)
    assert np.mean(widths) < 0.02
