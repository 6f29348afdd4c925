"""Who sees every item, who is a step, who is left out: chosen as the prices say."""

import numpy as np
import pytest

from ratewise.design.chain import Design, StepSeen
from ratewise.design.chain_plan import choose_design, seen_as_pair
from ratewise.learn.covariates import Covariates

from ..worlds import unsure_judge


def choice(costs, *, items=150, expert_wrong=0.02, left=150.0, pool_left=3000.0, noise=None):
    judge, expert, h = unsure_judge(items, expert_wrong=expert_wrong)
    said = expert if noise is None else noise
    known = Covariates(judge), said[:, None], h
    return choose_design(
        h, costs=costs, left=left, pool_left=pool_left, spent=80.0,
        as_pair=lambda design: seen_as_pair(design, *known), in_steps=lambda design: StepSeen.start(design, *known),
    )  # fmt: skip


def test_a_dear_expert_is_a_step_and_a_cheap_one_sees_every_item():
    assert choice((0.01, 0.15, 1.0)).design == Design((0,), (1,))
    assert 1 in choice((0.01, 0.0101, 1.0)).design.first


def test_an_expert_who_knows_nothing_is_left_out():
    found = choice((0.01, 0.15, 1.0), noise=np.random.default_rng(5).random(150))
    assert found.design == Design((0,))
    assert found.plan is None


def test_an_expert_as_dear_as_people_is_left_out():
    found = choice((0.01, 0.95, 1.0))
    assert 1 not in (*found.design.first, *found.design.steps)


def test_all_ways_are_compared_with_strong_ratings_alone():
    found = choice((0.01, 0.15, 1.0))
    ways = [(one.design.first, one.design.steps) for one in found.compared]
    assert ways == [((0,), ()), ((1,), ()), ((0, 1), ()), ((0,), (1,)), ((), ())]
    of = dict(zip(ways, (one.variance for one in found.compared), strict=True))
    assert of[(0,), (1,)] < of[(0,), ()] < of[(), ()]


@pytest.mark.parametrize("costs", [(0.0, 0.0, 1.0), (0.01, 0.0, 1.0), (0.0, 0.1, 1.0)])
def test_ratings_for_nothing(costs):
    found = choice(costs, left=40.0, pool_left=200.0)
    assert all(np.isfinite(one.variance) for one in found.compared)
