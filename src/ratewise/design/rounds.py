"""Ways to go on: with the weak rater, or by the features alone, which are known of a whole pool for nothing."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ratewise.core import estimate as core
from ratewise.core.checks import Floats
from ratewise.core.clusters import Codes
from ratewise.core.draw import draw_within, scaled_to, whole_items
from ratewise.core.estimate import Estimate
from ratewise.core.names import Estimand, IntervalMethod, PolicyName
from ratewise.core.ratings import Mask
from ratewise.design.options import Money, Option, Options
from ratewise.design.seen import FEWEST_TO_LEARN, Learned, Phase, Rule, Seen, learn, mass
from ratewise.learn.covariates import Covariates
from ratewise.learn.rating_model import cluster_fitted_rating, rating_bounds

_FEATURES_SURE = 1.0  # standard errors by which the features alone must do better than with the weak rater


@dataclass(frozen=True, slots=True, eq=False)
class Way:
    """A way to go on: what the labels teach of it, and the best policy."""

    known: Learned
    seen: Seen
    money: Money
    weak: bool
    best: Option
    without: list[Option]  # for each label, what would have been chosen without it

    @classmethod
    def with_weak(cls, known: Learned, seen: Seen, money: Money, *, around: Covariates | None = None) -> "Way":
        """Buy weak ratings."""
        return cls(known, seen, money, True, *Options.of(known, seen, money, around=around).choose())

    @classmethod
    def by_features(cls, seen: Seen, money: Money, closed: Seen | None = None) -> "Way":
        """Treat the features as a free weak rater that has rated the whole pool."""
        known = learn((seen if closed is None else closed).without_weak())
        seen, free = seen.without_weak(), replace(money, weak_cost=0.0)
        return cls(known, seen, free, False, *Options.of(known, seen, free).choose())

    @property
    def by_label(self) -> Floats:
        """What each label says of the estimate's expected squared error."""
        return (self.known.variance + self.best.added) / self.best.items


def best_way(
    seen: Seen, money: Money, learned: Learned | None, teacher: Learned | None, free_features: bool, closed: Seen | None
) -> Way:
    """By the features alone where that was chosen before, or is possible and surely better; else with the weak rater.

    Arguments are those of `plan_round`.
    """
    if seen.by_features:
        return Way.by_features(seen, money, closed)
    if teacher is not None:
        return Way.with_weak(teacher, seen, money, around=teacher.x)
    if learned is None:
        learned = learn(seen if closed is None else closed)
    way = Way.with_weak(learned, seen, money)
    possible = money.weak_cost > 0 and free_features and seen.x.known_for_nothing and math.isfinite(money.pool_left)
    if not possible or any(phase.rule is not None for phase in seen.phases):
        return way
    free = Way.by_features(seen, money, closed)
    return free if _surely_better(free, way) else way


def _surely_better(free: Way, way: Way) -> bool:
    """Whether the weak rater is superfluous, by more than the labels' noise: who stops asking it cannot go back."""
    w = way.known.weights / way.known.weights.sum()
    gain = way.by_label - free.by_label
    mean = float(w @ gain)
    return mean > _FEATURES_SURE * math.sqrt(float(w**2 @ (gain - mean) ** 2))


_ALMOST_ONE = 1 - 1e-12
_WORTH_BUYING = 0.985  # weak ratings are bought if the expected error is below this share of that without them,
_DOUBT = 2.0  # less this many times the squared standard error of it: much with 20 labels, little with 200
_LEARNING_LABELS = 25.0  # labels' worth of variance that learning rates and f from the labels adds unseen
_EXACT_LABELS = 100.0  # labels below which the exact test behind the score interval makes up for part of that
_SMALL = 0.03  # share of the money left: at most this for weak ratings, to go on looking whether they are worth it
_UNPROVEN = 0.4  # share of V that rests on no label, above which nothing is known of the weak rater yet
_FEW = 40  # labels: fewer are sure of nothing
_SURE = 2.0  # standard errors by which the weak rater must be seen to be not worth its price, to be given up at once
_LAST_ROUND = 1.3  # a round that would leave less than this many times what there is takes all
_NEAR_THE_END = 0.85  # a plan for more of the pool than this looks at all of it: chance may need more items


@dataclass(frozen=True, slots=True, eq=False)
class Round:
    """What to do next, and why."""

    policy: PolicyName
    rule: Rule | None  # None: every item gets its strong rating
    spend: float  # money of this round
    items: int | None  # look at exactly these many (a start, a pool that ends); None: go on until the money is spent
    weak: bool = True  # whether weak ratings are bought
    own_rates: Floats = field(default_factory=lambda: np.empty(0))  # of each label, by a rule chosen without it
    expected_ratio: float = math.nan  # squared error over that of strong ratings alone; NaN if not compared
    expected_variance: float = math.nan  # of the estimate when all the money is spent
    variance: float = math.nan  # V
    weak_error: float = math.nan  # E[(H − f)²]
    error_kind: str = ""
    learned: Learned | None = None


def plan_round(
    seen: Seen,
    money: Money,
    *,
    learned: Learned | None = None,
    teacher: Learned | None = None,
    base_allowed: bool = True,
    free_features: bool = True,
    closed: Seen | None = None,
    most: float = math.inf,
) -> Round:
    """The best use of the money that is left, given all that was bought.

    `learned` is what the labels teach, where that is known already; `teacher` are models from another table, which
    stand in while there are few labels. Strong ratings alone are an option only while everything seen has its strong
    rating, since items bought without a weak rating cannot be pooled with the others. So is going by the features
    alone, in a pool where they are known for all items, at no cost (`free_features`).

    Where answers of the last items are out, `closed` is what there was before these: it alone is learned from, while
    rates count what the others will have had. Such a round may be told to spend at `most` so much.
    """
    most = most if money.left > _LAST_ROUND * most else math.inf
    way = best_way(seen, money, learned, teacher, free_features, closed)
    known, best, ratio = way.known, way.best, math.nan
    if base_allowed and all(phase.rule is None for phase in seen.phases):
        labels = int(np.count_nonzero(seen.labelled)) + (0 if closed is None else seen.items - closed.items)
        ratio = best.variance / (known.variance / (labels + money.left / money.strong_cost))
        enough = money.left >= money.strong_cost * money.pool_left  # for everything: nothing is left to estimate
        worth_it = money.weak_cost == 0 or ratio < _WORTH_BUYING - _DOUBT * _standard_error(best, known) ** 2
        if enough or not worth_it:
            if not enough and _worth_another_look(known, best, money, labels):
                return _more_of_the_start(known, money, labels, ratio)
            if most < money.left:  # what cannot be undone is not decided while much is out
                return _more_of_the_start(known, money, int(most / money.both), ratio)
            return Round(
                "base", None, money.left, money.strong_ratings(), weak=False, expected_ratio=ratio,
                expected_variance=known.variance / (labels + money.left / money.strong_cost), variance=known.variance,
                weak_error=known.mean(known.squared), learned=known,
            )  # fmt: skip
    rule = best.rule(known, seen.items, weak=way.weak)
    own = np.empty(0) if teacher is not None else _own_rates(way)
    name: PolicyName = "random" if best.error.kind == "constant" else "active"
    spend = min(_spend(seen, way.money), most)
    return Round(
        name, rule, spend, _exact_items(way, spend), weak=way.weak, own_rates=own, expected_ratio=ratio,
        expected_variance=best.variance, variance=known.variance, weak_error=known.mean(known.squared),
        error_kind=best.error.kind, learned=known,
    )  # fmt: skip


def _worth_another_look(known: Learned, best: Option, money: Money, labels: int) -> bool:
    """Whether the labels are not sure yet that the weak rater is not worth its price, and more of them cost little."""
    if money.left < labels * money.both / 2 or _doubled(money, labels) * money.weak_cost > _SMALL * money.left:
        return False
    few = known.strong.size < _FEW or known.unproven > _UNPROVEN
    return few or not _surely_worse(best, known, labels + money.left / money.strong_cost)


def _surely_worse(best: Option, known: Learned, alone: float) -> bool:
    """Whether the labels are sure that so many strong ratings alone do better, each label compared with itself."""
    w = known.weights / known.weights.sum()
    spread = (known.strong - known.mean(known.strong)) ** 2
    gain = spread / alone - (spread + best.added) / best.items
    error = math.sqrt(float(w**2 @ (gain - float(w @ gain)) ** 2))
    return known.variance / alone - best.variance < -_SURE * error


def _more_of_the_start(known: Learned, money: Money, labels: int, ratio: float) -> Round:
    """More labels, all with weak ratings: buying strong ratings alone cannot be undone."""
    count = _doubled(money, labels)
    return Round(
        "base", None, count * money.both, count, weak=True, expected_ratio=ratio,
        expected_variance=known.variance / (labels + money.left / money.strong_cost), variance=known.variance,
        weak_error=known.mean(known.squared), learned=known,
    )  # fmt: skip


def _doubled(money: Money, labels: int) -> int:
    """Items of a round that doubles the labels, or takes half of what is left."""
    return max(int(min(labels, money.pool_left / 2, money.left / (2 * money.both))), 1)


def _exact_items(way: Way, spend: float) -> int | None:
    """The round's share of a pool that will be looked at whole; None where it is not, or that costs too much."""
    money = way.money
    whole = way.best.items >= _NEAR_THE_END * (way.seen.items + money.pool_left) or not way.weak
    if not whole or money.weak_cost * money.pool_left > 0.9 * money.left:
        return None
    share = min(math.ceil(money.pool_left * (spend / money.left)), math.ceil(money.pool_left))
    return share if money.weak_cost == 0 else min(share, int(whole_items(spend / money.weak_cost)))


def _own_rates(way: Way) -> Floats:
    """Leave-one-out rate of each label, scaled to the number of items of the chosen option."""
    without, known, seen, best = way.without, way.known, way.seen, way.best
    if not seen.items:
        return np.empty(0)
    earned = seen.mass[seen.labelled]
    out = np.empty(earned.size)
    for option in {id(o): o for o in without}.values():
        of = np.array([o is option for o in without])
        rates = option.rule(known, seen.items).rates_for(option.own[of], earned[of])
        out[of] = rates * (option.items - seen.items) / max(best.items - seen.items, 1.0)
    return out


def _standard_error(option: Option, known: Learned) -> float:
    """Standard error of the expected error, relative to it: how far the labels' residuals scatter."""
    total = known.variance + known.mean(option.added)
    return float(option.added.std()) / math.sqrt(option.added.size) / total


def _spend(seen: Seen, money: Money) -> float:
    """Money for this round: as much as was spent so far, or everything where little would remain.

    All of it, too, where it pays for everything that is left: then there is nothing to plan for.
    """
    labels = int(np.count_nonzero(seen.labelled))
    if money.left >= money.both * money.pool_left:
        return money.left
    return doubling(money.left, labels, least=10 * money.both, each=money.strong_cost)


def doubling(left: float, so_far: float, *, least: float, each: float = 1) -> float:
    """Money for a round that doubles `so_far`; everything left where little would remain.

    What there is counts `each`. Whole numbers stay whole.
    """
    return left if left <= _LAST_ROUND * so_far * each else min(max(so_far * each, least), left)


def start_labels(budget: float, pool_size: float = math.inf) -> int:
    """Labels to start from, out of a budget of so many: a fifth, from 20 to 200, at most half of budget and pool.

    Few enough that a small budget is not eaten; and where the best rates are above the share of items they make up,
    pooling the rounds wastes none of them.
    """
    return max(int(min(max(0.2 * budget, 20.0), 200.0, budget / 2, pool_size / 2)), 2)


# The estimate


@dataclass(frozen=True, slots=True, eq=False)
class LearnedRating:
    """f of all items, each label's from the others, and the factor by which learning it all widens the variance."""

    values: Floats
    factor: float


def learned_rating(seen: Seen, clusters: Codes | None = None) -> LearnedRating:
    """f in the weak rating's place; with clusters, each label's f comes from the labels of the others."""
    use = seen.labelled
    if clusters is None:
        known = learn(seen)
        f = known.model.predict(seen.x)
        f[use] = known.unseen
    else:
        f = cluster_fitted_rating(seen.x, seen.strong, 1.0 / seen.rates(), clusters)
    labels = int(np.count_nonzero(use))
    binary = rating_bounds(seen.strong[use])[1]
    return LearnedRating(f, 1.0 + _LEARNING_LABELS / (labels + (_EXACT_LABELS if binary else 0.0)))


def below_one(rates: Floats, asked: Mask) -> Floats:
    """Rates, kept below 1 for items that were not asked: such an item cannot have been certain."""
    return np.where(asked, rates, np.minimum(rates, _ALMOST_ONE))


def estimate_seen(
    seen: Seen,
    *,
    level: float = 0.95,
    interval: IntervalMethod = "auto",
    estimand: Estimand = "population",
    pool_size: float | None = None,
    missing: Mask | None = None,
    bounds: tuple[float, float] | None = None,
    clusters: Codes | None = None,
    seed: int = 0,
    learned: Callable[[], LearnedRating] | None = None,
) -> Estimate:
    """One pooled estimate from all rounds, the weak rating replaced by f from the other labels (cross-fitted).

    Answers that were asked for and are `missing` are counted at both ends of the scale, `bounds`. Items of one of the
    `clusters` belong together: f is then from the labels of the others, and the interval counts clusters. `learned`
    gives f where it is kept for several estimates.
    """
    p = prepared(seen, missing=missing, clusters=clusters, learned=learned)
    return core.estimate_mean(
        p.weak, seen.strong, p.rates, method="difference", interval=interval, level=level, estimand=estimand,
        pool_size=pool_size, selected=p.asked, bounds=bounds, variance_factor=p.factor, seed=seed, clusters=clusters,
    )  # fmt: skip


def estimate_came(
    seen: Seen, missing: Mask, *, estimand: Estimand, pool_size: float | None, clusters: Codes | None
) -> Estimate:  # fmt: skip
    """The estimate as if each label had been drawn at its rate times the share of answers that came.

    It tells what ratings are worth, whatever is missing. It is none to report: answers may be missing for a reason.
    """
    p, labels = prepared(seen, missing=missing, clusters=clusters), np.count_nonzero(seen.labelled)
    rates = p.rates * (labels / np.count_nonzero(p.asked))
    return core.estimate_mean(
        p.weak, seen.strong, rates, method="difference", estimand=estimand, pool_size=pool_size,
        variance_factor=p.factor, clusters=clusters,
    )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """Arrays of an estimate from all rounds: f in the weak rating's place, pooled rates, and what was asked for."""

    weak: Floats
    rates: Floats
    asked: Mask
    factor: float  # by which learning widens the variance


def prepared(
    seen: Seen, *, missing: Mask | None = None, clusters: Codes | None = None,
    learned: Callable[[], LearnedRating] | None = None,
) -> Prepared:  # fmt: skip
    """All rounds as one draw; f of each label is from the others."""
    use, rates, factor = seen.labelled, seen.rates(), 1.0
    asked = use if missing is None else use | missing
    if np.all(asked):
        f = np.zeros(seen.items)
        rates = np.ones(seen.items)
    elif np.count_nonzero(use) < FEWEST_TO_LEARN:
        f = seen.x.weak
    else:
        rating = learned_rating(seen, clusters) if learned is None else learned()
        f, factor = rating.values, rating.factor
        rates = below_one(rates, asked)
    return Prepared(f, rates, asked, float(factor))


FEWEST_LABELS = 8  # a budget for fewer buys strong ratings alone: there is nothing to learn from them
_TAUGHT_LABELS = 50  # with fewer of its own, a campaign goes by what another table taught
_ROUNDING = 1e-10  # of a price: what adding up may be off by


def next_round(
    seen: Seen,
    money: Money,
    *,
    learned: Learned | None = None,
    teacher: Learned | None = None,
    free_features: bool = True,
    closed: Seen | None = None,
    most: float = math.inf,
) -> Round | None:
    """The next round; `None` where the money or the pool is used up.

    It starts with labels paid from the budget (few of them with a teacher), unless the budget is too small to learn
    from or large enough to rate the whole pool. Once strong ratings are bought without weak ones it stays with that:
    items without a weak rating cannot be pooled with others. Of `closed` and `most`, see `plan_round`.
    """
    if money.pool_left <= 0:
        return None
    alone = bool(seen.phases) and not seen.phases[-1].weak
    price = money.strong_cost if alone else money.both
    if money.left < price * (1 - 1e-12):
        return strong_alone(money) if not seen.phases and money.left >= money.strong_cost else None
    if alone and not seen.by_features:
        return strong_alone(money)
    labels = int(np.count_nonzero(seen.labelled))
    if labels == 0 or (labels < FEWEST_TO_LEARN and teacher is None):
        return _first_round(money, teacher)
    taught = teacher if labels < _TAUGHT_LABELS else None
    return plan_round(
        seen, money, learned=learned, teacher=taught, free_features=free_features, closed=closed, most=most
    )


def _first_round(money: Money, teacher: Learned | None) -> Round:
    enough = money.left >= money.strong_cost * money.pool_left  # for everything, also where it is free
    labels = math.inf if enough else money.left / money.both
    return strong_alone(money) if enough else start(money, labels, teacher)


def start(money: Money, labels: float, teacher: Learned | None = None) -> Round:
    """The start: all raters rate the first items, for the price of so many labels; strong alone if these are few."""
    if labels < FEWEST_LABELS:
        return strong_alone(money)
    count = start_labels(labels, money.pool_left) if teacher is None else FEWEST_LABELS
    count = int(min(count, money.pool_left))
    return Round("base", None, count * money.both, count, weak=True)


def strong_alone(money: Money) -> Round:
    """All the strong ratings that the money buys."""
    return Round("base", None, money.left, money.strong_ratings(), weak=False)


# Drawing a round, and pooling it with those before


@dataclass(frozen=True, slots=True, eq=False)
class RoundDraw:
    """The items of a round that are asked about."""

    rule: Rule  # with the factor that spends the money, where all of it is to be spent
    before: Floats  # mass of earlier rounds
    rates: Floats
    asked: Mask
    own_rates: Floats

    def first(self, items: int) -> "RoundDraw":
        """The draw of the first `items` items."""
        return replace(self, before=self.before[:items], rates=self.rates[:items], asked=self.asked[:items])


def draw_round(rule: Rule, own_rates: Floats, seen: Seen, x: Covariates, uniforms: Floats) -> RoundDraw:
    """Draw each item by its rate and its own random number."""
    before = mass(seen.phases, x)
    rates = rule.rates(x, before)
    return RoundDraw(rule, before, rates, np.asarray(uniforms < rates), own_rates)


def draw_exact_round(
    planned: Rule,
    own_rates: Floats,
    seen: Seen,
    x: Covariates,
    uniforms: Floats,
    *,
    money: float,
    prices: Floats | float,
) -> RoundDraw:
    """Rates scaled so that strong ratings at these prices are expected to cost `money`, and as many as fit into it."""
    rule = planned.scaled(1.0)
    price = np.broadcast_to(np.asarray(prices, dtype=np.float64), uniforms.shape)
    before, u = mass(seen.phases, x), rule.u(x)
    rule = rule.scaled(scaled_to(rule.rates_for(u, before), _whole(money, price), price))
    rates = rule.rates_for(u, before)
    asked = draw_within(rates, uniforms, price, money + _ROUNDING * price.max(initial=0.0))
    return RoundDraw(rule, before, rates, asked, rule.scaled_rates(own_rates))


def pooled(
    seen: Seen, x: Covariates, strong: Floats, *, rule: Rule | None, weak: bool, own_rates: Floats,
    factor: float | None = None, before: Floats | None = None, rates: Floats | None = None,
    given: Floats | None = None,
) -> Seen:  # fmt: skip
    """Everything bought, with one more round: its items, their strong ratings, and the rule that they were drawn by.

    `factor` is that of a rule as it was planned, before the draw. What the draw has worked out (`before`, `rates`) is
    computed again where it is not given. `given` are rates that old labels of the items were drawn with.
    """
    if rule is not None and factor is not None:
        rule = rule.scaled(factor)
        own_rates = rule.scaled_rates(own_rates)
    before = mass(seen.phases, x) if before is None else before
    return seen.joined(x, strong, before, Phase(x.items, rule, weak), own_rates, rates=rates, given=given)


def _whole(money: float, price: NDArray[np.float64]) -> float:
    """The money that whole ratings can use; all of it where prices differ."""
    first = float(price[0]) if price.size else 0.0
    if first <= 0 or np.any(price != first):
        return max(money, 0.0)
    return first * float(np.clip(whole_items(money / first), 0, price.size))
