import json
from decimal import Decimal

import pytest

from ratewise.judges.verdicts import Ballot, NoVerdict, Verdicts, counted, majority, place_effect

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
