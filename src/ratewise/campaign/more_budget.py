"""A goal that was changed after looking: what more money is expected to bring, before any of it is spent.

A result that was looked at before more was bought needs an interval that holds however often one looks. That is wider
than the interval of a campaign that nobody looked at on the way, and a little money may not make up for it.
"""

import math
from dataclasses import replace
from decimal import ROUND_CEILING, Decimal

from scipy import special

from ratewise.campaign import planner as p
from ratewise.campaign.estimates import level_of_look
from ratewise.campaign.history import RoundPlan
from ratewise.campaign.snapshot import reader_of
from ratewise.campaign.spec.spec import Spec
from ratewise.core.estimate import Estimate
from ratewise.design.second_look import variance_now
from ratewise.store.money import to_money, to_units
from ratewise.store.store import Store

_CLEARLY = 0.85  # of the interval there is: what comes out differs from what is expected by a tenth or so
_STEPS = 12  # of the search for a budget that is enough: to a part in 4,000 of what everything would cost


def warning_of(spec: Spec, store: Store, before: Estimate | None) -> str | None:
    """What to warn of where the goal that was changed is not expected to make the result's interval clearly narrower.

    `None` where it is, and where there is nothing to compare with: `before` is the result by the old goal.
    """
    if before is None or before.interval is None or not before.standard_error:
        return None
    state, half = reader_of(spec, store).state(), 0.5 * (before.interval[1] - before.interval[0])
    width = _width(state, before, half)
    if width is None or width <= _CLEARLY:
        return None
    there = f"the interval there is (± {half:.4f})"
    if math.isinf(width):
        return (
            "nothing more can be bought with this goal, and a goal that was changed after looking makes the "
            f"interval wider than {there}; change it back to keep that"
        )
    how = f"wider than {there}" if width > 1 else f"hardly narrower than {there}, and by chance it may get wider"
    enough = _enough(state, before, half)
    todo = "Change it back to keep that: no budget is known to be enough"
    if enough is not None:
        todo = f"Raise the budget to {enough:,f} or more, or change it back"
    return (
        f"with this goal the result is expected to be ± {width * half:.4f}, {how}: one that was looked at must hold "
        f"for every further look. {todo}"
    )


def _width(state: p.State, before: Estimate, half: float) -> float | None:
    """The interval's expected width over its width now; infinite where nothing can be bought, None where unknown."""
    plan = p.next_plan(state) if state.open is None else state.open.plan
    if plan is None:
        return math.inf
    error, wanted, rounds = _error(state, plan, before), state.terms.wanted, state.history.rounds
    if error is None or not before.standard_error:
        return None
    present = _z(before.level)  # standard errors in half the interval there is: more if it may be looked at already
    if before.interval_method.startswith("anytime"):
        present = min(max(half / before.standard_error, present), _z(level_of_look(wanted, rounds)))
    more = 1  # rounds that the money is expected to take: each spends at most as much as all before it
    if not plan.again and plan.spend < plan.left and state.spent:
        more = max(1, math.ceil(math.log2(1.0 + plan.left / state.spent)))
    return error * _z(level_of_look(wanted, rounds + more)) / present


def _error(state: p.State, plan: RoundPlan, before: Estimate) -> float | None:
    """The expected standard error over the present one, both as the planner sees them where it can."""
    history, wanted = state.history, state.terms.wanted
    if wanted.inputs is not None:  # plans by strata are on a scale of their own: the error goes with the money's root
        spent = state.spent + state.free
        return math.sqrt(spent / (spent + plan.left)) if spent > 0 else None
    if plan.again and history.seen is not None and plan.expected_se is not None:
        now = variance_now(history.seen, population=wanted.estimand == "population")
        return plan.expected_se / math.sqrt(now) if now > 0 else None
    if plan.expected_se is not None and before.standard_error:
        return plan.expected_se / before.standard_error
    if plan.policy != "base" or plan.items is None or not history.labels:
        return None
    lost = 1.0 / wanted.size if wanted.estimand == "pool" else 0.0
    more, there = (max(1.0 / n - lost, 0.0) for n in (history.labels + plan.items, history.labels))
    return math.sqrt(more / there) if there > 0 else None


def _z(level: float) -> float:
    return float(special.ndtri(0.5 + level / 2))


def _enough(state: p.State, before: Estimate, half: float) -> Decimal | None:
    """The least budget with which the interval is expected to be clearly narrower, to two digits of what is added."""
    terms, history = state.terms, state.history
    if state.open is not None or terms.budget is None:
        return None

    def does(budget: int) -> bool:
        width = _width(replace(state, terms=replace(terms, budget=budget)), before, half)
        return width is not None and width <= _CLEARLY

    passed_over = 0 if history.seen is None else int(history.passed_over.sum())
    everything = (terms.pool - history.items) * sum(terms.prices) + passed_over * terms.prices[-1]
    low, high = terms.budget, state.spent + math.ceil(everything)
    if high <= low or not does(high):
        return None
    for _ in range(_STEPS):
        middle = (low + high) // 2
        low, high = (low, middle) if does(middle) else (middle, high)
    value, added = to_money(high), to_money(high - terms.budget)
    digit = Decimal(1).scaleb(added.adjusted() - 1)
    told = (value / digit).to_integral_value(ROUND_CEILING) * digit
    return told if does(to_units(told)) else value
