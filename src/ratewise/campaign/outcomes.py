"""What a rater's reply is to the log, an answer, a missing rating or a failure to ask again; and what calls cost."""

from dataclasses import replace
from typing import Any

from ratewise.campaign.spec.spec import Spec
from ratewise.raters.protocol import Answer, Failure
from ratewise.raters.text import short
from ratewise.store.money import Hourly, shown, to_units
from ratewise.store.queue import Claim, Outcome


def list_price(spec: Spec, claim: Claim) -> int:
    """Price of one call, unless its reply says otherwise."""
    price = spec.at(claim.step).price
    if price is not None:
        return to_units(price)
    assert claim.prices is not None
    return claim.prices[spec.index(claim.step)]


def reserved(spec: Spec, claim: Claim) -> int:
    """What is reserved for one call: the most that it can cost."""
    most = spec.at(claim.step).max_price
    return list_price(spec, claim) if most is None else to_units(most)


def hourly(settings: Any) -> Hourly:
    """The pay of people who are paid by the hour."""
    return Hourly(to_units(settings.per_hour), settings.most_seconds, settings.answer_seconds)


def outcome_of(spec: Spec, claim: Claim, reply: Answer | Failure) -> Outcome:
    """Outcome of a reply. An answer that is not on the scale is a failure, paid as an answer.

    It is asked for again like one, unless it stands in a file.
    """
    if isinstance(reply, Failure):
        return failed(spec, claim, reply)
    charge = list_price(spec, claim) if reply.price is None else to_units(reply.price)
    if reply.value is None:
        return _paid(spec, Outcome(claim, charge, note=reply.note or "no answer"))
    try:
        value = spec.rating_of(claim.step, reply.value)
    except ValueError as error:
        wrong = failed(spec, claim, Failure(str(error)), charge)
        is_written = spec.at(claim.step).is_written  # and says the same however often it is asked
        return replace(wrong, off_scale=True, again=None if is_written else wrong.again)
    return _paid(spec, Outcome(claim, charge, value, reply.note or None, doubt=reply.doubt))


def _paid(spec: Spec, o: Outcome) -> Outcome:
    """The outcome at no more than was reserved for it; a higher charge is kept beside, as a dispute."""
    most = reserved(spec, o.claim)
    return o if o.paid <= most else replace(o, paid=most, charged=o.paid)


def disputed(spec: Spec, o: Outcome) -> str:
    """What is told of a charge above what was reserved."""
    what = "its rating is kept" if o.value is not None else "it brought no rating"
    return (
        f"rater {spec.at(o.claim.step).name!r} charged {shown(o.charged or 0)} for item {short(o.claim.id)}, and "
        f"{shown(o.paid)} were reserved as the most it can cost: {what}, {shown(o.paid)} is counted, and the rest is "
        "in dispute"
    )


def failed(spec: Spec, claim: Claim, failure: Failure, paid: int | None = None) -> Outcome:
    """Outcome of a failed call: paid, and asked again while attempts are left (they start anew after an outage)."""
    rater = spec.at(claim.step)
    said = failure.price if failure.price is not None else rater.failed_price
    if paid is None:
        paid = list_price(spec, claim) if said is None else to_units(said)
    again = reserved(spec, claim) if claim.attempt % rater.attempts else None
    return _paid(spec, Outcome(claim, paid, note=failure.reason, failed=True, again=again, after=failure.after))


def lost(spec: Spec, claim: Claim) -> Outcome | None:
    """Outcome of a call that nobody will hear of, where such calls count as paid: at their highest price."""
    if spec.at(claim.step).lost_calls != "count as paid":
        return None
    return failed(spec, claim, Failure("the process ended before the answer came"), reserved(spec, claim))
