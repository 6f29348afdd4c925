"""`simulate`: what each method would have achieved on a table that is already fully rated (METHODS section 10)."""

import html
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ratewise.core.checks import choice, number, share
from ratewise.core.messages import Message, argument
from ratewise.core.names import MODES, SIMULATED_METHODS, Mode, SimulatedMethod
from ratewise.core.result import FrameKind, frame_of_rows, shown
from ratewise.errors import InputError, RatewiseWarning, TableError
from ratewise.lab.methods import Lab
from ratewise.lab.results import Base, MethodResult, in_words, resamples, results
from ratewise.lab.trials import Outcome, Population, Scale, Setting
from ratewise.lab.workers import in_order
from ratewise.learn.covariates import TextColumns
from ratewise.learn.embeddings import Learner
from ratewise.learn.features import Coding, codings, feature_matrix, refuse_labels
from ratewise.learn.texts import read_texts
from ratewise.tables import Table, TableLike, read_table
from ratewise.tables.words import Positive, in_numbers, meaning_of
from ratewise.tables.words import Scale as WordScale

Progress = Callable[[int, int], None]  # trials done, trials in all

DEFAULT_METHODS: tuple[SimulatedMethod, ...] = ("base", "paper-random", "paper-active", "oracle", "auto")
PAPER_METHODS: tuple[SimulatedMethod, ...] = ("base", "paper-random", "paper-active", "oracle")
DEFAULT_BURN_IN = 200
_FEWEST_BURN_IN = 10


@shown
@dataclass(frozen=True, slots=True, eq=False)
class Simulation:
    """Every method at every budget on the same trials; partial where it was stopped before the last trial."""

    theta: float
    variance: float
    items: int
    settings: dict[str, Any]
    results: tuple[MethodResult, ...]
    partial: bool = False

    def of(self, method: str) -> tuple[MethodResult, ...]:
        """One method's results, by rising budget."""
        return tuple(r for r in self.results if r.method == method)

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of the methods, in the order they were asked for."""
        return tuple(dict.fromkeys(r.method for r in self.results))

    def savings_at(self, mse: float) -> dict[str, float | None]:
        """What each method saves against base at a given error; None where no simulated budget reaches it.

        The budget a method needs is read off its own curve, straight lines between budgets in log error against log
        budget.
        """
        needed = self._base().budget(number(mse, name="mse", above=0))
        return {method: _saved(needed, self.of(method), mse) for method in self.methods}

    def savings(self) -> list[dict[str, Any]]:
        """`savings_at` the errors that base has at the simulated budgets."""
        base = self._base()
        errors = [base.mse(B) for B in self.settings["budgets"]]
        return [
            {"mse": e, "base_budget": B, "savings": self.savings_at(e)}
            for B, e in zip(self.settings["budgets"], errors, strict=True)
            if e > 0
        ]

    def _base(self) -> Base:
        pool = float(self.items) if self.settings["mode"] == "pool" else np.inf
        return Base(self.variance, self.settings["burn_in"], pool)

    def to_dict(self) -> dict[str, Any]:
        """A dictionary, ready for JSON."""
        return {
            "theta": self.theta, "variance": self.variance, "items": self.items, "settings": self.settings,
            "results": [r.to_dict() for r in self.results], "savings": self.savings(), "partial": self.partial,
        }  # fmt: skip

    def to_frame(self, kind: FrameKind | None = None) -> Any:
        """A row for each method and budget, as a pandas, Polars or PyArrow frame."""
        return frame_of_rows([r.to_dict() for r in self.results], kind)

    def save_csv(self, path: str | os.PathLike[str]) -> None:
        """One row per method and budget."""
        from ratewise.tables.write import write_rows

        write_rows(path, [r.to_dict() for r in self.results])

    def summary(self) -> str:
        """What a user can run at the largest budget, and what that is worth, in words that stand alone."""
        return in_words(
            self.results, budget=self.settings["budgets"][-1], burn_in=self.settings["burn_in"], items=self.items,
            partial=self.partial,
        )  # fmt: skip

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        names = ("method", "budget", "MSE", "of base", "effective budget", "coverage")
        head = "".join(f"<th>{name}</th>" for name in names)
        rows = "".join(
            f"<tr><td>{html.escape(r.method)}</td><td>{r.budget:g}</td><td>{r.mse:.3g}</td>"
            f"<td>{_ratio(r)}</td><td>{r.effective_budget:,.0f}</td><td>{r.coverage:.1%}</td></tr>"
            for r in self.results
        )
        return f"<table><tr>{head}</tr>{rows}</table><p>{html.escape(self.summary())}</p>"


def _ratio(r: MethodResult) -> str:
    """Error relative to base, as text; a dash where base has no error."""
    return f"{r.of_base:.3f}" if r.base_mse > 0 else "–"


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
    may be words, see `estimate_table`.
    Results depend on the seed, not on `workers`. Ctrl-C gives the trials done so far, marked partial.
    """
    n_b = (0 if transfer_from is not None else DEFAULT_BURN_IN) if burn_in is None else burn_in
    said = meaning_of(positive, scale)
    read, _ = in_numbers(read_table(table), strong=(strong,), weak=(weak,), meaning=said)
    refuse_labels((*features, *text), strong)
    coded = codings(read, features)
    texts = read_texts(read, text, learner)
    population = _population(read, weak, strong, coded, uncertainty, None if texts is None else texts[0])
    other = None
    if transfer_from is not None:
        taught, _ = in_numbers(read_table(transfer_from), strong=(strong,), weak=(weak,), meaning=said)
        known = None if texts is None else texts[1].columns(taught)
        other = _population(taught, weak, strong, coded, uncertainty, known)
    population, other = on_one_scale(population, other)
    setting = _setting(population, cost_ratio, budgets, n_b, mode, fixed_rate, level, seed)
    asked = _methods(methods)
    lab = Lab.of(population, setting, asked, other)
    return simulate_lab(lab, trials=int(number(trials, name="trials", minimum=2)), workers=workers, progress=progress)


def simulate_lab(lab: Lab, *, trials: int, workers: int | None, progress: Progress | None) -> Simulation:
    """`simulate` for a population in memory."""
    done: list[dict[str, Outcome]] = []
    partial = False
    outcomes = _outcomes(lab, trials, workers)
    try:
        for outcome in outcomes:
            done.append(outcome)
            if progress is not None:
                progress(sum(_trials(d) for d in done), trials)
    except KeyboardInterrupt:
        if not done:
            raise
        partial = True
        warnings.warn(
            f"stopped after {sum(map(_trials, done))} of {trials} trials; these results are partial",
            RatewiseWarning,
            stacklevel=3,
        )
    return _simulation(lab, done, partial)


def _trials(outcome: dict[str, Outcome]) -> int:
    return len(next(iter(outcome.values())).value)


def _outcomes(lab: Lab, trials: int, workers: int | None) -> Iterator[dict[str, Outcome]]:
    """Blocks of trials, in order."""
    size = lab.setting.block_size(lab.population)
    blocks = [range(start, min(start + size, trials)) for start in range(0, trials, size)]
    return in_order(lab.run, blocks, workers=workers)


def _simulation(lab: Lab, done: list[dict[str, Outcome]], partial: bool) -> Simulation:
    population, setting = lab.population, lab.setting
    trials = sum(map(_trials, done))
    scale = population.scale.width
    V = population.variance * scale**2
    base = Base(V, setting.burn_in, setting.pool_size(population))
    shares = resamples(trials, setting.seed)
    found = [
        result
        for method in lab.methods
        for result in results(
            method, Outcome.joined([d[method] for d in done], axis=0), setting.budgets,
            theta=population.mean, scale=scale, base=base, shares=shares,
        )
    ]  # fmt: skip
    settings = {
        "cost_ratio": setting.cost_ratio, "budgets": list(setting.budgets), "burn_in": setting.burn_in,
        "mode": setting.mode, "methods": list(lab.methods), "trials": trials, "level": setting.level,
        "fixed_rate": setting.fixed_rate, "seed": setting.seed, "transfer": lab.transferred,
    }  # fmt: skip
    theta = population.scale.low + scale * population.mean
    return Simulation(theta, V, population.items, settings, tuple(found), partial)


def _saved(needed: float, curve: tuple[MethodResult, ...], mse: float) -> float | None:
    """`needed` less the budget at which the method's curve crosses the error; its last crossing, if it has several.

    Base saves nothing, by definition.
    """
    if curve[0].method == "base":
        return 0.0
    log_error, log_budget = np.log([[max(r.mse, 1e-300), r.budget] for r in curve]).T
    below = log_error <= np.log(mse)
    if below.all() or not below[-1]:
        return None
    k = int(np.flatnonzero(~below)[-1])
    step = (log_error[k] - np.log(mse)) / (log_error[k] - log_error[k + 1])
    return needed - float(np.exp(log_budget[k] + step * (log_budget[k + 1] - log_budget[k])))


def on_one_scale(population: Population, other: Population | None) -> tuple[Population, Population | None]:
    """Both tables rescaled by the range of the two."""
    if other is None or population.scale == other.scale:
        return population, other
    g, h = (np.concatenate([getattr(p, name)() for p in (population, other)]) for name in ("raw_weak", "raw_strong"))
    scale = Scale.of(g, h)
    return population.rescaled(scale), other.rescaled(scale)


# Checks


def _population(
    table: Table, weak: str, strong: str, coded: Sequence[Coding], uncertainty: str | None,
    text: TextColumns | None = None,
) -> Population:  # fmt: skip
    h = table.numbers(strong, missing="allow")
    missing = np.isnan(h)
    if missing.any():
        raise TableError(
            f"{int(missing.sum()):,} rows of {table.name} have no strong rating in column {strong!r} (the first is row "
            f"{int(np.argmax(missing)) + 1}); a simulation needs a fully rated table: drop them, or rate them first"
        )
    if h.size < 2 or np.ptp(h) == 0:
        raise TableError(f"the strong ratings of {table.name} are all equal; there is nothing to estimate")
    own = None if uncertainty is None else table.numbers(uncertainty)
    if own is not None and own.min() < 0:
        raise TableError(
            f"column {uncertainty!r} of {table.name} has values below 0; an expected squared error cannot be"
        )
    features = feature_matrix(table, coded)
    return Population.of(table.numbers(weak), h, features=features, uncertainty=own, text=text)


def _methods(methods: Sequence[str]) -> tuple[str, ...]:
    asked = tuple(dict.fromkeys(methods))
    if not asked:
        raise InputError(f"no method given; choose from {', '.join(SIMULATED_METHODS)}")
    for method in asked:
        choice(method, SIMULATED_METHODS, name="method")
    return asked


def _setting(
    population: Population,
    cost_ratio: float,
    budgets: Sequence[float],
    burn_in: int,
    mode: Mode,
    fixed_rate: float,
    level: float,
    seed: int,
) -> Setting:
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
