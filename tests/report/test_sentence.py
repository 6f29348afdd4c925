"""The result in plain words, with the units of the TOML."""

from dataclasses import replace

import pytest

from ratewise.campaign.campaign import Campaign
from ratewise.raters.people import PeopleSettings
from ratewise.report.campaign import snapshot_markdown
from ratewise.report.words import plain_answer

from ..campaign.making import judged, ran, scored, write


def test_a_manager_reads_it(tmp_path):
    campaign = ran(tmp_path, judged(400), goal='budget = "80"', currency="USD", claim="the assistant is right")
    with campaign.look() as now:
        said, found, status = plain_answer(now), now.estimate, now.status
    low, high = (f"{100 * end:.1f}" for end in found.interval)
    first = f"The assistant is right {100 * found.value:.1f}% of the time (95% interval {low}–{high}%). "
    assert said.startswith(first + f"It took {status.labels} labels from human and cost ")
    assert f"cost USD {status.spent:,.2f}".removesuffix(".00") in said
    assert "; labels alone would have taken about " in said


def test_labels_of_an_open_round_are_told_apart_from_those_the_estimate_rests_on(tmp_path):
    with ran(tmp_path, judged(80), goal='budget = "30"').look() as now:
        rests = now.estimate.labels
        assert "rests on" not in plain_answer(now)
        now.__dict__["status"] = replace(now.status, labels=rests + 19)  # as while a round is open
        said = plain_answer(now)
    assert f"{rests + 19} labels" in said
    assert f"rests on {rests} of them" in said


def test_without_a_claim_it_names_who_said_yes(tmp_path):
    campaign = ran(tmp_path, judged(80), goal='budget = "30"')
    with campaign.look() as now:
        assert plain_answer(now).startswith(f"{100 * now.estimate.value:.1f}% of the items get a yes from human (95%")


def test_scores_stay_on_their_scale_and_money_has_no_name_of_its_own(tmp_path):
    columns = scored(60)
    keys = {"raters": (("judge", "0.05"), ("human", "1")), "rating": 'kind = "score"\nlow = 1\nhigh = 9'}
    campaign = ran(tmp_path, {name: columns[name] for name in ("id", "judge", "human")}, goal='budget = "30"', **keys)
    with campaign.look() as now:
        said, spent = plain_answer(now), now.status.spent
    assert said.startswith("The mean rating by human is ")
    assert "on a scale from 1 to 9" in said
    assert f"and cost {f'{spent:,.2f}'.removesuffix('.00')}" in said


def test_before_the_first_round(tmp_path):
    campaign = Campaign.open(write(tmp_path, judged(50)))
    campaign.begin()
    with campaign.look() as now:
        assert "no estimate" in plain_answer(now)
        assert "no estimate" in snapshot_markdown(now)


@pytest.mark.parametrize(
    ("a_wins", "shown"), [(0.8, "outside, so left is"), (0.2, "outside, so right is"), (0.5, "inside")]
)
def test_of_a_pair_both_are_named_and_whether_one_is_better(tmp_path, a_wins, shown):
    columns = judged(120, mean=a_wins, spread=0.2)
    campaign = ran(tmp_path, columns, goal='budget = "60"', rating='kind = "pairwise"')
    with campaign.look() as now:
        wins = f"{100 * now.estimate.value:.1f}%, ties counted half ("
        assert plain_answer(now).startswith(f"In comparisons with the second, the first of the two wins {wins}")
        people = PeopleSettings(name="people", kind="people", price=1, a="left", b="right")
        named = replace(now, spec=now.spec.model_copy(update={"raters": (*now.spec.raters[:-1], people)}))
        said = plain_answer(named)
    assert said.startswith(f"In comparisons with right, left wins {wins}")
    assert f"50% is {shown}" in said


def test_missing_answers_do_not_deny_the_judge(tmp_path):
    """Every hundredth strong rating will not come, of a good judge that rated everything."""
    columns = judged(1500, spread=0.8)
    columns["human"] = ["" if i % 100 == 7 else value for i, value in enumerate(columns["human"])]
    campaign = ran(tmp_path, columns, goal='budget = "300"', raters=(("judge", "0.01"), ("human", "1")))
    with campaign.look() as now:
        assert now.status.missing > 0
        told, text, found = now.diagnosis, snapshot_markdown(now), now.estimate
    assert (told.alone, told.missing) == (False, now.status.missing)
    assert told.effective_labels > 1.2 * told.labels
    assert "not worth" not in text
    assert "labels alone would have been" in text
    assert "Labels alone would have cost about" in text
    assert "Ratings by judge are cheap." in text
    assert found.standard_error is None  # the interval holds whatever they would have been


def test_a_campaign_without_a_weak_rater_has_none_to_deny(tmp_path):
    columns = judged(60)
    campaign = ran(tmp_path, columns, goal='budget = "30"', raters=(("human", "1"),))
    with campaign.look() as now:
        assert now.diagnosis is None
        assert "weak" not in snapshot_markdown(now)
