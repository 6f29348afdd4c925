"""`choose_inputs`: which inputs to look at, alone (Prop. 7) and jointly with the rates (METHODS section 8).

Inputs are strata, or single items told apart by something cheap. What is best is worked out in `allocation.py`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from ratewise.core.allocation import Cells, Numbers, Strata, all_spent, reached
from ratewise.core.checks import Floats, choice, finite, number
from ratewise.core.names import ESTIMANDS, Estimand
from ratewise.core.ratings import Mask
from ratewise.core.result import shown
from ratewise.errors import InputError


@shown
@dataclass(frozen=True, slots=True, eq=False)
class InputChoice:
    """How many of each stratum to look at and at what rate; `None` where a budget or a target is needed to say.

    Invariants: `sampling` sums to 1; rates are in (0, 1], and 1 where `buys_weak` is False; `error_times_budget` =
    `cost_per_item` × `variance_per_item`, the squared error (around the population's mean) times the money spent.
    """

    probabilities: Floats = field(repr=False)  # P
    sampling: Floats = field(repr=False)  # Q: shares of the items looked at
    rates: Floats = field(repr=False)  # π, on average over the stratum
    scales: Floats = field(repr=False)  # γ: π(x) = clip(γ sqrt(u(x)), floor, 1); infinite where all are rated
    buys_weak: Mask = field(repr=False)  # False: strong ratings alone there
    cost_per_item: float
    variance_per_item: float  # T times the estimate's variance
    error_times_budget: float  # J
    items: Floats | None = field(repr=False)  # T of each stratum
    used_up: Mask = field(repr=False)  # strata of which every item is looked at
    spend: float | None
    expected_se: float | None

    @property
    def weights(self) -> Floats:
        """P/Q: what an item counts; infinite where none is to be looked at."""
        with np.errstate(divide="ignore"):
            return np.asarray(self.probabilities / self.sampling)

    @property
    def strong_labels(self) -> Floats | None:
        """Expected strong ratings of each stratum."""
        return None if self.items is None else self.items * self.rates

    def to_dict(self) -> dict[str, Any]:
        """A dictionary, ready for JSON."""
        names = ("probabilities", "sampling", "rates", "buys_weak", "used_up", "items")
        arrays = {name: getattr(self, name) for name in names}
        out: dict[str, Any] = {name: None if value is None else value.tolist() for name, value in arrays.items()}
        for name in ("cost_per_item", "variance_per_item", "error_times_budget", "spend", "expected_se"):
            out[name] = getattr(self, name)
        return out

    def summary(self) -> str:
        """One line for people."""
        if self.items is None or self.expected_se is None:
            return f"{self.sampling.size} strata; squared error times budget {self.error_times_budget:.4g}"
        return (
            f"look at {self.items.sum():,.0f} items of {self.sampling.size} strata, {self.spend:,.2f} in all, for a "
            f"standard error of {self.expected_se:.4g}"
        )

    def __str__(self) -> str:
        return self.summary()


def choose_inputs(
    variance: ArrayLike,
    error: ArrayLike | Sequence[ArrayLike],
    *,
    weak_cost: ArrayLike,
    strong_cost: ArrayLike,
    probabilities: ArrayLike | None = None,
    stratified: bool = True,
    means: ArrayLike | None = None,
    rates: ArrayLike | None = None,
    sizes: ArrayLike | None = None,
    budget: float | None = None,
    target_se: float | None = None,
    estimand: Estimand = "population",
    floor: ArrayLike = 0.0,
    least: ArrayLike = 0.0,
    strong_alone: bool = True,
) -> InputChoice:
    """The best shares Q of the strata and rates π, for a budget, for a target standard error, or per unit of money.

    `variance` is Var(H|s) of each stratum, `error` is E[(H−G)²|s]: one number each, or one array each with u(x) of
    its items, which the rates then follow. Prices may differ by stratum. `probabilities` are the strata's shares of
    the target (default: by `sizes`, else equal). Two ways to look at items:

    - `stratified` (the default, and what to do where strata are known): fixed numbers of each stratum and the estimate
      Σ P_s mean_s (`estimate_stratified`). Differences between strata add no variance: what counts is Var(H|s).
    - `stratified=False`: items are drawn one by one with probability Q and weighted by P/Q, self-normalised
      (`estimate_weighted`). What counts is E[(H−θ)²|s] = Var(H|s) + (mean_s − θ)², so `means` are needed.

    With `rates` given only Q is chosen (Prop. 7, and ∝ P sqrt(ν/k) where the cost k of an item differs); without, π
    too. `sizes` are the numbers of items there are: a stratum that would need more is used up, and the money goes to
    the rest. `floor` is the least rate, `least` the fewest items of a stratum. With `strong_alone` strata where the
    weak rater does not pay are rated without it.

    Limiting cases: one stratum is `optimal_uniform_rate`, or `optimal_policy` with u(x); rates of 1 give Neyman's
    allocation P sqrt(Var(H|s)); u = 0 gives the rate `floor`; a ≤ u, or free strong ratings, the rate 1; free weak
    ratings look at everything there is (so they need `sizes` or a floor). A stratum without any variance is not looked
    at unless `least` says so.
    """
    choice(estimand, ESTIMANDS, name="estimand")
    if budget is not None and target_se is not None:
        raise InputError("give a budget or a target standard error, not both")
    a = finite(variance, name="variance", minimum=0)
    if a.ndim != 1:
        raise InputError(f"variance needs one entry per stratum; got shape {a.shape}")
    P, N = _shares(probabilities, sizes, a.size)
    f = _per_stratum(floor, a.size, name="floor")
    if f.max() > 1:
        raise InputError(f"floor must be in [0, 1]; got {f.max():g}")
    strata = Strata(
        P, a + _between(means, P, stratified), _cells(error, a.size, alike=rates is not None),
        _per_stratum(weak_cost, a.size, name="weak_cost"), _per_stratum(strong_cost, a.size, name="strong_cost"),
        N, f, np.minimum(_per_stratum(least, a.size, name="least"), N),
        fixed=None if rates is None else _rates(rates, a.size), alone=strong_alone and rates is None,
    ).checked()  # fmt: skip
    if budget is not None:
        return _choice(strata, all_spent(strata, number(budget, name="budget", above=0)), estimand)
    if target_se is not None:
        wanted = number(target_se, name="target_se", above=0) ** 2 + strata.lost(estimand)
        return _choice(strata, reached(strata, wanted), estimand)
    if not strata.unlimited:
        raise InputError("sizes and least need a budget or a target standard error; give one of them")
    return _choice(strata, strata.best(1.0), estimand, planned=False)


# What was told


def _shares(probabilities: ArrayLike | None, sizes: ArrayLike | None, n: int) -> tuple[Floats, Floats]:
    """P, and N (infinite without sizes)."""
    N = np.full(n, math.inf) if sizes is None else _per_stratum(sizes, n, name="sizes")
    if N.min() <= 0:
        raise InputError(f"sizes must be above 0; stratum {int(np.argmin(N))} has none: leave it out")
    if probabilities is None:
        return (np.full(n, 1.0 / n) if sizes is None else N / N.sum()), N
    P = _per_stratum(probabilities, n, name="probabilities")
    if P.min() <= 0 or not math.isclose(P.sum(), 1.0, rel_tol=1e-6):
        raise InputError(f"probabilities must be above 0 and sum to 1; least {P.min():g}, sum {P.sum():g}")
    return P / P.sum(), N


def _per_stratum(values: ArrayLike, n: int, *, name: str) -> Floats:
    array = finite(values, name=name, minimum=0)
    if array.shape not in ((), (1,), (n,)):
        raise InputError(f"{name} must be one number or one per stratum ({n}); got shape {array.shape}")
    return np.broadcast_to(array, (n,)).astype(np.float64)


def _between(means: ArrayLike | None, P: Floats, stratified: bool) -> Floats:
    """(mean − θ)², which independent draws add."""
    if stratified:
        return np.zeros(P.size)
    if means is None:
        raise InputError("independent draws (stratified=False) also need the strata's means")
    mu = finite(means, name="means")
    if mu.shape != P.shape:
        raise InputError(f"means must have one entry per stratum ({P.size}); got shape {mu.shape}")
    return np.asarray((mu - np.dot(P, mu)) ** 2)


def _rates(rates: ArrayLike, n: int) -> Floats:
    pi = _per_stratum(rates, n, name="rates")
    if pi.min() <= 0 or pi.max() > 1:
        raise InputError(f"rates must be in (0, 1]; they range from {pi.min():g} to {pi.max():g}")
    return pi


def _cells(error: ArrayLike | Sequence[ArrayLike], n: int, *, alike: bool) -> Cells:
    each = [error] if isinstance(error, int | float) else list(cast(Sequence[ArrayLike], error))
    parts = [np.atleast_1d(finite(part, name="error", minimum=0)) for part in each]
    if len(parts) != n:
        raise InputError(f"variance and error need one entry per stratum; got {n} and {len(parts)}")
    if alike:
        parts = [np.array([part.mean()]) for part in parts]
    count = np.array([part.size for part in parts], dtype=np.intp)
    u = np.concatenate(parts)
    return Cells(u, np.sqrt(u), np.repeat(np.arange(n, dtype=np.intp), count), count)


def _choice(strata: Strata, n: Numbers, estimand: str, *, planned: bool = True) -> InputChoice:
    """The choice in words."""
    total, cost, variance = float(n.T.sum()), strata.cost(n), strata.variance(n)
    return InputChoice(
        probabilities=strata.P, sampling=n.T / total, rates=n.rate, scales=n.scale, buys_weak=n.weak,
        cost_per_item=cost / total, variance_per_item=variance * total, error_times_budget=cost * variance,
        items=n.T if planned else None, used_up=n.T >= strata.N, spend=cost if planned else None,
        expected_se=math.sqrt(max(variance - strata.lost(estimand), 0.0)) if planned else None,
    )  # fmt: skip
