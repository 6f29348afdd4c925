"""How fast is the solver, and how good: against np.sort, and against GLIDE's sampler on the same arrays.

python benchmarks/solver.py            # GLIDE gets an environment of its own in .venv-glide (Python 3.12 or newer)
python benchmarks/solver.py --no-glide
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import time
import tracemalloc

import numpy as np

import ratewise as rw

ROOT = pathlib.Path(__file__).resolve().parents[1]
GLIDE_ENVIRONMENT = ROOT / ".venv-glide"
GLIDE_ITEMS = 20_000
WORLD = {"variance": 0.25, "weak_cost": 0.05, "strong_cost": 1.0}

GLIDE_PROGRAM = """
import json, sys, time
import numpy as np
from glide.samplers import CostOptimalSampler
u = np.load(sys.argv[1])
V, c_g, c_h = (float(x) for x in sys.argv[2:5])
sampler = CostOptimalSampler()
sampler._y_true_variance = V  # the same V as the other side, instead of an estimate from burn-in labels
root = np.sqrt(u)
start = time.perf_counter()
tau = sampler._find_optimal_threshold(root, c_h, c_g)
gamma = sampler._compute_gamma(tau, root, c_h, c_g)
pi = sampler._compute_per_sample_probabilities(tau, gamma, root)
seconds = time.perf_counter() - start
np.save(sys.argv[5], pi)
print(json.dumps({"seconds": seconds}))
"""


def made_up_error(items: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).beta(0.4, 2.5, items)


def best_of(repeats: int, function, *arguments, **options) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function(*arguments, **options)
        times.append(time.perf_counter() - start)
    return min(times)


def extra_arrays(u: np.ndarray, **options) -> float:
    tracemalloc.start()
    rw.optimal_policy(u, **WORLD, **options)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / u.nbytes


def growth() -> None:
    print("| items | np.sort, s | policy, s | × sort | with floor, × sort | pool's budget, × sort | extra arrays |")
    print("|---|---|---|---|---|---|---|")
    for power in range(3, 8):
        u = made_up_error(10**power)
        repeats = 3 if power == 7 else 7
        sort = best_of(repeats, np.sort, u)
        plain = best_of(repeats, rw.optimal_policy, u, **WORLD)
        floor = best_of(repeats, rw.optimal_policy, u, **WORLD, floor=0.01)
        pool = best_of(repeats, rw.optimal_policy, u, **WORLD, pool_size=1000, budget=400)
        print(
            f"| 10^{power} | {sort:.2g} | {plain:.2g} | {plain / sort:.1f} | {floor / sort:.1f} | {pool / sort:.1f} "
            f"| {extra_arrays(u):.2f} |",
            flush=True,
        )


def against_glide() -> None:
    python = glide_python()
    if python is None:
        print("\nGLIDE: left out, because there is no Python 3.12 or newer to install it for", file=sys.stderr)
        return
    u = made_up_error(GLIDE_ITEMS)
    folder = GLIDE_ENVIRONMENT / "work"
    folder.mkdir(exist_ok=True)
    np.save(folder / "u.npy", u)
    numbers = [str(WORLD[name]) for name in ("variance", "weak_cost", "strong_cost")]
    program = [str(python), "-c", GLIDE_PROGRAM, str(folder / "u.npy"), *numbers, str(folder / "pi.npy")]
    done = subprocess.run(program, check=True, capture_output=True, text=True)
    theirs = json.loads(done.stdout)["seconds"]
    ours = best_of(7, rw.optimal_policy, u, **WORLD)
    policy = rw.optimal_policy(u, **WORLD)
    J = rw.error_times_budget(np.load(folder / "pi.npy"), error=u, **WORLD)
    print(f"\n| {GLIDE_ITEMS:,} items | seconds | J |\n|---|---|---|")
    print(f"| ratewise | {ours:.2g} | {policy.error_times_budget:.10f} |")
    print(f"| GLIDE CostOptimalSampler | {theirs:.3g} | {J:.10f} |")
    print(f"| ratio | {theirs / ours:,.0f} × faster | {policy.error_times_budget / J:.10f} |")


def glide_python() -> pathlib.Path | None:
    python = GLIDE_ENVIRONMENT / "bin" / "python"
    if python.exists():
        return python
    found = next(filter(None, (working(name) for name in ("python3.12", "python3.13", "python3"))), None)
    if found is None:
        return None
    subprocess.run([found, "-m", "venv", str(GLIDE_ENVIRONMENT)], check=True)
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", "glide-py"], check=True)
    return python


def working(name: str) -> str | None:
    """A Python of 3.12 or newer under this name; pyenv's shims exist without one behind them."""
    places = [shutil.which(name), *map(str, pathlib.Path.home().glob(f".pyenv/versions/*/bin/{name}"))]
    for place in filter(None, places):
        test = [place, "-c", "import sys; sys.exit(sys.version_info < (3, 12))"]
        if subprocess.run(test, check=False, capture_output=True).returncode == 0:
            return place
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-glide", action="store_true")
    options = parser.parse_args()
    growth()
    if not options.no_glide:
        against_glide()


if __name__ == "__main__":
    main()
