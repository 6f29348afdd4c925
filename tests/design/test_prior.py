"""Rounds by what scores usually mean: the first one, those that follow, and where the prior does not count."""

import numpy as np
import pytest

from ratewise.design.options import Money
from ratewise.design.rounds import estimate_seen, next_round, score_prior
from ratewise.design.seen import ENOUGH_LABELS, Phase, Rule, Seen
from ratewise.learn.covariates import Covariates
from ratewise.learn.score_prior import PRIORS

PRIOR = PRIORS["probability"]
NOTHING = Seen.of(Covariates(np.empty(0)), np.empty(0), (), PRIOR)


def judged(seed, n, *, useless=False):
    rng = np.random.default_rng(seed)
    g = rng.beta(1.0, 0.06, n)
    h = (rng.random(n) < g).astype(float)
    return Covariates(rng.permutation(g) if useless else g), h


def bought(seed, labels, *, useless=False):
    """Labels of everyone, with a prior."""
    x, h = judged(seed, labels, useless=useless)
    return Seen.of(x, h, (Phase(labels),), PRIOR)


def test_the_first_items_are_drawn_by_their_scores():
    first = next_round(NOTHING, Money(0.01, 1.0, 60.0, 20_000.0))
    assert first.policy == "active"
    assert first.spend == pytest.approx(10 + 0.01 * first.items)
    assert 0.01 * first.items <= 0.02 * 60
    rates = first.rule.rates(Covariates(np.array([0.999, 0.9, 0.5])), np.zeros(3))
    assert rates[0] < rates[1] < rates[2]
    assert rates[2] < 4 * rates[0]  # a wrong prior must not be ruinous
    again = Rule.from_json(first.rule.to_json())
    np.testing.assert_array_equal(
        again.u(Covariates(np.array([0.2, 0.7]))), first.rule.u(Covariates(np.array([0.2, 0.7])))
    )


@pytest.mark.parametrize(
    "money", [Money(0.01, 1.0, 15.0, 2000.0), Money(0.01, 1.0, 60.0, 50.0), Money(0.1, 1.0, 60.0, 2000.0)]
)
def test_little_money_few_items_or_a_dear_judge_start_as_without_a_prior(money):
    plain = next_round(Seen.of(Covariates(np.empty(0)), np.empty(0), ()), money)
    first = next_round(NOTHING, money)
    assert (first.rule, first.items, first.weak) == (plain.rule, plain.items, plain.weak)


def test_there_is_no_prior_where_weak_ratings_are_dear():
    assert score_prior("probability", 0.05, 1.0) is None
    assert score_prior("probability", 0.0, 1.0) is PRIOR


def test_good_scores_lead_to_more_items_than_useless_ones():
    """Strong ratings alone look at no items but those that are labelled."""
    money, looked_at = Money(0.01, 1.0, 200.0, 20_000.0), {}
    for useless in (False, True):
        planned = [next_round(bought(s, 60, useless=useless), money) for s in range(20)]
        looked_at[useless] = np.mean([260 if p.rule is None else p.rule.total for p in planned])
    assert looked_at[False] > 2 * looked_at[True]


def test_enough_labels_speak_for_themselves():
    few, enough = bought(5, ENOUGH_LABELS - 1), bought(5, ENOUGH_LABELS)
    assert few.learned.by_prior
    assert not enough.learned.by_prior
    plain = Seen.of(enough.x, enough.strong, enough.phases)
    assert estimate_seen(enough).value == estimate_seen(plain).value
    off = Seen.of(few.x, 3 * few.strong, few.phases, PRIOR)  # nor does it count off its scale
    assert not off.learned.by_prior


def test_a_label_does_not_shape_its_own_rate():
    seen = bought(6, 40)
    strong = seen.strong.copy()
    strong[3] = 1 - strong[3]
    other = Seen.of(seen.x, strong, seen.phases, PRIOR)
    a, b = (one.learned.unseen[3] for one in (seen, other))
    assert a == pytest.approx(b, rel=1e-6)
