"""The next round's policy and its money, from closed rounds alone."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ratewise.campaign.estimates import money_to_precision
from ratewise.campaign.history import History, RoundPlan, finite_or_none
from ratewise.campaign.planner.costs import item_costs
from ratewise.campaign.planner.state import UNIT, Overlap, State
from ratewise.design.chain import Design
from ratewise.design.chain_plan import (
    Choice,
    choose_design,
    hopes,
    on_trial,
    plan_chain,
    plan_steps,
    trial_items,
    worth_trying,
)
from ratewise.design.options import Money
from ratewise.design.rounds import doubling, next_round, start, start_labels
from ratewise.design.second_look import plan_again
from ratewise.design.seen import FEWEST_TO_LEARN, Seen
from ratewise.design.teacher import Teacher
from ratewise.store.money import total

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
            spent=(state.spent + state.free) * UNIT,
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
    return history.seen, design.money((terms.weak_cost, *terms.costs), left * UNIT, float(terms.pool - history.items))


def step_round(
    state: State, left: int, design: Design, *, aims: bool, choice: Choice | None = None
) -> RoundPlan | None:
    """The next round of a chain with steps."""
    terms, history = state.terms, state.history.designed(design)
    assert history.steps is not None
    remaining = float(terms.pool - history.items)
    money = design.money((terms.weak_cost, *terms.costs), left * UNIT, remaining)
    if money.left < money.both * (1 - 1e-12):
        return None
    planned = choice.plan if choice is not None else plan_steps(history.steps, money, (state.spent + state.free) * UNIT)
    assert planned is not None  # the start has the answers of all raters
    items, units = planned.items, left if planned.spend >= money.left else min(round(planned.spend / UNIT), left)
    if aims and items is not None and items >= remaining > _FEW_ITEMS:
        items, units = math.ceil(_OF_THE_REST * items), math.ceil(_OF_THE_REST * units)
    plan = RoundPlan(
        "chain", True, items, units, left, history.rounds, planned.rule, planned.own_rates.ravel(),
        finite_or_none(math.sqrt(max(planned.expected_variance, 0.0))), design=design,
        compared=() if choice is None else choice.compared,
    )  # fmt: skip
    return at_worst(state, plan, planned.mean_rates.tolist())


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


_EACH = 2  # questions for each person at work, that a round has which bridges the time until answers are in
_MUCH = 0.5  # of the labels in closed rounds: with more than that out, a round only bridges


def overlapping(state: State, taken: History) -> State:
    """The state that the next round is planned from while rounds are open, whose items are `taken` as well."""
    assert state.open is not None
    assert state.demand is not None
    cost = state.open.cost + sum(each.cost for each in state.behind)
    overlap = Overlap(state.history, cost, state.demand.people)
    return replace(
        state, history=taken, overlap=overlap, spent=state.spent_closed + cost, open=None, behind=(), ahead=None
    )  # fmt: skip


def most_labels(state: State) -> float:
    """How many strong ratings the next round may ask for; infinite where it may be as long as any."""
    if state.overlap is None:
        return math.inf
    closed, history = state.overlap.closed, state.history
    out = int(np.count_nonzero(history.looked.selected[closed.items :, -1]))
    if out <= _MUCH * closed.labels:
        return math.inf
    return float(_EACH * state.overlap.people * 2 ** (history.rounds - closed.rounds - 1))  # longer, if it drags on


LEAST_LABELS = 100  # in closed rounds, to train on
_GROWTH = 1.2  # times the labels of the last refit, to train again: short rounds are not worth one


def refit_is_due(history: History) -> bool:
    """Whether closed rounds have enough labels that no refit has seen, and these differ."""
    if history.seen is None or history.alone:
        return False
    labels = history.seen.strong[history.seen.labelled]
    return labels.size >= max(LEAST_LABELS, _GROWTH * history.taught) and bool(np.ptp(labels) > 0)


def long_start(plan: RoundPlan, *, pool: int, each: float) -> RoundPlan:
    """A start that a refit can follow, where that takes no more than half of the pool and of the money.

    Else a plan that goes by fewer labels could give up the weak rater before the texts were learned from.
    """
    most = min(pool / 2, plan.left / (2 * each) if each else pool)
    if plan.rule is not None or not plan.weak or plan.items is None or most < LEAST_LABELS:
        return plan
    return replace(plan, items=max(plan.items, LEAST_LABELS))


_START_FOR_TARGET = 250  # labels that a start is sized for where a precision is to be reached
_OF_THE_REST = 0.8  # of a pool's last items, taken up in one go towards a precision: some are left if it falls short
_FEW_ITEMS = 25  # too few to leave some


@dataclass(frozen=True, slots=True)
class Purse:
    """Money to plan with: what is left of the budget, or what a precision is expected to take (`aims`) if less."""

    left: int
    aims: bool = False


def money_left(state: State) -> Purse:
    """What may still be spent; with a precision to reach, what that is expected to take.

    A part is kept back for calls that fail, as large as their part in what was spent: a draw is worth its money only if
    its rating comes, so another attempt must find some.
    """
    terms, history, left = state.terms, state.history, _unspent(state)
    if terms.wanted.target_se is None:
        assert left is not None
        return Purse(left)
    each = terms.prices[-1] if terms.alone else sum(terms.prices)
    closed, out = (history, 0) if state.overlap is None else (state.overlap.closed, state.overlap.cost)
    needed = money_to_precision(
        closed, terms.wanted, float(state.spent - out + state.free), start=_START_FOR_TARGET * each, least=10 * each
    )
    if state.overlap is not None and needed <= out:
        return Purse(0, aims=True)  # what is out is expected to be enough
    needed -= out
    everything = (terms.pool - history.items) * each - 1  # all but: rounds that double end earlier if they may
    least = 0 if state.worst is None else total(state.worst[:1])
    if history.items >= terms.pool and terms.again and history.seen is not None:
        everything, least = int(history.passed_over.sum()) * terms.prices[-1], _one_label(state)
    needed = math.ceil(max(min(needed, everything), least))
    return Purse(needed, aims=True) if left is None or needed < left else Purse(left)


def _unspent(state: State) -> int | None:
    """What is left of the budget, less the part for calls that fail; `None` where there is no budget."""
    if state.terms.budget is None:
        return None
    left = state.terms.budget - (state.terms.aside or 0) - state.spent
    return left + -left * state.failed // state.spent if state.failed else left


def next_plan(state: State, purse: Purse | None = None) -> RoundPlan | None:
    """The next round's policy, from closed rounds alone; `None` where money or items are used up."""
    terms, history = state.terms, state.history
    if history.items >= terms.pool:
        return _again(state, purse) if again_possible(state) else None
    purse = money_left(state) if purse is None else purse
    if state.overlap is not None and purse.aims and purse.left < state.overlap.people * (terms.prices[-1] or 1):
        return None  # what may still be missing is known better when the others are closed
    if terms.first > history.items:
        plan: RoundPlan | None = _old_labels(state, purse)
    elif terms.alone or history.alone or (terms.prices[-1] == 0 and not history.rounds):
        plan = _strong_alone(state, purse)  # at no cost, too
    elif state.overlap is not None and history.labels < FEWEST_TO_LEARN:
        plan = _more_start(state, purse)
    elif purse.aims and history.labels < FEWEST_TO_LEARN:
        plan = _start(state, purse.left, _START_FOR_TARGET, state.terms.teacher)
    elif terms.later_raters > 1:
        plan = _chain(state, purse)
    else:
        plan = _auto(state, purse)
    if plan is None:
        return None
    if terms.refit and not history.rounds:
        plan = long_start(plan, pool=terms.pool, each=sum(terms.prices))
    spend = min(max(plan.spend, next_item(state, plan)), plan.left)  # where prices differ, one item must fit
    plan = replace(plan, spend=spend, aims=purse.aims)
    if state.overlap is None:
        return plan
    return replace(plan, look=state.overlap.closed.rounds, people=state.overlap.people)


def again_possible(state: State) -> bool:
    """Whether items that were passed over may be drawn again, and money is there for one of them."""
    terms, history = state.terms, state.history
    if (
        state.overlap is not None
        or not terms.again
        or history.seen is None
        or history.labels < FEWEST_TO_LEARN
        or not history.passed_over.any()
    ):
        return False
    if history.drew_nobody:  # where prices differ, everyone left may be dearer than the mean
        return False
    left = _unspent(state)
    return _one_label(state) > 0 and (left is None or left >= _one_label(state))


def _one_label(state: State) -> int:
    """The most that one strong rating can cost: with less, nobody is drawn."""
    return math.ceil(max(state.terms.prices[-1], state.terms.most))


def _again(state: State, purse: Purse | None) -> RoundPlan:
    """A second look at items that were passed over, with all the money that is left."""
    terms, history = state.terms, state.history
    assert history.seen is not None
    purse = money_left(state) if purse is None else purse
    population = terms.wanted.estimand == "population"
    money = Money(terms.weak_cost, terms.costs[-1], purse.left * UNIT, 0.0)
    planned = plan_again(history.seen, money, population=population)
    look = 1 + history.again
    expected = finite_or_none(math.sqrt(max(planned.expected_variance, 0.0)))
    return RoundPlan(
        planned.policy, history.seen.by_features is False, 0, purse.left, purse.left, history.rounds, planned.rule,
        planned.own_rates, expected, purse.aims, again=look,
    )  # fmt: skip


def _old_labels(state: State, purse: Purse) -> RoundPlan:
    """The first round on old labels: the weak rater rates the items whose strong ratings were there already."""
    history, weak = state.history, not state.terms.alone
    return RoundPlan("base", weak, state.terms.first - history.items, purse.left, purse.left, history.rounds)


def _auto(state: State, purse: Purse) -> RoundPlan | None:
    """One weak and one strong rater."""
    terms, history = state.terms, state.history
    assert history.seen is not None
    money = Money(terms.weak_cost, terms.costs[0], purse.left * UNIT, float(terms.pool - history.items))
    return _of_pair(state, purse, history.seen, money, free_features=terms.wanted.inputs is None)


def _of_pair(state: State, purse: Purse, seen: Seen, money: Money, *, free_features: bool) -> RoundPlan | None:
    history, left = state.history, purse.left
    remaining = state.terms.pool - history.items
    teacher = state.terms.teacher
    if teacher is not None and seen.items and teacher.drift(seen).drifted:
        teacher = None
        if all(phase.rule is None for phase in seen.phases) and state.terms.wanted.target_se is None:
            wanted = start_labels(money.left / money.both if money.both > 0 else math.inf, money.pool_left)
            if history.labels < wanted and money.left >= money.both:
                return _start(state, left, money.left / money.both)  # a start of its own
    closed = None if state.overlap is None else state.overlap.closed.seen
    planned = next_round(
        seen, money, free_features=free_features, teacher=None if teacher is None else teacher.learned, closed=closed,
        most=most_labels(state) * money.both if money.both > 0 else math.inf,
    )  # fmt: skip
    if planned is None:
        return None
    expected = finite_or_none(math.sqrt(planned.expected_variance) if planned.expected_variance >= 0 else math.nan)
    if planned.rule is None and not planned.weak:
        plan = _strong_alone(state, purse)
        return None if plan is None else replace(plan, expected_se=expected)
    spend = left if planned.rule is None else min(round(planned.spend / UNIT), left)  # items are the limit of a start
    items = planned.items
    if purse.aims and planned.rule is not None and items is not None and items >= remaining > _FEW_ITEMS:
        items, spend = math.ceil(_OF_THE_REST * items), math.ceil(_OF_THE_REST * spend)
    return RoundPlan(
        planned.policy, planned.weak, items, spend, left, history.rounds, planned.rule, planned.own_rates, expected
    )


def _money(state: State, left: int) -> Money:
    """The money left, in units, with what is left of the pool."""
    terms = state.terms
    return Money(terms.prices[0], terms.prices[-1], left, float(terms.pool - state.history.items))


def _start(state: State, left: int, labels: float, teacher: Teacher | None = None) -> RoundPlan:
    """The first round: every rater rates the first items. Their number is the limit, whatever their prices."""
    begun = start(_money(state, left), labels, None if teacher is None else teacher.learned)
    plan = RoundPlan(begun.policy, begun.weak, begun.items, left, left, state.history.rounds)
    return with_trial(state, left, plan) if state.terms.later_raters > 1 else plan


def _more_start(state: State, purse: Purse) -> RoundPlan | None:
    """More of the start while its answers are out and nothing is known: for half of what is left at most."""
    money = _money(state, purse.left)
    count = int(min(most_labels(state), money.pool_left, 0.5 * money.left / money.both if money.both else math.inf))
    if state.overlap is None or count < state.overlap.people:
        return None
    return RoundPlan("base", True, count, purse.left, purse.left, state.history.rounds)


def _strong_alone(state: State, purse: Purse) -> RoundPlan | None:
    """Strong ratings for all the money; on the way to a precision, in rounds that double the labels."""
    money = _money(state, purse.left)
    count = money.strong_ratings()
    if purse.aims:
        least = start_labels(_START_FOR_TARGET, money.pool_left)
        count = int(doubling(count, state.history.labels, least=least))
    count = int(min(count, most_labels(state)))
    if count <= 0:
        return None
    return RoundPlan("base", False, count, purse.left, purse.left, state.history.rounds)


def _chain(state: State, purse: Purse) -> RoundPlan | None:
    """The next round of a chain: all raters rate the start, then the best way to use them is chosen."""
    history, left = state.history, purse.left
    both = sum(state.terms.prices)
    if history.labels < FEWEST_TO_LEARN:
        labels = left / both if both > 0 else float(state.terms.pool - history.items)
        return _start(state, left, labels) if left >= both else None
    if state.terms.wanted.inputs is not None:
        return _chain_of_strata(state, purse)
    if state.terms.prices[-1] == 0:
        return as_chain(_strong_alone(state, purse), None, None)
    if history.design is not None:
        return _as_designed(state, purse, history.design, None)
    if history.trial:
        rest = rest_of_start(state, left)
        if rest is not None:
            return rest
    choice = chosen_design(state, left)
    if choice.design.steps and not steps_pay(choice):
        return as_chain(_strong_alone(state, purse), None, choice)
    return _as_designed(state, purse, choice.design, choice)


def _as_designed(state: State, purse: Purse, design: Design, choice: Choice | None) -> RoundPlan | None:
    """The next round by a design: with steps, or as if those who see every item were one weak rater."""
    if design.steps:
        return step_round(state, purse.left, design, aims=purse.aims, choice=choice)
    seen, money = pair_of(state, design, purse.left)
    plan = _of_pair(state, purse, seen, money, free_features=len(design.first) == 1)
    alone = plan is not None and plan.alone and choice is not None
    made = as_chain(plan, None if alone else design, choice)
    return None if made is None else at_worst(state, made)


def _chain_of_strata(state: State, purse: Purse) -> RoundPlan | None:
    """The next round of a chain whose rates go by what the first rater said; each round doubles what was spent."""
    terms, history, left = state.terms, state.history, purse.left
    both = sum(terms.prices)
    if left < both:
        return None
    rule, policy = plan_chain(
        history.looked.x.weak, history.looked.values, history.looked.rates, weak_cost=terms.weak_cost,
        costs=terms.costs, worth=(left + state.spent + state.free) * UNIT, pool_size=float(terms.pool),
    )  # fmt: skip
    if not policy.worth_it and history.rounds == 1:
        return _strong_alone(state, purse)
    spend = int(doubling(left, state.spent + state.free, least=int(10 * both)))
    return RoundPlan("chain", True, None, spend, left, history.rounds, rule, expected_se=policy.expected_se)


def next_item(state: State, plan: RoundPlan) -> int:
    """The highest price of the next item; 0 where there is none."""
    return 0 if state.worst is None or not state.worst.shape[0] else int(item_costs(plan, state.worst[:1])[0])
