"""What was seen over rounds: mass of rates, labels weighted by it, and rules that survive JSON."""

import json

import numpy as np
import pytest

from ratewise.lab.worlds import calibrated
from ratewise.models.rating_model import Covariates
from ratewise.rounds.auto import plan_round
from ratewise.rounds.options import Money
from ratewise.rounds.seen import Phase, Rule, Seen, learn, mass


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
    learned = learn(seen)
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
