"""What one call to a rater costs, and the most it can cost."""

from ratewise.campaign.spec.spec import RaterSpec
from ratewise.queue.money import to_units
from ratewise.queue.records import Claim


def list_price(rater: RaterSpec, k: int, claim: Claim) -> int:
    """Price of one call, unless its reply says otherwise."""
    if rater.price is not None:
        return to_units(rater.price)
    assert claim.prices is not None
    return claim.prices[k]


def worst_price(rater: RaterSpec, k: int, claim: Claim) -> int:
    """What is reserved for one call."""
    return to_units(rater.max_price) if rater.max_price is not None else list_price(rater, k, claim)
