"""A plan by strata applied to a pool: which items are looked at, their rates, and what each of them counts."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ratewise.core.checks import Floats
from ratewise.core.mean.draw import uniform
from ratewise.core.mean.looking import whole_items
from ratewise.core.mean.ratings import Mask
from ratewise.questions.mean.strata import InputPlan, Strata, check_known, read_strata
from ratewise.tables import Table

_LEAST_RATE = 1e-100  # never drawn, and its inverse can still be squared


@dataclass(frozen=True, slots=True, eq=False)
class ChosenItems:
    """Every row of the pool: whether it is looked at, its rate and weight (NaN where not), and whether G is bought."""

    looked: Mask
    rates: Floats
    weights: Floats  # W_s T/T_s: 1 on average over the items looked at
    buys_weak: Mask
    notes: tuple[str, ...]


def choose_items(
    pool: Table, plan: InputPlan, error: Floats, ids: NDArray[Any], *, seed: int
) -> ChosenItems:  # fmt: skip
    """Choose the planned number of items of each stratum (all, where there are fewer) by a hash of seed and id."""
    names = plan_names(plan)
    strata = read_strata(pool, plan.column, names)
    check_known(strata, pool, plan.column)
    N = strata.counts
    T = items_of(plan, N)
    looked = _first_of_each(strata, T, uniform(ids, seed=f"{seed}:look"), uniform(ids, seed=seed))
    code = strata.code
    return ChosenItems(
        looked,
        np.where(looked, rates_in(plan, code, error), np.nan),
        np.where(looked, weights_of(N, T)[code], np.nan),
        looked & buys_weak(plan)[code],
        short_notes(plan, N),
    )


def plan_names(plan: InputPlan) -> tuple[str, ...]:
    """The strata that the plan knows."""
    return tuple(stratum.name for stratum in plan.strata)


def items_of(plan: InputPlan, N: Floats) -> Floats:
    """How many items of each stratum are looked at: as planned, at least two, at most all of its N."""
    return np.minimum(np.maximum(_wanted(plan), 2), N)


def weights_of(N: Floats, T: Floats) -> Floats:
    """W_s T/T_s of every stratum."""
    return np.asarray(N / N.sum() * T.sum() / np.maximum(T, 1))


def buys_weak(plan: InputPlan) -> Mask:
    """Whether weak ratings are bought in each stratum."""
    return np.array([stratum.buys_weak for stratum in plan.strata], dtype=np.bool_)


def _wanted(plan: InputPlan) -> Floats:
    """Whole items of each stratum."""
    return np.array([whole_items(stratum.items) for stratum in plan.strata], dtype=np.float64)


def _first_of_each(strata: Strata, T: Floats, look: Floats, r: Floats) -> Mask:
    """The T rows of each stratum that stand first in line."""
    order = np.lexsort((r, look, strata.code))
    code = strata.code[order]
    starts = np.searchsorted(code, np.arange(len(strata.names)))
    looked = np.zeros(code.size, dtype=np.bool_)
    looked[order] = np.arange(code.size) - starts[code] < T[code]
    return looked


def rates_in(plan: InputPlan, code: NDArray[np.intp], error: Floats) -> Floats:
    """One rate in each stratum, or clip(γ·sqrt(u), floor, 1) with the stratum's own γ."""

    def of(name: str) -> Any:
        return np.array([getattr(stratum, name) for stratum in plan.strata], dtype=np.float64)[code]

    scale = of("scale")  # NaN where there is one rate
    follows = np.clip(np.where(np.isnan(scale), 0.0, scale) * np.sqrt(error), np.maximum(of("floor"), _LEAST_RATE), 1.0)
    return np.asarray(np.where(np.isnan(scale), of("rate"), follows))


def short_notes(plan: InputPlan, N: Floats) -> tuple[str, ...]:
    """The note about strata of which the pool has fewer items than planned."""
    each = zip(plan_names(plan), _wanted(plan), N, strict=True)
    short = [f"{name!r} ({n:,.0f} of {w:,.0f})" for name, w, n in each if n < w]
    if not short:
        return ()
    return (
        f"the pool has fewer items than planned of {', '.join(short[:5])}: all are looked at; plan again with this "
        "pool to spend what is left",
    )
