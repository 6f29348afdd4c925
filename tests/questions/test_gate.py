"""The gate's verdicts, and how many labels would tell: closed forms against brute force."""

import math

import numpy as np
import pytest
from scipy import special, stats

from ratewise.questions.check import gate, labels_to_tell, rounded_up, times_to_tell


@pytest.mark.parametrize(
    ("interval", "verdict"),
    [
        ((0.8, 0.9), "yes"),
        ((0.81, 0.9), "yes"),
        ((0.7, 0.79), "no"),
        ((0.7, 0.8), "cannot tell"),
        ((0.79, 0.9), "cannot tell"),
        (None, "cannot tell"),
        ((math.nan, math.nan), "cannot tell"),
    ],
)
def test_the_whole_interval_decides(interval, verdict):
    assert gate(interval, 0.8) == verdict


def test_so_many_labels_tell_four_times_of_five():
    """Normal means: with `times` as many labels a new interval is beyond the bar with probability 80 %."""
    value, se, bar = 3.4, 0.5, 3.0
    z = special.ndtri(0.975)
    times = times_to_tell(value, (value - z * se, value + z * se), bar, level=0.95)
    assert special.ndtr((value - bar) / (se / math.sqrt(times)) - z) == pytest.approx(0.8)


@pytest.mark.parametrize(("value", "bar", "n"), [(0.9, 0.85, 100), (0.7, 0.8, 60), (0.97, 0.95, 200)])
def test_of_a_proportion_the_score_test_decides(value, bar, n):
    """Wilson's interval from n labels; the power of Wilson's interval with as many as it says, by simulation."""
    z = special.ndtri(0.975)

    def wilson(p, m):
        middle = (p + z * z / (2 * m)) / (1 + z * z / m)
        half = z * np.sqrt(p * (1 - p) / m + z * z / (4 * m * m)) / (1 + z * z / m)
        return middle - half, middle + half

    times = times_to_tell(value, wilson(value, n), bar, level=0.95, bounds=(0.0, 1.0))
    m = math.ceil(times * n)
    share = np.random.default_rng(1).binomial(m, value, 40_000) / m
    low, high = wilson(share, m)
    told = (low >= bar) if value > bar else (high < bar)
    assert told.mean() == pytest.approx(0.8, abs=0.05)


def test_all_labels_right_needs_the_rule_of_three_not_a_root():
    """Near an end widths fall as 1/n: 30 of 30 right, bar 0.95; the exact test takes 72."""
    low = stats.beta.ppf(0.025, 30, 1)
    needed = labels_to_tell(30, times_to_tell(1.0, (low, 1.0), 0.95, level=0.95, bounds=(0.0, 1.0)))
    assert 60 <= needed <= 100


def test_none_where_hardly_any_would_tell():
    assert times_to_tell(0.8, (0.7, 0.9), 0.8, level=0.95) is None
    assert times_to_tell(0.8001, (0.7, 0.9), 0.8, level=0.95) is None


def test_of_a_pool_at_most_all_of_it():
    assert labels_to_tell(100, 4.0) == 400
    assert labels_to_tell(100, 4.0, pool_size=200) == 160
    assert labels_to_tell(100, 900.0, pool_size=200) == 200
    assert labels_to_tell(200, 2.0, pool_size=200) == 200


def test_two_digits_up():
    assert [rounded_up(x) for x in (1, 9.2, 41, 101, 1234, 12001)] == [1, 10, 41, 110, 1300, 13000]
