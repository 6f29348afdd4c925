"""Items that belong together: several from one conversation, document or person, whose errors are alike."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ratewise.core.checks import Floats
from ratewise.errors import InputError

Codes = NDArray[np.intp]


def cluster_codes(clusters: ArrayLike, items: int) -> Codes:
    """A number from 0 for each item's cluster; names may be text or numbers, and none may be missing."""
    names = np.asarray(clusters)
    if names.shape != (items,):
        raise InputError(f"clusters must have one name per item ({items}); got shape {names.shape}")
    if names.dtype.kind == "O":
        missing = np.array([name is None or (isinstance(name, float) and math.isnan(name)) for name in names.tolist()])
        names = names.astype(np.str_)
    else:
        missing = np.isnan(names) if names.dtype.kind == "f" else np.zeros(items, dtype=np.bool_)
    if missing.any():
        raise InputError(f"item {int(np.argmax(missing))} has no cluster; give every item one, its own if it is alone")
    return np.asarray(np.unique(names, return_inverse=True)[1], dtype=np.intp)


def cluster_sums(values: Floats, codes: Codes) -> Floats:
    """Sums over each cluster's items; one column per column of `values`."""
    count = int(codes.max()) + 1
    if values.ndim == 1:
        return np.asarray(np.bincount(codes, weights=values, minlength=count), dtype=np.float64)
    return np.stack([np.bincount(codes, weights=column, minlength=count) for column in values.T], axis=1)


def sum_variance(centred: Floats, codes: Codes | None) -> Floats:
    """Covariance of the sum of these terms, which are centred at 0: C/(C−1) Σ_c (Σ_{i∈c} d_i)(Σ_{i∈c} d_i)ᵀ.

    Without clusters every item is its own. Rows are items; one-dimensional terms give one number in a 1 × 1 array.
    """
    d = centred.reshape(centred.shape[0], -1)
    sums = d if codes is None else cluster_sums(d, codes)
    count = sums.shape[0]
    if count < 2:
        raise InputError("all items are in one cluster; an interval needs at least two")
    return np.asarray(sums.T @ sums * (count / (count - 1)), dtype=np.float64)


def cluster_folds(codes: Codes, folds: int, rng: np.random.Generator) -> Codes:
    """A fold from 0 for every item, the same for all items of a cluster; labels are not looked at."""
    order = rng.permutation(int(codes.max()) + 1)
    return np.asarray(order[codes] % folds, dtype=np.intp)


@dataclass(frozen=True, slots=True, eq=False)
class ClusterSpread:
    """Spread of a mean of T terms that are alike within clusters, and what that does to an estimate's spread."""

    sums: Floats  # of the centred terms, one per cluster
    variance: float  # C/(C−1) Σ sums² / T²
    third_moment: float
    degrees_of_freedom: float  # of that variance; at most C − 1
    missed: float  # what the variance misses where sizes are unequal; counted by every interval but the normal one
    largest_effect: float  # design effect if all terms of a cluster were equal: Σ m² / T
    design_effect: float = 1.0  # the estimate's variance over what it would be if every item were its own cluster
    item_variance: float = 0.0  # of the estimate, as if every item were its own cluster

    @property
    def clusters(self) -> int:
        return int(self.sums.size)


def cluster_spread(centred: Floats, codes: Codes, counts: Floats | None = None) -> ClusterSpread:
    """Spread of mean(x) from terms x − mean(x) and their clusters, of which there are at least two.

    `counts` says how many times each term is there, where that is not once.

    Degrees of freedom after Bell and McCaffrey (2002), with the correlation that the terms themselves show: C − 1 for
    clusters of one size, fewer where a few clusters hold most items. A large cluster pulls the mean toward itself and
    so looks nearer to it than it is; `missed` is by how much.
    """
    all_terms = centred if counts is None else counts * centred
    m = np.bincount(codes, weights=counts).astype(np.float64)
    T = centred.size if counts is None else round(float(m.sum()))
    sums = cluster_sums(all_terms, codes)
    C = sums.size
    v = m * (1 + (m - 1) * _correlation(float(all_terms @ centred) / T, sums, m))
    a, s = m / T, float(v.sum())
    a2, av, v2 = float(a @ a), float(a @ v), float(v @ v)
    # Traces of Q = P diag(v) Pᵀ and Q², with P = I − a1ᵀ, which centres the sums: the first two moments of Σ sums².
    first = s * (1 + a2) - 2 * av
    second = (
        v2 - 4 * float(a @ v**2) + 2 * s * float(v @ a**2) + 2 * (a2 * v2 + av**2) - 4 * s * a2 * av + (s * a2) ** 2
    )
    square = float(sums @ sums)
    return ClusterSpread(
        sums=sums,
        variance=C / (C - 1) * square / T**2,
        third_moment=float((sums**3).sum()) / T**3,
        degrees_of_freedom=min(first**2 / second, C - 1.0),
        missed=max(s / first * (C - 1) / C, 1.0),
        largest_effect=T * a2,
    )


def _correlation(variance: float, sums: Floats, m: Floats) -> float:
    """Correlation of two terms of one cluster, between 0 and 1, by moments; `variance` is that of one term."""
    pairs = float(m @ (m - 1))
    if not (variance > 0 and pairs > 0):
        return 0.0
    return min(max((float(sums @ sums) - variance * float(m.sum())) / pairs / variance, 0.0), 1.0)
