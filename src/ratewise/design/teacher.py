"""A finished campaign as the teacher of the next one (A1): its labels stand in until the new one has some of its own.

The teacher is the labelled items of the old campaign with their rates, so that calibration and u are fitted again from
it, bit for bit. Nothing of it enters an estimate: it decides where to look, and drift only costs money.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import special

from ratewise.core.checks import Floats
from ratewise.core.result import JsonRecord
from ratewise.design.seen import Learned, Seen
from ratewise.learn.covariates import Covariates

_QUANTILES = 101  # enough to see a shift of one per cent of the items
_FALSE_ALARM = 1e-3
_FEWEST_TO_JUDGE = 8  # labels
FEWEST_TO_TEACH = 8  # labels of items with weak ratings


@dataclass(frozen=True, slots=True)
class TeacherDrift:
    """How far the new items are from those that the teacher has seen."""

    gap: float  # largest gap between the shares below a weak rating, 0 to 1
    threshold: float  # larger gaps come by chance less than once in a thousand campaigns
    off: float  # how far the new labels are from what was learned, in the same units of chance: 1 is the threshold

    @property
    def drifted(self) -> bool:
        """Whether chance does not explain what was found."""
        return self.gap > self.threshold or self.off > 1.0

    def summary(self, campaign: str) -> str:
        """One line for people."""
        if not self.drifted:
            return f"what {campaign} has taught still fits: no drift beyond chance in weak ratings or labels"
        what = "weak ratings differ" if self.gap > self.threshold else "labels differ"
        return f"drift: {what} from those of {campaign}, so plans go by this campaign's own labels"


@dataclass(frozen=True, eq=False)
class Teacher(JsonRecord):
    """Labelled items of a finished campaign, and quantiles of all its weak ratings."""

    campaign: str
    x: Covariates
    strong: Floats
    rates: Floats
    weak: Floats  # quantiles
    items: int  # with weak ratings

    @classmethod
    def of(cls, campaign: str, seen: Seen) -> "Teacher":
        """What a campaign of one weak and one strong rater has to teach."""
        rated = seen.x.rated
        use = seen.labelled & rated
        quantiles = np.quantile(seen.x.weak[rated], np.linspace(0, 1, _QUANTILES))
        x = replace(seen.x.rows(use), refits=None, filled=None)  # another pool has no such columns
        return cls(campaign, x, seen.strong[use], seen.rates()[use], quantiles, int(np.count_nonzero(rated)))

    @cached_property
    def learned(self) -> Learned:
        """The models that its labels teach."""
        return Seen(self.x, self.strong, (), self.rates * self.strong.size).learned

    def drift(self, seen: Seen) -> TeacherDrift:
        """Compare the weak ratings and the labels of another campaign with those that the teacher has seen."""
        x = np.sort(seen.x.weak[seen.x.rated])
        n, m = x.size, self.items
        if n == 0:
            return TeacherDrift(0.0, 1.0, 0.0)
        grid = np.concatenate([x, self.weak])
        old, new = (_shares_below(values, grid) for values in (self.weak, x))
        threshold = math.sqrt(-0.5 * math.log(_FALSE_ALARM / 2) * (1 / n + 1 / m)) + 1 / _QUANTILES
        return TeacherDrift(float(np.abs(old - new).max()), threshold, self._off(seen))

    def _off(self, seen: Seen) -> float:
        """The mean residual of new labels over what chance explains."""
        use = seen.labelled & seen.x.rated
        count = int(np.count_nonzero(use))
        if count < _FEWEST_TO_JUDGE:
            return 0.0
        w = 1.0 / seen.rates()[use]
        r = seen.strong[use] - self.learned.model.predict(seen.x.rows(use))
        mean = float(np.dot(w, r) / w.sum())
        own = float(np.sqrt(np.sum((w * (r - mean)) ** 2))) / float(w.sum())
        old = self.learned.residual
        spread = math.hypot(own, float(old.std()) / math.sqrt(old.size), math.sqrt(self.learned.variance) / count)
        return abs(mean) / (float(-special.stdtrit(count - 1, _FALSE_ALARM / 2)) * spread)


def _shares_below(ordered: Floats, at: Floats) -> Floats:
    """Share of the values below each number; those that are equal count half."""
    both = np.searchsorted(ordered, at, side="left") + np.searchsorted(ordered, at, side="right")
    return np.asarray(0.5 * both / ordered.size)


def enough_to_teach(seen: Seen | None) -> bool:
    """Whether a campaign has labels of items with weak ratings."""
    if seen is None or seen.by_features:
        return False
    return int(np.count_nonzero(seen.labelled & seen.x.rated)) >= FEWEST_TO_TEACH
