"""Which rows the strong ratings say nothing about: no label there, or a fit that runs away on them."""

from collections.abc import Sequence

import numpy as np

from ratewise.core.checks import Floats
from ratewise.core.ratings import Mask

_ALIGNED = 1e-9  # of the largest: a row whose predictor does not depend on an unknown direction
_NEARLY_ALL = 0.1  # quantile of a group's rows that moves
_RUNS = 0.2  # of the fastest group: one that runs as well


def unlabelled_rows(X: Floats, labelled: Mask) -> Mask:
    """Rows whose predictor the labelled rows cannot tell, because they do not span it."""
    size = np.sqrt((X**2).mean(axis=0))
    scaled = X / size
    _, values, right = np.linalg.svd(scaled[labelled], full_matrices=True)
    rank = int(np.count_nonzero(values > _ALIGNED * max(float(values.max(initial=0.0)), 1e-300)))
    moved = np.abs(scaled @ right[rank:].T).max(axis=1, initial=0.0)
    return np.asarray(moved > _ALIGNED * np.abs(scaled).max())


def running_rows(X: Floats, direction: Floats, groups: Sequence[Mask]) -> Mask:
    """Rows of the groups on which the predictor runs away along this direction: nearly all of a group's rows do.

    Every row, where it runs for another reason than one group's ratings: along a number, or for all of them.
    """
    moved = np.abs(X @ direction)
    slowest = np.array([float(np.quantile(moved[group], _NEARLY_ALL)) for group in groups] + [0.0])
    running = slowest > max(_RUNS * float(slowest.max()), _RUNS / 4 * float(moved.max()))
    if not running.any():
        return np.ones(moved.size, dtype=np.bool_)
    return np.asarray(np.any([group for group, runs in zip(groups, running[:-1], strict=True) if runs], axis=0))
