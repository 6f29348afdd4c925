"""Estimates from items that were chosen: fixed numbers of each stratum, or draws weighted by P/Q (METHODS section 8).

With T_s items of stratum s, a share W_s of the target, and each item's contribution Δ = f + (H − f) ξ/π,

    θ̂ = Σ W_s mean_s(Δ)        Var θ̂ = Σ W_s² Var_s        degrees of freedom: (Σ v_s)² / Σ v_s²/df_s,  v_s = W_s² Var_s

where every stratum is an estimate by itself (`estimate_mean`), so that all it knows of rates, pools and 0/1 ratings
counts here too. Differences between strata add nothing, unless the strata's shares are themselves those of a random
sample of N items from the population: then (1/N) Σ W_s (θ_s − θ)² (Cochran 1977, section 12.2).

For 0/1 ratings the strata's score intervals are put together by squaring their sides (Zou and Donner 2008):
θ̂ − low = sqrt(Σ W_s² (θ_s − low_s)²), and the same above. A stratum that has seen only ones has no variance, but it
has a side.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from ratewise.core.checks import Floats, as_floats, number
from ratewise.core.estimate import (
    MANY_LABELS,
    Estimate,
    EstimateOptions,
    contributions,
    estimate_rated,
    fitted_lines,
    is_binary,
    needed_ends,
    on_scale,
    with_missing,
)
from ratewise.core.intervals import Interval, normal_quantile
from ratewise.core.names import Estimand, IntervalMethod, Method
from ratewise.core.ratings import Mask, Ratings
from ratewise.errors import InputError

_KINDS = ("auto", "t", "normal", "score")


def estimate_stratified(
    weak: ArrayLike,
    strong: ArrayLike,
    rates: ArrayLike,
    strata: ArrayLike,
    *,
    sizes: Mapping[str, float] | None = None,
    shares: Mapping[str, float] | None = None,
    method: Method = "auto",
    interval: IntervalMethod = "auto",
    level: float = 0.95,
    estimand: Estimand = "population",
    selected: ArrayLike | None = None,
    bounds: tuple[float, float] | None = None,
    variance_factor: float = 1.0,
    seed: int = 0,
) -> Estimate:
    """Mean strong rating from fixed numbers of each stratum, whatever those numbers are.

    `strata` names each item's stratum. Each stratum's share of the target comes from `sizes`, the numbers of items the
    pool has, or from `shares` that are known exactly; all strata must have been looked at. With `sizes` and the
    estimand `population` the pool counts as a random sample, so that its shares add to the variance. The other
    options are those of `estimate_mean`; `auto` fits its line to all strata together.

    Limiting cases: one stratum is `estimate_mean`; items in proportion to the sizes give its value; a stratum whose
    spread is unknown (fewer than two strong ratings, or all alike) borrows that of the others, and a note says so.
    """
    how = EstimateOptions(method, interval, level, estimand, bounds=bounds, variance_factor=variance_factor, seed=seed)
    rated = Ratings.of(weak, strong, rates, selected=selected)
    return stratified(rated, strata, how, sizes=sizes, shares=shares)


def stratified(
    rated: Ratings,
    strata: ArrayLike,
    how: EstimateOptions,
    *,
    sizes: Mapping[str, float] | None,
    shares: Mapping[str, float] | None = None,
) -> Estimate:
    """`estimate_stratified` of records."""
    data = rated.checked()
    groups = _groups(data, strata, sizes, shares, how.estimand)
    how = replace(how, interval=_kind(data, how))
    return with_missing(data, how, lambda filled, how: _stratified(filled, groups, how))


def estimate_weighted(
    weak: ArrayLike,
    strong: ArrayLike,
    rates: ArrayLike,
    weights: ArrayLike,
    *,
    method: Method = "auto",
    interval: IntervalMethod = "auto",
    level: float = 0.95,
    selected: ArrayLike | None = None,
    bounds: tuple[float, float] | None = None,
    seed: int = 0,
) -> Estimate:
    """Mean strong rating of the population from items drawn independently, by weights ∝ P/Q: Σ wΔ / Σ w.

    Self-normalised, so only the weights' ratios matter. The interval is that of the linearised terms w (Δ − θ̂)/w̄ and
    holds for large samples: t below 400 labels, else normal; 0/1 ratings get no other.

    Limiting cases: equal weights give `estimate_mean`'s value.
    """
    how = EstimateOptions(method, interval, level, bounds=bounds, seed=seed)
    return weighted(Ratings.of(weak, strong, rates, selected=selected), weights, how)


def weighted(rated: Ratings, weights: ArrayLike, how: EstimateOptions) -> Estimate:
    """`estimate_weighted` of records."""
    data = rated.checked()
    w = as_floats(weights, name="weights")
    if w.shape != (data.rows,) or not np.all(np.isfinite(w)) or w.min() <= 0:
        raise InputError(f"weights must be one finite number above 0 per item ({data.items}); got shape {w.shape}")
    how = replace(how, interval=_kind(data, how, plain=True))
    return with_missing(data, how, lambda filled, how: _weighted(filled, w / data.mean(w), how))


@dataclass(frozen=True, slots=True, eq=False)
class _Groups:
    """Each item's stratum by number; of each stratum its name, items, share of the target and size (inf: no pool)."""

    code: NDArray[np.intp]
    names: tuple[str, ...]
    counts: Floats
    W: Floats
    N: Floats


def _groups(
    data: Ratings,
    strata: ArrayLike,
    sizes: Mapping[str, float] | None,
    shares: Mapping[str, float] | None,
    estimand: str,
) -> _Groups:
    given = sizes if sizes is not None else shares
    if given is None or (sizes is not None and shares is not None):
        raise InputError("give the strata's sizes or their shares (one of them)")
    if sizes is None and estimand == "pool":
        raise InputError("the pool's own mean needs the strata's sizes, not their shares")
    names = tuple(str(name) for name in given)
    values = np.array([number(x, name=f"the size or share of stratum {name!r}", above=0) for name, x in given.items()])
    text = np.asarray(strata).astype(np.str_)
    if text.shape != (data.rows,):
        raise InputError(f"strata must have one name per item ({data.rows}); got shape {text.shape}")
    number_of = {name: s for s, name in enumerate(names)}
    code = np.array([number_of.get(name, -1) for name in text.tolist()], dtype=np.intp)
    if code.min() < 0:
        raise InputError(f"item {int(np.argmin(code))} is of stratum {str(text[np.argmin(code)])!r}, which has no size")
    counts = np.rint(np.bincount(code, weights=data.each(np.ones(data.rows)), minlength=len(names)))
    if counts.min() == 0:
        raise InputError(f"no item of stratum {names[int(np.argmin(counts))]!r} was looked at; merge it with another")
    N = values if sizes is not None else np.full(values.size, math.inf)
    if np.any(counts > N):
        s = int(np.argmax(counts > N))
        raise InputError(f"{counts[s]:.0f} items of stratum {names[s]!r} were looked at, but its size is {N[s]:g}")
    return _Groups(code, names, counts, values / values.sum(), N)


def _kind(data: Ratings, how: EstimateOptions, *, plain: bool = False) -> IntervalMethod:
    """The kind of interval; for `plain` ones, strata apart, the score interval is none of them."""
    kind, legal = how.interval, _KINDS[:3] if plain else _KINDS
    if kind not in legal:
        raise InputError(f"chosen items have no {kind} interval here; choose one of {', '.join(legal)}")
    if kind == "score":
        if data.weak.shape[1] > 1:
            raise InputError("strata have no score interval for a chain of raters; choose t or normal")
        needed_ends(data, how, "the score interval")
    if kind != "auto":
        return kind
    if not plain and data.weak.shape[1] == 1 and is_binary(data):
        return "score"
    return "t" if data.labels < MANY_LABELS else "normal"


# Strata


@dataclass(frozen=True, slots=True, eq=False)
class _Parts:
    """Value, variance, degrees of freedom and interval's sides of every stratum."""

    value: Floats
    variance: Floats
    df: Floats
    below: Floats
    above: Floats
    borrowed: Mask


def _stratified(data: Ratings, groups: _Groups, how: EstimateOptions) -> Estimate:
    method, lines = fitted_lines(data, how)
    f = lines.put(data.weak)
    delta = contributions(f, data)
    parts = _parts(data, f, delta, groups, how)
    W, value = groups.W, float(groups.W @ parts.value)
    counts = groups.counts
    notes = [f"a {how.interval} interval, over {counts.size} strata"]
    if parts.borrowed.any():
        named = ", ".join(repr(groups.names[s]) for s in np.flatnonzero(parts.borrowed)[:5])
        notes.append(f"too few different strong ratings to know the spread in {named}: that of the others is taken")
    between = 0.0  # what estimated shares of the strata add to the variance, less what chance adds to its estimate
    if how.estimand == "population" and np.isfinite(groups.N).all():
        spread = float(W @ ((parts.value - value) ** 2 - np.nan_to_num(parts.variance)))
        between = max(spread, 0.0) / float(groups.N.sum())
    v = np.append(W**2 * parts.variance, between)
    df = np.append(parts.df, max(groups.N.sum() - 1, 1.0))
    total = float(v.sum())
    known = math.isfinite(total) and total > 0
    effective = total**2 / float((v**2 / df).sum()) if known else None
    ends = _ends(value, parts, W, between, total, effective, how)
    if ends is None:
        notes.append("the spread of the strong ratings is unknown; get more of them")
    strong = data.strong[data.labelled]
    return Estimate(
        value=value if how.interval != "score" or ends is None else min(max(value, ends[0]), ends[1]),
        seen=(float(strong.min()), float(strong.max())),
        bounds=(0.0, 1.0) if how.bounds is None and how.interval == "score" else how.bounds,
        standard_error=math.sqrt(total) if known else None, interval=ends, level=how.level,
        items=data.items, labels=data.labels, method=f"stratified {method}", interval_method=how.interval,
        estimand=how.estimand, pool_size=float(groups.N.sum()) if how.estimand == "pool" else None,
        degrees_of_freedom=effective if how.interval == "t" else None, notes=tuple(notes),
        contributions=delta * (W * data.items / counts)[groups.code],
    )  # fmt: skip


def _parts(data: Ratings, f: Floats, delta: Floats, groups: _Groups, how: EstimateOptions) -> _Parts:
    """Every stratum as an estimate by itself, from the line's predictions; a pool's that is rated whole is exact."""
    S, score, pool = len(groups.names), how.interval == "score", how.estimand == "pool"
    value, variance, df, below, above = (np.full(S, np.nan) for _ in range(5))
    whole = replace(data, weak=f, selected=data.labelled, clusters=None, folds=None)
    for s in range(S):
        own = whole.part(groups.code == s)
        value[s] = own.mean(delta[groups.code == s])
        if pool and groups.counts[s] == groups.N[s] and np.all(own.rates == 1):
            variance[s] = below[s] = above[s] = 0.0
        elif own.labels > 1:
            found = estimate_rated(own, replace(
                how, method="difference", interval="score" if score else "t", seed=0,
                pool_size=groups.N[s] if pool else None, bounds=(how.bounds or (0.0, 1.0)) if score else None,
            ))  # fmt: skip
            variance[s] = np.nan if found.standard_error is None else found.standard_error**2
            df[s] = found.degrees_of_freedom or own.labels - 1
            if found.interval is not None and score:
                below[s], above[s] = value[s] - found.interval[0], found.interval[1] - value[s]
    return _borrowed(_Parts(value, variance, df, below, above, np.isnan(variance)), groups.counts, how)


def _borrowed(parts: _Parts, counts: Floats, how: EstimateOptions) -> _Parts:
    """Variance per item of the other strata, with one degree of freedom, for a stratum of unknown spread."""
    z, own = normal_quantile(how.level), ~np.isnan(parts.below)
    variance = np.where(parts.borrowed & own, ((parts.below + parts.above) / (2 * z)) ** 2, parts.variance)
    borrowed = np.isnan(variance)
    known = ~borrowed & (variance > 0)
    if known.any():
        each = float((variance * counts**2)[known].sum() / counts[known].sum())
        variance = np.where(borrowed, each / counts, variance)
    half = z * np.sqrt(variance)
    return replace(
        parts,
        variance=variance,
        df=np.where(np.isnan(parts.df) | borrowed, 1.0, parts.df),
        below=np.where(own, parts.below, half),
        above=np.where(own, parts.above, half),
        borrowed=borrowed,
    )


def _ends(
    value: float, parts: _Parts, W: Floats, between: float, total: float, df: float | None, how: EstimateOptions
) -> Interval | None:
    if how.interval == "score":
        more = normal_quantile(how.level) ** 2 * between
        sides = [math.sqrt(float((W * side) @ (W * side)) + more) for side in (parts.below, parts.above)]
        low, high = how.bounds or (0.0, 1.0)
        return (max(value - sides[0], low), min(value + sides[1], high)) if all(map(math.isfinite, sides)) else None
    if how.estimand == "pool" and total == 0:
        return value, value
    if df is None:
        return None
    factor = float(special.stdtrit(df, 0.5 + how.level / 2)) if how.interval == "t" else normal_quantile(how.level)
    ends = value - factor * math.sqrt(total), value + factor * math.sqrt(total)
    return ends if how.bounds is None else on_scale(ends, how.bounds)


# Weights


def _weighted(data: Ratings, w: Floats, how: EstimateOptions) -> Estimate:
    """`estimate_mean` of the linearised ratings θ̂ + w (· − θ̂)/w̄: their mean is θ̂, and their spread is its own."""
    method, lines = fitted_lines(data, how)
    f = lines.put(data.weak)
    value = float(np.average(contributions(f, data), weights=data.each(w)))
    linear = replace(
        data, weak=value + w[:, None] * (f - value), strong=value + w * (data.strong - value), selected=data.labelled,
        clusters=None, folds=None, sums=None,
    )  # fmt: skip
    found = estimate_rated(linear, EstimateOptions("difference", how.interval, how.level))
    return replace(found, method=f"weighted {method}", slope=None)
