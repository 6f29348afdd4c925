"""Items that belong together: several from one conversation, document or person, whose errors are alike."""

import math

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
        return np.bincount(codes, weights=values, minlength=count)
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
    return np.asarray(sums.T @ sums) * (count / (count - 1))
