"""How fast is `simulate`? 2,000 trials × 4 methods × 8 budgets, against the obvious loop in plain Python.

The loop is written from the paper and METHODS, one trial, one budget and one item after the other, and is fed with the
very same items and random numbers, so that its estimates must equal the library's; the largest difference is printed.
It is timed on a few trials and scaled. Reads imagenet_resnet50 from ../shared/data, or the folder named by
RATEWISE_DATA; where it is absent, a made-up table of the same size.
"""

import argparse
import math
import os
import pathlib
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ratewise.lab.methods import Lab
from ratewise.lab.simulate import simulate
from ratewise.lab.trials import Block, Population, Setting
from ratewise.lab.worlds import calibrated
from ratewise.models.calibration import Calibration, fit_calibration

DATA = pathlib.Path(os.environ.get("RATEWISE_DATA", pathlib.Path(__file__).resolve().parents[2] / "shared" / "data"))
METHODS = ("base", "paper-random", "paper-active", "oracle")
BUDGETS = tuple(125.0 * k for k in range(1, 9))
COST_RATIO, BURN_IN, TRIALS = 0.05, 200, 2000

Rate = Callable[[int, float], float]  # of a row of the table with this calibrated weak rating


# The obvious loop


@dataclass(frozen=True, slots=True)
class Learned:
    """What a policy is made from: calibrated weak ratings with their labels, V, and the squared errors."""

    platt: Calibration
    weak: list[float]
    strong: list[float]
    variance: float
    squared_error: list[float]


@dataclass(frozen=True, slots=True)
class Spent:
    """What one budget bought in one trial."""

    value: float
    items: int
    labels: int


def score(platt: Calibration, g: float) -> float:
    """σ(a + b·logit(g)), g kept 0.001 from the ends; of ratings in [0, 1]."""
    g = min(max(g, 1e-3), 1 - 1e-3)
    return 1 / (1 + math.exp(-(platt.intercept + platt.slope * math.log(g / (1 - g)))))


def learned(weak: Sequence[float], strong: Sequence[float]) -> Learned:
    """Platt scaling and all parameters from the same labels."""
    platt = fit_calibration(weak, strong, kind="platt")
    n, mean = len(strong), sum(strong) / len(strong)
    V = sum((h - mean) ** 2 for h in strong) / n
    if min(strong) == max(strong):  # nothing is known of V: that of a mean one label away from either end
        mean = (sum(strong) + 1) / (n + 2)
        V = mean * (1 - mean)
    g = [score(platt, x) for x in weak]
    return Learned(platt, g, list(strong), V, [(h - x) ** 2 for h, x in zip(strong, g, strict=True)])


def best_rate(M: float, V: float, c: float) -> float:
    """Prop. 1: p* = sqrt(c M / W)."""
    return math.sqrt(c * M / (V - M)) if M * (1 + c) < V else 1.0


def best_scale(u: Sequence[float], V: float, c: float) -> float:
    """γ of Prop. 2: the root of s V = E[min(s u, 1)] + c, by trying every number k of items that are always rated."""
    n, falling = len(u), sorted(u, reverse=True)
    rest = math.fsum(falling)
    for k in range(n + 1):
        slope = V - rest / n
        s = (k / n + c) / slope if slope > 0 else math.inf
        if k == n or s * falling[k] <= 1:
            return math.sqrt(s)
        rest -= falling[k]
    raise AssertionError("F has a root")


def follow(
    known: Learned,
    rate: Rate,
    stream: Sequence[tuple[int, float]],
    table: tuple[Sequence[float], Sequence[float]],
    *,
    budget: float,
    cost_ratio: float,
    tuned: bool,
) -> Spent:
    """Items one by one, until the worst-case cost of the next does not fit; then λ̂ and the mean of Δ."""
    weak, strong = table
    spent, taken = 0.0, []
    for row, r in stream:
        if spent + cost_ratio + 1 > budget * (1 + 1e-9):  # rounding of the sum
            break
        g = score(known.platt, weak[row])
        p = rate(row, g)
        spent += cost_ratio
        h = None
        if r < p:
            h = strong[row]
            spent += 1
        taken.append((g, h, p))
    power = plug_in(taken) if tuned else 1.0
    total, labels = 0.0, 0
    for g, h, p in taken:
        total += power * g
        if h is not None:
            total += (h - power * g) / p
            labels += 1
    return Spent(total / len(taken), len(taken), labels)


def plug_in(taken: Sequence[tuple[float, float | None, float]]) -> float:
    """λ̂ of the paper's appendix on power tuning; 1 where there is nothing to tune."""
    top = bottom = 0.0
    for g, h, p in taken:
        odds = 1 / p - 1
        bottom += g * g * odds
        top += g * g * odds
        if h is not None:
            top += (h * g - g * g) / p * odds
    return top / bottom if bottom > 0 else 1.0


def combined(known: Learned, rates: Sequence[float], burn_in: Sequence[float], found: Spent) -> float:
    """Inverse-variance average of the burn-in's mean and the policy's, by the variances that `known` expects."""
    if not burn_in:
        return found.value
    added = [u * (1 / p - 1) for u, p in zip(known.squared_error, rates, strict=True)]
    first = known.variance / len(burn_in)
    second = (known.variance + sum(added) / len(added)) / found.items
    mean = sum(burn_in) / len(burn_in)
    return (second * mean + first * found.value) / (first + second)


def policy_of(method: str, known: Learned, cost_ratio: float) -> Rate:
    """The paper's policies; an item of error 0 is as good as never rated."""
    if method == "paper-random":
        M = sum(known.squared_error) / len(known.squared_error)
        p = max(best_rate(M, known.variance, cost_ratio), 1e-12)
        return lambda _, __: p
    if method == "paper-active":
        scale = best_scale([g * (1 - g) for g in known.weak], known.variance, cost_ratio)
        return lambda _, g: max(min(scale * math.sqrt(g * (1 - g)), 1.0), 1e-12)
    scale = best_scale(known.squared_error, known.variance, cost_ratio)
    u = known.squared_error
    return lambda row, _: max(min(scale * math.sqrt(u[row]), 1.0), 1e-12)


def estimates(lab: Lab, trials: range, whole: Learned) -> dict[str, list[list[float]]]:
    """Method → trials × budgets, with nothing shared between trials but what the oracle knows."""
    setting, table = lab.setting, (lab.population.weak.tolist(), lab.population.strong.tolist())
    found: dict[str, list[list[float]]] = {method: [] for method in lab.methods}
    oracle = policy_of("oracle", whole, setting.cost_ratio)
    expected = [oracle(i, g) for i, g in enumerate(whole.weak)]
    for burn_in, stream in items_of(lab.population, setting, trials):
        given = [table[1][i] for i in burn_in]
        known = learned([table[0][i] for i in burn_in], given)
        for method in lab.methods:
            if method == "base":
                found[method].append([base(given, stream, table[1], B) for B in setting.budgets])
                continue
            knows = whole if method == "oracle" else known
            rate = oracle if method == "oracle" else policy_of(method, known, setting.cost_ratio)
            rates = expected if method == "oracle" else [rate(i, g) for i, g in zip(burn_in, known.weak, strict=True)]
            row = []
            for B in setting.budgets:
                spent = follow(
                    knows, rate, stream, table, budget=B, cost_ratio=setting.cost_ratio, tuned=method != "oracle"
                )
                row.append(combined(knows, rates, given, spent))
            found[method].append(row)
    return found


def base(
    burn_in: Sequence[float], stream: Sequence[tuple[int, float]], strong: Sequence[float], budget: float
) -> float:
    """The plain mean of the burn-in and as many strong ratings as the budget buys."""
    ratings = list(burn_in)
    spent = 0.0
    for row, _ in stream:
        if spent + 1 > budget * (1 + 1e-9):
            break
        ratings.append(strong[row])
        spent += 1
    return sum(ratings) / len(ratings)


def items_of(
    population: Population, setting: Setting, trials: range
) -> Iterator[tuple[list[int], list[tuple[int, float]]]]:
    """The burn-in of each trial and the stream after it, with more items than any budget can buy."""
    block = Block(population, setting, trials)
    index, uniform = block.take(setting.budgets[-1] / min(setting.cost_ratio, 1.0) + 1)
    for burn_in, rows, numbers in zip(block.burn_in, index, uniform, strict=True):
        yield burn_in.tolist(), list(zip(rows.tolist(), numbers.tolist(), strict=True))


# The comparison


def read() -> tuple[str, dict[str, np.ndarray]]:
    path = DATA / "imagenet_resnet50.parquet"
    if path.exists():
        import pyarrow.parquet as pq

        table = pq.read_table(path, columns=["g", "h"])
        return path.stem, {name: table[name].to_numpy().astype(np.float64) for name in ("g", "h")}
    print(f"no {path.name} in {DATA.name}; name its folder in RATEWISE_DATA. A made-up table instead", file=sys.stderr)
    world = calibrated(50_000, mean=0.76, spread=0.33, rng=np.random.default_rng(0))
    return "made up", {"g": world.weak, "h": world.strong}


def yardstick(table: dict[str, np.ndarray], trials: int) -> tuple[float, float]:
    """Seconds of the loop for that many trials, and the largest difference from the library's estimates."""
    population = Population.of(table["g"], table["h"])
    setting = Setting(COST_RATIO, BUDGETS, BURN_IN, "stream", 0.95, 0.1, 0)
    lab = Lab.of(population, setting, METHODS, None)
    whole = learned(population.weak.tolist(), population.strong.tolist())  # once, as the library: not timed
    start = time.perf_counter()
    found = estimates(lab, range(trials), whole)
    seconds = time.perf_counter() - start
    ours = lab.run(range(trials))
    return seconds, max(float(np.abs(np.array(found[m]) - ours[m].value).max()) for m in METHODS)


def library(table: dict[str, np.ndarray], workers: int | None, trials: int) -> float:
    start = time.perf_counter()
    simulate(
        table, weak="g", strong="h", cost_ratio=COST_RATIO, budgets=BUDGETS, methods=METHODS, burn_in=BURN_IN,
        trials=trials, workers=workers,
    )  # fmt: skip
    return time.perf_counter() - start


def peak_memory() -> tuple[float, float]:
    """MiB of this process and of the largest child, once the workers have ended."""
    import resource

    from joblib.externals.loky import get_reusable_executor

    get_reusable_executor().shutdown(wait=True)
    whose = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    unit = 2**20 if sys.platform == "darwin" else 2**10
    self, children = (resource.getrusage(who).ru_maxrss / unit for who in whose)
    return self, children


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=TRIALS, help="of the library")
    parser.add_argument("--loop-trials", type=int, default=20, help="of the loop, scaled to --trials")
    options = parser.parse_args()
    name, table = read()
    parallel = library(table, None, options.trials)
    own, child = peak_memory()
    alone = library(table, 1, options.trials)
    loop, difference = yardstick(table, options.loop_trials)
    loop *= options.trials / options.loop_trials
    print(
        f"{name}: {options.trials:,} trials × {len(METHODS)} methods × {len(BUDGETS)} budgets, {os.cpu_count()} cores\n"
    )
    print("| what | seconds | × faster |")
    print("|---|---|---|")
    print(f"| the loop, scaled from {options.loop_trials} trials | {loop:.0f} | 1 |")
    print(f"| simulate, one process | {alone:.1f} | {loop / alone:.0f} |")
    print(f"| simulate, a process per core | {parallel:.1f} | {loop / parallel:.0f} |")
    print(f"\nPeak memory: {own:.0f} MiB, and {child:.0f} MiB in the largest worker.")
    print(f"Largest difference between the loop's estimates and the library's: {difference:.1e}.")


if __name__ == "__main__":
    main()
