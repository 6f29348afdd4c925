"""What is reported of a method at a budget, with 95 % bootstrap intervals over trials (METHODS section 10)."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ratewise.core.checks import Floats
from ratewise.core.result import shown
from ratewise.lab.trials import Outcome

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


@shown
@dataclass(frozen=True, slots=True)
class MethodResult:
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

    @property
    def of_base(self) -> float:
        """MSE over base's in theory; NaN where base has no error left to compare with."""
        return self.mse / self.base_mse if self.base_mse > 0 else float("nan")

    @property
    def of_base_low(self) -> float:
        """The lower end of a 95 % bootstrap interval of `of_base` over trials."""
        return self.mse_low / self.base_mse if self.base_mse > 0 else float("nan")

    @property
    def of_base_high(self) -> float:
        """The upper end of that interval of `of_base`."""
        return self.mse_high / self.base_mse if self.base_mse > 0 else float("nan")

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON and CSV; shares of base's error are None where it has none."""
        shares = {name: getattr(self, name) for name in ("of_base", "of_base_low", "of_base_high")}
        return {**asdict(self), **{name: share if self.base_mse > 0 else None for name, share in shares.items()}}


def resamples(trials: int, seed: int) -> NDArray[np.float64]:
    """How often each trial counts in each bootstrap sample, as shares: samples × trials."""
    rng = np.random.default_rng([seed, 0xB007])
    picks = rng.integers(0, trials, (_RESAMPLES, trials)) + trials * np.arange(_RESAMPLES)[:, None]
    return np.bincount(picks.ravel(), minlength=_RESAMPLES * trials).reshape(_RESAMPLES, trials) / trials


def results(
    method: str, outcome: Outcome, budgets: tuple[float, ...], *, theta: float, scale: float, base: Base, shares: Floats
) -> list[MethodResult]:
    """One result per budget; `theta` in the outcome's units, `scale` back to the ratings' own."""
    error = (outcome.value - theta) * scale
    held = (outcome.low - _ROUNDING <= theta) & (theta <= outcome.high + _ROUNDING)
    squared = error**2
    ends = np.quantile(shares @ squared, _ENDS, axis=0)
    made = []
    for k, B in enumerate(budgets):
        mse, low, high = float(squared[:, k].mean()), float(ends[0, k]), float(ends[1, k])
        plain = base.variance / (base.burn_in + B)
        spread = float(error[:, k].std(ddof=1)) if len(error) > 1 else float("nan")
        effective = [base.budget(x) for x in (mse, high, low)]
        if method == "base":  # the yardstick: whatever its trials did, it is worth its budget
            effective = [min(B, base.pool_size - base.burn_in)] * 3
        worth = B if method != "base" else effective[0]
        made.append(
            MethodResult(
                method, B, len(error), mse, low, high,
                bias=float(error[:, k].mean()), bias_se=spread / len(error) ** 0.5,
                coverage=float(held[:, k].mean()),
                width=float((outcome.high[:, k] - outcome.low[:, k]).mean()) * scale,
                spend_mean=float(outcome.spend[:, k].mean()), spend_max=float(outcome.spend[:, k].max()),
                labels_mean=float(outcome.labels[:, k].mean()),
                effective_budget=effective[0], effective_budget_low=effective[1], effective_budget_high=effective[2],
                savings=effective[0] - worth, savings_low=effective[1] - worth, savings_high=effective[2] - worth,
                error_ratio=mse / plain if plain > 0 else 1.0,
                error_ratio_low=low / plain if plain > 0 else 1.0,
                error_ratio_high=high / plain if plain > 0 else 1.0,
                base_mse=base.mse(B),
            )
        )  # fmt: skip
    return made


YARDSTICKS = ("oracle", "limit")
"""Methods that know what nobody knows: they show how much room there is, and cannot be run."""
_RUNNABLE = ("auto", "base")  # of campaigns
_ENOUGH_TRIALS = 500


def in_words(results: Sequence[MethodResult], *, budget: float, burn_in: int, items: int, partial: bool = False) -> str:
    """The results at one budget."""
    last = {r.method: r for r in results if r.budget == budget}
    best = _best(list(last.values()))
    only = best.trials < _ENOUGH_TRIALS
    done = f"{'only ' * only}{_count(best.trials, 'trial')} on {items:,} items" + ", partial" * partial
    if not best.base_mse > 0:
        return f"A budget of {budget:g} rates the whole pool: strong ratings alone know it exactly ({done})."
    parts = [_sentence(best, _money(budget, burn_in)), _left_to_gain(best, last.get("limit"))]
    if only and best.method != "base":
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


def _money(budget: float, burn_in: int) -> str:
    free = f" and {burn_in:,} free labels to begin with" if burn_in else ""
    return f"With money for {budget:g} strong ratings{free}"


def _sentence(r: MethodResult, money: str) -> str:
    if r.method == "base":
        return f"{money}, nothing that was tried beats strong ratings alone: run base, which saves 0."
    who = f"{r.method}, which nobody can run," if r.method in YARDSTICKS else r.method
    share = f"{money}, {who} has {r.of_base:.1%} of the squared error of strong ratings alone"
    low, high = r.of_base_low, r.of_base_high
    if low <= 1 <= high:
        return f"{share}, which is no difference that these trials could show."
    worth = f"strong ratings alone would need {r.effective_budget:,.0f} for the same error"
    return f"{share}: {worth}, {abs(r.savings):,.0f} {'more' if r.savings > 0 else 'fewer'}."


def _left_to_gain(best: MethodResult, limit: MethodResult | None) -> str:
    if limit is None or best.method in YARDSTICKS:
        return ""
    if limit.of_base >= best.of_base:
        return (
            "Were the weak rater's errors known beforehand, it would not be less: nothing is left to gain by learning."
        )
    return f"Were the weak rater's errors known beforehand, it would be {limit.of_base:.1%}: the rest is left to gain."


def _count(n: int, word: str) -> str:
    return f"{n:,} {word}{'' if n == 1 else 's'}"
