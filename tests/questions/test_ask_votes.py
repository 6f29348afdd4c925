"""Which votes to ask for: exact numbers, known probabilities, rounds that go on, and better than one rate for all."""

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, special

import ratewise as rw
from ratewise.core.m_estimation import gram
from ratewise.errors import InputError, TableError
from ratewise.questions.leaderboard import Pairs, _drawn, _moves, centring, read_models


def arena(seed=0, votes=3000):
    rng = np.random.default_rng(seed)
    r = np.linspace(1.2, -1.2, 6)
    a = rng.choice(6, votes, p=[0.4, 0.3, 0.15, 0.1, 0.03, 0.02])
    b = (a + rng.integers(1, 6, votes)) % 6
    h = (rng.random(votes) < special.expit(r[a] - r[b])) * 1.0
    g = np.clip(0.25 + 0.5 * h + 0.15 * rng.normal(size=votes), 0, 1)
    names = np.array(list("abcdef"))
    table = pd.DataFrame({"id": np.arange(votes), "model_a": names[a], "model_b": names[b], "judge": g})
    return table, h


def answered(asked, h):
    frame = asked.table.to_native()
    return frame.assign(human=np.where(asked.selected, h, np.nan))


def test_just_as_many_are_asked_as_said_and_rates_sum_to_that():
    table, _ = arena()
    asked = rw.ask_votes(table, votes=417, weak="judge", seed=1)
    assert int(asked.new.sum()) == 417
    assert asked.rates.sum() == pytest.approx(417)
    assert asked.rates.min() > 0
    assert asked.rates.max() <= 1


def test_rates_are_probabilities():
    """Over 3,000 seeds each item is drawn as often as its rate says: 400 items, beyond 5 once in 4,000 times."""
    table, _ = arena(votes=400)
    rates = rw.ask_votes(table, votes=80, weak="judge", seed=0).rates
    _, pairs = read_models(rw.read_table(table), "model_a", "model_b")
    left, ids = np.ones(400, dtype=bool), np.arange(400)
    hits = np.zeros(400)
    for seed in range(3000):
        hits += _drawn(pairs, rates, left, rw.uniform(ids, seed=seed), str(seed))
    away = (hits / 3000 - rates) / np.sqrt(rates * (1 - rates) / 3000 + 1e-12)
    assert np.abs(away[rates < 1]).max() < 5


def test_pairs_that_move_the_ratings_more_are_asked_more_often():
    table, _ = arena()
    asked = rw.ask_votes(table, votes=600, weak="judge", seed=1)
    rare = table["model_a"].isin(["e", "f"]) | table["model_b"].isin(["e", "f"])
    assert asked.rates[rare].mean() > 1.3 * asked.rates[~rare].mean()
    assert asked.saving < 0.95


def test_moves_are_the_influence_of_a_vote():
    rng = np.random.default_rng(2)
    pairs = Pairs(np.repeat([0, 0, 1, 2], [50, 5, 20, 10]), np.repeat([1, 2, 2, 3], [50, 5, 20, 10]), 4)
    eta = rng.normal(size=pairs.a.size)
    p = special.expit(eta)
    X = pairs.design().toarray()
    W = gram(X, p * (1 - p)) / eta.size
    direct = np.square(X @ np.linalg.inv(W) @ centring(4).T).sum(axis=1)
    np.testing.assert_allclose(_moves(pairs, eta), direct, rtol=1e-9)


def test_rates_are_the_best_there_are_for_a_known_error():
    """Brute force over rates of each pair: with a constant error no others of the same sum have a smaller trace."""
    pairs = Pairs(np.repeat([0, 0, 1, 2], [500, 20, 200, 60]), np.repeat([1, 2, 2, 3], [500, 20, 200, 60]), 4)
    kinds = np.repeat(np.arange(4), [500, 20, 200, 60])
    moves = _moves(pairs, np.zeros(kinds.size))
    counts, ell = np.bincount(kinds), np.array([moves[kinds == k][0] for k in range(4)])
    total = 120.0

    def trace(q):
        return float(np.sum(counts * ell * (1 / q - 1)))

    limits = {"type": "eq", "fun": lambda q: (counts @ q - total) / total}
    tries = [
        optimize.minimize(
            lambda q: trace(q) / 1e5, start, bounds=[(1e-3, 1)] * 4, constraints=limits, options={"ftol": 1e-14}
        )
        for start in np.random.default_rng(0).uniform(0.05, 0.9, (10, 4))
    ]
    best = min(trace(found.x) for found in tries if abs(limits["fun"](found.x)) < 1e-9)
    names = np.array(list("wxyz"))
    table = pd.DataFrame({"model_a": names[pairs.a], "model_b": names[pairs.b], "judge": 0.5})
    asked = rw.ask_votes(table, votes=int(total), weak="judge", seed=0)
    found = np.array([asked.rates[kinds == k][0] for k in range(4)])
    assert trace(found) <= best * (1 + 1e-6)


def test_a_further_round_adds_to_the_first():
    table, h = arena()
    one = rw.ask_votes(table, votes=300, weak="judge", seed=1)
    two = rw.ask_votes(answered(one, h), votes=200, weak="judge", strong="human", seed=1)
    assert int(two.new.sum()) == 200
    assert not np.any(two.new & one.selected)
    assert np.all(two.rates >= one.rates)
    assert int(two.selected.sum()) == 500


def test_answers_still_missing_come_first():
    table, h = arena()
    one = rw.ask_votes(table, votes=30, weak="judge", seed=1)
    half = answered(one, np.where(np.arange(h.size) % 2 == 0, h, np.nan))
    with pytest.raises(TableError, match=r"votes .* that were asked for are missing; get them before asking for more"):
        rw.ask_votes(half, votes=10, weak="judge", strong="human", seed=1)


def test_bad_requests_are_one_clear_line():
    table, _ = arena(votes=50)
    with pytest.raises(InputError, match="60 votes are asked for but only 50 comparisons are left"):
        rw.ask_votes(table, votes=60, weak="judge", seed=1)
    with pytest.raises(InputError, match="votes must be at least 1"):
        rw.ask_votes(table, votes=0, weak="judge", seed=1)
    with pytest.raises(TableError, match=r"row 3 .* has no weak vote"):
        rw.ask_votes(table.assign(judge=table["judge"].where(table.index != 2)), votes=5, weak="judge", seed=1)
    with pytest.raises(InputError, match="5 votes are asked for but only 0 comparisons are left"):
        rw.ask_votes(table.assign(human=1.0), votes=5, weak="judge", strong="human", seed=1)


def test_asking_for_all_that_is_left_gives_rate_one():
    table, _ = arena(votes=50)
    asked = rw.ask_votes(table, votes=50, weak="judge", seed=1)
    np.testing.assert_array_equal(asked.rates, 1.0)
    assert asked.selected.all()


def test_votes_without_a_rate_count_as_drawn_at_random_as_on_the_board():
    table, h = arena(votes=1000)
    some = np.random.default_rng(3).random(1000) < 0.2
    table["human"] = np.where(some, h, np.nan)
    rw.leaderboard(table, weak="judge", strong="human")  # takes them, too
    asked = rw.ask_votes(table, votes=100, weak="judge", strong="human", seed=1)
    assert int(asked.new.sum()) == 100
    assert not (asked.new & some).any()
    assert np.array_equal(asked.selected, asked.new | some)
    assert asked.rates.sum() == pytest.approx(some.sum() + 100, rel=0.05)
    assert f"{int(some.sum())} votes that are there count as drawn at random" in asked.notes[0]
    again = answered(asked, h)
    assert rw.leaderboard(again, weak="judge", strong="human", rate="rate", selected="selected") is not None
