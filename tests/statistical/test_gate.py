"""How often a gate is wrong at the bar, and intervals of two samples, seeded; near the end of the scale, too.

Each bound is one that an error rate at its target exceeds with probability 1e-4.
"""

import numpy as np
import pytest
from scipy import stats

from ratewise.questions.check import check, gate
from ratewise.questions.comparison import compare_tables
from ratewise.questions.estimation import estimate_mean

from ..bounds import so_many

FALSE_ALARM = 1e-4
ALPHA = 0.05  # of the two-sided interval: each wrong verdict is to be rarer than this; 0.025 is what it aims at


def most(target, trials):
    """Share of errors above which an error rate of `target` is implausible."""
    return stats.binom.isf(FALSE_ALARM, trials, target) / trials


def judged(rng, mean, items, labels):
    """A judge with calibrated probabilities, and rates that follow its doubt."""
    p = rng.beta(5 * mean, 5 * (1 - mean), items)
    h = (rng.random(items) < p).astype(float)
    doubt = np.sqrt(p * (1 - p))
    rates = np.maximum(doubt, 0.3 * doubt.mean())
    rates = np.minimum(rates * labels / rates.sum(), 1.0)
    return p, np.where(rng.random(items) < rates, h, np.nan), rates


@pytest.mark.parametrize(
    ("mean", "items", "labels", "target"),
    [(0.8, 800, 120, 0.025), (0.98, 1000, 100, 0.025), (0.98, 800, 250, 0.025)],
)
def test_wrong_verdicts_at_the_bar(mean, items, labels, target):
    """The truth is at the bar: a yes below it is wrong. Broken: a gate that looks at the estimate alone."""
    trials, wrong = 300, {"yes": 0, "no": 0, "cannot tell": 0, "broken": 0}
    for trial in range(trials):
        g, h, rates = judged(np.random.default_rng([31, trial]), mean, items, labels)
        found = estimate_mean(g, h, rates)
        wrong[gate(found.interval, mean)] += 1
        wrong["broken"] += found.value >= mean
    assert wrong["yes"] / trials <= most(target, trials)
    assert wrong["no"] / trials <= most(target, trials)
    assert wrong["yes"] / trials < ALPHA
    assert wrong["broken"] / trials > most(ALPHA, trials)


def as_table(rng, mean, items, labels, first):
    g, h, rates = judged(rng, mean, items, labels)
    return {"id": [f"q{first + i}" for i in range(items)], "g": g, "h": h, "rate": rates}


@pytest.mark.parametrize(("means", "labels"), [((0.8, 0.82), (120, 80)), ((0.97, 0.98), (100, 150))])
def test_no_worse_at_the_margin_and_coverage_of_two_samples(means, labels):
    """The first is worse by just the margin: a yes is wrong. Broken: a gate that looks at the estimate alone."""
    trials, yes, held, broken = 200, 0, 0, 0
    for trial in range(trials):
        rng = np.random.default_rng([37, trial])
        new, old = (as_table(rng, m, 600, n, first) for m, n, first in zip(means, labels, (0, 10_000), strict=True))
        compared = compare_tables(new, old, weak="g", strong="h")
        gap, d = means[0] - means[1], compared.difference
        yes += gate(d.interval, gap) == "yes"
        held += d.low <= gap <= d.high
        broken += d.value >= gap
    assert yes / trials <= most(0.025, trials)
    assert 1 - held / trials <= most(0.06, trials)
    assert broken / trials > most(ALPHA, trials)
    assert check(new, weak="g", strong="h", no_worse_than=old, margin=0.5).verdict == "yes"


def test_shared_items_rated_apart_cover():
    """What is hard is hard for both systems. Target 94 %; broken: shared items forgotten gives wider intervals."""
    trials, held, narrower = so_many(200, some=100), 0, 0
    for trial in range(trials):
        rng = np.random.default_rng([41, trial])
        hard = rng.random(500)
        tables = []
        for skill in (0.95, 0.9):
            h = (rng.random(500) < skill - 0.9 * hard).astype(float)
            g = np.where(rng.random(500) < 0.3, 1 - h, h)
            asked = rng.random(500) < 0.5
            tables.append({"id": np.arange(500), "g": g, "h": np.where(asked, h, np.nan), "rate": np.full(500, 0.5)})
        d = compare_tables(*tables, weak="g", strong="h").difference
        apart = compare_tables(tables[0], {**tables[1], "id": np.arange(500) + 900}, weak="g", strong="h").difference
        gap = np.mean([np.clip(0.95 - 0.9 * x, 0, 1) - np.clip(0.9 - 0.9 * x, 0, 1) for x in np.linspace(0, 1, 2001)])
        held += d.low <= gap <= d.high
        narrower += d.high - d.low < apart.high - apart.low
    assert 1 - held / trials <= most(0.06, trials)
    assert narrower / trials > 0.9
