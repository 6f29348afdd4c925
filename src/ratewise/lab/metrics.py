"""What is reported of a method at a budget, with 95 % bootstrap intervals over trials (METHODS section 10)."""

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
