"""`auto`: learn, plan and spend in rounds, and pool all rounds into one estimate (METHODS section 4).

What is bought is looked at as a whole. If round j looked at T_j items with rates π_j(x), a label at x was drawn with
π̄(x) = Σ T_j π_j(x) / Σ T_j, and the estimate is mean(f) + (1/T) Σ_labelled (H − f)/π̄ for all rounds together. So a
round is planned by asking which π̄ would be best for all the money, spent and unspent, and buying what is missing to
it; labels of a burn-in (π = 1) are then wasted only where the best rate is below the one they have given already.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ratewise.core import estimate as core
from ratewise.core.checks import Floats
from ratewise.core.estimate import Estimate
from ratewise.core.names import Estimand, IntervalMethod, PolicyName
from ratewise.core.policy import Policy, optimal_policy
from ratewise.core.ratings import Mask
from ratewise.errors import InputError
from ratewise.learn.error_model import LearnedError, error_candidates
from ratewise.learn.rating_model import Basis, Covariates, RatingModel, fit_rating, rating_bounds
from ratewise.learn.transfer import LARGEST_SCALE
from ratewise.learn.uncertainty import DEFAULT_FLOOR_SHARE

_MOST_AROUND = 20_000  # items whose u decides a policy: more would not move it
_BINS = 100  # values of u a policy is solved for: enough to lose nothing that could be seen
_LEAST_RATE = 1e-6  # of π̄; below it an item cannot be told from one that was never to be drawn
_ALMOST_ONE = 1 - 1e-12
_NEAR_TIE = 0.005  # the simpler policy is preferred unless the other is this much better
_WORTH_BUYING = 0.985  # weak ratings are bought if the expected error is below this share of that without them,
_DOUBT = 2.0  # less this many times the squared standard error of it: much with 20 labels, little with 200
_FLOOR_LABELS = 7.0  # the floor on rates, as a share of the mean rate, is this over the root of the labels
_PRIOR_LABELS = 4.0
_SURE = 1.0  # standard errors by which another u must beat the first one to be taken
_LEARNING_LABELS = 25.0  # labels' worth of variance that learning rates and f from the labels adds unseen
_FEWEST_TO_LEARN = 2
_LAST_ROUND = 1.3  # a round that would leave less than this many times the labels there are takes all
_NEAR_THE_END = 0.85  # a plan for more of the pool than this looks at all of it: chance may need more items
IDLE_RATE = 1e-3  # of items that have had their share already, where a pool has money left over


# What has been bought


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """A round's rates: what is missing to π̄ = clip(γ·sqrt(u), floor, 1) over all rounds."""

    model: RatingModel
    error: LearnedError
    scale: float
    floor: float
    before: float  # items looked at before this round
    total: float  # items planned in all
    factor: float = 1.0  # to spend the money of a pool's last items exactly
    least: float = 0.0

    def rates(self, x: Covariates, mass: Floats) -> Floats:
        """π of items on which earlier rounds have spent `mass` = Σ T_j π_j."""
        return self.rates_for(self.u(x), mass)

    def u(self, x: Covariates) -> Floats:
        """The expected squared error that the rates follow."""
        return self.error.predict(self.model.predict(x), x)

    def rates_for(self, u: Floats, mass: Floats) -> Floats:
        """The same for items whose u is known."""
        wanted = np.clip(self.scale * np.sqrt(u), self.floor, 1.0)
        missing = (self.total * wanted - mass) / max(self.total - self.before, 1.0)
        missing = np.clip(missing, self.least, 1.0)
        return np.minimum(missing * self.factor, 1.0) if math.isfinite(self.factor) else np.ones(missing.size)


@dataclass(frozen=True, slots=True)
class Phase:
    """Items looked at in one go, and the rule they were drawn by; no rule: every one got its strong rating."""

    items: int
    rule: Rule | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """Everything bought so far: items with what is known of them, strong ratings (NaN where none), and the phases."""

    x: Covariates
    strong: Floats
    phases: tuple[Phase, ...]
    mass: Floats  # Σ T_j π_j of every item

    @classmethod
    def of(cls, x: Covariates, strong: Floats, phases: tuple[Phase, ...]) -> "Seen":
        """With the rates that the phases' rules give."""
        return cls(x, strong, phases, mass(phases, x))

    @property
    def labelled(self) -> Mask:
        """Who has a strong rating."""
        return ~np.isnan(self.strong)

    @property
    def items(self) -> int:
        """How many were looked at."""
        return int(self.strong.size)

    def rates(self) -> Floats:
        """π̄ of the items seen."""
        return np.clip(self.mass / self.items, _LEAST_RATE, 1.0)

    def joined(
        self,
        x: Covariates,
        strong: Floats,
        before: Floats,
        phase: Phase,
        own: Floats | None = None,
        *,
        rates: Floats | None = None,
    ) -> "Seen":
        """One more phase, of items on which earlier phases would have spent `before`, with their rates if known.

        `own` are rates of the labels so far by a rule made without each. A label that shaped the new rule would else
        shape its own weight: a large residual raises the rate around it and so lowers what it counts, which is a bias.
        """
        earlier = _phase_rates(phase, self.x, self.mass)
        now = _phase_rates(phase, x, before) if rates is None else rates
        if own is not None and own.size:
            earlier[np.flatnonzero(self.labelled)] = own
        earned = np.concatenate([self.mass + phase.items * earlier, before + phase.items * now])
        return Seen(self.x.joined(x), np.concatenate([self.strong, strong]), (*self.phases, phase), earned)


def mass(phases: tuple[Phase, ...], x: Covariates) -> Floats:
    """Σ T_j π_j(x) over phases, each rule told what came before it."""
    total = np.zeros(x.items)
    for phase in phases:
        total = total + phase.items * _phase_rates(phase, x, total)
    return total


def _phase_rates(phase: Phase, x: Covariates, before: Floats) -> Floats:
    return np.ones(x.items) if phase.rule is None else phase.rule.rates(x, before)


# What is learned


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """Models fitted to labels, and what each label looks like to a fit without it."""

    x: Covariates  # labelled items
    strong: Floats
    weights: Floats  # 1/π̄
    model: RatingModel
    unseen: Floats  # f of each label from the others
    variance: float  # V
    bounds: tuple[float, float]
    binary: bool

    @property
    def residual(self) -> Floats:
        """H − f with f from the other labels."""
        return np.asarray(self.strong - self.unseen)

    @property
    def squared(self) -> Floats:
        """(H − f)² as plans see it: with a few labels' worth of a useless weak rater, spread over all of them.

        Labels that show no error are no proof that there is none, the less so the fewer they are.
        """
        return self.residual**2 + _PRIOR_LABELS / self.strong.size * self.variance

    def mean(self, values: Floats) -> float:
        """Weighted mean over the labels."""
        return float(np.dot(self.weights, values) / self.weights.sum())


def learn(seen: Seen) -> Learned:
    """Fit f to the labels there are, each weighted by 1/π̄."""
    use = seen.labelled
    h = seen.strong[use]
    if h.size < _FEWEST_TO_LEARN:
        raise InputError(f"auto needs two strong ratings to learn from; there are {h.size}")
    x, weights = seen.x.rows(use), 1.0 / seen.rates()[use]
    bounds, binary = rating_bounds(h)
    model, unseen = fit_rating(Basis.of(seen.x), x, h, weights, bounds=bounds)
    return Learned(x, h, weights, model, unseen, _variance(h, weights, bounds), bounds, binary)


def _variance(h: Floats, weights: Floats, bounds: tuple[float, float]) -> float:
    """V, with a label's worth of either end of the scale: a few labels that are all alike are not all there is."""
    w = weights / weights.sum()
    mean = float(np.dot(w, h))
    low, high = bounds if bounds[1] > bounds[0] else (bounds[0] - 0.5, bounds[0] + 0.5)
    n = h.size
    centre = (n * mean + low + high) / (n + 2)
    total = n * float(np.dot(w, (h - centre) ** 2)) + (low - centre) ** 2 + (high - centre) ** 2
    return total / (n + 2)


def sharpest_error(known: Learned, around: Covariates) -> tuple[LearnedError, Floats]:
    """The candidate for u(x) that a policy other than one rate for all would use; and u of each label without it."""
    nothing = Seen.of(around.rows(slice(0, 0)), np.empty(0), ())
    table = _Table.of(known, nothing, Money(0.0, 1.0, 1.0), around=around)
    others = table.candidates()[1:]
    best = others[table.preferred(others)[0]]
    return best, best.unseen(table.f_labels, known.unseen, known.x, known.squared)


# The plan of a round


@dataclass(frozen=True, slots=True)
class Money:
    """Prices, what is left to spend, and how many items are left to look at."""

    weak_cost: float
    strong_cost: float
    left: float
    pool_left: float = math.inf

    @property
    def both(self) -> float:
        """The price of an item with both ratings."""
        return self.weak_cost + self.strong_cost


@dataclass(frozen=True, slots=True, eq=False)
class Round:
    """What to do next, and why."""

    policy: PolicyName
    rule: Rule | None  # None: buy strong ratings alone
    spend: float  # money of this round
    items: int | None  # look at exactly these many (a pool that ends); None: go on until the money is spent
    expected_ratio: float  # squared error over that of spending the rest on strong ratings alone; NaN if not compared
    variance: float  # V
    weak_error: float  # E[(H − f)²]
    error_kind: str
    learned: Learned
    own_rates: Floats  # of each label, by the rule that would have been chosen without it


@dataclass(frozen=True, slots=True, eq=False)
class _Option:
    """A candidate for u with the best policy for it."""

    error: LearnedError
    scale: float
    floor: float
    items: float  # in all
    variance: float  # expected squared error of the estimate
    added: Floats  # per label, what the draw adds to Var(Δ), by a u that has not seen the label
    unseen: Floats  # that u

    def rule(self, known: Learned, before: float) -> Rule:
        """What a round buys towards this option."""
        return Rule(known.model, self.error, self.scale, self.floor, before, self.items)


def plan_round(
    seen: Seen,
    money: Money,
    *,
    learned: Learned | None = None,
    teacher: Learned | None = None,
    base_allowed: bool = True,
) -> Round:
    """The best use of the money that is left, given all that was bought.

    `learned` is what the labels teach, where that is known already; `teacher` are models from another table, which
    stand in while there are few labels. Strong ratings alone are an option only while everything seen has its strong
    rating, since items bought without a weak rating cannot be pooled with the others.
    """
    known = teacher if teacher is not None else learn(seen) if learned is None else learned
    table = _Table.of(known, seen, money, around=None if teacher is None else teacher.x)
    best, without = table.choose()
    ratio = math.nan
    if base_allowed and all(phase.rule is None for phase in seen.phases):
        labels = int(np.count_nonzero(seen.labelled))
        ratio = best.variance / (known.variance / (labels + money.left / money.strong_cost))
        enough = money.left >= money.strong_cost * money.pool_left  # for everything: nothing is left to estimate
        if enough or not ratio < _WORTH_BUYING - _DOUBT * _standard_error(best, known) ** 2:
            return _round("base", None, money.left, None, ratio, best, known, np.empty(0))
    rule = best.rule(known, seen.items)
    own = np.empty(0) if teacher is not None else _own_rates(without, known, seen, best)
    name: PolicyName = "random" if best.error.kind == "constant" else "active"
    spend = _spend(seen, money)
    return _round(name, rule, spend, _exact_items(best, seen, money, spend), ratio, best, known, own)


def _exact_items(best: _Option, seen: Seen, money: Money, spend: float) -> int | None:
    """The round's share of a pool that will be looked at whole; None where it is not, or that costs too much."""
    whole = best.items >= _NEAR_THE_END * (seen.items + money.pool_left)
    if not whole or money.weak_cost * money.pool_left > 0.9 * money.left:
        return None
    share = math.ceil(money.pool_left * spend / money.left)
    return share if money.weak_cost == 0 else min(share, math.floor(spend / money.weak_cost))


def _round(
    name: PolicyName, rule: Rule | None, spend: float, items: int | None, ratio: float, best: _Option, known: Learned,
    own: Floats,
) -> Round:  # fmt: skip
    M = known.mean(known.squared)
    return Round(name, rule, spend, items, ratio, known.variance, M, best.error.kind, known, own)


def _own_rates(without: list[_Option], known: Learned, seen: Seen, best: _Option) -> Floats:
    """Of each label, by the option chosen without it, as if that had as many items as the one chosen with all."""
    if not seen.items:
        return np.empty(0)
    earned = seen.mass[seen.labelled]
    out = np.empty(earned.size)
    for option in {id(o): o for o in without}.values():
        of = np.array([o is option for o in without])
        rates = option.rule(known, seen.items).rates_for(option.unseen[of], earned[of])
        out[of] = rates * (option.items - seen.items) / max(best.items - seen.items, 1.0)
    return out


@dataclass(slots=True, eq=False)
class _Table:
    """What all candidates for u are compared on: the items seen (or taught by), the labels, and the money."""

    known: Learned
    money: Money
    around: Covariates  # items whose u decides the policy
    f_around: Floats
    f_labels: Floats
    bought: int  # items
    pool: float
    worth: float  # all the money, spent and unspent
    least: float  # mass that every item has already
    floor: float = 0.0  # found for one candidate, to start from for the next

    @classmethod
    def of(cls, known: Learned, seen: Seen, money: Money, *, around: Covariates | None = None) -> "_Table":
        around = around if around is not None else seen.x if seen.items else known.x
        if around.items > _MOST_AROUND:
            around = around.rows(slice(None, None, math.ceil(around.items / _MOST_AROUND)))
        worth, least = money.left, 0.0
        if seen.items:
            worth += money.strong_cost * float(seen.mass.mean()) + money.weak_cost * seen.items
            least = float(seen.mass.min())
        return cls(
            known, money, around, known.model.predict(around), known.model.predict(known.x), seen.items,
            seen.items + money.pool_left, worth, least,
        )  # fmt: skip

    def choose(self) -> tuple[_Option, list[_Option]]:
        """The best candidate with its policy; and for each label, what would have been chosen without it.

        A label that decides which policy is taken would else decide its own weight. One confident mistake of the weak
        rater in a burn-in is enough to turn the choice, and what it is worth then depends on the choice.
        """
        constant, *others = self.candidates()
        with_all, without = self.preferred(others)
        base, solved = self._option(constant), {i: self._option(others[i]) for i in {with_all, *without.tolist()}}
        best = base if base.variance <= (1 + _NEAR_TIE) * solved[with_all].variance else solved[with_all]
        even = self._variance_without(base)
        sharp = {i: self._variance_without(option) for i, option in solved.items()}
        chosen = [
            base if even[n] <= (1 + _NEAR_TIE) * sharp[i][n] else solved[i] for n, i in enumerate(without.tolist())
        ]
        return best, chosen

    def candidates(self) -> list[LearnedError]:
        """The constant u first."""
        k = self.known
        return error_candidates(
            self.f_around, self.around, self.f_labels, k.x, k.squared, k.weights, bounds=k.bounds, binary=k.binary
        )

    def preferred(self, candidates: list[LearnedError]) -> tuple[int, NDArray[np.intp]]:
        """The first candidate, or one that beats it by more than the labels' noise: with all labels, and without each.

        Choosing freely would follow chance: the labels that make one u look better than another are few.
        """
        prices = np.array([self._prices(candidate) for candidate in candidates])
        w = self.known.weights / self.known.weights.sum()
        gain = w * (prices[0] - prices)  # candidates × labels
        total, noise = gain.sum(axis=1), (gain**2).sum(axis=1)

        def pick(total: Floats, noise: Floats) -> NDArray[np.intp]:
            sure = total > _SURE * np.sqrt(np.maximum(noise, 0.0))
            sure[0] = True
            return np.asarray(np.argmax(np.where(sure, total, -np.inf), axis=0))

        return int(pick(total, noise)), pick(total[:, None] - gain, noise[:, None] - gain**2)

    def _variance_without(self, option: _Option) -> Floats:
        """Expected squared error of the option by all labels but each."""
        w = self.known.weights
        total = float(w.sum())
        added = (float(np.dot(w, option.added)) - w * option.added) / (total - w)
        return (self.known.variance + added) / option.items

    def _prices(self, error: LearnedError) -> Floats:
        """E[π]·(H−f)²/π of each label for π ∝ sqrt(u), whose mean ranks candidates, short of solving a policy each."""
        root = np.sqrt(error.predict(self.f_around, self.around))
        least = max(_floor_share(self.known) * float(root.mean()), 1e-150)
        unseen = np.sqrt(error.unseen(self.f_labels, self.known.unseen, self.known.x, self.known.squared))
        return float(np.maximum(root, least).mean()) * self.known.squared / np.maximum(unseen, least)

    def _option(self, error: LearnedError) -> _Option:
        """The best π̄ for this u, and its error by labels that this u has not seen."""
        known, money = self.known, self.money
        policy = self._solve(error.predict(self.f_around, self.around))
        scale = min(policy.scale, LARGEST_SCALE)
        unseen = error.unseen(self.f_labels, known.unseen, known.x, known.squared)
        added = known.squared * (1.0 / np.clip(scale * np.sqrt(unseen), policy.floor, 1.0) - 1.0)
        cost = money.weak_cost + money.strong_cost * policy.mean_rate
        items = max(min(self.worth / cost if cost > 0 else math.inf, self.pool), self.bought + 1.0)
        return _Option(error, scale, policy.floor, items, (known.variance + known.mean(added)) / items, added, unseen)

    def _solve(self, u: Floats) -> Policy:
        """The optimal π̄ with a floor: a share of the mean rate, and what burn-in labels gave every item already."""
        values, weights = _binned(u)
        known, money = self.known, self.money
        pool = None if math.isinf(self.pool) else self.pool
        for _ in range(5):
            policy = optimal_policy(
                values, variance=known.variance, weak_cost=money.weak_cost, strong_cost=money.strong_cost,
                weights=weights, budget=self.worth, pool_size=pool, floor=self.floor,
            )  # fmt: skip
            assert policy.items is not None
            wanted = min(max(self.least / policy.items, _floor_share(known) * policy.mean_rate), 1.0)
            if abs(wanted - self.floor) < 0.02 * wanted:
                break
            self.floor = wanted
        return policy


def _floor_share(known: Learned) -> float:
    """Least rate as a share of the mean rate: all of it with 50 labels, a half with 200, a tenth from 5,000 on."""
    return min(max(DEFAULT_FLOOR_SHARE, _FLOOR_LABELS / math.sqrt(known.strong.size)), 1.0)


def _binned(u: Floats) -> tuple[Floats, Floats | None]:
    """Means of equally many neighbours each; the values themselves where they are few."""
    if u.size <= _BINS:
        return u, None
    edges = np.linspace(0, u.size, _BINS + 1).astype(np.intp)
    counts = np.diff(edges)
    return np.add.reduceat(np.sort(u), edges[:-1]) / counts, counts.astype(np.float64)


def _standard_error(option: _Option, known: Learned) -> float:
    """Of the expected error, relative to it: how far the labels' residuals scatter."""
    total = known.variance + known.mean(option.added)
    return float(option.added.std()) / math.sqrt(option.added.size) / total


def _spend(seen: Seen, money: Money) -> float:
    """As much as was bought so far, and all that is left where little would remain: each round doubles the labels."""
    labels = int(np.count_nonzero(seen.labelled))
    if money.left <= _LAST_ROUND * labels * money.strong_cost:
        return money.left
    return min(max(labels * money.strong_cost, 10 * money.both), money.left)


def start_labels(budget: float, pool_size: float = math.inf) -> int:
    """Labels to start from, out of a budget of so many: a fifth, from 20 to 200, at most half of budget and pool.

    Few enough that a small budget is not eaten; and where the best rates are above the share of items they make up,
    pooling the rounds wastes none of them.
    """
    return max(int(min(max(0.2 * budget, 20.0), 200.0, budget / 2, pool_size / 2)), 2)


# The estimate


def estimate_seen(
    seen: Seen,
    *,
    level: float = 0.95,
    interval: IntervalMethod = "auto",
    estimand: Estimand = "population",
    pool_size: float | None = None,
    seed: int = 0,
) -> Estimate:
    """One pooled estimate from all rounds, the weak rating replaced by f from the other labels (cross-fitted)."""
    use, rates, factor = seen.labelled, seen.rates(), 1.0
    if np.all(use):
        f = np.zeros(seen.items)
        rates = np.ones(seen.items)
    elif np.count_nonzero(use) < _FEWEST_TO_LEARN:
        f = seen.x.weak
    else:
        factor += _LEARNING_LABELS / np.count_nonzero(use)
        known = learn(seen)
        f = known.model.predict(seen.x)
        f[use] = known.unseen
        rates = np.where(use, rates, np.minimum(rates, _ALMOST_ONE))
    return core.estimate_mean(
        f, seen.strong, rates, method="difference", interval=interval, level=level, estimand=estimand,
        pool_size=pool_size, variance_factor=float(factor), seed=seed,
    )  # fmt: skip
