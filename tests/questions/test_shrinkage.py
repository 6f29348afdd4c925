"""Means drawn together: as far as they may be noise, and no further."""

import numpy as np
import pytest

from ratewise.questions.slices import shrunk_means


def test_equal_truths_are_drawn_together_and_unlike_ones_stay():
    rng = np.random.default_rng(3)
    errors = np.full(12, 0.1)
    alike = 0.5 + 0.1 * rng.normal(size=12)
    model, shrunk = shrunk_means(alike, errors, level=0.9)
    assert model.mean == pytest.approx(0.5, abs=0.1)
    assert np.std([s.value for s in shrunk]) < 0.8 * alike.std()
    unlike = np.linspace(-5, 5, 12)
    model, shrunk = shrunk_means(unlike, errors, level=0.9)
    np.testing.assert_allclose([s.value for s in shrunk], unlike, atol=0.02)
    assert model.between > 2


def test_the_less_sure_move_more_and_intervals_stay_on_the_scale():
    values, errors = np.array([0.2, 0.9, 0.5, 0.6, 0.99]), np.array([0.3, 0.02, 0.1, 0.1, 0.05])
    _, shrunk = shrunk_means(values, errors, level=0.95)
    moved = [abs(s.value - v) for s, v in zip(shrunk, values, strict=True)]
    assert moved[0] == max(moved)
    assert all(s.interval[0] < s.value < s.interval[1] for s in shrunk)
    assert all(0 <= end <= 1 for s in shrunk for end in s.within((0.0, 1.0)).interval)
