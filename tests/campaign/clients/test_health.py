"""When is a rater stopped? By what its first answers were, and by the order in which its replies were heard.

Whole campaigns: faults/test_broken_raters.py.
"""

import pytest

from ratewise.campaign.clients.callers import DOWN, FIRST, Health, kind_of
from ratewise.campaign.spec.read import read_spec
from ratewise.store.queue import Claim, Outcome

from ..making import judged, write


@pytest.fixture
def strong(tmp_path):
    return read_spec(write(tmp_path, judged(20))).strong


def outcome(position, note=None, *, paid=1, off_scale=False):
    claim = Claim(position, 1, 1, f"i{position}", "{}", None)
    value = 1.0 if note is None else None
    return Outcome(claim, paid, value, note, failed=note is not None, off_scale=off_scale)


def see(health, *outcomes, last=True, at=0.0):
    """Let it hear these at one moment, each of them the `last` attempt or asked again."""
    return health.see([(at, o) for o in outcomes], [] if last else list(outcomes))


def hear(health, *, good=(), bad=(), at):
    see(health, *(outcome(k, paid=0) for k in good), *(outcome(k, "no", paid=0) for k in bad), at=at)


def after(rater, *outcomes, last=True, **known):
    """What stops it after these, heard one by one."""
    health = Health(rater, known.pop("is_strong", True), **known)
    for one in outcomes:
        see(health, one, last=last)
    return health.trouble()


# Items that are given up in a row


def test_failures_after_the_last_answer_are_a_rater_that_is_down(strong):
    health = Health(strong, True)
    hear(health, good=range(5, 15), at=1.0)
    hear(health, bad=range(DOWN - 1), at=2.0)
    assert health.trouble() is None
    hear(health, bad=[DOWN - 1], at=3.0)
    assert {claim.position for claim in health.trouble().claims} == set(range(DOWN))
    assert health.trouble() is None


def test_an_answer_after_failures_shows_that_it_was_the_items(strong):
    health = Health(strong, True)
    hear(health, bad=range(DOWN - 1), at=1.0)
    hear(health, good=[10], bad=[DOWN - 1], at=2.0)
    assert health.trouble() is None
    hear(health, bad=[11], at=3.0)
    assert health.trouble() is None


def test_good_and_bad_answers_of_one_call(strong):
    health = Health(strong, True)
    hear(health, good=[10], bad=range(DOWN), at=1.0)
    assert health.trouble() is None


# The first answers


def test_words_are_of_one_kind_whatever_numbers_and_names_stand_in_them():
    kinds = {kind_of(outcome(0, note)) for note in ("KeyError: 'a'", "KeyError: 'bb'", 'KeyError: "c 1"')}
    assert len(kinds) == 1
    assert kind_of(outcome(0, "after 3 s")) == kind_of(outcome(0, "after 4.5 s")) != kind_of(outcome(0, "HTTP error"))
    assert kind_of(outcome(0, "5 is no rating", off_scale=True)) == kind_of(outcome(0, "x is none", off_scale=True))


@pytest.mark.parametrize(
    ("outcomes", "stopped"),
    [
        ([outcome(0, "E"), outcome(0, "E"), outcome(1, "E")], True),
        ([outcome(0, "E"), outcome(0, "E"), outcome(0, "E")], False),  # one item may be hard
        ([outcome(0, "E"), outcome(1, "E"), outcome(2, "F")], False),  # of two kinds
        ([outcome(0, "E", paid=0), outcome(1, "E", paid=0), outcome(2, "E", paid=0)], False),
    ],
)
def test_before_any_rating_three_calls_decide(strong, outcomes, stopped):
    assert (after(strong, *outcomes, last=False) is not None) is stopped


def test_among_the_first_ratings_three_items_decide(strong):
    lost = [outcome(k, "E") for k in (1, 4, 6)]
    assert [claim.position for claim in after(strong, outcome(0), *lost).claims] == [1, 4, 6]
    assert after(strong, outcome(0), *lost, is_strong=False) is None
    assert after(strong, outcome(0), *lost, last=False) is None  # they are asked again
    assert after(strong, *lost, rated=FIRST - 3) is not None
    assert after(strong, *lost, rated=FIRST - 2) is None  # it is believed by now


def test_ratings_off_the_scale_among_good_ones_decide_before_they_are_asked_again(strong):
    off = [outcome(k, "5 is no binary rating", off_scale=True) for k in (1, 4, 6)]
    between = [outcome(k) for k in (2, 3, 5)]
    assert after(strong, outcome(0), off[0], *between[:2], off[1], between[2], off[2], last=False) is not None
    assert after(strong, outcome(0), *[off[0]] * 3, last=False) is None  # one item
    assert after(strong, *off, rated=FIRST - 2, last=False) is None  # it is believed by now


def test_all_answers_of_a_batch_count_in_their_order(strong):
    health = Health(strong, True)
    see(health, outcome(0), *(outcome(k, "E") for k in (1, 2, 3)), *(outcome(k) for k in range(4, 40)))
    assert health.trouble() is not None


def test_what_a_rater_was_stopped_for_stops_it_at_once_until_it_is_believed(strong):
    kind = kind_of(outcome(0, "E"))
    assert after(strong, outcome(0, "E"), stopped=kind, last=False) is not None
    assert after(strong, outcome(0, "F"), stopped=kind, last=False) is None
    health = Health(strong, True, stopped=kind)
    for k in range(4):
        assert not see(health, outcome(k))
    assert see(health, outcome(4))
    see(health, outcome(5, "E"))
    assert health.trouble() is None
