"""Everyday systems, by their parts; what intervals do with them is in tests/statistical/test_everyday.py."""

import numpy as np
import pytest
from scipy import stats
from studies.everyday_worlds import Cell, drawn_cells, exact_width, grid, make, one_shot_rates


def test_cells_kept_aside_are_not_those_looked_at():
    chosen, aside = drawn_cells()
    assert (len(chosen), len(aside)) == (48, 12)
    assert not set(chosen) & set(aside)
    assert drawn_cells() == (chosen, aside)
    assert set(chosen) | set(aside) <= set(grid())
    assert all(cell.mode == "stream" or 2 * cell.labels <= cell.items for cell in grid())


@pytest.mark.parametrize("judge", ["calibrated", "overconfident", "reversed", "useless"])
def test_a_judge_is_what_its_name_says(judge):
    g, h, features = make(Cell(0.8, 60, judge, "stream", True), 20_000, np.random.default_rng(3))
    told = np.corrcoef(g, h)[0, 1]
    assert abs(h.mean() - 0.8) < 0.02
    assert features.shape == (20_000, 3)
    assert {"calibrated": told > 0.3, "overconfident": told > 0.3, "reversed": told < -0.3}.get(judge, abs(told) < 0.03)


def test_rates_have_the_labels_asked_for():
    g = np.random.default_rng(4).beta(4, 1, 500)
    rates = one_shot_rates(g, 60)
    assert rates.sum() == pytest.approx(60, rel=1e-6)
    assert 0 < rates.min() < rates.max() <= 1


def test_the_exact_width_by_summing_over_all_outcomes():
    n, p = 40, 0.9
    k = np.arange(n + 1)
    intervals = [stats.binomtest(int(i), n).proportion_ci(method="exact") for i in k]
    widths = np.array([interval.high - interval.low for interval in intervals])
    assert exact_width(n, p) == pytest.approx(stats.binom.pmf(k, n, p) @ widths, rel=1e-9)
