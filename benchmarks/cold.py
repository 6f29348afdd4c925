"""The cold start: what 30 to 300 labels are worth where nothing is known but what a judge's score usually means.

python benchmarks/cold.py                # 18 cells: means, R² and budgets, in a pool of 20,000 at a price of 0.01
python benchmarks/cold.py --cells bad    # judges that are useless, reversed or twice as sure as they should be
python benchmarks/cold.py --cells drawn  # 24 cells drawn by a seed: streams and pools, prices 0 to 0.1 …
python benchmarks/cold.py --cells aside  # … and 12 more, kept aside until all was built
python benchmarks/cold.py --tables       # the shared tables, budgets from nothing
python benchmarks/cold.py --fit          # what scores mean on the shared tables, by kind: the shipped priors

Prints the squared error over that of strong ratings alone for the same money (in theory), coverage and mean width of
the intervals. In brackets is the squared error to expect given the rates that there were in the end: with few trials it
is surer. `labels alone` is auto without its prior (`[learner] prior = "none"`). `limit` knows f and u. `paper-active`
has a burn-in of 30 % of the money; so has GLIDE (glide-py, where it can be installed: see benchmarks/solver.py), told
u = g(1−g), or with one rate for all.
"""

import argparse
import itertools
import math
import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import optimize, special
from solver import glide_python

import ratewise as rw
from ratewise.core.checks import Floats
from ratewise.design.rounds import pooled_draw, score_prior
from ratewise.lab.automatic import Trial
from ratewise.lab.methods import Lab
from ratewise.lab.trials import Block, Population, Setting
from ratewise.lab.worlds import calibrated
from ratewise.learn.rating_model import is_binary

DATA = pathlib.Path(os.environ.get("RATEWISE_DATA", pathlib.Path(__file__).resolve().parents[2] / "shared" / "data"))
ITEMS = 20_000
TOGETHER = 10  # trials of one world
BURN_IN_SHARE = 0.3
GRID_SEED, DRAWN, ASIDE = 20261119, 24, 12
SMALL = (30.0, 60.0, 120.0)

GLIDE_PROGRAM = """
import sys
import warnings
import numpy as np
from glide.estimators import ASIMeanEstimator
from glide.samplers import CostOptimalRandomSampler, CostOptimalSampler


def with_burn_in(g_b, h_b, g, h, pi, xi, pi_b):
    found, T = ASIMeanEstimator().estimate(np.where(xi == 1, h, np.nan), g, pi), np.count_nonzero(~np.isnan(xi))
    V = h_b.var(ddof=1)
    second = (V + np.mean((h_b - g_b) ** 2 * (1 / pi_b - 1))) / T
    share = second / (V / h_b.size + second)
    return share * h_b.mean() + (1 - share) * found.mean


def told(g_b, h_b, g, h, cost, money, seed):
    root, root_b = (np.maximum(np.sqrt(x * (1 - x)).round(2), 0.01) for x in (g, g_b))
    pi, xi = CostOptimalSampler().fit(h_b).sample(root, 1.0, cost, money, random_seed=seed)
    at = np.argsort(root[pi > 0])
    return with_burn_in(g_b, h_b, g, h, pi, xi, np.interp(root_b, root[pi > 0][at], pi[pi > 0][at]))


def not_told(g_b, h_b, g, h, cost, money, seed):
    sampler = CostOptimalRandomSampler().fit(h_b, g_b)
    pi, xi = sampler.sample(h.size, y_true_cost=1.0, y_proxy_cost=cost, max_cost=money, random_seed=seed)
    return with_burn_in(g_b, h_b, g, h, pi, xi, np.full(h_b.size, pi.max()))


warnings.simplefilter("ignore")
d, out = dict(np.load(sys.argv[1])), []
n, cost, budget = int(d["numbers"][0]), *d["numbers"][1:]
for method in (told, not_told):
    for t, (g, h) in enumerate(zip(d["g"], d["h"])):
        try:
            found = method(g[:n], h[:n], g[n:], h[n:], cost, budget - n * (1 + cost), t)
        except Exception:
            found = np.nan
        out.append(found)
np.save(sys.argv[2], np.array(out).reshape(2, -1))
"""


@dataclass(frozen=True, slots=True)
class Cell:
    """A world and the money: a strong rating costs 1."""

    mean: float
    r2: float  # share of the verdicts' variance that a calibrated judge explains
    budget: int
    judge: str = "calibrated"
    mode: str = "pool"
    cost: float = 0.01

    def name(self) -> str:
        return f"{self.mean:g} | {self.r2:g} | {self.budget} | {self.judge} | {self.mode} | {self.cost:g}"


def everyday() -> list[Cell]:
    return [Cell(m, r, n) for m, r, n in itertools.product((0.8, 0.95, 0.985), (0.3, 0.6), (60, 100, 300))]


def bad() -> list[Cell]:
    judges = ("useless", "reversed", "overconfident")
    return [Cell(m, 0.3, n, j) for j, m, n in itertools.product(judges, (0.8, 0.95, 0.985), (60, 100, 300))]


def drawn() -> list[Cell]:
    """Chosen by a seed from all of them; the last ones are kept aside."""
    every = [
        Cell(m, r, n, j, mode, c)
        for m, r, n, j, mode, c in itertools.product(
            (0.5, 0.8, 0.9, 0.95, 0.985, 0.99), (0.1, 0.3, 0.5, 0.7), (30, 60, 100, 300),
            ("calibrated", "overconfident", "reversed", "useless"), ("stream", "pool"), (0.0, 0.01, 0.05, 0.1),
        )
        if mode == "pool" or c > 0
    ]  # fmt: skip
    rng = np.random.default_rng(GRID_SEED)
    return [every[i] for i in rng.permutation(len(every))[: DRAWN + ASIDE]]


CELLS = {"everyday": everyday, "bad": bad, "drawn": lambda: drawn()[:DRAWN], "aside": lambda: drawn()[DRAWN:]}


def world(cell: Cell, seed: int, number: int) -> Population:
    """The same for every budget, price and mode."""
    rng = np.random.default_rng([seed, round(1000 * cell.mean), round(100 * cell.r2), number])
    made = calibrated(ITEMS, mean=cell.mean, spread=cell.r2, rng=rng)
    g = made.weak
    if cell.judge == "useless":
        g = rng.permutation(g)
    elif cell.judge == "reversed":
        g = 1 - g
    elif cell.judge == "overconfident":
        g = special.expit(2 * special.logit(np.clip(g, 1e-9, 1 - 1e-9)))
    return Population.of(g, made.strong)


def setting(cell: Cell, seed: int, burn_in: int = 0) -> Setting:
    budget = cell.budget - burn_in * (1 + cell.cost)
    return Setting(cell.cost, (budget,), burn_in, cell.mode, 0.95, 0.1, seed)


# One cell


@dataclass(slots=True)
class Found:
    """Errors of every trial over the standard error of strong ratings alone, and whether intervals held."""

    errors: list[float]
    expected: list[float]
    held: list[bool]
    widths: list[float]

    def add(self, played: Trial, theta: float, scale: float) -> None:
        e = played.play()
        low, high = e.interval or (0.0, 1.0)
        self.errors.append((e.value - theta) / scale)
        self.expected.append(expected_error(played) / scale**2)
        self.held.append(low <= theta <= high)
        self.widths.append(min(high, 1.0) - max(low, 0.0))

    def entry(self) -> str:
        if not self.errors:
            return "–"
        squared = np.array(self.errors) ** 2
        text = f"{np.nanmean(squared):.2f} ± {np.nanstd(squared) / math.sqrt(squared.size):.2f}"
        if self.expected:
            text += f" ({np.mean(self.expected):.2f})"
        return text + (f" / {100 * np.mean(self.held):.1f} / {np.mean(self.widths):.4f}" if self.widths else "")


def campaign(block: Block, trial: int, budget: float, *, prior: bool) -> Trial:
    usual = score_prior("probability", block.setting.cost_ratio, 1.0) if prior else None
    return Trial(block, trial, float(budget), prior=usual)


def expected_error(played: Trial) -> float:
    """The variance of the estimate by the rates that it has, with the items' true verdicts."""
    block, seen = played.block, played.seen
    rows = block.index[played.trial, : seen.items]
    h, N = block.population.strong[rows], block.setting.pool_size(block.population)
    drawn = pooled_draw(seen)
    draw = float(np.mean((h - drawn.weak) ** 2 * (1.0 / seen.rates() - 1.0))) / seen.items
    return draw + block.population.variance * max(1.0 / seen.items - 1.0 / N, 0.0)


def one_cell(cell: Cell, trials: int, seed: int, names: Sequence[str], glide: str | None) -> dict[str, Found]:
    found = {name: Found([], [], [], []) for name in names}
    burn_in = max(round(BURN_IN_SHARE * cell.budget / (1 + cell.cost)), 2)
    draws = []
    for number in range(math.ceil(trials / TOGETHER)):
        population = world(cell, seed, number)
        theta = population.mean
        block = Block(population, setting(cell, seed + number), range(min(TOGETHER, trials - number * TOGETHER)))
        scale = math.sqrt(population.variance * (1 / cell.budget - 1 / block.setting.pool_size(population)))
        for name, prior in (("auto", True), ("labels alone", False)):
            for k in range(len(block.trials)) if name in names else ():
                found[name].add(campaign(block, k, cell.budget, prior=prior), theta, scale)
        for name, start in (("base", 0), ("limit", 0), ("paper-active", burn_in)):
            if name in names:
                lab = Lab.of(population, setting(cell, seed + number, start), (name,), None)
                o = lab.run(block.trials)[name]
                one = found[name]
                one.errors += ((o.value[:, 0] - theta) / scale).tolist()
                one.held += ((o.low <= theta) & (theta <= o.high))[:, 0].tolist()
                one.widths += (np.minimum(o.high, 1) - np.maximum(o.low, 0))[:, 0].tolist()
        draws += [(population.weak[rows], population.strong[rows], theta, scale) for rows in block.take(ITEMS)[0]]
    if glide is not None:
        for name, errors in zip(
            ("GLIDE told u", "GLIDE not told"), ask_glide(cell, glide, burn_in, draws), strict=True
        ):
            found[name].errors = errors
    return found


def ask_glide(
    cell: Cell, python: str, burn_in: int, draws: list[tuple[Floats, Floats, float, float]]
) -> Iterator[list[float]]:
    with tempfile.TemporaryDirectory() as folder:
        source, target = pathlib.Path(folder, "draws.npz"), pathlib.Path(folder, "found.npy")
        g, h = (np.stack([one[k][:ITEMS] for one in draws]) for k in (0, 1))
        np.savez(source, g=g, h=h, numbers=[burn_in, cell.cost, cell.budget])
        subprocess.run([python, "-I", "-c", GLIDE_PROGRAM, str(source), str(target)], check=True)
        for values in np.load(target):
            yield [(v - theta) / scale for v, (_, _, theta, scale) in zip(values, draws, strict=True)]


def table(cells: Sequence[Cell], trials: int, seed: int, names: Sequence[str], glide: str | None) -> None:
    print("| mean | R² | budget | judge | mode | price | " + " | ".join(names) + " |")
    print("|---" * (6 + len(names)) + "|")
    rows = []
    for cell in cells:
        rows.append(one_cell(cell, trials, seed, names, glide))
        print(f"| {cell.name()} | " + " | ".join(rows[-1][name].entry() for name in names) + " |", flush=True)
    for name in names:
        some = [row[name] for row in rows if row[name].errors]
        if some:
            print(f"- {name}: {summed(some)}")


def summed(cells: Sequence[Found]) -> str:
    """Geometric mean and worst of the cells' squared errors; coverage and width."""
    squared = np.array([np.nanmean(np.array(one.errors) ** 2) for one in cells])
    told = f"squared error {np.exp(np.log(squared).mean()):.3f} in geometric mean, {squared.max():.2f} at most"
    if cells[0].expected:
        sure = np.array([np.mean(one.expected) for one in cells])
        told += f"; expected {np.exp(np.log(sure).mean()):.3f}, mean {sure.mean():.3f}, {sure.max():.2f} at most"
    if cells[0].widths:
        width = np.exp(np.mean([np.log(np.mean(one.widths)) for one in cells]))
        told += f"; coverage {min(np.mean(one.held) for one in cells):.1%} at least; width {width:.4f}"
    return told


# The shared tables


def verdict_tables() -> Iterator[tuple[str, Population]]:
    """Those whose strong ratings are 0 or 1."""
    for path in sorted(DATA.glob("*.parquet")):
        columns = rw.read_table(path)
        weak = "g_prob" if path.stem == "cdi_politeness" else "g"
        if is_binary(h := columns.numbers("h")):
            yield path.stem, Population.of(columns.numbers(weak), h)


def on_tables(trials: int, seed: int) -> None:
    """auto with and without its prior, in pools at a price of 0.01."""
    print("| table | " + " | ".join(f"{B:g}, {name}" for B in SMALL for name in ("auto", "labels alone")) + " |")
    print("|---" * (1 + 2 * len(SMALL)) + "|")
    for name, population in verdict_tables():
        told = []
        for B, prior in itertools.product(SMALL, (True, False)):
            block = Block(population, Setting(0.01, (B,), 0, "pool", 0.95, 0.1, seed), range(trials))
            one, theta = Found([], [], [], []), population.mean
            scale = math.sqrt(population.variance * (1 / B - 1 / population.items))
            for k in range(trials):
                one.add(campaign(block, k, B, prior=prior), theta, scale)
            told.append(one.entry())
        print(f"| {name} | " + " | ".join(told) + " |", flush=True)


def scores() -> Iterator[tuple[str, str, Floats, Floats]]:
    """Table, kind of score, scores on [0, 1] and verdicts; shares of votes have ratings between 0 and 1."""

    def read(name: str) -> rw.Table:
        return rw.read_table(DATA / f"{name}.parquet")

    images, politeness, alpaca = read("imagenet_resnet50"), read("cdi_politeness"), read("alpaca_human_judges")
    yield "imagenet", "probability", images.numbers("g"), images.numbers("h")
    for name in ("vit", "dino", "simclr"):
        yield "imagenet", "probability", images.numbers(f"{name}_prob"), images.numbers(f"{name}_correct")
    answers = read("evouna_qa")
    for kind, column in (
        ("probability", "g"),
        ("similarity", "g_f1"),
        ("similarity", "g_recall"),
        ("similarity", "g_trigram"),
    ):
        yield "evouna", kind, answers.numbers(column), answers.numbers("h")
    yield "politeness", "confidence", politeness.numbers("g_prob"), politeness.numbers("h")
    for column in ("g", "g_gpt35", "g_gpt4turbo"):
        yield "alpaca", "probability", alpaca.numbers(column), alpaca.numbers("h")
    for name in ("ppi_galaxies", "ppi_alphafold", "ppi_forest"):
        yield name, "probability", read(name).numbers("g"), read(name).numbers("h")
    arena = read("chatbot_arena_33k")
    votes = [arena.numbers(c) for c in ("g_gpt4", "g_claude3opus", "g_gpt35")]
    for said in (*votes, np.mean(votes, axis=0)):
        yield "arena", "votes", said, arena.numbers("h")


def fit() -> None:
    """Intercept and slope of every score, and their mean and spread by kind, with each table left out in turn."""
    rows = []
    for name, kind, g, h in scores():
        z = special.logit(np.clip(g, 1e-3, 1 - 1e-3))

        def loss(at: Floats, z: Floats = z, h: Floats = h) -> float:
            line = at[0] + at[1] * z
            return float(np.mean(np.logaddexp(0.0, line) - h * line))

        rows.append((name, kind, *optimize.minimize(loss, np.array([0.0, 0.5])).x.tolist()))
        print(f"{name:14} {kind:12} intercept {rows[-1][2]:+.2f} slope {rows[-1][3]:+.2f}")
    for kind in dict.fromkeys(row[1] for row in rows):
        of = [row for row in rows if row[1] == kind]
        for left_out in (None, *dict.fromkeys(row[0] for row in of)):
            ab = np.array([row[2:] for row in of if row[0] != left_out])
            if len(ab):
                (a, b), (da, db) = ab.mean(axis=0), ab.std(axis=0)
                print(f"{kind}, without {left_out}: intercept {a:+.2f} ± {da:.2f}, slope {b:+.2f} ± {db:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=300)
    parser.add_argument("--seed", type=int, default=33)
    parser.add_argument("--cells", choices=list(CELLS), default="everyday")
    parser.add_argument("--methods", default="base,auto,labels alone,limit,paper-active")
    parser.add_argument("--tables", action="store_true")
    parser.add_argument("--fit", action="store_true")
    given = parser.parse_args()
    if given.fit:
        fit()
    elif given.tables:
        on_tables(given.trials, given.seed)
    else:
        try:
            python = glide_python()
        except subprocess.CalledProcessError:
            python = None
        has = python is not None and subprocess.run(
            [str(python), "-I", "-c", "import glide"], check=False, capture_output=True
        ).returncode == 0  # fmt: skip
        if not has:
            print("glide-py is not installed: its two columns are left out", file=sys.stderr)
        names = [*given.methods.split(","), *(["GLIDE told u", "GLIDE not told"] if has else [])]
        table(CELLS[given.cells](), given.trials, given.seed, names, str(python) if has else None)


if __name__ == "__main__":
    main()
