"""Whether to go by features alone: they cost nothing in a pool, but who stops asking the weak rater cannot go back."""

import numpy as np
import pytest

from ratewise.design.options import Money, Options
from ratewise.design.rounds import best_way
from ratewise.design.seen import Phase, Seen
from ratewise.learn.covariates import Covariates

LABELS, MONEY = 100, Money(0.05, 1.0, 395.0, 1900.0)


def sure_judge(seed, clear):
    """A judge that knows 85 of 100 answers for sure, beside a feature that is the better, the more `clear` it is."""
    rng = np.random.default_rng([seed, 77])
    h = (rng.random(LABELS) < 0.7).astype(float)
    sure = rng.random(LABELS) < 0.85
    right = rng.random(LABELS) < np.where(sure, 0.99, 0.6)
    g = np.where(sure, 0.97, 0.6)
    z = 1.5 * (h - 0.5) * clear + rng.standard_normal(LABELS)
    x = Covariates(np.where(right == (h == 1), g, 1 - g), np.column_stack([z, rng.standard_normal(LABELS)]))
    return Seen.of(x, h, (Phase(LABELS),))


def chosen(seen):
    return best_way(seen, MONEY, None, None, True, None)


def test_the_weak_rater_is_given_up_only_where_labels_are_sure_of_it():
    """Without this judge the squared error is 1.5 times as large. By the better of two expected errors alone, noise
    would give it up in eleven of forty trials.
    """
    seens = [sure_judge(seed, 3.0) for seed in range(40)]
    kept = [chosen(seen).weak for seen in seens]
    looks_better = [
        Options.by_features(seen, MONEY).best.variance <= Options.of(seen.learned, seen, MONEY).best.variance
        for seen in seens
    ]
    assert sum(looks_better) >= 9
    assert sum(not weak for weak in kept) <= sum(looks_better) / 2
    assert all(better for better, weak in zip(looks_better, kept, strict=True) if not weak)


@pytest.mark.parametrize("seed", range(5))
def test_a_feature_that_tells_nearly_everything_makes_the_weak_rater_superfluous(seed):
    way = chosen(sure_judge(seed, 6.0))
    assert not way.weak
    assert way.money.weak_cost == 0
