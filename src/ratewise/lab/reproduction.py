"""The paper's experiments on real data, and its claims about these and about made-up worlds, each with its verdict.

A further claim is a line in `CLAIMS`: the sentence, the figures that it needs, and the function that judges it by them.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ratewise.errors import TableError
from ratewise.lab.datasets import PUBLISHED, WHERE, Dataset, Name, arena_like, stand_in
from ratewise.lab.figures import curves
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


# What the paper says

Made = Mapping[str, Any]  # of each figure that was made: its points, or its simulations
Found = tuple[bool, str] | None  # whether a claim holds, and by which numbers; None: cannot be told from what was made


@dataclass(frozen=True, slots=True)
class Verdict:
    """A claim of the paper, whether it holds here, and the numbers that decide it."""

    figure: str
    text: str
    holds: bool
    evidence: str

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def verdicts(made: Made) -> list[Verdict]:
    """The verdict on every claim whose figures were made."""
    judged = [(claim, claim.judge(made)) for claim in CLAIMS if set(claim.needs) <= made.keys()]
    return [Verdict(claim.figure, claim.text, *found) for claim, found in judged if found is not None]


@dataclass(frozen=True, slots=True)
class PaperClaim:
    """A sentence of the paper, the figures that it needs, and who judges it by them."""

    figure: str  # as the page names it
    text: str
    needs: tuple[str, ...]
    judge: Callable[[Made], Found]


def _monotone(figure: str, panel: str, sign: int) -> Callable[[Made], Found]:
    """Every curve of the panel rises (+1) or falls (−1), up to rounding."""

    def judge(made: Made) -> Found:
        found = curves(made[figure], panel)
        worst = min(float(np.min(sign * np.diff([p.y for p in curve]))) for curve in found.values())
        ends = "; ".join(f"Var(H) {V:g}: {curve[0].y:.3f} to {curve[-1].y:.3f}" for V, curve in found.items())
        x_name = found[min(found)][0].x_name
        return worst > -1e-9, f"error ratio from the smallest to the largest {x_name}: {ends}"

    return judge


def _equal_at_zero(figure: str, panel: str) -> Callable[[Made], Found]:
    def judge(made: Made) -> Found:
        zero = max(abs(p.y - 1.0) for p in made[figure] if p.panel == panel and p.error_variance == 0)
        return zero < 1e-9, f"ratio 1 to within {zero:.0e}"

    return judge


def _bounded(made: Made) -> Found:
    """The lower bound, with the sign of METHODS section 3."""
    gaps = [(p, p.y - p.lower_bound) for p in made["bernoulli"] if p.lower_bound is not None]
    least = min(gap for _, gap in gaps)
    reached = max(abs(gap) for p, gap in gaps if p.error_variance >= p.weak_error * (1 - p.weak_error) * (1 - 1e-9))
    said = f"smallest distance to the bound {least:.1e} over {len(gaps)} points; at the largest Var(U) {reached:.1e}"
    return least > -1e-9 and reached < 1e-6, said


def _both_beat_base(made: Made) -> Found:
    simulation: Simulation = made["imagenet"][0]
    last = {m: simulation.of(m)[-1] for m in ("paper-random", "paper-active")}
    said = ", ".join(
        f"{m} {r.of_base:.3f} (95 % {r.error_ratio_low:.3f} to {r.error_ratio_high:.3f})" for m, r in last.items()
    )
    holds = all(r.error_ratio_high < 1 for r in last.values())
    return holds, f"error over base's at a budget of {simulation.settings['budgets'][-1]:g}: {said}"


def _both_beat_base_by_transfer(made: Made) -> Found:
    if len(made["arena-like"]) < 2:
        return None
    logs = {
        m: np.mean([np.log(r.of_base) for r in made["arena-like"][0].of(m)]) for m in ("paper-random", "paper-active")
    }
    said = ", ".join(f"{m} {np.exp(x):.3f}" for m, x in logs.items())
    return all(float(x) < 0 for x in logs.values()), f"MSE over base's, geometric mean over budgets: {said}"


def _split_gains_more(made: Made) -> Found:
    if len(made["arena-like"]) < 2:
        return None
    whole, split = map(_active_over_random, made["arena-like"])
    return split < whole, f"MSE of active over random: all items {whole:.3f}, easy/hard {split:.3f}"


def _easy_hard_gains_most(made: Made) -> Found:
    """Active over random, averaged over budgets (geometric mean), is smallest on the easy/hard split by transfer."""
    gains = {name: _active_over_random(made[name][0]) for name in EXPERIMENTS if name in made}
    if len(gains) < 2:
        return None
    said = ", ".join(f"{name} {gain:.3f}" for name, gain in gains.items())
    return min(gains, key=lambda name: gains[name]) == "arena-easy-hard", f"MSE of active over random: {said}"


def _active_over_random(simulation: Simulation) -> float:
    pairs = zip(simulation.of("paper-active"), simulation.of("paper-random"), strict=True)
    return float(np.exp(np.mean([np.log(a.mse / r.mse) for a, r in pairs])))


_REAL = "real data"

CLAIMS: tuple[PaperClaim, ...] = (
    *(
        PaperClaim(figure, text, (figure,), judge)
        for figure in ("gaussian", "bernoulli")
        for text, judge in (
            ("the benefit over base falls with MSE(H, G)", _monotone(figure, "a", +1)),
            ("the benefit over the best single rate rises with Var(U)", _monotone(figure, "b", -1)),
            ("the benefit over base falls with c_g/c_h", _monotone(figure, "c", +1)),
            ("the active policy equals the best single rate at Var(U) = 0", _equal_at_zero(figure, "b")),
        )
    ),
    PaperClaim(
        "bernoulli", "the benefit over base rises with Var(U)", ("bernoulli",), _monotone("bernoulli", "d", -1)
    ),
    PaperClaim(
        "bernoulli", "the error ratio is bounded below, and the bound is reached where Var(U) is largest",
        ("bernoulli",), _bounded,
    ),
    PaperClaim(
        _REAL, "on ImageNet the random and the active policy both beat base", ("imagenet",), _both_beat_base
    ),
    PaperClaim(
        _REAL, "with a rater trained on other systems, random and active both beat base by transfer",
        ("arena-like",), _both_beat_base_by_transfer,
    ),
    PaperClaim(
        _REAL, "active gains more over random on the easy/hard split than on all items", ("arena-like",),
        _split_gains_more,
    ),
    PaperClaim(
        _REAL, "active gains most over random on the easy/hard split of Chatbot Arena", ("arena-easy-hard",),
        _easy_hard_gains_most,
    ),
)  # fmt: skip
