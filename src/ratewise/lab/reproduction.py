"""The paper's experiments on real data: which dataset, how the policies learn, and what is to be expected."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from ratewise.errors import TableError
from ratewise.lab.datasets import PUBLISHED, WHERE, Dataset, Name, arena_like, stand_in
from ratewise.lab.figures import PaperClaim
from ratewise.lab.methods import Lab
from ratewise.lab.results import Simulation
from ratewise.lab.simulate import PAPER_METHODS, Progress, on_one_scale, simulate_lab
from ratewise.lab.trials import Population, Setting

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


_FEW = tuple(float(50 * k) for k in range(1, 9))
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

EXPECTED: dict[str, str] = {
    "gaussian": "Error ratios rise with MSE(H, G) and with c_g/c_h; active gains on random as Var(U) grows.",
    "bernoulli": "As for Gaussian data, but bounded below: the error ratio cannot fall much below MSE(H, G).",
    "arena-transfer": "Random and active both clearly better than base; active a little better than random.",
    "arena-easy-hard": "Active gains most here, because u varies most.",
    "arena-burnin": "Smaller gains than by transfer, as the burn-in is shared with base, but steady ones.",
    "arena-like": "As for Chatbot Arena by transfer: both better than base, active ahead, most on the easy/hard split.",
    "aqa": "Gains for random and active; active little better than random.",
    "imagenet": "Random and active both better than base, the oracle far better than either.",
    "seahorse": "A weak rater that is simply not that good: small gains, even with oracle parameters.",
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


# What the paper says to expect


def real_claims(found: Mapping[str, list[Simulation]]) -> list[PaperClaim]:
    """Claims about the experiments that were run."""
    claims = []
    if "imagenet" in found:
        claims.append(_both_beat_base(found["imagenet"][0]))
    if len(found.get("arena-like", [])) > 1:
        claims += _like_the_arena(*found["arena-like"])
    if "arena-easy-hard" in found and len(found) > 1:
        claims.append(_easy_hard_gains_most(found))
    return claims


def _both_beat_base(simulation: Simulation) -> PaperClaim:
    last = {m: simulation.of(m)[-1] for m in ("paper-random", "paper-active")}
    said = ", ".join(
        f"{m} {r.of_base:.3f} (95 % {r.error_ratio_low:.3f} to {r.error_ratio_high:.3f})" for m, r in last.items()
    )
    return PaperClaim(
        "on ImageNet the random and the active policy both beat base",
        all(r.error_ratio_high < 1 for r in last.values()),
        f"error over base's at a budget of {simulation.settings['budgets'][-1]:g}: {said}",
    )


def _like_the_arena(whole: Simulation, split: Simulation) -> list[PaperClaim]:
    """What the paper says of Chatbot Arena by transfer, on the QA system that was kept aside."""
    ratios = {m: [r.of_base for r in whole.of(m)] for m in ("paper-random", "paper-active")}
    said = ", ".join(f"{m} {np.exp(np.mean(np.log(found))):.3f}" for m, found in ratios.items())
    gains = [_active_over_random(simulation) for simulation in (whole, split)]
    return [
        PaperClaim(
            "with a rater trained on other systems, random and active both beat base by transfer",
            all(float(np.mean(np.log(found))) < 0 for found in ratios.values()),
            f"MSE over base's, geometric mean over budgets: {said}",
        ),
        PaperClaim(
            "active gains more over random on the easy/hard split than on all items", gains[1] < gains[0],
            f"MSE of active over random: all items {gains[0]:.3f}, easy/hard {gains[1]:.3f}",
        ),
    ]  # fmt: skip


def _easy_hard_gains_most(found: Mapping[str, list[Simulation]]) -> PaperClaim:
    """Active over random, averaged over budgets (geometric mean), is smallest on the easy/hard split by transfer."""
    gains = {name: _active_over_random(simulations[0]) for name, simulations in found.items()}
    said = ", ".join(f"{name} {gain:.3f}" for name, gain in gains.items())
    best = min(gains, key=lambda name: gains[name])
    return PaperClaim(
        "active gains most over random on the easy/hard split of Chatbot Arena", best == "arena-easy-hard",
        f"MSE of active over random: {said}",
    )  # fmt: skip


def _active_over_random(simulation: Simulation) -> float:
    pairs = zip(simulation.of("paper-active"), simulation.of("paper-random"), strict=True)
    return float(np.exp(np.mean([np.log(a.mse / r.mse) for a, r in pairs])))
