"""What caution costs: `auto` with other floors on its rates, beside a design that knows f and u beforehand.

python benchmarks/caution.py

The floor is a share of the mean rate: 7/sqrt(labels), and at most a half. What that most should be is tried here.
Worlds in which the judge is sure and nearly always right have most to gain from a lower one; worlds in which it is sure
and wrong, or knows nothing, have most to lose.
"""

import argparse
import itertools

import numpy as np
from studies import everyday_worlds as everyday
from studies.everyday_worlds import Cell

from ratewise.core.policy import optimal_policy
from ratewise.design import options
from ratewise.lab.automatic import Trial
from ratewise.lab.trials import Block, Population, Setting
from ratewise.lab.workers import in_order
from ratewise.lab.worlds import calibrated

FLOORS = (1.0, 0.5, 0.25)
ITEMS, COST = 20_000, 0.01
SURE = {"sure judge, 0.5": (0.5, 0.9), "sure judge, 0.8": (0.8, 0.8), "sure judge, 0.95": (0.95, 0.8)}
OTHERS = {
    "calibrated, 0.98": Cell(0.98, 0, "calibrated", "stream"),
    "overconfident, 0.95": Cell(0.95, 0, "overconfident", "stream"),
    "useless, 0.9": Cell(0.9, 0, "useless", "stream"),
}
BUDGETS = (300, 1000)


def world(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Judge, people, and u where it is known."""
    rng = np.random.default_rng(len(name))
    if name in SURE:
        mean, spread = SURE[name]
        made = calibrated(ITEMS, mean=mean, spread=spread, rng=rng)
        return made.weak, made.strong, made.error
    g, h, _ = everyday.make(OTHERS[name], ITEMS, rng)
    return g, h, g * (1 - g) if OTHERS[name].judge == "calibrated" else None


def run(job: tuple[str, int, float, int]) -> tuple[float, float, float]:
    """Squared error over that of the design that knows f and u, over that of base; coverage."""
    name, budget, floor, trials = job
    options._HIGHEST_FLOOR = floor
    g, h, u = world(name)
    population = Population.of(g, h)
    block = Block(population, Setting(COST, (float(budget),), 0, "stream", 0.95, 0.1, 5), range(trials))
    found = [Trial(block, t, float(budget)).play() for t in range(trials)]
    truth, V = population.mean, population.variance
    error = np.mean([(e.value - truth) ** 2 for e in found])
    held = np.mean([e.interval[0] <= truth <= e.interval[1] for e in found])
    best = np.nan
    if u is not None:
        best = optimal_policy(u, variance=V, weak_cost=COST, strong_cost=1.0).error_times_budget / budget
    return float(error / best), float(error / (V / budget)), float(held)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=400)
    trials = parser.parse_args().trials
    jobs = [(n, b, f, trials) for n, b, f in itertools.product((*SURE, *OTHERS), BUDGETS, FLOORS)]
    found = dict(zip(jobs, in_order(run, jobs), strict=True))
    head = " | ".join(f"floor at most {f:g}: of known f, u / of base / coverage" for f in FLOORS)
    print(f"| world | budget | {head} |\n|---|---|" + "---|" * len(FLOORS))
    for name, budget in itertools.product((*SURE, *OTHERS), BUDGETS):
        cells = [found[name, budget, f, trials] for f in FLOORS]
        row = " | ".join(f"{'–' if np.isnan(a) else f'{a:.2f}'} / {b:.2f} / {c:.1%}" for a, b, c in cells)
        print(f"| {name} | {budget} | {row} |")


if __name__ == "__main__":
    main()
