"""`plan`: how to spend a budget, every policy side by side, and one recommendation."""

import html
import json
import math
import os
import warnings
from dataclasses import asdict, dataclass, field
from typing import Any, cast

import numpy as np

from ratewise.core.checks import Floats, choice, number, share
from ratewise.core.names import RECALIBRATIONS, Estimand, PolicyName, Recalibration
from ratewise.core.policy import Policy, optimal_policy
from ratewise.errors import InputError, RatewiseWarning
from ratewise.learn.pilot import Pilot, learn_pilot, read_pilot
from ratewise.learn.transfer import Reference, Transfer
from ratewise.learn.uncertainty import DEFAULT_FLOOR_SHARE
from ratewise.tables import TableLike, read_table

_NEAR_TIE = 0.01  # the simpler policy is preferred unless the other is this much better
_WORTH_A_HINT = 0.9  # calibration is hinted at when it would cut the error to this share


@dataclass(frozen=True, slots=True)
class PlannedPolicy:
    """What one policy would cost and give, by the pilot's own residuals."""

    error_times_budget: float  # J
    error_ratio: float  # over base
    expected_se: float
    items: float
    strong_labels: float
    spend: float
    mean_rate: float
    rate: float | None = None
    scale: float | None = None
    threshold: float | None = None
    floor: float | None = None

    def to_dict(self) -> dict[str, float]:
        """Without what does not apply to this policy."""
        return {name: value for name, value in asdict(self).items() if value is not None}


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

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON; `draw` takes it back."""
        return {
            "recommendation": self.recommendation,
            "reason": self.reason,
            "inputs": self.inputs,
            "policies": {name: policy.to_dict() for name, policy in self.policies.items()},
            "notes": list(self.notes),
            "transfer": self.transfer.to_dict(),
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the plan as JSON."""
        from ratewise.tables.files import write_text

        write_text(path, json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n")

    def summary(self) -> str:
        """The recommendation in words."""
        return self.reason

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        head = "<tr><th>policy</th><th>items</th><th>strong ratings</th><th>spend</th><th>standard error</th></tr>"
        rows = "".join(
            f"<tr><td>{name}</td><td>{p.items:,.0f}</td><td>{p.strong_labels:,.0f}</td><td>{p.spend:,.2f}</td>"
            f"<td>{p.expected_se:.4g}</td></tr>"
            for name, p in self.policies.items()
        )
        return f"<table>{head}{rows}</table><p>{html.escape(self.reason)}</p>"


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
    estimand: Estimand = "population",
    seed: int = 0,
) -> Plan:
    """Base, random and active policies for a budget or a target standard error, from a labelled pilot.

    The rows with a strong rating are the pilot and are taken as a random sample of the pool; V, E[(H−G)²] and each
    policy's error come from them. `uncertainty` names a column with u(x); without it u is g(1−g) for a probability of a
    0/1 rating, else fitted to the squared residuals. `floor` is the least rate of the active policy (default: a tenth
    of its mean rate). `calibrate` maps the weak rating to the strong one first.
    """
    c_g, c_h = _costs(weak_cost, strong_cost, budget, target_se)
    choice(calibrate, RECALIBRATIONS, name="calibration")
    kind = None if calibrate == "none" else calibrate
    read = read_table(table)
    pilot = read_pilot(read, weak=weak, strong=strong, uncertainty=uncertainty, calibrate=kind, seed=seed)
    goal = _Goal(c_g, c_h, budget, target_se, pool_size, estimand)
    policies, active = _side_by_side(pilot, goal, floor)
    recommendation = _recommend(policies)
    notes = _notes(pilot, goal, policies, calibrate, read.numbers(weak), read.numbers(strong, missing="allow"))
    return Plan(
        recommendation=recommendation,
        reason=_reason(recommendation, policies, goal, pilot),
        inputs={
            "table": read.name, "rows": read.rows, "labels": int(pilot.strong.size), "weak": weak, "strong": strong,
            "uncertainty": uncertainty, "weak_cost": c_g, "strong_cost": c_h, "budget": budget, "target_se": target_se,
            "pool_size": pool_size, "estimand": estimand, "calibrate": calibrate, "seed": seed,
            "variance": pilot.variance, "weak_error": pilot.weak_error, "error_source": pilot.error_model.source,
        },
        policies=policies,
        transfer=_transfer(pilot, policies, recommendation, weak, uncertainty, goal),
        notes=notes,
        rates=_rates(recommendation, policies, active),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Goal:
    weak_cost: float
    strong_cost: float
    budget: float | None
    target_se: float | None
    pool_size: float | None
    estimand: Estimand

    def solve(self, error: Floats, variance: float, floor: float = 0.0) -> Policy:
        return optimal_policy(
            error, variance=variance, weak_cost=self.weak_cost, strong_cost=self.strong_cost, floor=floor,
            budget=self.budget, target_se=self.target_se, pool_size=self.pool_size, estimand=self.estimand,
        )  # fmt: skip

    def lost_variance(self, V: float) -> float:
        """The pool's mean, not the population's: V/N less."""
        return V / self.pool_size if self.estimand == "pool" and self.pool_size else 0.0


def _side_by_side(pilot: Pilot, goal: _Goal, floor: float | None) -> tuple[dict[str, PlannedPolicy], Policy]:
    V, M = pilot.variance, pilot.weak_error
    uniform = goal.solve(np.array([M]), V)
    f = _floor(floor, pilot, goal)
    active = goal.solve(pilot.error, V, f)
    active_rates = np.clip(active.scale * np.sqrt(pilot.held_out_error), max(active.floor, 1e-300), 1.0)
    p = float(uniform.rates[0])
    policies = {
        "base": _base(V, goal),
        "random": _planned(uniform, np.full(pilot.residual.size, p), pilot, goal, rate=p),
        "active": _planned(
            active,
            active_rates,
            pilot,
            goal,
            scale=active.scale,
            threshold=active.threshold,
            floor=active.floor,
        ),
    }
    return policies, active


def _floor(floor: float | None, pilot: Pilot, goal: _Goal) -> float:
    """The asked-for floor, or a share of the mean rate: of the uniform one, which exists even where u is 0."""
    if floor is not None:
        return share(floor, name="floor", zero=True, one=True)
    mean = goal.solve(pilot.error, pilot.variance).mean_rate
    return DEFAULT_FLOOR_SHARE * mean


def _planned(policy: Policy, rates: Floats, pilot: Pilot, goal: _Goal, **extra: float) -> PlannedPolicy:
    """The policy scored with the labelled squared residuals in u's place, by rates those labels did not shape."""
    V = pilot.variance
    variance = V + float(np.mean(pilot.residual**2 * (1.0 / rates - 1.0)))
    cost = policy.cost_per_item
    items = policy.items if policy.items is not None else math.nan
    if goal.target_se is not None and not policy.pool_limited:
        items = variance / (goal.target_se**2 + goal.lost_variance(V))
    return PlannedPolicy(
        error_times_budget=cost * variance,
        error_ratio=cost * variance / (goal.strong_cost * V),
        expected_se=math.sqrt(max(variance / items - goal.lost_variance(V), 0.0)),
        items=items,
        strong_labels=items * policy.mean_rate,
        spend=min(items * cost, math.inf if goal.budget is None else goal.budget),
        mean_rate=policy.mean_rate,
        **extra,
    )


def _base(V: float, goal: _Goal) -> PlannedPolicy:
    """Strong ratings alone; the pool may end before the money does."""
    N = math.inf if goal.pool_size is None else goal.pool_size
    lost = goal.lost_variance(V)
    wanted = (
        goal.budget / goal.strong_cost if goal.budget is not None else V / (cast(float, goal.target_se) ** 2 + lost)
    )
    items = min(wanted, N)
    J = goal.strong_cost * V
    se = math.sqrt(max(V / items - lost, 0.0))
    return PlannedPolicy(J, 1.0, se, items, items, items * goal.strong_cost, 1.0, rate=1.0)


def _recommend(policies: dict[str, PlannedPolicy]) -> PolicyName:
    """Least error for the money; on a near tie the simpler one."""
    best: PolicyName = "base"
    rivals: tuple[PolicyName, ...] = ("random", "active")
    for name in rivals:
        if _price(policies[name]) < (1 - _NEAR_TIE) * _price(policies[best]):
            best = name
    return best


def _price(policy: PlannedPolicy) -> float:
    """Squared error times spend: J, and what J comes to where the pool ends first."""
    return policy.expected_se**2 * policy.spend if policy.expected_se > 0 else policy.spend * 1e-300


def _rates(recommendation: str, policies: dict[str, PlannedPolicy], active: Policy) -> Floats:
    if recommendation == "active":
        return active.rates
    return np.full(active.rates.size, policies[recommendation].rate)


# In words


def _reason(name: str, policies: dict[str, PlannedPolicy], goal: _Goal, pilot: Pilot) -> str:
    base, best = policies["base"], policies[name]
    if name == "base":
        rival = min((policies["random"], policies["active"]), key=_price)
        return (
            "The weak rater is not worth buying here: its squared error is "
            f"{pilot.weak_error / pilot.variance:.0%} of the strong ratings' variance, and the best use of it would "
            f"leave {_price(rival) / _price(base):.0%} of the error of strong ratings alone for the same money. "
            f"Buy {base.items:,.0f} strong ratings for {base.spend:,.2f}."
        )
    how = "at one rate for all" if name == "random" else "most often where the weak rater is likely wrong"
    gain = f"{1 - _price(best) / _price(base):.0%}"
    if goal.target_se is not None:
        return (
            f"Buy weak ratings for {best.items:,.0f} items and about {best.strong_labels:,.0f} strong ones, {how}: a "
            f"standard error of {best.expected_se:.4g} for {best.spend:,.2f}, not {base.spend:,.2f} ({gain} less)."
        )
    return (
        f"Buy weak ratings for {best.items:,.0f} items and about {best.strong_labels:,.0f} strong ones, {how}: a "
        f"standard error of {best.expected_se:.4g} instead of {base.expected_se:.4g} for the same money ({gain} less "
        "squared error)."
    )


def _notes(
    pilot: Pilot, goal: _Goal, policies: dict[str, PlannedPolicy], calibrate: str, g: Floats, h: Floats
) -> tuple[str, ...]:
    notes = []
    if pilot.strong.size < 50:
        notes.append(f"the pilot has only {pilot.strong.size} labels: take these figures as rough")
    if policies["active"].error_ratio > policies["random"].error_ratio * (1 + _NEAR_TIE):
        notes.append(
            "acting on this uncertainty is worse than one rate for all: it does not tell where the weak rater errs"
        )
    if calibrate == "none":
        hint = _calibration_hint(pilot, goal, g, h)
        notes += [hint] if hint else []
    return tuple(notes)


def _calibration_hint(pilot: Pilot, goal: _Goal, g: Floats, h: Floats) -> str | None:
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


def _costs(weak: float, strong: float, budget: float | None, target_se: float | None) -> tuple[float, float]:
    c_g = number(weak, name="weak_cost", minimum=0)
    c_h = number(strong, name="strong_cost", above=0)
    if (budget is None) == (target_se is None):
        raise InputError("give a budget or a target standard error (one of them)")
    if budget is not None and number(budget, name="budget", above=0) < c_h:
        raise InputError(f"budget {budget:g} is too small for one strong rating ({c_h:g}); raise it to {c_h:g} or more")
    if c_g > c_h:
        warnings.warn(
            f"a weak rating costs {c_g:g}, more than a strong one ({c_h:g}); are they swapped?",
            RatewiseWarning,
            stacklevel=3,
        )
    return c_g, c_h


def _transfer(
    pilot: Pilot,
    policies: dict[str, PlannedPolicy],
    name: PolicyName,
    weak: str,
    uncertainty: str | None,
    goal: _Goal,
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
        calibration=pilot.calibration,
        error_model=pilot.error_model,
        reference=Reference.of(pilot.weak, pilot.error),
    )
