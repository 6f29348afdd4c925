"""Campaigns that train on their own labels: unbiased, covering, and not fooled by texts that say nothing.

Rehearsals in memory, with a trainer that learns the mean rating of every word in the encoder's place. False alarms:
1e-4 each.
"""

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from scipy import stats

from ratewise.campaign.estimates import estimate_history
from ratewise.campaign.rehearsal import Rehearsal, RehearsalPool

from ..bounds import FALSE_ALARM, fewest, most, so_many

TRIALS = so_many(1000, some=12)
ITEMS, WORDS = 600, 30


def by_word(rows, ratings, asked, seed, check):
    """The mean rating of a text's first word, shrunk to that of all."""
    mean, sums, counts = ratings.mean(), {}, {}
    for (text,), rating in zip(rows, ratings.tolist(), strict=True):
        word = text.split()[0]
        sums[word], counts[word] = sums.get(word, 0.0) + rating, counts.get(word, 0) + 1
    words = [text.split()[0] for (text,) in asked]
    return np.array([(sums.get(word, 0.0) + 4 * mean) / (counts.get(word, 0) + 4) for word in words])


def played(trial, *, says_something):
    """(error, whether the interval covers, whether the refit is used) of a campaign."""
    rng = np.random.default_rng([trial, 61])
    word = rng.integers(0, WORDS, ITEMS)
    h = (rng.random(ITEMS) < np.linspace(0.05, 0.95, WORDS)[word]).astype(float)
    g = np.clip(0.5 + 0.3 * (h - 0.5) + 0.25 * rng.standard_normal(ITEMS), 0.01, 0.99)
    said = word if says_something else rng.permutation(word)
    texts = [(f"w{k} n{i}",) for i, k in enumerate(said.tolist())]
    pool = RehearsalPool.of(g, h, prices=(Decimal("0.05"), Decimal(1)), seed=trial)
    pool = replace(pool, texts=texts, trainer=by_word)
    game = Rehearsal(pool, pool.terms(budget=Decimal(220)))
    game.play()
    found = estimate_history(game.history, game.terms.wanted)
    return found.value - h.mean(), found.low <= h.mean() <= found.high, game.history.uses_refit


@pytest.fixture(scope="module", params=[True, False], ids=["texts that say something", "texts that say nothing"])
def study(request):
    error, covered, used = zip(*(played(i, says_something=request.param) for i in range(TRIALS)), strict=True)
    return request.param, np.array(error), np.mean(covered), np.mean(used)


def test_it_is_unbiased_and_covers(study):
    _, error, covered, _ = study
    bias = abs(error.mean()) / (error.std(ddof=1) / np.sqrt(TRIALS))
    assert bias < stats.t.isf(FALSE_ALARM / 2, TRIALS - 1)
    assert covered >= fewest(0.95, TRIALS)


def test_it_is_used_where_texts_say_something(study):
    says_something, _, _, used = study
    if says_something:
        assert used > 0.5
    else:
        assert used <= most(0.08, TRIALS)
