"""Old labels and a new draw in tables: bias, coverage and width by how the old labels came about. Prints a table.

`plan`, `draw` and `estimate` as a user would run them, on made-up pools of 300 items with about 45 old labels and money
for 50 more: drawn at random, by rates that follow the judge, or picked by hand where the judge errs. Beside each, the
same money without the old labels.

    python benchmarks/old_labels.py [--trials 2000] [--write build/study/old-labels.md]
"""

import argparse
import warnings
from dataclasses import dataclass

import numpy as np

import ratewise as rw

ITEMS, BUDGET = 300, 50
WAYS = ("at random", "rates", "by hand")
INTRODUCTION = """# Coverage with old labels

A pool of {items} items has about 45 labels already, and there is money for {budget} more. `plan --drawn`, `draw` and
`estimate` are run as a user runs them, {trials:,} times for each way in which the old labels may have come about: at
random, by rates that follow the judge, or picked by hand where the judge errs. The judge is biased: it says 0.75 times
the chance of a right answer. The goal is the pool's own mean, at 95 %.

"""
NOTE = """
- **bias**: mean error over the standard deviation of the errors; by chance alone up to {noise:.3f}.
- **coverage**: share of intervals that hold the truth; by chance it may be off by {chance:.1%}.
- **width**: mean width of the interval, and in brackets that of the same money without the old labels.
- **naive**: coverage of one who takes all labels, old and new, as one random draw.

Made by `python benchmarks/old_labels.py --trials {trials} --write build/study/old-labels.md`.
"""


@dataclass(frozen=True, slots=True)
class Trial:
    """One pool: errors and intervals with old labels, without them, and of one who takes all labels alike."""

    error: float
    covered: bool
    width: float
    width_without: float
    naive_covered: bool


def world(how: str, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A judge, the truth, who has a label, and the rate that it was drawn with."""
    rng = np.random.default_rng([seed, 191])
    chance = np.round(rng.beta(2.0, 0.7, ITEMS), 4)
    truth = (rng.random(ITEMS) < chance).astype(float)
    was = np.full(ITEMS, 0.15) if how != "rates" else np.clip(0.05 + 0.5 * (1 - chance), 0, 1)
    old = rng.random(ITEMS) < was
    if how == "by hand":  # somebody went for mistakes of the judge
        old = np.argsort(np.argsort(-np.abs(truth - chance) + 0.5 * rng.random(ITEMS))) < ITEMS // 7
    return 0.75 * chance, truth, old, was


def play(how: str, seed: int, table: rw.Table) -> Trial:
    """Plan, draw, label and estimate once."""
    judge, truth, old, was = world(how, seed)
    goal = truth.mean()
    pool = table.with_columns({"judge": judge, "human": np.where(old, truth, np.nan), "was": was}, replace=True)
    columns = {"weak": "judge", "strong": "human"}
    prices = {"weak_cost": 0, "strong_cost": 1, "budget": BUDGET, "estimand": "pool"}
    plan = rw.plan(pool, **columns, **prices, drawn="was" if how == "rates" else how)
    drawn = rw.draw_pool(pool, plan, seed=seed)
    rated = drawn.table.with_columns({"human": np.where(drawn.selected, truth, np.nan)}, replace=True)
    found = rw.estimate_table(rated, **columns, estimand="pool")
    new = np.random.default_rng([seed, 192]).permutation(ITEMS) < BUDGET
    alone = rw.estimate_mean(judge, np.where(new, truth, np.nan), np.full(ITEMS, BUDGET / ITEMS), estimand="pool")
    share = np.full(ITEMS, drawn.selected.mean())
    naive = rw.estimate_mean(judge, np.where(drawn.selected, truth, np.nan), share, estimand="pool")
    return Trial(
        found.value - goal,
        found.low <= goal <= found.high,
        found.high - found.low,
        alone.high - alone.low,
        naive.low <= goal <= naive.high,
    )


def row(how: str, trials: list[Trial]) -> str:
    """A line of the table."""
    errors = np.array([t.error for t in trials])
    covered, naive = (np.mean([getattr(t, name) for t in trials]) for name in ("covered", "naive_covered"))
    width, without = (np.mean([getattr(t, name) for t in trials]) for name in ("width", "width_without"))
    return (
        f"| {how} | {errors.mean() / errors.std():+.3f} | {covered:.1%} | {width:.3f} ({without:.3f}) | {naive:.1%} |"
    )


def main() -> None:
    """Run the study and print or write its table."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--trials", type=int, default=2000)
    asked.add_argument("--write")
    given = asked.parse_args()
    table = rw.read_table({"id": [f"q{i}" for i in range(ITEMS)]})
    warnings.simplefilter("ignore", rw.RatewiseWarning)
    lines = ["| old labels | bias | coverage | width | naive |", "|---|---|---|---|---|"]
    for how in WAYS:
        lines.append(row(how, [play(how, seed, table) for seed in range(given.trials)]))
        print(lines[-1], flush=True)
    chance = 2 * np.sqrt(0.05 * 0.95 / given.trials)
    told = {
        "items": ITEMS,
        "budget": BUDGET,
        "trials": given.trials,
        "noise": 2 / np.sqrt(given.trials),
        "chance": chance,
    }
    page = INTRODUCTION.format(**told) + "\n".join(lines) + "\n" + NOTE.format(**told)
    if given.write:
        with open(given.write, "w", encoding="utf-8") as file:
            file.write(page)
    else:
        print(page)


if __name__ == "__main__":
    main()
