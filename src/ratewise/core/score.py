"""The score interval: every mean that the labels do not contradict, for ratings on a scale with two ends.

Where nearly all ratings agree, the variance that was seen is that of the mistakes that happened to be seen. So each
candidate mean θ₀ is tested with the variance that *it* implies. A world with mean θ₀ is made from the prediction f:
its log-odds are recalibrated on the labels and shifted until their mean is θ₀, and H is 0 or 1 with these odds. The
variance of the estimate in that world says how many plain strong ratings it is worth, n₀ = θ₀(1 − θ₀)/Var₀, and θ₀
stays in the interval if n₀ ratings could well have had the mean that was found: an exact binomial test (Clopper and
Pearson 1934; with an effective number of ratings, Korn and Graubard 1998).

As mistakes are seen, the variance that was seen takes the place of the model's, so a wrong shape of f matters only
while there are few. Limiting cases: every item rated gives the exact binomial interval (its mid-p form for many of both
ratings); no mistake seen at one rate for all gives log(2/α)/n.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ratewise.core.checks import Floats
from ratewise.core.intervals import Interval, Spread, binomial_tail
from ratewise.core.ratings import Mask, Ratings

_BINS = 100  # of log-odds, that items are counted in: finer ones move no end by a thousandth of the width
PRIOR_MISTAKES = 2.0  # mistakes' worth of belief in the model's variance
_LOW_RATE = 0.3  # of the mean rate: below it, rates are believed as to how rare mistakes are
_PRIOR_RATINGS = 0.5  # of either end of the scale, that the recalibration starts from
_SLOPE_VARIANCE = 0.25  # of the prior around 1 for the slope of the recalibrated log-odds
_ANYWHERE, _TOLD = 0.3, 4.0  # share of the mistakes that may be anywhere, whatever f says; halved by so many seen
_AT_AN_END, _PRIOR_BETWEEN = 0.02, 1.0  # of the scale; ratings' worth of belief that all are at its ends
_COARSE = 33  # worlds on the first look
_MOST_STEPS, _STILL = 200, 1e-12  # of a search for a shift, and where it stands still
_BEYOND = 15.0  # log-odds beyond the furthest item at which a candidate mean is as good as an end
_LIKE_RATES = 1.5  # a group's rates differ by this factor at most
_SD_FINE, _SD_COARSE = 0.25, 1.0  # of a group's log-odds around f: where weak ratings differ, and where all are one
_SD_ALL = 3.0  # of what moves all groups alike
_LEAST_TILT = 0.05  # of the group that moves most
_SAME = 1e-9  # weak ratings that differ by no more are one
_SUREST = 1e-12  # chance of a mistake that no prediction is below
_CLOSE = 0.011  # weak ratings that differ by no more are as good as neighbours: hundredths are a fine scale


@dataclass(frozen=True, slots=True, eq=False)
class Worlds:
    """What the strong ratings might be, one world for each mean: items counted by their recalibrated log-odds.

    A world is made from the prediction f: its log-odds are recalibrated on the labels, moved group by group as far as
    each group's own labels say, and then tilted until their mean is the one asked for; H is 0 or 1 with these odds.
    Groups are items of one side of 1/2 and of like rates. A tilt moves a group the more, the more it changes the mean
    and the less its labels contradict: where labels are few for what they stand for, more mistakes may hide.

    Per bin: the share of items, and Σ a, Σ a f, Σ a f² with a = 1/π − 1, the weight of (H − f)² in the variance.
    """

    logit: Floats
    direction: Floats  # how far each bin's log-odds move, of a shift by 1
    share: Floats
    a: Floats
    af: Floats
    aff: Floats
    items: int
    pool_size: float
    anywhere: float  # mean of 1/π − 1, as far as rates may be left
    stray: float  # share of the mistakes that may be anywhere
    dispersion: float = 1.0  # variance of a rating over that of a 0/1 rating with the same mean

    def chances(self, shift: Floats) -> tuple[Floats, Floats]:
        """Means of the worlds, and their chances of a 1, worlds × bins."""
        f0 = special.expit(self.logit + np.asarray(shift)[:, None] * self.direction)
        return f0 @ self.share, f0

    def variance(self, mean: Floats, f0: Floats, off: Floats | float) -> Floats:
        """Variance of the estimate: what the draw adds, with f as far `off` as the labels say, and the items' own.

        Some of the mistakes E[u₀] may be anywhere, not only where f is unsure.
        """
        u0 = self.dispersion * f0 * (1 - f0)
        anywhere = (u0 @ self.share) * self.anywhere
        draw = ((1 - self.stray) * (u0 @ self.a) + self.stray * anywhere + off) / self.items
        return np.asarray(draw + self.dispersion * mean * (1 - mean) * (1.0 / self.items - 1.0 / self.pool_size))

    def off(self, f0: Floats) -> float:
        """Σ a (f₀ − f)² over items, per item."""
        return float(f0**2 @ self.a - 2 * f0 @ self.af + self.aff.sum())

    def shifts(self) -> Floats:
        lowest = float(np.min((-_BEYOND - self.logit) / self.direction))
        highest = float(np.max((_BEYOND - self.logit) / self.direction))
        return np.sinh(np.linspace(np.arcsinh(lowest), np.arcsinh(highest), _COARSE))

    def shift_to(self, mean: float) -> float:
        """The shift of the world with this mean; the furthest one for a mean beyond all worlds.

        By Newton's steps, and halves where they leave the range: scipy.optimize takes a fifth of the time that a
        command takes to start.
        """

        def above(shift: float) -> tuple[float, float]:
            """How far the mean of a world lies above, and how fast it rises with the shift."""
            p = special.expit(self.logit + shift * self.direction)
            return float(p @ self.share) - mean, float((p * (1.0 - p) * self.direction) @ self.share)

        low, high = float(self.shifts()[0]), float(self.shifts()[-1])
        if above(low)[0] >= 0 or above(high)[0] <= 0:
            return low if above(low)[0] >= 0 else high
        shift = min(max(0.0, low), high)
        for _ in range(_MOST_STEPS):
            excess, rise = above(shift)
            low, high = (low, shift) if excess > 0 else (shift, high)
            before, shift = shift, shift - excess / rise if rise > 0 else math.inf
            shift = shift if low <= shift <= high else 0.5 * (low + high)
            if abs(shift - before) <= _STILL:
                break
        return shift


def worlds_of(f: Floats, data: Ratings, pool_size: float) -> tuple[Worlds, "_Fitted", Floats]:
    """The worlds, the log-odds in them before any tilt, and how far a tilt by 1 moves those of each group.

    Along a chain every step has its own prediction of the items that reached it; all are tilted alike, and the first
    one, which every item has, says what the mean is.
    """
    (rows, steps), T, use = f.shape, data.items, data.labelled
    had, fit = data.had, _fitted(f, data)
    inverse = data.inverse_rates()[:, :-1]
    a = data.each(np.where(had, data.step_odds() * inverse, 0.0)) / T
    share, often = np.zeros((rows, steps)), data.each(np.ones(rows))
    share[:, 0] = often / T
    p = special.expit(fit.z)
    pull = np.bincount(fit.group.ravel(), (_mass(data) * p * (1 - p)).ravel(), fit.coarse.size)
    direction = np.linalg.solve(fit.bend, pull)
    direction = np.maximum(direction / max(float(direction.max()), 1e-300), _LEAST_TILT)
    rate = data.rates[:, -1]
    seen = mistakes(data.strong[use] - p[use, -1], 1.0 / rate[use])
    values = np.where(had, f, 0.0)
    worlds = Worlds(
        *_binned(fit.z, fit.group, direction, np.repeat(often, steps), (share, a, a * values, a * values**2)),
        T, pool_size, data.mean(1.0 / np.maximum(rate, _LOW_RATE * data.mean(rate))) - 1.0,
        _ANYWHERE / (1.0 + seen / _TOLD),
    )  # fmt: skip
    return worlds, fit, direction


def likely(f: Floats, data: Ratings) -> Floats:
    """Chance of a 1 of every item, as far as the labels correct the prediction f."""
    return np.asarray(special.expit(_fitted(f, data).z[:, 0]))


@dataclass(frozen=True, slots=True, eq=False)
class _Fitted:
    """Log-odds that the labels have corrected, items × steps, and what the correction rests on."""

    z: Floats
    group: NDArray[np.intp]  # of one side of 1/2 and of like rates
    coarse: Floats  # chance that two of a group's items have one weak rating: 1 for a judge that speaks in tenths
    own: Floats  # chance of a 1 of every label as f has it, so corrected, without any doubt about sure predictions
    bend: Floats  # curvature of the labels' penalised log-likelihood, groups × groups


def _fitted(f: Floats, data: Ratings) -> _Fitted:
    use, pi, had = data.labelled, data.rates[:, -1], data.had
    doubt = (
        np.minimum(pi / (_LOW_RATE * data.mean(pi)), 1.0) ** 4
    )  # is left: all, but where rates are far below the mean
    keep = np.maximum(0.5 / max(data.labels, 1) * doubt, _SUREST)
    z = _log_odds(np.where(had, f, 0.5), keep, pi, data.each(np.ones(data.rows)))
    told = np.sign(z) * _told_by_rates(pi, data.counts)[:, None]
    start, *slopes = _recalibrated(np.stack([z[use, -1], told[use, -1]]), data.strong[use])
    own = special.logit(np.clip(f[use, -1], _SUREST, 1.0 - _SUREST))
    own = start + slopes[0] * own + slopes[1] * told[use, -1]
    z = start + np.tensordot(slopes, np.stack([z, told]), axes=1)
    group = _groups(z, pi)
    coarse = _coarse(np.where(had, data.weak, 0.0), np.broadcast_to(pi[:, None], z.shape), group, _mass(data))
    h = np.broadcast_to(data.strong[use][:, None], (data.labels, z.shape[1]))
    moved, bend = _moved(z[use], h, group[use], _precision(coarse))
    return _Fitted(z + moved[group], group, coarse, special.expit(own + moved[group[use, -1]]), bend)


def _mass(data: Ratings) -> Floats:
    """How many items each one stands for at each step, as a share of all."""
    return data.each(np.where(data.had, data.inverse_rates()[:, :-1], 0.0)) / data.items


def _log_odds(f: Floats, keep: Floats, rates: Floats, often: Floats) -> Floats:
    """Log-odds of the predictions, none surer than `keep` says of its item, nor than the scale is fine.

    Where the outermost predictions are one value or close to it, and the next ones far off, an item in between would
    have been rounded to them: a quarter of that gap is left in doubt, as far as rates do not tell those items apart.
    """
    first = np.clip(f[:, 0], 0.0, 1.0)
    values = np.unique(first)
    gap = np.diff(values)
    far = np.flatnonzero(gap > _CLOSE)
    low = high = 0.0
    if far.size:
        bottom, top = values[far[0]], values[far[-1] + 1]
        low = max(float(gap[far[0]] - 4 * (bottom - values[0])), 0.0) / 4 * _alike(rates, often, first <= bottom)
        high = max(float(gap[far[-1]] - 4 * (values[-1] - top)), 0.0) / 4 * _alike(rates, often, first >= top)
    return np.asarray(special.logit(np.clip(f, np.maximum(keep, low)[:, None], 1.0 - np.maximum(keep, high)[:, None])))


def _alike(rates: Floats, often: Floats, which: Mask) -> float:
    """Chance that two of these items have the same rate."""
    _, at = np.unique(rates[which], return_inverse=True)
    each = np.bincount(at, often[which])
    return float((each**2).sum() / each.sum() ** 2)


def _groups(z: Floats, rates: Floats) -> NDArray[np.intp]:
    """Number of the group of each item and step: of one side of 1/2, and of rates within a factor."""
    level = np.round(np.log(rates / rates.max()) / math.log(_LIKE_RATES)).astype(np.int64)
    key = (2 * level[:, None] + (z > 0)) * z.shape[1] + np.arange(z.shape[1])
    return np.asarray(np.unique(key, return_inverse=True)[1].reshape(z.shape), dtype=np.intp)


def _coarse(weak: Floats, rates: Floats, group: NDArray[np.intp], mass: Floats) -> Floats:
    """Chance that two items of a group have the same weak rating and the same rate (Simpson's index, of pairs)."""
    g, v, r, m = group.ravel(), weak.ravel(), rates.ravel(), mass.ravel()
    order = np.lexsort((r, v, g))
    g, v, r, m = g[order], v[order], r[order], m[order]
    new = np.concatenate([[True], (np.diff(g) != 0) | (np.diff(v) > _SAME) | (np.diff(r) > _SAME)])
    each, at = np.add.reduceat(m, np.flatnonzero(new)), g[new]
    alone = np.bincount(g, m**2)
    same, pairs = np.bincount(at, each**2) - alone, np.bincount(at, each) ** 2 - alone
    return np.asarray(np.clip(np.divide(same, pairs, out=np.zeros(pairs.size), where=pairs > 1e-300), 0.0, 1.0))


def _precision(coarse: Floats) -> Floats:
    """Of the prior of how far each group is off: all alike by any amount, each by itself by a little."""
    one = 1.0 / (_SD_FINE + (_SD_COARSE - _SD_FINE) * coarse) ** 2
    return np.asarray(np.diag(one) - np.outer(one, one) / (one.sum() + 1.0 / _SD_ALL**2))


def _moved(z: Floats, h: Floats, at: NDArray[np.intp], prior: Floats) -> tuple[Floats, Floats]:
    """How far the labels move each group's log-odds, by Newton's method; and the curvature there."""
    G = prior.shape[0]
    moved = np.zeros(G)
    for _ in range(50):
        p = special.expit(z + moved[at])
        bend = np.diag(np.bincount(at.ravel(), (p * (1 - p)).ravel(), G)) + prior
        step = np.linalg.solve(bend, np.bincount(at.ravel(), (h - p).ravel(), G) - prior @ moved)
        moved = moved + np.clip(step, -1.0, 1.0)
        if np.abs(step).max() < 1e-9:
            break
    return moved, bend


def _binned(
    z: Floats, group: NDArray[np.intp], direction: Floats, often: Floats, columns: tuple[Floats, ...]
) -> tuple[Floats, Floats, Floats, Floats, Floats, Floats]:
    """Mean of z, the direction, and sums of the columns, in bins of equal width by group; empty ones are left out."""
    flat = z.ravel()
    low, width = float(flat.min()), float(np.ptp(flat)) / _BINS
    at = np.minimum(((flat - low) / width).astype(np.intp), _BINS - 1) if width > 0 else np.zeros(flat.size, np.intp)
    bins, at = np.unique(group.ravel() * _BINS + at, return_inverse=True)
    counts = np.bincount(at, often)
    share, a, af, aff = (np.asarray(np.bincount(at, column.ravel()), dtype=np.float64) for column in columns)
    mean = np.asarray(np.bincount(at, often * flat) / counts, dtype=np.float64)
    return mean, np.asarray(direction[bins // _BINS]), share, a, af, aff


def _told_by_rates(rates: Floats, often: Floats | None = None) -> Floats:
    """How much surer of f than average the rates show their author to have been, in log-odds: rates go with sqrt(u)."""
    log = np.log(rates)
    return np.asarray(-2.0 * (log - np.average(log, weights=often)))


def _recalibrated(z: Floats, h: Floats) -> Floats:
    """α and β of P(H = 1) = σ(α + β·z) for log-odds z of f and by what the rates tell of it, columns × labels.

    By Newton's method with priors that keep all finite if all labels agree. f is taken at its word to begin with, and
    what the rates tell is not believed.
    """
    n, centre, prior = h.size, z.mean(axis=1), np.array([1.0, 0.0])
    x = np.vstack([np.ones(n), z - centre[:, None]])

    def likely(b: Floats) -> float:
        """The log-likelihood with the priors: concave, so what raises it leads to its one top."""
        odds = b @ x
        imagined = _PRIOR_RATINGS * (b[0] - 2 * np.logaddexp(0.0, b[0]))
        off = b[1:] - prior
        return float(odds @ h - np.logaddexp(0.0, odds).sum() + imagined - off @ off / (2 * _SLOPE_VARIANCE))

    alpha = float(special.logit((h.sum() + _PRIOR_RATINGS) / (n + 2 * _PRIOR_RATINGS)))
    b = np.concatenate([[alpha], prior])
    here = likely(b)
    for _ in range(50):
        p, p0 = special.expit(b @ x), float(special.expit(b[0]))
        slope = x @ (h - p)
        slope[0] += _PRIOR_RATINGS * (1 - 2 * p0)
        slope[1:] -= (b[1:] - prior) / _SLOPE_VARIANCE
        bend = (x * (p * (1 - p))) @ x.T + np.diag([2 * _PRIOR_RATINGS * p0 * (1 - p0), *[1 / _SLOPE_VARIANCE] * 2])
        step = np.linalg.solve(bend, slope)
        if np.abs(step).max() < 1e-9:
            break
        there = likely(b + step)
        while there < here and np.abs(step).max() >= 1e-9:  # too far: whole steps may go to and fro for ever
            step *= 0.5
            there = likely(b + step)
        b, here = b + step, there
    return np.concatenate([[b[0] - b[1:] @ centre], b[1:]])


def mistakes(residual: Floats, weight: Floats) -> float:
    """Number of full mistakes that the labels show; fewer where a few labels carry most of the weight (Kish)."""
    mass, squares = float(weight @ residual**2), float(weight**2 @ residual**2)
    return mass**2 / squares if squares > 0 else 0.0


def dispersion(h: Floats, p: Floats, weight: Floats) -> float:
    """Variance of the ratings over that of 0/1 ratings with the same means; 1 until any between the ends are seen."""
    between = float(np.count_nonzero((h > _AT_AN_END) & (h < 1.0 - _AT_AN_END)))
    most = float(weight @ (p * (1 - p)))
    found = min(float(weight @ (h - p) ** 2) / most, 1.0) if most > 0 else 1.0
    return (between * found + _PRIOR_BETWEEN) / (between + _PRIOR_BETWEEN)


_MANY_MISTAKES = 12.0  # enough to half say what mistakes on top of them would be like
_UNEVEN = 0.15  # at most so much, relative to itself, is the variance made uncertain by unequal weights
_ENOUGH = 40.0  # labels up to which the exact test makes up for unequal weights by itself
_FINE, _PASSES = 13, 3  # candidates on each closer look
_LEAST = 1e-12
_FINE_TOO = 0.1  # of what may hide among like ratings, so much is taken to hide among ratings that differ
_SHOWN = 3.0  # a group's labels say nothing as far as e to minus so many times the mistakes expected among them
_FAR = 0.4  # standard deviations, by which mistakes that are not drawn move the sum until f's variance is taken


def score_interval(
    s: Spread,
    f: Floats,
    data: Ratings,
    level: float,
    *,
    bounds: tuple[float, float],
    pool_size: float,
    factor: float = 1.0,
) -> Interval:
    """Ends of the interval for the mean of ratings within `bounds`.

    `s` is the estimate's spread before it is widened by `factor`; `f` are predictions, items × steps.
    """
    low, high = bounds
    width = high - low
    unit = replace(data, strong=(data.strong - low) / width)
    test = _Test.of(
        _scaled(s, low, width, stream=math.isinf(pool_size)), (f - low) / width, unit, level, pool_size, factor
    )
    below, above = test.ends()
    if math.isfinite(pool_size):  # ratings that are known bound the pool's mean for sure
        known = float(unit.strong[unit.labelled].sum())
        below = max(below, known / pool_size)
        above = min(above, (known + pool_size - unit.labels) / pool_size)
    return low + width * below, low + width * above


def _scaled(s: Spread, low: float, width: float, *, stream: bool) -> Spread:
    """The spread on a scale from 0 to 1, as if every item were its own cluster; its value within the scale."""
    of, effect = s.variance, 1.0 if s.clustering is None else s.clustering.design_effect
    if s.clustering is not None and effect == 0:  # clusters whose sums are all alike show no variance of their own
        of, effect = s.clustering.item_variance, 1.0
    variance = of * ((s.items - 1) / s.items if stream else 1.0) / effect / width**2  # that of a 0/1 rating is θ(1 − θ)
    drawn = min(effect * s.drawn_variance / of, 1.0) if of > 0 else 0.0
    value = min(max((s.value - low) / width, 0.0), 1.0)
    return replace(s, value=value, variance=variance, drawn_variance=drawn * variance)


@dataclass(frozen=True, slots=True, eq=False)
class _Test:
    """Tests whether a world with mean θ₀ is consistent with the labels."""

    worlds: Worlds
    seen: Spread  # on a scale from 0 to 1
    at_value: float  # the model's variance at the estimate
    off: float  # of predictions, as at the estimate: a fitted f would follow θ₀
    ratio: float  # of the variance seen to the model's, shrunk to 1 while few mistakes are seen
    ratio_of_more: float  # the same for mistakes on top of those seen
    ratio_at_end: float  # the same towards the nearer end of the scale
    factor: float  # on all variances
    tail: float  # (1 − level)/2

    @classmethod
    def of(cls, seen: Spread, f: Floats, data: Ratings, level: float, pool_size: float, factor: float) -> "_Test":
        worlds, fit, direction = worlds_of(f, data, pool_size)
        keep = 0.5 / max(seen.labels, 1)
        shift = worlds.shift_to(min(max(seen.value, keep), 1 - keep))
        use = data.labelled
        h, weight, group = data.strong[use], 1.0 / data.rates[use, -1], fit.group[use, -1]
        odds = special.expit(fit.z[use, -1] + shift * direction[group])
        worlds = replace(worlds, dispersion=dispersion(h, odds, weight))
        mean, f0 = worlds.chances(np.array([shift]))
        off = worlds.off(f0[0])
        model = float(worlds.variance(mean, f0, off)[0])
        counted = weight * (weight - data.items / pool_size)  # what a squared residual weighs in the variance
        k = mistakes(h - odds, np.sqrt(np.maximum(counted, 0.0))) / worlds.dispersion
        found = _unseen(fit, group, h, f[use, -1], odds, weight, worlds.dispersion, seen.variance * data.items**2)
        ratio = (seen.variance + found / data.items**2) / model if model > 0 else 1.0
        shrunk = (k * ratio + PRIOR_MISTAKES) / (k + PRIOR_MISTAKES)
        of_more = 1.0 + (ratio - 1.0) * k**2 / (k**2 + _MANY_MISTAKES**2)
        wider = factor * _few_labels(seen, level, _uneven(h - odds, weight)) * _cluster_effect(seen)
        return cls(worlds, seen, model, off, shrunk, of_more, max(ratio, shrunk), wider, (1 - level) / 2)

    def ends(self) -> Interval:
        """The interval: on each side of the estimate, the first world that the test rejects."""
        every = self.worlds.shifts()
        found = self._brackets(every, dict.fromkeys((-1, 1), range(every.size)))
        for _ in range(_PASSES):
            closer = [np.linspace(min(pair), max(pair), _FINE) for pair in found.values()]
            if not closer:
                break
            parts = {side: range(k * _FINE, (k + 1) * _FINE) for k, side in enumerate(found)}
            found |= self._brackets(np.concatenate(closer), parts)  # at the edge it may not be found anew
        means, _ = self.worlds.chances(np.array([pair[0] for pair in found.values()]))
        end = dict(zip(found, means.tolist(), strict=True))
        return end.get(-1, 0.0), end.get(1, 1.0)

    def _brackets(self, shifts: Floats, parts: dict[int, range]) -> dict[int, tuple[float, float]]:
        """The nearest rejected world beyond the estimate, and its neighbour towards it, by side.

        `parts` are the worlds to look among on each side; their shifts go upwards.
        """
        mean, f0 = self.worlds.chances(shifts)
        model = self.worlds.variance(mean, f0, self.off)
        off = np.clip(self.off / self.worlds.items / np.maximum(model, _LEAST**2), 0.0, 1.0)
        side = np.sign(mean - self.seen.value)
        chance = self._chance_of_seen(mean, self._variance(mean, model), off, side)
        rejected = (side != 0) & (chance < self.tail)
        found = {}
        for which, part in parts.items():
            here = np.flatnonzero((rejected & (side == which))[part.start : part.stop])
            if here.size:
                i = part.start + int(here[-1] if which < 0 else here[0])
                j = min(max(i - which, part.start), part.stop - 1)
                found[which] = float(shifts[i]), float(shifts[j])
        return found

    def _chance_of_seen(self, mean: Floats, variance: Floats, off: Floats, side: Floats) -> Floats:
        """P(an estimate at least as far from θ₀ as the one seen), in worlds with these means.

        `off` is the share of the variance that comes from predictions that are off, a sum over all labels and as good
        as normal: what it explains of the distance is taken off first (squares add up), the binomial explains the rest.
        """
        z = float(special.ndtri(1 - self.tail))
        away = np.sqrt(np.maximum((self.seen.value - mean) ** 2 - z**2 * off * variance, 0.0))
        value = mean - side * away
        n0 = mean * (1 - mean) / np.maximum((1 - off) * variance, _LEAST**2)
        ones, zeros, below = n0 * value, n0 * (1 - value), side < 0
        return binomial_tail(
            np.where(below, ones, zeros), np.where(below, zeros, ones), np.where(below, mean, 1 - mean)
        )

    def _variance(self, mean: Floats, model: Floats) -> Floats:
        """Variance of the estimate in each world: the model's, corrected by the mistakes that were seen.

        Towards the middle mistakes come on top of those seen, and may be of another kind: it takes more of those seen
        to say what they are like. Towards the nearer end there are fewer, of the kind that was seen; where they were
        more harmful than the model has it, all of that counts.
        """
        to_end = (mean > self.seen.value) if self.seen.value > 0.5 else (mean < self.seen.value)
        more = self.ratio * self.at_value + self.ratio_of_more * (model - self.at_value)
        to_middle = np.maximum(more, min(self.ratio, self.ratio_of_more) * model)
        return np.where(to_end, self.ratio_at_end * model, to_middle) * self.factor


def _unseen(
    fit: _Fitted, group: NDArray[np.intp], h: Floats, f: Floats, odds: Floats, weight: Floats, spread: float,
    variance: float,
) -> float:  # fmt: skip
    """Variance that the draw adds and labels did not show, beside the `variance` that was seen, of the items' sum.

    Rates follow the mistakes that were seen, so a group without any has few labels, and what was seen is the variance
    of the others alone. Where all its weak ratings are one, the model's is taken until the group shows its own. Where
    they differ, f tells them apart; but if f itself has so many mistakes in groups whose labels could hardly show one
    that the sum is off by their number, as long as none is drawn, f's variance is taken there.
    """
    coarse = fit.coarse
    drawn, off, own = weight * (weight - 1.0), (h - odds) ** 2, spread * fit.own * (1 - fit.own)
    terms = (
        drawn * (spread * odds * (1 - odds) + (odds - f) ** 2), drawn * (h - f) ** 2, weight * off, weight**2 * off,
        drawn * own, weight * own, own,
    )  # fmt: skip
    model, seen, mass, squares, by_f, there, among_labels = (np.bincount(group, one, coarse.size) for one in terms)
    shown = np.divide(mass**2, spread * squares, out=np.zeros(mass.size), where=squares > 0)
    lacking = PRIOR_MISTAKES / (shown + PRIOR_MISTAKES) * np.maximum(model - seen, 0.0)
    silent = np.exp(-_SHOWN * among_labels)
    away = max(float(silent @ np.maximum(there - mass, 0.0)) - 1.0, 0.0) ** 2
    told = min(away / max(_FAR**2 * variance, _LEAST), 1.0) * float(
        silent @ np.maximum(np.minimum(by_f, model) - seen, 0)
    )
    return max(float((_FINE_TOO + (1.0 - _FINE_TOO) * coarse) @ lacking), told)


def _uneven(residual: Floats, weight: Floats) -> float:
    """Extra relative variation of the observed variance, because mistakes weigh unequally."""
    plain, squares, fourths = (float(weight**p @ residual**2) for p in (0, 2, 4))
    return min(max(fourths / squares**2 - 1.0 / plain, 0.0), _UNEVEN) if squares > 0 and plain > 0 else 0.0


def _few_labels(seen: Spread, level: float, uneven: float) -> float:
    """Half of Student's correction, for what the draw adds: 0/1 residuals are less variable than normal ones.

    All of it for few clusters, whose sums are as good as normal.
    """
    few = 0.0 if seen.clustering is None else 1.0 / seen.clustering.degrees_of_freedom
    drawn = seen.drawn_variance / seen.variance if seen.variance > 0 else 0.0
    if drawn > 0 and seen.labels >= 2:
        few += 0.5 * (1.0 / (seen.labels - 1) + uneven * max(1.0 - _ENOUGH / seen.labels, 0.0)) * drawn**2
    quantile = float(special.ndtri(0.5 + level / 2))
    return (float(special.stdtrit(1.0 / few, 0.5 + level / 2)) / quantile) ** 2 if few > 0 else 1.0


_PRIOR_PAIRS = 0.5  # pairs of rare ratings in one cluster that are imagined besides those seen


def _cluster_effect(seen: Spread) -> float:
    """The design effect, at least 1; the largest there can be where ratings of one kind are too rare to show it.

    Pairs of the rarer kind are what tells how alike a cluster's ratings are; with none, nothing does.
    """
    c = seen.clustering
    if c is None:
        return 1.0
    rare = seen.labels * min(seen.value, 1.0 - seen.value)
    pairs = max(rare * (rare - 1.0) / 2, 0.0)
    effect = (pairs * c.design_effect + _PRIOR_PAIRS * max(c.largest_effect, c.design_effect)) / (pairs + _PRIOR_PAIRS)
    return max(effect * c.missed, 1.0)
