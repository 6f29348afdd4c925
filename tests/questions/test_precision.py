"""A precision as a half-width, "±2 points": the same plan as with its standard error, everywhere."""

import numpy as np
import pytest
from scipy import special

import ratewise as rw
from ratewise.questions.goal import standard_error_within, target_of

PRICES = {"weak": "judge", "strong": "human", "weak_cost": 0.02, "strong_cost": 1.5}


@pytest.fixture(scope="module")
def pilot():
    rng = np.random.default_rng(5)
    judge = rng.random(300)
    human = (rng.random(300) < judge).astype(float)
    topic = rng.choice(["a", "b"], 300)
    return {"judge": judge, "human": human, "topic": topic, "judge_2": 1 - judge, "human_2": 1 - human}


@pytest.mark.parametrize(("level", "z"), [(0.95, 1.959964), (0.9, 1.644854), (0.5, 0.674490)])
def test_the_half_width_is_that_of_a_plain_interval(level, z):
    assert standard_error_within(0.02, level) == pytest.approx(0.02 / z, rel=1e-6)


def test_the_plan_is_that_of_the_standard_error(pilot):
    """Of ratings that are not 0 or 1."""
    stars = pilot | {"human": 4 * pilot["judge"] + np.random.default_rng(6).normal(0, 0.5, 300)}
    found = rw.plan(stars, **PRICES, within=0.03, level=0.9)
    same = rw.plan(stars, **PRICES, target_se=0.03 / float(special.ndtri(0.95)))
    assert found.policies == same.policies
    assert (found.basis["within"], found.basis["level"]) == (0.03, 0.9)
    half = special.ndtri(0.95) * found.policies[found.recommendation].expected_se
    assert half == pytest.approx(0.03)


def test_the_interval_of_0_1_ratings_is_as_narrow_as_was_asked(pilot):
    """It takes more than the standard error says, where the interval counts mistakes that were not seen."""
    found = rw.plan(pilot, **PRICES, within=0.03, level=0.9)
    same = rw.plan(pilot, **PRICES, target_se=0.03 / float(special.ndtri(0.95)))
    for name, policy in found.policies.items():
        assert policy.within(0.9) <= 0.03
        assert policy.spend >= 0.999 * same.policies[name].spend


def test_slices_take_one_for_all_or_one_for_each(pilot):
    se = float(special.ndtri(0.975))
    for given in (0.05, {"a": 0.05, "b": 0.08}):
        target = {n: x / se for n, x in given.items()} if isinstance(given, dict) else given / se
        found = rw.plan_slices(pilot, **PRICES, by="topic", within=given)
        same = rw.plan_slices(pilot, **PRICES, by="topic", target_se=target)
        assert [s.to_dict() for s in found.slices] == [s.to_dict() for s in same.slices]


def test_a_difference_too(pilot):
    two = {**PRICES, "weak": ("judge", "judge_2"), "strong": ("human", "human_2")}
    found = rw.plan_comparison(pilot, **two, within=0.05)
    assert found.policies == rw.plan_comparison(pilot, **two, target_se=0.05 / float(special.ndtri(0.975))).policies


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"within": 0.02, "target_se": 0.01}, "within and target_se both say how precise; give one of them"),
        ({"within": 0.02, "budget": 100}, "one of them"),
        ({"within": 0.0}, "within must be above 0"),
        ({"within": 0.02, "level": 1.0}, "level"),
    ],
)
def test_two_goals_or_none_are_refused(pilot, given, problem):
    with pytest.raises(rw.InputError, match=problem):
        rw.plan(pilot, **PRICES, **given)


def test_without_a_half_width_the_standard_error_stays():
    assert target_of(0.01, None, 0.95) == 0.01
    assert target_of(None, None, 0.95) is None
