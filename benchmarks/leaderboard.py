"""How many human votes does a leaderboard need? Chatbot Arena's 26,919 votes on 20 models, judged by three LLMs.

Reads ../shared/data, or the folder named by RATEWISE_DATA. Truth is the fit to all human votes. At 10 % and 20 % of
them: uniform human votes alone, uniform votes with the weak votes as PPI uses them, and the votes that `ask_votes`
chooses, in one round or two, with `leaderboard`'s defaults or with the three judges' own verdicts as features. Prints
RMSE of the ratings, coverage (of each interval, and of all at once), rank correlation, and how many uniform human votes
alone would give the same RMSE. Then how long a board of 100 models and 20,000 votes takes. `--trials` (200 if absent)
decides how sure it all is.
"""

import argparse
import os
import pathlib
import sys
import time

import numpy as np
from scipy import special, stats

import ratewise as rw
from ratewise.lab.workers import in_order

DATA = pathlib.Path(os.environ.get("RATEWISE_DATA", pathlib.Path(__file__).resolve().parents[2] / "shared" / "data"))
SHARES = (0.1, 0.2)
GRID = (0.08, 0.1, 0.12, 0.14, 0.16, 0.18, 0.2, 0.22, 0.24, 0.26, 0.28, 0.3)
JUDGES = ("g_gpt4", "g_claude3opus", "g_gpt35")
ARMS = (
    "human votes alone", "uniform + PPI", "uniform + learned", "chosen", "chosen, three judges", "chosen in two rounds",
)  # fmt: skip


class Arena:
    """The table, its human votes, and the ratings that all of them give."""

    def __init__(self) -> None:
        table = rw.read_table(DATA / "chatbot_arena_33k.parquet")
        self.votes = table.numbers("h")
        self.table = rw.read_table(
            {name: table.texts(name) for name in ("id", "model_a", "model_b")}
            | {name: table.numbers(name) for name in JUDGES}
            | {"judge": table.numbers("g")}
        )
        self.truth = self.ratings(rw.leaderboard(table, strong="h"))

    @staticmethod
    def ratings(board: rw.Leaderboard) -> np.ndarray:
        """By name."""
        return np.array([m.rating for m in sorted(board.models, key=lambda m: m.name)])

    def voted(self, selected: np.ndarray, rates: np.ndarray) -> rw.Table:
        """The table with the human votes of those that were asked for."""
        human = np.where(selected, self.votes, np.nan)
        return self.table.with_columns({"human": human, "rate": rates, "selected": selected})

    def uniform(self, share: float, seed: int) -> rw.Table:
        """A share of the votes, each as likely."""
        n = self.votes.size
        selected = np.zeros(n, dtype=bool)
        selected[np.random.default_rng(seed).permutation(n)[: round(share * n)]] = True
        return self.voted(selected, np.full(n, round(share * n) / n))

    def chosen(self, share: float, seed: int, *, rounds: int) -> rw.Table:
        """The votes that `ask_votes` chooses; of two rounds, two fifths in the first."""
        count = round(share * self.votes.size)
        first = count if rounds == 1 else round(0.4 * count)
        asked = rw.ask_votes(self.table, votes=first, weak="judge", seed=seed)
        if rounds > 1:
            again = self.voted(asked.selected, asked.rates)
            asked = rw.ask_votes(again, votes=count - first, weak="judge", strong="human", seed=seed)
        return self.voted(asked.selected, asked.rates)


def boards(arena: Arena, arm: str, share: float, seed: int) -> rw.Leaderboard:
    pool = {"estimand": "pool", "strong": "human", "seed": seed}
    if arm == "human votes alone":
        return rw.leaderboard(arena.uniform(share, seed), **pool, rate="rate")
    if arm == "uniform + PPI":
        return rw.leaderboard(arena.uniform(share, seed), **pool, weak="judge", rate="rate", method="difference")
    if arm == "uniform + learned":
        return rw.leaderboard(arena.uniform(share, seed), **pool, weak="judge", rate="rate")
    table = arena.chosen(share, seed, rounds=2 if arm.endswith("rounds") else 1)
    features = JUDGES if arm.endswith("judges") else ()
    return rw.leaderboard(table, **pool, weak="judge", rate="rate", features=features)


_ARENA: list[Arena] = []


def trial(task: tuple[str, float, int]) -> tuple[float, float, float, float]:
    """Mean squared error, share of intervals that cover, whether all do at once, rank correlation."""
    arm, share, seed = task
    if not _ARENA:
        _ARENA.append(Arena())
    arena = _ARENA[0]
    board = boards(arena, arm, share, seed)
    models = sorted(board.models, key=lambda m: m.name)
    rating, se, low, high = (np.array([getattr(m, key) for m in models], dtype=float)
                             for key in ("rating", "standard_error", "low", "high"))  # fmt: skip
    away = rating - arena.truth
    return (
        float(np.mean(away**2)), float(np.mean(np.abs(away) <= 1.96 * se)),
        float(np.all((low <= arena.truth) & (arena.truth <= high))), float(stats.spearmanr(rating, arena.truth)[0]),
    )  # fmt: skip


def worth(share: float, mse: float, curve: list[tuple[float, float]]) -> float:
    """How many uniform human votes alone give this error, over those that were used; log-linear between the grid's."""
    x, y = np.log([s / (1 - s) for s, _ in curve]), np.log([e for _, e in curve])
    odds = float(np.exp(np.interp(-np.log(mse), -y, x)))
    return odds / (1 + odds) / share


def timing() -> str:
    rng = np.random.default_rng(0)
    K, n = 100, 20_000
    r = rng.normal(size=K)
    a = rng.integers(0, K, n)
    b = (a + rng.integers(1, K, n)) % K
    h = (rng.random(n) < special.expit(r[a] - r[b])) * 1.0
    judge = np.clip(0.2 + 0.6 * h + 0.1 * rng.normal(size=n), 0, 1)
    names = np.array([f"model {k}" for k in range(K)])
    table = rw.read_table({"model_a": names[a], "model_b": names[b], "human": h, "judge": judge})
    some = table.with_columns({"few": np.where(rng.random(n) < 0.1, h, np.nan)})
    parts = []
    for what, given, options in (
        ("all strong", table, {"strong": "human"}), ("a tenth strong", some, {"strong": "few", "weak": "judge"}),
    ):  # fmt: skip
        times = []
        for _ in range(3):
            start = time.perf_counter()
            rw.leaderboard(given, **options)
            times.append(time.perf_counter() - start)
        parts.append(f"{what} {min(times):.2f} s")
    return f"100 models, 20,000 votes, ratings, ranks and intervals: {', '.join(parts)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--workers", type=int)
    given = parser.parse_args()
    print(timing())
    if not (DATA / "chatbot_arena_33k.parquet").exists():
        print(f"no chatbot_arena_33k in {DATA.name}; name its folder in RATEWISE_DATA", file=sys.stderr)
        return
    tasks = [("human votes alone", s, seed) for s in GRID for seed in range(given.trials)]
    tasks += [(arm, s, seed) for arm in ARMS[1:] for s in SHARES for seed in range(given.trials)]
    found: dict[tuple[str, float], list[tuple[float, ...]]] = {}
    for task, result in zip(tasks, in_order(trial, tasks, workers=given.workers), strict=True):
        found.setdefault(task[:2], []).append(result)
    means = {key: np.mean(values, axis=0) for key, values in found.items()}
    curve = [(s, float(means["human votes alone", s][0])) for s in GRID]
    print("| votes | arm | RMSE (points) | coverage | all at once | rank correlation | votes alone for the same RMSE |")
    print("|---|---|---|---|---|---|---|")
    for s in SHARES:
        for arm in ARMS:
            mse, cover, at_once, rank = means[arm, s]
            errors = np.array([v[0] for v in found[arm, s]])
            spread = errors.std(ddof=1) / errors.mean() / np.sqrt(errors.size)
            times = worth(s, mse, curve)
            print(
                f"| {s:.0%} | {arm} | {np.sqrt(mse):.2f} | {cover:.1%} | {at_once:.1%} | {rank:.4f} | "
                f"{times:.2f} × (± {1.96 * spread * times:.2f}) |"
            )


if __name__ == "__main__":
    main()
