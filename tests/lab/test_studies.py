"""Parts of the studies; what they find is in tests/statistical."""

from itertools import groupby

import numpy as np
import pytest
from scipy import stats
from studies.everyday_worlds import Cell as EverydayCell
from studies.everyday_worlds import drawn_cells, exact_width, grid, make, one_shot_rates
from studies.questions import Question, questions, run, systems_table
from studies.single_draws import LABELS, Cell, cells, make_world, run_cell


def test_cells_have_names_of_their_own():
    every = cells()
    assert len({cell.name() for cell in every}) == len(every)
    assert {cell.labels for cell in every} == set(LABELS)
    assert {cell.labels for cell in cells([60])} == {60}


def test_a_world_has_the_mean_of_its_cell():
    for name in ("bernoulli", "calibrated", "gaussian"):
        world = make_world(Cell(name, 0.85, "fair", 60, False), np.random.default_rng(1))
        assert abs(world.strong.mean() - world.mean) < 0.02


def test_a_cell_is_the_same_for_a_seed_and_for_one_way_among_others():
    cell = Cell("bernoulli", 0.85, "fair", 60, True)
    alone = run_cell(cell, [("auto", "auto")], trials=20, seed=3)
    both = run_cell(cell, [("difference", "normal"), ("auto", "auto")], trials=20, seed=3)
    assert alone["auto", "auto"] == both["auto", "auto"]
    assert 0 <= alone["auto", "auto"].coverage <= 1


def test_cells_kept_aside_are_not_those_looked_at():
    chosen, aside = drawn_cells()
    assert (len(chosen), len(aside)) == (48, 12)
    assert not set(chosen) & set(aside)
    assert drawn_cells() == (chosen, aside)
    assert set(chosen) | set(aside) <= set(grid())
    assert all(cell.mode == "stream" or 2 * cell.labels <= cell.items for cell in grid())


@pytest.mark.parametrize("judge", ["calibrated", "overconfident", "reversed", "useless"])
def test_a_judge_is_what_its_name_says(judge):
    g, h, features = make(EverydayCell(0.8, 60, judge, "stream", True), 20_000, np.random.default_rng(3))
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


FIRST = [next(rows) for _, rows in groupby(questions(), key=lambda q: q.kind)]


@pytest.mark.parametrize("question", FIRST, ids=lambda q: q.kind)
def test_every_kind_answers_and_repeats_itself(question):
    held = run(question, trials=5, seed=1)
    assert held == run(question, trials=5, seed=1)
    assert held.trials == 5
    assert set(held.covered) == set(held.width)
    named = {"clusters ignored"}
    assert all(0.5 <= share <= 1 for name, share in held.covered.items() if name not in named)
    assert all(width > 0 for width in held.width.values())


def test_worlds_have_names_of_their_own():
    names = [(q.kind, q.world) for q in questions()]
    assert len(names) == len(set(names))


def test_an_interval_that_misses_is_counted():
    miss = Question("made", "up", lambda rng: {"low": (0.0, 0.1, rng.random()), "all": (0.0, 1.0, 0.5)})
    held = run(miss, trials=400, seed=3)
    assert 0.05 < held.covered["low"] < 0.16
    assert held.covered["all"] == 1
    assert held.width == {"low": pytest.approx(0.1), "all": pytest.approx(1.0)}


@pytest.mark.parametrize("judge", ["calibrated", "useless"])
def test_systems_have_the_means_and_the_number_of_labels_asked_for(judge):
    table = systems_table(np.random.default_rng(5), (0.9, 0.6), 400, judge, items=200_000)
    assert table["gA"].mean() == pytest.approx(0.9, abs=0.005)
    assert table["rate"].sum() == pytest.approx(400, abs=1)
    assert np.count_nonzero(~np.isnan(table["hA"])) == pytest.approx(400, abs=80)
    known = ~np.isnan(table["hB"])
    likely = np.corrcoef(table["gB"][known], table["hB"][known])[0, 1]
    assert (likely > 0.2) == (judge == "calibrated")
