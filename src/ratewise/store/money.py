"""Exact money: whole numbers of a billionth, which every database adds up without rounding; and pay by the hour."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction
from itertools import accumulate, takewhile

import numpy as np
from numpy.typing import NDArray

PLACES = 9
MOST = 9 * 10**18  # a campaign counts no further: its sums are 64-bit numbers in every database
_MOST = 2**63 - 1
_UNIT = Decimal(1).scaleb(-PLACES)


def to_units(amount: Decimal) -> int:
    """Billionths, rounded up where there are finer ones: what is spent is never counted too low."""
    with localcontext() as context:
        context.prec = 60
        return int((amount / _UNIT).to_integral_value(rounding=ROUND_CEILING))


def to_money(units: int) -> Decimal:
    """The exact amount, without trailing zeros."""
    amount = Decimal(units).scaleb(-PLACES)
    whole = amount.to_integral_value()
    return whole if amount == whole else amount.normalize()


def amount(exact: Decimal) -> str:
    """An amount for people: two decimals, or as many as it takes."""
    return f"{exact:,.2f}" if exact == exact.quantize(Decimal("0.01")) else f"{exact:,f}"


def in_currency(text: str, currency: str | None) -> str:
    """An amount that is text already, with its currency: $5, USD 5."""
    if currency is None:
        return text
    return f"{currency}{text}" if len(currency) == 1 else f"{currency} {text}"


def shown(units: int) -> str:
    """The same of an amount in units."""
    return amount(to_money(units))


def total(amounts: NDArray[np.int64]) -> int:
    """The exact sum: 64 bits hold a price, but not two thousand of the largest ones."""
    return int(amounts.sum()) if _is_small(amounts) else sum(amounts.ravel().tolist())


def how_many_fit(amounts: NDArray[np.int64], money: int) -> int:
    """How many of the first amounts the money pays for."""
    if _is_small(amounts):
        return int(np.searchsorted(np.cumsum(amounts), min(money, _MOST), side="right"))
    return sum(1 for _ in takewhile(lambda spent: spent <= money, accumulate(amounts.tolist())))


def _is_small(amounts: NDArray[np.int64]) -> bool:
    """Whether no sum of these can leave 64 bits."""
    return int(amounts.max(initial=0)) * amounts.size <= _MOST


_HOUR = 3600  # seconds


@dataclass(frozen=True, slots=True)
class Hourly:
    """An hour's pay in units; of one answer at most so many seconds count, and so many where nobody timed it."""

    hour: int
    most: float
    expected: float

    def counted(self, seconds: float | None, since: float) -> float:
        """Seconds of an answer that count: as the page has timed it, and no more than passed since it was given."""
        timed = self.expected if seconds is None else seconds
        return min(max(timed, 0.0), max(since, 0.0), self.most)

    def pay(self, seconds: Iterable[float | None]) -> int:
        """What answers that took so long cost together, each rounded up to a unit."""
        counted = (Fraction(str(self.expected if each is None else min(each, self.most))) for each in seconds)
        return sum(math.ceil(self.hour * each / _HOUR) for each in counted)  # exact: never above what was reserved
