"""How fast is `simulate`? 2,000 trials × 4 methods × 8 budgets, against the obvious loop in plain Python.

The loop (`studies/obvious_loop.py`) is fed with the very same items and random numbers, so that its estimates must
equal the library's; the largest difference is printed. It is timed on a few trials and scaled. Reads imagenet_resnet50
from ../shared/data, or the folder named by RATEWISE_DATA; where it is absent, a made-up table of the same size.
"""

import argparse
import os
import pathlib
import sys
import time

import numpy as np
from studies.obvious_loop import LOOPED_METHODS, estimates, learned

from ratewise.lab.methods import Lab
from ratewise.lab.simulate import simulate
from ratewise.lab.trials import Population, Setting
from ratewise.lab.worlds import calibrated

DATA = pathlib.Path(os.environ.get("RATEWISE_DATA", pathlib.Path(__file__).resolve().parents[2] / "shared" / "data"))
BUDGETS = tuple(125.0 * k for k in range(1, 9))
COST_RATIO, BURN_IN, TRIALS = 0.05, 200, 2000


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
    lab = Lab.of(population, setting, LOOPED_METHODS, None)
    whole = learned(population.weak.tolist(), population.strong.tolist())  # once, as the library: not timed
    start = time.perf_counter()
    found = estimates(lab, range(trials), whole)
    seconds = time.perf_counter() - start
    ours = lab.run(range(trials))
    return seconds, max(float(np.abs(np.array(found[m]) - ours[m].value).max()) for m in LOOPED_METHODS)


def library(table: dict[str, np.ndarray], workers: int | None, trials: int) -> float:
    start = time.perf_counter()
    simulate(
        table, weak="g", strong="h", cost_ratio=COST_RATIO, budgets=BUDGETS, methods=LOOPED_METHODS, burn_in=BURN_IN,
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
    size = f"{options.trials:,} trials × {len(LOOPED_METHODS)} methods × {len(BUDGETS)} budgets"
    print(f"{name}: {size}, {os.cpu_count()} cores\n")
    print("| what | seconds | × faster |")
    print("|---|---|---|")
    print(f"| the loop, scaled from {options.loop_trials} trials | {loop:.0f} | 1 |")
    print(f"| simulate, one process | {alone:.1f} | {loop / alone:.0f} |")
    print(f"| simulate, a process per core | {parallel:.1f} | {loop / parallel:.0f} |")
    print(f"\nPeak memory: {own:.0f} MiB, and {child:.0f} MiB in the largest worker.")
    print(f"Largest difference between the loop's estimates and the library's: {difference:.1e}.")


if __name__ == "__main__":
    main()
