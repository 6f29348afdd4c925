"""Ways to go on: with the weak rater, or by the features alone, which are known of a whole pool for nothing."""

import math
from dataclasses import dataclass, replace

from ratewise.core.checks import Floats
from ratewise.design.options import Money, Option, Options
from ratewise.design.seen import Learned, Seen, learn
from ratewise.learn.rating_model import Covariates

_SURE = 1.0  # standard errors by which the features alone must do better than with the weak rater


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
    return mean > _SURE * math.sqrt(float(w**2 @ (gain - mean) ** 2))
