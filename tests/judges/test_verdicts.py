"""Verdicts: what may be said, and what several votes come to."""

import json
from decimal import Decimal

import pytest

from ratewise.judges.verdicts import (
    Ballot,
    NoVerdict,
    Verdicts,
    counted,
    from_confidence,
    majority,
    mean_of,
    mixed,
    place_effect,
    variance_of,
)


@pytest.mark.parametrize(
    ("kind", "said", "value"),
    [
        ("binary", " YES ", 1.0),
        ("binary", "no", 0.0),
        ("binary", "yes, surely", None),
        ("binary", True, None),
        ("pairwise", "First", 1.0),
        ("pairwise", "second", 0.0),
        ("pairwise", "tie", 0.5),
        ("pairwise", "a", None),
        ("likert", "4", 4.0),
        ("likert", 4, 4.0),
        ("likert", 4.0, 4.0),
        ("likert", "4.5", None),
        ("likert", "6", None),
        ("score", "3.25", 3.25),
        ("score", 3.25, 3.25),
        ("score", "9", None),
        ("score", "1e0", None),
        ("score", "nan", None),
        ("score", None, None),
    ],
)
def test_a_verdict_is_exactly_a_word_of_the_scale(kind, said, value):
    assert Verdicts.of(kind, 1.0, 5.0).read(said) == value


def test_a_wide_scale_of_whole_numbers_has_no_list_of_words():
    wide = Verdicts.of("likert", 0.0, 1000.0)
    assert (wide.words, wide.read("777"), wide.read("777.5")) == ((), 777.0, None)
    assert wide.schema() == {"type": "integer"}


def test_distributions():
    chances = {1.0: 0.7, 0.0: 0.3}
    assert mean_of(chances) == pytest.approx(0.7)
    assert variance_of(chances) == pytest.approx(0.21)
    both = mixed([{1.0: 1.0}, {0.0: 1.0}])
    assert (both, variance_of(both)) == ({1.0: 0.5, 0.0: 0.5}, pytest.approx(0.25))
    assert variance_of({3.0: 1.0}) == 0.0


def test_stated_confidence_leaves_the_rest_to_the_others():
    likert = Verdicts.of("likert", 1.0, 5.0)
    found = from_confidence(likert, 4.0, 0.6)
    assert found[4.0] == 0.6
    assert found[1.0] == pytest.approx(0.1)
    assert sum(found.values()) == pytest.approx(1.0)
    assert from_confidence(Verdicts.of("score", 0.0, 10.0), 4.0, 0.6) == {4.0: 1.0}


PAIR = Verdicts.of("pairwise", 0.0, 1.0)


def vote(value):
    return Ballot(value, {value: 1.0}, told=False)


def test_votes_of_both_orders_are_turned_round_and_counted():
    """Ten votes each: the first order prefers the first place a little, the second order the other answer."""
    ballots = {(False, n): vote(1.0 if n < 7 else 0.0) for n in range(10)}
    ballots |= {(True, n): vote(1.0 if n < 2 else 0.0) for n in range(10)}  # swapped: 8 of 10 for a
    found = counted(ballots, PAIR, paid=Decimal(1), facts={"judge": "x"})
    assert found.value == pytest.approx(0.75)
    assert found.hard == 1.0
    assert found.doubt == pytest.approx(0.75 * 0.25)
    assert json.loads(found.note) == {"judge": "x", "ab": 0.7, "ba": 0.8}


@pytest.mark.parametrize(
    ("votes", "kind", "said"),
    [
        ([1.0, 0.0], "pairwise", 0.5),
        ([1.0, 0.5, 0.5], "pairwise", 0.5),
        ([1.0, 0.5], "pairwise", 1.0),
        ([0.0, 0.0, 1.0], "pairwise", 0.0),
        ([1.0, 0.0], "binary", 0.5),
        ([0.0, 1.0], "binary", 0.5),
        ([0.0, 1.0, 1.0], "binary", 1.0),
        ([5.0, 1.0, 2.0], "likert", 2.0),
        ([5.0, 1.0], "likert", 3.0),
    ],
)
def test_majority(votes, kind, said):
    assert majority(votes, Verdicts.of(kind, 1.0, 5.0)) == said


def test_one_lost_vote_is_left_out_and_an_order_without_any_is_no_rating():
    lost = NoVerdict("the judge refused to answer")
    found = counted({(False, 0): vote(1.0), (False, 1): lost, (True, 0): vote(0.0)}, PAIR, paid=Decimal(1), facts={})
    assert (found.value, json.loads(found.note)["lost"]) == (1.0, 1)
    none = counted({(False, 0): vote(1.0), (True, 0): lost}, PAIR, paid=Decimal(1), facts={})
    assert (none.value, none.hard, none.note, none.price) == (None, None, "the judge refused to answer", Decimal(1))


def test_a_single_bare_answer_has_no_uncertainty():
    yes = counted({(False, 0): vote(1.0)}, Verdicts.of("binary", 0, 1), paid=Decimal(0), facts={})
    assert (yes.value, yes.doubt) == (1.0, None)


def test_ballots_without_the_probability_that_was_promised_are_counted():
    bare, told = Ballot(1.0, {1.0: 1.0}, told=False), Ballot(1.0, {1.0: 0.7, 0.0: 0.3}, told=True)
    for source, notes in (("logprobs", [1, None]), ("verbal", [1, None]), ("none", [None, None])):
        for ballot, expected in zip((bare, told), notes, strict=True):
            found = counted(
                {(False, 0): ballot}, Verdicts.of("binary", 0, 1), paid=Decimal(0), facts={"source": source}
            )
            assert json.loads(found.note).get("bare") == expected


def test_samples_are_alike_only_word_for_word_in_every_order():
    def note(*answers):
        ballots = {place: Ballot(1.0, {1.0: 1.0}, told=False, answer=answer) for place, answer in answers}
        return json.loads(counted(ballots, PAIR, paid=Decimal(0), facts={}).note).get("alike")

    same = [((False, n), "a") for n in range(3)] + [((True, n), "b") for n in range(3)]
    assert note(*same) is True
    assert note(*same[:-1], ((True, 2), "c")) is None
    assert note(((False, 0), "a"), ((True, 0), "a")) is None  # one sample says nothing


def test_the_effect_of_the_place():
    notes = [json.dumps({"ab": ab, "ba": ba}) for ab, ba in ((1, 0), (1, 1), (0, 1), (1, 0), (0.5, 0.5))]
    found = place_effect([*notes, "no JSON", "{}"])
    assert (found.pairs, found.first, found.second) == (5, 2, 1)
    assert found.gain == pytest.approx(0.2)
    assert "followed the place in 3 of 5 pairs" in found.said
    assert place_effect(["{}"]) is None
    assert place_effect(notes[:1]).gain_se is None
