"""People as raters: they are not called. Their questions stay open until another client brings answers."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from ratewise.raters.keys import Says
from ratewise.raters.kind import RaterKind

_MOST_VOTES = 99
_LONGEST_LEASE = 31_536_000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleSettings:
    """The keys of kind "people"; the price is that of an item, however many answer."""

    votes: Annotated[int, Field(ge=1, le=_MOST_VOTES), Says(f"a whole number from 1 to {_MOST_VOTES}")] = 1
    lease: Annotated[
        float, Field(gt=0, le=_LONGEST_LEASE), Says(f"a number of seconds above 0, at most {_LONGEST_LEASE:,.0f}")
    ] = 600.0


KIND = RaterKind(
    settings=PeopleSettings,
    make=None,
    example=(
        ("votes = 1", "answers of people, who take their time; the median counts"),
        ("lease = 600", "seconds that a person has for a question before others get it"),
    ),
    fixed={"votes": "ratings so far were made of the old number of answers"},
)
