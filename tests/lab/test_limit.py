"""`limit`: its error is the formula's for the f and u it knows, it is honest, and base where nothing helps."""

import numpy as np
import pytest
from scipy import stats

from ratewise.lab.methods import Lab, Limit, _at_even_steps, best_way
from ratewise.lab.simulate import simulate
from ratewise.lab.trials import Population, Setting
from ratewise.lab.worlds import calibrated

Z = stats.norm.isf(0.5e-4)  # 3.9: false alarm 1e-4


def setting(mode, budgets, *, c=0.02, burn_in=0):
    return Setting(c, budgets, burn_in, mode, 0.95, 0.1, 5)


@pytest.fixture(scope="module")
def population():
    world = calibrated(3000, mean=0.75, spread=0.8, rng=np.random.default_rng(31))
    return Population.of(world.weak, world.strong)


@pytest.mark.parametrize(("mode", "budgets"), [("stream", (60.0, 150.0)), ("pool", (100.0, 300.0))])
def test_the_error_is_the_formula(population, mode, budgets):
    """Squared errors of 600 trials around what the way expects; power tuning may help by a little."""
    s = setting(mode, budgets)
    lab = Lab.of(population, s, ["base", "limit"], None)
    found = lab.run(range(600))["limit"]
    known = Limit.of(population, s)
    squared = (found.value - population.mean) ** 2
    for k, B in enumerate(budgets):
        expected, _ = best_way(known, B, s.pool_size(population))
        se = squared[:, k].std() / np.sqrt(600)
        assert abs(squared[:, k].mean() - expected) < Z * se + 0.06 * expected
        alone = population.variance * (1 / B - 1 / s.pool_size(population))
        assert expected < 0.8 * alone
    bias = found.value.mean(axis=0) - population.mean
    assert np.all(np.abs(bias) < Z * found.value.std(axis=0) / np.sqrt(600))
    held = ((found.low <= population.mean) & (population.mean <= found.high)).mean(axis=0)
    assert np.all(held > stats.binom.ppf(1e-4, 600, 0.92) / 600)
    assert np.all(found.spend <= np.array(budgets) + 1e-9)
    assert np.all(found.spend.mean(axis=0) > 0.97 * np.array(budgets))


def test_a_useless_weak_rater_leaves_strong_ratings_alone():
    rng = np.random.default_rng(8)
    useless = Population.of(rng.random(400), (rng.random(400) < 0.6).astype(float))
    s = setting("stream", (50.0,), c=0.3)
    found = Lab.of(useless, s, ["base", "limit"], None).run(range(5))
    np.testing.assert_array_equal(found["limit"].value, found["base"].value)


def test_features_alone_count_where_a_pool_ends():
    """The weak rater says nothing and costs much; a feature says nearly all."""
    rng = np.random.default_rng(9)
    p = rng.choice([0.05, 0.95], 1500)
    h = (rng.random(1500) < p).astype(float)
    table = {"g": rng.random(1500), "h": h, "x": p}
    prices = {"weak": "g", "strong": "h", "cost_ratio": 0.5, "budgets": [150], "burn_in": 0, "mode": "pool"}
    found = [simulate(table, methods=["limit"], features=x, trials=60, workers=1, **prices) for x in ((), ("x",))]
    bare, told = (one.of("limit")[0] for one in found)
    assert told.of_base < 0.5 * bare.of_base


def test_even_steps_keep_rates_and_spend():
    rng = np.random.default_rng(10)
    pi = np.tile(rng.uniform(0.01, 0.9, 50), (4000, 1))
    drawn = _at_even_steps(pi, rng.random((4000, 1)))
    counts = drawn.sum(axis=1)
    assert counts.max() - counts.min() <= 1
    z = (drawn.mean(axis=0) - pi[0]) / np.sqrt(pi[0] * (1 - pi[0]) / 4000)
    assert np.abs(z).max() < stats.norm.isf(0.5e-4 / 50)
