"""The client for people: hands out questions of raters of kind "people", and settles their answers."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ratewise.campaign.clients.callers import steps_of
from ratewise.campaign.planner.outcomes import people_price, rater_of
from ratewise.campaign.raters import rule_of
from ratewise.campaign.spec.spec import Spec
from ratewise.core.result import shown
from ratewise.errors import InputError
from ratewise.raters.people import PeopleSettings
from ratewise.store.accounts import spellings
from ratewise.store.desk import Desk, Heard, name_key


@shown
@dataclass(frozen=True, slots=True)
class Asked:
    """A question for a person: its key, who is to answer, and the item's row."""

    key: str
    rater: str
    item: Mapping[str, Any]
    until: float  # seconds since 1970: then others get it


@dataclass(frozen=True, slots=True)
class People:
    """Hands out questions and takes answers beside the process that plans, or without it."""

    spec: Spec
    desk: Desk

    def next(self, person: str) -> Asked | None:
        """The question this person has in hand, or another one; None where nothing is to be answered now."""
        person = self._spelled(person)
        for step in steps_of(self.spec):
            rater = self.spec.raters[rater_of(self.spec, step)]
            if not isinstance(rater.settings, PeopleSettings):
                continue
            lease = self.desk.lease(person, step, seconds=rater.settings.lease, votes=rater.settings.votes)
            if lease is not None:
                claim = lease.claim
                key = f"{claim.position}:{step}:{claim.attempt}"
                return Asked(key, rater.name, json.loads(claim.content), lease.until)
        return None

    def answer(self, person: str, key: str, rating: object, *, note: str = "") -> Heard:
        """Take an answer, which must be on the scale; None: cannot tell."""
        position, step, attempt = _parts(key)
        claim = self.desk.question(position, step)
        if claim is None or claim.attempt != attempt:
            return "was settled before"
        k = rater_of(self.spec, step)
        rater = self.spec.raters[k]
        if not isinstance(rater.settings, PeopleSettings):
            raise InputError(f"rater {rater.name!r} is not asked here; send the key that came with the question")
        try:
            value = None if rating is None else self.spec.number(k, rating)
        except ValueError as error:
            raise InputError(str(error)) from None
        rule, person = rule_of(rater.settings), self._spelled(person)
        return self.desk.answer(claim, person, value, note=note, price=people_price(rater, k, claim), rule=rule)

    def _spelled(self, person: str) -> str:
        """The name as it was first written: Ben and ben are one person, and have one vote."""
        return spellings(self.desk.store).get(name_key(person), person)


def _parts(key: str) -> tuple[int, int, int]:
    try:
        position, step, attempt = map(int, key.split(":"))
    except ValueError:
        raise InputError(f"{key[:40]!r} is no key of a question; send the one that came with it") from None
    return position, step, attempt
