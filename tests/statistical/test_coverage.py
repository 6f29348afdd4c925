"""Coverage of the default and anytime intervals, seeded; a fast part of `make study`.

Bounds are binomial: a cell whose true coverage is at the stated target fails by chance with probability 1e-4.
"""

import numpy as np
import pytest
from studies.single_draws import Cell, run_cell

from ratewise.core.intervals import confidence_sequence, normal, spread
from ratewise.core.ratings import ratings

from ..bounds import fewest, further, so_many

TRIALS = so_many(1500, some=700)

CELLS = [
    further(Cell("bernoulli", 0.5, "fair", 30, active=False)),
    Cell("bernoulli", 0.85, "good", 60, active=True),
    Cell("bernoulli", 0.95, "useless", 60, active=False),
    Cell("bernoulli", 0.95, "good", 20, active=True),
    further(Cell("bernoulli", 0.99, "fair", 100, active=True)),
    further(Cell("calibrated", 0.5, "good", 20, active=False)),
    further(Cell("calibrated", 0.85, "fair", 30, active=True)),
    further(Cell("calibrated", 0.95, "fair", 30, active=False)),
    Cell("calibrated", 0.99, "useless", 100, active=False),
    Cell("calibrated", 0.99, "good", 200, active=True),
    further(Cell("gaussian", 0.7, "good", 30, active=True)),
    Cell("gaussian", 0.7, "fair", 20, active=False),
    Cell("gaussian", 0.7, "useless", 60, active=True),
]


@pytest.mark.parametrize("cell", CELLS, ids=Cell.name)
def test_auto_covers_and_is_unbiased(cell):
    found = run_cell(cell, [("auto", "auto")], trials=TRIALS, seed=11)["auto", "auto"]
    assert found.coverage >= fewest(0.92 if cell.labels < 30 else 0.94, found.trials)
    assert abs(found.bias) < 0.1 + 3.9 / np.sqrt(found.trials)


def test_the_check_catches_intervals_that_do_not_cover():
    """Tuning on the same labels, and the normal interval where all labels may be equal, fail the same bound."""
    broken = {
        ("regression", "normal"): Cell("bernoulli", 0.95, "good", 20, active=True),
        ("difference", "normal"): Cell("calibrated", 0.99, "useless", 60, active=False),
    }
    for way, cell in broken.items():
        found = run_cell(cell, [way], trials=500, seed=12)[way]
        assert found.coverage < fewest(0.92, found.trials), way


def test_auto_is_not_much_wider_than_normal_where_that_one_covers():
    for cell in (Cell("bernoulli", 0.5, "fair", 60, True), Cell("calibrated", 0.5, "fair", 100, False)):
        ways = [("difference", "normal"), ("auto", "auto")]
        found = run_cell(cell, ways, trials=400, seed=13)
        assert found["auto", "auto"].width <= 1.15 * found["difference", "normal"].width


def peeking(trial, n=300, floor=0.15):
    """Ratings that come in one by one, with rates that follow what was seen so far."""
    rng = np.random.default_rng([17, trial])
    h = (rng.random(n) < 0.85).astype(float)
    g = np.where(rng.random(n) < 0.2, 1 - h, h)
    pi = np.empty(n)
    errors, rated = 1.0, 4.0
    strong = np.full(n, np.nan)
    for t in range(n):
        pi[t] = np.clip(np.sqrt(errors / rated), floor, 1.0)
        if rng.random() < pi[t]:
            strong[t] = h[t]
            errors, rated = errors + (h[t] != g[t]), rated + 1
    return g, strong, pi


def test_anytime_interval_survives_peeking_and_a_normal_one_does_not():
    """The ends are a running intersection: the truth is inside at the end only if it never was outside."""
    trials, held, fooled = 1200, 0, 0
    for trial in range(trials):
        g, strong, pi = peeking(trial)
        delta = g + np.where(np.isnan(strong), 0.0, np.nan_to_num(strong) - g) / pi
        low, high = confidence_sequence(delta, bounds=(0, 1), floor=0.15, level=0.95)
        held += low <= 0.85 <= high
        if trial < 200:
            fooled += normal_interval_is_ever_wrong(g, strong, pi)
    assert held / trials >= fewest(0.95, trials)
    assert 1 - fooled / 200 < fewest(0.95, 200)


def normal_interval_is_ever_wrong(g, strong, pi):
    for n in range(40, g.size + 1, 10):
        data = ratings(g[:n], strong[:n], pi[:n])
        delta = data.weak[:, 0] + np.where(data.labelled, np.nan_to_num(strong[:n]) - g[:n], 0.0) / pi[:n]
        low, high = normal(spread(delta, data.weak, data, pool_size=np.inf), 0.95)
        if not low <= 0.85 <= high:
            return True
    return False
