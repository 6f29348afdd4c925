"""What was seen over rounds: mass of rates, labels weighted by it, and rules that survive JSON."""

import json
import math
from types import SimpleNamespace

import numpy as np
import pytest

from ratewise.design.options import Money
from ratewise.design.rounds import plan_round
from ratewise.design.seen import Phase, Rule, Seen, mass
from ratewise.errors import InputError
from ratewise.lab.worlds import calibrated
from ratewise.learn.covariates import Covariates
from ratewise.learn.error_model import LearnedError


@pytest.fixture(scope="module")
def start():
    world = calibrated(400, mean=0.7, spread=0.6, rng=np.random.default_rng(7))
    return world, Seen.of(Covariates(world.weak[:120]), world.strong[:120], (Phase(120),))


def test_a_start_at_which_everyone_is_asked(start):
    _, seen = start
    assert seen.items == 120
    assert seen.labelled.all()
    np.testing.assert_array_equal(seen.rates(), 1.0)
    np.testing.assert_array_equal(mass(seen.phases, seen.x), 120.0)


def test_what_is_learned_weighs_labels_by_their_rates(start):
    _, seen = start
    learned = seen.learned
    assert learned.strong.size == 120
    assert learned.binary
    assert learned.mean(learned.strong) == pytest.approx(seen.strong.mean())
    np.testing.assert_allclose(learned.residual, learned.strong - learned.unseen)
    assert learned.bounds == (0.0, 1.0)


def test_a_rule_is_the_same_after_json(start):
    world, seen = start
    rule = plan_round(seen, Money(0.02, 1.0, 60.0)).rule
    if rule is None:
        pytest.fail("the world was made so that a rule pays")
    again = Rule.from_dict(json.loads(json.dumps(rule.to_dict())))
    x = Covariates(world.weak[120:])
    before = np.full(280, 120.0)
    np.testing.assert_array_equal(rule.rates(x, before), again.rates(x, before))
    assert rule.scaled(0.5).rates(x, before).mean() < rule.rates(x, before).mean()


def test_one_label_is_too_few():
    with pytest.raises(InputError, match="two strong ratings"):
        _ = Seen.of(Covariates(np.array([0.5])), np.array([1.0]), (Phase(1),)).learned


# Rates and masses by hand


def rule_of(**options):
    """u is the given column; nothing is predicted."""
    given = {"scale": 0.5, "floor": 0.1, "before": 10.0, "total": 50.0}
    model = SimpleNamespace(predict=lambda x: x.weak)
    return Rule(model, LearnedError("given", 1e-9), **(given | options))


U = np.array([0.0, 0.01, 0.25, 1.0, 3.61, 4.0, 9.0])
X = Covariates(np.zeros(7), None, U)


def test_two_phases_by_hand():
    """Ten items with rate 1, then forty by what is missing to clip(0.5·sqrt(u), 0.1, 1) of fifty.

    Wanted in all: 0.1, 0.1, 0.25, 0.5, 0.95, 1, 1 of 50 = 5, 5, 12.5, 25, 47.5, 50, 50; ten are had already.
    """
    rates = rule_of().rates(X, np.full(7, 10.0))
    np.testing.assert_allclose(rates, [0, 0, 2.5 / 40, 15 / 40, 37.5 / 40, 1, 1], atol=1e-15)
    total = mass((Phase(10), Phase(40, rule_of())), X)
    np.testing.assert_allclose(total, [10, 10, 12.5, 25, 47.5, 50, 50])
    third = rule_of(scale=0.2, floor=0.3, before=50, total=100)  # wanted of 100: 30, 30, 30, 30, 38, 40, 60
    more = mass((Phase(10), Phase(40, rule_of()), Phase(50, third)), X)
    np.testing.assert_allclose(more, [30, 30, 30, 30, 47.5, 50, 60])
    np.testing.assert_array_equal(mass((), X), 0)


def test_a_phase_shorter_or_longer_than_planned_counts_its_own_items():
    np.testing.assert_allclose(
        mass((Phase(10), Phase(16, rule_of())), X), 10 + 16 * rule_of().rates(X, np.full(7, 10.0))
    )


def test_rates_are_clipped_and_the_floor_is_kept():
    """Where earlier rounds gave nothing, the least rate is the floor; more than 1 is never asked for."""
    rates = rule_of(before=0.0, total=50.0).rates(X, np.zeros(7))
    np.testing.assert_allclose(rates, [0.1, 0.1, 0.25, 0.5, 0.95, 1, 1])
    behind = rule_of(before=40.0).rates(X, np.zeros(7))  # forty items without a label: not all can be made up for
    np.testing.assert_allclose(behind, [0.5, 0.5, 1, 1, 1, 1, 1])
    assert np.all(rule_of(before=50.0).rates(X, np.zeros(7)) <= 1)  # nothing left: no division by zero


def test_factor_and_least():
    before = np.full(7, 10.0)
    doubled = rule_of(factor=2.0).rates(X, before)
    np.testing.assert_allclose(doubled, [0, 0, 5 / 40, 30 / 40, 1, 1, 1])
    np.testing.assert_allclose(rule_of(least=0.01).rates(X, before)[:3], [0.01, 0.01, 2.5 / 40])
    np.testing.assert_allclose(rule_of(least=0.01, factor=3.0).rates(X, before)[:3], [0.03, 0.03, 7.5 / 40])
    np.testing.assert_array_equal(rule_of(factor=math.inf).rates(X, before), 1)


def test_rates_of_what_was_seen_are_shares_of_the_items():
    strong = np.where(np.arange(7) < 3, 1.0, np.nan)
    seen = Seen.of(X, strong, (Phase(3), Phase(4, rule_of(before=3, total=7))))
    np.testing.assert_allclose(seen.rates(), [3 / 7, 3 / 7, 3 / 7, 0.5, 0.95, 1, 1])
    assert seen.labelled.tolist() == [True] * 3 + [False] * 4
    never = Seen.of(X, strong, (Phase(7, rule_of(floor=0.0, scale=0.0, before=0.0)),))
    assert np.all(never.rates() > 0)  # never 0, which could not be divided by


def test_joined_is_what_looking_at_everything_at_once_gives():
    """But for the labels' own rates, where they are given."""
    strong = np.array([1.0, 0, 1, np.nan, 0, np.nan, 1])
    first, more = X.rows(slice(0, 3)), X.rows(slice(3, 7))
    phase = Phase(4, rule_of(before=3, total=7))
    start = Seen.of(first, strong[:3], (Phase(3),))
    once = Seen.of(X, strong, (Phase(3), phase))
    grown = start.joined(more, strong[3:], mass(start.phases, more), phase)
    np.testing.assert_allclose(grown.mass, once.mass)
    np.testing.assert_array_equal(grown.strong, strong)
    assert grown.phases == once.phases
    own = np.array([0.9, 0.2, 0.4])
    told = start.joined(more, strong[3:], mass(start.phases, more), phase, own)
    np.testing.assert_allclose(told.mass[3:], once.mass[3:])
    np.testing.assert_allclose(told.mass[:3], 3 + 4 * own)
    last = Phase(2)  # strong ratings alone: rate 1 for all
    np.testing.assert_allclose(
        once.joined(first.rows(slice(0, 2)), np.ones(2), mass(once.phases, first.rows(slice(0, 2))), last).mass[:7],
        once.mass + 2,
    )


def test_own_rates_belong_to_the_labels_among_the_items():
    """Labels stand between items without one: each gets its own rate, not its neighbour's."""
    strong = np.array([np.nan, 0, np.nan, 1.0])
    x = X.rows(slice(0, 4))
    seen = Seen.of(x, strong, (Phase(4, rule_of(before=0.0, total=4.0)),))
    more = X.rows(slice(4, 5))
    phase = Phase(1, rule_of(before=4.0, total=5.0))
    before = mass(seen.phases, more)
    plain, told = (seen.joined(more, np.array([1.0]), before, phase, own) for own in (None, np.array([0.11, 0.77])))
    np.testing.assert_allclose(told.mass[[1, 3]], seen.mass[[1, 3]] + [0.11, 0.77])
    np.testing.assert_allclose(told.mass[[0, 2, 4]], plain.mass[[0, 2, 4]])
