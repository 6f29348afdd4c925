"""Ways to use a chain of raters: which there are, what is known at each level, and who is drawn together."""

import numpy as np
import pytest

from ratewise.design.chain import Design, all_at_once, carried, step_by_step
from ratewise.learn.covariates import Covariates


def test_every_group_may_see_all_items_and_only_later_raters_are_steps():
    assert list(all_at_once(range(2))) == [Design((0,)), Design((1,)), Design((0, 1))]
    assert list(step_by_step(range(2))) == [Design((0,), (1,))]
    three = list(step_by_step(range(3)))
    assert len(three) == len(set(three)) == 5
    assert all(min(design.steps) > max(design.first) for design in three)


@pytest.mark.parametrize(
    ("design", "later", "cuts"),
    [
        (Design((0,)), 2, [(0, 2)]),
        (Design((1,)), 2, [(0, 1), (1, 2)]),
        (Design((0, 1)), 2, [(0, 1), (1, 2)]),
        (Design((0,), (1,)), 2, [(0, 1), (1, 2)]),
        (Design((0,), (2,)), 3, [(0, 2), (2, 3)]),
        (Design((0,), (1, 2)), 3, [(0, 1), (1, 2), (2, 3)]),
        (Design((0, 1, 2)), 3, [(0, 2), (2, 3)]),
        (Design(()), 2, [(0, 2)]),
    ],
)
def test_raters_are_drawn_when_those_before_them_have_answered(design, later, cuts):
    assert [(s.start, s.stop) for s in design.cuts(later)] == cuts


def test_each_level_knows_what_was_said_before():
    x = Covariates(np.array([1.0, 2.0]), np.array([[7.0], [8.0]]), np.array([0.1, 0.2]))
    said = np.array([[3.0, 5.0], [np.nan, 6.0]])
    chain = Design((0,), (1, 2))
    first, second, third = (chain.covariates(x, said, level) for level in range(3))
    np.testing.assert_array_equal(first.weak, [1, 2])
    np.testing.assert_array_equal(first.features, [[7], [8]])
    np.testing.assert_array_equal(first.uncertainty, [0.1, 0.2])
    np.testing.assert_array_equal(second.weak, [3, 2])  # the second item's answer did not come
    np.testing.assert_array_equal(second.features, [[1, 7], [2, 8]])
    assert second.uncertainty is None  # it is about the first rater
    np.testing.assert_array_equal(third.weak, [5, 6])
    np.testing.assert_array_equal(third.features, [[1, 3, 7], [2, 2, 8]])


def test_each_level_knows_how_unsure_its_dearest_rater_is():
    second, none = np.array([0.3, 0.4]), np.zeros((2, 2))
    x = Covariates(np.array([1.0, 2.0]), None, np.array([0.1, 0.2]), doubts=(second, None))
    chain = Design((0,), (1, 2))
    assert chain.covariates(x, none, 1).uncertainty is second
    assert chain.covariates(x, none, 2).uncertainty is None  # the third rater does not tell
    assert Design((0, 1)).covariates(x, none).uncertainty is second
    assert x.joined(x.rows(np.array([1]))).doubts[0].tolist() == [0.3, 0.4, 0.4]
    assert x.joined(x).doubts[1] is None


def test_a_design_goes_through_json():
    assert Design.from_dict(Design((0, 1), (2,)).to_dict()) == Design((0, 1), (2,))


def test_raters_that_gave_up_say_what_the_one_before_said():
    said = np.array([[1.0, np.nan, 3.0], [np.nan, 2.0, np.nan], [1.0, np.nan, np.nan]])
    np.testing.assert_array_equal(carried(said), [[1.0, 1.0, 3.0], [np.nan, 2.0, 2.0], [1.0, 1.0, 1.0]])
    assert np.isnan(said[0, 1])  # what was given stays as it was
