"""The confidence sequence: against a slow copy in plain Python, and its guarantees."""

import math

import numpy as np
import pytest

from ratewise.core.intervals import confidence_sequence
from ratewise.errors import InputError
from ratewise.questions.estimation import estimate_mean


def made_up(n, seed, *, mean=0.7, floor=0.2):
    rng = np.random.default_rng(seed)
    h = (rng.random(n) < mean).astype(float)
    g = np.clip(np.where(rng.random(n) < 0.15, 1 - h, h) * 0.9 + 0.05, 0, 1)
    pi = rng.uniform(floor, 1.0, n)
    xi = rng.random(n) < pi
    return g + (h - g) * xi / pi, g, np.where(xi, h, np.nan), pi


def slow_capital(delta, m, side, low, high, floor, level):
    """The gambler's largest log-capital, one item at a time; stakes as the module's formula says."""
    slack = (high - low) * (1 / floor - 1)
    room = m - (low - slack) if side > 0 else high + slack - m
    seen, squares, log, peak = [(low + high) / 2], [((high - low) / 2) ** 2], 0.0, 0.0
    for t, x in enumerate(delta, start=1):
        variance = sum(squares) / t
        stake = math.sqrt(2 * math.log(2 / (1 - level)) / (variance * t * math.log(1 + t)))
        stake = min(stake, 0.75 / room)
        log += math.log1p(side * stake * (x - m))
        peak = max(peak, log)
        seen.append(x)
        squares.append((x - sum(seen) / (t + 1)) ** 2)
    return peak


def test_ends_are_where_a_slow_gambler_gets_rich():
    delta, *_ = made_up(150, 1)
    low, high = confidence_sequence(delta, bounds=(0, 1), floor=0.2, level=0.9)
    rich = math.log(2 / 0.1)
    for end, side in ((low, 1.0), (high, -1.0)):
        assert 0 < end < 1
        assert slow_capital(delta, end - side * 1e-4, side, 0, 1, 0.2, 0.9) >= rich - 1e-9
        assert slow_capital(delta, end + side * 1e-4, side, 0, 1, 0.2, 0.9) < rich


def test_the_sequence_only_ever_shrinks():
    delta, *_ = made_up(400, 2)
    ends = np.array([confidence_sequence(delta[:n], bounds=(0, 1), floor=0.2, level=0.95) for n in (5, 50, 150, 400)])
    assert np.all(np.diff(ends[:, 0]) >= -1e-9)
    assert np.all(np.diff(ends[:, 1]) <= 1e-9)
    assert ends[-1, 1] - ends[-1, 0] < 0.6 * (ends[0, 1] - ends[0, 0])


def test_pieces_of_the_sum_do_not_show():
    """More items than are summed at once: the same ends as for a scale moved and stretched."""
    delta, *_ = made_up(9000, 3)
    low, high = confidence_sequence(delta, bounds=(0, 1), floor=0.2, level=0.95)
    moved = confidence_sequence(3 + 2 * delta, bounds=(3, 5), floor=0.2, level=0.95)
    assert moved == pytest.approx((3 + 2 * low, 3 + 2 * high), abs=1e-6)
    assert low < 0.7 < high
    assert high - low < 0.09


def test_one_item_gives_the_whole_scale_or_nearly():
    low, high = confidence_sequence(np.array([1.0]), bounds=(0, 1), floor=0.5, level=0.95)
    assert (low, high) == (0, 1)


def test_through_the_door():
    _, g, h, pi = made_up(600, 5)
    told = estimate_mean(g, h, pi, interval="anytime", floor=0.2)
    assert told.method == "difference"
    assert told.low < 0.7 < told.high
    assert told.notes == ()
    untold = estimate_mean(g, h, pi, interval="anytime")
    assert any("no floor was given" in note for note in untold.notes)
    with pytest.raises(InputError, match=r"below the floor 0.5"):
        estimate_mean(g, h, pi, interval="anytime", floor=0.5)
    with pytest.raises(InputError, match="population"):
        estimate_mean(g, h, pi, interval="anytime", estimand="pool")
    with pytest.raises(InputError, match="weak ratings within the bounds"):
        estimate_mean(g + 1, h, pi, interval="anytime", bounds=(0, 1))
