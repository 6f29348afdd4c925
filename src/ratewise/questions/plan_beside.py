"""`plan` for a pool that has labels already: old ones are free, and money buys what they have not given."""

import math
from dataclasses import dataclass, replace

import numpy as np

from ratewise.core.checks import Floats, share
from ratewise.core.messages import Message, argument
from ratewise.core.names import PolicyName
from ratewise.errors import InputError
from ratewise.learn.error_model import DEFAULT_FLOOR_SHARE
from ratewise.questions.draw_checks import warn_of_choice
from ratewise.questions.old_labels import (
    AT_RANDOM,
    BY_HAND,
    Before,
    Solved,
    Variance,
    base_variance,
    read_before,
    solve,
    unseen_root,
)
from ratewise.questions.people import Ready
from ratewise.questions.pilot import Pilot
from ratewise.questions.precision import within
from ratewise.questions.side_by_side import Goal, PlannedPolicy
from ratewise.questions.transfer import OldLabels
from ratewise.tables import Table

_Z = 1.959964  # of a 95 % interval
_NEAR_TIE = 0.01  # a simpler policy is preferred unless another has a variance smaller by more than this share


@dataclass(frozen=True, slots=True, eq=False)
class Beside:
    """Policies beside the old labels, the one to take, and what a draw needs to know."""

    name: PolicyName
    policies: dict[str, PlannedPolicy]
    old: OldLabels
    rates: Floats
    reason: str
    notes: tuple[str, ...]


def plan_beside(table: Table, pilot: Pilot, goal: Goal, *, weak: str, labels: Ready, drawn: str) -> Beside:
    """Plan beside old labels: all labels count, only new ones cost, and the table's weak ratings are there already."""
    before = read_before(table, labels.strong, drawn, goal.estimand)
    if drawn == AT_RANDOM:
        todo = f"say how they were drawn ({argument('drawn')}): 'by hand', or a column of rates"
        warn_of_choice(table, before.labelled, {weak: table.numbers(weak)}, apart=labels.names, todo=todo)
    if not before.askable.any():
        raise InputError(f"every row of {table.name} has a label already; there is nothing left to buy")
    count = None if goal.budget is None else min(goal.budget / goal.strong_cost, float(before.askable.sum()))
    wanted = None if goal.target_se is None else goal.target_se**2
    least = DEFAULT_FLOOR_SHARE if goal.floor is None else share(goal.floor, name="floor", zero=True, one=True)
    of = Variance(pilot, before, goal.estimand)
    even = np.ones(table.rows), np.ones(pilot.strong.size)
    sharp = np.sqrt(pilot.error), unseen_root(pilot)
    found = {
        "random": solve(pilot, before, even, 0.0, labels=count, variance=wanted, of=of),
        "active": solve(pilot, before, sharp, least, labels=count, variance=wanted, of=of),
    }
    name = _recommended(found, by_price=count is None)
    policies = {"base": _base(pilot, before, goal, count)}
    policies |= {key: _planned(one, policies["base"], goal, table.rows) for key, one in found.items()}
    policies["random"] = replace(policies["random"], rate=found["random"].scale, scale=None, floor=None)
    ids = tuple(table.ids()[before.labelled].tolist())
    own = tuple(_own_rates(found, before, by_price=count is None).tolist())
    old = OldLabels(labels.typed, drawn, goal.estimand, ids, own, tuple(pilot.held_out_weak.tolist()))
    reason = _reason(name, policies, before, points=bool(np.isin(pilot.strong, (0.0, 1.0)).all()))
    notes = _notes(before, goal) + _alone(policies[name], policies["base"], pilot, by_price=count is None)
    return Beside(name, policies, old, found[name].rates, reason, notes)


def _recommended(found: dict[str, Solved], *, by_price: bool) -> PolicyName:
    """The recommended policy, the simpler one on a near tie. Strong ratings alone save nothing: weak ones are there."""
    even, sharp = ((s.labels if by_price else s.variance) for s in (found["random"], found["active"]))
    return "active" if sharp < (1 - _NEAR_TIE) * even else "random"


def _own_rates(found: dict[str, Solved], before: Before, *, by_price: bool) -> Floats:
    """The rate of each old label, by the policy that would have been recommended without it."""
    even, sharp = (s.rates[before.labelled] for s in (found["random"], found["active"]))
    if by_price:
        return sharp if _recommended(found, by_price=True) == "active" else even
    better = found["active"].without < (1 - _NEAR_TIE) * found["random"].without
    return np.where(better, sharp, even)


def _base(pilot: Pilot, before: Before, goal: Goal, labels: float | None) -> PlannedPolicy:
    n = before.labelled.size
    if labels is None:
        labels = _base_labels(pilot, before, goal)
    error = math.sqrt(base_variance(pilot, before, labels, goal.estimand))
    old = 0 if before.teach else int(before.labelled.sum())
    spend = labels * goal.strong_cost
    return PlannedPolicy(spend * error**2, 1.0, error, labels + old, labels, spend, min((labels + old) / n, 1.0))


def _base_labels(pilot: Pilot, before: Before, goal: Goal) -> float:
    """New strong ratings alone that reach the target, or all there are."""
    assert goal.target_se is not None
    low, high = 0.0, float(before.askable.sum())
    for _ in range(100):
        middle = 0.5 * (low + high)
        fits = base_variance(pilot, before, middle, goal.estimand) <= goal.target_se**2
        low, high = (low, middle) if fits else (middle, high)
    return high


def _planned(one: Solved, base: PlannedPolicy, goal: Goal, items: int) -> PlannedPolicy:
    spend, rival = one.labels * goal.strong_cost, base.expected_se**2
    return PlannedPolicy(
        error_times_budget=spend * one.variance,
        error_ratio=one.variance / rival if rival > 0 else math.inf,
        expected_se=math.sqrt(one.variance),
        items=float(items),
        strong_labels=one.labels,
        spend=spend,
        mean_rate=float(one.rates.mean()),
        scale=one.scale,
        threshold=1.0 / one.scale,
        floor=one.floor,
    )


def _reason(name: str, policies: dict[str, PlannedPolicy], before: Before, *, points: bool) -> str:
    best, old = policies[name], int(before.labelled.sum())
    ours, alone = (within(_Z * policy.expected_se, points=points) for policy in (best, policies["base"]))
    how = "at one rate for all" if name == "random" else "most often where the weak rater is likely wrong"
    counted = "teach and are free" if before.teach else "count and are free"
    return (
        f"The {old:,} labels that are there {counted}. Buy about {best.strong_labels:,.0f} more for {best.spend:,.2f}, "
        f"{how}: {ours} from all labels together, instead of {alone.removesuffix(' points')} without the weak rater "
        f"(standard error {best.expected_se:.4g} instead of {policies['base'].expected_se:.4g})."
    )


def _alone(best: PlannedPolicy, base: PlannedPolicy, pilot: Pilot, *, by_price: bool) -> tuple[str, ...]:
    """A note where the weak rating makes the plan worse than strong ratings alone; empty where it does not."""
    worse = best.spend > base.spend if by_price else best.expected_se > base.expected_se
    if not worse:
        return ()
    if pilot.calibration is None and pilot.models is None:
        found = "the weak rating as it stands makes the expected error larger than strong ratings alone would"
        return (Message(f"{found}: map it to the strong one first ({argument('calibrate auto')})"),)
    return ("even calibrated, the weak rating makes the expected error no smaller than strong ratings alone would",)


def _notes(before: Before, goal: Goal) -> tuple[str, ...]:
    notes = ["weak ratings are in the table already and cost nothing more"] if goal.weak_cost > 0 else []
    if before.drawn == BY_HAND and before.known:
        notes.append("labels picked by hand count as known values of their items, for this pool's own mean only")
    if before.teach:
        notes.append(
            Message(
                "labels picked by hand can only teach for a population's mean; for this pool's own mean they count: "
                f"{argument('estimand pool')}"
            )
        )
    return tuple(notes)
