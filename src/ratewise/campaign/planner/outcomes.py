"""What a rater's reply is to the log, an answer, a missing rating or a failure to ask again; and what calls cost."""

from dataclasses import replace
from decimal import Decimal

from ratewise.campaign.spec.spec import RaterSpec, Spec
from ratewise.raters.people import PeopleSettings
from ratewise.raters.protocol import Answer, Failure
from ratewise.store.money import Hourly, shown, to_units
from ratewise.store.queue import Claim, Outcome


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


_DEAREST = to_units(Decimal(1_000_000))


def rater_of(spec: Spec, step: int) -> int:
    """The number of the rater of a step; the strong one where only it is asked."""
    return step if len(spec.raters) > 1 else 0


def reserved(spec: Spec, claim: Claim) -> int:
    """What is reserved for one call."""
    k = rater_of(spec, claim.step)
    return worst_price(spec.raters[k], k, claim)


def dearest(spec: Spec, claim: Claim) -> int:
    """The most that a call may charge before its price is taken for a mistake."""
    return max(reserved(spec, claim), _DEAREST)


def outcome_of(spec: Spec, claim: Claim, reply: Answer | Failure) -> Outcome:
    """Outcome of a reply. An answer that is not on the scale is a failure, paid as an answer.

    It is asked for again like one, unless it stands in a file.
    """
    if isinstance(reply, Failure):
        return failed(spec, claim, reply)
    k = rater_of(spec, claim.step)
    paid = list_price(spec.raters[k], k, claim) if reply.price is None else to_units(reply.price)
    if paid > dearest(spec, claim):
        return _too_dear(spec, claim, paid)
    if reply.value is None:
        return Outcome(claim, paid, note=reply.note or "no answer")
    try:
        value = spec.rating(k, reply.value)
    except ValueError as error:
        wrong = failed(spec, claim, Failure(str(error)), paid)
        is_written = spec.raters[k].settings.is_written  # and says the same however often it is asked
        return replace(wrong, off_scale=True, again=None if is_written else wrong.again)
    return Outcome(claim, paid, value, reply.note or None, doubt=reply.doubt)


def failed(spec: Spec, claim: Claim, failure: Failure, paid: int | None = None) -> Outcome:
    """Outcome of a failed call: paid, and asked again while attempts are left (they start anew after an outage)."""
    k = rater_of(spec, claim.step)
    rater = spec.raters[k]
    said = failure.price if failure.price is not None else rater.failed_price
    if paid is None:
        paid = list_price(rater, k, claim) if said is None else to_units(said)
        if paid > dearest(spec, claim):
            return _too_dear(spec, claim, paid)
    again = worst_price(rater, k, claim) if claim.attempt % rater.attempts else None
    return Outcome(claim, paid, note=failure.reason, failed=True, again=again, after=failure.after)


def _too_dear(spec: Spec, claim: Claim, paid: int) -> Outcome:
    """Outcome of an absurd price: it counts as what was reserved, and the answer is not believed either."""
    reason = f"charged {shown(paid)}; a call may charge at most {shown(dearest(spec, claim))}"
    return failed(spec, claim, Failure(reason), reserved(spec, claim))


def lost(spec: Spec, claim: Claim) -> Outcome | None:
    """Outcome of a call that nobody will hear of, where such calls count as paid: at their highest price."""
    if spec.at(claim.step).lost_calls != "count as paid":
        return None
    return failed(spec, claim, Failure("the process ended before the answer came"), reserved(spec, claim))
