"""A pilot, its plan and the pool that is drawn from."""

import numpy as np
import pytest

import ratewise as rw
from ratewise.lab.worlds import calibrated


@pytest.fixture(scope="module")
def judged():
    return calibrated(9000, mean=0.82, spread=0.6, rng=np.random.default_rng(601))


@pytest.fixture(scope="module")
def plan(judged):
    pilot = {"g": judged.weak[:500], "h": judged.strong[:500]}
    return rw.plan(pilot, weak="g", strong="h", weak_cost=0.02, strong_cost=1.1, budget=260)


@pytest.fixture(scope="module")
def pool(judged):
    return {"id": np.array([f"x{i}" for i in range(8500)], dtype=object), "g": judged.weak[500:]}
