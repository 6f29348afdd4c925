"""The next round of a chain that learns: which rates of every step are best for all the money, spent and unspent.

The policy has one scalar, as METHODS section 2 has it: every step's rate is γ·sqrt(gain per cost), clipped. What the
policy would cost is averaged over the items seen, what it would leave open over the labels, each by predictions that
were made without it. γ is the best of a fine grid, since a step's gain hangs on answers that are not there yet.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ratewise.core.checks import Floats
from ratewise.core.policy import Policy, optimal_policy
from ratewise.core.ratings import LARGEST_SCALE, Mask
from ratewise.core.result import JsonRecord
from ratewise.design.chain import (
    ChainRule,
    Design,
    Level,
    StepRule,
    StepSeen,
    all_at_once,
    carried,
    roots,
    step_by_step,
)
from ratewise.design.options import NEAR_TIE_IN_VARIANCE, Money, Options, floor_share, least_root, preferred_error
from ratewise.design.rounds import NextRound, doubled_spend, nearly_all, share_of_pool
from ratewise.design.seen import FEWEST_TO_LEARN, Learned, Phase, Seen
from ratewise.learn.covariates import Covariates
from ratewise.learn.error_model import ErrorBasis, LearnedError, fit_error
from ratewise.learn.ridge import ridge_path

_MOST_ITEMS = 1500  # items that the cost of a policy is averaged over
_GRID = np.geomspace(1e-3, 1e3, 37)  # of γ, relative to the one at which the mean root is a rate of 1
_FINE = np.geomspace(0.72, 1.4, 13)  # around the best of these


@dataclass(frozen=True, slots=True, eq=False)
class _Taught:
    """What labels teach at every level, and the errors that each label would have been drawn by."""

    levels: tuple[Level, ...]
    known: tuple[Learned, ...]
    at: tuple[NDArray[np.intp], ...]  # of each level: the labels (by number) that have reached it

    def label_errors(self, *, own: bool) -> list[Floats]:
        """Errors of all labels at each level, by predictions without the label: to judge by, or for its own weight."""
        out: list[Floats] = []
        for j, (level, known, at) in enumerate(zip(self.levels, self.known, self.at, strict=True)):
            mine = known.own_error(level.error) if own else level.error.unseen(known.unseen, known.x, known.squared)
            here = np.column_stack([mine, *(one.predict(known.unseen, known.x) for one in level.later)])
            u = np.empty((self.at[0].size, len(self.levels) - j)) if j == 0 else out[j - 1][:, 1:].copy()
            u[at] = here
            out.append(u)
        return out


def plan_steps(seen: StepSeen, money: Money, spent: float) -> NextRound[StepRule] | None:
    """The next round for the money, after so much was spent; `None` where too few labels have answers of every level.

    It doubles what was spent, or takes its share of a pool that will be looked at whole.
    """
    taught = _teach(seen)
    if taught is None:
        return None
    rule = StepRule(seen.design, taught.levels, money.costs, (0.0,) * len(money.costs), 1.0, seen.items, 0.0)
    market = _Market.of(seen, money, rule, taught)
    scale, items, variance = market.best()
    rule = StepRule(seen.design, taught.levels, money.costs, market.lows, scale, seen.items, items)
    root = roots(taught.label_errors(own=True), money.costs)
    spend = doubled_spend(money, spent)
    return NextRound(
        "chain", rule, spend, share_of_pool(money, spend) if nearly_all(items, seen.items, money) else None,
        own_rates=rule.rates_for(root, seen.mass[seen.labelled]), expected_variance=variance,
        mean_rates=market.mean_rates(scale),
    )  # fmt: skip


def _teach(seen: StepSeen) -> _Taught | None:
    number = np.cumsum(seen.labelled) - 1  # of each label
    views = seen.views
    if any(np.count_nonzero(view.labelled) < FEWEST_TO_LEARN for view in views):
        return None
    known = tuple(view.learned for view in views)
    errors = [preferred_error(k, view.x) for k, view in zip(known, views, strict=True)]
    rates = seen.rates_before()
    u, levels, at = [], [], []
    for level, view in enumerate(views):
        rows = seen.reached(level)
        u.append(np.full(seen.items, np.nan))
        u[level][rows] = errors[level].predict(known[level].model.predict(view.x), view.x)
        at.append(number[rows[view.labelled]])
    for j in range(len(views)):
        later = []
        for after in range(j + 1, len(views)):
            rows = np.intersect1d(seen.reached(after), seen.reached(j))
            x = seen.design.covariates(seen.x.rows(rows), seen.said[rows], j)
            f, weights = known[j].model.predict(x), 1.0 / rates[rows, after]
            later.append(_foretold(f, x, u[after][rows], weights, known[j].bounds))
        levels.append(Level(known[j].model, errors[j], tuple(later)))
    return _Taught(tuple(levels), known, tuple(at))


def _foretold(f: Floats, x: Covariates, later: Floats, weights: Floats, bounds: tuple[float, float]) -> LearnedError:
    """u of a later level by what is known at this one: fitted to items whose later u is known."""
    basis = ErrorBasis.of(f, x, bounds)
    path = ridge_path(basis(f, x), later, weights, intercept=True)
    return LearnedError.fit(float(np.dot(weights, later) / weights.sum()), basis, path, path.best)


@dataclass(frozen=True, slots=True, eq=False)
class _Market:
    """What policies cost on items, and what they leave open on labels."""

    money: Money
    root: Floats  # items × steps
    weights: Floats  # items × steps: shares that sum to 1 in every column, 0 where the step was not reached
    lows: tuple[float, ...]
    label_root: Floats
    squared: Floats  # labels × levels: squared residuals
    label_weights: Floats
    variance: float
    mass: Floats  # of the items, at each step: what earlier rounds have spent on such items
    label_mass: Floats
    bought: int
    pool: float
    worth: float

    @classmethod
    def of(cls, seen: StepSeen, money: Money, rule: StepRule, taught: _Taught) -> "_Market":
        some = slice(None, None, -(-seen.items // _MOST_ITEMS))
        root = roots(rule.errors(seen.x.rows(some), seen.said[some]), money.costs)
        weights, rates = np.zeros((seen.items, root.shape[1])), seen.rates_before()
        for k in range(root.shape[1]):
            rows = seen.reached(k)
            weights[rows, k] = 1.0 / rates[rows, k]
        weights = weights[some]
        weights /= np.maximum(weights.sum(axis=0), 1e-300)
        share = floor_share(int(np.count_nonzero(seen.labelled)))
        lows = tuple(least_root(root[:, k], weights[:, k], share) for k in range(root.shape[1]))
        whole = np.all([np.isin(taught.at[0], at) for at in taught.at], axis=0)
        squared = np.column_stack(
            [k.squared[np.isin(at, np.flatnonzero(whole))] for k, at in zip(taught.known, taught.at, strict=True)]
        )
        w = taught.known[0].weights[whole]
        earned = (weights * seen.mass[some]).sum(axis=0)
        worth = money.left + money.weak_cost * seen.items + float(np.dot(money.costs, earned))
        label_root = roots(taught.label_errors(own=False), money.costs)[whole]
        return cls(
            money, root, weights, lows, label_root, squared, w / w.sum(), taught.known[0].variance,
            seen.mass[some], seen.mass[seen.labelled][whole], seen.items, seen.items + money.pool_left, worth,
        )  # fmt: skip

    def best(self) -> tuple[float, float, float]:
        """γ, the items to look at in all, and the expected squared error."""
        mean = float((self.weights * np.maximum(self.root, self.lows)).sum(axis=0)[-1])
        finite = mean if math.isfinite(mean) and mean > 0 else 1.0
        return self._best_of(self._best_of(_GRID / finite)[0] * _FINE)

    def _best_of(self, scales: Floats) -> tuple[float, float, float]:
        items, variance = self._values(scales)
        k = int(np.argmin(variance))
        return float(scales[k]), float(items[k]), float(variance[k])

    def mean_rates(self, scale: float) -> Floats:
        """Mean rate of each step."""
        return np.asarray((self.weights * self._wanted(self.root, np.array([scale]))[0]).sum(axis=0))

    def _wanted(self, root: Floats, scales: Floats) -> Floats:
        """Rates over all rounds, scales × items × steps."""
        with np.errstate(invalid="ignore"):
            raw = scales[:, None, None] * np.maximum(root, self.lows)
        return np.minimum.accumulate(np.clip(np.nan_to_num(raw, nan=1.0, posinf=1.0), 0.0, 1.0), axis=2)

    def _values(self, scales: Floats) -> tuple[Floats, Floats]:
        """Items that the money pays for, and the expected squared error, of each scale."""
        items = self._items(self._wanted(self.root, scales))
        each = items[:, None, None]
        rates = self._earned(self._wanted(self.label_root, scales), items, self.label_mass) / each
        inverse = 1.0 / np.minimum.accumulate(np.clip(rates, 1e-9, 1.0), axis=2)
        odds = np.diff(inverse, axis=2, prepend=1.0)
        added = (self.squared * odds).sum(axis=2) @ self.label_weights
        return items, (self.variance + added) / items

    def _earned(self, q: Floats, items: Floats, mass: Floats) -> Floats:
        """Σ T_j q_j when so many items were looked at: what is there stays, and new rates are at most 1."""
        each = items[:, None, None]
        return np.clip(q * each, mass, mass + np.maximum(each - self.bought, 0.0))

    def _items(self, q: Floats) -> Floats:
        """T with first·T + Σ c_k E[mass_k] = all the money; the pool's size if that is less."""
        price = self.weights * np.array(self.money.costs)

        def pays(items: Floats) -> Mask:
            later = (price * self._earned(q, items, self.mass)).sum(axis=(1, 2))
            return np.asarray(self.money.weak_cost * items + later <= self.worth)

        low = np.full(len(q), float(self.bought))
        high = np.full(len(q), self.pool if math.isfinite(self.pool) else 1e12)
        whole, most = pays(high), high
        for _ in range(40):
            middle = 0.5 * (low + high)
            fits = pays(middle)
            low, high = np.where(fits, middle, low), np.where(fits, high, middle)
        return np.where(whole, most, np.maximum(low, self.bought + 1.0))


# How to use a chain of raters: who sees every item, who is a step, and who is left out. Chosen once, after the start:
# a step's answers are known for part of the items only, so a rater cannot be taken in or left out later.

_WORTH_A_STEP = 0.97  # of the expected squared error of the best use without steps: at most this, to take steps


@dataclass(frozen=True, slots=True)
class Compared(JsonRecord):
    """Expected squared error of one way to use the raters; a design without raters is the last rater alone."""

    design: Design
    variance: float


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """The way that was chosen, and all that were compared."""

    design: Design
    compared: tuple[Compared, ...]
    plan: NextRound[StepRule] | None  # of a design with steps


def choose_design(
    strong: Floats, *, costs: tuple[float, ...], left: float, pool_left: float, spent: float,
    as_pair: Callable[[Design], Seen], in_steps: Callable[[Design], StepSeen], kept: tuple[int, ...] | None = None,
) -> Choice:  # fmt: skip
    """The best way to go on from items that everyone has rated; fewer raters and fewer steps on a near tie.

    `as_pair` and `in_steps` give the items as a design sees them, without steps and with them. `kept` are the raters
    that are still in question; by default all.
    """
    raters = tuple(range(len(costs) - 1)) if kept is None else kept
    labels = int(np.count_nonzero(~np.isnan(strong)))
    compared, best, best_plan = [], Compared(Design(()), math.inf), None
    for design in all_at_once(raters):
        seen = as_pair(design)
        found = Compared(design, Options.of(seen.learned, seen, design.money(costs, left, pool_left)).best.variance)
        compared.append(found)
        if not math.isfinite(best.variance) or found.variance * (1 + NEAR_TIE_IN_VARIANCE) < best.variance:
            best = found
    at_once = best.variance
    for design in step_by_step(raters):
        plan = plan_steps(in_steps(design), design.money(costs, left, pool_left), spent)
        if plan is None:
            continue
        found = Compared(design, plan.expected_variance)
        compared.append(found)
        if found.variance < min(_WORTH_A_STEP * at_once, best.variance):
            best, best_plan = found, plan
    V = as_pair(Design((0,))).learned.variance
    compared.append(Compared(Design(()), V / (labels + left / costs[-1]) if costs[-1] > 0 else 0.0))
    return Choice(best.design, tuple(compared), best_plan)


def seen_as_pair(design: Design, x: Covariates, said: Floats, strong: Floats) -> Seen:
    """Items that everyone has rated, as two raters would see them: those who see every item stand for the weak one."""
    return Seen.of(design.covariates(x, said), strong, (Phase(x.items),))


# The trial of dear raters: they rate part of the start, and the rest only if they may be worth their price. Every
# rater rates the start, so that all can be compared. Where a rater takes a large part of the budget for that, it is
# first tried on fewer items; it stays if, at the upper end of what these items allow, it would beat the best that can
# be done without it. The items come in random order, and all raters rate them, so nothing is lost or biased.

_MOST = 0.02  # of the money: what trying dear raters may take before anything is known of them
_SAVES = 2 / 3  # of the start: a trial of more items than this saves too little
_FEWEST = 8  # items that a rater is tried on, at least
_KNOWN = 5  # items with both ratings, without which nothing is known
_HOPE = 0.5  # standard errors by which a rater may be better than it looks
_NEARLY_FREE = 1e-6  # of the price of a strong rating, and of its variance: nothing is free, and nobody perfect


def on_trial(prices: Sequence[float], start: int, money: float) -> tuple[int, ...]:
    """Raters after the first, by number, that would take a large part of the money in a start of so many items."""
    return tuple(k for k in range(1, len(prices) - 1) if prices[k] * start > _MOST * money)


def trial_items(prices: Sequence[float], start: int, money: float) -> int:
    """Items of a start that dear raters are tried on; all of them where there are no such raters."""
    dear = sum(prices[k] for k in on_trial(prices, start, money))
    tried = start if dear == 0 else max(int(_MOST * money / dear), _FEWEST)
    return tried if tried <= _SAVES * start else start


def hopes(said: Floats, strong: Floats, prices: Sequence[float], tried: Sequence[int]) -> tuple[float, ...]:
    """Of each rater but the last: its expected squared error, if it is as good as it may be, over that without it.

    `said` are the ratings, items × raters before the last. Below 1: it may be worth its price. 0: it was not tried, or
    nothing is known of it yet.
    """
    c = [max(price / prices[-1], _NEARLY_FREE) for price in prices[:-1]]
    left_open = [1.0 if (u := _left_open(one, strong)) is None else u for one in said.T]
    others = [_of_chain((u,), (c[j],)) for j, u in enumerate(left_open) if j not in tried]
    without = min([1.0, *others])
    out = [0.0] * len(c)
    for k in tried:
        best = _left_open(said[:, k], strong, hope=_HOPE)
        if best is not None:
            with_first = _of_chain((left_open[0], min(best, left_open[0])), (c[0], c[k]))
            out[k] = min(_of_chain((best,), (c[k],)), with_first) / without
    return tuple(out)


def worth_trying(found: Sequence[float]) -> tuple[int, ...]:
    """Raters, by number, that may be worth their price."""
    return tuple(k for k, hope in enumerate(found) if hope < 1)


def _left_open(said: Floats, strong: Floats, *, hope: float = 0.0) -> float | None:
    """Share of the variance that a rater leaves open, if it is so many standard errors better than it looks.

    By Fisher's z of its correlation; without hope corrected for the line that was fitted. `None` if nothing is known.
    """
    use = ~np.isnan(said) & ~np.isnan(strong)
    n, x, h = int(np.count_nonzero(use)), said[use], strong[use]
    if n < _KNOWN or np.ptp(h) == 0:
        return None
    r = 0.0 if np.ptp(x) == 0 else float(np.corrcoef(x, h)[0, 1])
    if hope:
        return 1.0 - math.tanh(math.atanh(min(abs(r), 1.0 - _NEARLY_FREE)) + hope / math.sqrt(n - 3)) ** 2
    return min((1.0 - r * r) * (n - 1) / (n - 2), 1.0)


def _of_chain(u: tuple[float, ...], costs: tuple[float, ...]) -> float:
    """Squared error of weak raters of these prices over that of strong ratings alone, with one rate for all."""
    errors = np.maximum(np.array([u]), _NEARLY_FREE)
    policy = optimal_policy(errors, variance=1.0, weak_cost=costs[0], strong_cost=[*costs[1:], 1.0])
    return policy.error_times_budget


# A chain whose rates go by what the first rater said: u_k(x) = E[(H − R_k)²|x] is learned from the items that all
# raters have rated, and every item counts with the rates it was drawn with, so the estimate is unbiased.


def plan_chain(
    weak: Floats,
    values: Floats,
    rates: Floats,
    *,
    weak_cost: float,
    costs: tuple[float, ...],
    worth: float,
    pool_size: float,
) -> tuple[ChainRule, Policy]:
    """The best rule for money of `worth` in all, from items seen: what the first said, what the others did; its policy.

    `rates` are those that the items were drawn with, whose inverse weighs the items that all have rated.
    """
    whole = ~np.isnan(values[:, -1])
    h, w = values[whole, -1], 1.0 / rates[whole, -1]
    before = carried(np.column_stack([weak, values[:, :-1]]))[whole]
    mean = float(np.dot(w, h) / w.sum())
    spread = float(np.dot(w, (h - mean) ** 2) / w.sum())
    prior = 2.0 / (h.size + 2) * max(spread, float(h.max() - h.min()) ** 2 / 12, 1e-12)
    V = spread + prior  # labels that are all alike, or show no error, are no proof that there is none
    errors = tuple(fit_error(weak[whole], np.sqrt((h - r) ** 2 + prior)) for r in before.T)
    u = np.stack([model.predict(weak) for model in errors], axis=1)
    floor, share = 0.0, floor_share(h.size, highest=1.0)
    pool = None if math.isinf(pool_size) else pool_size
    for _ in range(2):
        policy = optimal_policy(
            u, variance=V, weak_cost=weak_cost, strong_cost=list(costs), budget=worth, pool_size=pool, floor=floor
        )
        floor = min(share * policy.mean_rate, 1.0)
    return ChainRule(errors, costs, min(policy.scale, LARGEST_SCALE), policy.floor), policy
