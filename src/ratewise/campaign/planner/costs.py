"""The most that items can cost, by the round that takes them up."""

import numpy as np

from ratewise.campaign.history import RoundPlan
from ratewise.queue.records import Units


def item_costs(plan: RoundPlan, worst: Units) -> Units:
    """Money that must be available for each item before it is taken up."""
    if plan.exact:
        return weak_costs(plan, worst)
    return np.asarray(worst.sum(axis=1) if plan.weak else worst[:, -1])


def weak_costs(plan: RoundPlan, worst: Units) -> Units:
    """Cost of each item's weak rating; 0 where it is not bought."""
    return worst[:, 0] if plan.weak else np.zeros_like(worst[:, 0])
