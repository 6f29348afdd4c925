"""What texts are worth to `auto`: with the score alone, with words, with embeddings, with a trained rater. A table.

Pools of `evouna_qa` (each QA system in turn), `cdi_politeness` and `alpaca_human_judges`, from the folder of data. The
trained rater's probabilities come from `benchmarks/text_train.py`; for a QA system it was trained on the other four,
for the other tables on one half of the rows, and the pool is the other half. Items that it was trained on, or nearly
the same texts, are left out of the pool for every arm, as campaigns leave them out.

    python benchmarks/text_train.py -o build/text            # minutes on a GPU, hours without
    python benchmarks/text.py [--trials 100] [--cheap-trials 400] [--predictions build/text/predictions.npz]
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

import ratewise as rw
from ratewise.tables import read_table
from ratewise.training.folder import TrainedOn

DATA = Path(os.environ.get("RATEWISE_DATA", "../shared/data"))
COST = 0.05
TEXTS = {
    "evouna_qa": ("question", "gold", "answer"),
    "cdi_politeness": ("text",),
    "alpaca_human_judges": ("instruction", "output_1", "output_2"),
}
WEAK = {"evouna_qa": "g", "cdi_politeness": "g_prob", "alpaca_human_judges": "g"}
SHORT = {"evouna_qa": "evo", "cdi_politeness": "cdi", "alpaca_human_judges": "alp"}
SAMPLE = 2000  # items of a pool at most: texts of more would only take longer


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


def run(pool: Pool, changed: dict[str, Any], options: dict[str, Any], trials: int) -> Any:
    found = rw.simulate(
        pool.columns | changed, weak="judge", strong="human", cost_ratio=COST, budgets=[pool.budget], burn_in=0,
        methods=["auto"], mode="pool", trials=trials, workers=1, seed=5, **options,
    )  # fmt: skip
    return found.results[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=100, help="of arms with texts, which take a second each")
    parser.add_argument("--cheap-trials", type=int, default=400, help="of the score alone and the trained rater")
    parser.add_argument("--predictions", type=Path, default=Path("build/text/predictions.npz"))
    parser.add_argument("--model", help="path of the embedding model; without it there is no such arm")
    parser.add_argument("--permuted", action="store_true", help="texts in the wrong order, which say nothing")
    parser.add_argument("--only", default="", help="pools whose name begins so")
    asked = parser.parse_args()
    predictions = dict(np.load(asked.predictions)) if asked.predictions.exists() else None
    print("| pool | items | budget | learns from | trials | MSE ratio | width² ratio | coverage | bias/sd | s/trial |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    ratios: dict[str, list[float]] = {}
    for pool in pools(predictions):
        if not pool.name.startswith(asked.only):
            continue
        score: dict[int, Any] = {}
        for name, changed, options in (("score", {}, {}), *arms(pool, asked.model, asked.permuted)):
            trials = asked.cheap_trials if name in ("score", "trained") else asked.trials
            for count in {trials, asked.trials} if name == "score" else {trials}:
                began = time.perf_counter()
                r = run(pool, changed, options, count)
                took = (time.perf_counter() - began) / count
                if name == "score":
                    score[count] = r
                ratio, width = score[count].mse / r.mse, (score[count].width / r.width) ** 2
                ratios.setdefault(name, []).append(ratio)
                print(
                    f"| {pool.name} | {pool.columns['judge'].size} | {pool.budget} | {name} | {count} | {ratio:.2f} | "
                    f"{width:.2f} | {r.coverage:.3f} | {r.bias / math.sqrt(r.mse):+.2f} | {took:.2f} |",
                    flush=True,
                )
    for name, found in ratios.items():
        print(f"geometric mean of MSE(score)/MSE({name}): {math.exp(float(np.mean(np.log(found)))):.3f}")


if __name__ == "__main__":
    main()
