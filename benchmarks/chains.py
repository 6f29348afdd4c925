"""Chains of three raters on real tables, against the best campaign of two raters for the same money.

    python benchmarks/chains.py --trials 200
    python benchmarks/chains.py --minutes 10      # as many trials as fit; cells take turns

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
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

import numpy as np

from ratewise.campaign.answers import estimate_history
from ratewise.campaign.rehearsal import Pool, Rehearsal
from ratewise.core.mean.policy import optimal_policy
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

    def play(self, trial: int, money: int) -> None:
        """The chain and both pairs on one pool."""
        rng = np.random.default_rng([trial, 1717])
        n = min(_ITEMS, len(self.ratings))
        rows = rng.choice(len(self.ratings), n, replace=False)
        prices = [Decimal(p) for p in (*self.prices, "1")]
        for way, raters in WAYS.items():
            ratings = self.ratings[rows][:, raters].T
            pool = Pool.of(*ratings, prices=tuple(prices[k] for k in raters), seed=trial)
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
        a, b, n = e["chain"], e[best], e["chain"].size
        whole = a.mean() / b.mean()
        without = (a.sum() - a) / (b.sum() - b)
        return whole, math.sqrt((n - 1) * float(np.var(without)))

    def claim(self) -> float:
        """The same by the estimates' own standard errors: far less noisy, and honest where intervals cover."""
        mean = {way: float(np.mean(values)) for way, values in self.claimed.items()}
        return mean["chain"] / min(mean["cheap"], mean["dear"])


def cells() -> list[Cell]:
    out = []
    for name, raters in RATERS.items():
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
        if len(cell.covered) < 3:
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


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--trials", type=int, default=200)
    asked.add_argument("--budget", type=int, default=_BUDGET)
    asked.add_argument("--minutes", type=float, default=math.inf)
    options = asked.parse_args()
    if not DATA.exists():
        sys.exit(f"the tables are not at {DATA}; name their folder with RATEWISE_DATA")
    done, end = cells(), time.monotonic() + 60 * options.minutes
    for trial in range(options.trials):
        for cell in done:
            cell.play(trial, options.budget)
        if time.monotonic() > end:
            break
        if trial % 5 == 4:
            print(f"after {trial + 1} trials\n{report(done)}\n", flush=True)
    print(report(done))


if __name__ == "__main__":
    main()
