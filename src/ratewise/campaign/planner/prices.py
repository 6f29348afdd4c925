"""What one call to a rater costs, and the most it can cost."""

from ratewise.campaign.spec.raters import RaterSpec
from ratewise.raters.people import PeopleSettings
from ratewise.store.money import Hourly, to_units
from ratewise.store.queue import Claim


def list_price(rater: RaterSpec, k: int, claim: Claim) -> int:
    """Price of one call, unless its reply says otherwise."""
    if rater.price is not None:
        return to_units(rater.price)
    assert claim.prices is not None
    return claim.prices[k]


def people_price(rater: RaterSpec, k: int, claim: Claim) -> int | Hourly:
    """What people are paid for an item: its list price, or by the time that each of them takes."""
    settings = rater.settings
    assert isinstance(settings, PeopleSettings)
    if settings.per_hour is None:
        return list_price(rater, k, claim)
    return hourly(settings)


def hourly(settings: PeopleSettings) -> Hourly:
    """The pay of people who are paid by the hour."""
    assert settings.per_hour is not None
    return Hourly(to_units(settings.per_hour), settings.most_seconds, settings.answer_seconds)


def worst_price(rater: RaterSpec, k: int, claim: Claim) -> int:
    """What is reserved for one call."""
    return to_units(rater.max_price) if rater.max_price is not None else list_price(rater, k, claim)
