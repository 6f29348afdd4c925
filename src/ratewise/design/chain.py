"""Who is asked when, in a chain of raters: those who see every item, and those who are asked step by step.

A chain of raters 0 … K (the last one is right) can be used in several ways. Two cheap judges may both see every item;
one of them may be left out; a dear one is a step, asked about items that the cheap ones leave open.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ratewise.core.checks import Floats
from ratewise.core.clusters import Codes
from ratewise.core.draw import draw_within, scaled_to
from ratewise.core.policy import gains, pooled_gain_per_cost
from ratewise.core.ratings import Mask
from ratewise.core.result import JsonRecord
from ratewise.design.options import Money
from ratewise.design.rounds import ROUNDING, PooledDraw, RoundDraw, below_one, learned_rating
from ratewise.design.seen import FEWEST_TO_LEARN, LEAST_RATE, Phase, Seen, mass, times
from ratewise.learn.covariates import Covariates
from ratewise.learn.error_model import ErrorModel, LearnedError
from ratewise.learn.rating_model import RatingModel


@dataclass(frozen=True, slots=True)
class Design(JsonRecord):
    """Raters by number: `first` see every item, `steps` are asked one after the other, then the last rater."""

    first: tuple[int, ...]
    steps: tuple[int, ...] = ()

    @property
    def levels(self) -> int:
        """How many times something is known that decides who is asked next."""
        return len(self.steps) + 1

    def cuts(self, later: int) -> tuple[slice, ...]:
        """Columns of the raters after the first that are drawn together: each group's answers decide the next one."""
        ends = sorted({*(max(self.first, default=0),), *self.steps, later} - {0})
        return tuple(slice(a, b) for a, b in zip([0, *ends], ends, strict=False))

    def money(self, costs: Sequence[float], left: float, pool_left: float) -> Money:
        """What is left to spend, with the prices of those who see every item, of the steps, and of the last rater."""
        steps = tuple(costs[k] for k in self.steps)
        return Money(sum(costs[k] for k in self.first), costs[-1], left, pool_left, steps)

    def covariates(self, x: Covariates, said: Floats, level: int = 0) -> Covariates:
        """What is known of items at a level: the dearest rating as the weak one, the others beside the features.

        `said` are the ratings of raters 1 … K−1, NaN where there is none; for a rating that did not come, that of the
        rater before stands.
        """
        who = (*self.first, *self.steps[:level])
        answers = carried(np.column_stack([x.weak, said]))[:, list(who)]
        beside = answers[:, :-1]
        features = beside if x.features is None else np.column_stack([beside, x.features])
        doubts = x.doubts[who[-1] - 1] if x.doubts and who[-1] else None
        own = doubts if who[-1] else x.uncertainty  # how unsure the dearest is; what the user gives is of the first one
        return Covariates(answers[:, -1], features if features.shape[1] else None, own, x.text)


def carried(said: Floats) -> Floats:
    """Items × raters, with each rating that did not come replaced by that of the rater before."""
    out = said.copy()
    for k in range(1, out.shape[1]):
        gap = np.isnan(out[:, k])
        out[gap, k] = out[gap, k - 1]
    return out


def all_at_once(weak_raters: Sequence[int]) -> Iterator[Design]:
    """Every group of these weak raters that could see all items, small groups first."""
    for size in range(1, len(weak_raters) + 1):
        for group in combinations(weak_raters, size):
            yield Design(group)


def step_by_step(weak_raters: Sequence[int]) -> Iterator[Design]:
    """Every group that could see all items, with steps of later raters after it."""
    for design in all_at_once(weak_raters):
        later = [k for k in weak_raters if k > max(design.first)]
        for size in range(1, len(later) + 1):
            for steps in combinations(later, size):
                yield Design(design.first, steps)


@dataclass(frozen=True, slots=True)
class ChainRule(JsonRecord):
    """q_k(x) = clip(sqrt(s · gain per cost), floor, 1) by what the first rater said (METHODS section 2)."""

    errors: tuple[ErrorModel, ...]  # u_0 … u_{K−1}
    costs: tuple[float, ...]
    scale: float  # sqrt(s)
    floor: float

    def rates(self, weak: Floats) -> Floats:
        """Items × steps, never increasing along a row."""
        u = np.stack([model.predict(weak) for model in self.errors], axis=1)
        root = np.sqrt(pooled_gain_per_cost(gains(u), np.array(self.costs)))
        with np.errstate(invalid="ignore"):
            return np.clip(np.nan_to_num(self.scale * root, nan=1.0, posinf=1.0), self.floor, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class Level(JsonRecord):
    """What is learned of the items at one level."""

    model: RatingModel
    error: LearnedError
    later: tuple[LearnedError, ...]  # u of each later level, foretold

    def errors(self, x: Covariates) -> Floats:
        """Items × levels from this one on: u here, and what later levels will leave."""
        f = self.model.predict(x)
        return np.column_stack([self.error.predict(f, x), *(one.predict(f, x) for one in self.later)])


def roots(errors: Sequence[Floats], costs: Sequence[float]) -> Floats:
    """sqrt(gain per cost) of each step, by what is known when it is drawn; items × steps.

    `errors` has the errors known at each level, items × levels from that one on.
    """
    c = np.array(costs)
    found = [pooled_gain_per_cost(gains(u), c[j:])[:, 0] for j, u in enumerate(errors)]
    return np.sqrt(np.stack(found, axis=1))


@dataclass(frozen=True, slots=True, eq=False)
class StepRule(JsonRecord):
    """A round's rates of every step: they bring those over all rounds up to clip(γ·max(root, low), 0, 1).

    At level j the answers of the raters up to step j are known. f_j predicts the strong rating from them and u_j(x) its
    expected squared error; what later raters will leave open, u_l with l > j, is foretold from what is known at level
    j. The rate of the next step is that of METHODS section 2 for these errors, never above that of the step before.
    """

    design: Design
    levels: tuple[Level, ...]
    costs: tuple[float, ...]  # of each step and of the last rater
    lows: tuple[float, ...]  # the least root of each step
    scale: float
    before: float  # items looked at before this round
    total: float  # items planned in all
    least: float = 1e-3  # rate of items that have had their share already
    factor: float = 1.0  # of the last rater's rates, to spend the money of a pool's last items exactly,
    step_factor: float = 1.0  # and of the steps before

    def errors(self, x: Covariates, said: Floats) -> list[Floats]:
        """What is known of the errors at each level; where a rater was not asked, what was foretold before."""
        out: list[Floats] = []
        for j, level in enumerate(self.levels):
            here = np.ones(x.items, dtype=np.bool_) if j == 0 else ~np.isnan(said[:, self.design.steps[j - 1] - 1])
            u = np.empty((x.items, len(self.levels) - j)) if j == 0 else out[j - 1][:, 1:].copy()
            if here.any():
                u[here] = level.errors(self.design.covariates(x.rows(here), said[here], j))
            out.append(u)
        return out

    def rates_for(self, root: Floats, mass: Floats) -> Floats:
        """Rates of this round for items on which earlier rounds have spent `mass`, before the factor."""
        with np.errstate(invalid="ignore"):
            raw = np.nan_to_num(self.scale * np.maximum(root, self.lows), nan=1.0, posinf=1.0)
        wanted = np.minimum.accumulate(np.clip(raw, 0.0, 1.0), axis=1)  # over all rounds
        missing = (self.total * wanted - mass) / max(self.total - self.before, 1.0)
        return np.minimum.accumulate(np.clip(missing, self.least, 1.0), axis=1)

    def scaled(self, rates: Floats) -> Floats:
        """The rates times the factors of the steps and of the last rater; they never rise along a row."""
        return np.minimum.accumulate(
            np.column_stack([times(rates[:, :-1], self.step_factor), times(rates[:, -1:], self.factor)]), axis=1
        )

    def rates(self, x: Covariates, said: Floats, mass: Floats) -> Floats:
        """Rates of this round, items × steps."""
        return self.scaled(self.rates_for(roots(self.errors(x, said), self.costs), mass))

    def with_factors(self, steps: float, last: float) -> "StepRule":
        """The rule with the factors that its draw has found."""
        return replace(self, step_factor=steps, factor=last)


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
    phases: tuple[Phase[StepRule], ...]

    @classmethod
    def start(cls, design: Design, x: Covariates, said: Floats, strong: Floats) -> "StepSeen":
        """Items that everyone has rated."""
        mass = np.full((x.items, design.levels), float(x.items))
        return cls(design, x, said, strong, mass, (Phase(x.items),))

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

    def rates_before(self) -> Floats:
        """Rates at which the answers of each level are known, items × levels; 1 for the first."""
        return np.column_stack([np.ones(self.items), self.rates()[:, :-1]])

    def reached(self, level: int) -> NDArray[np.intp]:
        """Items whose answers of this level are known."""
        if level == 0:
            return np.arange(self.items)
        return np.flatnonzero(~np.isnan(self.said[:, self.design.steps[level - 1] - 1]))

    def mass_before(self, x: Covariates, said: Floats) -> Floats:
        """Σ T_j q_j(x) of all rounds so far, for any items."""
        return mass(self.phases, x, said, levels=(self.design.levels,))

    def joined(
        self, x: Covariates, said: Floats, strong: Floats, rule: StepRule, own: Floats, *, rates: Floats | None = None
    ) -> "StepSeen":
        """One more round; `own` are rates of the labels so far by a rule made without each, labels × steps."""
        phase = Phase(x.items, rule)
        before = self.mass_before(x, said)
        earlier = phase.rates(self.mass, self.x, self.said)
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

    def chained(self, clusters: Codes | None = None) -> tuple[Floats, float]:
        """f of every level in the raters' place, each label's from the others; and how learning widens the variance."""
        f, factor = np.full((self.items, self.design.levels), np.nan), 1.0
        for level, view in enumerate(self.views):
            rows = self.reached(level)
            if level and np.count_nonzero(view.labelled) < FEWEST_TO_LEARN:
                f[rows, level] = f[rows, level - 1]  # nothing to learn from
                continue
            f[rows, level], widening = learned_rating(view, None if clusters is None else clusters[rows])
            factor = widening if level == 0 else factor
        return f, factor


def pooled_steps(seen: StepSeen, *, reached: Mask, asked: Mask, clusters: Codes | None = None) -> PooledDraw:
    """All rounds of a chain as one draw: what an estimate is made from.

    `reached` says who was asked at each step but the last, `asked` at the last one. An answer that did not come is that
    of the level before.
    """
    f, factor = seen.chained(clusters)
    for level in range(1, f.shape[1]):
        gap = reached[:, level - 1] & np.isnan(f[:, level])
        f[gap, level] = f[gap, level - 1]
    rates = below_one(seen.rates(), np.column_stack([reached, asked]))
    return PooledDraw(f, np.minimum.accumulate(rates, axis=1), asked, factor)


# Draws. One random number serves all steps, so that they are nested


def draw_exact_steps(
    rule: StepRule, seen: StepSeen, x: Covariates, said: Floats, uniforms: Floats, *, money: float, prices: Floats
) -> RoundDraw:
    """Draw the steps by rates that are expected to spend the money, and of the last rater's as many as the rest buys.

    `prices` are items × steps. Steps never take more than the money. The last rater's rates are scaled among the items
    that have reached it, so that the money is spent to the last label.
    """
    expected = _raw(rule, seen, x, np.full_like(said, np.nan))
    steps = scaled_to(expected.ravel(), money, prices.ravel())
    raw = _raw(rule, seen, x, said)
    rates = rule.with_factors(steps, 1.0).scaled(raw)
    asked = np.zeros(raw.shape, dtype=np.bool_)
    there, left = np.ones(uniforms.size, dtype=np.bool_), money
    for k in range(raw.shape[1] - 1):
        asked[:, k] = there & (uniforms < rates[:, k])
        asked[asked[:, k], k] = np.cumsum(prices[asked[:, k], k]) <= left
        there, left = asked[:, k], left - float(prices[asked[:, k], k].sum())
    share = np.maximum(raw[:, -1] / rates[:, -2], 1e-12)[there]  # of those who are left, how many go on
    price = prices[there, -1]
    last = scaled_to(share, max(left, 0.0), price)
    rates = rule.with_factors(steps, last).scaled(raw)
    room = left + ROUNDING * float(price.max(initial=0.0))
    asked[there, -1] = draw_within(rates[there, -1], uniforms[there], price, room)
    return RoundDraw(rates, asked, last)


def factors_of(rule: StepRule, seen: StepSeen, x: Covariates, said: Floats, rates: Floats, last: float) -> StepRule:
    """The rule of an exact round with the factors that its rates show; `last` is the one that was written down."""
    raw = _raw(rule, seen, x, said)[:, 0]
    below = rates[:, 0] < 1.0
    steps = float(np.median(rates[below, 0] / raw[below])) if below.any() else math.inf
    return rule.with_factors(steps, last)


def _raw(rule: StepRule, seen: StepSeen, x: Covariates, said: Floats) -> Floats:
    return rule.rates_for(roots(rule.errors(x, said), rule.costs), seen.mass_before(x, said))
