"""Everyday accuracies, everyday numbers of labels: ratewise beside ppi-python, GLIDE, judgy, evalstats and Wilson.

python benchmarks/everyday.py --write docs/everyday.md    # about ten minutes of one core

The peers run in GLIDE's environment, `.venv-glide` (see benchmarks/solver.py), where those that are missing are
installed; RATEWISE_PEERS names another Python that has them. One that cannot be installed is named so in its column.
"""

import argparse
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

import numpy as np
from solver import glide_python

import ratewise as rw
from ratewise.lab.automatic import Trial
from ratewise.lab.trials import Block, Population, Setting
from ratewise.lab.worlds import calibrated

ACCURACIES = (0.8, 0.95, 0.985)
LABELS = (100, 300)
JUDGES = {"good": 0.6, "fair": 0.3, "useless": 0.3}  # share of variance explained; useless: until shuffled
ITEMS = 5000
COST = 0.01  # of a judge's score; a strong rating costs 1
JUDGE_SHARE = 0.1  # of the money, in single draws
BURN_IN_SHARE = 0.3  # of the money, for GLIDE's cost-optimal sampler
BOOTSTRAPS = 300  # of judgy's, whose default is 20,000
LEVEL, Z = 0.95, 1.959963984540054

WILSON, ONE_SHOT, ROUNDS = "strong alone, Wilson", "ratewise, one draw", "ratewise, campaign"
MODULES = {  # in the order of the peers' program
    "ppi-python": ("ppi_py", "ppi-python"),
    "GLIDE PPI++": ("glide", "glide-py"),
    "GLIDE cost-optimal": ("glide", "glide-py"),
    "judgy": ("judgy", "judgy==0.1.0"),
    "evalstats": ("evalstats", "evalstats==0.3.3"),
}
METHODS = (WILSON, ONE_SHOT, ROUNDS, *MODULES)

PEERS_PROGRAM = """
import sys
import warnings
import numpy as np

Z = 1.959963984540054


def ppi_python(d):
    from ppi_py import ppi_mean_ci, ppi_mean_pointestimate

    given = d.h[: d.n], d.g[: d.n], d.g[d.n : d.T]
    return [float(np.squeeze(x)) for x in (ppi_mean_pointestimate(*given), *ppi_mean_ci(*given, alpha=0.05))]


def ends(found):
    interval = found.confidence_interval
    return found.mean, interval.lower_bound, interval.upper_bound


def glide_ppi(d):
    from glide.estimators import PPIMeanEstimator

    return ends(PPIMeanEstimator().estimate(d.sparse(), d.g[: d.T]))


def glide_cost_optimal(d):
    from glide.samplers import CostOptimalSampler

    g_b, h_b, g, h = d.g[: d.b], d.h[: d.b], d.g[d.b :], d.h[d.b :]
    root, root_b = (np.maximum(np.sqrt(x * (1 - x)).round(2), 0.01) for x in (g, g_b))
    money = d.budget - d.b * (1 + d.cost)
    pi, xi = CostOptimalSampler().fit(h_b).sample(root, 1.0, d.cost, money, random_seed=d.trial)
    found, T = asi(np.where(xi == 1, h, np.nan), g, pi), np.count_nonzero(pi)
    at = np.argsort(root[pi > 0])
    pi_b = np.interp(root_b, root[pi > 0][at], pi[pi > 0][at])
    V = h_b.var(ddof=1)
    second = (V + np.mean((h_b - g_b) ** 2 * (1 / pi_b - 1))) / T  # the variance that the burn-in leads to expect
    share = second / (V / d.b + second)
    mean = share * h_b.mean() + (1 - share) * found.mean
    half = Z * np.sqrt(share**2 * V / d.b + (1 - share) ** 2 * found.std**2)
    return mean, mean - half, mean + half


def asi(y, g, pi):
    from glide.estimators import ASIMeanEstimator, IPWClassicalMeanEstimator

    try:
        return ASIMeanEstimator().estimate(y, g, pi)
    except ValueError as error:
        if "constant rectifiers" not in str(error):
            raise
        return IPWClassicalMeanEstimator().estimate(y, pi)  # every rate is 1: the scores are not used


def judgy(d):
    from judgy import estimate_success_rate

    np.random.seed(d.trial)
    said = (d.g >= 0.5).astype(int)
    return estimate_success_rate(d.h[: d.n], said[: d.n], said[d.n : d.T], bootstrap_iterations=d.bootstraps)


def evalstats(d):
    from evalstats.ppi import correct

    given = {"Y_lab": d.h[: d.n], "Y_hat_lab": d.g[: d.n], "Y_hat_unlab": d.g[d.n : d.T]}
    found = correct(np.mean, **given, alpha=0.05, compute_pvalue=False, backend="analytic")
    return found.estimate, found.ci_low, found.ci_high


class Draw:
    def __init__(self, numbers, g, h, trial):
        self.n, self.T, self.b, self.bootstraps = (int(x) for x in numbers[:4])
        self.budget, self.cost = numbers[4:]
        self.g, self.h, self.trial = g, h, trial

    def sparse(self):
        return np.where(np.arange(self.T) < self.n, self.h[: self.T], np.nan)


def attempt(method, draw, errors):
    try:
        return method(draw)
    except Exception as error:
        errors.append(f"{method.__name__}: {type(error).__name__}: {str(error).split(". ")[0]}")
        return [np.nan] * 3


def main(source, target, *missing):
    warnings.simplefilter("ignore")
    given, errors = dict(np.load(source)), []
    methods = (ppi_python, glide_ppi, glide_cost_optimal, judgy, evalstats)
    out = np.full((len(methods), len(given["g"]), 3), np.nan)
    for k, method in enumerate(methods):
        for t in range(0 if str(k) in missing else len(given["g"])):
            out[k, t] = attempt(method, Draw(given["numbers"], given["g"][t], given["h"][t], t), errors)
    np.save(target, out)
    for text in sorted(set(errors)):
        print("   ", errors.count(text), "x", text, file=sys.stderr)


main(*sys.argv[1:])
"""


@dataclass(frozen=True, slots=True)
class Cell:
    """A row of the table."""

    accuracy: float
    labels: int  # what strong ratings alone could buy: the money
    judge: str

    @property
    def looked_at(self) -> int:
        """Items that a single draw has the judge's scores of."""
        return round(JUDGE_SHARE * self.labels / COST)

    @property
    def left(self) -> int:
        """Strong ratings of a single draw."""
        return round((1 - JUDGE_SHARE) * self.labels)


def cells() -> list[Cell]:
    return [Cell(a, n, j) for a in ACCURACIES for n in LABELS for j in JUDGES]


# Draws


def block_of(cell: Cell, trial: int, seed: int) -> Block:
    """A new pool for every trial, the same for both numbers of labels; its order is that of all methods."""
    rng = np.random.default_rng([seed, round(1000 * cell.accuracy), list(JUDGES).index(cell.judge), trial])
    world = calibrated(ITEMS, mean=cell.accuracy, spread=JUDGES[cell.judge], rng=rng)
    g = rng.permutation(world.weak) if cell.judge == "useless" else world.weak
    setting = Setting(COST, (float(cell.labels),), 0, mode="pool", level=LEVEL, fixed_rate=0.1, seed=seed)
    return Block(Population.of(g, world.strong), setting, range(trial, trial + 1))


def ordered(block: Block) -> tuple[np.ndarray, np.ndarray]:
    rows = block.index[0]
    return block.population.weak[rows], block.population.strong[rows]


# Methods: value and ends of the interval


def wilson(h: np.ndarray) -> tuple[float, float, float]:
    n, p = h.size, float(h.mean())
    middle, half = p + Z**2 / (2 * n), Z * math.sqrt(p * (1 - p) / n + (Z / (2 * n)) ** 2)
    return p, (middle - half) / (1 + Z**2 / n), (middle + half) / (1 + Z**2 / n)


def one_shot(cell: Cell, g: np.ndarray, h: np.ndarray) -> tuple[float, float, float]:
    n, T = cell.left, cell.looked_at
    strong = np.where(np.arange(T) < n, h[:T], np.nan)
    return told(rw.estimate_mean(g[:T], strong, n / T, estimand="pool", pool_size=ITEMS))


def told(found: rw.Estimate) -> tuple[float, float, float]:
    """Without an interval nothing is excluded."""
    return (found.value, *(found.interval or (0.0, 1.0)))


def ours(cell: Cell, block: Block) -> list[tuple[float, float, float]]:
    g, h = ordered(block)
    found = Trial(block, 0, float(cell.labels)).play()
    return [wilson(h[: cell.labels]), one_shot(cell, g, h), told(found)]


# The peers


def peers_python() -> tuple[str | None, set[str]]:
    """A Python for the peers, and those that it does not have and cannot get."""
    named = os.environ.get("RATEWISE_PEERS")
    python = named or glide_python()
    if python is None:
        return None, set(MODULES)
    for module, package in dict.fromkeys(MODULES.values()):
        if named is None and not has(str(python), module):
            subprocess.run([str(python), "-m", "pip", "install", "--quiet", package], check=False)
    return str(python), {name for name, (module, _) in MODULES.items() if not has(str(python), module)}


def has(python: str, module: str) -> bool:
    return subprocess.run([python, "-I", "-c", f"import {module}"], check=False, capture_output=True).returncode == 0


def versions(python: str | None, missing: set[str]) -> str:
    """Of the peers that there are, as their packages name themselves."""
    names = sorted({package.split("==")[0] for name, (_, package) in MODULES.items() if name not in missing})
    if python is None or not names:
        return "none of the peers"
    program = f"from importlib.metadata import version as v; print(', '.join(n + ' ' + v(n) for n in {names}))"
    return subprocess.run([python, "-I", "-c", program], check=True, capture_output=True, text=True).stdout.strip()


def write_draws(path: pathlib.Path, cell: Cell, blocks: list[Block]) -> None:
    g, h = (np.stack(x) for x in zip(*map(ordered, blocks), strict=True))
    burn_in = round(BURN_IN_SHARE * cell.labels / (1 + COST))
    np.savez(path, g=g, h=h, numbers=[cell.left, cell.looked_at, burn_in, BOOTSTRAPS, cell.labels, COST])


# Results


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """Every method in one cell: value, low and high of every trial, NaN where a method had no answer."""

    cell: Cell
    truth: np.ndarray
    found: dict[str, np.ndarray]  # trials × 3

    def entry(self, method: str, missing: set[str]) -> str:
        """Error over Wilson's, coverage and width, and failures."""
        if method in missing:
            return "not installed"
        there = np.isfinite(self.found[method]).all(axis=1)
        failed = f" †{np.sum(~there)}" if not there.all() else ""
        if there.sum() < 0.1 * there.size:
            return f"–{failed}"
        value, low, high = self.found[method][there].T
        width = float(np.mean(np.clip(high, 0, 1) - np.clip(low, 0, 1)))
        truth, base = self.truth[there], self.found[WILSON][:, 0] - self.truth
        held = float(np.mean((low <= truth) & (truth <= high)))
        ratio = math.sqrt(np.mean((value - truth) ** 2) / np.mean(base**2))
        mark = "▽" if held < least(int(there.sum())) else ""
        return f"{ratio:.2f} / {100 * held:.0f}{mark} / {width:.3f}{failed}"


def least(trials: int) -> float:
    """Coverage below this is not chance (two standard errors)."""
    return LEVEL - 2 * math.sqrt(LEVEL * (1 - LEVEL) / trials)


def compare(cell: Cell, python: str | None, missing: set[str], trials: int, seed: int) -> Row:
    """The peers run beside ours."""
    blocks = [block_of(cell, trial, seed) for trial in range(trials)]
    truth = np.array([block.population.mean for block in blocks])
    with tempfile.TemporaryDirectory() as folder:
        source, target = pathlib.Path(folder, "draws.npz"), pathlib.Path(folder, "found.npy")
        write_draws(source, cell, blocks)
        program = start(python, source, target, missing)
        mine = np.array([ours(cell, block) for block in blocks]).transpose(1, 0, 2)
        if program is not None and program.wait() != 0:
            raise SystemExit("the peers' program failed; its message is above")
        theirs = np.load(target) if program is not None else np.full((len(MODULES), trials, 3), np.nan)
    return Row(cell, truth, dict(zip(METHODS, [*mine, *theirs], strict=True)))


def start(
    python: str | None, source: pathlib.Path, target: pathlib.Path, missing: set[str]
) -> subprocess.Popen[bytes] | None:
    if python is None:
        return None
    left_out = [str(k) for k, name in enumerate(MODULES) if name in missing]
    return subprocess.Popen([python, "-I", "-c", PEERS_PROGRAM, str(source), str(target), *left_out])


# The page

INTRODUCTION = """# Everyday accuracies beside other tools

How well is a system's accuracy known for the money that 100 or 300 human verdicts cost, where a judge can help? A pool
of {items:,} items has verdicts of 0 or 1 with a mean of about 0.8, 0.95 or 0.985. A good judge says a calibrated
probability that explains 60 % of their variance, a fair judge 30 %; a useless judge's scores are those of a fair one,
dealt out to the items at random. A verdict costs 1 and a judge's score {cost:g}. Each entry has three numbers: the
error (root mean square) over that of verdicts alone / the share of 95 % intervals that held the pool's mean, in % / the
mean width of the intervals, without what lies beyond 0 and 1. ▽ marks coverage below 95 % by more than chance explains.
† counts the trials, of {trials}, in which a tool gave no answer; its numbers are then from the other trials. Errors are
uncertain by about {noise:.0%} of themselves, coverage by {coverage_noise:.1f} points. Every trial has a new pool. Made
by `benchmarks/everyday.py`.
"""

NOTES = """
How to read it. Everyone has the same pools and the same money, and all but GLIDE's sampler take items in the same
order. Wilson buys verdicts alone. `ratewise, one draw` (`estimate_mean`), ppi-python (`ppi_mean_ci`, λ tuned), GLIDE
PPI++ (`PPIMeanEstimator`), judgy (`estimate_success_rate`) and evalstats (`ppi.correct`, closed form) are given one and
the same draw: a tenth of the money buys the judge's scores of 1,000 or 3,000 items, the rest buys verdicts on 90 or 270
of these, drawn uniformly. This is close to the best rate for the good judge, and a tenth of the money is lost where the
judge is useless. The campaign (`auto`, from nothing) and GLIDE cost-optimal choose for themselves how many scores to
buy. GLIDE's `CostOptimalSampler` must be given verdicts first: these get 30 % of the money, and are averaged with its
answer (`ASIMeanEstimator`) as in `benchmarks/peers.py`. It must also be told how far off each score is expected to be:
√(g(1−g)), at least 0.01. That is exactly right for the good and the fair judge here, as it seldom is for real ones, and
wrong for the useless judge; the campaign is not told, and has to learn it. judgy takes 0/1 judges only, so a score of
0.5 or more is a yes; it has {bootstraps} bootstrap rounds here, not 20,000. ppi-python's intervals, judgy and evalstats
have no notion of cost, and no peer has one of finite pools: their intervals are up to 7 % wider than they need to be
here. GLIDE gives no answer where all the verdicts it begins with are equal, judgy there and where the judge looks no
better than chance; the trials left over are not a fair sample of all. Where all verdicts are equal ppi-python and
evalstats do answer, with intervals of little or no width: a quarter of the trials at 0.985, 100 labels. For verdicts
alone evalstats gives Wilson's interval. Measured with {versions}.
"""


def page(rows: list[Row], missing: set[str], trials: int, peers: str) -> str:
    told = {
        "items": ITEMS, "cost": COST, "trials": trials, "noise": 1 / math.sqrt(trials),
        "coverage_noise": 100 * (LEVEL - least(trials)), "bootstraps": BOOTSTRAPS, "versions": peers,
    }  # fmt: skip
    return f"{INTRODUCTION.format(**told)}\n{table(rows, missing)}\n{NOTES.format(**told)}"


def table(rows: list[Row], missing: set[str]) -> str:
    lines = ["| accuracy | labels | judge | " + " | ".join(METHODS) + " |", "|---" * (3 + len(METHODS)) + "|"]
    for row in rows:
        entries = [row.entry(method, missing) for method in METHODS]
        lines.append(f"| {row.cell.accuracy:g} | {row.cell.labels} | {row.cell.judge} | " + " | ".join(entries) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=400)
    parser.add_argument("--seed", type=int, default=21)
    parser.add_argument("--write", type=pathlib.Path, help="put the page for the docs there")
    given = parser.parse_args()
    (python, missing), began, rows = peers_python(), time.perf_counter(), []
    for cell in cells():
        rows.append(compare(cell, python, missing, given.trials, given.seed))
        print(f"{time.perf_counter() - began:5.0f}s {cell}", file=sys.stderr, flush=True)
    if given.write is not None:
        text = page(rows, missing, given.trials, versions(python, missing))
        given.write.write_text(text, encoding="utf-8")
    print(table(rows, missing))


if __name__ == "__main__":
    main()
