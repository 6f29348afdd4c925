"""Who is asked about the items of a batch, and the money held for them: `worst` is the most that each rater can cost.

Money is held for all that an item could still cost before it is taken up. A round over a pool's last items holds its
whole money with its first batch, and weak ratings are paid out of that.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ratewise.campaign.history import History, LookedItems, RoundPlan
from ratewise.campaign.planner import Round
from ratewise.design.chain import ChainRule, StepRule, draw_exact_steps
from ratewise.design.rounds import RoundDraw, draw_exact_round, draw_round
from ratewise.design.second_look import draw_again
from ratewise.design.seen import Rule
from ratewise.store.money import total
from ratewise.store.queue import AgainRows, Batch, NewBatch, NewDraws, Units


def draw_batch(history: History, now: Round, looked: LookedItems, worst: Units) -> RoundDraw:
    """Draw items by the round's rule and their random numbers; `worst` has the highest prices, items × raters.

    All raters are drawn, each by what those before it have said. Whoever writes draws down takes only the columns of
    raters whose forerunners have answered. One that is left out has the rate of the step before, and nobody asks it.
    """
    plan, rule, (n, later) = now.plan, now.plan.rule, looked.rates.shape
    rates, selected = np.ones((n, later)), np.zeros((n, later), dtype=np.bool_)
    if rule is None:
        selected[:, [k - 1 for k in plan.uses(later + 1) if k > 0]] = True
        return RoundDraw(rates, selected)
    if isinstance(rule, ChainRule):
        rates = rule.rates(history.filled(looked.x).weak)
        return RoundDraw(rates, np.asarray(looked.uniform[:, None] < rates))
    money = float(plan.spend - total(plan.sure_costs(worst))) if plan.exact else None
    columns, drawn = _by_rule(history, plan, looked, worst, money)
    selected[:, [k - 1 for k in plan.asked(later + 1).first if k > 0]] = True
    for column, rate, asked in zip(columns, drawn.rates.reshape(n, -1).T, drawn.asked.reshape(n, -1).T, strict=True):
        rates[:, column:], selected[:, column] = rate[:, None], asked
    return RoundDraw(rates, selected, drawn.factor)


def _by_rule(
    history: History, plan: RoundPlan, looked: LookedItems, worst: Units, money: float | None
) -> tuple[list[int], RoundDraw]:
    """Columns that the rule draws, and their draw; with `money`, as much as that buys."""
    rule, uniform, last = plan.rule, looked.uniform, looked.rates.shape[1] - 1
    if isinstance(rule, StepRule):
        steps, columns = history.designed(rule.design).steps, [*(k - 1 for k in rule.design.steps), last]
        assert steps is not None
        x, said = history.filled(looked.x), looked.values[:, :-1]
        if money is None:
            return columns, draw_round(rule, steps, uniform, x, said)
        prices = worst[:, [k + 1 for k in columns]].astype(np.float64)
        return columns, draw_exact_steps(rule, steps, x, said, uniform, money=money, prices=prices)
    assert isinstance(rule, Rule)
    history = history.designed(plan.design)
    assert history.seen is not None
    x = history.known_of(looked)
    if money is None:
        return [last], draw_round(rule, history.seen, uniform, x)
    prices = worst[:, -1].astype(np.float64)
    return [last], draw_exact_round(rule, history.seen, x, uniform, money=money, prices=prices)


def second_draw(history: History, now: Round, worst: Units) -> AgainRows:
    """Draw among the items that were passed over; `worst` has the highest prices of all items and raters."""
    plan, seen = now.plan, history.seen
    assert seen is not None
    assert isinstance(plan.rule, Rule)
    over = history.passed_over
    prices = worst[:, -1].astype(np.float64)
    made = draw_again(plan.rule, seen, over, history.looked.uniform, plan.again, money=float(plan.spend), prices=prices)
    assert made.factor is not None
    return AgainRows(np.flatnonzero(over), made.rates, made.asked, worst[over, -1], made.factor)


def new_batch(now: Round, first: int, worst: Units) -> NewBatch:
    """Taking up the items from `first` on, as many as there are prices."""
    plan, weak = now.plan, total(now.plan.first_costs(worst))
    cost = total(plan.item_costs(worst))
    hold = cost - weak
    if plan.exact:
        hold = (plan.spend if first == now.first else 0) - weak
    return NewBatch(now.number, first, first + len(worst), cost, hold, worst[:, 0] if plan.asks_first else None)


def new_draws(now: Round, first: int, drawn: RoundDraw, worst: Units) -> NewDraws:
    """Writing down who is asked next among the items from `first` on.

    Money for raters before the last is taken from what is held; the draw of the last one gives the rest back. The first
    batch bears the cost of all of them.
    """
    plan, prices = now.plan, worst[:, -drawn.rates.shape[1] :]
    weak = plan.first_costs(worst)
    ours = [b for b in now.batches if first <= b.first < first + len(worst)]
    done = min(b.steps for b in ours)
    columns = next(each for each in now.plan.stages(drawn.rates.shape[1]) if each.start >= done)
    asked = total(np.where(drawn.asked, prices, 0)[:, columns])
    step, rates, selected = columns.start + 1, drawn.rates[:, columns], drawn.asked[:, columns]
    if columns.stop < drawn.rates.shape[1]:
        return NewDraws(now.number, first, rates, selected, prices[:, columns], asked, (), None, step=step)
    before = total(np.where(drawn.asked, prices, 0)[:, : columns.start])
    more = total(prices[drawn.asked])
    costs = tuple((b.first, total(weak[b.first - first : b.end - first]) + (more if b is ours[0] else 0)) for b in ours)
    release = (plan.spend if plan.exact else total(plan.item_costs(worst))) - total(weak) - before
    return NewDraws(now.number, first, rates, selected, prices[:, columns], release, costs, drawn.factor, step=step)


def draws_made(now: Round, group: Sequence[Batch], drawn: RoundDraw, worst: Units) -> list[NewDraws]:
    """What was written down when these batches were drawn together, stage by stage, as far as they are."""
    later = drawn.rates.shape[1]
    done = later if all(b.drawn for b in group) else min(b.steps for b in group)
    made = []
    for columns in now.plan.stages(later):
        if columns.stop <= done:
            before = replace(now, batches=tuple(replace(b, drawn=False, steps=columns.start) for b in group))
            made.append(new_draws(before, group[0].first, drawn, worst))
    return made
