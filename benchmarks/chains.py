"""Chains of three raters on real tables, against the best campaign of two raters for the same money.

    python benchmarks/chains.py --trials 200
    python benchmarks/chains.py --minutes 10      # as many trials as fit; cells take turns
    python benchmarks/chains.py --trials 2000 --out all.npz     # every trial is kept; a second call goes on from there
    python benchmarks/chains.py --trials 0 --out new.npz --against old.npz      # two versions, trial by trial

Every trial draws a pool from the table, plays the chain and both pairs of raters on it as campaigns are played
(`campaign/rehearsal.py`), and compares squared errors around the pool's mean. `promise` is the exact chain policy's
squared error over that of the best exact policy of two raters, both knowing every error (h − r)². Nobody can learn
these from what the raters say; `learnable` is the same with the rating and its error as far as the raters' scores tell
them, from the whole table, each item by the others.
"""

import argparse
import math
import os
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

import numpy as np

from ratewise.campaign.estimates import estimate_history
from ratewise.campaign.rehearsal import Rehearsal, RehearsalPool
from ratewise.core.policy import optimal_policy
from ratewise.tables import read_table

DATA = Path(os.environ.get("RATEWISE_DATA", Path(__file__).parents[2] / "shared" / "data"))
RATERS = {  # the cheap judge, the dear one
    "trec_dl_relevance": ("g_flan_t5_large", "g_llama33_70b"),
    "alpaca_human_judges": ("g_gpt35", "g_gpt4turbo"),
    "chatbot_arena_33k": ("g_gpt35", "g_gpt4"),
    "summeval_llm": ("g_gpt35_rts", "g_gpt4_rts"),
}
PRICES = (("0.002", "0.02"), ("0.01", "0.1"), ("0.02", "0.3"), ("0.05", "0.1"))
WAYS = {"chain": (0, 1, 2), "cheap": (0, 2), "dear": (1, 2)}
_ITEMS, _BUDGET = 1500, 120
_PROMISING = 0.9


@dataclass
class Cell:
    """One table at one pair of prices, with what its trials gave."""

    table: str
    prices: tuple[str, str]
    ratings: np.ndarray  # items × raters
    promise: float
    learnable: float
    errors: dict[str, list[float]] = field(default_factory=lambda: {way: [] for way in WAYS})
    claimed: dict[str, list[float]] = field(default_factory=lambda: {way: [] for way in WAYS})  # squared errors
    covered: list[bool] = field(default_factory=list)
    spent: list[float] = field(default_factory=list)

    @property
    def name(self) -> str:
        """What its trials are called in a file."""
        return f"{self.table} {'-'.join(self.prices)}"

    def play(self, trial: int, money: int, ways: Iterable[str] = WAYS) -> None:
        """The chain and both pairs on one pool, unless they were played before."""
        rng = np.random.default_rng([trial, 1717])
        n = min(_ITEMS, len(self.ratings))
        rows = rng.choice(len(self.ratings), n, replace=False)
        prices = [Decimal(p) for p in (*self.prices, "1")]
        for way, raters in ((way, WAYS[way]) for way in ways if len(self.errors[way]) <= trial):
            ratings = self.ratings[rows][:, raters].T
            pool = RehearsalPool.of(*ratings, prices=tuple(prices[k] for k in raters), seed=trial)
            budget = Decimal(min(money, n // 4))
            game = Rehearsal(
                pool, pool.terms(budget=budget, bounds=(float(ratings[-1].min()), float(ratings[-1].max())))
            )
            game.play()
            found, truth = estimate_history(game.history, game.terms.wanted), float(ratings[-1].mean())
            self.errors[way].append((found.value - truth) ** 2)
            self.claimed[way].append((found.standard_error or 0.0) ** 2)
            if way == "chain":
                self.covered.append(found.interval[0] - 1e-12 <= truth <= found.interval[1] + 1e-12)
                self.spent.append(game.spent / 1e9 / float(budget))

    def ratio(self) -> tuple[float, float]:
        """Squared error of the chain over that of the better pair, and its standard error (jackknife)."""
        e = {way: np.array(values) for way, values in self.errors.items()}
        best = min(("cheap", "dear"), key=lambda way: e[way].mean())
        n = min(e["chain"].size, e[best].size)
        return jackknifed(e["chain"][:n], e[best][:n])

    def claim(self) -> float:
        """The same by the estimates' own standard errors: far less noisy, and honest where intervals cover."""
        mean = {way: float(np.mean(values)) for way, values in self.claimed.items()}
        return mean["chain"] / min(mean["cheap"], mean["dear"])


def jackknifed(a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    """Ratio of two means of the same trials, and its standard error."""
    without = (a.sum() - a) / (b.sum() - b)
    return float(a.mean() / b.mean()), math.sqrt((a.size - 1) * float(np.var(without)))


def cells(tables: Iterable[str] = RATERS) -> list[Cell]:
    out = []
    for name, raters in ((name, RATERS[name]) for name in tables):
        table = read_table(DATA / f"{name}.parquet")
        columns = [table.numbers(column, missing="allow") for column in (*raters, "h")]
        ratings = np.column_stack(columns)
        ratings = ratings[~np.isnan(ratings).any(axis=1)]
        out += [Cell(name, prices, ratings, promise(ratings, prices), learnable(ratings, prices)) for prices in PRICES]
    return out


def promise(ratings: np.ndarray, prices: tuple[str, str]) -> float:
    """What the exact policies would leave, the chain's over the better pair's; raters on the strong one's scale."""
    h, V = ratings[:, 2], float(ratings[:, 2].var())
    u = []
    for k in (0, 1):
        slope, level = np.polyfit(ratings[:, k], h, 1)
        u.append((h - level - slope * ratings[:, k]) ** 2)
    c = [float(p) for p in prices]
    pairs = [optimal_policy(u[k], variance=V, weak_cost=c[k], strong_cost=1.0).error_times_budget for k in (0, 1)]
    chain = optimal_policy(np.stack(u, axis=1), variance=V, weak_cost=c[0], strong_cost=[c[1], 1.0])
    return chain.error_times_budget / min(*pairs, V)


def learnable(ratings: np.ndarray, prices: tuple[str, str]) -> float:
    """The promise with f and u that the raters' scores can tell, from the whole table."""
    h, V = ratings[:, 2], float(ratings[:, 2].var())
    cheap, dear = (_twelfths(ratings[:, k]) for k in (0, 1))
    known = (cheap, dear, 12 * cheap + dear)
    u = [_told(by, (h - _told(by, h)) ** 2) for by in known]
    c = [float(p) for p in prices]
    pairs = [optimal_policy(u[k], variance=V, weak_cost=c[k], strong_cost=1.0).error_times_budget for k in (0, 1)]
    steps = np.stack([u[0], u[2]], axis=1)
    chain = optimal_policy(steps, variance=V, weak_cost=c[0], strong_cost=[c[1], 1.0]).error_times_budget
    both = optimal_policy(u[2], variance=V, weak_cost=sum(c), strong_cost=1.0).error_times_budget
    return float(min(chain, both) / min(*pairs, V))


def _twelfths(score: np.ndarray) -> np.ndarray:
    return np.searchsorted(np.unique(np.quantile(score, np.arange(1, 12) / 12)), score)


def _told(group: np.ndarray, values: np.ndarray, folds: int = 10, shrink: float = 5.0) -> np.ndarray:
    """The group's mean in the other folds, drawn in a little towards that of all."""
    fold, out = np.random.default_rng(1).permutation(values.size) % folds, np.empty(values.size)
    for k in range(folds):
        rest, own = fold != k, fold == k
        count = np.bincount(group[rest], minlength=group.max() + 1)
        total = np.bincount(group[rest], values[rest], minlength=group.max() + 1)
        out[own] = ((total + shrink * values[rest].mean()) / (count + shrink))[group[own]]
    return out


def report(done: list[Cell]) -> str:
    lines = [
        "| table | prices | trials | promise | learnable "
        "| chain / best pair | s.e. | by own errors | coverage | spent |"
    ]
    lines.append("|---|---|---|---|---|---|---|---|---|---|")
    promising: list[tuple[float, float]] = []
    for cell in done:
        if min(len(cell.errors[way]) for way in WAYS) < 3:
            continue
        ratio, se = cell.ratio()
        if cell.promise <= _PROMISING:
            promising.append((ratio, cell.claim()))
        lines.append(
            f"| {cell.table} | {', '.join(cell.prices)} | {len(cell.covered)} | {cell.promise:.3f} | "
            f"{cell.learnable:.3f} | {ratio:.3f} | "
            f"{se:.3f} | {cell.claim():.3f} | {np.mean(cell.covered):.3f} | {np.mean(cell.spent):.3f} |"
        )
    if promising:
        found, own = np.exp(np.mean(np.log(promising), axis=0))
        lines.append(f"\ngeometric mean where 10 % or more is promised: {found:.3f}, by own errors {own:.3f}")
    return "\n".join(lines)


def save(path: Path, done: list[Cell]) -> None:
    """Every trial's squared errors, so that runs can be joined and versions compared in pairs."""
    kept: dict[str, np.ndarray] = {}
    for cell in done:
        kept |= {f"{cell.name}/errors/{way}": np.array(values) for way, values in cell.errors.items() if values}
        kept |= {f"{cell.name}/claimed/{way}": np.array(values) for way, values in cell.claimed.items() if values}
        kept |= {f"{cell.name}/covered": np.array(cell.covered), f"{cell.name}/spent": np.array(cell.spent)}
    part = path.with_suffix(".part.npz")
    np.savez_compressed(part, **kept)
    part.replace(path)


def load(path: Path, done: list[Cell], ways: Iterable[str] = WAYS) -> None:
    """Takes over the trials of an earlier run, those of these ways."""
    with np.load(path) as kept:
        for cell in done:
            for way in ways:
                cell.errors[way] = kept.get(f"{cell.name}/errors/{way}", np.empty(0)).tolist()
                cell.claimed[way] = kept.get(f"{cell.name}/claimed/{way}", np.empty(0)).tolist()
            if "chain" in ways:
                cell.covered = kept.get(f"{cell.name}/covered", np.empty(0)).tolist()
                cell.spent = kept.get(f"{cell.name}/spent", np.empty(0)).tolist()


def against(done: list[Cell], path: Path) -> str:
    """The chain's squared error over that of another version on the same trials, with a standard error."""
    lines = []
    with np.load(path) as kept:
        for cell in done:
            other = kept.get(f"{cell.name}/errors/chain", np.empty(0))
            n = min(len(cell.errors["chain"]), len(other))
            if n >= 3:
                ratio, se = jackknifed(np.array(cell.errors["chain"][:n]), other[:n])
                own = np.mean(cell.claimed["chain"][:n]) / np.mean(kept[f"{cell.name}/claimed/chain"][:n])
                lines.append(f"{cell.name}: {ratio:.3f} ± {2 * se:.3f}, by own errors {own:.3f} ({n} trials)")
    return "\n".join(lines)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--trials", type=int, default=200)
    asked.add_argument("--budget", type=int, default=_BUDGET)
    asked.add_argument("--minutes", type=float, default=math.inf)
    asked.add_argument("--tables", nargs="+", default=list(RATERS), choices=list(RATERS))
    asked.add_argument("--ways", nargs="+", default=list(WAYS), choices=list(WAYS))
    asked.add_argument("--out", type=Path, help="file (.npz) for every trial's results; a second call goes on")
    asked.add_argument("--pairs", type=Path, help="file of an earlier run, whose pairs of raters are taken over")
    asked.add_argument("--against", type=Path, help="file of another version, to compare the chains trial by trial")
    options = asked.parse_args()
    if not DATA.exists():
        sys.exit(f"the tables are not at {DATA}; name their folder with RATEWISE_DATA")
    done, end = cells(options.tables), time.monotonic() + 60 * options.minutes
    if options.pairs:
        load(options.pairs, done, ("cheap", "dear"))
    if options.out and options.out.exists():
        load(options.out, done)
    for trial in range(options.trials):
        for cell in done:
            cell.play(trial, options.budget, options.ways)
        if time.monotonic() > end:
            break
        if trial % 20 == 19 and options.out:
            save(options.out, done)
        if trial % 20 == 19 and all(cell.errors["chain"] for cell in done):
            print(f"after trial {trial}\n{report(done)}\n", flush=True)
    if options.out:
        save(options.out, done)
    print(report(done))
    if options.against:
        print(against(done, options.against))


if __name__ == "__main__":
    main()
