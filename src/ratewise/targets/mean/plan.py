"""`plan`: how to spend a budget, every policy side by side, and one recommendation."""

import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
from scipy import optimize

from ratewise.core.checks import Floats, choice, share
from ratewise.core.mean.rates import LARGEST_SCALE, active_rates
from ratewise.core.names import RECALIBRATIONS, Estimand, PolicyName, Recalibration
from ratewise.errors import InputError
from ratewise.models.error_model import DEFAULT_FLOOR_SHARE
from ratewise.tables import Table, TableLike, count_rows, read_columns, read_table
from ratewise.targets.mean.input_plan import InputGoal, Rival, in_words, plan_inputs
from ratewise.targets.mean.pilot import Pilot, learn_pilot, read_pilot
from ratewise.targets.mean.plan_beside import Beside, plan_beside
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
from ratewise.targets.mean.strata import InputPlan, read_strata
from ratewise.targets.mean.transfer import Reference, Transfer

_WORTH_A_HINT = 0.9  # calibration is hinted at when it would cut the error to this share


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """Three policies side by side, the one to take, and all that is needed to apply it to a pool."""

    recommendation: PolicyName
    reason: str
    inputs: dict[str, Any]
    policies: dict[str, PlannedPolicy]
    transfer: Transfer
    notes: tuple[str, ...] = ()
    rates: Floats = field(repr=False, default_factory=lambda: np.empty(0))  # of the table's rows, as recommended
    by_stratum: InputPlan | None = None  # how many items of each stratum to look at, where strata were given

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON; `draw` takes it back."""
        chosen = {} if self.by_stratum is None else {"inputs_by_stratum": self.by_stratum.to_dict()}
        return {
            "recommendation": self.recommendation,
            "reason": self.reason,
            "inputs": self.inputs,
            "policies": {name: policy.to_dict() for name, policy in self.policies.items()},
            "notes": list(self.notes),
            "transfer": self.transfer.to_dict(),
            **chosen,
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the plan as JSON."""
        from ratewise.tables.files import write_text

        write_text(path, json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n")

    def summary(self) -> str:
        """The recommendation in words."""
        return self.reason

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return policies_html(self.policies, self.reason, error="standard error")


def plan(
    table: TableLike,
    *,
    weak: str,
    strong: str,
    weak_cost: float,
    strong_cost: float,
    budget: float | None = None,
    target_se: float | None = None,
    uncertainty: str | None = None,
    pool_size: float | None = None,
    floor: float | None = None,
    calibrate: Recalibration = "none",
    features: Sequence[str] = (),
    strata: str | None = None,
    pool: TableLike | None = None,
    estimand: Estimand = "population",
    drawn: str | None = None,
    seed: int = 0,
) -> Plan:
    """Base, random and active policies for a budget or a target standard error, from a labelled pilot.

    The rows with a strong rating are the pilot and are taken as a random sample of the pool; V, E[(H−G)²] and each
    policy's error come from them. `uncertainty` names a column with u(x); without it u is g(1−g) for a probability of a
    0/1 rating, else fitted to the squared residuals. `floor` is the least rate of the active policy (default: a tenth
    of its mean rate). `calibrate` maps the weak rating to the strong one first; with "auto" both the rating and u are
    learned as campaigns do, from `features` too. `strata` names a column of groups that are known beforehand: the plan
    then also says how many items of each to look at, and `draw` goes by that where it helps. Their shares are those of
    `pool`, the table that will be rated, else of this one.

    With `drawn` the table is the pool itself and its labels count: they are free, `draw` does not ask for them again
    and the estimate pools them with the new ones. It says how they were drawn: "at random", "by hand", or a column of
    rates.
    """
    c_g, c_h = checked_costs(weak_cost, strong_cost, budget, target_se)
    choice(calibrate, RECALIBRATIONS, name="calibration")
    kind = None if calibrate == "none" else calibrate
    read = read_table(table)
    pilot = read_pilot(
        read, weak=weak, strong=strong, uncertainty=uncertainty, calibrate=kind, features=features, seed=seed
    )
    rated = None if pool is None or strata is None else read_columns(pool, strata)
    if pool is not None:
        rows = count_rows(pool) if rated is None else rated.rows
        pool_size = float(rows) if pool_size is None else pool_size
    goal = Goal(c_g, c_h, budget, target_se, pool_size, estimand)
    if drawn is not None:
        if strata is not None or pool is not None:
            raise InputError("with drawn the table is the pool itself, without strata; leave pool and strata out")
        beside = plan_beside(read, pilot, replace(goal, pool_size=None), strong=strong, drawn=drawn, floor=floor)
        return _with_old_labels(read, pilot, goal, beside, weak, uncertainty, calibrate, features, seed)
    policies, active = _side_by_side(pilot, goal, floor)
    recommendation = recommend(policies, goal.lost_variance(pilot.variance))
    notes = _notes(pilot, goal, policies, calibrate, read.numbers(weak), read.numbers(strong, missing="allow"))
    reason, chosen = _reason(recommendation, policies, goal, pilot), None
    if strata is not None:
        rival = Rival(recommendation, policies[recommendation].expected_se, policies[recommendation].spend)
        chosen = _by_stratum(strata, read, rated, pilot, goal, rival, floor)
        reason += " " + in_words(chosen, rival, target=target_se is not None)
    return Plan(
        recommendation=recommendation,
        reason=reason,
        inputs={
            "table": read.name, "rows": read.rows, "labels": int(pilot.strong.size), "weak": weak, "strong": strong,
            "uncertainty": uncertainty, "weak_cost": c_g, "strong_cost": c_h, "budget": budget, "target_se": target_se,
            "pool_size": pool_size, "estimand": estimand, "calibrate": calibrate, "seed": seed,
            "variance": pilot.variance, "weak_error": pilot.weak_error, "error_source": pilot.error_source,
            "features": list(features), "strata": strata,
        },
        policies=policies,
        transfer=_transfer(pilot, policies, recommendation, weak, uncertainty, goal, chosen),
        by_stratum=chosen,
        notes=notes,
        rates=active if recommendation == "active" else np.full(read.rows, policies[recommendation].mean_rate),
    )  # fmt: skip


def _with_old_labels(
    table: Table, pilot: Pilot, goal: Goal, beside: Beside, weak: str, uncertainty: str | None,
    calibrate: Recalibration, features: Sequence[str], seed: int,
) -> Plan:  # fmt: skip
    """A plan whose draw goes beside the labels that the table has."""
    name, policies = beside.name, beside.policies
    transfer = replace(
        _transfer(pilot, policies, name, weak, uncertainty, goal, None), rate=cast(float, policies["random"].rate),
        items=float(table.rows), pool_size=float(table.rows), old=beside.old,
    )  # fmt: skip
    return Plan(
        recommendation=name,
        reason=beside.reason,
        inputs={
            "table": table.name, "rows": table.rows, "labels": int(pilot.strong.size), "weak": weak,
            "strong": beside.old.strong, "uncertainty": uncertainty, "weak_cost": goal.weak_cost,
            "strong_cost": goal.strong_cost, "budget": goal.budget, "target_se": goal.target_se,
            "pool_size": table.rows, "estimand": goal.estimand, "calibrate": calibrate, "seed": seed,
            "variance": pilot.variance, "weak_error": pilot.weak_error, "error_source": pilot.error_source,
            "features": list(features), "strata": None, "drawn": beside.old.drawn,
        },
        policies=policies,
        transfer=transfer,
        notes=beside.notes,
        rates=beside.rates,
    )  # fmt: skip


def _by_stratum(
    column: str, table: Table, pool: Table | None, pilot: Pilot, goal: Goal, rival: Rival, floor: float | None
) -> InputPlan:
    """The strata of the pool (of the table, where none is given), judged by the pilot's labels."""
    target = read_strata(table if pool is None else pool, column)
    own = target if pool is None else read_strata(table, column, target.names)
    money = InputGoal(goal.weak_cost, goal.strong_cost, goal.budget, goal.target_se, goal.estimand)
    return plan_inputs(
        column, own, target.counts, pilot, money, rival, pool_size=goal.pool_size, floor=floor
    )  # fmt: skip


def _side_by_side(pilot: Pilot, goal: Goal, floor: float | None) -> tuple[dict[str, PlannedPolicy], Floats]:
    """The three policies, and the active one's rates for all rows."""
    V, M = pilot.variance, pilot.weak_error
    uniform = goal.solve(np.array([M]), V)
    p = float(uniform.rates[0])
    active = _active(pilot, goal, _floor(floor, pilot, goal))
    rates = active.of(pilot.error)
    policies = {
        "base": planned_base(V, goal),
        "random": planned(p, _variance(np.full(pilot.residual.size, p), pilot), goal, V, uniform.items, rate=p),
        "active": planned(
            float(rates.mean()), _variance(active.of(pilot.held_out_error), pilot), goal, V, active.items,
            scale=active.scale, floor=active.floor,
        ),
    }  # fmt: skip
    return policies, rates


@dataclass(frozen=True, slots=True)
class _Active:
    """Rates clip(scale·sqrt(u), floor, 1), and how many items to look at."""

    scale: float
    floor: float
    items: float | None

    def of(self, error: Floats) -> Floats:
        return active_rates(error, scale=self.scale, floor=self.floor)


def _active(pilot: Pilot, goal: Goal, floor: float) -> _Active:
    """The optimal policy for the model of u; where a pool ends before a target is reached, as much more as it takes."""
    policy = goal.solve(pilot.error, pilot.variance, floor)
    found = _Active(min(policy.scale, LARGEST_SCALE), policy.floor, policy.items)
    if goal.target_se is None or goal.pool_size is None:
        return found
    wanted = goal.pool_size * (goal.target_se**2 + goal.lost_variance(pilot.variance))

    def excess(log_scale: float) -> float:
        rates = active_rates(pilot.held_out_error, scale=math.exp(log_scale), floor=policy.floor)
        return _variance(rates, pilot) - wanted

    low, high = math.log(max(found.scale, 1e-12)), math.log(LARGEST_SCALE)
    if excess(low) <= 0:  # reached before the pool ends, unless the solver already thought it would not be
        low = math.log(1e-12) if policy.pool_limited and found.scale < LARGEST_SCALE else low
        if not policy.pool_limited or excess(low) <= 0:
            return found
    if excess(high) > 0:  # some items with u = 0 are wrong all the same: rate everything
        return _Active(LARGEST_SCALE, 1.0, goal.pool_size)
    scale = math.exp(float(optimize.brentq(excess, low, high, xtol=1e-13)))
    return _Active(scale, policy.floor, goal.pool_size)


def _floor(floor: float | None, pilot: Pilot, goal: Goal) -> float:
    """The asked-for floor, or a share of the mean rate without one."""
    if floor is not None:
        return share(floor, name="floor", zero=True, one=True)
    return DEFAULT_FLOOR_SHARE * goal.solve(pilot.error, pilot.variance).mean_rate


def _variance(rates: Floats, pilot: Pilot) -> float:
    """Var(Δ) with the labelled squared residuals in u's place, by rates those labels did not shape."""
    return pilot.variance + float(np.mean(pilot.residual**2 * (1.0 / rates - 1.0)))


# In words


def _reason(name: str, policies: dict[str, PlannedPolicy], goal: Goal, pilot: Pilot) -> str:
    base, best = policies["base"], policies[name]
    lost = goal.lost_variance(pilot.variance)
    if name == "base":
        rival = min((policies["random"], policies["active"]), key=lambda policy: price(policy, lost))
        return (
            "The weak rater is not worth buying here: its squared error is "
            f"{pilot.weak_error / pilot.variance:.0%} of the strong ratings' variance, and the best use of it would "
            f"leave {price(rival, lost) / price(base, lost):.0%} of the error of strong ratings alone for the money. "
            f"Buy {base.items:,.0f} strong ratings for {base.spend:,.2f}."
        )
    how = "at one rate for all" if name == "random" else "most often where the weak rater is likely wrong"
    if goal.target_se is not None:
        gain = f"{1 - best.spend / base.spend:.0%}"
        return (
            f"Buy weak ratings for {best.items:,.0f} items and about {best.strong_labels:,.0f} strong ones, {how}: a "
            f"standard error of {best.expected_se:.4g} for {best.spend:,.2f}, not {base.spend:,.2f} ({gain} less)."
        )
    gain = f"{1 - (best.expected_se / base.expected_se) ** 2:.0%}" if base.expected_se > 0 else "no"
    return (
        f"Buy weak ratings for {best.items:,.0f} items and about {best.strong_labels:,.0f} strong ones, {how}: a "
        f"standard error of {best.expected_se:.4g} instead of {base.expected_se:.4g} for the same money ({gain} less "
        "squared error)."
    )


def _notes(
    pilot: Pilot, goal: Goal, policies: dict[str, PlannedPolicy], calibrate: str, g: Floats, h: Floats
) -> tuple[str, ...]:
    notes = []
    if pilot.strong.size < 50:
        notes.append(f"the pilot has only {pilot.strong.size} labels: take these figures as rough")
    if policies["active"].error_ratio > policies["random"].error_ratio * (1 + NEAR_TIE_IN_PRICE):
        notes.append(
            "acting on this uncertainty is worse than one rate for all: it does not tell where the weak rater errs"
        )
    if calibrate == "none":
        hint = _calibration_hint(pilot, goal, g, h)
        notes += [hint] if hint else []
    return tuple(notes)


def _calibration_hint(pilot: Pilot, goal: Goal, g: Floats, h: Floats) -> str | None:
    """What an affine calibration would do to the best uniform policy; None if little."""
    if pilot.strong.size < 20:
        return None
    calibrated = learn_pilot(g, h, None, calibrate="affine", seed=0)
    before = min(1.0, goal.solve(np.array([pilot.weak_error]), pilot.variance).error_ratio)
    after = min(1.0, goal.solve(np.array([calibrated.weak_error]), pilot.variance).error_ratio)
    if after > _WORTH_A_HINT * before:
        return None
    return (
        f"the weak ratings are off the strong ones' scale: with --calibrate affine a single rate would leave "
        f"{after:.0%} of the error of strong ratings alone instead of {before:.0%}"
    )


def _transfer(
    pilot: Pilot,
    policies: dict[str, PlannedPolicy],
    name: PolicyName,
    weak: str,
    uncertainty: str | None,
    goal: Goal,
    chosen: InputPlan | None,
) -> Transfer:
    active = policies["active"]
    return Transfer(
        policy=name,
        rate=policies["random"].mean_rate,
        scale=cast(float, active.scale),
        floor=cast(float, active.floor),
        weak=weak,
        uncertainty=uncertainty,
        variance=pilot.variance,
        weak_error=pilot.weak_error,
        weak_cost=goal.weak_cost,
        strong_cost=goal.strong_cost,
        budget=goal.budget,
        items=policies[name].items,
        pool_size=goal.pool_size,
        calibration=pilot.calibration,
        error_model=pilot.error_model,
        reference=Reference.of(pilot.weak, pilot.error),
        models=pilot.models,
        inputs=chosen if chosen is not None and chosen.worth_it else None,
    )
