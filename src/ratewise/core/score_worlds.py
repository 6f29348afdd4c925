"""Worlds for the score interval: what the strong ratings might be, one for each mean, and the labels' fit to them.

A world is made from the prediction f: its log-odds are recalibrated on the labels, moved group by group as far as each
group's own labels say, and then tilted until their mean is the one asked for; H is 0 or 1 with these odds. Groups are
items of one side of 1/2 and of like rates. A tilt moves a group the more, the more it changes the mean and the less its
labels contradict: where labels are few for what they stand for, more mistakes may hide.
"""

import math
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy import special

from ratewise.core.checks import Floats
from ratewise.core.ratings import Mask, Ratings

_BINS = 100  # of log-odds, that items are counted in: finer ones move no end by a thousandth of the width
PRIOR_MISTAKES = 2.0  # mistakes' worth of belief in the model's variance
_LOW_RATE = 0.3  # of the mean rate: below it, rates are believed as to how rare mistakes are
_PRIOR_RATINGS = 0.5  # of either end of the scale, that the recalibration starts from
_SLOPE_VARIANCE = 0.25  # of the prior around 1 for the slope of the recalibrated log-odds
_ANYWHERE, _TOLD = 0.3, 4.0  # share of the mistakes that may be anywhere, whatever f says; halved by so many seen
_AT_AN_END, _PRIOR_BETWEEN = 0.02, 1.0  # of the scale; ratings' worth of belief that all are at its ends
_COARSE = 33  # worlds on the first look
_BEYOND = 15.0  # log-odds beyond the furthest item at which a candidate mean is as good as an end
_LIKE_RATES = 1.5  # a group's rates differ by this factor at most
_SD_FINE, _SD_COARSE = 0.25, 1.0  # of a group's log-odds around f: where weak ratings differ, and where all are one
_SD_ALL = 3.0  # of what moves all groups alike
_LEAST_TILT = 0.05  # of the group that moves most
_SAME = 1e-9  # weak ratings that differ by no more are one
_SUREST = 1e-12  # chance of a mistake that no prediction is below
_CLOSE = 0.011  # weak ratings that differ by no more are as good as neighbours: hundredths are a fine scale


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Groups of items by side of 1/2 and rate, with what their labels say."""

    of_labels: NDArray[np.intp]  # group of each label
    coarse: Floats  # chance that two of a group's items have one weak rating: 1 for a judge that speaks in tenths
    direction: Floats  # how far a tilt by 1 moves each group's log-odds

    def sums(self, terms: Floats) -> Floats:
        """Sum of a term of each label, by group."""
        return np.asarray(np.bincount(self.of_labels, terms, self.coarse.size), dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Worlds:
    """Items counted by their recalibrated log-odds; each shift of all log-odds is a world.

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
        """Worlds from one end of the scale to the other."""
        lowest = float(np.min((-_BEYOND - self.logit) / self.direction))
        highest = float(np.max((_BEYOND - self.logit) / self.direction))
        return np.sinh(np.linspace(np.arcsinh(lowest), np.arcsinh(highest), _COARSE))

    def shift_to(self, mean: float) -> float:
        """The shift of the world with this mean; the furthest one for a mean beyond all worlds."""

        def above(shift: float) -> float:
            return float(special.expit(self.logit + shift * self.direction) @ self.share) - mean

        low, high = float(self.shifts()[0]), float(self.shifts()[-1])
        if above(low) >= 0 or above(high) <= 0:
            return low if above(low) >= 0 else high
        return float(scipy.optimize.brentq(above, low, high, xtol=1e-12))


def worlds_of(f: Floats, data: Ratings, pool_size: float) -> tuple[Worlds, Floats, Groups]:
    """The worlds, for each label its log-odds in them before any tilt, and the groups.

    Along a chain every step has its own prediction of the items that reached it; all are tilted alike, and the first
    one, which every item has, says what the mean is.
    """
    (rows, steps), T, use = f.shape, data.items, data.labelled
    had, fit = _had(data), _fitted(f, data)
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
    return worlds, fit.z[use, -1], Groups(fit.group[use, -1], fit.coarse, direction)


def likely(f: Floats, data: Ratings) -> Floats:
    """Chance of a 1 of every item, as far as the labels correct the prediction f."""
    return np.asarray(special.expit(_fitted(f, data).z[:, 0]))


@dataclass(frozen=True, slots=True, eq=False)
class _Fitted:
    """Log-odds that the labels have corrected, items × steps, and what the correction rests on."""

    z: Floats
    group: NDArray[np.intp]
    coarse: Floats  # as in `Groups`
    bend: Floats  # curvature of the labels' penalised log-likelihood, groups × groups


def _fitted(f: Floats, data: Ratings) -> _Fitted:
    use, pi, had = data.labelled, data.rates[:, -1], _had(data)
    keep = np.maximum(0.5 / max(data.labels, 1) * _believed(pi, data.mean(pi)), _SUREST)
    z = _log_odds(np.where(had, f, 0.5), keep, pi, data.each(np.ones(data.rows)))
    told = np.sign(z) * _told_by_rates(pi, data.counts)[:, None]
    z = _recalibrated(np.stack([z[use, -1], told[use, -1]]), data.strong[use])(np.stack([z, told]))
    group = _groups(z, pi)
    coarse = _coarse(np.where(had, data.weak, 0.0), np.broadcast_to(pi[:, None], z.shape), group, _mass(data))
    h = np.broadcast_to(data.strong[use][:, None], (data.labels, z.shape[1]))
    moved, bend = _moved(z[use], h, group[use], _precision(coarse))
    return _Fitted(z + moved[group], group, coarse, bend)


def _had(data: Ratings) -> Mask:
    """Who has the weak rating of each step; everybody has the first."""
    return np.concatenate([np.ones((data.rows, 1), dtype=np.bool_), data.rated[:, :-1]], axis=1)


def _mass(data: Ratings) -> Floats:
    """How many items each one stands for at each step, as a share of all."""
    return data.each(np.where(_had(data), data.inverse_rates()[:, :-1], 0.0)) / data.items


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


def _believed(rates: Floats, mean_rate: float) -> Floats:
    """How much of a doubt is left at these rates: all of it, but where they are far below the mean."""
    return np.asarray(np.minimum(rates / (_LOW_RATE * mean_rate), 1.0) ** 4)


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


@dataclass(frozen=True, slots=True, eq=False)
class _Recalibration:
    """σ(α + β·(z − centre)), by the log-odds of f and by what the rates tell of it."""

    alpha: float
    beta: Floats
    centre: Floats

    def __call__(self, z: Floats) -> Floats:
        """Log-odds of items whose columns come first."""
        return self.alpha + np.tensordot(self.beta, z, axes=1) - float(self.beta @ self.centre)


def _recalibrated(z: Floats, h: Floats) -> _Recalibration:
    """H by the log-odds z, columns × labels, by Newton's method with priors that keep all finite if all labels agree.

    f is taken at its word to begin with, and what the rates tell is not believed.
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
    return _Recalibration(float(b[0]), b[1:], centre)


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
