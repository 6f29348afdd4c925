"""Votes in numbers and words."""

import numpy as np
import pytest

from ratewise.errors import TableError
from ratewise.questions.leaderboard import read_models, read_votes, weak_predictor
from ratewise.tables import read_table

TABLE = {
    "a": ["x", "y", "x", "z"], "b": ["y", "z", "z", "x"], "vote": ["model_a", "tie", "", "B"],
    "number": [1.0, 0.5, np.nan, 0.0], "odd": ["a", "perhaps", "b", "tie"],
}  # fmt: skip


def test_words_and_numbers_are_the_same_votes():
    table = read_table(TABLE)
    np.testing.assert_array_equal(read_votes(table, "vote"), [1.0, 0.5, np.nan, 0.0])
    np.testing.assert_array_equal(read_votes(table, "number"), read_votes(table, "vote"))
    with pytest.raises(TableError, match="perhaps"):
        read_votes(table, "odd")


def test_models_are_numbered_and_none_meets_itself():
    names, pairs = read_models(read_table(TABLE), "a", "b")
    assert [names[i] for i in pairs.a] == TABLE["a"]
    assert [names[i] for i in pairs.b] == TABLE["b"]
    with pytest.raises(TableError, match="itself"):
        read_models(read_table({"a": ["x", "y"], "b": ["x", "z"]}), "a", "b")


def test_weak_votes_alone_tell_who_is_ahead():
    rng = np.random.default_rng(4)
    a = rng.integers(0, 3, 400)
    b = (a + 1 + rng.integers(0, 2, 400)) % 3
    table = {"a": [f"m{i}" for i in a], "b": [f"m{i}" for i in b]}
    names, pairs = read_models(read_table(table), "a", "b")
    order = np.array([int(name[1]) for name in names])
    better = (order[pairs.a] > order[pairs.b]).astype(float)
    told = weak_predictor(pairs, 0.1 + 0.8 * better)
    assert np.corrcoef(told[:, 0], better)[0, 1] > 0.8
