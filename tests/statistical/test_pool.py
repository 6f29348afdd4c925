"""Coverage of a pool's own mean where the money lasts for a part of it, from plan to estimate as a user goes.

Bounds are binomial: a question whose intervals hold in 95 % of cases fails by chance with probability 1e-4.
"""

from functools import cache

import numpy as np
import pytest

import ratewise as rw

from ..bounds import fewest, so_many
from ..worlds import dear_judge

TRIALS = so_many(400, some=60)
ROWS, PILOT = 2500, 200
SCALES = {"verdicts": (0.0, 1.0), "scores": (1.0, 9.0)}


@cache
def drawn_and_rated(seed, kind):
    """The pool as the draw of a plan gave it, with the answers of those that were drawn; and all answers."""
    g, h = dear_judge(PILOT + ROWS, seed, kind)
    pilot, pool = {"judge": g[:PILOT], "human": h[:PILOT]}, {"id": np.arange(ROWS), "judge": g[PILOT:]}
    plan = rw.plan(
        pilot, weak="judge", strong="human", weak_cost=0.25, strong_cost=1.0, budget=150, pool_size=ROWS,
        estimand="pool",
    )  # fmt: skip
    drawn = rw.draw_pool(pool, plan, seed=seed)
    truth = h[PILOT:]
    return dict(drawn.table.arrays()) | {"human": np.where(drawn.selected, truth, np.nan)}, truth


def looked_at(table):
    return {name: values[~np.isnan(table["rate"])] for name, values in table.items()}


def told(table, kind, **how):
    return rw.estimate_table(table, weak="judge", strong="human", estimand="pool", bounds=SCALES[kind], **how)


def holds(found, truth):
    low, high = found.interval
    return low <= truth <= high


@pytest.mark.parametrize("kind", SCALES)
def test_an_interval_holds_the_mean_of_all_rows_looked_at_or_not(kind):
    held, too_small = {"all rows": 0, "rows looked at": 0}, 0
    for seed in range(TRIALS):
        table, truth = drawn_and_rated(seed, kind)
        part = looked_at(table)
        without = {name: values for name, values in part.items() if name != "pool_size"}
        for name, each in zip(held, (table, part), strict=True):
            held[name] += holds(told(each, kind), truth.mean())
        too_small += holds(told(without, kind, interval="t"), truth.mean())
    assert held["all rows"] / TRIALS >= fewest(0.95, TRIALS)
    assert held["rows looked at"] == held["all rows"]
    assert too_small / TRIALS < fewest(0.95, TRIALS)  # the rows looked at taken for the pool: the check can fail


def test_slices_hold_the_means_of_their_own_rows():
    topic = np.array(["law"] * 900 + ["code"] * (ROWS - 900))
    held = 0
    for seed in range(TRIALS):
        table, truth = drawn_and_rated(seed, "verdicts")
        table = table | {"topic": topic}
        for rows in (table, looked_at(table)):
            found = rw.estimate_slices(rows, by="topic", weak="judge", strong="human", estimand="pool")
            held += sum(holds(one, truth[topic == one.name].mean()) for one in found.slices)
    assert held / (4 * TRIALS) >= fewest(0.95, 2 * TRIALS)  # the two readings of a draw are no trials of their own


def test_a_difference_of_two_systems_holds_that_of_the_pool():
    held = 0
    for seed in range(TRIALS):
        table, first = drawn_and_rated(seed, "verdicts")
        rng = np.random.default_rng([30, seed])
        second = np.where(rng.random(ROWS) < 0.2, 1 - first, first)
        asked = ~np.isnan(table["human"])
        both = table | {"other": np.clip(table["judge"] - 0.1, 0, 1), "human_2": np.where(asked, second, np.nan)}
        found = rw.compare(
            looked_at(both), weak=("judge", "other"), strong=("human", "human_2"), estimand="pool", bounds=(0, 1)
        )
        held += holds(found.difference, first.mean() - second.mean())
    assert held / TRIALS >= fewest(0.95, TRIALS)


def test_two_draws_by_one_seed_hold_the_difference_of_two_pools():
    """As two campaigns with one seed; systems that err in opposite ways, so that the common draw widens."""
    trials, ids, held, apart = 4 * TRIALS, np.arange(600), 0, 0
    hard = np.random.default_rng(31).random(600)
    answers = [np.clip(5 + sign * 3 * (hard - 0.5), 1, 9) for sign in (1, -1)]
    for seed in range(trials):
        tables = []
        for h, rate in zip(answers, (0.15 + 0.1 * hard, 0.25 - 0.1 * hard), strict=True):
            drawn = rw.draw(rate, ids, seed=seed)
            tables.append({"id": ids, "judge": np.full(600, 5.0), "human": np.where(drawn, h, np.nan), "rate": rate})
        found = rw.compare_tables(*tables, weak="judge", strong="human", estimand="pool", method="difference")
        held += holds(found.difference, answers[0].mean() - answers[1].mean())
        errors = [part.standard_error for part in (found.first, found.second)]
        gap = abs(found.difference.value - answers[0].mean() + answers[1].mean())
        apart += gap <= 1.96 * np.hypot(*errors)
    assert held / trials >= fewest(0.95, trials)
    assert apart / trials < fewest(0.95, trials)  # taken as independent: the check can fail
