"""Which failures of a rater's first answers stop it, step by step; whole campaigns: faults/test_broken_raters.py."""

from collections import Counter

import pytest

from ratewise.campaign.clients.health import FIRST, FirstAnswers, kind_of
from ratewise.store.queue import Claim, Outcome


def outcome(position, note=None, *, step=1, paid=1, attempt=1, off_scale=False):
    claim = Claim(position, step, attempt, f"i{position}", "{}", None)
    value = 1.0 if note is None else None
    return Outcome(claim, paid, value, note, failed=note is not None, off_scale=off_scale)


def heard(*outcomes, rated=0, remembered=None, last=True):
    """What is found wrong after these, each of them the `last` attempt or asked again."""
    first = FirstAnswers(1, Counter({1: rated}), dict(remembered or {}))
    for one in outcomes:
        first.see([one], [] if last else [one])
    return first


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
        ([outcome(0, "E"), outcome(1, "E"), outcome(2, "E", step=0)], False),  # of two raters
    ],
)
def test_before_any_rating_three_calls_decide(outcomes, stopped):
    assert bool(heard(*outcomes, last=False).wrong()) is stopped


def test_among_the_first_ratings_three_items_decide():
    lost = [outcome(k, "E") for k in (1, 4, 6)]
    first = heard(outcome(0), *lost)
    ((step, kind),) = first.wrong()
    assert [claim.position for claim in first.given_up(step, kind)] == [1, 4, 6]
    assert first.wrong() == []
    assert not heard(outcome(0, step=0), *(outcome(k, "E", step=0) for k in (1, 4, 6))).wrong()  # a weak rater's
    assert not heard(outcome(0), *lost, last=False).wrong()  # they are asked again
    assert heard(*lost, rated=FIRST - 3).wrong()
    assert not heard(*lost, rated=FIRST - 2).wrong()  # it is believed by now


def test_all_answers_of_a_batch_count_in_their_order():
    first = FirstAnswers(1, Counter(), {})
    first.see([outcome(0), *(outcome(k, "E") for k in (1, 2, 3)), *(outcome(k) for k in range(4, 40))], [])
    assert first.wrong()


def test_what_a_rater_was_stopped_for_stops_it_at_once_until_it_is_believed():
    remembered = {1: kind_of(outcome(0, "E"))}
    assert heard(outcome(0, "E"), remembered=remembered, last=False).wrong()
    assert not heard(outcome(0, "F"), remembered=remembered, last=False).wrong()
    first = heard(*(outcome(k) for k in range(4)), remembered=remembered)
    assert first.see([outcome(4)], []) == [1]
    first.see([outcome(5, "E")], [])
    assert not first.wrong()
