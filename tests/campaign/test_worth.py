"""What each rater of a chain is worth, in words."""

import numpy as np

from ratewise.campaign.history import RoundPlan
from ratewise.campaign.snapshot import worth_of_raters
from ratewise.design.chain import Design
from ratewise.design.chain_plan import Compared

NAMES = ("rules", "large judge", "person")


def plan(design, of, **keys):
    compared = tuple(Compared(Design(*way), variance) for way, variance in of.items())
    return RoundPlan("chain", keys.pop("weak", True), None, 1, 1, 1, design=design, compared=compared)


ALONE, RULES, LARGE = ((), ()), ((0,), ()), ((1,), ())
BOTH, STEP = ((0, 1), ()), ((0,), (1,))


def test_a_step_is_worth_what_would_be_lost_without_it():
    of = {RULES: 2.0, LARGE: 3.0, BOTH: 1.6, STEP: 1.0, ALONE: 4.0}
    rules, large, both = worth_of_raters(NAMES, [plan(None, {}), plan(Design((0,), (1,)), of)], np.array([0.24, 0.1]))
    assert (
        rules == "rules sees every item: without it, the same money was expected to give 3.00 times the squared error."
    )
    assert large.startswith("large judge is a step, asked about 24% of the items: without it, the same money")
    assert "2.00 times" in large
    assert both.startswith("rules and large judge are asked in steps: all at once, the same money was expected")


def test_a_rater_that_is_left_out_is_named():
    of = {RULES: 1.0, LARGE: 3.0, BOTH: 1.6, STEP: 1.05, ALONE: 4.0}
    _, large = worth_of_raters(NAMES, [plan(Design((0,)), of)], np.zeros(2))
    assert large.startswith("large judge is never worth its price here, and is left out: with it, the same money")
    assert "1.05 times" in large


def test_strong_ratings_alone_leave_everyone_out():
    of = {RULES: 5.0, LARGE: 5.0, BOTH: 5.0, STEP: 5.0, ALONE: 4.0}
    said = worth_of_raters(NAMES, [plan(None, of, weak=False)], np.zeros(2))
    assert len(said) == 2
    assert all("left out" in word for word in said)


def test_a_rater_that_a_trial_has_left_out_is_named():
    """It is in none of the ways that were compared."""
    trial = RoundPlan("base", True, 8, 1, 1, 0, trial=20)
    rest = RoundPlan("base", True, 12, 1, 1, 1, hopes=(0.0, 1.23))
    chosen = plan(Design((0,)), {RULES: 1.0, ALONE: 2.0})
    rules, large = worth_of_raters(NAMES, [trial, rest, chosen], np.zeros(2))
    assert rules.startswith("rules sees every item")
    assert large == (
        "large judge is never worth its price here, and is left out after a trial on 8 items: with it, at its best, "
        "the same money was expected to give 1.23 times the squared error."
    )


def test_nothing_is_said_before_the_choice():
    assert worth_of_raters(NAMES, [plan(None, {})], np.zeros(2)) == []
