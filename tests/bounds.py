"""How far chance alone may carry a statistical test: binomial bounds at one stated false-alarm rate."""

import os
from typing import Any

import pytest
from scipy import stats

FALSE_ALARM = 1e-4  # of each statistical check; seeds are fixed, so a pass stays a pass


def further(*values: Any) -> Any:
    """One more cell of a study that `make test` has a part of: `make soak` runs it."""
    return pytest.param(*values, marks=pytest.mark.soak)


def so_many(all: int, *, some: int) -> int:
    """The same for a whole file: `make soak` runs all statistical tests with RATEWISE_SOAK=1."""
    return all if os.environ.get("RATEWISE_SOAK") == "1" else some


def sizes(some: int, all: int) -> list[Any]:
    """How many trials: some in `make test`, all in `make soak`, held to bounds that know how many they are."""
    return [some, further(all)]


def fewest(target: float, trials: int) -> float:
    """Share of successes below which a chance of `target` is implausible."""
    return float(stats.binom.ppf(FALSE_ALARM, trials, target)) / trials


def most(share: float, trials: int) -> float:
    """Share of misses above which a chance of `share` is implausible."""
    return float(stats.binom.isf(FALSE_ALARM, trials, share)) / trials
