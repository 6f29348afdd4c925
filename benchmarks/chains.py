"""Chains of three raters on real tables, against the best campaign of two raters for the same money.

    python benchmarks/chains.py --trials 200
    python benchmarks/chains.py --minutes 10      # as many trials as fit; cells take turns

Every trial draws a pool from the table, plays the chain and both pairs of raters on it as campaigns are played
(`campaign/rehearsal.py`), and compares squared errors around the pool's mean. `promise` is the exact chain policy's
squared error over that of the best exact policy of two raters, both knowing every error (h − r)².
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
    errors: dict[str, list[float]] = field(default_factory=lambda: {way: [] for way in WAYS})
    covered: list[bool] = field(default_factory=list)
    spent: list[float] = field(default_factory=list)

    def play(self, trial: int) -> None:
        """The chain and both pairs on one pool."""
        rng = np.random.default_rng([trial, 1717])
        n = min(_ITEMS, len(self.ratings))
        rows = rng.choice(len(self.ratings), n, replace=False)
        prices = [Decimal(p) for p in (*self.prices, "1")]
        for way, raters in WAYS.items():
            ratings = self.ratings[rows][:, raters].T
            pool = Pool.of(*ratings, prices=tuple(prices[k] for k in raters), seed=trial)
            budget = Decimal(min(_BUDGET, n // 4))
            game = Rehearsal(
                pool, pool.terms(budget=budget, bounds=(float(ratings[-1].min()), float(ratings[-1].max())))
            )
            game.play()
            found, truth = estimate_history(game.history, game.terms.wanted), float(ratings[-1].mean())
            self.errors[way].append((found.value - truth) ** 2)
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


def cells() -> list[Cell]:
    out = []
    for name, raters in RATERS.items():
        table = read_table(DATA / f"{name}.parquet")
        columns = [table.numbers(column, missing="allow") for column in (*raters, "h")]
        ratings = np.column_stack(columns)
        ratings = ratings[~np.isnan(ratings).any(axis=1)]
        out += [Cell(name, prices, ratings, promise(ratings, prices)) for prices in PRICES]
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


def report(done: list[Cell]) -> str:
    lines = ["| table | prices | trials | promise | chain / best pair | s.e. | coverage | spent |"]
    lines.append("|---|---|---|---|---|---|---|---|")
    promising = []
    for cell in done:
        if len(cell.covered) < 3:
            continue
        ratio, se = cell.ratio()
        if cell.promise <= _PROMISING:
            promising.append(ratio)
        lines.append(
            f"| {cell.table} | {', '.join(cell.prices)} | {len(cell.covered)} | {cell.promise:.3f} | {ratio:.3f} | "
            f"{se:.3f} | {np.mean(cell.covered):.3f} | {np.mean(cell.spent):.3f} |"
        )
    if promising:
        lines.append(f"\ngeometric mean where 10 % or more is promised: {math.exp(np.mean(np.log(promising))):.3f}")
    return "\n".join(lines)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--trials", type=int, default=200)
    asked.add_argument("--minutes", type=float, default=math.inf)
    options = asked.parse_args()
    if not DATA.exists():
        sys.exit(f"the tables are not at {DATA}; name their folder with RATEWISE_DATA")
    done, end = cells(), time.monotonic() + 60 * options.minutes
    for trial in range(options.trials):
        for cell in done:
            cell.play(trial)
        if time.monotonic() > end:
            break
        if trial % 5 == 4:
            print(f"after {trial + 1} trials\n{report(done)}\n", flush=True)
    print(report(done))


if __name__ == "__main__":
    main()
