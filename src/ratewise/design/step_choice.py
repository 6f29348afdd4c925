"""How to use a chain of raters: who sees every item, who is a step, and who is left out. Chosen once, after the start.

A step's answers are known for part of the items only, so a rater cannot be taken in or left out later.
"""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ratewise.core.checks import Floats
from ratewise.design.designs import Design, all_at_once, step_by_step
from ratewise.design.options import NEAR_TIE_IN_VARIANCE, Money, Options
from ratewise.design.seen import Phase, Seen, learn
from ratewise.design.step_plan import StepMoney, StepPlan, plan_steps
from ratewise.design.step_seen import StepSeen
from ratewise.learn.rating_model import Covariates

_WORTH_A_STEP = 0.97  # of the expected squared error of the best use without steps: at most this, to take steps


@dataclass(frozen=True, slots=True)
class Compared:
    """Expected squared error of one way to use the raters; a design without raters is the last rater alone."""

    design: Design
    variance: float


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """The way that was chosen, and all that were compared."""

    design: Design
    compared: tuple[Compared, ...]
    plan: StepPlan | None  # of a design with steps


def choose_design(
    x: Covariates, said: Floats, strong: Floats, *, costs: tuple[float, ...], left: float, pool_left: float,
    kept: tuple[int, ...] | None = None,
    pairs: Callable[[Design], Seen] | None = None, steps: Callable[[Design], StepSeen] | None = None,
) -> Choice:  # fmt: skip
    """The best way to go on from items that everyone has rated; fewer raters and fewer steps on a near tie.

    `pairs` gives `seen_as_pair` and `steps` gives `StepSeen.start` of a design, if someone keeps them with what was
    learned from them. `kept` are the raters that are still in question; by default all.
    """
    as_pair = pairs or functools.cache(lambda design: seen_as_pair(design, x, said, strong))
    in_steps = steps or (lambda design: StepSeen.start(design, x, said, strong))
    raters = tuple(range(len(costs) - 1)) if kept is None else kept
    labels = int(np.count_nonzero(~np.isnan(strong)))
    compared, best, best_plan = [], Compared(Design(()), math.inf), None
    for design in all_at_once(raters):
        money = Money(sum(costs[k] for k in design.first), costs[-1], left, pool_left)
        seen = as_pair(design)
        found = Compared(design, Options.of(learn(seen), seen, money).choose()[0].variance)
        compared.append(found)
        if not math.isfinite(best.variance) or found.variance * (1 + NEAR_TIE_IN_VARIANCE) < best.variance:
            best = found
    at_once = best.variance
    for design in step_by_step(raters):
        plan = plan_steps(in_steps(design), step_money(design, costs, left, pool_left))
        if plan is None:
            continue
        found = Compared(design, plan.expected_variance)
        compared.append(found)
        if found.variance < min(_WORTH_A_STEP * at_once, best.variance):
            best, best_plan = found, plan
    V = learn(as_pair(Design((0,)))).variance
    compared.append(Compared(Design(()), V / (labels + left / costs[-1]) if costs[-1] > 0 else 0.0))
    return Choice(best.design, tuple(compared), best_plan)


def seen_as_pair(design: Design, x: Covariates, said: Floats, strong: Floats) -> Seen:
    """Items that everyone has rated, as two raters would see them: those who see every item stand for the weak one."""
    return Seen.of(design.covariates(x, said), strong, (Phase(x.items),))


def step_money(design: Design, costs: tuple[float, ...], left: float, pool_left: float) -> StepMoney:
    """The prices of a design."""
    later = (*(costs[k] for k in design.steps), costs[-1])
    return StepMoney(sum(costs[k] for k in design.first), later, left, pool_left)
