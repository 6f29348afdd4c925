"""Worlds for the score interval: what the strong ratings might be, one for each mean, and the labels' fit to them.

A world is made from the prediction f: its log-odds are recalibrated on the labels and shifted until their mean is the
one asked for, and H is 0 or 1 with these odds.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from scipy import special

from ratewise.core.checks import Floats
from ratewise.core.mean.ratings import Ratings

_BINS = 100  # of log-odds, that items are counted in: finer ones move no end by a thousandth of the width
PRIOR_MISTAKES = 2.0  # mistakes' worth of belief in the model's variance
_LOW_RATE = 0.3  # of the mean rate: below it, rates are believed as to how rare mistakes are
_PRIOR_RATINGS = 0.5  # of either end of the scale, that the recalibration starts from
_SLOPE_VARIANCE = 0.25  # of the prior around 1 for the slope of the recalibrated log-odds
_ANYWHERE = 0.3  # share of the mistakes that may be anywhere, whatever the prediction says
_COARSE = 65  # worlds on the first look
_BEYOND = 15.0  # log-odds beyond the furthest item at which a candidate mean is as good as an end


@dataclass(frozen=True, slots=True, eq=False)
class Worlds:
    """Items counted by their recalibrated log-odds; each shift of all log-odds is a world.

    Per bin: the share of items, and Σ a, Σ a f, Σ a f² with a = 1/π − 1, the weight of (H − f)² in the variance.
    """

    logit: Floats
    share: Floats
    a: Floats
    af: Floats
    aff: Floats
    items: int
    pool_size: float
    anywhere: float  # mean of 1/π − 1, as far as rates may be left

    def chances(self, shift: Floats) -> tuple[Floats, Floats]:
        """Means of the worlds, and their chances of a 1, worlds × bins."""
        f0 = special.expit(self.logit + np.asarray(shift)[:, None])
        return f0 @ self.share, f0

    def variance(self, mean: Floats, f0: Floats, off: Floats | float) -> Floats:
        """Variance of the estimate: what the draw adds, with f as far `off` as the labels say, and the items' own.

        Some of the mistakes E[u₀] may be anywhere, not only where f is unsure.
        """
        u0 = f0 * (1 - f0)
        anywhere = (u0 @ self.share) * self.anywhere
        draw = ((1 - _ANYWHERE) * (u0 @ self.a) + _ANYWHERE * anywhere + off) / self.items
        return np.asarray(draw + mean * (1 - mean) * (1.0 / self.items - 1.0 / self.pool_size))

    def off(self, f0: Floats) -> float:
        """Σ a (f₀ − f)² over items, per item."""
        return float(f0**2 @ self.a - 2 * f0 @ self.af + self.aff.sum())

    def shifts(self) -> Floats:
        """Worlds from one end of the scale to the other."""
        return np.linspace(-self.logit.max() - _BEYOND, -self.logit.min() + _BEYOND, _COARSE)

    def shift_to(self, mean: float) -> float:
        """The shift of the world with this mean; the furthest one for a mean beyond all worlds."""

        def above(shift: float) -> float:
            return float(special.expit(self.logit + shift) @ self.share) - mean

        low, high = float(self.shifts()[0]), float(self.shifts()[-1])
        if above(low) >= 0 or above(high) <= 0:
            return low if above(low) >= 0 else high
        return float(scipy.optimize.brentq(above, low, high, xtol=1e-12))


def worlds_of(f: Floats, data: Ratings, pool_size: float) -> tuple[Worlds, Floats]:
    """The worlds, and for each label its log-odds in them before any shift.

    Along a chain every step has its own prediction of the items that reached it; all are shifted alike, and the first
    one, which every item has, says what the mean is.
    """
    (rows, steps), T = f.shape, data.items
    inverse = data.inverse_rates()[:, :-1]
    had = np.concatenate([np.ones((rows, 1), dtype=np.bool_), data.rated[:, :-1]], axis=1)
    a = data.each(np.where(had, data.step_odds() * inverse, 0.0)) / T
    share, often = np.zeros((rows, steps)), data.each(np.ones(rows))
    share[:, 0] = often / T
    # No prediction is surer than the labels are many: half of one is left in doubt, where rates say that mistakes are.
    mean_rate = data.mean(data.rates[:, -1])
    left = believed(data.rates[:, -1], mean_rate)
    keep = 0.5 / max(data.labels, 1) * left[:, None]
    anywhere = data.mean(1.0 / np.maximum(data.rates[:, -1], _LOW_RATE * mean_rate)) - 1.0
    z = special.logit(np.clip(np.where(had, f, 0.5), keep, 1 - keep))
    told = np.sign(z) * _told_by_rates(data.rates[:, -1], data.counts)[:, None]
    use = data.labelled
    z = _recalibrated(np.stack([z[use, -1], told[use, -1]]), data.strong[use])(np.stack([z, told]))
    doubt = _doubts(z[use, -1], data.strong[use], 1.0 / data.rates[use, -1])
    z = np.clip(z, *(sign * -special.logit(one * left[:, None]) for sign, one in zip((-1, 1), doubt, strict=True)))
    values = np.where(had, f, 0.0)
    columns = (share, a, a * values, a * values**2)
    often = np.repeat(often, steps)
    logit, (shares, weight, wf, wff) = _binned(z.ravel(), often, [column.ravel() for column in columns])
    return Worlds(logit, shares, weight, wf, wff, T, pool_size, anywhere), z[data.labelled, -1]


def believed(rates: Floats, mean_rate: float) -> Floats:
    """How much of a doubt is left at these rates: all of it, but where they are far below the mean."""
    return np.minimum(rates / (_LOW_RATE * mean_rate), 1.0) ** 4


def _doubts(z: Floats, h: Floats, weight: Floats) -> tuple[float, float]:
    """Chance of a mistake that no prediction below, and none above, 1/2 may be below: one label more on that side.

    Half a label where the other side shows no mistakes either: what may be there is then up to the test.
    """
    one, residual = z > 0, h - special.expit(z)
    found = []
    for side in (~one, one):
        other = mistakes(residual[~side], weight[~side])
        count = 0.5 + 0.5 * other / (other + PRIOR_MISTAKES)
        found.append(count / (np.count_nonzero(side) + 2 * count))
    return found[0], found[1]


def _binned(z: Floats, often: Floats, weights: Sequence[Floats]) -> tuple[Floats, list[Floats]]:
    """Mean of z and sums of the weights in bins of equal width; empty ones are left out."""
    low, width = float(z.min()), float(np.ptp(z)) / _BINS
    at = np.minimum(((z - low) / width).astype(np.intp), _BINS - 1) if width > 0 else np.zeros(z.size, dtype=np.intp)
    counts = np.bincount(at, weights=often)
    use = counts > 0
    sums = [np.asarray(np.bincount(at, weights=w), dtype=np.float64)[use] for w in (often * z, *weights)]
    return sums[0] / counts[use], sums[1:]


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
