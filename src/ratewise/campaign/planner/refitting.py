"""When a campaign trains a model on its own labels: first with a hundred, and again with a fifth more each time."""

from dataclasses import replace

import numpy as np

from ratewise.campaign.history import History, RoundPlan

LEAST_LABELS = 100  # in closed rounds, to train on
_GROWTH = 1.2  # times the labels of the last refit, to train again: short rounds are not worth one


def refit_is_due(history: History) -> bool:
    """Whether closed rounds have enough labels that no refit has seen, and these differ."""
    if history.seen is None or history.alone:
        return False
    labels = history.seen.strong[history.seen.labelled]
    return labels.size >= max(LEAST_LABELS, _GROWTH * history.taught) and bool(np.ptp(labels) > 0)


def long_start(plan: RoundPlan, *, pool: int, each: float) -> RoundPlan:
    """A start that a refit can follow, where that takes no more than half of the pool and of the money.

    Else a plan that goes by fewer labels could give up the weak rater before the texts were learned from.
    """
    most = min(pool / 2, plan.left / (2 * each) if each else pool)
    if plan.rule is not None or not plan.weak or plan.items is None or most < LEAST_LABELS:
        return plan
    return replace(plan, items=max(plan.items, LEAST_LABELS))
