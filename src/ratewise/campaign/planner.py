"""What a campaign does next: a pure function of what its log says. Whoever asks it only does as it is told.

A round is planned from closed rounds alone. It takes up items in batches: weak ratings are asked for, then rates and
draws are written down, then strong ratings are asked for. A batch is taken up only if everything it could cost still
fits into the round's money, and prices count as they are listed; so what a round buys does not depend on who answers
first, and a campaign that was killed goes on as if it had not been.

Where people answer, nobody waits for the last answers of a round: while they are out and people are short of
questions, the next round is opened. It may use what closed rounds say, and of open ones what was known before anyone
answered: their items, their rates, and the most they can cost (METHODS section 13). So its rates do not depend on
answers that are out. While much is out, a round is no longer than people need to be busy until the answers are in: it
knows little. Rounds close in their order.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum
from typing import Any

import numpy as np

from ratewise.campaign.estimates import Target, is_precise, money_to_precision
from ratewise.campaign.history import History, RoundPlan
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
from ratewise.store.money import PLACES, how_many_fit, total
from ratewise.store.queue import Batch, Units

BATCH = 2000  # items taken up at once, at most: answers come in before all questions are out
LEAST_LABELS = 100  # in closed rounds, to train a model on
_GROWTH = 1.2  # times the labels of the last training, to train again: short rounds are not worth one
_START_FOR_TARGET = 250  # labels that a start is sized for where a precision is to be reached
_OF_THE_REST = 0.8  # of a pool's last items, taken up in one go towards a precision: some are left if it falls short
_FEW_ITEMS = 25  # too few to leave some
_LAST_ITEMS = 4  # of a pool, taken together however much may be given back for them
_ABOUT_ALL = 0.95  # of the items that a round would take: fewer are taken only if it is less than this
_SURE_OF_STEPS = 0.985  # of the expected squared error of strong ratings alone: at most this, to go on with steps
_EACH = 2  # questions for each person at work, that a round has which bridges the time until answers are in
_MUCH = 0.5  # of the labels in closed rounds: with more than that out, a round only bridges
_TOO_DEAR = "the next item costs more than is left"
LATE = "the deadline has passed"
UNIT = 10.0**-PLACES


@dataclass(frozen=True, slots=True, eq=False)
class CampaignTerms:
    """What a campaign is about, as far as decisions need it; money in units."""

    prices: tuple[float, ...]  # mean list price of each rater
    budget: int | None
    wanted: Target
    alone: bool  # strong ratings alone, from the start
    deadline: datetime | None = None  # nothing is asked from this moment on
    gives_up: bool = False  # whether questions without an answer by then are given up
    again: bool = False  # whether items that were passed over may be drawn again, once all were looked at
    most: int = 0  # the most that one strong rating can cost
    first: int = 0  # items that the first round consists of: their strong ratings were there already
    teacher: Teacher | None = None  # a finished campaign, whose labels stand in for those to come
    votes: int = 0  # where people are the last rater and nobody is to wait: answers that a question takes
    aside: int | None = None  # of the budget, for hidden checks and repeats, whose money no round sees; None: no such
    refit: bool = False  # whether a model is trained on the labels of closed rounds

    @property
    def pool(self) -> int:
        return self.wanted.pool

    @property
    def later_raters(self) -> int:
        """How many raters come after the first; 1 where there is just one, who is the strong one."""
        return max(len(self.prices) - 1, 1)

    @property
    def weak_cost(self) -> float:
        """Cost of a weak rating; 0 where there is no weak rater."""
        return 0.0 if self.alone else self.prices[0] * UNIT

    @property
    def costs(self) -> tuple[float, ...]:
        return tuple(p * UNIT for p in (self.prices[-1:] if self.alone else self.prices[1:]))

    def is_late(self, now: datetime) -> bool:
        return self.deadline is not None and now >= self.deadline


@dataclass(frozen=True, slots=True, eq=False)
class Round:
    """A round of the log, with what it has taken up."""

    number: int
    first: int
    plan: RoundPlan
    batches: tuple[Batch, ...] = ()
    factor: float | None = None
    items: int | None = None  # looked at; None while it is open

    @property
    def end(self) -> int:
        """The first item that is not taken up."""
        return self.batches[-1].end if self.batches else self.first

    @property
    def cost(self) -> int:
        return sum(batch.cost for batch in self.batches)

    @property
    def groups(self) -> list[tuple[Batch, ...]]:
        """Batches whose draws are made together: all, where exactly the money is to be spent."""
        return [self.batches] if self.plan.exact and self.batches else [(batch,) for batch in self.batches]

    @property
    def left(self) -> int:
        """The round's money that is not committed yet."""
        return self.plan.spend - self.cost

    @property
    def drawn(self) -> bool:
        return bool(self.batches) and all(batch.drawn for batch in self.batches)


@dataclass(frozen=True, slots=True, eq=False)
class Overlap:
    """Rounds whose answers are out while the next one is planned: only what was closed before them may be used."""

    closed: History
    cost: int  # what they may cost, at worst
    people: int  # at work


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """What the log says now."""

    terms: CampaignTerms
    history: History
    spent: int  # settled
    open: Round | None
    weak_open: int = 0  # questions to raters before the last one, without an answer yet
    strong_open: int = 0
    worst: Units | None = None  # of the next items that are not taken up: the most each can cost, items × raters
    failed: int = 0  # what failed calls of closed rounds have cost
    cut: bool = False  # the money for another batch is not there: failed calls were paid from it
    now: datetime | None = None  # the time; None: before every deadline
    behind: tuple[Round, ...] = ()  # rounds before the one under way that wait for their last answers, in order
    oldest_open: int = 0  # questions of the first of these without an answer yet
    before: History | None = None  # all rounds before the one under way, those behind without answers
    ahead: "State | None" = (
        None  # where people are short of questions while answers are out: to plan the next round from
    )
    overlap: Overlap | None = None  # where the next round is planned while others are open: `history` has these, too

    @property
    def oldest(self) -> Round | None:
        """The open round that closes first."""
        return self.behind[0] if self.behind else self.open

    @property
    def overlaps(self) -> bool:
        """Whether a round is open that was open when the last one closed: the campaign does not stop there."""
        opened = () if self.open is None else (*self.behind, self.open)
        return any(each.plan.look < self.history.rounds for each in opened)

    @property
    def free(self) -> int:
        """What the labels that were there already would have cost."""
        return round(min(self.terms.first, self.history.items) * self.terms.prices[-1])

    @property
    def late(self) -> bool:
        return self.now is not None and self.terms.is_late(self.now)


@dataclass(frozen=True, slots=True, eq=False)
class Open:
    """Freeze a policy."""

    plan: RoundPlan


@dataclass(frozen=True, slots=True)
class TakeUp:
    """Ask for weak ratings of these items, and hold money for the strong ones."""

    first: int
    end: int


@dataclass(frozen=True, slots=True)
class DrawItems:
    """Write down rates and draws of these items, and ask for what was drawn."""

    first: int
    end: int


@dataclass(frozen=True, slots=True)
class Done:
    """The campaign is done; nothing more is to be bought."""

    reason: str


class Command(Enum):
    """Actions that need no more words."""

    DRAW_AGAIN = "write down a second draw of items that were passed over, and ask for what was drawn"
    TRAIN = "train a model on the labels of closed rounds, and write down what it predicts of every item"
    CLOSE = "all answers of the oldest open round are in"
    GIVE_UP = "count unanswered questions that nobody has claimed as missing; they are not paid for"
    WAIT = "wait for answers"


Action = Open | TakeUp | DrawItems | Done | Command


# What is next


def decide(state: State) -> Action:
    """The next action."""
    if state.behind and not state.oldest_open:
        return Command.CLOSE
    if state.terms.refit and refit_is_due(state.history):
        return Command.TRAIN
    action = _between_rounds(state) if state.open is None else _within_round(state, state.open)
    if action is Command.WAIT and not state.late:
        action = _ahead(state) or action
    return _after_deadline(state, action) if state.late else action


def _after_deadline(state: State, action: Action) -> Action:
    """What to do after the deadline: close the round if all its answers are in, else leave it or give it up."""
    if action is Command.CLOSE or (isinstance(action, Done) and state.open is None):
        return action
    if state.terms.gives_up and (state.weak_open or state.strong_open):
        return Command.GIVE_UP
    return Done(LATE)


def _within_round(state: State, now: Round) -> Action:
    plan = now.plan
    if plan.again and not now.batches:
        return Done(_TOO_DEAR) if state.cut else Command.DRAW_AGAIN
    waiting = next((batch for batch in now.batches if not batch.drawn), None)
    more = None if state.cut or state.late else _take_up(state, now)
    if plan.exact:
        drawn = bool(now.batches) and waiting is None
        if more is not None and not drawn:
            return more
        if waiting is not None:
            return Command.WAIT if state.weak_open else DrawItems(now.first, now.end)
    elif waiting is not None:
        return Command.WAIT if state.weak_open else DrawItems(waiting.first, waiting.end)
    elif more is not None:
        return more
    if state.strong_open or state.weak_open:
        return Command.WAIT
    return Command.CLOSE if now.batches else Done(_TOO_DEAR)


def _between_rounds(state: State) -> Action:
    if is_precise(state.history, state.terms.wanted):
        return Done("the precision asked for is reached")
    plan = next_plan(state)
    if plan is None:
        whole = state.history.items >= state.terms.pool
        if whole and state.terms.again and state.history.seen is not None:
            whole = not state.history.passed_over.any()  # else they could be drawn again, with more money
        return Done("every item has been looked at" if whole else "the budget is spent")
    return Open(plan) if plan.spend >= next_item(state, plan) else Done(_TOO_DEAR)


def _ahead(state: State) -> Open | None:
    """The next round while answers of others are out; None where these are to be waited for.

    That it is opened now depends on how many answers are out, not on what they say.
    """
    if state.ahead is None or is_precise(state.history, state.terms.wanted):
        return None
    plan = next_plan(state.ahead)
    return None if plan is None or plan.spend < next_item(state.ahead, plan) else Open(plan)


def _take_up(state: State, now: Round) -> TakeUp | None:
    """Take up as many items as the round still wants and the money covers at their highest prices."""
    assert state.worst is not None
    wanted = min(BATCH, state.terms.pool - now.end, state.worst.shape[0])
    if now.plan.items is not None:
        wanted = min(wanted, now.first + now.plan.items - now.end)
    cost = now.plan.item_costs(state.worst[: max(wanted, 0)])
    fits = how_many_fit(cost, now.left)
    return TakeUp(now.end, now.end + fits) if fits > 0 else None


# The next round


@dataclass(frozen=True, slots=True)
class PlanMoney:
    """Money to plan with: what is left of the budget, or what a precision is expected to take (`aims`) if less."""

    left: int
    aims: bool = False


def money_left(state: State) -> PlanMoney:
    """What may still be spent; with a precision to reach, what that is expected to take.

    A part is kept back for calls that fail, as large as their part in what was spent: a draw is worth its money only if
    its rating comes, so another attempt must find some.
    """
    terms, history, left = state.terms, state.history, _unspent(state)
    if terms.wanted.target_se is None:
        assert left is not None
        return PlanMoney(left)
    each = terms.prices[-1] if terms.alone else sum(terms.prices)
    closed, out = (history, 0) if state.overlap is None else (state.overlap.closed, state.overlap.cost)
    needed = money_to_precision(
        closed, terms.wanted, float(state.spent - out + state.free), start=_START_FOR_TARGET * each, least=10 * each
    )
    if state.overlap is not None and needed <= out:
        return PlanMoney(0, aims=True)  # what is out is expected to be enough
    needed -= out
    everything = (terms.pool - history.items) * each - 1  # all but: rounds that double end earlier if they may
    least = 0 if state.worst is None else total(state.worst[:1])
    if history.items >= terms.pool and terms.again and history.seen is not None:
        everything, least = int(history.passed_over.sum()) * terms.prices[-1], _one_label(state)
    needed = math.ceil(max(min(needed, everything), least))
    return PlanMoney(needed, aims=True) if left is None or needed < left else PlanMoney(left)


def _unspent(state: State) -> int | None:
    """What is left of the budget, less the part for calls that fail; `None` where there is no budget."""
    if state.terms.budget is None:
        return None
    left = state.terms.budget - (state.terms.aside or 0) - state.spent
    return left + -left * state.failed // state.spent if state.failed else left


def next_plan(state: State, purse: PlanMoney | None = None) -> RoundPlan | None:
    """The next round's policy, from closed rounds alone; `None` where money or items are used up."""
    terms, history, overlap = state.terms, state.history, state.overlap
    if history.items >= terms.pool:
        return _second_look(state, purse or money_left(state)) if again_possible(state) else None
    purse = purse or money_left(state)
    if overlap is not None and purse.aims and purse.left < overlap.people * (terms.prices[-1] or 1):
        return None  # what may still be missing is known better when the others are closed
    plan = _new_items(state, purse)
    if plan is None:
        return None
    if terms.refit and not history.rounds:
        plan = _long_start(plan, pool=terms.pool, each=sum(terms.prices))
    plan = replace(plan, spend=min(max(plan.spend, next_item(state, plan)), plan.left))  # one item must fit
    return plan if overlap is None else replace(plan, look=overlap.closed.rounds, people=overlap.people)


def _new_items(state: State, purse: PlanMoney) -> RoundPlan | None:
    """A look at new items: old labels, strong ratings alone, the start, or as the raters are best used."""
    terms, history = state.terms, state.history
    few = history.labels < FEWEST_TO_LEARN
    if terms.first > history.items:  # the weak rater rates the items whose strong ratings were there already
        return _plan(state, purse, weak=not terms.alone, items=terms.first - history.items)
    if terms.alone or history.alone or (terms.prices[-1] == 0 and not history.rounds):
        return _strong_alone(state, purse)  # at no cost, too
    if state.overlap is not None and few:
        return _more_start(state, purse)
    if purse.aims and few:
        return _start(state, purse, _START_FOR_TARGET, taught=True)
    if terms.later_raters == 1:
        assert history.seen is not None
        money = Money(terms.weak_cost, terms.costs[0], purse.left * UNIT, float(terms.pool - history.items))
        return _pair(state, purse, history.seen, money, free_features=terms.wanted.inputs is None)
    return _chain(state, purse, few=few)


def _plan(
    state: State, purse: PlanMoney, policy: str = "base", *, weak: bool = True, items: int | None,
    spend: int | None = None, **more: Any,
) -> RoundPlan:  # fmt: skip
    """A round's plan with this money; by default everyone is asked, and all of it may be spent."""
    spend = purse.left if spend is None else spend
    return RoundPlan(policy, weak, items, spend, purse.left, state.history.rounds, aims=purse.aims, **more)


def again_possible(state: State) -> bool:
    """Whether items that were passed over may be drawn again, and money is there for one of them."""
    terms, history = state.terms, state.history
    if state.overlap is not None or not terms.again or history.seen is None or history.labels < FEWEST_TO_LEARN:
        return False
    if (
        history.drew_nobody or not history.passed_over.any()
    ):  # where prices differ, all left may be dearer than the mean
        return False
    left = _unspent(state)
    return _one_label(state) > 0 and (left is None or left >= _one_label(state))


def _one_label(state: State) -> int:
    """The most that one strong rating can cost: with less, nobody is drawn."""
    return math.ceil(max(state.terms.prices[-1], state.terms.most))


def _second_look(state: State, purse: PlanMoney) -> RoundPlan:
    """A second look at items that were passed over, with all the money that is left."""
    terms, seen = state.terms, state.history.seen
    assert seen is not None
    money = Money(terms.weak_cost, terms.costs[-1], purse.left * UNIT, 0.0)
    planned = plan_again(seen, money, population=terms.wanted.estimand == "population")
    return _plan(
        state, purse, planned.policy, weak=not seen.by_features, items=0, rule=planned.rule,
        own_rates=planned.own_rates, expected_se=_root(max(planned.expected_variance, 0.0)),
        again=1 + state.history.again,
    )  # fmt: skip


def _root(variance: float) -> float | None:
    """The standard error; None where it is unknown or infinite: JSON has no NaN."""
    return math.sqrt(variance) if 0 <= variance < math.inf else None


# Everyone, and strong ratings alone


def _money(state: State, purse: PlanMoney) -> Money:
    """The money left, in units, with what is left of the pool."""
    terms = state.terms
    return Money(terms.prices[0], terms.prices[-1], purse.left, float(terms.pool - state.history.items))


def _start(state: State, purse: PlanMoney, labels: float, *, taught: bool = False) -> RoundPlan:
    """The first round: every rater rates the first items. Their number is the limit, whatever their prices.

    Dear raters of a chain are tried on part of them, where that saves money.
    """
    terms = state.terms
    teacher = terms.teacher.learned if taught and terms.teacher is not None else None
    begun = start(_money(state, purse), labels, teacher)
    assert begun.items is not None
    plan = _plan(state, purse, begun.policy, weak=begun.weak, items=begun.items)
    if terms.later_raters == 1 or not begun.weak or terms.wanted.inputs is not None:
        return plan
    items = trial_items(terms.prices, begun.items, purse.left)
    return plan if items >= begun.items else replace(plan, items=items, trial=begun.items)


def _rest_of_start(state: State, purse: PlanMoney) -> RoundPlan | None:
    """The rest of a start after the trial of dear raters, with those who may be worth their price."""
    looked, prices, history = state.history.looked, state.terms.prices, state.history
    tried = on_trial(prices, history.trial, purse.left + state.spent + state.free)
    found = hopes(np.column_stack([looked.x.weak, looked.values[:, :-1]]), looked.values[:, -1], prices, tried)
    items = min(history.trial, state.terms.pool) - history.items
    plan = _plan(state, purse, items=items, hopes=found)
    each = sum(prices[k] for k in plan.uses(len(prices)))
    return plan if items > 0 and purse.left >= each else None


def _more_start(state: State, purse: PlanMoney) -> RoundPlan | None:
    """More of the start while its answers are out and nothing is known: for half of what is left at most."""
    money = _money(state, purse)
    count = int(min(most_labels(state), money.pool_left, 0.5 * money.left / money.both if money.both else math.inf))
    return None if state.overlap is None or count < state.overlap.people else _plan(state, purse, items=count)


def _long_start(plan: RoundPlan, *, pool: int, each: float) -> RoundPlan:
    """A start that a model can be trained on, where that takes no more than half of the pool and of the money.

    Else a plan that goes by fewer labels could give up the weak rater before the texts were learned from.
    """
    most = min(pool / 2, plan.left / (2 * each) if each else pool)
    if plan.rule is not None or not plan.weak or plan.items is None or most < LEAST_LABELS:
        return plan
    return replace(plan, items=max(plan.items, LEAST_LABELS))


def _strong_alone(state: State, purse: PlanMoney) -> RoundPlan | None:
    """Strong ratings for all the money; on the way to a precision, in rounds that double the labels."""
    money = _money(state, purse)
    count = money.strong_ratings()
    if purse.aims:
        least = start_labels(_START_FOR_TARGET, money.pool_left)
        count = int(doubling(count, state.history.labels, least=least))
    count = int(min(count, most_labels(state)))
    return _plan(state, purse, weak=False, items=count) if count > 0 else None


# A pair, and a chain


def _pair(state: State, purse: PlanMoney, seen: Seen, money: Money, *, free_features: bool) -> RoundPlan | None:
    """The next round of a weak and a strong rater."""
    teacher, overlap = state.terms.teacher, state.overlap
    if teacher is not None and seen.items and teacher.drift(seen).drifted:
        teacher = None
        if all(phase.rule is None for phase in seen.phases) and state.terms.wanted.target_se is None:
            wanted = start_labels(money.left / money.both if money.both > 0 else math.inf, money.pool_left)
            if state.history.labels < wanted and money.left >= money.both:
                return _start(state, purse, money.left / money.both)  # a start of its own
    planned = next_round(
        seen, money, free_features=free_features, teacher=None if teacher is None else teacher.learned,
        closed=None if overlap is None else overlap.closed.seen,
        most=most_labels(state) * money.both if money.both > 0 else math.inf,
    )  # fmt: skip
    if planned is None:
        return None
    expected = _root(planned.expected_variance)
    if planned.rule is None and not planned.weak:
        plan = _strong_alone(state, purse)
        return None if plan is None else replace(plan, expected_se=expected)
    items, spend = planned.items, purse.left  # items are the limit of a start
    if planned.rule is not None:
        items, spend = _some_left(state, purse, items, min(round(planned.spend / UNIT), purse.left))
    return _plan(
        state, purse, planned.policy, weak=planned.weak, items=items, spend=spend, rule=planned.rule,
        own_rates=planned.own_rates, expected_se=expected,
    )  # fmt: skip


def _some_left(state: State, purse: PlanMoney, items: int | None, spend: int) -> tuple[int | None, int]:
    """Items and money of a round; towards a precision, a part of a pool's last items is left for another round."""
    if purse.aims and items is not None and items >= state.terms.pool - state.history.items > _FEW_ITEMS:
        return math.ceil(_OF_THE_REST * items), math.ceil(_OF_THE_REST * spend)
    return items, spend


def _chain(state: State, purse: PlanMoney, *, few: bool) -> RoundPlan | None:
    """The next round of a chain: all raters rate the start, then the best way to use them is chosen."""
    history, both = state.history, sum(state.terms.prices)
    if few:
        labels = purse.left / both if both > 0 else float(state.terms.pool - history.items)
        return _start(state, purse, labels) if purse.left >= both else None
    if state.terms.wanted.inputs is not None:
        return _chain_of_strata(state, purse)
    if state.terms.prices[-1] == 0:
        return _strong_alone(state, purse)
    if history.design is not None:
        return _designed(state, purse, history.design)
    rest = _rest_of_start(state, purse) if history.trial else None
    if rest is not None:
        return rest
    choice = chosen_design(state, purse.left)
    plan = _designed(state, purse, choice.design, choice) if _pays(choice) else _strong_alone(state, purse)
    if plan is None:
        return None
    return replace(plan, design=None if plan.alone else plan.design, compared=choice.compared)


def chosen_design(state: State, left: int) -> Choice:
    """How the raters are used from here on."""
    looked, terms, history = state.history.looked, state.terms, state.history
    return history.once(
        ("design", left),
        lambda: choose_design(
            looked.x, looked.values[:, :-1], looked.values[:, -1], costs=(terms.weak_cost, *terms.costs),
            left=left * UNIT, pool_left=float(terms.pool - history.items),
            spent=(state.spent + state.free) * UNIT, kept=worth_trying(history.hopes) or None,
            pairs=history.as_pair, steps=history.in_steps,
        ),
    )  # fmt: skip


def _pays(choice: Choice) -> bool:
    """Whether steps, where they were chosen, are expected to beat strong ratings alone."""
    alone = next(one.variance for one in choice.compared if not one.design.first)
    steps = choice.plan
    return not choice.design.steps or (steps is not None and steps.expected_variance < _SURE_OF_STEPS * alone)


def _designed(state: State, purse: PlanMoney, design: Design, choice: Choice | None = None) -> RoundPlan | None:
    """The next round by a design: with steps, or as if those who see every item were one weak rater."""
    terms, history = state.terms, state.history.designed(design)
    money = design.money((terms.weak_cost, *terms.costs), purse.left * UNIT, float(terms.pool - history.items))
    if not design.steps:
        assert history.seen is not None
        plan = _pair(state, purse, history.seen, money, free_features=len(design.first) == 1)
        return None if plan is None else _at_worst(state, replace(plan, design=design))
    assert history.steps is not None
    if money.left < money.both * (1 - 1e-12):
        return None
    steps = choice.plan if choice else plan_steps(history.steps, money, (state.spent + state.free) * UNIT)
    assert steps is not None  # the start has the answers of all raters
    units = purse.left if steps.spend >= money.left else min(round(steps.spend / UNIT), purse.left)
    items, units = _some_left(state, purse, steps.items, units)
    plan = _plan(
        state, purse, "chain", items=items, spend=units, rule=steps.rule, own_rates=steps.own_rates.ravel(),
        expected_se=_root(max(steps.expected_variance, 0.0)), design=design,
    )  # fmt: skip
    return _at_worst(state, plan, steps.mean_rates.tolist())


def _at_worst(state: State, plan: RoundPlan, rates: Sequence[float] | None = None) -> RoundPlan:
    """A share of a pool's last items so small that their money suffices at the highest prices, too.

    A judge that is paid by tokens mostly costs less than was held for it, and what is given back must find items to
    buy labels of. `rates` are the mean rates of those who do not see every item; without them, the money's.
    """
    remaining, prices = state.terms.pool - state.history.items, np.array(state.terms.prices)
    if not plan.exact or plan.items is None or plan.items <= _LAST_ITEMS or state.worst is None or not plan.left:
        return plan
    asked = plan.asked(prices.size)
    share = np.zeros(prices.size)
    share[list(asked.first)] = 1.0
    money = plan.left / remaining
    rest = max(money - float(share @ prices), 0.0) / max(prices[-1], 1.0)
    share[[*asked.steps, -1]] = min(rest, 1.0) if rates is None else rates
    more = float(share @ np.maximum(state.worst.mean(axis=0) - prices, 0.0))
    items = max(math.ceil(plan.items * money / (money + more)), _LAST_ITEMS)
    return replace(plan, items=items) if items < _ABOUT_ALL * plan.items else plan


def _chain_of_strata(state: State, purse: PlanMoney) -> RoundPlan | None:
    """The next round of a chain whose rates go by what the first rater said; each round doubles what was spent."""
    terms, looked = state.terms, state.history.looked
    both, worth = sum(terms.prices), state.spent + state.free
    if purse.left < both:
        return None
    rule, policy = plan_chain(
        looked.x.weak, looked.values, looked.rates, weak_cost=terms.weak_cost, costs=terms.costs,
        worth=(purse.left + worth) * UNIT, pool_size=float(terms.pool),
    )  # fmt: skip
    if not policy.worth_it and state.history.rounds == 1:
        return _strong_alone(state, purse)
    spend = int(doubling(purse.left, worth, least=int(10 * both)))
    return _plan(state, purse, "chain", items=None, spend=spend, rule=rule, expected_se=policy.expected_se)


def next_item(state: State, plan: RoundPlan) -> int:
    """The highest price of the next item; 0 where there is none."""
    return 0 if state.worst is None or not state.worst.shape[0] else int(plan.item_costs(state.worst[:1])[0])


# While answers are out


def most_labels(state: State) -> float:
    """How many strong ratings the next round may ask for; infinite where it may be as long as any."""
    if state.overlap is None:
        return math.inf
    closed, history = state.overlap.closed, state.history
    out = int(np.count_nonzero(history.looked.selected[closed.items :, -1]))
    if out <= _MUCH * closed.labels:
        return math.inf
    return float(_EACH * state.overlap.people * 2 ** (history.rounds - closed.rounds - 1))  # longer, if it drags on


def refit_is_due(history: History) -> bool:
    """Whether closed rounds have enough labels that no training has seen, and these differ."""
    if history.seen is None or history.alone:
        return False
    labels = history.seen.strong[history.seen.labelled]
    return labels.size >= max(LEAST_LABELS, _GROWTH * history.taught) and bool(np.ptp(labels) > 0)
