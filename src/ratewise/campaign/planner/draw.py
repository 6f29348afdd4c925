"""Draws the items of a batch that the raters are asked about."""

from dataclasses import dataclass

import numpy as np

from ratewise.campaign.history import History, Looked, RoundPlan
from ratewise.campaign.planner.costs import sure_costs
from ratewise.campaign.planner.state import OpenRound
from ratewise.core.checks import Floats
from ratewise.core.ratings import Mask
from ratewise.core.result import shown
from ratewise.design.chain import StepRule, draw_exact_steps, draw_steps
from ratewise.design.chain_rounds import ChainRule
from ratewise.design.rounds import draw_exact_round, draw_round
from ratewise.design.second_look import draw_again
from ratewise.design.seen import Rule
from ratewise.store.money import total
from ratewise.store.queue import AgainRows, NewAgain, Units


@shown
@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """Rates and draws of a batch, items × raters after the first."""

    rates: Floats
    selected: Mask
    factor: float | None = None


def draw_batch(history: History, now: OpenRound, looked: Looked, worst: Units) -> Drawn:
    """Draw items by the round's rule and their random numbers; `worst` has the highest prices, items × raters.

    All raters are drawn, each by what those before it have said. Whoever writes draws down takes only the columns of
    raters whose forerunners have answered.
    """
    n, later = looked.rates.shape
    rule = now.plan.rule
    if rule is None:
        asked = np.zeros((n, later), dtype=np.bool_)
        asked[:, [k - 1 for k in now.plan.uses(later + 1) if k > 0]] = True
        return Drawn(np.ones((n, later)), asked)
    x = history.filled(looked.x)
    if isinstance(rule, ChainRule):
        rates = rule.rates(x.weak)
        return Drawn(rates, np.asarray(looked.uniform[:, None] < rates))
    if isinstance(rule, StepRule):
        return _steps(history, now, rule, looked, worst)
    history = history.designed(now.plan.design)
    assert history.seen is not None
    x = history.known_of(looked)
    if now.plan.exact:
        money = float(now.plan.spend - total(sure_costs(now.plan, worst)))
        prices = worst[:, -1].astype(np.float64)
        d = draw_exact_round(rule, now.plan.own_rates, history.seen, x, looked.uniform, money=money, prices=prices)
        return _of_last(now.plan, later, d.rates, d.asked, d.rule.factor)
    d = draw_round(rule, now.plan.own_rates, history.seen, x, looked.uniform)
    return _of_last(now.plan, later, d.rates, d.asked)


def _of_last(plan: RoundPlan, later: int, rates: Floats, asked: Mask, factor: float | None = None) -> Drawn:
    """The draw of the last rater beside those who see every item, and those who are left out."""
    all_rates, selected = np.ones((rates.size, later)), np.zeros((rates.size, later), dtype=np.bool_)
    if plan.design is not None and plan.weak:
        selected[:, [k - 1 for k in plan.design.first if k > 0]] = True
    all_rates[:, -1], selected[:, -1] = rates, asked
    return Drawn(all_rates, selected, factor)


def _steps(history: History, now: OpenRound, rule: StepRule, looked: Looked, worst: Units) -> Drawn:
    """The draw of every step; raters that are left out have the rate of the step before, and nobody asks them."""
    seen = history.designed(rule.design).steps
    assert seen is not None
    x, said, design = history.filled(looked.x), looked.values[:, :-1], rule.design
    columns = [*(k - 1 for k in design.steps), looked.rates.shape[1] - 1]
    if now.plan.exact:
        money = float(now.plan.spend - total(sure_costs(now.plan, worst)))
        prices = worst[:, [k + 1 for k in columns]].astype(np.float64)
        d = draw_exact_steps(rule, seen, x, said, looked.uniform, money=money, prices=prices)
    else:
        d = draw_steps(rule, seen, x, said, looked.uniform)
    rates, selected = np.ones(looked.rates.shape), np.zeros(looked.rates.shape, dtype=np.bool_)
    selected[:, [k - 1 for k in design.first if k > 0]] = True
    for column, rate, asked in zip(columns, d.rates.T, d.asked.T, strict=True):
        rates[:, column:], selected[:, column] = rate[:, None], asked
    return Drawn(rates, selected, d.factor)


def second_draw(history: History, now: OpenRound, worst: Units) -> NewAgain:
    """Draw among the items that were passed over; `worst` has the highest prices of all items and raters."""
    plan, seen = now.plan, history.seen
    assert seen is not None
    assert isinstance(plan.rule, Rule)
    over = history.passed_over
    prices = worst[:, -1].astype(np.float64)
    made = draw_again(plan.rule, seen, over, history.looked.uniform, plan.again, money=float(plan.spend), prices=prices)
    rows = AgainRows(np.flatnonzero(over), made.rates, made.asked)
    return NewAgain(now.number, plan.again, rows, worst[over, -1], made.factor)
