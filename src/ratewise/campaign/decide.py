"""What a campaign does next: a pure function of what its log says. The loop around it only does as it is told.

A round is planned from closed rounds alone. It takes up items in batches: weak ratings are asked for, then rates and
draws are written down, then strong ratings are asked for. A batch is taken up only if everything it could cost still
fits into the round's money, and prices count as they are listed; so what a round buys does not depend on who answers
first, and a campaign that was killed goes on as if it had not been.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from ratewise.campaign.answers import Wanted, is_precise, money_to_precision
from ratewise.campaign.history import History, Looked, RoundPlan, Units, finite_or_none
from ratewise.campaign.money import PLACES
from ratewise.core.checks import Floats
from ratewise.core.ratings import Mask
from ratewise.learn.auto import start_labels
from ratewise.learn.chain_rounds import ChainRule, plan_chain
from ratewise.learn.options import Money
from ratewise.learn.seen import FEWEST_TO_LEARN, mass
from ratewise.learn.spending import FEWEST_LABELS, draw_exact_round, next_round

BATCH = 2000  # items taken up at once, at most: answers come in before all questions are out
_UNIT = 10.0**-PLACES
_START_FOR_TARGET = 250  # labels that a start is sized for where a precision is to be reached
_LAST_ROUND = 1.3  # a round that would leave less than this many times what there is takes all
_OF_THE_REST = 0.8  # of a pool's last items, taken up in one go towards a precision: some are left if it falls short
_FEW_ITEMS = 25  # too few to leave some
_TOO_DEAR = "the next item costs more than is left"


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """What a campaign is about, as far as decisions need it; money in units."""

    prices: tuple[float, ...]  # mean list price of each rater
    budget: int | None
    wanted: Wanted
    alone: bool  # strong ratings alone, from the start

    @property
    def pool(self) -> int:
        """Number of items there are."""
        return self.wanted.pool

    @property
    def steps(self) -> int:
        """Raters after the first; 1 where there is just one, who is the strong one."""
        return max(len(self.prices) - 1, 1)

    @property
    def weak_cost(self) -> float:
        """0 where there is no weak rater."""
        return 0.0 if self.alone else self.prices[0] * _UNIT

    @property
    def costs(self) -> tuple[float, ...]:
        """Of each step after the first."""
        return tuple(p * _UNIT for p in (self.prices[-1:] if self.alone else self.prices[1:]))


@dataclass(frozen=True, slots=True)
class Batch:
    """Items from `first` to before `end`; cost is the worst of what was asked for or may be."""

    first: int
    end: int
    drawn: bool
    cost: int


@dataclass(frozen=True, slots=True, eq=False)
class OpenRound:
    """The round that is under way."""

    number: int
    first: int
    plan: RoundPlan
    batches: tuple[Batch, ...] = ()
    factor: float | None = None

    @property
    def end(self) -> int:
        """The first item that is not taken up."""
        return self.batches[-1].end if self.batches else self.first

    @property
    def left(self) -> int:
        """The round's money that is not bound yet."""
        return self.plan.spend - sum(batch.cost for batch in self.batches)


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """What the log says now."""

    terms: Terms
    history: History
    spent: int  # settled
    open: OpenRound | None
    weak_open: int = 0  # questions without an answer yet
    strong_open: int = 0
    worst: Units | None = None  # of the next items that are not taken up: the most each can cost, items × raters
    failed: int = 0  # what failed calls of closed rounds have cost
    cut: bool = False  # the money for another batch is not there: failed calls were paid from it


# Actions


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
class Draw:
    """Write down rates and draws of these items, and ask for what was drawn."""

    first: int
    end: int


@dataclass(frozen=True, slots=True)
class Close:
    """All answers of the round are in."""


@dataclass(frozen=True, slots=True)
class Wait:
    """For answers."""


@dataclass(frozen=True, slots=True)
class Done:
    """Nothing more is to be bought."""

    reason: str


Action = Open | TakeUp | Draw | Close | Wait | Done


def decide(state: State) -> Action:
    """The next action."""
    if state.open is None:
        return _between_rounds(state)
    now, plan = state.open, state.open.plan
    waiting = next((batch for batch in now.batches if not batch.drawn), None)
    more = None if state.cut else _take_up(state, now)
    if plan.exact:
        drawn = bool(now.batches) and waiting is None
        if more is not None and not drawn:
            return more
        if waiting is not None:
            return Wait() if state.weak_open else Draw(now.first, now.end)
    elif waiting is not None:
        return Wait() if state.weak_open else Draw(waiting.first, waiting.end)
    elif more is not None:
        return more
    if state.strong_open or state.weak_open:
        return Wait()
    return Close() if now.batches else Done(_TOO_DEAR)


def _between_rounds(state: State) -> Action:
    if is_precise(state.history, state.terms.wanted):
        return Done("the precision asked for is reached")
    plan = next_plan(state)
    if plan is None:
        whole = state.history.items >= state.terms.pool
        return Done("every item has been looked at" if whole else "the budget is spent")
    return Open(plan) if plan.spend >= _next_item(state, plan) else Done(_TOO_DEAR)


def _take_up(state: State, now: OpenRound) -> TakeUp | None:
    """As many items as fit at their worst, and as the round still wants."""
    assert state.worst is not None
    wanted = min(BATCH, state.terms.pool - now.end, state.worst.shape[0])
    if now.plan.items is not None:
        wanted = min(wanted, now.first + now.plan.items - now.end)
    cost = item_costs(now.plan, state.worst[: max(wanted, 0)])
    fits = int(np.searchsorted(np.cumsum(cost), now.left, side="right"))
    return TakeUp(now.end, now.end + fits) if fits > 0 else None


def item_costs(plan: RoundPlan, worst: Units) -> Units:
    """What must be there for each item before it is taken up."""
    if plan.exact:
        return weak_costs(plan, worst)
    return np.asarray(worst.sum(axis=1) if plan.weak else worst[:, -1])


def weak_costs(plan: RoundPlan, worst: Units) -> Units:
    """What each item's weak rating costs; nothing where it is not bought."""
    return worst[:, 0] if plan.weak else np.zeros_like(worst[:, 0])


def _next_item(state: State, plan: RoundPlan) -> int:
    return 0 if state.worst is None or not state.worst.shape[0] else int(item_costs(plan, state.worst[:1])[0])


# Planning


@dataclass(frozen=True, slots=True)
class Purse:
    """Money to plan with: what the budget leaves, or what a precision is expected to take (`aims`) if that is less."""

    left: int
    aims: bool = False


def money_left(state: State) -> Purse:
    """What may still be spent; with a precision to reach, what that is expected to take.

    A part is kept back for calls that fail, as large as their part in what was spent: a draw is worth its money only if
    its rating comes, so another attempt must find some.
    """
    terms, history = state.terms, state.history
    left = None if terms.budget is None else terms.budget - state.spent
    if left is not None and state.failed:
        left -= -(-left * state.failed // state.spent)
    if terms.wanted.target_se is None:
        assert left is not None
        return Purse(left)
    each = terms.prices[-1] if terms.alone else sum(terms.prices)
    needed = money_to_precision(
        history, terms.wanted, float(state.spent), start=_START_FOR_TARGET * each, least=10 * each
    )
    everything = (terms.pool - history.items) * each - 1  # all but: rounds that double end earlier if they may
    needed = math.ceil(max(min(needed, everything), 0 if state.worst is None else int(state.worst[:1].sum())))
    return Purse(needed, aims=True) if left is None or needed < left else Purse(left)


def next_plan(state: State, purse: Purse | None = None) -> RoundPlan | None:
    """The next round's policy, from closed rounds alone; `None` where money or items are used up."""
    terms, history = state.terms, state.history
    if history.items >= terms.pool:
        return None
    purse = money_left(state) if purse is None else purse
    if terms.alone or history.alone or (terms.prices[-1] == 0 and not history.rounds):
        plan = _strong_alone(state, purse)  # for nothing, too
    elif purse.aims and history.labels < FEWEST_TO_LEARN:
        plan = _start(state, purse.left, _START_FOR_TARGET)
    elif terms.steps > 1:
        plan = _chain(state, purse)
    else:
        plan = _auto(state, purse)
    if plan is None:
        return None
    spend = min(max(plan.spend, _next_item(state, plan)), plan.left)  # where prices differ, one item must fit
    return replace(plan, spend=spend, aims=purse.aims)


def _auto(state: State, purse: Purse) -> RoundPlan | None:
    """One weak and one strong rater."""
    terms, history, left = state.terms, state.history, purse.left
    assert history.seen is not None
    remaining = terms.pool - history.items
    money = Money(terms.weak_cost, terms.costs[0], left * _UNIT, float(remaining))
    planned = next_round(history.seen, money, free_features=terms.wanted.inputs is None)
    if planned is None:
        return None
    expected = finite_or_none(math.sqrt(planned.expected_variance) if planned.expected_variance >= 0 else math.nan)
    if planned.rule is None and not planned.weak:
        plan = _strong_alone(state, purse)
        return None if plan is None else replace(plan, expected_se=expected)
    spend = left if planned.rule is None else min(round(planned.spend / _UNIT), left)  # items are the limit of a start
    items = planned.items
    if purse.aims and planned.rule is not None and items is not None and items >= remaining > _FEW_ITEMS:
        items, spend = math.ceil(_OF_THE_REST * items), math.ceil(_OF_THE_REST * spend)
    return RoundPlan(
        planned.policy, planned.weak, items, spend, left, history.rounds, planned.rule, planned.own_rates, expected
    )


def _start(state: State, left: int, labels: float) -> RoundPlan:
    """Everyone rates the first items."""
    remaining = state.terms.pool - state.history.items
    return RoundPlan("base", True, min(start_labels(labels, remaining), remaining), left, left, state.history.rounds)


def _strong_alone(state: State, purse: Purse) -> RoundPlan | None:
    """All that the money buys; towards a precision, in rounds that double what there is."""
    price, labels = state.terms.prices[-1], state.history.labels
    remaining = state.terms.pool - state.history.items
    count = min(remaining, int(purse.left / price + 1e-9)) if price > 0 else remaining
    if purse.aims and count > _LAST_ROUND * labels:
        count = min(count, max(labels, start_labels(_START_FOR_TARGET, remaining)))
    if count <= 0:
        return None
    return RoundPlan("base", False, count, purse.left, purse.left, state.history.rounds)


def _chain(state: State, purse: Purse) -> RoundPlan | None:
    """Everyone rates the start; then rounds that double what was spent."""
    terms, history, left = state.terms, state.history, purse.left
    both, remaining = sum(terms.prices), terms.pool - history.items
    if left < both:
        return None
    labels = left / both if both > 0 else float(remaining)
    if history.labels < FEWEST_TO_LEARN:
        return _strong_alone(state, purse) if labels < FEWEST_LABELS else _start(state, left, labels)
    found = plan_chain(
        history.looked.x.weak, history.looked.values, history.looked.rates, weak_cost=terms.weak_cost,
        costs=terms.costs, worth=(left + state.spent) * _UNIT, pool_size=float(terms.pool),
    )  # fmt: skip
    if not found.worth_it and history.rounds == 1:
        return _strong_alone(state, purse)
    spend = left if left <= _LAST_ROUND * state.spent else min(max(state.spent, int(10 * both)), left)
    return RoundPlan(
        "chain", True, None, spend, left, history.rounds, found.rule, expected_se=math.sqrt(found.expected_variance)
    )


# Drawing


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """Rates and draws of a batch, items × steps."""

    rates: Floats
    selected: Mask
    factor: float | None = None


def draw_batch(history: History, now: OpenRound, looked: Looked, worst: Units) -> Drawn:
    """By the round's rule and the items' own random numbers; `worst` prices of all raters, items × raters."""
    n, steps = looked.rates.shape
    rule = now.plan.rule
    if rule is None:
        asked = np.ones((n, steps), dtype=np.bool_)
        asked[:, :-1] = now.plan.weak
        return Drawn(np.ones((n, steps)), asked)
    x = history.filled(looked.x)
    if isinstance(rule, ChainRule):
        rates = rule.rates(x.weak)
        return Drawn(rates, np.asarray(looked.uniform[:, None] < rates))
    assert history.seen is not None
    if now.plan.exact:
        money = float(now.plan.spend - weak_costs(now.plan, worst).sum())
        prices = worst[:, -1].astype(np.float64)
        d = draw_exact_round(rule, now.plan.own_rates, history.seen, x, looked.uniform, money=money, prices=prices)
        return Drawn(d.rates[:, None], d.asked[:, None], d.rule.factor)
    rates = rule.rates(x, mass(history.seen.phases, x))
    return Drawn(rates[:, None], (looked.uniform < rates)[:, None])
