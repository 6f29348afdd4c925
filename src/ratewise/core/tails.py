"""Ratings with a long tail: where the interval may miss more often than it says, because its largest were not drawn.

Nothing that is computed from labels bounds what is not among them, so there is a note, and no wider interval.
"""

import math

import numpy as np

from ratewise.core.case import Case
from ratewise.core.checks import Floats
from ratewise.core.intervals import Spread
from ratewise.core.messages import Message, argument
from ratewise.core.ratings import Ratings

TAIL = "ratings have a long tail"  # as the note begins
_SKEWED = 0.2  # skewness of the estimate's error: Cochran's n > 25 γ² for a plain mean, where it is γ/√n
_BY_CHANCE = 3.0 * math.sqrt(6.0)  # over n: three standard errors of that skewness for normal ratings
_STEPS = 60  # in 1: ratings of a scale are whole numbers, tenths, or means of a few votes
_LONGEST_SCALE = 100.0


def tail_note(s: Spread, data: Ratings, kind: str, case: Case) -> tuple[str, ...]:
    """The note on a long tail; empty where the scale has ends, or the interval needs no symmetry."""
    if kind not in ("t", "normal", "bootstrap") or case.how.bounds is not None:
        return ()
    if abs(s.skewness) <= max(_SKEWED, _BY_CHANCE / max(s.labels, 1)) or of_a_scale(data.strong[data.labelled]):
        return ()
    return (
        Message(
            f"{TAIL} (a few are far from the rest): the interval may miss the mean more often than "
            f"{1 - case.how.level:.0%} of the time, because the largest ratings may not be among the labels. Label "
            f"more; if the scale has ends, give {argument('bounds=(low, high)')}"
        ),
    )


def of_a_scale(strong: Floats) -> bool:
    """Whether ratings look like those of a scale: all from −1 to 1, or in steps over a range of at most 100."""
    if not strong.size or np.abs(strong).max() <= 1.0:
        return True
    return bool(np.ptp(strong) <= _LONGEST_SCALE and in_steps(strong))


def in_steps(strong: Floats) -> bool:
    """Whether all ratings are whole numbers, tenths, or means of a few votes."""
    steps = strong * _STEPS
    return bool(np.all(np.abs(steps - np.round(steps)) < 1e-6))
