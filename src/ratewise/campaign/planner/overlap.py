"""Rounds that overlap: how the next one is planned while answers of others are out (METHODS section 13).

The next round may use what closed rounds say, and of open rounds what was known before anyone answered: their items,
their rates, and the most they can cost. So its rates do not depend on answers that are out, and the labels of open
rounds weigh by a rule that none of them has shaped.

While much is out, a round is no longer than people need to be busy until the answers are in: it knows little.
"""

import math
from dataclasses import replace

import numpy as np

from ratewise.campaign.history import History
from ratewise.campaign.planner.state import Overlap, State

_EACH = 2  # questions for each person at work, that a round has which bridges the time until answers are in
_MUCH = 0.5  # of the labels in closed rounds: with more than that out, a round only bridges


def overlapping(state: State, taken: History) -> State:
    """The state that the next round is planned from while rounds are open, whose items are `taken` as well."""
    assert state.open is not None
    assert state.demand is not None
    cost = state.open.cost + sum(each.cost for each in state.behind)
    overlap = Overlap(state.history, cost, state.demand.people)
    return replace(
        state, history=taken, overlap=overlap, spent=state.spent_closed + cost, open=None, behind=(), ahead=None
    )  # fmt: skip


def most_labels(state: State) -> float:
    """How many strong ratings the next round may ask for; infinite where it may be as long as any."""
    if state.overlap is None:
        return math.inf
    closed, history = state.overlap.closed, state.history
    out = int(np.count_nonzero(history.looked.selected[closed.items :, -1]))
    if out <= _MUCH * closed.labels:
        return math.inf
    return float(_EACH * state.overlap.people * 2 ** (history.rounds - closed.rounds - 1))  # longer, if it drags on
