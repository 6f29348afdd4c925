"""What a queue of questions hands out and takes in, and the decisions about money that both queues share: the one in a
database (`store`) and the one of arrays (`memory`).
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ratewise.store.money import MOST

OPEN, ANSWERED, MISSING = 0, 1, 2  # states of a question
UNDO = "undo"  # in the ledger: a payment that was taken back with its answer
TEXTS = "texts"  # in the ledger: embeddings of the items' texts, paid before the campaign began
CHECK, UNCHECK = "check", "uncheck"  # in the ledger: paid for a hidden check or repeat, and taken back

Units = NDArray[np.int64]  # exact money, in billionths
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Refit:
    """What a model predicts of every item, trained on the labels of the rounds that were closed: the first so many."""

    round: int
    labels: int
    predictions: Floats


@dataclass(frozen=True, slots=True)
class Claim:
    """A question in somebody's hands."""

    position: int
    step: int  # number of the rater
    attempt: int
    id: str
    content: str
    prices: tuple[int, ...] | None  # of this item, where prices differ


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a claim: a value, or none with a note; `again` asks once more."""

    claim: Claim
    paid: int
    value: float | None = None
    note: str | None = None
    failed: bool = False
    again: int | None = None  # after a failure: money to reserve for another attempt
    doubt: float | None = None  # expected squared error of the value, where the rater tells it
    after: float = 0.0  # after a failure: seconds to wait at least
    off_scale: bool = False  # after a failure: there was an answer, and it is no rating
    charged: int | None = None  # what was asked for it, where that is more than was reserved: this is not paid


class RoundRow(NamedTuple):
    """A round as it is stored; the queue keeps its plan as text and does not read it."""

    number: int
    first: int
    plan: str
    factor: float | None
    items: int | None  # looked at; None while the round is open


@dataclass(frozen=True, slots=True)
class Batch:
    """Items from `first` to before `end`; cost is the worst of what was asked for or may be."""

    first: int
    end: int
    drawn: bool
    cost: int
    steps: int = 0  # raters after the first whose draws are made


@dataclass(frozen=True, slots=True, eq=False)
class NewBatch:
    """Items a round takes up: weak ratings are asked for at their prices, and money is held for the rest."""

    round: int
    first: int
    end: int
    cost: int  # at worst
    hold: int  # below 0: given back
    weak: Units | None  # prices of weak ratings; None: not bought


@dataclass(frozen=True, slots=True, eq=False)
class NewDraws:
    """Rates and draws of items from `first` on, and what drawing them does to the money."""

    round: int
    first: int
    rates: Floats  # items × raters after the first
    selected: Mask
    prices: Units  # items × raters after the first: reserved for what was drawn
    release: int  # held so far, given back
    costs: tuple[tuple[int, int], ...]  # (first item, cost) of each batch that is drawn now
    factor: float | None
    known: Floats | None = None  # strong ratings that are known already, NaN where none: settled at once, at no cost
    step: int = 1  # of the first column: raters before it were drawn earlier

    @property
    def end(self) -> int:
        """The step after the last column."""
        return self.step + int(self.rates.shape[1])


@dataclass(frozen=True, slots=True, eq=False)
class AgainRows:
    """Items that were drawn again: their positions and rates, and which were asked for."""

    positions: NDArray[np.intp]
    rates: Floats
    selected: Mask
    prices: Units | None = None  # of a new draw: what each row costs at most if it is asked for,
    factor: float | None = None  # and what rates were multiplied by


@dataclass(frozen=True, slots=True, eq=False)
class ItemRows:
    """Items in their order, with all that the queue knows of them."""

    uniform: Floats
    numbers: Floats  # items × columns, coded when the items were loaded
    values: Floats  # items × raters, NaN where there is no rating
    rates: Floats  # items × raters after the first
    selected: Mask
    doubts: Floats | None = None  # items × raters: how unsure each was of its rating, NaN where it told nothing


def now() -> str:
    """The time as text, for people to read; nothing is decided by it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


Entry = tuple[str, int, int | None, int | None, int]  # (kind, position, step, attempt, amount) of the ledger
Attempt = tuple[int, int, int]  # (position, step, attempt)


def fits(bound: int, more: int, *limits: int | None) -> bool:
    """Whether so much more may be bound: within every limit that is given, and within what a campaign can count."""
    return all(bound + more <= limit for limit in (*limits, MOST) if limit is not None)


def people_short(free: int, people: int, waiting: int) -> int:
    """How many people there are, at work or `waiting`, where they are short of questions, of which so many are free.

    They are where somebody has nothing to do, or will when the others have taken what is free; else it is 0. One person
    alone is never short before all is answered: then nothing is gained by going on without it.
    """
    return people if waiting > 0 or free < people - 1 else 0
