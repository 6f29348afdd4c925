"""Ratings as the core takes them: shapes, what rates mean along a chain, and what is refused."""

import math

import numpy as np
import pytest

from ratewise.core.ratings import pool_of, ratings
from ratewise.errors import InputError


def test_one_rate_is_one_for_each_item():
    data = ratings([0.2, 0.8, 0.5], [1.0, np.nan, 0.0], 0.5)
    assert (data.items, data.labels) == (3, 2)
    np.testing.assert_array_equal(data.labelled, [True, False, True])
    np.testing.assert_array_equal(data.rates, [[0.5]] * 3)
    np.testing.assert_array_equal(data.inverse_rates(), [[1.0, 2.0]] * 3)
    np.testing.assert_array_equal(data.step_odds(), [[1.0]] * 3)


def test_rates_multiply_along_a_chain():
    weak = np.array([[0.1, np.nan], [0.2, 0.3]])
    data = ratings(weak, [np.nan, 1.0], np.array([[0.5, 0.2], [0.5, 0.2]]))
    assert data.labels == 1
    np.testing.assert_array_equal(data.rated[:, 0], [False, True])
    assert data.weak.shape == (2, 2)


@pytest.mark.parametrize(
    ("weak", "strong", "rates"),
    [
        ([0.1, np.nan], [1.0, 0.0], 0.5),
        ([0.1, 0.2], [1.0], 0.5),
        ([0.1, 0.2], [1.0, np.inf], 0.5),
        ([0.1, 0.2], [1.0, 0.0], 0.0),
        ([0.1, 0.2], [1.0, 0.0], 1.5),
    ],
)
def test_what_makes_no_sense_is_refused(weak, strong, rates):
    with pytest.raises(InputError):
        ratings(weak, strong, rates)


def test_the_pool_is_the_table_unless_it_is_told_otherwise():
    assert pool_of("population", None, 10) == math.inf
    assert pool_of("pool", None, 10) == 10
    assert pool_of("pool", 50, 10) == 50
    with pytest.raises(InputError):
        pool_of("pool", 5, 10)
