"""Fits that are kept are those that would be made anew."""

from decimal import Decimal

import numpy as np
import pytest

from ratewise.campaign import answers, fits, learned
from ratewise.lab.worlds import calibrated

from .memory import Game, Pool


@pytest.fixture(scope="module")
def game():
    world = calibrated(200, mean=0.7, spread=0.6, rng=np.random.default_rng(3))
    pool = Pool.of(world.weak, world.strong, prices=(Decimal("0.05"), Decimal(1)))
    made = Game(pool, pool.terms(budget=Decimal(40)))
    made.play()
    return made


def test_each_is_made_once_and_is_the_same(game):
    history, wanted = game.history, game.terms.wanted
    for name in ("estimate_history", "anytime_estimate", "is_precise"):
        kept, anew = getattr(fits, name), getattr(answers, name)
        if name == "is_precise" and wanted.target_se is None:
            continue
        assert kept(history, wanted) is kept(history, wanted)
        assert kept(history, wanted).to_dict() == anew(history, wanted).to_dict()


def test_what_the_labels_teach_is_learned_once(game):
    seen = game.history.seen
    assert learned.learn(seen) is learned.learn(seen)
