"""Rows that the strong ratings say nothing about."""

import numpy as np

from ratewise.questions.regression import running_rows, unlabelled_rows

WORD = np.repeat([0.0, 1.0], [6, 4])
X = np.column_stack([np.ones(10), WORD])


def test_a_word_without_a_label_is_not_told():
    np.testing.assert_array_equal(unlabelled_rows(X, WORD == 0), WORD == 1)
    assert not unlabelled_rows(X, np.ones(10, dtype=bool)).any()


def test_a_fit_runs_away_on_the_group_that_it_runs_on():
    groups = [WORD == 0, WORD == 1]
    np.testing.assert_array_equal(running_rows(X, np.array([0.0, 1.0]), groups), WORD == 1)
    assert running_rows(X, np.array([1.0, 0.0]), []).all()
