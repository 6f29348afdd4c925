"""Intervals from contributions: normal, Student-t, bootstrap, anytime, several at once (METHODS section 6).

What they share is a `Spread`: the variance and third moment of the estimate, by parts, for either estimand. An
interval that cannot be computed is `None` with a reason, never zero-width. The score interval has its own file.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from ratewise.core.checks import Floats
from ratewise.core.clusters import ClusterSpread, Codes, cluster_spread
from ratewise.core.ratings import Ratings

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """How far the estimate may be from the truth.

    `centred` are the terms, one per item or cluster, whose sum over T is the estimate's error, so that variance =
    Σ centred² / T².
    """

    value: float
    variance: float
    third_moment: float
    drawn_variance: float  # what the draw adds
    degrees_of_freedom: float
    centred: Floats
    labels: int
    items: int
    clustering: ClusterSpread | None = None
    counts: Floats | None = None  # how many times each centred term is there

    @property
    def skewness(self) -> float:
        """Skewness of the estimate's error; 0 where there is no variance."""
        return self.third_moment / self.variance**1.5 if self.variance > 0 else 0.0


def spread(delta: Floats, f: Floats, data: Ratings, *, pool_size: float, codes: Codes | None = None) -> Spread:
    """Spread of mean(Δ): around the population's mean (pool_size = inf) or around the pool's own mean.

    Population: s²_Δ / T. Pool: only the draw is random, T^{-2} Σ ξ (1−π)/π² (H − f)², plus V (1/T − 1/N) where
    only T of the pool's N items were looked at. `codes` number the clusters of items that are alike, at least two.
    """
    T, value, pi = data.items, data.mean(delta), data.rates[:, -1]
    residual = np.where(data.labelled[:, None], data.strong[:, None] - f, 0.0)
    drawn = (residual**2 * data.step_odds()).sum(
        axis=1
    ) / pi  # Σ_k (H − f_{k−1})² (1/q_k − 1/q_{k−1}) ξ_K / q_K per item
    if math.isinf(pool_size):
        centred = delta - value
        variance = float(np.dot(data.each(centred), centred)) / max(T - 1, 1) / T
        third = float(data.each(centred**3).sum()) / T**3
        sampled = max(variance - float(drawn.sum()) / T**2, 0.0)
    else:
        weight = data.labelled / pi
        squares = (np.where(data.labelled, data.strong, 0.0) - value) ** 2
        h = float(np.dot(weight, squares) / max(weight.sum(), 1e-300))  # Var(H) by inverse rates, unbiased up to 1/n
        sampled = h * (1.0 / T - 1.0 / pool_size)
        variance = float(drawn.sum()) / T**2 + sampled
        centred = np.sqrt(drawn + sampled * T) * np.sign(delta - f[:, 0] + 1e-300)
        # Σ (H − f)³ (1−π)(1−2π)/π² ξ/π over the last step, which carries the weight
        third = float((residual[:, -1] ** 3 * (1 - pi) * (1 - 2 * pi) / pi**3).sum()) / T**3
    df = _degrees_of_freedom(sampled, drawn, data, sampled_df=max(T - 1, 1))
    s = Spread(
        value, variance, third, float(drawn.sum()) / T**2, df, centred, data.labels, T, counts=data.counts
    )  # fmt: skip
    if codes is None:
        return s
    if math.isinf(pool_size):
        return _by_cluster(s, delta, codes)
    return _pool_by_cluster(s, delta, codes, drawn, data, share=1.0 / T - 1.0 / pool_size)


def _by_cluster(s: Spread, delta: Floats, codes: Codes) -> Spread:
    """The population's: from the sums over clusters, of items sampled and drawn alike.

    What few clusters add to the doubt about the variance is added to what few labels do.
    """
    c = cluster_spread(delta - s.value, codes, s.counts)
    sampled = 1.0 - min(s.drawn_variance / s.variance, 1.0) if s.variance > 0 else 1.0
    few_labels = max(1.0 / s.degrees_of_freedom - 1.0 / max(s.items - 1, 1), 0.0)
    return replace(
        s, variance=c.variance, third_moment=c.third_moment, centred=c.sums * math.sqrt(c.clusters / (c.clusters - 1)),
        degrees_of_freedom=1.0 / (few_labels + 1.0 / c.degrees_of_freedom), counts=None,
        clustering=replace(
            c, design_effect=_ratio(c.variance, s.variance), largest_effect=1.0 + sampled * (c.largest_effect - 1.0),
            item_variance=s.variance,
        ),
    )  # fmt: skip


def _pool_by_cluster(s: Spread, delta: Floats, codes: Codes, drawn: Floats, data: Ratings, *, share: float) -> Spread:
    """The pool's: the draw is independent item by item, so clusters count only in what was not looked at.

    V becomes V + (1/T) Σ_c Σ_{i≠j∈c} (Δ_i − θ̂)(Δ_j − θ̂), which the draw leaves unbiased; never less than V.
    """
    d = delta - s.value
    c = cluster_spread(d, codes, s.counts)
    T, sampled = s.items, s.variance - s.drawn_variance
    pairs = (float(c.sums @ c.sums) - float(data.each(d) @ d)) / T * share
    sampled = max(sampled, c.clusters / (c.clusters - 1) * (sampled + pairs))
    variance = s.drawn_variance + sampled
    effect, part = _ratio(variance, s.variance), _ratio(sampled, variance)
    return replace(
        s, variance=variance, centred=s.centred * math.sqrt(effect),
        degrees_of_freedom=_degrees_of_freedom(sampled, drawn, data, sampled_df=c.degrees_of_freedom),
        clustering=replace(
            c, design_effect=effect, missed=1.0 + part * (c.missed - 1.0), item_variance=s.variance,
            degrees_of_freedom=c.degrees_of_freedom / part**2, largest_effect=1.0 + part * (c.largest_effect - 1.0),
        ),
    )  # fmt: skip


def _ratio(top: float, bottom: float) -> float:
    return top / bottom if bottom > 0 else 1.0


def widened(s: Spread, factor: float) -> Spread:
    """All variances times a factor, and the third moments to match: the same shape, on a larger scale."""
    if factor == 1.0:
        return s
    third, c = factor**1.5, s.clustering
    return replace(
        s, variance=factor * s.variance, third_moment=third * s.third_moment, drawn_variance=factor * s.drawn_variance,
        centred=math.sqrt(factor) * s.centred,
        clustering=None if c is None else replace(c, item_variance=factor * c.item_variance),
    )  # fmt: skip


def _degrees_of_freedom(sampled: float, drawn: Floats, data: Ratings, *, sampled_df: float) -> float:
    """Satterthwaite over two parts: T − 1 for the items' own variance, and the labels' for what the draw adds.

    The labels' part counts as 2n / (κ − 1), κ the kurtosis of their weighted residuals: n − 1 for residuals no
    heavier than normal, fewer where unequal rates let a few labels carry the sum.
    """
    T, n = data.items, max(int(np.count_nonzero(data.rates[data.labelled, -1] < 1)), 1)
    added = float(drawn.sum()) / T**2
    total = sampled + added
    if total <= 0:
        return max(data.labels - 1.0, 1.0)
    share = drawn / drawn.sum() if added > 0 else drawn  # squared first, small ratings would be 0
    kurtosis = n * float(np.dot(share, share)) if added > 0 else 1.0
    own = max(n - 1.0, 1.0)
    own = min(own, 2 * n / (kurtosis - 1)) if kurtosis > 1 else own
    return 1.0 / ((sampled / total) ** 2 / sampled_df + (added / total) ** 2 / own)


def normal(s: Spread, level: float) -> Interval:
    """value ± z·se."""
    half = normal_quantile(level) * math.sqrt(s.variance)
    return s.value - half, s.value + half


def student(s: Spread, level: float) -> Interval:
    """value ± t·se with the effective degrees of freedom."""
    half = float(special.stdtrit(s.degrees_of_freedom, 0.5 + level / 2)) * math.sqrt(_missed(s) * s.variance)
    return s.value - half, s.value + half


def _missed(s: Spread) -> float:
    return 1.0 if s.clustering is None else s.clustering.missed


def normal_quantile(level: float) -> float:
    """z with P(|Z| ≤ z) = level."""
    return float(special.ndtri(0.5 + level / 2))


_FEW = 5.0  # ratings of the rarer kind, at which half of what separates the exact test from the mid-p test is gone
_LEAST = 1e-12


def binomial_tail(many: Floats, few: Floats, chance: Floats | float) -> Floats:
    """P(Binomial(many + few, chance) ≥ many), smooth in all three: exact for few, its mid-p form for many."""
    exact = 0.5 + 0.5 / (1.0 + np.minimum(many, few) / _FEW)
    at_least = special.betainc(np.maximum(many, _LEAST), few + 1, chance)
    more = np.where(few > _LEAST, special.betainc(many + 1, np.maximum(few, _LEAST), chance), 0.0)
    return np.asarray(exact * at_least + (1 - exact) * more)


# Bootstrap


def bootstrap(s: Spread, level: float, *, resamples: int, rng: np.random.Generator) -> Interval:
    """Bias-corrected and accelerated percentiles of Poisson-weighted sums of the centred terms.

    With clusters whole clusters are resampled, and the percentiles are as far out as Student's quantile.
    """
    T, terms = s.items, s.centred * math.sqrt(_missed(s))
    often = 1.0 if s.counts is None else s.counts  # a sum of n Poisson weights of mean 1 is one of mean n
    sums = np.empty(resamples)
    block = max(1, int(2e6) // terms.size)
    for start in range(0, resamples, block):
        stop = min(start + block, resamples)
        sums[start:stop] = (rng.poisson(often, (stop - start, terms.size)) - often) @ terms / T
    below = np.clip((sums < 0).mean(), 1 / resamples, 1 - 1 / resamples)
    z0, a = float(special.ndtri(below)), s.skewness / 6
    z = (
        normal_quantile(level)
        if s.clustering is None
        else float(special.stdtrit(s.degrees_of_freedom, 0.5 + level / 2))
    )
    ends = [z0 + sign * z for sign in (-1, 1)]
    shares = [float(special.ndtr(z0 + e / max(1 - a * e, 0.1))) for e in ends]
    low, high = np.quantile(sums, shares)
    return s.value + float(low), s.value + float(high)


_CANDIDATES = 257  # grid of m; an end is placed one cell outwards, so the grid costs width, never validity
_ROUNDS = 3  # each round looks again between the ends found, 128 times as finely
_ITEMS_AT_ONCE = 4096
_STAKE = 0.75  # share of the largest legal stake that is ever bet, so that no single item ruins the gambler


def confidence_sequence(
    delta: Floats, *, bounds: tuple[float, float], floor: float, level: float
) -> tuple[float, float]:
    """A confidence sequence for the mean of bounded ratings: valid whenever one looks, and at any stopping time.

    Δ_t is at least low − (high − low)(1/f − 1) and at most high + (high − low)(1/f − 1) when every rate is at least f
    (predictable, changing rates are fine), and E[Δ_t | past] = θ. So for each candidate m the capital of a gambler who
    bets on Δ_t − m with stakes fixed in advance is a test martingale at m = θ; candidates whose gambler becomes richer
    than 2/α are ruled out for good (hedged betting after Waudby-Smith and Ramdas; Ville's inequality). These are the
    ends of the running intersection after the last item, in the order the items were looked at.
    """
    low, high = bounds
    slack = (high - low) * (1.0 / floor - 1.0)
    stakes = _stakes(delta, low, high, level)
    threshold = math.log(2.0 / (1.0 - level))
    left, right = low, high
    for side in (1.0, -1.0):  # +1 rules out small m (bets that Δ is larger), −1 large m
        a, b = low, high
        for _ in range(_ROUNDS):
            m = np.linspace(a, b, _CANDIDATES)
            room = m - (low - slack) if side > 0 else (high + slack) - m
            out = _peak_log_capital(delta, m, stakes, room, side) >= threshold
            a, b = _edge(m, out, side)
        if side > 0:
            left = a
        else:
            right = b
    return (left, right) if left <= right else (0.5 * (left + right),) * 2


def _stakes(delta: Floats, low: float, high: float, level: float) -> Floats:
    """Predictable stakes: sqrt(2 log(2/α) / (σ̂²_{t−1} t log(1 + t))), σ̂² from the items before t."""
    t = np.arange(1, delta.size + 1)
    prior = ((high - low) / 2) ** 2
    before = np.concatenate([[0.5 * (low + high)], delta[:-1]])
    mean = np.cumsum(before) / t
    squares = np.concatenate([[prior], (delta[:-1] - mean[1:]) ** 2]) if delta.size > 1 else np.array([prior])
    variance = np.cumsum(squares) / t
    return np.asarray(np.sqrt(2 * math.log(2 / (1 - level)) / (np.maximum(variance, 1e-300) * t * np.log(1 + t))))


def _peak_log_capital(delta: Floats, m: Floats, stakes: Floats, room: Floats, side: float) -> Floats:
    """Largest log-capital each gambler ever had, summed in pieces so that memory stays flat."""
    total, peak = np.zeros(m.size), np.zeros(m.size)
    most = _STAKE / np.maximum(room, 1e-300)
    for start in range(0, delta.size, _ITEMS_AT_ONCE):
        x = delta[start : start + _ITEMS_AT_ONCE, None] - m
        stake = np.minimum(stakes[start : start + _ITEMS_AT_ONCE, None], most)
        path = total + np.cumsum(np.log1p(side * stake * x), axis=0)
        peak = np.maximum(peak, path.max(axis=0))
        total = path[-1]
    return peak


def _edge(m: Floats, out: np.ndarray[tuple[int], np.dtype[np.bool_]], side: float) -> tuple[float, float]:
    """The cell in which the candidates stop being ruled out, seen from the side that is ruled out."""
    keep = np.flatnonzero(~out)
    if keep.size == 0:
        end = m[-1] if side > 0 else m[0]
        return float(end), float(end)
    i = int(keep[0] if side > 0 else keep[-1])
    j = max(i - 1, 0) if side > 0 else min(i + 1, m.size - 1)
    return float(min(m[i], m[j])), float(max(m[i], m[j]))


_DRAWS = 20_000  # the quantile is then right to about 0.5 %
_PAIR_DRAWS = 5000


def normal_draws(covariance: Floats, *, seed: int, draws: int = _DRAWS) -> Floats:
    """Draws × components with this covariance, which may be singular."""
    e, Q = np.linalg.eigh(covariance)
    factor = Q * np.sqrt(np.maximum(e, 0.0))
    return np.asarray(np.random.default_rng(seed).standard_normal((draws, e.size)) @ factor.T)


def largest_errors(covariance: Floats, *, seed: int = 0) -> Floats:
    """Draws of max_j |Z_j| / sd_j; components of sd 0 do not count."""
    sd = np.sqrt(np.diag(covariance))
    use = sd > 0
    if not use.any():
        return np.zeros(1)
    Z = normal_draws(covariance[np.ix_(use, use)], seed=seed)
    return np.asarray(np.abs(Z / sd[use]).max(axis=1))


def simultaneous_quantile(covariance: Floats, level: float, *, seed: int = 0) -> float:
    """c with P(max_j |Z_j| / sd_j ≤ c) = level. Components of sd 0 do not count.

    One component gives the normal quantile. Never above Bonferroni's, which it nears for many independent ones.
    """
    return float(np.quantile(largest_errors(covariance, seed=seed), level))


def largest_differences(covariance: Floats, *, seed: int = 0) -> Floats:
    """Draws of max |Z_i − Z_j| / sd over all pairs of components; pairs that differ by a constant do not count."""
    Z = np.ascontiguousarray(normal_draws(covariance, seed=seed, draws=_PAIR_DRAWS).T)
    d = np.diag(covariance)
    out = np.zeros(Z.shape[1])
    for i in range(d.size - 1):  # over components, not items
        variance = d[i] + d[i + 1 :] - 2 * covariance[i, i + 1 :]
        use = variance > 1e-12 * (d[i] + d[i + 1 :])
        if use.any():
            gaps = np.abs(Z[i + 1 :][use] - Z[i])
            gaps /= np.sqrt(variance[use])[:, None]
            np.maximum(out, gaps.max(axis=0), out=out)
    return out
