"""Do the labels look as if they were drawn as the table says? Their number, and their means, against the rates."""

import math
import warnings

import numpy as np

from ratewise.core.checks import Floats
from ratewise.core.messages import Message, argument
from ratewise.core.ratings import Mask
from ratewise.errors import RatewiseWarning, TableError

_REFUSED = 6.0  # standard deviations between the labels and the sum of rates: by chance once in 10⁹ tables
_WARNED = 4.0  # once in 16,000


def check_count(name: str, rates: Floats, drawn: Mask, source: str, counts: Floats | None = None) -> None:
    """The rows drawn are as many as the rates say; rows of rate 1 say nothing.

    Whether a row is drawn is independent of the others, so the number has the mean Σπ and the variance Σπ(1−π).
    `counts` says how many rows each entry stands for, where that is not one.
    """
    use = (rates > 0) & (rates < 1)
    q, often = rates[use], 1.0 if counts is None else counts[use]
    expected = float((often * q).sum())
    variance = float((often * q * (1 - q)).sum())
    check_number(name, int(np.count_nonzero(drawn & use)), expected, variance, source)


def check_number(name: str, count: int, expected: float, variance: float, source: str) -> None:
    """So many rows were drawn where this number was to be expected, with this variance."""
    sd = math.sqrt(variance)
    off = max(abs(count - expected) - 1.0, 0.0)  # one row more or less: whole numbers, and few of them
    if off <= _WARNED * sd:
        return
    said = (
        f"{count:,} rows of {name} are labelled, but {source} adds up to {expected:,.1f}, "
        f"{off / sd:.0f} standard deviations off"
    )
    missing = (
        "give the rows that were not drawn, too, if they were left out"
        if count > expected
        else f"name the column that says which items were asked for ({argument('selected')}) if answers are missing"
    )
    todo = f"{missing}, or give the rate that the labels were really drawn with ({argument('rate')})"
    if off > _REFUSED * sd:
        raise TableError(Message(f"{said}: these are not the rates of this draw; {todo}"))
    warnings.warn(Message(f"{said}; if it is not by chance, {todo}"), RatewiseWarning, stacklevel=5)


def chance_of(score: Floats, labelled: Mask, counts: Floats | None = None) -> float:
    """Bound on the chance that the mean score of rows drawn at random is as far from that of all rows (Bennett).

    It holds for draws without replacement, too (Hoeffding 1963, theorem 4). `counts` says how many rows each entry
    stands for, where that is not one.
    """
    often = np.ones(labelled.size) if counts is None else counts
    rows, n = round(float(often.sum())), round(float(often[labelled].sum()))
    if n > rows // 2:  # the rows left out are the smaller sample
        labelled, n = ~labelled, rows - n
    d = score - float(np.average(score, weights=counts))
    variance = float(np.average(d * d, weights=counts))
    off = float(np.average(d[labelled], weights=None if counts is None else counts[labelled]))
    most = float(d.max() if off > 0 else -d.min())
    if variance <= 0 or most <= 0:
        return 1.0
    x = abs(off) * most / variance
    return min(1.0, 2 * math.exp(-n * variance / most**2 * ((1 + x) * math.log1p(x) - x)))
