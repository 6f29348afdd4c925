"""The variance that unseen kinds of pairs add to a difference.

Where nearly all items have the same difference, as with two systems that are both right 98 % of the time, the spread
that was seen is that of the few items that happened to differ. So one more is imagined, half of it in favour of either
system: the remedy of Agresti and Min (2005) for pairs of 0/1 ratings, here at the labels' own rates. A whole one in
favour of either, as Bonett and Price (2012) have it, is wider and no better here. What is imagined is not estimated: it
adds no doubt about the variance, and so raises its degrees of freedom.
"""

import math
from dataclasses import replace

import numpy as np
from scipy import special

from ratewise.core.checks import Floats
from ratewise.core.clusters import Codes
from ratewise.core.estimate import Estimate

_MOSTLY = 0.5  # share of equal differences from which the others are taken as few
_FEWEST_LABELS = 2
_IMAGINED = 1.0  # items unlike the rest, half in favour of either system
_NOTHING_SEEN = "all items have the same difference: the interval is that of one item that differs, not seen yet"


def unseen_variance(
    d: Floats, rates: Floats, *, items: int, pool_size: float, reach: float | None, codes: Codes | None
) -> float:
    """Variance of a mean of differences that half an item more in favour of either system would add.

    `d`, `rates` and `codes` are the labels'. An item unlike the rest is as far off as the furthest one seen, or `reach`
    (the width of the scale) where none is; of clusters, as many come together as one has labels.

    Limiting cases: every item rated, for the population: 1/n² for 0/1 ratings, Agresti and Min's; every item of the
    pool rated: 0; fewer than half of the differences equal, or none unlike and no known scale: 0.
    """
    values, counts = np.unique(d, return_counts=True)
    if d.size < _FEWEST_LABELS or counts.max() < _MOSTLY * d.size:
        return 0.0
    far = float(np.abs(values - values[np.argmax(counts)]).max()) or reach or 0.0
    each = (1 - rates) / rates**2 + (1 - items / pool_size) / rates
    return _IMAGINED * far**2 * float(each.mean()) / items**2 * _together(codes)


def _together(codes: Codes | None) -> float:
    """Number of labels in the cluster of a label, on average."""
    if codes is None:
        return 1.0
    size = np.bincount(codes)
    return float(np.dot(size, size)) / float(size.sum())


def widened(found: Estimate, unseen: float, *, level: float) -> Estimate:
    """Student's interval with this variance added, symmetric as before; the standard error stays as it was."""
    if unseen <= 0:
        return found
    p = 0.5 + level / 2
    if found.interval is None:
        half = float(special.ndtri(p)) * math.sqrt(unseen)
        return replace(found, interval=(found.value - half, found.value + half), notes=(_NOTHING_SEEN,))
    df = found.degrees_of_freedom
    assert df is not None, "Student's interval has degrees of freedom"
    seen = (0.5 * (found.interval[1] - found.interval[0]) / float(special.stdtrit(df, p))) ** 2
    df *= (1 + unseen / seen) ** 2  # Satterthwaite's, with a part that is known
    half = float(special.stdtrit(df, p)) * math.sqrt(seen + unseen)
    return replace(found, interval=(found.value - half, found.value + half), degrees_of_freedom=df)
