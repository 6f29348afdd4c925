"""The score interval: limits that are known, and mistakes that may be unseen."""

import numpy as np
import pytest

from ratewise.core import score
from ratewise.questions.estimation import estimate_mean


def test_a_judge_that_is_sure_of_a_coin_gets_an_interval_as_narrow_as_its_estimate():
    """Mean 0.5, a judge that is right 99 times in 100: widths follow the estimate, not the scale's middle."""
    rng = np.random.default_rng(3)
    h = (rng.random(4000) < 0.5).astype(float)
    g = np.where(rng.random(4000) < 0.01, 1 - h, h) * 0.98 + 0.01
    strong = np.where(rng.random(4000) < 0.1, h, np.nan)
    found = estimate_mean(g, strong, 0.1, estimand="pool")
    assert found.high - found.low < 8 * np.sqrt(0.01 * 9 / 4000)


def test_known_ratings_of_a_pool_bound_its_mean():
    """190 of 200 items are known to be good, one is known to be bad."""
    strong = np.concatenate([np.ones(190), [0.0], np.full(9, np.nan)])
    found = estimate_mean(np.full(200, 0.9), strong, 0.95, estimand="pool")
    assert found.low >= 190 / 200
    assert found.high <= 199 / 200


@pytest.mark.parametrize("value", [1.0, 3.0, 5.0])
def test_ratings_that_are_all_equal_have_an_interval_if_the_scale_is_known(value):
    found = estimate_mean(np.full(30, 3.0), np.full(30, value), 1.0, bounds=(1, 5))
    assert found.interval_method == "score"
    assert 1 <= found.low < found.high <= 5
    assert found.low <= value <= found.high
    assert estimate_mean(np.full(30, 3.0), np.full(30, value), 1.0).interval is None


def test_a_judge_that_is_off_by_a_constant_is_found_out_with_twenty_labels():
    """Scores near 0 for answers that are all good: the level of the line is free, its slope is not."""
    rng = np.random.default_rng(4)
    g = 0.05 * rng.random(200)
    strong = np.where(rng.random(200) < 0.1, 1.0, np.nan)
    found = estimate_mean(g, strong, 0.1)
    assert "regression" in found.method
    assert found.value == pytest.approx(1.0, abs=0.03)


def one_sided(*, seen_on_both, T=2000):
    """A yes/no judge: nine mistakes among 200 of its yeses; among 84 of its noes as many, or none."""
    g = np.repeat([1.0, 0.0], T // 2)
    asked = np.zeros(T, dtype=bool)
    asked[: T // 2 : 5] = asked[T // 2 :: 12] = True
    h = g.copy()
    h[np.flatnonzero(asked & (g == 1))[:9]] = 0.0
    if seen_on_both:
        h[np.flatnonzero(asked & (g == 0))[:9]] = 1.0
    return g, np.where(asked, h, np.nan), np.where(g == 1, 1 / 5, 1 / 12)


@pytest.mark.parametrize(("seen_on_both", "least", "most"), [(False, 1.2, 1.5), (True, 1.1, 1.25)])
def test_a_side_where_no_mistake_was_seen_may_have_some(seen_on_both, least, most):
    """84 noes without a mistake do not say that there is none: the interval goes further up than the errors seen do."""
    found, normal = (
        estimate_mean(*one_sided(seen_on_both=seen_on_both), method="difference", interval=kind, estimand="pool")
        for kind in ("score", "normal")
    )
    assert least < (found.interval[1] - found.value) / (normal.interval[1] - normal.value) < most


def unseen(coarse, h, f, odds, weight, variance=100.0):
    """What labels of two groups of equal size did not show, of predictions `f` that the labels leave as they are."""
    group = np.repeat([0, 1], h.size // 2)
    fit = score._Fitted(np.empty(0), group, np.array([coarse, coarse]), f, np.empty(0))
    return score._unseen(fit, group, h, f, odds, weight, 1.0, variance)


def test_mistakes_unseen_count_in_groups_that_show_none():
    """Of 20 sure labels at a fifth: the model's variance until they show their own; a tenth if weak ratings differ."""
    f, odds, weight = np.ones(40), np.full(40, 0.95), np.full(40, 5.0)
    h = np.ones(40)
    own = 20 * 20 * (0.95 * 0.05 + 0.05**2)  # Σ w (w − 1) (p (1 − p) + (p − f)²)
    k = 20 * 0.05**2  # mistakes seen, by residuals
    assert unseen(1.0, h, f, odds, weight) == pytest.approx(2 * own * 2 / (2 + k))
    assert unseen(0.0, h, f, odds, weight) == pytest.approx(2 * own * 2 / (2 + k) / 10)
    h[20:24] = 0.0  # four of these are more than the model has
    assert unseen(1.0, h, f, odds, weight) == pytest.approx(own * 2 / (2 + k))
    assert unseen(1.0, h, f, odds, np.ones(40)) == 0  # rated whole: nothing is unseen


def test_mistakes_that_f_itself_expects_where_labels_are_too_few_to_show_one():
    """Ten labels stand for 200 items with two mistakes: all of their variance where two move the sum by far."""
    h, p, weight = np.ones(20), np.full(20, 0.99), np.full(20, 20.0)
    weight[10:], p[10:] = 1.0, 0.5
    h[15:] = 0.0
    variance = 10 * 20 * 19 * (0.01 * 0.99 - 0.01**2)  # Σ w (w − 1) p (1 − p), less what the labels show
    silent = np.exp(-3 * 10 * 0.0099)
    assert unseen(0.0, h, p, p, weight, variance=0.01) == pytest.approx(silent * variance)
    away = silent * 10 * 20 * (0.0099 - 0.01**2) - 1
    assert unseen(0.0, h, p, p, weight, variance=4.0) == pytest.approx(away**2 / (0.4**2 * 4) * silent * variance)
    assert unseen(0.0, h, p, p, weight, variance=1e6) == pytest.approx(0.1 * variance, rel=0.02)
