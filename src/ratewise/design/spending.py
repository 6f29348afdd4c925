"""Decides what to buy next, for simulations and campaigns alike. State in, a round out; it buys nothing.

A round says which items are looked at and how much money it has. Its rates use what earlier rounds have shown and
nothing else, so whoever buys it may do so in any order, in several processes, and after a crash.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ratewise.core.checks import Floats
from ratewise.core.draw import draw_within, scaled_to
from ratewise.core.looking import whole_items
from ratewise.core.ratings import Mask
from ratewise.design.auto import Round, plan_round, start_labels
from ratewise.design.options import Money
from ratewise.design.seen import FEWEST_TO_LEARN, Learned, Phase, Rule, Seen, mass
from ratewise.learn.rating_model import Covariates

FEWEST_LABELS = 8  # a budget for fewer buys strong ratings alone: there is nothing to learn from them
_TAUGHT_LABELS = 50  # with fewer of its own, a campaign goes by what another table taught
_ROUNDING = 1e-10  # of a price: what adding up may be off by


def next_round(
    seen: Seen,
    money: Money,
    *,
    learned: Learned | None = None,
    teacher: Learned | None = None,
    free_features: bool = True,
    closed: Seen | None = None,
    most: float = math.inf,
) -> Round | None:
    """The next round; `None` where the money or the pool is used up.

    It starts with labels paid from the budget (few of them with a teacher), unless the budget is too small to learn
    from or large enough to rate the whole pool. Once strong ratings are bought without weak ones it stays with that:
    items without a weak rating cannot be pooled with others. Of `closed` and `most`, see `plan_round`.
    """
    if money.pool_left <= 0:
        return None
    alone = bool(seen.phases) and not seen.phases[-1].weak
    price = money.strong_cost if alone else money.both
    if money.left < price * (1 - 1e-12):
        return strong_alone(money) if not seen.phases and money.left >= money.strong_cost else None
    if alone and not seen.by_features:
        return strong_alone(money)
    labels = int(np.count_nonzero(seen.labelled))
    if labels == 0 or (labels < FEWEST_TO_LEARN and teacher is None):
        return _first_round(money, teacher)
    taught = teacher if labels < _TAUGHT_LABELS else None
    return plan_round(
        seen, money, learned=learned, teacher=taught, free_features=free_features, closed=closed, most=most
    )


def _first_round(money: Money, teacher: Learned | None) -> Round:
    enough = money.left >= money.strong_cost * money.pool_left  # for everything, also where it is free
    labels = math.inf if enough else money.left / money.both
    return strong_alone(money) if enough else start(money, labels, teacher)


def start(money: Money, labels: float, teacher: Learned | None = None) -> Round:
    """The start: all raters rate the first items, for the price of so many labels; strong alone if these are few."""
    if labels < FEWEST_LABELS:
        return strong_alone(money)
    count = start_labels(labels, money.pool_left) if teacher is None else FEWEST_LABELS
    count = int(min(count, money.pool_left))
    return Round("base", None, count * money.both, count, weak=True)


def strong_alone(money: Money) -> Round:
    """All the strong ratings that the money buys."""
    return Round("base", None, money.left, money.strong_ratings(), weak=False)


# Drawing a round, and pooling it with those before


@dataclass(frozen=True, slots=True, eq=False)
class RoundDraw:
    """The items of a round that are asked about."""

    rule: Rule  # with the factor that spends the money, where all of it is to be spent
    before: Floats  # mass of earlier rounds
    rates: Floats
    asked: Mask
    own_rates: Floats

    def first(self, items: int) -> "RoundDraw":
        """The draw of the first `items` items."""
        return replace(self, before=self.before[:items], rates=self.rates[:items], asked=self.asked[:items])


def draw_round(rule: Rule, own_rates: Floats, seen: Seen, x: Covariates, uniforms: Floats) -> RoundDraw:
    """Draw each item by its rate and its own random number."""
    before = mass(seen.phases, x)
    rates = rule.rates(x, before)
    return RoundDraw(rule, before, rates, np.asarray(uniforms < rates), own_rates)


def draw_exact_round(
    planned: Rule,
    own_rates: Floats,
    seen: Seen,
    x: Covariates,
    uniforms: Floats,
    *,
    money: float,
    prices: Floats | float,
) -> RoundDraw:
    """Rates scaled so that strong ratings at these prices are expected to cost `money`, and as many as fit into it."""
    rule = planned.scaled(1.0)
    price = np.broadcast_to(np.asarray(prices, dtype=np.float64), uniforms.shape)
    before, u = mass(seen.phases, x), rule.u(x)
    rule = rule.scaled(scaled_to(rule.rates_for(u, before), _whole(money, price), price))
    rates = rule.rates_for(u, before)
    asked = draw_within(rates, uniforms, price, money + _ROUNDING * price.max(initial=0.0))
    return RoundDraw(rule, before, rates, asked, rule.scaled_rates(own_rates))


def pooled(
    seen: Seen, x: Covariates, strong: Floats, *, rule: Rule | None, weak: bool, own_rates: Floats,
    factor: float | None = None, before: Floats | None = None, rates: Floats | None = None,
    given: Floats | None = None,
) -> Seen:  # fmt: skip
    """Everything bought, with one more round: its items, their strong ratings, and the rule that they were drawn by.

    `factor` is that of a rule as it was planned, before the draw. What the draw has worked out (`before`, `rates`) is
    computed again where it is not given. `given` are rates that old labels of the items were drawn with.
    """
    if rule is not None and factor is not None:
        rule = rule.scaled(factor)
        own_rates = rule.scaled_rates(own_rates)
    before = mass(seen.phases, x) if before is None else before
    return seen.joined(x, strong, before, Phase(x.items, rule, weak), own_rates, rates=rates, given=given)


def _whole(money: float, price: NDArray[np.float64]) -> float:
    """The money that whole ratings can use; all of it where prices differ."""
    first = float(price[0]) if price.size else 0.0
    if first <= 0 or np.any(price != first):
        return max(money, 0.0)
    return first * float(np.clip(whole_items(money / first), 0, price.size))
