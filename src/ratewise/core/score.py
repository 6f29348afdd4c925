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
from scipy import special

from ratewise.core.checks import Floats
from ratewise.core.intervals import Clustering, Interval, Spread
from ratewise.core.ratings import Ratings
from ratewise.core.score_worlds import PRIOR_MISTAKES, Groups, Worlds, dispersion, mistakes, worlds_of

_MANY_MISTAKES = 12.0  # enough to half say what mistakes on top of them would be like
_UNEVEN = 0.15  # at most so much, relative to itself, is the variance made uncertain by unequal weights
_ENOUGH = 40.0  # labels up to which the exact test makes up for unequal weights by itself
_FEW = 5.0  # ratings of the rarer kind, at which half of what separates the exact test from the mid-p test is gone
_FINE, _PASSES = 13, 3  # candidates on each closer look
_LEAST = 1e-12
_FINE_TOO = 0.1  # of what may hide among like ratings, so much is taken to hide among ratings that differ


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


@dataclass(frozen=True, slots=True)
class _Seen:
    """What the labels showed, on a scale from 0 to 1; variances are of the estimate."""

    value: float  # within the scale
    variance: float
    drawn: float  # share of the variance that the draw adds
    labels: int
    clustering: Clustering | None


def _scaled(s: Spread, low: float, width: float, *, stream: bool) -> _Seen:
    of, effect = s.variance, 1.0 if s.clustering is None else s.clustering.design_effect
    if s.clustering is not None and effect == 0:  # clusters whose sums are all alike show no variance of their own
        of, effect = s.clustering.item_variance, 1.0
    variance = of * ((s.items - 1) / s.items if stream else 1.0)  # that of a 0/1 rating is θ(1 − θ)
    drawn = min(effect * s.drawn_variance / of, 1.0) if of > 0 else 0.0
    value = min(max((s.value - low) / width, 0.0), 1.0)
    return _Seen(value, variance / effect / width**2, drawn, s.labels, s.clustering)


@dataclass(frozen=True, slots=True, eq=False)
class _Look:
    """Worlds by their shifts, with what both ends of the interval ask of them."""

    shifts: Floats
    mean: Floats
    variance: Floats  # of the estimate
    off: Floats  # share of the variance that comes from predictions that are off


@dataclass(frozen=True, slots=True, eq=False)
class _Test:
    """Tests whether a world with mean θ₀ is consistent with the labels."""

    worlds: Worlds
    seen: _Seen
    at_value: float  # the model's variance at the estimate
    off: float  # of predictions, as at the estimate: a fitted f would follow θ₀
    ratio: float  # of the variance seen to the model's, shrunk to 1 while few mistakes are seen
    ratio_of_more: float  # the same for mistakes on top of those seen
    ratio_at_end: float  # the same towards the nearer end of the scale
    factor: float  # on all variances
    tail: float  # (1 − level)/2

    @classmethod
    def of(cls, seen: _Seen, f: Floats, data: Ratings, level: float, pool_size: float, factor: float) -> "_Test":
        worlds, z, groups = worlds_of(f, data, pool_size)
        keep = 0.5 / max(seen.labels, 1)
        shift = worlds.shift_to(min(max(seen.value, keep), 1 - keep))
        use = data.labelled
        h, weight = data.strong[use], 1.0 / data.rates[use, -1]
        odds = special.expit(z + shift * groups.direction[groups.of_labels])
        worlds = replace(worlds, dispersion=dispersion(h, odds, weight))
        mean, f0 = worlds.chances(np.array([shift]))
        off = worlds.off(f0[0])
        model = float(worlds.variance(mean, f0, off)[0])
        counted = weight * (weight - data.items / pool_size)  # what a squared residual weighs in the variance
        k = mistakes(h - odds, np.sqrt(np.maximum(counted, 0.0))) / worlds.dispersion
        unseen = _unseen(groups, h, f[use, -1], odds, weight, worlds.dispersion) / data.items**2
        ratio = (seen.variance + unseen) / model if model > 0 else 1.0
        shrunk = (k * ratio + PRIOR_MISTAKES) / (k + PRIOR_MISTAKES)
        of_more = 1.0 + (ratio - 1.0) * k**2 / (k**2 + _MANY_MISTAKES**2)
        wider = factor * _few_labels(seen, level, _uneven(h - odds, weight)) * _cluster_effect(seen)
        return cls(worlds, seen, model, off, shrunk, of_more, max(ratio, shrunk), wider, (1 - level) / 2)

    def ends(self) -> Interval:
        """The interval: on each side of the estimate, the first world that the test rejects."""
        every = self.worlds.shifts()
        found = self._brackets(self.look(every), dict.fromkeys((-1, 1), range(every.size)))
        for _ in range(_PASSES):
            closer = [np.linspace(min(pair), max(pair), _FINE) for pair in found.values()]
            if not closer:
                break
            parts = {side: range(k * _FINE, (k + 1) * _FINE) for k, side in enumerate(found)}
            found |= self._brackets(self.look(np.concatenate(closer)), parts)  # at the edge it may not be found anew
        means, _ = self.worlds.chances(np.array([pair[0] for pair in found.values()]))
        end = dict(zip(found, means.tolist(), strict=True))
        return end.get(-1, 0.0), end.get(1, 1.0)

    def look(self, shifts: Floats) -> _Look:
        """Mean and variances in the worlds with these shifts."""
        mean, f0 = self.worlds.chances(shifts)
        model = self.worlds.variance(mean, f0, self.off)
        off = np.clip(self.off / self.worlds.items / np.maximum(model, _LEAST**2), 0.0, 1.0)
        return _Look(shifts, mean, self._variance(mean, model), off)

    def _brackets(self, at: _Look, parts: dict[int, range]) -> dict[int, tuple[float, float]]:
        """The nearest rejected world beyond the estimate, and its neighbour towards it, by side.

        `parts` are the worlds to look among on each side; their shifts go upwards.
        """
        side = np.sign(at.mean - self.seen.value)
        rejected = (side != 0) & (self._chance_of_seen(at, side) < self.tail)
        found = {}
        for which, part in parts.items():
            here = np.flatnonzero((rejected & (side == which))[part.start : part.stop])
            if here.size:
                i = part.start + int(here[-1] if which < 0 else here[0])
                j = min(max(i - which, part.start), part.stop - 1)
                found[which] = float(at.shifts[i]), float(at.shifts[j])
        return found

    def _chance_of_seen(self, at: _Look, side: Floats) -> Floats:
        """P(an estimate at least as far from θ₀ as the one seen), in worlds with these means.

        The part of the variance that comes from predictions that are off is a sum over all labels, as good as normal:
        what it explains of the distance is taken off first (squares add up), and the binomial explains the rest.
        """
        mean, variance, off = at.mean, at.variance, at.off
        z = float(special.ndtri(1 - self.tail))
        away = np.sqrt(np.maximum((self.seen.value - mean) ** 2 - z**2 * off * variance, 0.0))
        value = mean - side * away
        n0 = mean * (1 - mean) / np.maximum((1 - off) * variance, _LEAST**2)
        ones, zeros = n0 * value, n0 * (1 - value)
        exact = 0.5 + 0.5 / (1.0 + np.minimum(ones, zeros) / _FEW)
        below = side < 0
        many, few = np.where(below, ones, zeros), np.where(below, zeros, ones)
        chance = np.where(below, mean, 1 - mean)
        found = exact * _at_least(many, few + 1, chance) + (1 - exact) * _at_least(many + 1, few, chance)
        return np.asarray(found)

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


def _at_least(count: Floats, others: Floats, chance: Floats) -> Floats:
    """P(Binomial ≥ count), smooth in all three: 0 where nothing could be so many."""
    found = special.betainc(np.maximum(count, _LEAST), np.maximum(others, _LEAST), chance)
    return np.where(others > _LEAST, found, 0.0)


def _unseen(groups: Groups, h: Floats, f: Floats, odds: Floats, weight: Floats, spread: float) -> float:
    """Variance that the draw adds and labels did not show: what the model has more of, in groups with few mistakes.

    Rates follow the mistakes that were seen, so a group without any has few labels, and what was seen is the variance
    of the others alone. Where all its weak ratings are one, the model's is taken until the group shows its own.
    """
    drawn = weight * (weight - 1.0)
    model, seen = groups.sums(drawn * (spread * odds * (1 - odds) + (odds - f) ** 2)), groups.sums(drawn * (h - f) ** 2)
    mass, squares = groups.sums(weight * (h - odds) ** 2), groups.sums(weight**2 * (h - odds) ** 2)
    own = np.divide(mass**2, spread * squares, out=np.zeros(mass.size), where=squares > 0)
    lacking = PRIOR_MISTAKES / (own + PRIOR_MISTAKES) * np.maximum(model - seen, 0.0)
    return float((_FINE_TOO + (1.0 - _FINE_TOO) * groups.coarse) @ lacking)


def _uneven(residual: Floats, weight: Floats) -> float:
    """Extra relative variation of the observed variance, because mistakes weigh unequally."""
    plain, squares, fourths = (float(weight**p @ residual**2) for p in (0, 2, 4))
    return min(max(fourths / squares**2 - 1.0 / plain, 0.0), _UNEVEN) if squares > 0 and plain > 0 else 0.0


def _few_labels(seen: _Seen, level: float, uneven: float) -> float:
    """Half of Student's correction, for what the draw adds: 0/1 residuals are less variable than normal ones.

    All of it for few clusters, whose sums are as good as normal.
    """
    few = 0.0 if seen.clustering is None else 1.0 / seen.clustering.degrees_of_freedom
    if seen.drawn > 0 and seen.labels >= 2:
        few += 0.5 * (1.0 / (seen.labels - 1) + uneven * max(1.0 - _ENOUGH / seen.labels, 0.0)) * seen.drawn**2
    quantile = float(special.ndtri(0.5 + level / 2))
    return (float(special.stdtrit(1.0 / few, 0.5 + level / 2)) / quantile) ** 2 if few > 0 else 1.0


_PRIOR_PAIRS = 0.5  # pairs of rare ratings in one cluster that are imagined besides those seen


def _cluster_effect(seen: _Seen) -> float:
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
