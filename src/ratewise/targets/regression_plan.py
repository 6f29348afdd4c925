"""`plan_regression`: how to spend on coefficients, every policy side by side, and one recommendation (METHODS 7)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ratewise.core.checks import Floats, choice, share
from ratewise.core.mean.rates import LARGEST_SCALE, active_rates
from ratewise.core.names import FAMILIES, RECALIBRATIONS, Estimand, Family, PolicyName, Recalibration
from ratewise.models.error_model import DEFAULT_FLOOR_SHARE
from ratewise.tables import TableLike, read_table
from ratewise.targets.columns import Columns, design
from ratewise.targets.mean.pilot import Pilot, read_pilot
from ratewise.targets.mean.side_by_side import (
    NEAR_TIE_IN_PRICE,
    Goal,
    PlannedPolicy,
    checked_costs,
    planned,
    planned_base,
    policies_html,
    price,
    recommend,
)
from ratewise.targets.regression_pilot import RegressionPilot, coefficient_weights


@dataclass(frozen=True, slots=True, eq=False)
class RegressionPlan:
    """Three policies side by side, the one to take, and its rates for the table's rows.

    Errors are of the weighted total: the root of Σ weight_k Var(coefficient_k).
    """

    recommendation: PolicyName
    reason: str
    inputs: dict[str, Any]
    policies: dict[str, PlannedPolicy]
    weights: dict[str, float]  # of each coefficient
    expected_ses: dict[str, float]  # of each coefficient, with the recommended policy
    notes: tuple[str, ...] = ()
    rates: Floats = field(repr=False, default_factory=lambda: np.empty(0))

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON, without the rates."""
        return {
            "recommendation": self.recommendation,
            "reason": self.reason,
            "inputs": self.inputs,
            "policies": {name: policy.to_dict() for name, policy in self.policies.items()},
            "weights": self.weights,
            "expected_ses": self.expected_ses,
            "notes": list(self.notes),
        }

    def summary(self) -> str:
        """The recommendation in words."""
        return self.reason

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return policies_html(self.policies, self.reason, error="total error")


def plan_regression(
    table: TableLike,
    *,
    weak: str,
    strong: str,
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
    seed: int = 0,
) -> RegressionPlan:
    """Base, random and active policies for a regression, from a labelled pilot.

    The rows with a strong rating are the pilot and are taken as a random sample of the pool. What is made small is
    Σ weight_k Var(coefficient_k), and `target_se` is its root; by default the weight of a coefficient is its column's
    variance, so that units do not matter and the total is about the error of the predictor, and the intercept has none
    unless it is alone. `weights` names coefficients and their weights; those not named get 0. `floor` is the least rate
    of the active policy (default: a tenth of its mean rate). `calibrate` and `features` as for `plan`.
    """
    choice(family, FAMILIES, name="family")
    choice(calibrate, RECALIBRATIONS, name="calibration")
    c_g, c_h = checked_costs(weak_cost, strong_cost, budget, target_se)
    read = read_table(table)
    pilot = read_pilot(
        read, weak=weak, strong=strong, uncertainty=None, calibrate=None if calibrate == "none" else calibrate,
        features=features, seed=seed,
    )  # fmt: skip
    columns = design(read, on, rows=np.ones(read.rows, dtype=np.bool_), intercept=intercept)
    w = coefficient_weights(columns, weights)
    world = RegressionPilot.of(pilot, columns, family, w)
    goal = Goal(c_g, c_h, budget, target_se, pool_size, estimand)
    policies, active = _side_by_side(world, goal, floor)
    name = recommend(policies, goal.lost_variance(world.variance))
    rates = active if name == "active" else np.full(read.rows, policies[name].mean_rate)
    N = pool_size if estimand == "pool" and pool_size is not None else math.inf
    ses = world.standard_errors(rates[pilot.labelled], policies[name].items, pool_size=N)
    return RegressionPlan(
        recommendation=name,
        reason=_reason(name, policies, goal, world),
        inputs={
            "table": read.name, "rows": read.rows, "labels": int(pilot.strong.size), "weak": weak, "strong": strong,
            "on": list(on), "family": family, "weak_cost": c_g, "strong_cost": c_h, "budget": budget,
            "target_se": target_se, "pool_size": pool_size, "estimand": estimand, "calibrate": calibrate,
            "features": list(features), "seed": seed, "variance": world.variance, "weak_error": world.weak_error,
        },
        policies=policies,
        weights=dict(zip(columns.names, w.tolist(), strict=True)),
        expected_ses=dict(zip(columns.names, ses.tolist(), strict=True)),
        notes=_notes(pilot, policies, columns),
        rates=rates,
    )  # fmt: skip


def _side_by_side(world: RegressionPilot, goal: Goal, floor: float | None) -> tuple[dict[str, PlannedPolicy], Floats]:
    """The three policies, and the active one's rates for all rows."""
    V = world.variance
    uniform = goal.solve(np.array([world.weak_error]), V)
    p = uniform.mean_rate
    if floor is None:
        least = DEFAULT_FLOOR_SHARE * goal.solve(world.error, V).mean_rate
    else:
        least = share(floor, name="floor", zero=True, one=True)
    active = goal.solve(world.error, V, least)
    scale = min(active.scale, LARGEST_SCALE)
    rates = active_rates(world.error, scale=scale, floor=active.floor)
    seen = active_rates(world.held_out_error, scale=scale, floor=active.floor)
    policies = {
        "base": planned_base(V, goal),
        "random": planned(p, world.item_variance(np.full(seen.size, p)), goal, V, uniform.items, rate=p),
        "active": planned(
            float(rates.mean()), world.item_variance(seen), goal, V, active.items, scale=scale, floor=active.floor
        ),
    }
    return policies, rates


# In words


def _reason(name: PolicyName, policies: dict[str, PlannedPolicy], goal: Goal, world: RegressionPilot) -> str:
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
        notes.append("rates by uncertainty and influence are worse here than one rate for all")
    return tuple(notes)
