"""Cells of the coverage study; what they find is in tests/statistical/test_coverage.py."""

import numpy as np
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
