"""What an admin sees beside the estimate: people's answers alone, who is quick, and who agrees with whom."""

import numpy as np
import pytest

from ratewise.campaign.annotators import people_found, wilson
from ratewise.campaign.findings import human_only, judge_and_people
from ratewise.report.words import PEOPLE, people_of

from .clients.test_labelling import begun
from .making import judged, ran


def test_people_alone_come_to_the_mean_of_their_labels_by_their_rates(tmp_path):
    campaign = ran(tmp_path, judged(300), goal='budget = "60"')
    with campaign.look() as now:
        history = now.state.history
        found = human_only(history, now)
        rates, strong = history.seen.rates(), history.seen.strong
        use = ~np.isnan(strong)
        assert found.value == pytest.approx(np.sum(strong[use] / rates[use]) / np.sum(1 / rates[use]), rel=0.01)
        assert found.low < found.value < found.high
        assert found.level == 0.95
        plain = found.value - 1.96 * found.standard_error
        assert found.low < plain  # wider than a plain interval: it may be looked at after every round
        assert found.standard_error > now.estimate.standard_error * 0.8


def test_people_and_how_they_agree(tmp_path):
    campaign = begun(tmp_path, more="votes = 2")
    with campaign.labelling() as desk:
        for person, slow in (("ann", 10.0), ("bob", 40.0)):
            for i in range(10):
                task = desk.next(person)
                says = None if i == 9 else i % 2 if person == "ann" or i else 1
                desk.answer(person, task.key, says, seconds=slow, flagged=i == 0)
    with campaign.look() as now:
        (ann, bob), together = people_found(now)
    assert (ann.name, ann.answers, ann.cannot_tell, ann.flags, ann.seconds, ann.per_hour) == (
        "ann", 10, 1, 1, 10.0, 360.0,
    )  # fmt: skip
    assert bob.per_hour == 90.0
    assert ann.agree == bob.agree == pytest.approx(8 / 9)
    assert ann.agree_low < 8 / 9 < ann.agree_high
    assert together.items == 9
    assert together.percent == pytest.approx(8 / 9)
    assert together.alpha_low <= together.alpha <= together.alpha_high


def test_nobody_has_answered(tmp_path):
    campaign = begun(tmp_path)
    with campaign.look() as now:
        people, together = people_found(now)
        assert people == []
        assert together.alpha is None
        assert human_only(now.state.history, now) is None


def test_wilson_by_its_textbook():
    low, high = wilson(8, 10)
    assert (low, high) == pytest.approx((0.4902, 0.9433), abs=1e-4)
    assert wilson(0, 0) == (None, None)


def test_how_often_judge_and_people_agree(tmp_path):
    campaign = ran(tmp_path, judged(300), goal='budget = "60"')
    with campaign.look() as now:
        (said,) = judge_and_people(now)
    assert said.startswith("judge and human agree on ")


def test_who_decides_where_votes_split_is_not_measured_by_the_splits(tmp_path):
    """The adjudicator sees nothing but items that two others differ on, and must side against one of them."""
    campaign = begun(tmp_path, more='votes = 2\nadjudicator = "Eve"')
    with campaign.labelling() as desk:
        for person in ("ann", "bob"):
            for i in range(10):
                desk.answer(person, desk.next(person).key, i % 2 if person == "ann" or i > 2 else 1 - i % 2)
        while (task := desk.next("eve")) is not None:
            desk.answer("eve", task.key, 1)
    with campaign.look() as now:
        (ann, bob, eve), together = people_found(now)
        (_, _, row), _ = people_of(now)
    assert (eve.name, eve.answers, eve.decides, eve.agree) == ("eve", 3, True, None)
    assert row[PEOPLE.index("agree with others")] == "decides where they differ"
    assert ann.agree == bob.agree == together.percent == 0.7
    assert not ann.decides
    assert together.items == 10
