"""Columns as features: numbers, gaps, words, and the same coding in another table."""

import numpy as np
import pytest

import ratewise as rw
from ratewise import TableError
from ratewise.learn.features import Coding, codings, feature_matrix


@pytest.fixture
def table():
    return rw.read_table(
        {
            "length": [3.0, 8.0, 1.0, 9.0, 2.0, 4.0],
            "gap": [1.0, np.nan, 5.0, 2.0, np.nan, 9.0],
            "group": ["a", "b", "a", "c", "b", "a"],
            "flag": [True, False, True, True, False, False],
            "same": ["x"] * 6,
            "none": [np.nan] * 6,
        }
    )


def test_numbers_stay_and_gaps_are_filled_and_told(table):
    X = feature_matrix(table, codings(table, ["length", "gap", "flag"]))
    np.testing.assert_array_equal(X[:, 0], [3, 8, 1, 9, 2, 4])
    np.testing.assert_array_equal(X[:, 1], [1, 3.5, 5, 2, 3.5, 9])  # the median of 1, 5, 2, 9
    np.testing.assert_array_equal(X[:, 2], [0, 1, 0, 0, 1, 0])
    np.testing.assert_array_equal(X[:, 3], [1, 0, 1, 1, 0, 0])


def test_words_become_a_column_each_the_most_frequent_first(table):
    (coding,) = codings(table, ["group"])
    assert coding.words == ("a", "b", "c")
    np.testing.assert_array_equal(
        feature_matrix(table, [coding]).T, [[1, 0, 1, 0, 0, 1], [0, 1, 0, 0, 1, 0], [0, 0, 0, 1, 0, 0]]
    )


def test_another_table_is_coded_the_same_way(table):
    coded = codings(table, ["group", "gap"])
    again = tuple(Coding.from_dict(coding.to_dict()) for coding in coded)
    assert again == coded
    other = rw.read_table({"group": ["d", "b"], "gap": [np.nan, 2.0]})
    np.testing.assert_array_equal(feature_matrix(other, again), [[0, 0, 0, 3.5, 1], [0, 1, 0, 2, 0]])


def test_no_features_are_none(table):
    assert feature_matrix(table, ()) is None


@pytest.mark.parametrize(
    ("name", "message"),
    [("same", "nothing to learn from"), ("none", "is empty"), ("lenght", "did you mean 'length'")],
)
def test_what_cannot_be_learned_from_is_refused(table, name, message):
    with pytest.raises(TableError, match=message) as found:
        codings(table, [name])
    assert "\n" not in str(found.value)


def test_a_column_of_single_texts_is_refused():
    table = rw.read_table({"prompt": [f"prompt {k}" for k in range(300)]})
    with pytest.raises(TableError, match="300 different texts"):
        codings(table, ["prompt"])


def test_a_number_missing_in_another_table_only_is_refused(table):
    coded = codings(table, ["length"])
    other = rw.read_table({"length": [1.0, np.nan]})
    with pytest.raises(TableError, match="length"):
        feature_matrix(other, coded)
