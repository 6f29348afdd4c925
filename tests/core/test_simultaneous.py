"""The largest of several dependent errors, against distributions that are known in closed form."""

import numpy as np
import pytest
from scipy import special, stats

from ratewise.core.intervals import largest_differences, largest_errors, normal_draws, simultaneous_quantile

NOISE = 0.012  # of a 95 % quantile from 20,000 draws, relative: five standard errors


def test_one_component_gives_the_normal_quantile():
    assert simultaneous_quantile(np.array([[4.0]]), 0.95) == pytest.approx(1.96, rel=NOISE)


@pytest.mark.parametrize("count", [2, 5, 40])
def test_independent_components_give_sidak(count):
    exact = special.ndtri(0.5 + 0.5 * 0.95 ** (1 / count))
    sizes = np.linspace(0.1, 9.0, count)
    assert simultaneous_quantile(np.diag(sizes), 0.95) == pytest.approx(exact, rel=NOISE)


def test_components_that_move_together_count_once():
    v = np.array([1.0, -3.0, 0.5])
    assert simultaneous_quantile(np.outer(v, v), 0.9) == pytest.approx(special.ndtri(0.95), rel=NOISE)


def test_components_without_variance_do_not_count():
    assert simultaneous_quantile(np.diag([0.0, 2.0]), 0.95) == pytest.approx(1.96, rel=NOISE)
    assert simultaneous_quantile(np.zeros((3, 3)), 0.95) == 0.0


def test_all_differences_of_independent_means_follow_the_studentized_range():
    for count in (3, 7):
        draws = largest_differences(np.eye(count) * 2.5)
        exact = stats.studentized_range.ppf(0.95, count, 1e6) / np.sqrt(2)
        assert np.quantile(draws, 0.95) == pytest.approx(exact, rel=0.025)


def test_differences_ignore_what_all_share():
    shared = np.diag([1.0, 2.0, 0.5, 1.0]) + 50.0
    alone = np.diag([1.0, 2.0, 0.5, 1.0])
    a, b = (np.quantile(largest_differences(c), 0.95) for c in (shared, alone))
    assert a == pytest.approx(b, rel=0.03)


def test_draws_have_the_covariance_asked_for_even_if_singular():
    A = np.array([[1.0, 0.0], [2.0, 1.0], [3.0, 1.0]])
    found = np.cov(normal_draws(A @ A.T, seed=3).T)
    np.testing.assert_allclose(found, A @ A.T, atol=0.4)


def test_the_same_seed_gives_the_same_draws():
    c = np.diag([1.0, 2.0])
    np.testing.assert_array_equal(largest_errors(c, seed=4), largest_errors(c, seed=4))
