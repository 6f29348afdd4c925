"""`simulate`: what each method would have achieved on a table that is already fully rated (METHODS section 10)."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ratewise.core.checks import Floats, choice, number, share
from ratewise.core.names import MODES, SIMULATED_METHODS, Mode, SimulatedMethod
from ratewise.errors import InputError, Message, RatewiseWarning, TableError, argument
from ratewise.lab.methods import Lab
from ratewise.lab.results import Base, Simulation, resamples, results
from ratewise.lab.trials import MethodOutcome, Population, Setting, on_one_scale
from ratewise.lab.workers import in_order
from ratewise.learn.embeddings import Learner
from ratewise.learn.features import codings, feature_matrix, refuse_labels
from ratewise.learn.texts import read_texts
from ratewise.tables import Table, TableLike, read_table
from ratewise.tables.words import Positive, in_numbers, meaning_of
from ratewise.tables.words import Scale as WordScale

Progress = Callable[[int, int], None]  # trials done, trials in all

DEFAULT_METHODS: tuple[SimulatedMethod, ...] = ("base", "paper-random", "paper-active", "oracle", "auto")
PAPER_METHODS: tuple[SimulatedMethod, ...] = ("base", "paper-random", "paper-active", "oracle")
DEFAULT_BURN_IN = 200
_FEWEST_BURN_IN = 10


def simulate(
    table: TableLike,
    *,
    weak: str,
    strong: str,
    cost_ratio: float,
    budgets: Sequence[float],
    methods: Sequence[SimulatedMethod] = DEFAULT_METHODS,
    burn_in: int | None = None,
    mode: Mode = "stream",
    trials: int = 2000,
    features: Sequence[str] = (),
    text: Sequence[str] = (),
    learner: str | Learner = "words",
    uncertainty: str | None = None,
    transfer_from: TableLike | None = None,
    fixed_rate: float = 0.1,
    level: float = 0.95,
    positive: Positive = None,
    scale: WordScale = None,
    at_rmse: float | None = None,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Simulation:
    """Try methods on a fully rated table: items drawn anew in every trial, until each budget is spent.

    `cost_ratio` is the price of a weak rating over that of a strong one; budgets count strong ratings and come after
    the burn-in, whose labels every method is given (200 by default; 0 with `transfer_from`). Without a burn-in and
    without a table to transfer from, the methods know the whole table's parameters. `mode` is "stream" (with
    replacement) or "pool" (without; the table is the pool and its mean the target). `fixed_rate` is n/N of ppi++ and
    active-fixed. `auto` starts from the burn-in, from the transfer table, or with neither from labels it pays for; it
    may learn from `features`, from columns of `text` and from an `uncertainty` column. `learner` says how texts become
    numbers: "words", "vectors" (the columns hold lists of numbers), or the path or name of an embedding model. Ratings
    may be words, see `estimate_table`. `at_rmse` asks for the share of base's budget that each method needs for this
    root mean squared error.
    Results depend on the seed, not on `workers`. Ctrl-C gives the trials done so far, marked partial.
    """
    n_b = (0 if transfer_from is not None else DEFAULT_BURN_IN) if burn_in is None else burn_in
    said = meaning_of(positive, scale)
    read, _ = in_numbers(read_table(table), strong=(strong,), weak=(weak,), meaning=said)
    refuse_labels((*features, *text), strong)
    coded, texts = codings(read, features), read_texts(read, text, learner)

    def columns(part: Table, known: Any) -> dict[str, Any]:
        own = None if uncertainty is None else part.numbers(uncertainty)
        if own is not None and own.min() < 0:
            raise TableError(f"column {uncertainty!r} of {part.name} has values below 0; a squared error cannot be")
        ratings = {"weak": part.numbers(weak), "strong": _strong(part, strong)}
        return {**ratings, "features": feature_matrix(part, coded), "uncertainty": own, "text": known}

    parts = [columns(read, None if texts is None else texts[0])]
    if transfer_from is not None:
        taught, _ = in_numbers(read_table(transfer_from), strong=(strong,), weak=(weak,), meaning=said)
        parts.append(columns(taught, None if texts is None else texts[1].columns(taught)))
    population, *others = on_one_scale(parts)
    setting = _setting(population, cost_ratio, budgets, n_b, mode, fixed_rate, level, seed)
    if not methods:
        raise InputError(f"no method given; choose from {', '.join(SIMULATED_METHODS)}")
    chosen = [choice(method, SIMULATED_METHODS, name="method") for method in dict.fromkeys(methods)]
    if at_rmse is not None:
        number(at_rmse, name="at_rmse", above=0)
    lab = Lab.of(population, setting, chosen, others[0] if others else None)
    done = simulate_lab(lab, trials=int(number(trials, name="trials", minimum=2)), workers=workers, progress=progress)
    return replace(done, at_rmse=at_rmse)


def simulate_lab(lab: Lab, *, trials: int, workers: int | None, progress: Progress | None) -> Simulation:
    """`simulate` for a population in memory: blocks of trials in order, and what they come to."""
    size = lab.setting.block_size(lab.population)
    blocks = [range(start, min(start + size, trials)) for start in range(0, trials, size)]
    done: list[dict[str, MethodOutcome]] = []
    n, partial = 0, False
    try:
        for block, outcome in zip(blocks, in_order(lab.run, blocks, workers=workers), strict=True):
            done.append(outcome)
            n = block.stop
            if progress is not None:
                progress(n, trials)
    except KeyboardInterrupt:
        if not done:
            raise
        partial = True
        warnings.warn(f"stopped after {n} of {trials} trials; these results are partial", RatewiseWarning, stacklevel=3)
    population, setting = lab.population, lab.setting
    V = population.variance * population.width**2
    base, shares = Base(V, setting.burn_in, setting.pool_size(population)), resamples(n, setting.seed)
    outcomes = {method: MethodOutcome.joined([d[method] for d in done], axis=0) for method in lab.methods}
    found = [
        result
        for method, outcome in outcomes.items()
        for result in results(
            method, outcome, setting.budgets, theta=population.mean, scale=population.width, base=base, shares=shares
        )
    ]
    squared = {m: ((outcome.value - population.mean) * population.width) ** 2 for m, outcome in outcomes.items()}
    settings = {
        "cost_ratio": setting.cost_ratio, "budgets": list(setting.budgets), "burn_in": setting.burn_in,
        "mode": setting.mode, "methods": list(lab.methods), "trials": n, "level": setting.level,
        "fixed_rate": setting.fixed_rate, "seed": setting.seed, "transfer": lab.transferred,
    }  # fmt: skip
    theta = population.low + population.width * population.mean
    return Simulation(theta, V, population.items, settings, tuple(found), partial, squared)


# Checks


def _strong(table: Table, column: str) -> Floats:
    h = table.numbers(column, missing="allow")
    missing = np.isnan(h)
    if missing.any():
        raise TableError(
            f"{int(missing.sum()):,} rows of {table.name} have no strong rating in column {column!r} (the first is row "
            f"{int(np.argmax(missing)) + 1}); a simulation needs a fully rated table: drop them, or rate them first"
        )
    if h.size < 2 or np.ptp(h) == 0:
        raise TableError(f"the strong ratings of {table.name} are all equal; there is nothing to estimate")
    return h


def _setting(
    population: Population, cost_ratio: float, budgets: Sequence[float], burn_in: int, mode: Mode, fixed_rate: float,
    level: float, seed: int,
) -> Setting:  # fmt: skip
    c = number(cost_ratio, name="cost_ratio", above=0)
    choice(mode, MODES, name="mode")
    n_b = int(number(burn_in, name="burn_in", minimum=0))
    if n_b != burn_in or 0 < n_b < _FEWEST_BURN_IN:
        what = f"must be 0 or a whole number from {_FEWEST_BURN_IN} on; got {burn_in}"
        raise InputError(Message(f"{argument('burn_in')} {what}"))
    N = population.items
    if n_b > N or (mode == "pool" and n_b == N):
        raise InputError(f"a burn-in of {n_b:,} leaves nothing of a table of {N:,} items; make it smaller")
    money = tuple(sorted({number(B, name="budget") for B in budgets}))
    if not money:
        raise InputError("no budget given; a budget is counted in strong ratings, such as 100")
    if money[0] < 1 + c:
        raise InputError(
            f"budget {money[0]:g} is below one label: an item with both ratings costs {1 + c:g} (in strong ratings); "
            "raise it"
        )
    return Setting(
        c, money, n_b, mode, share(level, name="level"), share(fixed_rate, name="fixed_rate", one=True),
        int(number(seed, name="seed", minimum=0)),
    )  # fmt: skip
