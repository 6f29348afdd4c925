"""A label does not shape its own weight: the rates of later rounds at its place come from the other labels."""

import numpy as np
import pytest

from ratewise.design.options import Money
from ratewise.design.rounds import plan_round
from ratewise.learn.covariates import Covariates

from .worlds import MONEY, burnt_in, coins, even, varying


def planned_share(planned, x, own):
    """π̄ of the labels of a burn-in if the plan is carried out, by their own rates or by the rule."""
    n, total = x.items, planned.rule.total
    rates = planned.own_rates if own else planned.rule.rates(x, np.full(n, float(n)))
    return (n + (total - n) * rates) / total


def own_effect(world, seed, change, *, labels=200, tried=25):
    """Log change of a label's π̄ when its strong rating changes a lot, beyond that of all others: by own rates, by rule.

    One row per label tried; NaN where the changed labels lead to strong ratings alone.
    """
    x, h = world(seed, labels)
    money = Money(0.05, 1.0, 200.0)
    before = plan_round(burnt_in((x, h)), money)
    out = np.full((tried, 2), np.nan)
    for row, i in enumerate(range(0, labels, labels // tried)):
        changed = h.copy()
        changed[i] = change(h[i])
        after = plan_round(burnt_in((x, changed)), money)
        if after.rule is not None:
            for k, own in enumerate((True, False)):
                log = np.log(planned_share(after, x, own) / planned_share(before, x, own))
                out[row, k] = log[i] - np.delete(log, i).mean()
    return out[~np.isnan(out[:, 0])]


@pytest.mark.parametrize(("world", "seed"), [(varying, 1), (varying, 3), (coins, 0), (coins, 1)])
def test_a_label_does_not_shape_its_own_weight(world, seed):
    """Two standard deviations, or a coin turned over: by the rule a label's π̄ rises up to twofold.

    By its own rates it moves by a few percent on average and by less than a third at most; what is left comes through
    choices between policies that are as good, in which the label still counts.
    """
    effect = own_effect(world, seed, (lambda h: 1 - h) if world is coins else (lambda h: h + 2))
    assert len(effect) >= 20
    own, rule = effect.T
    assert np.median(np.abs(own)) < 0.04
    assert abs(own.mean()) < 0.04
    assert np.abs(own).max() < 0.33
    assert np.abs(own).max() <= 0.6 * np.abs(rule).max() + 0.02
    if world is varying:
        assert rule.mean() > 0.09  # the check would notice


def many_features(seed, n):
    """Ratings below a ceiling, more of them and further off where they are low; 25 features, five of which tell."""
    rng = np.random.default_rng([seed, 17])
    z = rng.normal(size=(n, 25))
    m = 0.5 * z[:, :5].sum(axis=1)
    h = np.clip(0.9 + 0.25 * m + 0.25 * np.exp(-0.8 * m) * rng.normal(size=n), -1, 1)
    return Covariates(np.clip(0.8 + 0.1 * m + 0.1 * rng.normal(size=n), 0, 1), z), h


def test_a_label_does_not_shape_its_own_weight_through_its_own_prediction():
    """With many features a label moves f at its own place, and u goes by f. With f from the others it does not.

    Averages over worlds; with f from all labels their own rates moved by 0.08, 0.09 and 0.1 of the log.
    """
    effect = np.array([own_effect(many_features, seed, lambda h: h - 0.8).mean(axis=0) for seed in (0, 1, 2, 4, 5)])
    own, rule = effect.mean(axis=0)
    assert abs(own) < 0.05
    assert rule > 0.12  # the check would notice


@pytest.mark.parametrize("world", [even, coins])
def test_own_rates_are_the_rules_where_no_label_is_decisive(world):
    """The constant, and a claim made by predictions that one label cannot move."""
    x, h = world(1097, 400)
    planned = plan_round(burnt_in((x, h)), MONEY)
    assert planned.rule.error.kind in {"constant", "claimed"}
    by_rule = planned.rule.rates(x, np.full(400, 400.0))
    off = np.abs(planned.own_rates - by_rule)
    assert np.median(off) <= 1e-9 + 0.01 * by_rule.mean()
    assert np.mean(off) < 0.05 * by_rule.mean()
