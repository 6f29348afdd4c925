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

import numpy as np

from ratewise.campaign.estimates import Target, importance_next, is_precise, money_to_precision
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
from ratewise.design.options import Money, Options
from ratewise.design.rounds import doubled_spend, doubling, next_round, share_of_pool, start, start_labels
from ratewise.design.second_look import plan_again
from ratewise.design.seen import FEWEST_TO_LEARN, Importance, Seen
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
PRECISE = "the precision asked for is reached"
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

    @property
    def steered(self) -> bool:
        """Whether strong ratings alone are drawn by what their items count for a question."""
        return self.alone and self.later_raters == 1 and self.wanted.question.grouped

    def is_late(self, at: float) -> bool:
        """Whether the deadline has passed at this time, in seconds since 1970."""
        return self.deadline is not None and at >= self.deadline.timestamp()


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
class State:
    """What the log says now."""

    terms: CampaignTerms
    history: History  # closed rounds; to plan `ahead`, those that are open, too, without their answers
    spent: int  # settled
    worst: Units  # of the next items that are not taken up: the most each can cost, items × raters
    opened: tuple[Round, ...] = ()  # in their order: the last is under way, those before wait for their last answers
    weak_open: int = 0  # questions to raters before the last one, without an answer yet
    strong_open: int = 0
    oldest_open: int = 0  # where several rounds are open: questions of the first without an answer yet
    failed: int = 0  # what failed calls of closed rounds have cost
    cut: bool = False  # the money for another batch is not there: failed calls were paid from it
    late: bool = False  # the deadline has passed
    ahead: "State | None" = None  # people are short of questions while answers are out: to plan the next round from
    closed: History | None = None  # of a state `ahead`: only what was closed before these answers may be used,
    out: int = 0  # what they may cost at worst,
    people: int = 0  # and who is at work

    @property
    def open(self) -> Round | None:
        """The round under way."""
        return self.opened[-1] if self.opened else None

    @property
    def overlaps(self) -> bool:
        """Whether a round is open that was open when the last one closed: the campaign does not stop there."""
        return any(each.plan.look < self.history.rounds for each in self.opened)

    @property
    def free(self) -> int:
        """What the labels that were there already would have cost."""
        return round(min(self.terms.first, self.history.items) * self.terms.prices[-1])


@dataclass(frozen=True, slots=True)
class ItemRange:
    """Items from the first to before the end."""

    first: int
    end: int


class TakeUp(ItemRange):
    """Ask for weak ratings of these items, and hold money for the strong ones."""


class DrawItems(ItemRange):
    """Write down rates and draws of these items, and ask for what was drawn."""


class Done(str):
    """Why the campaign is done: nothing more is to be bought."""

    __slots__ = ()


class Command(Enum):
    """Actions that need no more words."""

    DRAW_AGAIN = "write down a second draw of items that were passed over, and ask for what was drawn"
    TRAIN = "train a model on the labels of closed rounds, and write down what it predicts of every item"
    CLOSE = "all answers of the oldest open round are in"
    GIVE_UP = "count unanswered questions that nobody has claimed as missing; they are not paid for"
    WAIT = "wait for answers"


Action = RoundPlan | TakeUp | DrawItems | Done | Command
"""What to do next; a plan opens a round."""


# What is next


def decide(state: State) -> Action:
    """The next action."""
    if len(state.opened) > 1 and not state.oldest_open:
        return Command.CLOSE
    if state.terms.refit and refit_is_due(state.history):
        return Command.TRAIN
    action = _within_round(state, state.opened[-1]) if state.opened else _between_rounds(state)
    if state.late:
        if action is Command.CLOSE or (isinstance(action, Done) and not state.opened):
            return action
        return Command.GIVE_UP if state.terms.gives_up and (state.weak_open or state.strong_open) else Done(LATE)
    if action is Command.WAIT and state.ahead is not None:  # that depends on how many answers are out, not on any
        following = _between_rounds(state.ahead)
        return following if isinstance(following, RoundPlan) else action
    return action


def _within_round(state: State, now: Round) -> Action:
    plan = now.plan
    if plan.again and not now.batches:
        return Done(_TOO_DEAR) if state.cut else Command.DRAW_AGAIN
    group = next((each for each in now.groups if not all(batch.drawn for batch in each)), None)  # to be drawn next
    if not (state.cut or state.late or (now.drawn if plan.exact else group)):
        wanted = min(BATCH, state.terms.pool - now.end, len(state.worst))
        if plan.items is not None:
            wanted = min(wanted, now.first + plan.items - now.end)
        fits = how_many_fit(plan.item_costs(state.worst[: max(wanted, 0)]), now.left)
        if fits > 0:
            return TakeUp(now.end, now.end + fits)
    if group is not None and not state.weak_open:
        return DrawItems(group[0].first, group[-1].end)
    if state.strong_open or state.weak_open:
        return Command.WAIT
    return Command.CLOSE if now.batches else Done(_TOO_DEAR)


def _between_rounds(state: State) -> RoundPlan | Done:
    if is_precise(state.closed or state.history, state.terms.wanted):
        return Done("what was to be decided is known" if state.terms.wanted.decides else PRECISE)
    plan = next_plan(state)
    if plan is None:
        whole = state.history.items >= state.terms.pool
        if whole and state.terms.again and state.history.seen is not None:
            whole = not state.history.passed_over.any()  # else they could be drawn again, with more money
        return Done("every item has been looked at" if whole else "the budget is spent")
    return plan if plan.spend >= next_item(state, plan) else Done(_TOO_DEAR)


# The next round


def draft(state: State) -> RoundPlan:
    """A round in which everyone is asked, with all the money that may be spent.

    With a precision to reach, that is what it is expected to take (`aims`) if less than what is left. Of this, a part
    is kept back for calls that fail, as large as their part in what was spent: a draw is worth its money only if its
    rating comes, so another attempt must find some.
    """
    terms, history, left, closed = state.terms, state.history, _unspent(state), state.closed or state.history
    aims = False
    if terms.wanted.aims:
        each = terms.prices[-1] if terms.alone else sum(terms.prices)
        needed = money_to_precision(
            closed, terms.wanted, float(state.spent - state.out + state.free), start=_START_FOR_TARGET * each,
            least=10 * each,
        )  # fmt: skip
        enough = state.closed is not None and needed <= state.out  # what is out is expected to do
        if not enough:
            everything = (terms.pool - history.items) * each - 1  # all but: rounds that double end earlier if they may
            least = total(state.worst[:1])
            if history.items >= terms.pool and terms.again and history.seen is not None:
                everything, least = int(history.passed_over.sum()) * terms.prices[-1], _one_label(state)
            needed = math.ceil(max(min(needed - state.out, everything), least))
        aims = enough or left is None or needed < left
        left = 0 if enough else int(needed) if aims else left
    if left is None:  # something is to be decided, whatever it takes
        left = math.ceil(total(state.worst) / max(len(state.worst), 1) * (terms.pool - history.items))
    return RoundPlan("base", True, None, left, left, closed.rounds, aims=aims, people=state.people)


def _unspent(state: State) -> int | None:
    """What is left of the budget, less the part for calls that fail; `None` where there is no budget."""
    if state.terms.budget is None:
        return None
    left = state.terms.budget - (state.terms.aside or 0) - state.spent
    return left + -left * state.failed // state.spent if state.failed else left


def next_plan(state: State, begun: RoundPlan | None = None) -> RoundPlan | None:
    """The next round's policy, from closed rounds alone; `None` where money or items are used up.

    `begun` is the draft with the money that may be spent, where that is known already.
    """
    terms, history = state.terms, state.history
    begun = begun or draft(state)
    if history.items >= terms.pool:
        return _second_look(state, begun) if again_possible(state) else None
    if begun.people and begun.aims and begun.left < begun.people * (terms.prices[-1] or 1):
        return None  # what may still be missing is known better when the others are closed
    plan, few = None, history.labels < FEWEST_TO_LEARN
    if terms.first > history.items:  # the weak rater rates the items whose strong ratings were there already
        plan = replace(begun, weak=not terms.alone, items=terms.first - history.items)
    elif terms.steered and not few and terms.prices[-1]:
        plan = _steered(state, begun)
    elif terms.alone or history.alone or (terms.prices[-1] == 0 and not history.rounds):
        plan = _strong_alone(state, begun)  # at no cost, too
    elif begun.people and few:
        money = _money(state, begun)  # more of the start while nothing is known: for half of what is left at most
        most = 0.5 * money.left / money.both if money.both else math.inf
        count = int(min(most_labels(state), money.pool_left, most))
        plan = None if count < begun.people else replace(begun, items=count)
    elif begun.aims and few:
        plan = _start(state, begun, _START_FOR_TARGET, taught=True)
    elif terms.later_raters == 1 and history.seen is not None:
        money = Money(terms.weak_cost, terms.costs[0], begun.left * UNIT, float(terms.pool - history.items))
        plan = _pair(state, begun, history.seen, money, free_features=terms.wanted.inputs is None)
    else:
        plan = _chain(state, begun, few=few)
    if plan is None:
        return None
    if terms.refit and not history.rounds and plan.rule is None and plan.weak and plan.items is not None:
        # With fewer labels than train a model, the weak rater could be given up before texts were learned from.
        each = sum(terms.prices)
        if min(terms.pool / 2, plan.left / (2 * each) if each else terms.pool) >= LEAST_LABELS:
            plan = replace(plan, items=max(plan.items, LEAST_LABELS))
    return replace(plan, spend=min(max(plan.spend, next_item(state, plan)), plan.left))  # one item must fit


def again_possible(state: State) -> bool:
    """Whether items that were passed over may be drawn again, and money is there for one of them."""
    terms, history = state.terms, state.history
    if state.people or not terms.again or history.seen is None or history.labels < FEWEST_TO_LEARN:
        return False
    if history.drew_nobody or not history.passed_over.any():  # where prices differ, all may be dearer than the mean
        return False
    left = _unspent(state)
    return _one_label(state) > 0 and (left is None or left >= _one_label(state))


def _one_label(state: State) -> int:
    """The most that one strong rating can cost: with less, nobody is drawn."""
    return math.ceil(max(state.terms.prices[-1], state.terms.most))


def _second_look(state: State, begun: RoundPlan) -> RoundPlan:
    """A second look at items that were passed over, with all the money that is left."""
    terms, seen = state.terms, state.history.seen
    assert seen is not None
    money = Money(terms.weak_cost, terms.costs[-1], begun.left * UNIT, 0.0)
    planned = plan_again(
        seen, money, population=terms.wanted.estimand == "population", importance=_importance(state, begun)
    )
    return replace(
        begun, policy=planned.policy, weak=not seen.by_features, items=0, rule=planned.rule,
        own_rates=planned.own_rates, expected_se=_root(max(planned.expected_variance, 0.0)),
        again=1 + state.history.again,
    )  # fmt: skip


def _root(variance: float) -> float | None:
    """The standard error; None where it is unknown or infinite: JSON has no NaN."""
    return math.sqrt(variance) if 0 <= variance < math.inf else None


# Everyone, and strong ratings alone


def _money(state: State, begun: RoundPlan) -> Money:
    """The money left, in units, with what is left of the pool."""
    terms = state.terms
    return Money(terms.prices[0], terms.prices[-1], begun.left, float(terms.pool - state.history.items))


def _start(state: State, begun: RoundPlan, labels: float, *, taught: bool = False) -> RoundPlan:
    """The first round: every rater rates the first items. Their number is the limit, whatever their prices.

    Dear raters of a chain are tried on part of them, where that saves money.
    """
    terms = state.terms
    teacher = terms.teacher.learned if taught and terms.teacher is not None else None
    first = start(_money(state, begun), labels, teacher)
    assert first.items is not None
    plan = replace(begun, policy=first.policy, weak=first.weak, items=first.items)
    if terms.later_raters == 1 or not first.weak or terms.wanted.inputs is not None:
        return plan
    items = trial_items(terms.prices, first.items, begun.left)
    return plan if items >= first.items else replace(plan, items=items, trial=first.items)


def _rest_of_start(state: State, begun: RoundPlan) -> RoundPlan | None:
    """The rest of a start after the trial of dear raters, with those who may be worth their price."""
    looked, prices, history = state.history.looked, state.terms.prices, state.history
    tried = on_trial(prices, history.trial, begun.left + state.spent + state.free)
    found = hopes(np.column_stack([looked.x.weak, looked.values[:, :-1]]), looked.values[:, -1], prices, tried)
    items = min(history.trial, state.terms.pool) - history.items
    plan = replace(begun, items=items, hopes=found)
    each = sum(prices[k] for k in plan.uses(len(prices)))
    return plan if items > 0 and begun.left >= each else None


def _strong_alone(state: State, begun: RoundPlan) -> RoundPlan | None:
    """Strong ratings for all the money; on the way to a precision, in rounds that double the labels."""
    money = _money(state, begun)
    count = money.strong_ratings()
    if begun.aims or state.terms.steered or state.terms.wanted.decides:
        least = start_labels(_START_FOR_TARGET if begun.aims else count, money.pool_left)
        count = int(doubling(count, state.history.labels, least=least))
    count = int(min(count, most_labels(state)))
    return replace(begun, weak=False, items=count) if count > 0 else None


def _steered(state: State, begun: RoundPlan) -> RoundPlan | None:
    """Strong ratings alone, drawn by what their items count for the answers of a question."""
    seen, terms = state.history.seen, state.terms
    assert seen is not None
    money = Money(0.0, terms.costs[0], begun.left * UNIT, float(terms.pool - state.history.items))
    if money.left < money.strong_cost:
        return None
    if money.left >= money.strong_cost * money.pool_left:
        return _strong_alone(state, begun)
    closed = None if state.closed is None else state.closed.seen
    way = Options.by_features(seen, money, closed, _importance(state, begun))
    most = most_labels(state) * money.strong_cost
    spend = min(doubled_spend(money, state.history.labels, each=money.strong_cost), most)
    items, units = _some_left(state, begun, share_of_pool(money, spend), min(round(spend / UNIT), begun.left))
    kind = "random" if way.best.error.kind == "constant" else "active"
    return replace(
        begun, policy=kind, weak=False, items=items, spend=units, rule=way.best.rule(way.known, seen.items, weak=False),
        own_rates=way.own_rates(seen),
    )  # fmt: skip


def _importance(state: State, begun: RoundPlan) -> Importance | None:
    """How much each item counts for the next draw, by closed rounds."""
    price = state.terms.prices[-1]
    more = begun.left / price if price else float(state.terms.pool)
    return importance_next(state.closed or state.history, state.terms.wanted, more)


# A pair, and a chain


def _pair(state: State, begun: RoundPlan, seen: Seen, money: Money, *, free_features: bool) -> RoundPlan | None:
    """The next round of a weak and a strong rater."""
    teacher = state.terms.teacher
    if teacher is not None and seen.items and teacher.drift(seen).drifted:
        teacher = None
        if all(phase.rule is None for phase in seen.phases) and state.terms.wanted.target_se is None:
            wanted = start_labels(money.left / money.both if money.both > 0 else math.inf, money.pool_left)
            if state.history.labels < wanted and money.left >= money.both:
                return _start(state, begun, money.left / money.both)  # a start of its own
    planned = next_round(
        seen, money, free_features=free_features, teacher=None if teacher is None else teacher.learned,
        closed=None if state.closed is None else state.closed.seen,
        most=most_labels(state) * money.both if money.both > 0 else math.inf, importance=_importance(state, begun),
    )  # fmt: skip
    if planned is None:
        return None
    expected = _root(planned.expected_variance)
    if planned.rule is None and not planned.weak:
        plan = _strong_alone(state, begun)
        return None if plan is None else replace(plan, expected_se=expected)
    items, spend = planned.items, begun.left  # items are the limit of a start
    if planned.rule is not None:
        items, spend = _some_left(state, begun, items, min(round(planned.spend / UNIT), begun.left))
    return replace(
        begun, policy=planned.policy, weak=planned.weak, items=items, spend=spend, rule=planned.rule,
        own_rates=planned.own_rates, expected_se=expected,
    )  # fmt: skip


def _some_left(state: State, begun: RoundPlan, items: int | None, spend: int) -> tuple[int | None, int]:
    """Items and money of a round; towards a precision, a part of a pool's last items is left for another round."""
    if begun.aims and items is not None and items >= state.terms.pool - state.history.items > _FEW_ITEMS:
        return math.ceil(_OF_THE_REST * items), math.ceil(_OF_THE_REST * spend)
    return items, spend


def _chain(state: State, begun: RoundPlan, *, few: bool) -> RoundPlan | None:
    """The next round of a chain: all raters rate the start, then the best way to use them is chosen."""
    terms, history, both = state.terms, state.history, sum(state.terms.prices)
    if few:
        labels = begun.left / both if both > 0 else float(terms.pool - history.items)
        return _start(state, begun, labels) if begun.left >= both else None
    if terms.wanted.inputs is not None:
        return _chain_of_strata(state, begun)
    if terms.prices[-1] == 0:
        return _strong_alone(state, begun)
    if history.design is not None:
        return _designed(state, begun, history.design)
    rest = _rest_of_start(state, begun) if history.trial else None
    if rest is not None:
        return rest
    choice = history.once(
        ("design", begun.left),
        lambda: choose_design(
            history.looked.values[:, -1], costs=(terms.weak_cost, *terms.costs),
            left=begun.left * UNIT, pool_left=float(terms.pool - history.items),
            spent=(state.spent + state.free) * UNIT, kept=worth_trying(history.hopes) or None,
            as_pair=history.as_pair, in_steps=history.in_steps,
        ),
    )  # fmt: skip
    alone = next(one.variance for one in choice.compared if not one.design.first)
    if not choice.design.steps or (choice.plan is not None and choice.plan.expected_variance < _SURE_OF_STEPS * alone):
        plan = _designed(state, begun, choice.design, choice)
    else:
        plan = _strong_alone(state, begun)
    if plan is None:
        return None
    return replace(plan, design=None if plan.alone else plan.design, compared=choice.compared)


def _designed(state: State, begun: RoundPlan, design: Design, choice: Choice | None = None) -> RoundPlan | None:
    """The next round by a design: with steps, or as if those who see every item were one weak rater."""
    terms, history = state.terms, state.history.designed(design)
    money = design.money((terms.weak_cost, *terms.costs), begun.left * UNIT, float(terms.pool - history.items))
    if not design.steps:
        assert history.seen is not None
        plan = _pair(state, begun, history.seen, money, free_features=len(design.first) == 1)
        return None if plan is None else _at_worst(state, replace(plan, design=design))
    assert history.steps is not None
    if money.left < money.both * (1 - 1e-12):
        return None
    steps = choice.plan if choice else plan_steps(history.steps, money, (state.spent + state.free) * UNIT)
    assert steps is not None  # the start has the answers of all raters
    units = begun.left if steps.spend >= money.left else min(round(steps.spend / UNIT), begun.left)
    items, units = _some_left(state, begun, steps.items, units)
    plan = replace(
        begun, policy="chain", items=items, spend=units, rule=steps.rule, own_rates=steps.own_rates.ravel(),
        expected_se=_root(max(steps.expected_variance, 0.0)), design=design,
    )  # fmt: skip
    return _at_worst(state, plan, steps.mean_rates.tolist())


def _at_worst(state: State, plan: RoundPlan, rates: Sequence[float] | None = None) -> RoundPlan:
    """A share of a pool's last items so small that their money suffices at the highest prices, too.

    A judge that is paid by tokens mostly costs less than was held for it, and what is given back must find items to
    buy labels of. `rates` are the mean rates of those who do not see every item; without them, the money's.
    """
    remaining, prices = state.terms.pool - state.history.items, np.array(state.terms.prices)
    if not plan.exact or plan.items is None or plan.items <= _LAST_ITEMS or not plan.left:
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


def _chain_of_strata(state: State, begun: RoundPlan) -> RoundPlan | None:
    """The next round of a chain whose rates go by what the first rater said; each round doubles what was spent."""
    terms, looked = state.terms, state.history.looked
    both, worth = sum(terms.prices), state.spent + state.free
    if begun.left < both:
        return None
    rule, policy = plan_chain(
        looked.x.weak, looked.values, looked.rates, weak_cost=terms.weak_cost, costs=terms.costs,
        worth=(begun.left + worth) * UNIT, pool_size=float(terms.pool),
    )  # fmt: skip
    if not policy.worth_it and state.history.rounds == 1:
        return _strong_alone(state, begun)
    spend = int(doubling(begun.left, worth, least=int(10 * both)))
    return replace(begun, policy="chain", spend=spend, rule=rule, expected_se=policy.expected_se)


def next_item(state: State, plan: RoundPlan) -> int:
    """The highest price of the next item; 0 where there is none."""
    return total(plan.item_costs(state.worst[:1]))


# While answers are out


def most_labels(state: State) -> float:
    """How many strong ratings the next round may ask for; infinite where it may be as long as any."""
    closed, history = state.closed, state.history
    if closed is None:
        return math.inf
    out = int(np.count_nonzero(history.looked.selected[closed.items :, -1]))
    if out <= _MUCH * closed.labels:
        return math.inf
    return float(_EACH * state.people * 2 ** (history.rounds - closed.rounds - 1))  # longer, if it drags on


def refit_is_due(history: History) -> bool:
    """Whether closed rounds have enough labels that no training has seen, and these differ."""
    if history.seen is None or history.alone:
        return False
    labels = history.seen.strong[history.seen.labelled]
    return labels.size >= max(LEAST_LABELS, _GROWTH * history.taught) and bool(np.ptp(labels) > 0)
