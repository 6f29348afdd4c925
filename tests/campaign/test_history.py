"""What closed rounds have shown: plans that survive JSON, rounds that join, and ratings that did not come."""

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest

from ratewise.campaign import planner as d
from ratewise.campaign.history import History, LookedItems, RoundPlan
from ratewise.campaign.rehearsal import Rehearsal, RehearsalPool
from ratewise.design.seen import mass
from ratewise.lab.worlds import calibrated
from ratewise.learn.covariates import Covariates


def game(budget=150, items=400, prices=("0.02", "1"), seed=5, mean=0.7):
    world = calibrated(items, mean=mean, spread=0.75, rng=np.random.default_rng([seed, 31]))
    pool = RehearsalPool.of(world.weak, world.strong, prices=[Decimal(p) for p in prices], seed=seed)
    return Rehearsal(pool, pool.terms(budget=Decimal(budget)))


def chain(seed=2):
    rng = np.random.default_rng([seed, 37])
    h = np.clip(rng.normal(5, 2, 500), 0, 10)
    ratings = (h + rng.normal(0, 2, 500), h + rng.normal(0, 0.5, 500), h)
    pool = RehearsalPool.of(*ratings, prices=[Decimal(p) for p in ("0.02", "0.2", "1")], seed=seed)
    return Rehearsal(pool, pool.terms(budget=Decimal(80), bounds=(0, 10)))


@pytest.mark.parametrize("made", [game, chain])
def test_plans_keep_every_bit(made):
    """The same rates from a plan that went through JSON, of every round."""
    played = made()
    played.play()
    assert len(played.plans) > 2
    history = played.history
    for plan in played.plans:
        again = RoundPlan.from_json(plan.to_json())
        assert again.to_json() == plan.to_json()
        for name in ("policy", "weak", "items", "spend", "left", "look", "expected_se", "aims", "exact"):
            assert getattr(again, name) == getattr(plan, name)
        np.testing.assert_array_equal(again.own_rates, plan.own_rates)
        if plan.policy == "chain":
            np.testing.assert_array_equal(
                again.rule.rates(history.looked.x.weak), plan.rule.rates(history.looked.x.weak)
            )
        elif plan.rule is not None:
            x, before = history.looked.x, np.zeros(history.items)
            np.testing.assert_array_equal(again.rule.rates(x, before), plan.rule.rates(x, before))


def test_mass_is_what_the_phases_rules_give_on_the_whole_pool():
    """Two routes: summed round by round from stored rates, and by all rules anew; equal but for labels' own rates."""
    played = game(budget=60, items=1500)
    played.play()
    seen = played.history.seen
    unlabelled = ~seen.labelled
    np.testing.assert_allclose(seen.mass[unlabelled], mass(seen.phases, seen.x)[unlabelled], rtol=1e-9)


def test_rounds_add_up():
    played = game()
    played.play()
    history = played.history
    assert history.items == sum(phase.items for phase in history.seen.phases) == history.looked.uniform.size
    assert history.labels == int(history.looked.selected[:, -1].sum())
    assert history.rounds == len(played.plans)
    assert not history.looked.missing.any()


def looked(weak, strong=None):
    n = len(weak)
    values = np.full((n, 1), np.nan) if strong is None else np.array(strong, dtype=float)[:, None]
    return LookedItems(
        Covariates(np.array(weak, dtype=float)), np.zeros(n), np.ones((n, 1)), np.ones((n, 1), dtype=bool), values
    )


def test_weak_ratings_that_did_not_come_stand_at_the_mean_of_those_known_before():
    """Before any is known, at the middle of the scale; never at what later rounds show."""
    empty = History.empty(1, columns=None, uncertainty=False, middle=3.0)
    start = RoundPlan("base", True, 3, 0, 0, 0)
    one = empty.joined(start, None, looked([np.nan, 1.0, 5.0], [2, 2, 2]))
    np.testing.assert_array_equal(one.looked.x.weak, [3.0, 1.0, 5.0])
    two = one.joined(start, None, looked([np.nan, 100.0], [2, 2]))
    np.testing.assert_array_equal(two.looked.x.weak[3:], [3.0, 100.0])
    np.testing.assert_array_equal(two.seen.x.weak, two.looked.x.weak)
    assert two.looked.x.weak[3] == one.looked.x.weak.mean()


def test_strong_ratings_that_did_not_come_are_missing_and_no_labels():
    empty = History.empty(1, columns=None, uncertainty=False, middle=0.5)
    one = empty.joined(RoundPlan("base", True, 4, 0, 0, 0), None, looked([0.1, 0.2, 0.3, 0.4], [1, np.nan, 0, np.nan]))
    assert one.looked.missing.tolist() == [False, True, False, True]
    assert one.labels == 2


def test_strong_ratings_alone_stay_alone():
    empty = History.empty(1, columns=None, uncertainty=False, middle=0.5)
    one = empty.joined(RoundPlan("base", False, 2, 0, 0, 0), None, looked([np.nan, np.nan], [1, 0]))
    assert one.alone
    assert np.isnan(one.looked.x.weak).all()
    assert not empty.alone


def test_an_infinite_factor_asks_everyone_and_gives_every_label_a_rate_of_one():
    """Own rates of 0 times infinity are no number: labels of earlier rounds then weighed nothing at all."""
    played = game(budget=60, items=500)
    while played.history.rounds < 2:
        played.do(d.decide(played.state()))
    plan = next(p for p in played.plans if p.rule is not None)
    labels = played.history.labels
    own = np.zeros(labels)
    here, pool = slice(played.history.items, played.history.items + 10), played.pool
    asked = np.ones((10, 1), dtype=bool)
    x = Covariates(pool.ratings[here, 0])
    more = LookedItems(x, pool.uniform[here], np.ones((10, 1)), asked, pool.ratings[here, 1:])
    joined = played.history.joined(replace(plan, items=10, own_rates=own), np.inf, more)
    assert np.all(np.isfinite(joined.seen.mass))
    before = played.history.seen.mass
    np.testing.assert_allclose(joined.seen.mass[: before.size], before + 10)


def test_a_changed_copy_does_not_keep_what_was_computed_from_the_other():
    played = game(budget=60, items=500)
    played.play()
    history = played.history
    assert history.once("number", lambda: 1) == 1
    assert history.once("number", lambda: 2) == 1
    assert replace(history, middle=0.4).once("number", lambda: 2) == 2
