"""The next round of a chain of raters, once everyone has rated the start."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ratewise.campaign.history import RoundPlan, finite_or_none
from ratewise.campaign.planner.state import UNIT, State
from ratewise.design.chain import Design
from ratewise.design.chain_plan import (
    Choice,
    StepPlan,
    choose_design,
    exact_items,
    hopes,
    on_trial,
    plan_steps,
    spend_of,
    step_money,
    trial_items,
    worth_trying,
)
from ratewise.design.options import Money
from ratewise.design.seen import Seen

_OF_THE_REST = 0.8  # of a pool's last items, taken up in one go towards a precision: some are left if it falls short
_FEW_ITEMS = 25  # too few to leave some
_LAST_ITEMS = 4  # of a pool, taken together however much may be given back for them
_ABOUT_ALL = 0.95  # of the items that a round would take: fewer are taken only if it is less than this
_SURE_OF_STEPS = 0.985  # of the expected squared error of strong ratings alone: at most this, to go on with steps


def chosen_design(state: State, left: int) -> Choice:
    """How the raters are used from here on."""
    looked, terms = state.history.looked, state.terms
    return state.history.fits.once(
        ("design", left),
        lambda: choose_design(
            looked.x, looked.values[:, :-1], looked.values[:, -1], costs=(terms.weak_cost, *terms.costs),
            left=left * UNIT, pool_left=float(terms.pool - state.history.items),
            kept=worth_trying(state.history.hopes) or None,
            pairs=state.history.as_pair, steps=state.history.in_steps,
        ),
    )  # fmt: skip


def with_trial(state: State, left: int, plan: RoundPlan) -> RoundPlan:
    """A start, shortened to what dear raters are tried on where that saves money."""
    assert plan.items is not None
    items = trial_items(state.terms.prices, plan.items, left)
    if items >= plan.items or not plan.weak or state.terms.wanted.inputs is not None:
        return plan
    return replace(plan, items=items, trial=plan.items)


def rest_of_start(state: State, left: int) -> RoundPlan | None:
    """The rest of a start after the trial of dear raters, with those who may be worth their price."""
    looked, prices, history = state.history.looked, state.terms.prices, state.history
    tried = on_trial(prices, history.trial, left + state.spent + state.free)
    found = hopes(np.column_stack([looked.x.weak, looked.values[:, :-1]]), looked.values[:, -1], prices, tried)
    plan = RoundPlan("base", True, None, left, left, history.rounds, hopes=found)
    each = sum(prices[k] for k in plan.uses(len(prices)))
    items = min(history.trial, state.terms.pool) - history.items
    return replace(plan, items=items) if items > 0 and left >= each else None


def steps_pay(choice: Choice) -> bool:
    """Whether the steps are expected to beat strong ratings alone."""
    alone = next(one.variance for one in choice.compared if not one.design.first)
    return choice.plan is not None and choice.plan.expected_variance < _SURE_OF_STEPS * alone


def pair_of(state: State, design: Design, left: int) -> tuple[Seen, Money]:
    """The items as two raters would see them, those who see every item being the weak one; and the money for these."""
    terms, history = state.terms, state.history.designed(design)
    assert history.seen is not None
    costs = (terms.weak_cost, *terms.costs)
    weak_cost = sum(costs[k] for k in design.first)
    return history.seen, Money(weak_cost, costs[-1], left * UNIT, float(terms.pool - history.items))


def step_round(
    state: State, left: int, design: Design, *, aims: bool, choice: Choice | None = None
) -> RoundPlan | None:
    """The next round of a chain with steps."""
    terms, history = state.terms, state.history.designed(design)
    assert history.steps is not None
    remaining = float(terms.pool - history.items)
    money = step_money(design, (terms.weak_cost, *terms.costs), left * UNIT, remaining)
    if money.left < money.all_raters * (1 - 1e-12):
        return None
    plan = choice.plan if choice is not None else plan_steps(history.steps, money)
    assert plan is not None  # the start has the answers of all raters
    spend = spend_of(money, (state.spent + state.free) * UNIT)
    items = exact_items(plan, money, spend)
    units = left if spend >= money.left else min(round(spend / UNIT), left)
    if aims and items is not None and items >= remaining > _FEW_ITEMS:
        items, units = math.ceil(_OF_THE_REST * items), math.ceil(_OF_THE_REST * units)
    made = _as_plan(state, left, units, items, plan, design, choice)
    return at_worst(state, made, plan.mean_rates.tolist())


def _as_plan(
    state: State, left: int, spend: int, items: int | None, plan: StepPlan, design: Design, choice: Choice | None
) -> RoundPlan:
    return RoundPlan(
        "chain", True, items, spend, left, state.history.rounds, plan.rule, plan.own_rates.ravel(),
        finite_or_none(math.sqrt(max(plan.expected_variance, 0.0))), design=design,
        compared=() if choice is None else choice.compared,
    )  # fmt: skip


def at_worst(state: State, plan: RoundPlan, rates: Sequence[float] | None = None) -> RoundPlan:
    """A share of a pool's last items so small that their money suffices at the highest prices, too.

    A judge that is paid by tokens mostly costs less than was held for it, and what is given back must find items to
    buy labels of. `rates` are the mean rates of those who do not see every item; without them, the money's.
    """
    remaining, prices = state.terms.pool - state.history.items, np.array(state.terms.prices)
    if not plan.exact or plan.items is None or plan.items <= _LAST_ITEMS or state.worst is None or not plan.left:
        return plan
    design = plan.design if plan.design is not None and plan.weak else Design(())
    share = np.zeros(prices.size)
    share[list(design.first)] = 1.0
    money = plan.left / remaining
    rest = max(money - float(share @ prices), 0.0) / max(prices[-1], 1.0)
    share[[*design.steps, -1]] = min(rest, 1.0) if rates is None else rates
    more = float(share @ np.maximum(state.worst.mean(axis=0) - prices, 0.0))
    items = max(math.ceil(plan.items * money / (money + more)), _LAST_ITEMS)
    return replace(plan, items=items) if items < _ABOUT_ALL * plan.items else plan


def as_chain(plan: RoundPlan | None, design: Design | None, choice: Choice | None) -> RoundPlan | None:
    """A plan for two raters as one of a chain."""
    if plan is None:
        return None
    compared = () if choice is None else choice.compared
    return replace(plan, design=design, compared=compared)
