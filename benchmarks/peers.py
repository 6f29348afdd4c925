"""How good is `auto` beside others' tools? `ppi-python` and GLIDE on the same draws of every real table, in pools.

python benchmarks/peers.py --write FILE    # the peers' environment is that of benchmarks/solver.py, `.venv-glide`

Reads ../shared/data, or the folder named by RATEWISE_DATA. RATEWISE_PEERS names another Python that has glide-py and
ppi-python. The pool is the table, or 3,000 of its items drawn with a fixed seed: GLIDE's threshold search takes O(n²).
The target is the pool's mean. Everyone is given the same 200 burn-in items with both ratings; budgets come after them.

- ppi-python: `ppi_mean_power` on the burn-in says how many items to label and how many to leave unlabelled (the pool is
  its `n_max`); `ppi_mean_pointestimate` and `ppi_mean_ci` tune λ. Two ways to use the burn-in: `pooled` plans for the
  burn-in's worth and the budget together and hands the burn-in over with the other labels, as its API allows; `split`
  plans for the budget alone and averages by inverse variance (its own `effective_n`), as the paper does.
- GLIDE: `CostOptimalSampler` (given the root of u = g(1−g), as it asks for) and `CostOptimalRandomSampler`, fitted on
  the burn-in, then `ASIMeanEstimator`; averaged with the burn-in by the inverse variances that the burn-in expects
  (A2): its API has no place for these labels.

Both get g after Platt scaling on the burn-in, in [0, 1] as for ratewise's paper methods; neither calibrates by itself.

Common to all: pool, burn-in, the order of the other items, and (but for ppi-python, which labels the first items) the
random number of each. GLIDE hands its seed to numpy's `default_rng`, which takes a Generator too: it gets one that
keeps the order and compares with these numbers. Where its estimator refuses (all rates 1: "constant rectifiers") its
`IPWClassicalMeanEstimator` takes over, marked †; trials without any estimate are left out, marked ‡.

What to keep in mind: peers know no finite pools, so their intervals are too wide here, and GLIDE stops with money left
where the pool ends. That happens more often than in the whole tables, because of the 3,000; so the summary also has a
column for the cells where a method spent at least 95 % of the budget. `auto` learns u and calibrates again and again;
the peers could be given a u learned by other means, but they have none of their own.
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
from ratewise.lab.methods import Known, Lab
from ratewise.lab.results import Base, resamples
from ratewise.lab.trials import Block, MethodOutcome, Population, Setting
from ratewise.lab.workers import in_order

DATA = pathlib.Path(os.environ.get("RATEWISE_DATA", pathlib.Path(__file__).resolve().parents[2] / "shared" / "data"))
BUDGETS = (200.0, 800.0)
COST_RATIOS = (0.01, 0.05)
BURN_IN = 200
LARGEST_POOL = 3000
OURS = ("base", "auto", "active-fixed", "ppi++")
PEERS = ("ppi-python pooled", "ppi-python split", "GLIDE active", "GLIDE random")  # in the order of the program
METHODS = (*OURS, *PEERS)
FELL_BACK, FAILED = 1, 2
SPENT = 0.95  # of the budget, by which a method is taken to have used it
CLEAR = 2.0  # standard errors of the paired difference

PEERS_PROGRAM = '''
import sys
import numpy as np
from glide.estimators import ASIMeanEstimator, IPWClassicalMeanEstimator
from glide.samplers import CostOptimalRandomSampler, CostOptimalSampler
from ppi_py import classical_mean_ci, ppi_mean_ci, ppi_mean_pointestimate, ppi_mean_power

Z = 1.959963984540054
FINE, FELL_BACK, FAILED = 0, 1, 2


class Common(np.random.Generator):
    """The items' own order and random numbers instead of new ones."""

    def __init__(self, uniform):
        super().__init__(np.random.PCG64(0))
        self.uniform = uniform

    def permutation(self, n):
        return np.arange(n)

    def binomial(self, n, p):
        return (self.uniform < p).astype(int)


class Once(CostOptimalSampler):
    """The threshold does not depend on the budget: sought once per cost, then remembered."""

    def _find_optimal_threshold(self, *given):
        if not hasattr(self, "tau"):
            self.tau = super()._find_optimal_threshold(*given)
        return self.tau


def combined(h_b, value, variance, share):
    """With the burn-in's mean, which gets this share."""
    mean = share * h_b.mean() + (1 - share) * value
    half = Z * np.sqrt(share**2 * h_b.var(ddof=1) / h_b.size + (1 - share) ** 2 * variance)
    return mean, mean - half, mean + half


def ppi(Y, Yhat, unlabelled):
    """Value and interval; without unlabelled items, as its power analysis may advise, the classical ones."""
    if unlabelled.size == 0:
        return Y.mean(), *classical_mean_ci(Y, alpha=0.05)
    value = ppi_mean_pointestimate(Y, Yhat, unlabelled)
    return (float(np.squeeze(x)) for x in (value, *ppi_mean_ci(Y, Yhat, unlabelled, alpha=0.05)))


def spent(c, n, N):
    return n + c * (n + N) if N else n


def ppi_pooled(g_b, h_b, g, h, c, B):
    plan = ppi_mean_power(h_b, g_b, cost_Y=1.0, cost_Yhat=c, budget=B + h_b.size * (1 + c), n_max=h_b.size + h.size)
    n, N = max(plan["n"] - h_b.size, 0), plan["N"]
    if N == 0:  # no weak ratings: what those of the burn-in cost is not there to be spent
        n = min(n, int(B))
    Y, Yhat = np.concatenate([h_b, h[:n]]), np.concatenate([g_b, g[:n]])
    return *ppi(Y, Yhat, g[n : n + N]), spent(c, n, N), FINE


def ppi_split(g_b, h_b, g, h, c, B):
    plan = ppi_mean_power(h_b, g_b, cost_Y=1.0, cost_Yhat=c, budget=B, n_max=h.size)
    n, N = plan["n"], plan["N"]
    value, low, high = ppi(h[:n], g[:n], g[n : n + N])
    share = h_b.size / (h_b.size + plan["effective_n"])
    return *combined(h_b, value, ((high - low) / 2 / Z) ** 2, share), spent(c, n, N), FINE


def asi(g_b, h_b, g, h, c, pi, xi, pi_b):
    """GLIDE's estimate of what its sampler drew, and the burn-in; pi_b: the rates its items would have had."""
    y = np.where(xi == 1, h, np.nan)
    try:
        found, status = ASIMeanEstimator().estimate(y, g, pi), FINE
    except ValueError as error:
        if "constant rectifiers" not in str(error):
            raise
        found, status = IPWClassicalMeanEstimator().estimate(y, pi), FELL_BACK
    T, V = np.count_nonzero(~np.isnan(xi)), h_b.var(ddof=1)
    second = (V + np.mean((h_b - g_b) ** 2 * (1 / pi_b - 1))) / T
    share = second / (V / h_b.size + second)
    return *combined(h_b, found.mean, found.std**2, share), c * T + np.nansum(xi), status


def glide_active(g_b, h_b, g, h, c, B, uniform, sampler):
    root, root_b = np.sqrt(g * (1 - g)), np.sqrt(g_b * (1 - g_b))
    pi, xi = sampler.fit(h_b).sample(root, y_true_cost=1.0, y_proxy_cost=c, max_cost=B, random_seed=Common(uniform))
    gamma = sampler._compute_gamma(sampler.tau, root, 1.0, c)
    return asi(g_b, h_b, g, h, c, pi, xi, sampler._compute_per_sample_probabilities(sampler.tau, gamma, root_b))


def glide_random(g_b, h_b, g, h, c, B, uniform):
    sampler = CostOptimalRandomSampler().fit(h_b, g_b)
    pi, xi = sampler.sample(h.size, y_true_cost=1.0, y_proxy_cost=c, max_cost=B, random_seed=Common(uniform))
    return asi(g_b, h_b, g, h, c, pi, xi, np.full(h_b.size, pi.max()))


def attempt(errors, method, *given):
    try:
        found = method(*given)
    except Exception as error:
        errors.append(f"{method.__name__}: {type(error).__name__}: {error}")
        return np.nan, np.nan, np.nan, np.nan, FAILED
    return found if np.all(np.isfinite(found)) else (*found[:4], FAILED)


def main(source, target):
    draws, errors = dict(np.load(source)), []
    costs, budgets, trials = draws["costs"], draws["budgets"], len(draws["strong"])
    out = np.empty((4, 5, costs.size, trials, budgets.size))
    for t in range(trials):
        one = [draws[name][t] for name in ("weak_burn_in", "strong_burn_in", "weak", "strong")]
        for i, c in enumerate(costs):
            sampler = Once()
            for k, B in enumerate(budgets):
                u = draws["uniform"][t]
                out[0, :, i, t, k] = attempt(errors, ppi_pooled, *one, c, B)
                out[1, :, i, t, k] = attempt(errors, ppi_split, *one, c, B)
                out[2, :, i, t, k] = attempt(errors, glide_active, *one, c, B, u, sampler)
                out[3, :, i, t, k] = attempt(errors, glide_random, *one, c, B, u)
    np.save(target, out)
    for text in sorted(set(errors)):
        print(errors.count(text), "x", text, file=sys.stderr)


main(*sys.argv[1:])
'''


# Draws


def pool_of(name: str) -> Population:
    """The table, or as many of its items as GLIDE can take; the same ones in every run."""
    table = rw.read_table(DATA / f"{name}.parquet")
    g, h = table.numbers("g"), table.numbers("h")
    rows = np.arange(g.size)
    if g.size > LARGEST_POOL:
        rows = np.random.default_rng(3).choice(g.size, LARGEST_POOL, replace=False)
    return Population.of(g[rows], h[rows])


def setting_of(pool: Population, cost: float, seed: int) -> Setting:
    """Without budgets that could rate the whole pool."""
    budgets = tuple(B for B in BUDGETS if pool.items > BURN_IN + B)
    return Setting(cost, budgets, BURN_IN, mode="pool", level=0.95, fixed_rate=0.1, seed=seed)


def write_draws(path: pathlib.Path, pool: Population, setting: Setting, trials: int) -> None:
    """What the peers are given: Platt-scaled weak ratings, strong ratings and random numbers, trial by trial.

    In a pool the draws do not depend on the cost ratio.
    """
    block = Block(pool, setting, range(trials))
    scaled = [Known.of(pool.weak[rows], pool.strong[rows]).calibration.predict(pool.weak) for rows in block.burn_in]
    np.savez(
        path, costs=np.array(COST_RATIOS), budgets=np.array(setting.budgets), uniform=block.uniform,
        strong_burn_in=pool.strong[block.burn_in], strong=pool.strong[block.index],
        weak_burn_in=np.stack([g[rows] for g, rows in zip(scaled, block.burn_in, strict=True)]),
        weak=np.stack([g[rows] for g, rows in zip(scaled, block.index, strict=True)]),
    )  # fmt: skip


# Results


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """One method on one table at one cost ratio and budget; trials without an estimate are NaN."""

    table: str
    cost: float
    budget: float
    method: str
    base_mse: float  # of base in theory
    squared: np.ndarray  # error of each trial
    held: np.ndarray  # whether the interval held the target
    spent: np.ndarray  # share of the budget
    fell_back: int = 0
    failed: int = 0

    @property
    def place(self) -> tuple[str, float, float]:
        """Where methods are compared."""
        return self.table, self.cost, self.budget

    @property
    def there(self) -> np.ndarray:
        """Trials with an estimate."""
        return np.isfinite(self.squared)

    @property
    def empty(self) -> bool:
        """Whether fewer than two trials have an estimate: then there is nothing to compare."""
        return int(np.sum(self.there)) < 2

    @property
    def of_base(self) -> float:
        """MSE over base's in theory."""
        return math.nan if self.empty else float(self.squared[self.there].mean()) / self.base_mse

    @property
    def coverage(self) -> float:
        """Of the intervals that there are."""
        return math.nan if self.empty else float(np.mean(self.held[self.there]))

    def against(self, auto: "Cell") -> tuple[float, float]:
        """MSE over auto's on the same trials, and the paired difference in standard errors."""
        if self.empty:
            return math.nan, math.nan
        mine, other = self.squared[self.there], auto.squared[self.there]
        difference = mine - other
        error = float(difference.std(ddof=1)) / math.sqrt(difference.size)
        return float(mine.mean() / other.mean()), float(difference.mean()) / error if error > 0 else 0.0


def cells_of(
    name: str, method: str, pool: Population, setting: Setting, outcome: MethodOutcome, status: np.ndarray
) -> list[Cell]:
    theta, base = pool.mean, Base(pool.variance, setting.burn_in, pool.items)
    held = (outcome.low <= theta) & (theta <= outcome.high)
    return [
        Cell(
            name, setting.cost_ratio, B, method, base.mse(B), (outcome.value[:, k] - theta) ** 2, held[:, k],
            outcome.spend[:, k] / B, int(np.sum(status[:, k] == FELL_BACK)), int(np.sum(status[:, k] == FAILED)),
        )
        for k, B in enumerate(setting.budgets)
    ]  # fmt: skip


def our_outcomes(pool: Population, setting: Setting, trials: int) -> dict[str, MethodOutcome]:
    """Block by block, on all cores; a trial is the same in any block."""
    lab = Lab.of(pool, setting, OURS, None)
    size = setting.block_size(pool)
    blocks = [range(start, min(start + size, trials)) for start in range(0, trials, size)]
    parts = list(in_order(lab.run, blocks))
    names = ("value", "low", "high", "spend", "labels")
    return {m: MethodOutcome(*(np.concatenate([getattr(p[m], n) for p in parts]) for n in names)) for m in OURS}


def compare(name: str, python: str, trials: int, seed: int) -> list[Cell]:
    """Every method on one table; the peers run beside ours."""
    pool = pool_of(name)
    settings = [setting_of(pool, c, seed) for c in COST_RATIOS]
    if not settings[0].budgets:
        print(f"{name}: left out, every budget rates the whole pool", file=sys.stderr)
        return []
    with tempfile.TemporaryDirectory() as folder:
        source, target = pathlib.Path(folder, "draws.npz"), pathlib.Path(folder, "found.npy")
        write_draws(source, pool, settings[0], trials)
        program = subprocess.Popen([python, "-I", "-c", PEERS_PROGRAM, str(source), str(target)])
        try:
            ours = [our_outcomes(pool, s, trials) for s in settings]
        finally:
            code = program.wait()
        if code != 0:
            raise SystemExit(f"the peers' program ended with code {code} on {name}; its message is above")
        found = np.load(target)
    cells = []
    for i, setting in enumerate(settings):
        fine = np.zeros((trials, len(setting.budgets)))
        for method, outcome in ours[i].items():
            cells += cells_of(name, method, pool, setting, outcome, fine)
        for method, (value, low, high, spend, status) in zip(PEERS, found[:, :, i], strict=True):
            value[status == FAILED] = np.nan
            cells += cells_of(name, method, pool, setting, MethodOutcome(value, low, high, spend, spend), status)
    return cells


# The page


def summary(cells: list[Cell], trials: int) -> str:
    """A row per method: geometric means of its MSE over auto's, with 95 % bootstrap intervals over trials."""
    auto = {c.place: c for c in cells if c.method == "auto"}
    shares = resamples(trials, 0)
    lines = [
        "| method | MSE / MSE(auto) | "
        + " | ".join([f"budget {B:g}" for B in BUDGETS] + [f"cost {c:g}" for c in COST_RATIOS])
        + f" | {SPENT:.0%} spent (cells) | auto ahead (clearly) | auto behind (clearly) | coverage: mean, least | "
        "spent: mean, least, most | † | ‡ |",
        "|---" * (9 + len(BUDGETS) + len(COST_RATIOS)) + "|",
    ]
    for method in METHODS:
        every = [c for c in cells if c.method == method]
        some = [c for c in every if not c.empty]
        if not some:
            lines.append(f"| {method} | no estimate in any cell |" + " |" * (7 + len(BUDGETS) + len(COST_RATIOS)))
            continue
        ratios, scores = np.array([c.against(auto[c.place]) for c in some]).T
        groups = [[c.budget == B for c in some] for B in BUDGETS] + [[c.cost == x for c in some] for x in COST_RATIOS]
        low, high = np.quantile(resampled(some, auto, shares), (0.025, 0.975))
        spent = np.concatenate([c.spent for c in some])
        whole = np.array([np.nanmean(c.spent) >= SPENT for c in some])
        coverage = [c.coverage for c in some]
        lines.append(
            f"| {method} | {geometric(ratios):.3f} ({low:.3f}–{high:.3f}) | "
            + " | ".join(f"{geometric(ratios[group]):.3f}" for group in groups)
            + f" | {geometric(ratios[whole]):.3f} ({np.sum(whole)}) "
            f"| {np.sum(ratios > 1)} ({np.sum(scores > CLEAR)}) | {np.sum(ratios < 1)} ({np.sum(scores < -CLEAR)}) | "
            f"{np.mean(coverage):.1%}, {min(coverage):.1%} | {np.nanmean(spent):.1%}, {np.nanmin(spent):.1%}, "
            f"{np.nanmax(spent):.1%} | {sum(c.fell_back for c in every)} | {sum(c.failed for c in every)} |"
        )
    return "\n".join(lines)


def geometric(values: np.ndarray) -> float:
    return float(np.exp(np.mean(np.log(values)))) if values.size else math.nan


def resampled(cells: list[Cell], auto: dict[tuple[str, float, float], Cell], shares: np.ndarray) -> np.ndarray:
    """The geometric mean in each bootstrap sample of trials."""
    logs = []
    for cell in cells:
        mine, other = (np.where(cell.there, c.squared, 0.0) for c in (cell, auto[cell.place]))
        logs.append(np.log(shares @ mine) - np.log(shares @ other))
    return np.exp(np.mean(logs, axis=0))


def entry(cell: Cell, auto: Cell) -> str:
    """MSE over base's, clearly ahead of auto or behind it; coverage; spend; what went wrong."""
    if cell.empty:
        return f"– ‡{cell.failed}"
    _, score = cell.against(auto)
    mark = "" if cell is auto or abs(score) < CLEAR else "▲" if score < 0 else "▽"
    wrong = (f" †{cell.fell_back}" if cell.fell_back else "") + (f" ‡{cell.failed}" if cell.failed else "")
    spent = f"{100 * np.nanmean(cell.spent):.0f}/{100 * np.nanmax(cell.spent):.1f}"
    return f"{cell.of_base:.3f}{mark} · {100 * cell.coverage:.0f} · {spent}{wrong}"


def page(cells: list[Cell], trials: int) -> str:
    """The summary, and a row per table, cost and budget with an entry per method."""
    by = {(c.place, c.method): c for c in cells}
    lines = [
        f"{trials} trials. Each entry: MSE over that of strong ratings alone · coverage of the 95 % interval in % · "
        f"mean/most of the budget spent in %. ▲ ahead of auto, ▽ behind it, by more than {CLEAR:g} standard errors of "
        "the paired difference; **bold**: least of the row. † trials in which GLIDE's estimator refused and its "
        "classical one took over; ‡ trials without an estimate.",
        "",
        summary(cells, trials),
        "",
        "| table | cost | budget | " + " | ".join(METHODS) + " |",
        "|---|---|---" + "|---" * len(METHODS) + "|",
    ]
    for place in dict.fromkeys(c.place for c in cells):
        row = [by[place, method] for method in METHODS]
        best, auto = min((c for c in row if not c.empty), key=lambda c: c.of_base), by[place, "auto"]
        entries = [f"**{entry(c, auto)}**" if c is best else entry(c, auto) for c in row]
        lines.append(f"| {place[0]} | {place[1]:g} | {place[2]:g} | " + " | ".join(entries) + " |")
    return "\n".join(lines) + "\n"


def peers_python() -> str | None:
    """A Python with both peers; ppi-python is added to GLIDE's environment where it is not there yet."""
    named = os.environ.get("RATEWISE_PEERS")
    python = named or glide_python()
    if python is None:
        return None
    test = [str(python), "-I", "-c", "import glide, ppi_py"]
    if named is None and subprocess.run(test, check=False, capture_output=True).returncode != 0:
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", "ppi-python"], check=True)
    return str(python)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=300)
    parser.add_argument("--seed", type=int, default=21)
    parser.add_argument("--tables", default=None, help="names, separated by commas; all where not given")
    parser.add_argument("--write", type=pathlib.Path, help="put the page for the docs there")
    given = parser.parse_args()
    names = given.tables.split(",") if given.tables else [path.stem for path in sorted(DATA.glob("*.parquet"))]
    python = peers_python()
    if not names or python is None:
        why = f"no tables in {DATA.name}; name their folder in RATEWISE_DATA" if python else "no Python 3.12 or newer"
        print(f"nothing compared: {why}", file=sys.stderr)
        return
    cells, start = [], time.perf_counter()
    for name in names:
        cells += compare(name, python, given.trials, given.seed)
        print(f"{time.perf_counter() - start:5.0f}s {name}", file=sys.stderr, flush=True)
    text = page(cells, given.trials)
    if given.write is not None:
        given.write.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
