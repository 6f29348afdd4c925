"""Which u(x) to go by, and the best policy for it: candidates compared on labels that they have not seen."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ratewise.core.checks import Floats
from ratewise.core.policy import Policy, Problem, optimal_policy
from ratewise.core.ratings import LARGEST_SCALE, Mask
from ratewise.design.seen import Importance, Learned, Rule, Seen
from ratewise.learn.covariates import Covariates
from ratewise.learn.error_model import DEFAULT_FLOOR_SHARE, LearnedError, error_candidates

_MOST_AROUND = 5000  # items whose u decides a policy: more would not move it
_BINS = 100  # values of u a policy is solved for: enough to lose nothing that could be seen
NEAR_TIE_IN_VARIANCE = 0.005  # a simpler rule whose variance is at most this share larger is preferred
_FLOOR_LABELS = 7.0  # the floor on rates, as a share of the mean rate, is this over the root of the labels,
_HIGHEST_FLOOR = 0.7  # and never above this: a sure judge is acted on from the first round on
_HIGHEST_BY_PRIOR = 0.6  # as long as a prior keeps u up where labels are few
_SURE = 1.0  # standard errors by which another u must beat the first one to be taken


@dataclass(frozen=True, slots=True)
class Money:
    """Prices, what is left to spend, and how many items are left to look at."""

    weak_cost: float  # of all who see every item
    strong_cost: float
    left: float
    pool_left: float = math.inf
    steps: tuple[float, ...] = ()  # of a chain's raters between these

    @property
    def costs(self) -> tuple[float, ...]:
        """Of the steps, the last rater being the last one."""
        return (*self.steps, self.strong_cost)

    @property
    def both(self) -> float:
        """The price of an item that everyone rates."""
        return self.weak_cost + sum(self.costs)

    def strong_ratings(self) -> int:
        """How many all the money buys alone."""
        bought = self.left / self.strong_cost + 1e-9 if self.strong_cost > 0 else math.inf
        return int(min(bought, self.pool_left))


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A candidate for u with the best policy for it."""

    error: LearnedError
    scale: float
    floor: float
    items: float  # in all
    variance: float  # expected squared error of the estimate
    added: Floats  # per label, what the draw adds to Var(Δ), by a u that has not seen the label
    own: Floats  # u of each label for its own weight
    importance: Importance | None = None

    def rule(self, known: Learned, before: float, *, weak: bool = True) -> Rule:
        """The rule by which a round buys this option."""
        return Rule(
            known.model, self.error, self.scale, self.floor, before, self.items, weak=weak, importance=self.importance
        )


@dataclass(frozen=True, eq=False)
class Options:
    """What all candidates for u are compared on: the items seen (or taught by), the labels, and the money."""

    known: Learned
    money: Money
    around: Covariates  # items whose u decides the policy
    f_around: Floats
    bought: int  # items
    pool: float
    worth: float  # all the money, spent and unspent
    least: float  # mass that every item has already
    weak: bool = True  # whether weak ratings are bought
    importance: Importance | None = None  # of a question with several answers

    @classmethod
    def of(
        cls, known: Learned, seen: Seen, money: Money, *, around: Covariates | None = None, weak: bool = True,
        importance: Importance | None = None,
    ) -> "Options":  # fmt: skip
        """Options with f of the items that candidates use; `around` where the items seen do not represent the pool."""
        around = (around if around is not None else seen.x if seen.items else known.x).some(_MOST_AROUND)
        worth, least = money.left, 0.0
        if seen.items:
            worth += money.strong_cost * float(seen.mass.mean()) + money.weak_cost * seen.items
            least = float(seen.mass.min())
        return cls(
            known, money, around, known.model.predict(around), seen.items,
            seen.items + money.pool_left, worth, least, weak, importance,
        )  # fmt: skip

    @classmethod
    def by_features(
        cls, seen: Seen, money: Money, closed: Seen | None = None, importance: Importance | None = None
    ) -> "Options":
        """Options that treat the features as a free weak rater that has rated the whole pool."""
        known = ((seen if closed is None else closed).without_weak()).learned
        return cls.of(known, seen.without_weak(), replace(money, weak_cost=0.0), weak=False, importance=importance)

    @property
    def best(self) -> Candidate:
        """The best candidate with its policy."""
        return self._chosen[0]

    @property
    def without(self) -> list[Candidate]:
        """For each label, what would have been chosen without it."""
        return self._chosen[1]

    def of_labels(self, of: Callable[[Candidate, Mask], Floats]) -> Floats:
        """A number of each label, by what would have been chosen without it."""
        out = np.empty(len(self.without))
        for option in {id(o): o for o in self.without}.values():
            here = np.array([o is option for o in self.without])
            out[here] = of(option, here)
        return out

    def own_rates(self, seen: Seen) -> Floats:
        """Leave-one-out rate of each label, scaled to the number of items of the chosen option."""
        if not seen.items:
            return np.empty(0)
        earned, more = seen.mass[seen.labelled], max(self.best.items - seen.items, 1.0)

        def rates(option: Candidate, here: Mask) -> Floats:
            own = option.rule(self.known, seen.items).rates_for(option.own[here], earned[here])
            return own * (option.items - seen.items) / more

        return self.of_labels(rates)

    @property
    def by_label(self) -> Floats:
        """What each label says of the estimate's expected squared error."""
        return (self.variance + self.best.added) / self.best.items

    @cached_property
    def variance(self) -> float:
        """V, each label's part of it times how much its item counts."""
        known = self.known
        return known.variance * (1.0 if self.importance is None else known.mean(self.importance.of(known.x)))

    @cached_property
    def squared(self) -> Floats:
        """(H − f)² of each label, times how much its item counts."""
        return self._counted(self.known.squared)

    def _counted(self, u: Floats) -> Floats:
        """u of the labels, times how much their items count."""
        known = self.known
        return u if self.importance is None else self.importance.times(u, known.unseen, known.x)

    def _around(self, error: LearnedError) -> Floats:
        """What rates would follow, of the items that decide the policy."""
        u = error.predict(self.f_around, self.around)
        return u if self.importance is None else self.importance.times(u, self.f_around, self.around)

    @cached_property
    def _chosen(self) -> tuple[Candidate, list[Candidate]]:
        """The best candidate with its policy; and for each label, what would have been chosen without it.

        A label that decides which policy is taken would else decide its own weight. One confident mistake of the weak
        rater in a burn-in is enough to turn the choice, and what it is worth then depends on the choice.
        """
        if self.known.by_prior:  # it has scores that say nothing among its lines, so there is nothing to compare
            u = self.f_around * (1 - self.f_around)
            only = self._option(LearnedError("claimed", float(u.mean()), bounds=self.known.bounds))
            return only, [only] * self.known.strong.size
        constant, *others = self.candidates()
        with_all, without = self.preferred(others)
        base, solved = self._option(constant), {i: self._option(others[i]) for i in {with_all, *without.tolist()}}
        best = base if base.variance <= (1 + NEAR_TIE_IN_VARIANCE) * solved[with_all].variance else solved[with_all]
        even = self._variance_without(base)
        sharp = {i: self._variance_without(option) for i, option in solved.items()}
        chosen = [
            base if even[n] <= (1 + NEAR_TIE_IN_VARIANCE) * sharp[i][n] else solved[i]
            for n, i in enumerate(without.tolist())
        ]
        return best, chosen

    def candidates(self) -> list[LearnedError]:
        """The constant u first."""
        k = self.known
        return error_candidates(
            self.f_around, self.around, k.model.predict(k.x), k.unseen, k.x, k.squared, k.weights, bounds=k.bounds,
            binary=k.binary,
        )  # fmt: skip

    def preferred(self, candidates: list[LearnedError]) -> tuple[int, NDArray[np.intp]]:
        """The first candidate, or one that beats it by more than the labels' noise: with all labels, and without each.

        Choosing freely would follow chance: the labels that make one u look better than another are few. A u that the
        user gave must first beat one rate for all; else it is as if it had not been given.
        """
        prices = np.array([self.label_prices(candidate) for candidate in candidates])
        w = self.known.weights / self.known.weights.sum()
        with_all, without = _first_unless_beaten(w * (prices[0] - prices))
        if candidates[0].kind != "given":
            return with_all, without
        believed, each = _beats(w * (self.squared - prices[0]))
        others, other = _first_unless_beaten(w * (prices[1] - prices[1:]))
        return (with_all if believed else others + 1), np.where(each, without, other + 1)

    def _variance_without(self, option: Candidate) -> Floats:
        """Expected squared error of the option, leaving out each label in turn."""
        return (self.variance + self.known.means_without(option.added)) / option.items

    def label_prices(self, error: LearnedError) -> Floats:
        """E[π]·(H−f)²/π of each label for π ∝ sqrt(u), whose mean ranks candidates, short of solving a policy each."""
        root = np.sqrt(self._around(error))
        least = max(floor_share(self.known.strong.size) * float(root.mean()), 1e-150)
        unseen = np.sqrt(self._counted(error.unseen(self.known.unseen, self.known.x, self.known.squared)))
        return float(np.maximum(root, least).mean()) * self.squared / np.maximum(unseen, least)

    def _option(self, error: LearnedError) -> Candidate:
        """The best π̄ for this u, and its error by labels that this u has not seen."""
        known = self.known
        scale, floor, items = self._solve(self._around(error))
        unseen = self._counted(error.unseen(known.unseen, known.x, known.squared))
        added = self.squared * (1.0 / np.clip(scale * np.sqrt(unseen), floor, 1.0) - 1.0)
        if known.by_prior:  # which expects errors that labels have not shown
            u = self._around(error)
            drawn = float(np.mean(u / np.clip(scale * np.sqrt(u), floor, 1.0) - u))
        else:
            drawn = known.mean(added)
        variance = (self.variance + drawn) / items
        own = self._counted(known.own_error(error))
        if self.importance is not None and self.importance.without.size == own.size:
            own = own * self.importance.without
        return Candidate(error, scale, floor, items, variance, added, own, self.importance)

    def _solve(self, u: Floats) -> tuple[float, float, float]:
        """Scale, floor and items of the optimal π̄ = clip(scale·sqrt(u), floor, 1).

        Two things keep rates up, and neither makes an item dearer: no rate is below a share of the mean rate, and
        burn-in labels, paid for already, have given `least` to every item, however many there will be. The first gives
        rates their shape s = max(sqrt(u), low), and the best multiple of s is that for errors u' ∝ s² with
        E[u'/s] = E[u/s] and V' − E[u'] = V − E[u]. The second decides how many items the money pays for (in a pool
        that is looked at whole: the scale).
        """
        values, weights = _binned(u)
        known, money = self.known, self.money
        root = np.sqrt(values)
        highest = _HIGHEST_BY_PRIOR if known.by_prior else _HIGHEST_FLOOR
        low = least_root(root, weights, floor_share(known.strong.size, highest=highest))
        root = np.maximum(root, low)
        share = float(np.dot(weights, values / root) / np.dot(weights, root)) if root[0] > 0 else 1.0
        believed = share * root**2
        variance = max(self.variance + float(np.dot(weights, believed - values)), 1e-3 * self.variance)
        labels, c = self.worth / money.strong_cost, money.weak_cost / money.strong_cost

        def best(pool_size: float | None) -> tuple[float, Policy]:
            policy = optimal_policy(
                believed, variance=variance, weak_cost=money.weak_cost, strong_cost=money.strong_cost, weights=weights,
                budget=self.worth, pool_size=pool_size,
            )  # fmt: skip
            return min(policy.scale * math.sqrt(share), LARGEST_SCALE), policy

        scale, policy = best(None if math.isinf(self.pool) else self.pool)
        assert policy.items is not None
        items = policy.items
        if policy.pool_limited:
            spread = Problem(root, weights * items, 1.0, c * items, min(self.least / items, 1.0))  # whole pool's labels
            if spread.cost(scale) > labels:
                whole = spread.scale_for_cost(labels, low=0.0) if spread.cost(0.0) < labels else 0.0
            else:
                whole = scale
            # Where the burn-in gave some items too much, the whole pool may be more than pays for the others.
            scale = max(whole, best(None)[0]) if whole < scale and c > 0 else whole
        items = _items_for(labels, c, items, np.minimum(scale * root, 1.0), weights, self.least)
        items = max(items, self.bought + 1.0)
        return scale, min(max(self.least / items, scale * low), 1.0), items


def _beats(gain: Floats) -> tuple[Mask, Mask]:
    """Whether the labels' gains, candidates × labels, are sure to be above 0: with all labels, and without each."""
    total, noise = gain.sum(axis=-1), (gain**2).sum(axis=-1)
    without = total[..., None] - gain > _SURE * np.sqrt(np.maximum(noise[..., None] - gain**2, 0.0))
    return total > _SURE * np.sqrt(noise), without


def _first_unless_beaten(gain: Floats) -> tuple[int, NDArray[np.intp]]:
    """The first candidate, or the best of those that surely beat it; chosen with all labels, then without each."""
    sure, without = _beats(gain)
    sure[0], without[0] = True, True
    total = gain.sum(axis=1)
    each = np.where(without, total[:, None] - gain, -np.inf)
    return int(np.argmax(np.where(sure, total, -np.inf))), np.asarray(np.argmax(each, axis=0))


def least_root(root: Floats, weights: Floats, share: float) -> float:
    """The L with L = share · E[max(root, L)]: no root raised to it is below this share of the mean of the result.

    If the first k are raised to L, it is share·(what the others add)/(1 − share·weight of the k): right for the k
    where it lies between the last one raised and the first one that is not. For a share of 1 it is the largest root.
    """
    order = np.argsort(root, kind="stable")
    rising, weights = root[order], weights[order] / weights.sum()
    raised = np.concatenate([[0.0], np.cumsum(weights)])
    others = np.concatenate([np.cumsum((weights * rising)[::-1])[::-1], [0.0]])
    room = 1.0 - share * raised
    least = np.divide(share * others, room, out=np.full(room.size, np.inf), where=room > 1e-9)
    return float(min(least[np.flatnonzero(least[:-1] <= rising)[:1]], default=rising[-1]))


def _items_for(labels: float, cost: float, most: float, rates: Floats, weights: Floats, least: float) -> float:
    """T with cost·T + E[max(π T, least)] = labels, or `most` if less: Newton steps along a line with few bends."""
    items = most
    for _ in range(_BINS + 1):
        above = rates * items > least
        price, paid = cost + float(np.dot(weights, rates * above)), least * float(np.dot(weights, ~above))
        if price <= 0 or items * price + paid <= labels * (1 + 1e-12):
            break
        items = (labels - paid) / price
    return items


def floor_share(labels: int, *, highest: float = _HIGHEST_FLOOR) -> float:
    """Least rate as a share of the mean rate: 0.7 up to 100 labels, a half with 200, a tenth from 5,000 on."""
    return min(max(DEFAULT_FLOOR_SHARE, _FLOOR_LABELS / math.sqrt(labels)), highest)


def _binned(u: Floats) -> tuple[Floats, Floats]:
    """Means of equally many neighbours each, and their shares; the values themselves where they are few."""
    if u.size <= _BINS:
        return np.sort(u), np.full(u.size, 1.0 / u.size)
    edges = np.linspace(0, u.size, _BINS + 1).astype(np.intp)
    counts = np.diff(edges)
    return np.add.reduceat(np.sort(u), edges[:-1]) / counts, counts / u.size


def _even_and_sharp(known: Learned, around: Covariates) -> tuple[Options, LearnedError, LearnedError]:
    """One u for all, and the candidate that another policy would use."""
    nothing = Seen.of(around.rows(slice(0, 0)), np.empty(0), ())
    table = Options.of(known, nothing, Money(0.0, 1.0, 1.0), around=around)
    constant, *others = table.candidates()
    return table, constant, others[table.preferred(others)[0]]


def preferred_error(known: Learned, around: Covariates) -> LearnedError:
    """The u(x) that rates would follow: one for all, unless another does better on labels that it has not seen."""
    table, constant, best = _even_and_sharp(known, around)
    even, sharp = (known.mean(table.label_prices(error)) for error in (constant, best))
    return constant if even <= (1 + NEAR_TIE_IN_VARIANCE) * sharp else best


def sharpest_error(known: Learned, around: Covariates) -> tuple[LearnedError, Floats]:
    """The candidate for u(x) that a policy other than one rate for all would use; and u of each label without it."""
    best = _even_and_sharp(known, around)[2]
    return best, best.unseen(known.unseen, known.x, known.squared)
