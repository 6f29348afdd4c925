"""What a chain has bought so far, and what its labels teach at every level."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ratewise.core.checks import Floats
from ratewise.core.clusters import Codes
from ratewise.core.ratings import Mask
from ratewise.design.auto import LearnedRating, below_one, learned_rating
from ratewise.design.designs import Design
from ratewise.design.seen import FEWEST_TO_LEARN, LEAST_RATE, Seen
from ratewise.design.step_rule import StepRule
from ratewise.learn.rating_model import Covariates, cluster_fitted_rating


@dataclass(frozen=True, slots=True)
class StepPhase:
    """Items looked at in one go, and the rule they were drawn by; no rule: everyone was asked."""

    items: int
    rule: StepRule | None = None


@dataclass(frozen=True, eq=False)
class StepSeen:
    """Items with what every rater said of them, and Σ T_j q_j of each step: the rates of all rounds together.

    It never changes, so what was fitted to it is kept with it. The mass of a step counts only for items that have
    reached it.
    """

    design: Design
    x: Covariates
    said: Floats  # items × raters 1 … K−1, NaN where none
    strong: Floats
    mass: Floats  # items × steps, the last rater being the last step
    phases: tuple[StepPhase, ...]

    @classmethod
    def start(cls, design: Design, x: Covariates, said: Floats, strong: Floats) -> "StepSeen":
        """Items that everyone has rated."""
        mass = np.full((x.items, design.levels), float(x.items))
        return cls(design, x, said, strong, mass, (StepPhase(x.items),))

    @property
    def items(self) -> int:
        """How many were looked at."""
        return int(self.strong.size)

    @property
    def labelled(self) -> Mask:
        """Whether each item has a strong rating."""
        return ~np.isnan(self.strong)

    def rates(self) -> Floats:
        """Rates over all rounds, items × steps; they never rise along a row."""
        return np.minimum.accumulate(np.clip(self.mass / self.items, LEAST_RATE, 1.0), axis=1)

    def reached(self, level: int) -> NDArray[np.intp]:
        """Items whose answers of this level are known."""
        if level == 0:
            return np.arange(self.items)
        return np.flatnonzero(~np.isnan(self.said[:, self.design.steps[level - 1] - 1]))

    def mass_before(self, x: Covariates, said: Floats) -> Floats:
        """Σ T_j q_j(x) of all rounds so far, for any items."""
        total = np.zeros((x.items, self.design.levels))
        for phase in self.phases:
            total = total + phase.items * _phase_rates(phase, x, said, total)
        return total

    def joined(
        self, x: Covariates, said: Floats, strong: Floats, rule: StepRule, own: Floats, *, rates: Floats | None = None
    ) -> "StepSeen":
        """One more round; `own` are rates of the labels so far by a rule made without each, labels × steps."""
        phase = StepPhase(x.items, rule)
        before = self.mass_before(x, said)
        earlier = _phase_rates(phase, self.x, self.said, self.mass)
        if own.size:
            earlier[np.flatnonzero(self.labelled)] = rule.scaled(own.reshape(-1, self.design.levels))
        now = rule.rates(x, said, before) if rates is None else rates
        mass = np.concatenate([self.mass + phase.items * earlier, before + phase.items * now])
        return replace(
            self, x=self.x.joined(x), said=np.concatenate([self.said, said]),
            strong=np.concatenate([self.strong, strong]), mass=mass, phases=(*self.phases, phase),
        )  # fmt: skip

    @cached_property
    def views(self) -> tuple[Seen, ...]:
        """The items of each level as two raters would see them: what is known there, and the strong ratings."""
        rates = self.rates()[:, -1]
        out = []
        for level in range(self.design.levels):
            rows = self.reached(level)
            x = self.design.covariates(self.x.rows(rows), self.said[rows], level)
            out.append(Seen(x, self.strong[rows], (), rates[rows] * rows.size))
        return tuple(out)

    def chained(self, clusters: Codes | None = None) -> "StepRating":
        """f of every level in the raters' place, each label's from the others."""
        f, factor = np.full((self.items, self.design.levels), np.nan), 1.0
        for level, view in enumerate(self.views):
            rows = self.reached(level)
            if level and np.count_nonzero(view.labelled) < FEWEST_TO_LEARN:
                f[rows, level] = f[rows, level - 1]  # nothing to learn from
                continue
            rating = _rating(view, None if clusters is None else clusters[rows])
            f[rows, level] = rating.values
            factor = rating.factor if level == 0 else factor
        return StepRating(f, factor)


@dataclass(frozen=True, slots=True, eq=False)
class StepRating:
    """f of all items at every level they have reached, NaN beyond; and the factor by which learning widens."""

    values: Floats
    factor: float


def _rating(view: Seen, clusters: Codes | None) -> LearnedRating:
    if clusters is None:
        return learned_rating(view)
    f = cluster_fitted_rating(view.x, view.strong, 1.0 / view.rates(), clusters)
    return LearnedRating(f, learned_rating(view).factor)


def _phase_rates(phase: StepPhase, x: Covariates, said: Floats, before: Floats) -> Floats:
    return np.ones_like(before) if phase.rule is None else phase.rule.rates(x, said, before)


def step_arrays(
    seen: StepSeen, *, reached: Mask, asked: Mask, clusters: Codes | None = None
) -> tuple[Floats, Floats, float]:
    """What stands in the raters' place, items × levels, the rates, and the factor: what an estimate is made from.

    `reached` says who was asked at each step but the last, `asked` at the last one. An answer that did not come is that
    of the level before.
    """
    rating = seen.chained(clusters)
    f = rating.values.copy()
    for level in range(1, f.shape[1]):
        gap = reached[:, level - 1] & np.isnan(f[:, level])
        f[gap, level] = f[gap, level - 1]
    rates = seen.rates()
    steps = np.column_stack([reached, asked])
    rates = np.column_stack([below_one(rates[:, k], steps[:, k]) for k in range(rates.shape[1])])
    return f, np.minimum.accumulate(rates, axis=1), rating.factor
