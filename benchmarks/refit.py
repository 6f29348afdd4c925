"""What training on a campaign's own labels is worth: whole campaigns of `auto` with the score alone, with words, and
with an encoder that is trained again after each round (`[learner] refit = "each round"`). A table.

The pool is that of `benchmarks/text.py`. Every campaign with refits is about fifteen small trainings, so this needs a
GPU, and several processes on it (--first, --trials: which trials a process plays):

    python benchmarks/refit.py [--pool cdi_politeness] [--trials 10] [--first 0] [--init PATH]
"""

import argparse
import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ratewise.lab.automatic import Trial
from ratewise.lab.trials import Block, Population, Setting
from ratewise.learn.covariates import Covariates
from ratewise.learn.cross_fit import Rows, Trainer, cross_fitted, encoder_trainer

COST, LEAST_LABELS, GROWTH = 0.05, 100, 1.2  # as `campaign/planner.py` has them


class RefitTrial(Trial):
    """A campaign that trains on its own labels, as `campaign/learner.py` does it."""

    def __init__(self, *args: Any, texts: Rows, trainer: Trainer) -> None:
        self.texts, self.trainer = texts, trainer
        self.refits: list[np.ndarray] = []  # of all rows of the population
        self.used: list[bool] = []
        super().__init__(*args)

    def play(self) -> Any:
        """Spend the budget in rounds, with a refit after each one that brought enough labels, then estimate."""
        taught = 0
        while True:
            if self.labels >= max(LEAST_LABELS, GROWTH * taught) and self.seen.phases[-1].weak:
                self._refit()
                taught = self.labels
            planned = self._decide()
            if planned is None:
                return self._estimate()
            if not self.position and planned.weak and planned.items is not None:
                planned = replace(planned, items=max(planned.items, LEAST_LABELS))
            self._buy(planned)

    def _refit(self) -> None:
        rows = self.block.index[self.trial, : self.position]
        strong = np.full(len(self.texts), np.nan)
        strong[rows] = self.seen.strong
        self.refits.append(cross_fitted(self.trainer, self.texts, strong))
        self.seen = replace(self.seen, x=replace(self.seen.x, refits=np.column_stack(self.refits)[rows]))
        self.used.append(self.seen.learned.model.basis.refit is not None)

    def _covariates(self, rows: np.ndarray) -> Covariates:
        x = self.block.population.covariates.rows(rows)
        return replace(x, refits=np.column_stack(self.refits)[rows]) if self.refits else x


def played(population: Population, texts: Rows, trainer: Trainer | None, budget: float, trial: int) -> dict[str, Any]:
    """One campaign: its error, interval, and whether the refits were used."""
    block, began = (
        Block(population, Setting(COST, (budget,), 0, "pool", 0.95, 0.1, 5), range(trial, trial + 1)),
        time.time(),
    )
    game = Trial(block, 0, budget) if trainer is None else RefitTrial(block, 0, budget, texts=texts, trainer=trainer)
    e = game.play()
    said = {"error": e.value - population.mean, "low": e.low - population.mean, "high": e.high - population.mean}
    return said | {"seconds": time.time() - began, "used": getattr(game, "used", [])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pool", default="cdi_politeness")
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--init", help="the encoder to start from")
    parser.add_argument("--predictions", type=Path, default=Path("build/text/predictions.npz"))
    parser.add_argument("--lines", action="store_true", help="a line of JSON for each campaign instead of a table")
    asked = parser.parse_args()
    sys.path.insert(0, str(Path(__file__).parent))
    from text import pools  # the same pools

    from ratewise.learn.texts import read_texts
    from ratewise.tables import read_table

    predictions = dict(np.load(asked.predictions)) if asked.predictions.exists() else None
    pool = next(one for one in pools(predictions) if one.name == asked.pool)
    read = read_texts(read_table({text: pool.columns[text] for text in pool.texts}), pool.texts, "words")
    assert read is not None
    rows = list(zip(*(pool.columns[text].tolist() for text in pool.texts), strict=True))
    report(pool.columns["judge"], pool.columns["human"], read[0], rows, pool, asked)


def report(judge: Any, human: Any, words: Any, rows: Rows, pool: Any, asked: Any) -> None:
    """Play the trials of every arm, and print them."""
    trainer = encoder_trainer(tuple(pool.texts), init=asked.init)
    arms = {"score": (None, None), "words": (words, None), "refit": (words, trainer)}
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in arms}
    for trial in range(asked.first, asked.first + asked.trials):
        for name, (text, trains) in arms.items():
            one = played(Population.of(judge, human, text=text), rows, trains, float(pool.budget), trial)
            found[name].append(one)
            if asked.lines:
                print(json.dumps({"arm": name, "trial": trial, **one}), flush=True)
    if not asked.lines:
        print(table(found))


def table(found: dict[str, list[dict[str, Any]]]) -> str:
    """All arms against the score alone, on the same trials."""
    lines = ["| learns from | trials | MSE ratio | width² ratio | coverage | bias/sd | used | s/trial |",
             "|---|---|---|---|---|---|---|---|"]  # fmt: skip
    score = np.array([one["error"] for one in found["score"]]) ** 2
    width = np.mean([one["high"] - one["low"] for one in found["score"]])
    for name, trials in found.items():
        e = np.array([one["error"] for one in trials])
        ratio = score.sum() / (e**2).sum()
        se = np.std(score - ratio * e**2, ddof=1) / ((e**2).mean() * np.sqrt(e.size)) if e.size > 1 else np.nan
        narrower = (width / np.mean([one["high"] - one["low"] for one in trials])) ** 2
        covered = np.mean([one["low"] <= 0 <= one["high"] for one in trials])
        used = np.mean([one["used"][-1] for one in trials]) if all(one["used"] for one in trials) else np.nan
        seconds = np.mean([one["seconds"] for one in trials])
        lines.append(f"| {name} | {e.size} | {ratio:.3f} ± {se:.3f} | {narrower:.3f} | {covered:.3f} | "
                     f"{e.mean() / e.std():+.2f} | {used:.2f} | {seconds:.1f} |")  # fmt: skip
    return "\n".join(lines)


if __name__ == "__main__":
    main()
