"""Dear raters are tried on few items first, and stay if they may be worth their price."""

import numpy as np
import pytest

from ratewise.design.chain_plan import hopes, on_trial, trial_items

PRICES = (0.02, 0.3, 1.0)


def rated(*correlations, items=8, seed=3):
    """Ratings that correlate with the strong ones exactly so much, items × raters, and the strong ones."""
    rng = np.random.default_rng(seed)
    strong = rng.normal(size=items)
    strong = (strong - strong.mean()) / strong.std()
    columns = []
    for r in correlations:
        noise = rng.normal(size=items)
        noise -= noise.mean() + strong * (noise @ strong) / items
        columns.append(5 + 2 * (r * strong + np.sqrt(1 - r * r) * noise / noise.std()))
    return np.column_stack(columns), 7 + strong


def test_only_raters_that_take_much_of_the_money_are_tried():
    assert on_trial(PRICES, 20, 120) == (1,)
    assert on_trial((0.02, 0.1, 1.0), 20, 120) == ()  # 2 of 120
    assert on_trial((0.5, 0.1, 1.0), 20, 120) == ()  # the first one is as in any pair
    assert on_trial((0.01, 0.2, 0.01, 0.4, 1.0), 20, 120) == (1, 3)


def test_a_trial_takes_two_percent_of_the_money_and_eight_items_at_least():
    assert trial_items(PRICES, 20, 120) == 8
    assert trial_items(PRICES, 60, 400) == 26
    assert trial_items(PRICES, 200, 1800) == 120
    assert trial_items((0.02, 3.0, 1.0), 20, 120) == 8
    assert trial_items((0.02, 0.1, 1.0), 20, 120) == 20


def test_a_trial_that_saves_little_is_not_made():
    assert trial_items((0.02, 0.15, 1.0), 25, 150) == 25  # 20 of 25


def test_a_good_rater_stays_and_a_poor_one_goes():
    said, strong = rated(0.4, 0.97)
    assert hopes(said, strong, PRICES, (1,))[1] < 0.8
    said, strong = rated(0.4, 0.5)
    assert hopes(said, strong, PRICES, (1,))[1] > 1.0


def test_it_is_compared_with_the_best_that_can_be_done_without_it():
    """A judge as good for a tenth of the price: the dear one is not needed."""
    said, strong = rated(0.97, 0.97, items=12)
    assert hopes(said, strong, PRICES, (1,))[1] > 1.0
    said, strong = rated(0.1, 0.97, items=12)
    assert hopes(said, strong, PRICES, (1,))[1] < 1.0


@pytest.mark.parametrize("scale", [1.0, -50.0])
def test_neither_scale_nor_price_unit_matter(scale):
    said, strong = rated(0.4, 0.9)
    right = hopes(said, strong, PRICES, (1,))
    turned = hopes(scale * said, strong, tuple(1e9 * p for p in PRICES), (1,))
    assert turned == pytest.approx(right, rel=1e-9)


def test_more_items_leave_less_room_for_hope():
    few, many = rated(0.4, 0.8), rated(0.4, 0.8, items=100)
    assert hopes(*few, PRICES, (1,))[1] < hopes(*many, PRICES, (1,))[1]


def test_a_rater_of_whom_nothing_is_known_stays():
    said, strong = rated(0.4, 0.5)
    assert hopes(said, np.full(8, 3.0), PRICES, (1,)) == (0.0, 0.0)  # labels that are all alike
    said[4:, 1] = np.nan
    assert hopes(said, strong, PRICES, (1,)) == (0.0, 0.0)  # four answers


def test_a_rater_that_always_says_the_same_goes():
    said, strong = rated(0.4, 0.5)
    said[:, 1] = 4.0
    assert hopes(said, strong, PRICES, (1,))[1] > 1.0


def test_raters_for_nothing_have_a_price_of_almost_nothing():
    said, strong = rated(0.9, 0.95)
    assert np.all(np.isfinite(hopes(said, strong, (0.0, 0.3, 1.0), (1,))))
