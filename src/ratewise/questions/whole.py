"""The mean of all rows where slices were looked at in unequal proportions, as a plan by slices does."""

from dataclasses import replace

import numpy as np

from ratewise.core.estimate import Estimate, EstimateOptions
from ratewise.core.names import Recalibration
from ratewise.core.ratings import Mask, Rated
from ratewise.core.stratified import Shares, stratified
from ratewise.errors import InputError
from ratewise.tables.convert import Texts

_BY_CHANCE = 5.0  # standard errors within which a slice's share of the rows looked at may be chance


def in_proportion(groups: Texts, looked: Mask) -> bool:
    """Whether slices were looked at about alike, so that the rows looked at stand for all."""
    if looked.all():
        return True
    names, code = np.unique(groups.astype(np.str_), return_inverse=True)
    sizes, seen = np.bincount(code, minlength=names.size), np.bincount(code[looked], minlength=names.size)
    expected = sizes * (looked.sum() / looked.size)
    spread = np.maximum(expected * (1 - looked.mean()), 0.25)
    return bool(np.max(np.abs(seen - expected) / np.sqrt(spread)) < _BY_CHANCE)


def whole(rated: Rated, groups: Texts, all_groups: Texts, how: EstimateOptions, recalibrate: Recalibration) -> Estimate:
    """The mean of all rows where slices were looked at in unequal proportions: Σ W mean_s."""
    if recalibrate != "none" or rated.clusters is not None:
        raise InputError(
            "slices were looked at in proportions of their own, so the whole is weighed by their sizes, which goes "
            "neither with recalibrate nor with clusters nor with texts; leave them out"
        )
    names = np.unique(groups.astype(np.str_))
    labelled = {str(name) for name in np.unique(groups[~np.isnan(rated.strong)].astype(np.str_))}
    told = [str(name) for name in names if str(name) in labelled]
    use = np.isin(groups.astype(np.str_), told)
    each = 1.0 if how.pool_size is None else how.pool_size / all_groups.size
    sizes = {name: each * float(np.count_nonzero(all_groups == name)) for name in told}
    found = stratified(
        rated.part(use), Shares(groups[use].astype(np.str_), sizes), replace(how, interval="auto", floor=None)
    )
    notes = ["the whole is weighed by the slices' sizes, since they were looked at in other proportions"]
    left = sorted({str(name) for name in np.unique(all_groups.astype(np.str_))} - set(told))
    if left:
        notes.append(f"the whole is without {', '.join(map(repr, left[:5]))}: no strong rating there")
    return replace(found, notes=(*notes, *found.notes))
