"""The most that items can cost, by the round that takes them up."""

import numpy as np

from ratewise.campaign.history import RoundPlan
from ratewise.store.queue import Units


def item_costs(plan: RoundPlan, worst: Units) -> Units:
    """Money that must be available for each item before it is taken up."""
    if plan.exact:
        return sure_costs(plan, worst)
    return np.asarray(worst[:, plan.uses(worst.shape[1])].sum(axis=1))


def weak_costs(plan: RoundPlan, worst: Units) -> Units:
    """Cost of each item's first rating, asked for when it is taken up; 0 where it is not bought."""
    return worst[:, 0] if plan.asks_first else np.zeros_like(worst[:, 0])


def sure_costs(plan: RoundPlan, worst: Units) -> Units:
    """What each item costs whatever is drawn: the ratings of those who see every item."""
    if plan.design is None or not plan.weak:
        return weak_costs(plan, worst)
    return np.asarray(worst[:, list(plan.design.first)].sum(axis=1))
