"""Fits to closed rounds, kept while they are in use: labels that have not changed are not fitted again.

What closed rounds have shown (`Seen`) never changes, so that a fit is known by the object it was made from.
"""

from functools import lru_cache

import numpy as np

from ratewise.core.mean.clusters import Codes
from ratewise.core.mean.estimate import Estimate
from ratewise.core.mean.ratings import Mask
from ratewise.core.names import Estimand
from ratewise.rounds import auto, seen
from ratewise.rounds.seen import Learned, Seen

_KEPT = 8


@lru_cache(maxsize=_KEPT)
def learn(bought: Seen) -> Learned:
    """What the labels teach."""
    return seen.learn(bought)


def estimate_seen(
    bought: Seen, *, level: float, estimand: Estimand, pool_size: float | None, missing: Mask,
    bounds: tuple[float, float], clusters: Codes | None,
) -> Estimate:  # fmt: skip
    """One pooled estimate from all rounds."""
    groups = None if clusters is None else clusters.tobytes()
    return _estimate(bought, level, estimand, pool_size, missing.tobytes(), bounds, groups)


@lru_cache(maxsize=_KEPT)
def _estimate(
    bought: Seen, level: float, estimand: Estimand, pool_size: float | None, missing: bytes,
    bounds: tuple[float, float], clusters: bytes | None,
) -> Estimate:  # fmt: skip
    return auto.estimate_seen(
        bought, level=level, estimand=estimand, pool_size=pool_size, missing=np.frombuffer(missing, dtype=np.bool_),
        bounds=bounds, clusters=None if clusters is None else np.frombuffer(clusters, dtype=np.intp),
    )  # fmt: skip
