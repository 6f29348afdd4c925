"""The paper's experiments on real data; its claims about them are in `lab/claims.py`."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from ratewise.errors import TableError
from ratewise.lab.datasets import PUBLISHED, WHERE, Dataset, Name, arena_like, stand_in
from ratewise.lab.methods import Lab
from ratewise.lab.results import Simulation
from ratewise.lab.simulate import PAPER_METHODS, Progress, simulate_lab
from ratewise.lab.trials import Population, Setting, on_one_scale

COST_RATIO = 0.05  # the paper does not say which it took
BURN_IN = 200


@dataclass(frozen=True, slots=True)
class Experiment:
    """One row of panels: a dataset, or its easiest and hardest quarters, learned from a burn-in or by transfer."""

    dataset: Name | Literal["arena-like"]
    title: str
    budgets: tuple[float, ...]
    transfer: bool = False
    easy_hard: bool = False


_FEW = (25.0, 50.0, 75.0, 100.0, 150.0, 200.0, 300.0, 400.0)  # 40 % of what base needs for an RMSE of 0.05 is below 50
_MANY = tuple(float(125 * k) for k in range(1, 9))

EXPERIMENTS: dict[str, tuple[Experiment, ...]] = {
    "arena-transfer": (Experiment("arena", "Chatbot Arena, policies by transfer (A1)", _FEW, transfer=True),),
    "arena-easy-hard": (
        Experiment("arena", "Chatbot Arena, easy/hard split, by transfer (A1)", _FEW, transfer=True, easy_hard=True),
    ),
    "arena-burnin": (
        Experiment("arena", "Chatbot Arena, after a burn-in (A2)", _MANY),
        Experiment("arena", "Chatbot Arena, easy/hard split, after a burn-in (A2)", _MANY, easy_hard=True),
    ),
    "arena-like": (
        Experiment("arena-like", "A rater trained on other systems, policies by transfer (A1)", _FEW, transfer=True),
        Experiment("arena-like", "The same, easy/hard split", _FEW, transfer=True, easy_hard=True),
    ),
    "aqa": (Experiment("aqa", "Attributed QA, after a burn-in (A2)", _MANY),),
    "imagenet": (Experiment("imagenet", "ImageNet, after a burn-in (A2)", _MANY),),
    "seahorse": (Experiment("seahorse", "Seahorse, after a burn-in (A2)", _MANY),),
}


def find_dataset(
    name: Name | Literal["arena-like"], *, data: str | None, tables: str | None, output: str, seed: int = 0
) -> Dataset:
    """The user's own copy where there is one, else the stand-in; an error says what to get.

    What has to be trained first is kept in the folder of the output.
    """
    if name == "arena-like":
        return arena_like(_tables(tables), Path(output) / "arena-like-rater", seed=seed)
    if data is not None and (Path(data) / name).is_dir():
        return PUBLISHED[name](Path(data) / name)
    folder = _tables(tables)
    if not Path(folder).is_dir():
        raise TableError(
            f"there is no data for {name} (name a folder of data with a folder {name!r} in it): {WHERE[name]}"
        )
    return stand_in(name, folder)


def _tables(named: str | None) -> str:
    return named or os.environ.get("RATEWISE_DATA") or os.path.join(os.pardir, "shared", "data")


def population_of(experiment: Experiment, dataset: Dataset) -> tuple[Population, Population | None]:
    """The ratings to simulate on, and those to learn from where policies are transferred."""
    tables = [(dataset.weak, dataset.strong)]
    if experiment.transfer:
        if dataset.transfer is None:
            raise TableError(f"{dataset.name} has no other comparisons with both ratings to transfer a policy from")
        tables.append(dataset.transfer)
    target, *others = on_one_scale([{"weak": g, "strong": h} for g, h in tables])
    if experiment.easy_hard:
        u = target.weak * (1 - target.weak)
        low, high = np.quantile(u, [0.25, 0.75])
        target = target.rows(np.flatnonzero((u <= low) | (u >= high)))
    return target, others[0] if others else None


def run_experiment(
    experiment: Experiment, dataset: Dataset, *, trials: int, seed: int, workers: int | None,
    progress: Progress | None = None,
) -> Simulation:  # fmt: skip
    """The experiment as `simulate` runs it."""
    population, other = population_of(experiment, dataset)
    setting = Setting(COST_RATIO, experiment.budgets, 0 if experiment.transfer else BURN_IN, "stream", 0.95, 0.1, seed)
    if setting.burn_in > population.items:
        raise TableError(f"{dataset.name} has {population.items} items, fewer than the burn-in of {BURN_IN}")
    lab = Lab.of(population, setting, PAPER_METHODS, other)
    return simulate_lab(lab, trials=trials, workers=workers, progress=progress)
