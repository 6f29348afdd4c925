"""Leaderboards over hundreds of seeded trials: unbiased ratings, intervals and ranks that hold as often as they say.

Chance alone fails one of these about once in ten thousand runs of the file: binomial bounds at 1e-4 where trials are
counted, four standard errors where they are averaged.
"""

import functools

import numpy as np
import pandas as pd
from scipy import special, stats

import ratewise as rw

from ..bounds import fewest, so_many

TRIALS = so_many(160, some=80)
MODELS = 6
TRUE = np.array([0.9, 0.5, 0.2, -0.1, -0.5, -1.0])


def arena(seed, votes=1500):
    rng = np.random.default_rng(seed)
    a = rng.choice(MODELS, votes, p=[0.3, 0.25, 0.2, 0.15, 0.06, 0.04])
    b = (a + rng.integers(1, MODELS, votes)) % MODELS
    p = special.expit(TRUE[a] - TRUE[b])
    z = rng.random(votes)
    h = np.where(z < 0.8 * p, 1.0, np.where(z < 0.8 * p + 0.2, 0.5, 0.0)) * 1.0
    g = np.clip(0.2 + 0.5 * h + 0.15 * rng.normal(size=votes), 0, 1)
    names = np.array([f"m{k}" for k in range(MODELS)])
    return pd.DataFrame({"id": np.arange(votes), "model_a": names[a], "model_b": names[b], "judge": g, "all": h})


def by_name(board, key):
    return np.array([getattr(m, key) for m in sorted(board.models, key=lambda m: m.name)], dtype=float)


@functools.cache
def trials():
    """Ratings around the fit to all votes of the same table: only the draw is random."""
    table = arena(0)
    truth = by_name(rw.leaderboard(table, strong="all"), "rating")
    out = []
    for seed in range(TRIALS):
        asked = rw.ask_votes(table, votes=300, weak="judge", seed=seed)
        voted = asked.table.to_native().assign(human=np.where(asked.selected, table["all"], np.nan))
        board = rw.leaderboard(voted, strong="human", weak="judge", rate="rate", estimand="pool")
        out.append(board)
    return truth, out


def test_ratings_are_unbiased_where_votes_were_chosen_unevenly():
    truth, found = trials()
    away = np.array([by_name(board, "rating") - truth for board in found])
    z = away.mean(axis=0) / (away.std(axis=0, ddof=1) / np.sqrt(TRIALS))
    assert np.abs(away.mean(axis=0) / away.std(axis=0, ddof=1)).max() < 0.1 + 4 / np.sqrt(TRIALS)
    assert np.abs(z).max() < 5.0


def test_each_interval_covers():
    truth, found = trials()
    hits = np.array([
        np.abs(by_name(b, "rating") - truth) <= 1.96 * by_name(b, "standard_error") for b in found
    ])  # fmt: skip
    assert hits.mean(axis=0).min() >= fewest(0.945, TRIALS)
    assert hits.mean() <= 0.975


def test_all_intervals_cover_at_once():
    truth, found = trials()
    hits = np.mean([np.all((by_name(b, "low") <= truth) & (truth <= by_name(b, "high"))) for b in found])
    assert hits >= fewest(0.945, TRIALS)


def test_ranks_hold_at_once():
    truth, found = trials()
    rank = stats.rankdata(-truth)
    hits = np.mean([np.all((by_name(b, "rank_low") <= rank) & (rank <= by_name(b, "rank_high"))) for b in found])
    assert hits >= fewest(0.95, TRIALS)
    width = np.mean([by_name(b, "rank_high") - by_name(b, "rank_low") for b in found])
    assert width < MODELS - 1.5  # they say something


def test_intervals_for_one_model_alone_do_not_hold_at_once():
    """The check of the check: with 1.96 in place of the simultaneous quantile the test above fails."""
    truth, found = trials()
    hits = np.mean([
        np.all(np.abs(by_name(b, "rating") - truth) <= 1.96 * by_name(b, "standard_error")) for b in found
    ])  # fmt: skip
    assert hits < fewest(0.945, TRIALS)


def test_chosen_votes_beat_as_many_at_one_rate():
    truth, found = trials()
    table = arena(0)
    chosen = np.mean([np.square(by_name(b, "rating") - truth).mean() for b in found])
    uniform = []
    for seed in range(TRIALS):
        picked = np.random.default_rng(seed).permutation(len(table))[:300]
        human = np.full(len(table), np.nan)
        human[picked] = table["all"].to_numpy()[picked]
        board = rw.leaderboard(table.assign(human=human), strong="human")
        if len(board.rated) == MODELS:
            uniform.append(np.square(by_name(board, "rating") - truth).mean())
    assert chosen < 0.75 * np.mean(uniform)


def test_intervals_cover_the_population():
    """Fresh tables of a known world."""
    hits = []
    for trial in range(TRIALS):
        table = arena(1000 + trial, votes=700)
        asked = rw.ask_votes(table, votes=250, weak="judge", seed=trial)
        voted = asked.table.to_native().assign(human=np.where(asked.selected, table["all"], np.nan))
        board = rw.leaderboard(voted, strong="human", weak="judge", rate="rate")
        expected = population()
        hits.append(np.abs(by_name(board, "rating") - expected) <= 1.96 * by_name(board, "standard_error"))
    assert np.mean(hits, axis=0).min() >= fewest(0.94, TRIALS)


@functools.cache
def population():
    return by_name(rw.leaderboard(arena(999, votes=200_000), strong="all"), "rating")
