"""What a simulation reports of each method at each budget, with 95 % bootstrap intervals (METHODS section 10).

The summary can be pasted into a mail: what to run, what it is worth, and how sure that is.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ratewise.core.checks import Floats, number
from ratewise.core.document import Column, DataTable, Part, Sentence, Style, noted
from ratewise.core.result import Result
from ratewise.lab.trials import MethodOutcome

YARDSTICKS = ("oracle", "limit")
"""Methods that know what nobody knows: they show how much room there is, and cannot be run."""

_RUNNABLE = ("auto", "base")  # of campaigns
_ENOUGH_TRIALS = 500
_RESAMPLES = 1000
_ENDS = (0.025, 0.975)
_ROUNDING = 1e-12  # a pool that is rated whole is known exactly, up to this


@dataclass(frozen=True, slots=True)
class Base:
    """What strong ratings alone do in theory: V/n, less the share of a pool that is already rated."""

    variance: float
    burn_in: int
    pool_size: float  # inf: a stream

    def mse(self, budget: float) -> float:
        """Squared error of burn-in and budget together."""
        n, N = self.burn_in + budget, self.pool_size
        if np.isinf(N):
            return self.variance / n
        return self.variance * N / (N - 1) * max(1 / n - 1 / N, 0.0) if N > 1 else 0.0

    def budget(self, mse: float) -> float:
        """The budget with that error: the inverse of `mse`."""
        N = self.pool_size
        if np.isinf(N):
            return (self.variance / mse if mse > 0 else np.inf) - self.burn_in
        return 1 / (mse * (N - 1) / (N * self.variance) + 1 / N) - self.burn_in


@dataclass(frozen=True, slots=True, repr=False)
class MethodResult(Result):
    """One method at one budget. `*_low` and `*_high` are the ends of 95 % bootstrap intervals over trials."""

    method: str
    budget: float  # after the burn-in, in units of one strong rating
    trials: int
    mse: float
    mse_low: float
    mse_high: float
    bias: float
    bias_se: float
    coverage: float
    width: float
    spend_mean: float
    spend_max: float
    labels_mean: float
    effective_budget: float  # what base needs for the same error
    effective_budget_low: float
    effective_budget_high: float
    savings: float  # what base needs more
    savings_low: float
    savings_high: float
    error_ratio: float  # MSE over V / (burn-in + budget)
    error_ratio_low: float
    error_ratio_high: float
    base_mse: float  # of base in theory; in a pool less than V / (burn-in + budget)

    of_base: float  # MSE over `base_mse`; NaN where base has no error left to compare with
    of_base_low: float
    of_base_high: float

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON and CSV; shares of base's error are None where it has none."""
        return asdict(self) | ({} if self.base_mse > 0 else dict.fromkeys(("of_base", "of_base_low", "of_base_high")))


def resamples(trials: int, seed: int) -> NDArray[np.float64]:
    """How often each trial counts in each bootstrap sample, as shares: samples × trials."""
    rng = np.random.default_rng([seed, 0xB007])
    picks = rng.integers(0, trials, (_RESAMPLES, trials)) + trials * np.arange(_RESAMPLES)[:, None]
    return np.bincount(picks.ravel(), minlength=_RESAMPLES * trials).reshape(_RESAMPLES, trials) / trials


def results(
    method: str, outcome: MethodOutcome, budgets: tuple[float, ...], *, theta: float, scale: float, base: Base,
    shares: Floats,
) -> list[MethodResult]:  # fmt: skip
    """One result per budget; `theta` in the outcome's units, `scale` back to the ratings' own."""
    error = (outcome.value - theta) * scale
    held = (outcome.low - _ROUNDING <= theta) & (theta <= outcome.high + _ROUNDING)
    squared = error**2
    ends = np.quantile(shares @ squared, _ENDS, axis=0)
    made = []
    for k, B in enumerate(budgets):
        errors = float(squared[:, k].mean()), float(ends[0, k]), float(ends[1, k])
        plain, theory = base.variance / (base.burn_in + B), base.mse(B)
        spread = float(error[:, k].std(ddof=1)) if len(error) > 1 else float("nan")
        worth, effective = B, [base.budget(errors[i]) for i in (0, 2, 1)]
        if method == "base":  # the yardstick: whatever its trials did, it is worth its budget
            worth = min(B, base.pool_size - base.burn_in)
            effective = [worth] * 3
        made.append(
            MethodResult(
                method, B, len(error), **_with_ends("mse", errors),
                bias=float(error[:, k].mean()), bias_se=spread / len(error) ** 0.5,
                coverage=float(held[:, k].mean()),
                width=float((outcome.high[:, k] - outcome.low[:, k]).mean()) * scale,
                spend_mean=float(outcome.spend[:, k].mean()), spend_max=float(outcome.spend[:, k].max()),
                labels_mean=float(outcome.labels[:, k].mean()),
                **_with_ends("effective_budget", effective), **_with_ends("savings", [x - worth for x in effective]),
                **_with_ends("error_ratio", [x / plain if plain > 0 else 1.0 for x in errors]), base_mse=theory,
                **_with_ends("of_base", [x / theory if theory > 0 else float("nan") for x in errors]),
            )
        )  # fmt: skip
    return made


def _with_ends(name: str, values: Sequence[float]) -> dict[str, float]:
    return dict(zip((name, f"{name}_low", f"{name}_high"), values, strict=True))


@dataclass(frozen=True, slots=True)
class Interval:
    """A number, and the ends of its 95 % bootstrap interval over trials."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, samples: Floats, scale: Callable[[Floats], Floats] = np.asarray) -> "Interval":
        """The first is the number, the others its bootstrap samples; an end beyond all that can be told is infinite."""
        known = np.where(np.isnan(samples[1:]), np.inf, samples[1:])
        low, high = np.quantile(known, _ENDS, method="nearest")
        value, low, high = scale(np.array([samples[0], low, high])).tolist()
        return cls(value, low, high)

    def __str__(self) -> str:
        return f"{self.value:.3f} (95 % {self.low:.3f} to {self.high:.3f})"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Simulation(Result):
    """Every method at every budget on the same trials; partial where it was stopped before the last trial."""

    theta: float
    variance: float
    items: int
    settings: dict[str, Any]
    results: tuple[MethodResult, ...]
    partial: bool = False
    squared: Mapping[str, Floats] = field(default_factory=dict)  # of each method: squared errors, trials × budgets
    at_rmse: float | None = None

    def of(self, method: str) -> tuple[MethodResult, ...]:
        """One method's results, by rising budget."""
        return tuple(r for r in self.results if r.method == method)

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of the methods, in the order they were asked for."""
        return tuple(dict.fromkeys(r.method for r in self.results))

    def mse_ratio(self, first: str, second: str = "base") -> "Interval":
        """MSE of one method over that of another on the same trials, geometric mean over budgets; of base in theory."""
        return Interval.of(self.log_ratios(first, second), np.exp)

    def log_ratios(self, first: str, second: str = "base") -> Floats:
        """The logarithm of `mse_ratio`, and after it that of every bootstrap sample of trials."""
        one, other = (self._log_errors(method, theory=method == "base") for method in (first, second))
        return np.asarray((one - other).mean(axis=1))

    def _log_errors(self, method: str, *, theory: bool = False) -> Floats:
        """log MSE at each budget: in the trials, and in every bootstrap sample of them."""
        if theory:
            return np.log([[self._base().mse(B) for B in self.settings["budgets"]]])
        squared = self.squared[method]
        shares = resamples(len(squared), self.settings["seed"])
        return np.asarray(np.log(np.maximum([squared.mean(axis=0), *(shares @ squared)], 1e-300)))

    def shares_at(self, rmse: float) -> dict[str, "Interval | None"]:
        """Share of base's budget that each method needs for a root mean squared error; None where no budget tells.

        Budgets come after the burn-in, of both. Straight lines between budgets in log error against log budget.
        """
        mse = number(rmse, name="at_rmse", above=0) ** 2
        needed = self._base().budget(mse)
        if not needed > 0:
            return dict.fromkeys(self.methods)
        log_budgets = np.log(self.settings["budgets"])
        found: dict[str, Interval | None] = {}
        for method in self.methods:
            if method == "base":
                found[method] = Interval(1.0, 1.0, 1.0)
                continue
            at = [_crossing(errors, log_budgets, mse) for errors in self._log_errors(method)]
            found[method] = (
                None
                if at[0] is None
                else Interval.of(np.array([at[0] / needed, *(np.nan if x is None else x / needed for x in at[1:])]))
            )
        return found

    def savings_at(self, mse: float) -> dict[str, float | None]:
        """What each method saves against base at a given error; None where no simulated budget reaches it.

        The budget a method needs is read off its own curve, straight lines between budgets in log error against log
        budget.
        """
        needed = self._base().budget(number(mse, name="mse", above=0))
        return {method: _saved(needed, self.of(method), mse) for method in self.methods}

    def savings(self) -> list[dict[str, Any]]:
        """`savings_at` the errors that base has at the simulated budgets."""
        at = [(B, self._base().mse(B)) for B in self.settings["budgets"]]
        return [{"mse": e, "base_budget": B, "savings": self.savings_at(e)} for B, e in at if e > 0]

    def _base(self) -> Base:
        pool = float(self.items) if self.settings["mode"] == "pool" else np.inf
        return Base(self.variance, self.settings["burn_in"], pool)

    def to_dict(self) -> dict[str, Any]:
        """A dictionary, ready for JSON."""
        shares = {} if self.at_rmse is None else {"at_rmse": {"rmse": self.at_rmse, "methods": {
            method: None if share is None else asdict(share) for method, share in self.shares_at(self.at_rmse).items()
        }}}  # fmt: skip
        return shares | {
            "theta": self.theta, "variance": self.variance, "items": self.items, "settings": self.settings,
            "results": [r.to_dict() for r in self.results], "savings": self.savings(), "partial": self.partial,
        }  # fmt: skip

    def _rows(self) -> list[dict[str, Any]]:
        return [r.to_dict() for r in self.results]

    def save_csv(self, path: str | os.PathLike[str]) -> None:
        """One row per method and budget."""
        from ratewise.tables.write import write_rows

        write_rows(path, self._rows())

    def summary(self) -> str:
        """What a user can run at the largest budget, and what that is worth, in words that stand alone."""
        s = self.settings
        return in_words(
            self.results, budget=s["budgets"][-1], burn_in=s["burn_in"], items=self.items, partial=self.partial
        )

    def document(self) -> list[Part]:
        """A row per budget and method: error, what it is worth, coverage, spend; the best of each budget stands out."""
        table = DataTable([
            Column("budget"), Column("method", "name"), Column("RMSE"), Column("of base"),
            Column("95% interval", leaves=2), Column("worth"), Column("saves", leaves=3), Column("width"),
            Column("covers"), Column("spend", leaves=4),
        ])  # fmt: skip
        for budget in self.settings["budgets"]:
            rows = [r for r in self.results if r.budget == budget]
            best = min((r for r in rows if r.method not in YARDSTICKS), key=lambda r: r.mse, default=None)
            for k, r in enumerate(rows):
                style: Style = "best" if r is best else "quiet" if r.method in YARDSTICKS else ""
                table.add(f"{budget:g}" if k == 0 else "", *_cells(r), style=style)
        legend = (
            "of base: squared error over that of strong ratings alone, with a 95% interval over "
            f"{self.settings['trials']:,} trials; worth: the budget at which strong ratings alone are as good; saves: "
            "that budget less this one; width: of its own interval, on average; covers: how often that held the truth"
        )
        notes = [f"partial, stopped after {self.settings['trials']:,} trials"] if self.partial else []
        if self.settings["burn_in"] == 0 and not self.settings["transfer"]:
            notes.append("without a burn-in the methods know the whole table's parameters")
        return [
            table, Sentence(legend, "quiet"), *self._at_rmse(), Sentence(), Sentence(self.summary()), *noted(notes)
        ]  # fmt: skip

    def _at_rmse(self) -> list[Part]:
        """What each method needs for the error that was asked for."""
        if self.at_rmse is None:
            return []
        table = DataTable([Column("method", "name"), Column("budget"), Column("of base's"), Column("95% interval")])
        needed = self._base().budget(self.at_rmse**2)
        lead = Sentence(f"For an RMSE of {self.at_rmse:g}, base needs a budget of {max(needed, 0):,.0f}.")
        for method, share in self.shares_at(self.at_rmse).items():
            if share is None:
                table.add(method, "–", "–", "–")
            else:
                table.add(
                    method, f"{share.value * needed:,.0f}", f"{share.value:.1%}", f"{share.low:.1%}–{share.high:.1%}"
                )
        missing = Sentence("–: the simulated budgets do not reach this error, or all of them do", "quiet")
        return [Sentence(), lead, table, *([missing] if None in self.shares_at(self.at_rmse).values() else [])]


def _cells(r: MethodResult) -> tuple[str, ...]:
    """One method at one budget; where base knows the pool exactly there is nothing to compare with."""
    ratios = (f"{r.of_base:.3f}", f"{r.of_base_low:.3f}–{r.of_base_high:.3f}") if r.base_mse > 0 else ("–", "–")
    worth = (f"{r.effective_budget:,.0f}", f"{r.savings:+,.0f}")
    return r.method, f"{r.mse**0.5:.4f}", *ratios, *worth, f"{r.width:.4f}", f"{r.coverage:.1%}", f"{r.spend_mean:,.0f}"


def _saved(needed: float, curve: tuple[MethodResult, ...], mse: float) -> float | None:
    """`needed` less the budget at which the method's curve crosses the error; its last crossing, if it has several.

    Base saves nothing, by definition.
    """
    if curve[0].method == "base":
        return 0.0
    log_error, log_budget = np.log([[max(r.mse, 1e-300), r.budget] for r in curve]).T
    budget = _crossing(log_error, log_budget, mse)
    return None if budget is None else needed - budget


def _crossing(log_error: Floats, log_budget: Floats, mse: float) -> float | None:
    """The budget at which a curve crosses the error for the last time; None where all of it lies on one side."""
    below = log_error <= np.log(mse)
    if below.all() or not below[-1]:
        return None
    k = int(np.flatnonzero(~below)[-1])
    step = (log_error[k] - np.log(mse)) / (log_error[k] - log_error[k + 1])
    return float(np.exp(log_budget[k] + step * (log_budget[k + 1] - log_budget[k])))


# In words


def in_words(results: Sequence[MethodResult], *, budget: float, burn_in: int, items: int, partial: bool = False) -> str:
    """The results at one budget."""
    last = {r.method: r for r in results if r.budget == budget}
    best = _best(list(last.values()))
    few = best.trials < _ENOUGH_TRIALS
    trials = f"{best.trials:,} trial{'s' * (best.trials != 1)}"
    done = f"{'only ' * few}{trials} on {items:,} items" + ", partial" * partial
    if not best.base_mse > 0:
        return f"A budget of {budget:g} rates the whole pool: strong ratings alone know it exactly ({done})."
    free = f" and {burn_in:,} free labels to begin with" if burn_in else ""
    parts = [_sentence(best, f"With money for {budget:g} strong ratings{free}"), _left_to_gain(best, last.get("limit"))]
    if few and best.method != "base":
        low, high = best.of_base_low, best.of_base_high
        parts.append(f"So few trials only show that the share is between {low:.1%} and {high:.1%}; run 2,000.")
    return f"{' '.join(filter(None, parts))} ({done}.)"


def _best(last: list[MethodResult]) -> MethodResult:
    """The best method: one that a campaign can run, else one others can, else one nobody can."""
    for names in (_RUNNABLE, tuple(r.method for r in last if r.method not in YARDSTICKS)):
        found = [r for r in last if r.method in names]
        if found:
            return min(found, key=lambda r: r.base_mse if r.method == "base" else r.mse)
    return min(last, key=lambda r: r.mse)


def _sentence(r: MethodResult, money: str) -> str:
    if r.method == "base":
        return f"{money}, nothing that was tried beats strong ratings alone: run base, which saves 0."
    who = f"{r.method}, which nobody can run," if r.method in YARDSTICKS else r.method
    share = f"{money}, {who} has {r.of_base:.1%} of the squared error of strong ratings alone"
    if r.of_base_low <= 1 <= r.of_base_high:
        return f"{share}, which is no difference that these trials could show."
    worth = f"strong ratings alone would need {r.effective_budget:,.0f} for the same error"
    return f"{share}: {worth}, {abs(r.savings):,.0f} {'more' if r.savings > 0 else 'fewer'}."


def _left_to_gain(best: MethodResult, limit: MethodResult | None) -> str:
    if limit is None or best.method in YARDSTICKS:
        return ""
    known = "Were the weak rater's errors known beforehand, it would"
    if limit.of_base >= best.of_base:
        return f"{known} not be less: nothing is left to gain by learning."
    return f"{known} be {limit.of_base:.1%}: the rest is left to gain."
