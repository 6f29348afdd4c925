"""Draws of a round of a chain that learns. One random number serves all steps, so that they are nested."""

import math
from dataclasses import dataclass

import numpy as np

from ratewise.core.checks import Floats
from ratewise.core.draw import draw_within, scaled_to
from ratewise.core.ratings import Mask
from ratewise.design.step_rule import StepRule, roots
from ratewise.design.step_seen import StepSeen
from ratewise.learn.rating_model import Covariates

_ROUNDING = 1e-10  # of a price: what adding up may be off by
_LEAST = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class StepDraw:
    """Rates and draws, items × steps."""

    rates: Floats
    asked: Mask
    factor: float | None = None


def draw_steps(rule: StepRule, seen: StepSeen, x: Covariates, said: Floats, uniforms: Floats) -> StepDraw:
    """Draw each item at every step by its rate and its own random number."""
    rates = rule.rates(x, said, seen.mass_before(x, said))
    return StepDraw(rates, np.asarray(uniforms[:, None] < rates))


def draw_exact_steps(
    rule: StepRule, seen: StepSeen, x: Covariates, said: Floats, uniforms: Floats, *, money: float, prices: Floats
) -> StepDraw:
    """Draw the steps by rates that are expected to spend the money, and of the last rater's as many as the rest buys.

    `prices` are items × steps. Steps never take more than the money. The last rater's rates are scaled among the items
    that have reached it, so that the money is spent to the last label.
    """
    expected = _raw(rule, seen, x, np.full_like(said, np.nan))
    steps = scaled_to(expected.ravel(), money, prices.ravel())
    raw = _raw(rule, seen, x, said)
    rates = rule.with_factors(steps, 1.0).scaled(raw)
    asked = np.zeros(raw.shape, dtype=np.bool_)
    there, left = np.ones(uniforms.size, dtype=np.bool_), money
    for k in range(raw.shape[1] - 1):
        asked[:, k] = there & (uniforms < rates[:, k])
        asked[asked[:, k], k] = np.cumsum(prices[asked[:, k], k]) <= left
        there, left = asked[:, k], left - float(prices[asked[:, k], k].sum())
    share = np.maximum(raw[:, -1] / rates[:, -2], _LEAST)[there]  # of those who are left, how many go on
    price = prices[there, -1]
    last = scaled_to(share, max(left, 0.0), price)
    rates = rule.with_factors(steps, last).scaled(raw)
    room = left + _ROUNDING * float(price.max(initial=0.0))
    asked[there, -1] = draw_within(rates[there, -1], uniforms[there], price, room)
    return StepDraw(rates, asked, last)


def factors_of(rule: StepRule, seen: StepSeen, x: Covariates, said: Floats, rates: Floats, last: float) -> StepRule:
    """The rule of an exact round with the factors that its rates show; `last` is the one that was written down."""
    raw = _raw(rule, seen, x, said)[:, 0]
    below = rates[:, 0] < 1.0
    steps = float(np.median(rates[below, 0] / raw[below])) if below.any() else math.inf
    return rule.with_factors(steps, last)


def _raw(rule: StepRule, seen: StepSeen, x: Covariates, said: Floats) -> Floats:
    return rule.rates_for(roots(rule.errors(x, said), rule.costs), seen.mass_before(x, said))
