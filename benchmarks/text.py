"""What texts are worth to `auto`: with the score alone, with words, with embeddings, with a trained rater. A table.

Pools of `evouna_qa` (each QA system in turn), `cdi_politeness`, `alpaca_human_judges`, `trec_dl_relevance` (whose
queries say little) and `summeval_llm` (four ratings of each summary), from the folder of data. All arms have the same
trials, so that ratios are of pairs. The trained rater's probabilities come from `benchmarks/text_train.py`; for a QA
system it was trained on the other four, for the other tables on one half of the rows, and the pool is the other half.
Items that it was trained on, or nearly the same texts, are left out of the pool for every arm, as campaigns leave them
out.

    python benchmarks/text_train.py -o build/text            # minutes on a GPU, hours without
    python benchmarks/text.py [--trials 1000] [--predictions build/text/predictions.npz] [--model PATH] [--permuted]

A trial with texts takes a tenth of a second of one core, if linear algebra has one thread: with more, its small
matrices take several times as long. So trials go to processes with one thread each.
"""

import argparse
import math
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ratewise.lab.automatic import auto
from ratewise.lab.trials import Block, MethodOutcome, Population, Setting
from ratewise.lab.workers import in_order
from ratewise.learn.rater_folder import TrainedOn
from ratewise.learn.texts import read_texts
from ratewise.tables import read_table

DATA = Path(os.environ.get("RATEWISE_DATA", "../shared/data"))
COST = 0.05
TEXTS = {
    "evouna_qa": ("question", "gold", "answer"),
    "cdi_politeness": ("text",),
    "alpaca_human_judges": ("instruction", "output_1", "output_2"),
    "trec_dl_relevance": ("query",),
    "summeval_llm": ("summary",),
}
WEAK = dict.fromkeys(TEXTS, "g") | {"cdi_politeness": "g_prob"}
SHORT = {"evouna_qa": "evo", "cdi_politeness": "cdi", "alpaca_human_judges": "alp"}
SAMPLE = 2000  # items of a pool at most: texts of more would only take longer
TASK = 25  # trials that a process is handed at a time


@dataclass(frozen=True, slots=True)
class Pool:
    """A pool by name, its columns, the texts among them, and the budget."""

    name: str
    columns: dict[str, Any]
    texts: tuple[str, ...]
    budget: int
    trained: bool


def pools(predictions: dict[str, np.ndarray] | None) -> Iterator[Pool]:
    for name, texts in TEXTS.items():
        table = read_table(DATA / f"{name}.parquet")
        rows = {text: table.texts(text, missing="allow") for text in texts}
        columns = {"judge": table.numbers(WEAK[name]), "human": table.numbers("h"), **rows}
        if name == "evouna_qa":
            systems = table.texts("system")
            for system in sorted(set(systems)):
                yield _pool(f"evouna {system}", columns, texts, systems != system, predictions, f"evo_{system}", 500)
            continue
        if name not in SHORT:
            yield _pool(name, columns, texts, np.zeros(table.rows, dtype=bool), None, "", 500)
            continue
        key = SHORT[name]
        half = np.zeros(table.rows, dtype=bool) if predictions is None else predictions[f"{key}_train"]
        yield _pool(name, columns, texts, half, predictions, key, 500 if table.rows > 1000 else 100)


def _pool(
    name: str, columns: dict[str, Any], texts: tuple[str, ...], taught: np.ndarray,
    predictions: dict[str, np.ndarray] | None, key: str, budget: int,
) -> Pool:  # fmt: skip
    rows = list(zip(*(columns[text] for text in texts), strict=True))
    known = TrainedOn.of([], [rows[i] for i in np.flatnonzero(taught)])
    keep = np.array([i for i in np.flatnonzero(~taught) if not known.knows(None, rows[i])])
    rng = np.random.default_rng(7)
    keep = np.sort(rng.choice(keep, min(SAMPLE, keep.size), replace=False))
    out = {column: values[keep] for column, values in columns.items()}
    if predictions is not None:
        p = np.clip(predictions[key][keep].astype(float), 1e-4, 1 - 1e-4)
        out |= {"trained": p, "trained_logit": np.log(p / (1 - p))}
    return Pool(name, out, texts, budget, predictions is not None)


def arms(pool: Pool, model: str | None, permuted: bool) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """(name, changed columns, options)."""
    if pool.trained:
        yield "trained", {}, {"features": ["trained", "trained_logit"]}
    yield "words", {}, {"text": pool.texts}
    if model is not None:
        yield "embeddings", {}, {"text": pool.texts, "learner": model}
    if permuted:
        order = np.random.default_rng(3).permutation(pool.columns["judge"].size)
        mixed = {text: pool.columns[text][order] for text in pool.texts}
        yield "permuted words", mixed, {"text": pool.texts}


@dataclass(frozen=True, slots=True, eq=False)
class Played:
    """The same trials with what one arm learns from."""

    error: np.ndarray  # of each trial
    width: float
    covered: float

    @classmethod
    def of(cls, pool: Pool, changed: dict[str, Any], options: dict[str, Any], trials: int) -> "Played":
        """Play them."""
        columns = pool.columns | changed
        named = options.get("features", ())
        texts = read_texts(read_table({t: columns[t] for t in pool.texts}), options.get("text", ()),
                           options.get("learner", "words"))  # fmt: skip
        population = Population.of(
            columns["judge"], columns["human"], text=None if texts is None else texts[0],
            features=np.column_stack([columns[name] for name in named]) if named else None,
        )  # fmt: skip
        tasks = [(population, float(pool.budget), range(i, min(i + TASK, trials))) for i in range(0, trials, TASK)]
        found = MethodOutcome.joined(list(in_order(_outcome, tasks)), axis=0)
        value, low, high = (array[:, 0] - population.mean for array in (found.value, found.low, found.high))
        return cls(value, float(np.mean(high - low)), float(np.mean((low <= 0) & (high >= 0))))

    def ratio(self, other: "Played") -> tuple[float, float]:
        """Squared error of this over the other's, and the standard error of that, both on the same trials."""
        n = min(self.error.size, other.error.size)
        mine, theirs = self.error[:n] ** 2, other.error[:n] ** 2
        found = float(mine.sum() / theirs.sum())
        return found, float(np.std(mine - found * theirs, ddof=1) / (theirs.mean() * math.sqrt(n)))


def _outcome(task: tuple[Population, float, range]) -> MethodOutcome:
    """Some trials, in a process of their own."""
    population, budget, trials = task
    setting = Setting(COST, (budget,), 0, "pool", 0.95, 0.1, 5)
    return MethodOutcome.joined([auto(Block(population, setting, range(i, i + 1))) for i in trials], axis=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--predictions", type=Path, default=Path("build/text/predictions.npz"))
    parser.add_argument("--model", help="path of the embedding model; without it there is no such arm")
    parser.add_argument("--permuted", action="store_true", help="texts in the wrong order, which say nothing")
    parser.add_argument("--only", default="", help="pools whose name begins so")
    parser.add_argument("--arms", default="", help="the arms to run, with commas between; without it, all")
    asked = parser.parse_args()
    predictions = dict(np.load(asked.predictions)) if asked.predictions.exists() else None
    print("| pool | items | budget | learns from | trials | MSE ratio | width² ratio | coverage, score | coverage | "
          "bias/sd | s/trial |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    ratios: dict[str, list[float]] = {}
    for pool in pools(predictions):
        if not pool.name.startswith(asked.only):
            continue
        chosen = [
            arm for arm in arms(pool, asked.model, asked.permuted) if not asked.arms or arm[0] in asked.arms.split(",")
        ]
        if not chosen:
            continue
        score = Played.of(pool, {}, {}, asked.trials)
        for name, changed, options in chosen:
            began = time.perf_counter()
            arm = Played.of(pool, changed, options, asked.trials)
            took, (ratio, se) = (time.perf_counter() - began) / asked.trials, score.ratio(arm)
            ratios.setdefault(name, []).append(ratio)
            print(
                f"| {pool.name} | {pool.columns['judge'].size} | {pool.budget} | {name} | {asked.trials} | "
                f"{ratio:.3f} ± {se:.3f} | {(score.width / arm.width) ** 2:.2f} | {score.covered:.3f} | "
                f"{arm.covered:.3f} | {arm.error.mean() / arm.error.std():+.2f} | {took:.2f} |",
                flush=True,
            )
    for name, found in ratios.items():
        print(f"geometric mean of MSE(score)/MSE({name}): {math.exp(float(np.mean(np.log(found)))):.3f}")


if __name__ == "__main__":
    main()
