"""`plan_regression`: how to spend on coefficients, every policy side by side, and one recommendation (METHODS 7)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ratewise.core.checks import Floats, choice
from ratewise.core.names import FAMILIES, Estimand, Family, PolicyName, Recalibration
from ratewise.core.result import shown
from ratewise.questions.design_matrix import Columns, design
from ratewise.questions.drawing import PlannedRows
from ratewise.questions.people import Strong, made_ready
from ratewise.questions.pilot import Pilot, PilotColumns, read_pilot
from ratewise.questions.regression_pilot import RegressionPilot, coefficient_weights
from ratewise.questions.side_by_side import (
    NEAR_TIE_IN_PRICE,
    Goal,
    PlannedPolicy,
    ShowsPolicies,
    SideBySide,
    price,
    side_by_side,
)
from ratewise.tables import TableLike
from ratewise.tables.words import Positive, Scale, meaning_of


@shown
@dataclass(frozen=True, slots=True, eq=False)
class RegressionPlan(ShowsPolicies):
    """Three policies side by side, the one to take, and its rates for the table's rows.

    Errors are of the weighted total: the root of Σ weight_k Var(coefficient_k).
    """

    error_name: ClassVar[str] = "total error"
    recommendation: PolicyName
    reason: str
    basis: dict[str, Any]  # arguments and the figures found; "inputs" in JSON
    policies: dict[str, PlannedPolicy]
    weights: dict[str, float]  # of each coefficient
    expected_ses: dict[str, float]  # of each coefficient, with the recommended policy
    rows: PlannedRows = field(repr=False)  # the table's rows, for `draw_pool`
    notes: tuple[str, ...] = ()
    rates: Floats = field(repr=False, default_factory=lambda: np.empty(0))

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON, without the rates."""
        return {
            "recommendation": self.recommendation,
            "reason": self.reason,
            "inputs": self.basis,
            "policies": {name: policy.to_dict() for name, policy in self.policies.items()},
            "weights": self.weights,
            "expected_ses": self.expected_ses,
            "notes": list(self.notes),
        }


def plan_regression(
    table: TableLike,
    *,
    weak: str,
    strong: Strong,
    on: Sequence[str],
    family: Family = "linear",
    weak_cost: float,
    strong_cost: float,
    budget: float | None = None,
    target_se: float | None = None,
    pool_size: float | None = None,
    floor: float | None = None,
    weights: Mapping[str, float] | None = None,
    intercept: bool = True,
    calibrate: Recalibration = "none",
    features: Sequence[str] = (),
    estimand: Estimand = "population",
    positive: Positive = None,
    scale: Scale = None,
    seed: int = 0,
) -> RegressionPlan:
    """Base, random and active policies for a regression, from a labelled pilot.

    The rows with a strong rating are the pilot and are taken as a random sample of the pool. What is made small is
    Σ weight_k Var(coefficient_k), and `target_se` is its root; by default the weight of a coefficient is its column's
    variance, so that units do not matter and the total is about the error of the predictor, and the intercept has none
    unless it is alone. `weights` names coefficients and their weights; those not named get 0. `floor` is the least rate
    of the active policy (default: a tenth of its mean rate). `calibrate`, `features`, words as ratings and several
    people's columns are as for `plan`.
    """
    choice(family, FAMILIES, name="family")
    goal = Goal.of(weak_cost, strong_cost, budget, target_se, pool_size, estimand, floor)
    ready = made_ready(table, strong=strong, weak=(weak,), positive=positive, scale=scale)
    asked = PilotColumns(weak, ready.strong, None, calibrate, tuple(features), seed)
    read = ready.table
    pilot = read_pilot(read, asked)
    columns = design(read, on, rows=np.ones(read.rows, dtype=np.bool_), intercept=intercept)
    w = coefficient_weights(columns, weights)
    world = RegressionPilot.of(pilot, columns, family, w)
    sides = side_by_side(world, goal)
    best = sides.policies[sides.recommendation]
    N = pool_size if estimand == "pool" and pool_size is not None else math.inf
    ses = world.standard_errors(sides.rates[pilot.labelled], best.items, pool_size=N)
    told = {name: value for name, value in asked.to_dict().items() if name != "uncertainty"} | {"strong": ready.typed}
    return RegressionPlan(
        recommendation=sides.recommendation,
        reason=_reason(sides, goal, world),
        basis={"table": read.name, "rows": read.rows, "labels": int(pilot.strong.size)}
        | told
        | {"on": list(on), "family": family}
        | goal.to_dict()
        | {"variance": world.variance, "weak_error": world.weak_error},
        policies=sides.policies,
        weights=dict(zip(columns.names, w.tolist(), strict=True)),
        expected_ses=dict(zip(columns.names, ses.tolist(), strict=True)),
        notes=ready.notes + _notes(pilot, sides.policies, columns),
        rates=sides.rates,
        rows=PlannedRows.of(
            read, (weak,), sides.recommendation, sides.rates, best.items, goal, meaning_of(positive, scale)
        ),
    )


# In words


def _reason(sides: SideBySide, goal: Goal, world: RegressionPilot) -> str:
    name, policies = sides.recommendation, sides.policies
    base, best, lost = policies["base"], policies[name], goal.lost_variance(world.variance)
    if name == "base":
        rival = min((policies["random"], policies["active"]), key=lambda policy: price(policy, lost))
        return (
            "The weak rater is not worth buying for these coefficients: the best use of it would leave "
            f"{price(rival, lost) / price(base, lost):.0%} of the error of strong ratings alone for the money. Buy "
            f"{base.items:,.0f} strong ratings for {base.spend:,.2f}."
        )
    how = "at one rate for all" if name == "random" else "most often where they move the coefficients most"
    buy = f"Buy weak ratings for {best.items:,.0f} items and about {best.strong_labels:,.0f} strong ones, {how}: "
    if goal.target_se is not None:
        less = f"not {base.spend:,.2f} ({1 - best.spend / base.spend:.0%} less)"
        return f"{buy}a total error of {best.expected_se:.4g} for {best.spend:,.2f}, {less}."
    gain = f"{1 - (best.expected_se / base.expected_se) ** 2:.0%}" if base.expected_se > 0 else "no"
    return (
        f"{buy}a total error of {best.expected_se:.4g} instead of {base.expected_se:.4g} for the same money ({gain} "
        "less squared error)."
    )


def _notes(pilot: Pilot, policies: dict[str, PlannedPolicy], columns: Columns) -> tuple[str, ...]:
    notes = [f"{name} {why}; it was left out" for name, why in columns.left_out]
    few = 20 * len(columns.names)
    if pilot.strong.size < max(50, few):
        notes.append(f"the pilot has only {pilot.strong.size} labels: take these figures as rough")
    if policies["active"].error_ratio > policies["random"].error_ratio * (1 + NEAR_TIE_IN_PRICE):
        notes.append("choosing items by uncertainty and influence does worse here than one rate for all")
    return tuple(notes)
