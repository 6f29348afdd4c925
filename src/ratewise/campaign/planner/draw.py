"""Draws the items of a batch that the raters are asked about."""

from dataclasses import dataclass

import numpy as np

from ratewise.campaign.history import History, Looked
from ratewise.campaign.planner.costs import weak_costs
from ratewise.campaign.planner.state import OpenRound
from ratewise.core.checks import Floats
from ratewise.core.mean.ratings import Mask
from ratewise.core.shown import shown
from ratewise.queue.money import total
from ratewise.queue.records import AgainRows, NewAgain, Units
from ratewise.rounds.again import draw_again
from ratewise.rounds.chain_rounds import ChainRule
from ratewise.rounds.seen import Rule
from ratewise.rounds.spending import draw_exact_round, draw_round


@shown
@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """Rates and draws of a batch, items × raters after the first."""

    rates: Floats
    selected: Mask
    factor: float | None = None


def draw_batch(history: History, now: OpenRound, looked: Looked, worst: Units) -> Drawn:
    """Draw items by the round's rule and their random numbers; `worst` has the highest prices, items × raters."""
    n, later = looked.rates.shape
    rule = now.plan.rule
    if rule is None:
        asked = np.ones((n, later), dtype=np.bool_)
        asked[:, :-1] = now.plan.weak
        return Drawn(np.ones((n, later)), asked)
    x = history.filled(looked.x)
    if isinstance(rule, ChainRule):
        rates = rule.rates(x.weak)
        return Drawn(rates, np.asarray(looked.uniform[:, None] < rates))
    assert history.seen is not None
    if now.plan.exact:
        money = float(now.plan.spend - total(weak_costs(now.plan, worst)))
        prices = worst[:, -1].astype(np.float64)
        d = draw_exact_round(rule, now.plan.own_rates, history.seen, x, looked.uniform, money=money, prices=prices)
        return Drawn(d.rates[:, None], d.asked[:, None], d.rule.factor)
    d = draw_round(rule, now.plan.own_rates, history.seen, x, looked.uniform)
    return Drawn(d.rates[:, None], d.asked[:, None])


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
