"""`auto`: learn, plan and spend in rounds, and pool all rounds into one estimate (METHODS section 4).

What is bought is looked at as a whole. If round j looked at T_j items with rates π_j(x), a label at x was drawn with
π̄(x) = Σ T_j π_j(x) / Σ T_j, and the estimate is mean(f) + (1/T) Σ_labelled (H − f)/π̄ for all rounds together. So a
round is planned by asking which π̄ would be best for all the money, spent and unspent, and buying what is missing to
it; labels of a burn-in (π = 1) are then wasted only where the best rate is below the one they have given already.

Simulations and campaigns alike decide here what to buy next. State in, a round out; it buys nothing. Its rates use what
earlier rounds have shown and nothing else, so whoever buys it may do so in any order, in several processes, and after a
crash.
"""

import math
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal

import numpy as np
from numpy.typing import NDArray

from ratewise.core.checks import Floats
from ratewise.core.clusters import Codes
from ratewise.core.draw import draw_within, scaled_to, whole_items
from ratewise.core.estimate import DEFAULTS, Estimate, EstimateOptions, estimate_rated
from ratewise.core.names import PolicyName
from ratewise.core.ratings import Mask, Ratings
from ratewise.design.options import Money, Options
from ratewise.design.seen import FEWEST_TO_LEARN, Importance, Learned, Phase, R_co, Rule, Seen, mass
from ratewise.learn.covariates import Covariates
from ratewise.learn.error_model import LearnedError
from ratewise.learn.rating_model import RatingModel, cluster_fitted_rating, rating_bounds
from ratewise.learn.score_prior import PRIORS, ScoreKind, ScorePrior

FEWEST_LABELS = 8  # a budget for fewer buys strong ratings alone: there is nothing to learn from them
ROUNDING = 1e-10  # of a price: what adding up may be off by
_TAUGHT_LABELS = 50  # with fewer of its own, a campaign goes by what another table taught
_ALMOST_ONE = 1 - 1e-12
_WORTH_BUYING = 0.985  # weak ratings are bought if the expected error is below this share of that without them,
_DOUBT = 2.0  # less this many times the squared standard error of it: much with 20 labels, little with 200
_FEATURES_SURE = 1.0  # standard errors by which the features alone must do better than with the weak rater
_LEARNING_LABELS = 25.0  # labels' worth of variance that learning rates and f from the labels adds unseen
_EXACT_LABELS = 100.0  # labels below which the exact test behind the score interval makes up for part of that
_SMALL = 0.03  # share of the money left: at most this for weak ratings, to go on looking whether they are worth it
_UNPROVEN = 0.4  # share of V that rests on no label, above which nothing is known of the weak rater yet
_FEW = 40  # labels: fewer are sure of nothing
_SURE = 2.0  # standard errors by which the weak rater must be seen to be not worth its price, to be given up at once
_LAST_ROUND = 1.3  # a round that would leave less than this many times what there is takes all
_FIRST_LABELS = 10  # by a prior: enough to tell a judge whose scores mean nothing from most that mean something
_FIRST_RATE = 0.1  # of the items that these are drawn from,
_AT_RISK = 0.02  # whose weak ratings cost at most this share of the money
_CHEAP = 0.02  # of a strong rating: the price of a weak one up to which rates go by a prior
_NEAR_THE_END = 0.85  # a plan for more of the pool than this looks at all of it: chance may need more items


@dataclass(frozen=True, slots=True, eq=False)
class NextRound(Generic[R_co]):
    """What to do next, and why; of two raters the rule is a `Rule`."""

    policy: PolicyName | Literal["chain"]
    rule: R_co | None  # None: every item gets its strong rating
    spend: float  # money of this round
    items: int | None  # look at exactly these many (a start, a pool that ends); None: go on until the money is spent
    weak: bool = True  # whether weak ratings are bought
    own_rates: Floats = field(default_factory=lambda: np.empty(0))  # of each label, by a rule chosen without it
    expected_ratio: float = math.nan  # squared error over that of strong ratings alone; NaN if not compared
    expected_variance: float = math.nan  # of the estimate when all the money is spent
    mean_rates: Floats = field(default_factory=lambda: np.empty(0))  # of each step of a chain, over all rounds


def next_round(
    seen: Seen,
    money: Money,
    *,
    learned: Learned | None = None,
    teacher: Learned | None = None,
    free_features: bool = True,
    closed: Seen | None = None,
    most: float = math.inf,
    importance: Importance | None = None,
) -> NextRound[Rule] | None:
    """The next round; `None` where the money or the pool is used up.

    With a prior of what scores mean, rates differ from the first item on. Else it starts with labels paid from the
    budget (few of them with a teacher), unless the budget is too small to learn
    from or large enough to rate the whole pool. Once strong ratings are bought without weak ones it stays with that:
    items without a weak rating cannot be pooled with others. Of `closed`, `most` and `importance`, see `plan_round`.
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
    if not seen.items and teacher is None and (first := first_by_prior(seen, money)) is not None:
        return first
    if labels == 0 or (labels < FEWEST_TO_LEARN and teacher is None):
        enough = money.left >= money.strong_cost * money.pool_left  # for everything, also where it is free
        return strong_alone(money) if enough else start(money, money.left / money.both, teacher)
    taught = teacher if labels < _TAUGHT_LABELS else None
    return plan_round(
        seen, money, learned=learned, teacher=taught, free_features=free_features, closed=closed, most=most,
        importance=importance,
    )  # fmt: skip


def start(money: Money, labels: float, teacher: Learned | None = None) -> NextRound[Rule]:
    """The start: all raters rate the first items, for the price of so many labels; strong alone if these are few."""
    if labels < FEWEST_LABELS:
        return strong_alone(money)
    count = start_labels(labels, money.pool_left) if teacher is None else FEWEST_LABELS
    count = int(min(count, money.pool_left))
    return NextRound("base", None, count * money.both, count)


def first_by_prior(seen: Seen, money: Money) -> NextRound[Rule] | None:
    """The first ten labels, at rates that go by what scores usually mean; `None` without a prior, or for few items."""
    prior, strong_cost = seen.by_prior, money.strong_cost
    enough = money.left >= strong_cost * money.pool_left  # for everything: nothing is left to estimate
    if prior is None or enough or money.left < 2 * _FIRST_LABELS * money.both:
        return None
    affordable = _AT_RISK * money.left / money.weak_cost if money.weak_cost > 0 else math.inf
    items = int(min(_FIRST_LABELS / _FIRST_RATE, affordable, money.pool_left / 2))
    if items < 2 * _FIRST_LABELS:
        return None
    model = RatingModel.by_score(prior.posterior(np.empty(0), np.empty(0), np.empty(0)).curve)
    rule = Rule(model, LearnedError("claimed", 0.0), 1.0, 0.0, 0.0, float(items))
    return NextRound("active", rule, items * money.weak_cost + _FIRST_LABELS * strong_cost, items)


def score_prior(kind: ScoreKind, weak_cost: float, strong_cost: float) -> ScorePrior | None:
    """What scores of this kind usually mean; `None` where weak ratings are not cheap.

    Once rates differ, strong ratings alone are no option any more: if scores say nothing, every label costs a weak
    rating more.
    """
    return None if weak_cost > _CHEAP * strong_cost else PRIORS[kind]


def strong_alone(money: Money) -> NextRound[Rule]:
    """All the strong ratings that the money buys."""
    return NextRound("base", None, money.left, money.strong_ratings(), weak=False)


def start_labels(budget: float, pool_size: float = math.inf) -> int:
    """Labels to start from, out of a budget of so many: a fifth, from 20 to 200, at most half of budget and pool.

    Few enough that a small budget is not eaten; and where the best rates are above the share of items they make up,
    pooling the rounds wastes none of them.
    """
    return max(int(min(max(0.2 * budget, 20.0), 200.0, budget / 2, pool_size / 2)), 2)


def rounds_planned(labels: float, pool_size: float, first: int = 0) -> int:
    """How many rounds to expect of money for so many labels, when each doubles them; `first` are there already."""
    labels = min(labels, pool_size)
    return 2 + math.ceil(math.log2(max(labels / max(start_labels(labels, pool_size), first, 1), 1.0)))


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
    importance: Importance | None = None,
) -> NextRound[Rule]:
    """The best use of the money that is left, given all that was bought.

    `learned` is what the labels teach, where that is known already; `teacher` are models from another table, which
    stand in while there are few labels. Strong ratings alone are an option only while everything seen has its strong
    rating, since items bought without a weak rating cannot be pooled with the others. So is going by the features
    alone, in a pool where they are known for all items, at no cost (`free_features`).

    Where answers of the last items are out, `closed` is what there was before these: it alone is learned from, while
    rates count what the others will have had. Such a round may be told to spend at `most` so much. `importance` is how
    much each item counts for the answers of a question.
    """
    most = most if money.left > _LAST_ROUND * most else math.inf
    way = best_way(seen, money, learned, teacher, free_features, closed, importance)
    known, best, ratio = way.known, way.best, math.nan
    if base_allowed and all(phase.rule is None for phase in seen.phases):
        labels = int(np.count_nonzero(seen.labelled)) + (0 if closed is None else seen.items - closed.items)
        variance = way.variance / (labels + money.left / money.strong_cost)  # of strong ratings alone
        ratio = best.variance / variance
        enough = money.left >= money.strong_cost * money.pool_left  # for everything: nothing is left to estimate
        total = way.variance + known.mean(best.added)
        doubt = (
            float(best.added.std()) / math.sqrt(best.added.size) / total
        )  # standard error of the error, relative to it
        worth_it = money.weak_cost == 0 or ratio < _WORTH_BUYING - _DOUBT * doubt**2
        if enough or not worth_it:
            more = 0  # of the start: buying strong ratings alone cannot be undone
            if not enough and _worth_another_look(way, money, labels):
                more = _doubled(money, labels)
            elif most < money.left:  # what cannot be undone is not decided while much is out
                more = _doubled(money, int(most / money.both))
            spend, items = (more * money.both, more) if more else (money.left, money.strong_ratings())
            return NextRound(
                "base", None, spend, items, weak=more > 0, expected_ratio=ratio, expected_variance=variance
            )  # fmt: skip
    spend = min(doubled_spend(way.money, int(np.count_nonzero(seen.labelled)), each=money.strong_cost), most)
    whole = nearly_all(way.best.items, seen.items, money) or not way.weak
    return NextRound(
        "random" if best.error.kind == "constant" else "active", best.rule(known, seen.items, weak=way.weak), spend,
        share_of_pool(way.money, spend) if whole else None, weak=way.weak,
        own_rates=np.empty(0) if teacher is not None else way.own_rates(seen), expected_ratio=ratio,
        expected_variance=best.variance,
    )  # fmt: skip


# With the weak rater, or by the features alone, which are known of a whole pool for nothing


def best_way(
    seen: Seen, money: Money, learned: Learned | None, teacher: Learned | None, free_features: bool,
    closed: Seen | None, importance: Importance | None = None,
) -> Options:  # fmt: skip
    """By the features alone where that was chosen before, or is possible and surely better; else with the weak rater.

    Arguments are those of `plan_round`. Who stops asking the weak rater cannot go back, so the labels must be sure of
    it by more than their noise.
    """
    if seen.by_features:
        return Options.by_features(seen, money, closed, importance)
    if teacher is not None:
        return Options.of(teacher, seen, money, around=teacher.x)  # its items have no place in this question
    if learned is None:
        learned = (seen if closed is None else closed).learned
    way = Options.of(learned, seen, money, importance=importance)
    possible = money.weak_cost > 0 and free_features and seen.x.known_for_nothing and math.isfinite(money.pool_left)
    if not possible or any(phase.rule is not None for phase in seen.phases):
        return way
    free = Options.by_features(seen, money, closed, importance)
    w = way.known.weights / way.known.weights.sum()
    gain = way.by_label - free.by_label
    mean = float(w @ gain)
    return free if mean > _FEATURES_SURE * math.sqrt(float(w**2 @ (gain - mean) ** 2)) else way


def _worth_another_look(way: Options, money: Money, labels: int) -> bool:
    """Whether the labels are not sure yet that the weak rater is not worth its price, and more of them cost little."""
    if money.left < labels * money.both / 2 or _doubled(money, labels) * money.weak_cost > _SMALL * money.left:
        return False
    few = way.known.strong.size < _FEW or way.known.unproven > _UNPROVEN
    return few or not _surely_worse(way, labels + money.left / money.strong_cost)


def _surely_worse(way: Options, alone: float) -> bool:
    """Whether the labels are sure that so many strong ratings alone do better, each label compared with itself."""
    known, best = way.known, way.best
    w = known.weights / known.weights.sum()
    spread = (known.strong - known.mean(known.strong)) ** 2
    if way.importance is not None:
        spread = spread * way.importance.of(known.x)
    gain = spread / alone - (spread + best.added) / best.items
    error = math.sqrt(float(w**2 @ (gain - float(w @ gain)) ** 2))
    return way.variance / alone - best.variance < -_SURE * error


def _doubled(money: Money, labels: int) -> int:
    """Items of a round that doubles the labels, or takes half of what is left."""
    return max(int(min(labels, money.pool_left / 2, money.left / (2 * money.both))), 1)


# How much, and how many


def doubled_spend(money: Money, so_far: float, *, each: float = 1) -> float:
    """Money of a round that doubles what there is; all of it where it pays for everything that is left, too."""
    if money.left >= money.both * money.pool_left:
        return money.left
    return doubling(money.left, so_far, least=10 * money.both, each=each)


def doubling(left: float, so_far: float, *, least: float, each: float = 1) -> float:
    """Money for a round that doubles `so_far`; everything left where little would remain.

    What there is counts `each`. Whole numbers stay whole.
    """
    return left if left <= _LAST_ROUND * so_far * each else min(max(so_far * each, least), left)


def share_of_pool(money: Money, spend: float) -> int | None:
    """The round's share of a pool that will be looked at whole; None where that costs too much."""
    if money.weak_cost * money.pool_left > 0.9 * money.left or money.left <= 0:
        return None
    share = min(math.ceil(money.pool_left * (spend / money.left)), math.ceil(money.pool_left))
    return share if money.weak_cost == 0 else min(share, int(whole_items(spend / money.weak_cost)))


def nearly_all(total: float, seen: float, money: Money) -> bool:
    """Whether a plan for so many items in all looks at the whole pool: chance may need more items than planned."""
    return total >= _NEAR_THE_END * (seen + money.pool_left)


# Drawing a round, and pooling it with those before


@dataclass(frozen=True, slots=True, eq=False)
class RoundDraw:
    """Rates of a round's items and who is asked; items × steps for a chain."""

    rates: Floats
    asked: Mask
    factor: float | None = None  # of the rule's rates, where the draw has found it so that the money is spent
    before: Floats | None = None  # mass of earlier rounds, where it was worked out

    def first(self, items: int) -> "RoundDraw":
        """The draw of the first `items` items."""
        before = None if self.before is None else self.before[:items]
        return RoundDraw(self.rates[:items], self.asked[:items], self.factor, before)


def draw_round(rule: Any, seen: Any, uniforms: Floats, *known: Any) -> RoundDraw:
    """Draw each item at every step by its rate and its own random number, by what is `known` of the items."""
    before = seen.mass_before(*known)
    rates = rule.rates(*known, before)
    return RoundDraw(rates, np.asarray((uniforms if rates.ndim == 1 else uniforms[:, None]) < rates), before=before)


def draw_exact_round(
    planned: Rule, seen: Seen, x: Covariates, uniforms: Floats, *, money: float, prices: Floats | float
) -> RoundDraw:
    """Rates scaled so that strong ratings at these prices are expected to cost `money`, and as many as fit into it."""
    rule = planned.scaled(1.0)
    price = np.broadcast_to(np.asarray(prices, dtype=np.float64), uniforms.shape)
    before, u = mass(seen.phases, x), rule.u(x)
    rule = rule.scaled(scaled_to(rule.rates_for(u, before), _whole(money, price), price))
    rates = rule.rates_for(u, before)
    asked = draw_within(rates, uniforms, price, money + ROUNDING * price.max(initial=0.0))
    return RoundDraw(rates, asked, rule.factor, before)


def pooled(
    seen: Seen, x: Covariates, strong: Floats, *, rule: Rule | None, weak: bool, own_rates: Floats,
    factor: float | None = None, before: Floats | None = None, rates: Floats | None = None,
    given: Floats | None = None,
) -> Seen:  # fmt: skip
    """Everything bought, with one more round: its items, their strong ratings, and the rule as it was planned.

    What the draw has worked out (`factor`, `before`, `rates`) is computed again where it is not given. `given` are
    rates that old labels of the items were drawn with.
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


# The estimate


def learned_rating(seen: Seen, clusters: Codes | None = None) -> tuple[Floats, float]:
    """f of all items, each label's from the others (or other clusters); and how learning it widens the variance."""
    use = seen.labelled
    if clusters is None:
        known = seen.learned
        f = known.model.predict(seen.x)
        f[use] = known.unseen
    else:
        f = cluster_fitted_rating(seen.x, seen.strong, 1.0 / seen.rates(), clusters)
    labels = int(np.count_nonzero(use))
    binary = rating_bounds(seen.strong[use])[1]
    return f, 1.0 + _LEARNING_LABELS / (labels + (_EXACT_LABELS if binary else 0.0))


def below_one(rates: Floats, asked: Mask) -> Floats:
    """Rates, kept below 1 for items that were not asked: such an item cannot have been certain."""
    return np.where(asked, rates, np.minimum(rates, _ALMOST_ONE))


@dataclass(frozen=True, slots=True, eq=False)
class PooledDraw:
    """All rounds as one draw: f in the weak rating's place (items × levels for a chain), rates, who was asked."""

    weak: Floats
    rates: Floats
    asked: Mask
    factor: float  # by which learning widens the variance


def pooled_draw(seen: Seen, *, missing: Mask | None = None, clusters: Codes | None = None) -> PooledDraw:
    """All rounds of a weak and a strong rater as one draw; f of each label is from the others."""
    use, rates, factor = seen.labelled, seen.rates(), 1.0
    asked = use if missing is None else use | missing
    if np.all(asked):
        f = np.zeros(seen.items)
        rates = np.ones(seen.items)
    elif np.count_nonzero(use) < FEWEST_TO_LEARN:
        f = seen.x.weak
    else:
        f, factor = learned_rating(seen, clusters)
        rates = below_one(rates, asked)
    return PooledDraw(f, rates, asked, float(factor))


def estimate_seen(
    seen: Seen,
    how: EstimateOptions = DEFAULTS,
    *,
    missing: Mask | None = None,
    clusters: Codes | None = None,
    left_aside: bool = False,
) -> Estimate:
    """One pooled estimate from all rounds, the weak rating replaced by f from the other labels (cross-fitted).

    Answers that were asked for and are `missing` are counted at both ends of the scale; or `left_aside`, as if each
    label had been drawn at its rate times the share that came. That tells what ratings are worth, and is none to
    report: answers may be missing for a reason. Items of one of the `clusters` belong together: f is then from the
    labels of the others, and the interval counts clusters.
    """
    p = pooled_draw(seen, missing=missing, clusters=clusters)
    came = np.count_nonzero(seen.labelled) / np.count_nonzero(p.asked) if left_aside else 1.0
    rated = Ratings(p.weak, seen.strong, p.rates * came, None if left_aside else p.asked, clusters)
    return estimate_rated(rated, replace(how, method="difference", variance_factor=p.factor))
