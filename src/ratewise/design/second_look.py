"""A second look at items that were passed over: more money after a pool was looked at whole (METHODS section 13).

An item that the rounds would give a strong rating with chance π̄ and that has none is drawn again with a chance p₂ of
our choosing. Whether it ends with a label then has the chance 1 − (1 − π̄)(1 − p₂), and every label counts by that, also
those that were there before: their p₂ is what they would have been given, by a rule made without them. As π̄, p₂ is
best where it brings the total to clip(γ·sqrt(u), floor, 1). More money always buys something until every item has a
label, and then the pool's mean is known.
"""

from dataclasses import replace

import numpy as np

from ratewise.core.checks import Floats
from ratewise.core.draw import draw_within, scaled_to, uniform
from ratewise.core.names import PolicyName
from ratewise.core.ratings import Mask
from ratewise.design.options import Money, Options
from ratewise.design.rounds import ROUNDING, NextRound, RoundDraw
from ratewise.design.seen import Importance, Rule, Seen, times

_LEAST = 1e-3  # rate of items that have had their share already, where money is left over


def plan_again(
    seen: Seen, money: Money, *, population: bool = False, importance: Importance | None = None
) -> NextRound[Rule]:
    """A round at the best rates in all for the money spent and unspent, over the items seen.

    Of a population's mean, the items seen are a sample, and their variance stays whatever is bought.
    """
    known, rates = seen.learned, seen.rates()
    whole = replace(seen, mass=rates * seen.items, given=None)
    options = Options.of(known, whole, replace(money, weak_cost=0.0, pool_left=0.0), importance=importance)
    best, before = options.best, rates[seen.labelled]
    own = options.of_labels(lambda o, here: _missing(o.scale * np.sqrt(o.own[here]), o.floor, before[here]))
    policy: PolicyName = "random" if best.error.kind == "constant" else "active"
    total = before + (1.0 - before) * own  # of the labels, whose squared residuals stand in for u
    added = known.mean(options.squared * (1.0 / total - 1.0))
    expected = (added + population * options.variance) / seen.items
    rule = best.rule(known, seen.items, weak=not seen.by_features)
    return NextRound(policy, rule, money.left, 0, weak=not seen.by_features, own_rates=own, expected_variance=expected)


def variance_now(seen: Seen, *, population: bool = False) -> float:
    """The squared error so far, as `plan_again` sees it: what its own expectation is to be compared with."""
    known = seen.learned
    added = known.mean(known.squared * (1.0 / seen.rates()[seen.labelled] - 1.0))
    return (added + population * known.variance) / seen.items


def again_rates(rule: Rule, seen: Seen, factor: float) -> Floats:
    """p₂ of all items seen, times the factor that spends the money."""
    raw = _missing(rule.scale * np.sqrt(rule.u(seen.x)), rule.floor, seen.rates())
    return times(raw, factor)


def _missing(wanted: Floats, floor: float, before: Floats) -> Floats:
    rest = np.maximum(1.0 - before, 1e-12)
    return np.clip((np.clip(wanted, floor, 1.0) - before) / rest, _LEAST, 1.0)


def draw_again(
    rule: Rule, seen: Seen, passed_over: Mask, uniforms: Floats, look: int, *, money: float, prices: Floats
) -> RoundDraw:
    """Draw again at rates that spend the money, by random numbers independent of the first draw.

    A new number is the hash of the item's first one, so that it can be replayed from the log alone.
    """
    price = prices[passed_over]
    raw = again_rates(rule, seen, 1.0)[passed_over]
    factor = scaled_to(raw, max(money, 0.0), price)
    rates = times(raw, factor)
    names = np.array([repr(float(r)) for r in uniforms[passed_over].tolist()], dtype=object)
    fresh = uniform(names, seed=f"again:{look}")
    asked = draw_within(rates, fresh, price, money + ROUNDING * price.max(initial=0.0))
    return RoundDraw(rates, asked, factor)
