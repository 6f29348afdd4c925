"""More money after the end: items that were passed over are drawn again, and the log can be replayed."""

import re
from decimal import Decimal

import numpy as np
import pytest

import ratewise as rw
from ratewise.campaign.campaign import Campaign
from ratewise.errors import RatewiseWarning

from .making import judged, ran, tamper, write, write_mixed

ITEMS = judged(240)


def raised(folder, budget, **keys):
    return Campaign.open(write(folder, ITEMS, goal=f'budget = "{budget}"', **keys))


@pytest.fixture
def ended(tmp_path):
    """A pool that was looked at whole, with labels for some."""
    campaign = ran(tmp_path, ITEMS, goal='budget = "60"')
    assert campaign.status().looked == 240
    return campaign


@pytest.mark.filterwarnings("ignore::ratewise.errors.RatewiseWarning")
def test_more_money_buys_labels_of_items_that_were_passed_over(ended, tmp_path):
    before = ended.status()
    campaign = raised(tmp_path, 120)
    campaign.run()
    after = campaign.status()
    assert before.labels + 55 < after.labels <= before.labels + 60
    assert 118 < after.spent <= 120
    assert after.ended == "the budget is spent"
    assert campaign.verify().differences == []
    low, high = before.final.interval
    new = after.final.interval
    assert new[1] - new[0] < high - low


@pytest.mark.filterwarnings("ignore::ratewise.errors.RatewiseWarning")
def test_looks_go_on_until_every_item_has_a_label_and_the_mean_is_known(ended, tmp_path):
    for budget in (100, 150, 400):
        campaign = raised(tmp_path, budget)
        campaign.run()
        assert campaign.verify().differences == []
    status = campaign.status()
    assert status.labels == 240
    assert status.ended == "every item has been looked at"
    found = campaign.estimate()
    truth = np.mean(ITEMS["human"])
    assert found.value == pytest.approx(truth, abs=1e-12)
    assert found.interval == pytest.approx((truth, truth), abs=1e-12)
    assert [c.items for c in campaign.story()][-1] == 0
    assert status.spent == Decimal(240) + Decimal("0.05") * 240


@pytest.mark.filterwarnings("ignore::ratewise.errors.RatewiseWarning")
def test_the_export_and_another_run_agree_with_the_report(ended, tmp_path):
    campaign = raised(tmp_path, 90)
    campaign.run()
    reported = campaign.estimate()
    campaign.export(tmp_path / "out.parquet")
    found = rw.estimate_table(tmp_path / "out.parquet")
    assert (found.value, found.interval) == (reported.value, reported.interval)
    again = raised(tmp_path, 90)
    assert again.run() == "the budget is spent"
    assert again.estimate().value == reported.value


@pytest.mark.filterwarnings("ignore::ratewise.errors.RatewiseWarning")
def test_a_second_draw_that_was_changed_is_found(ended, tmp_path):
    campaign = raised(tmp_path, 90)
    campaign.run()
    tamper(campaign, "UPDATE draws SET rate = rate * 0.5 WHERE step = -1 AND position < 40")
    assert any("is not" in text and "rate" in text for text in campaign.verify().differences)


def test_a_result_that_would_get_wider_is_warned_of_before_anything_is_spent(ended, tmp_path):
    spent = ended.status().spent
    campaign = raised(tmp_path, 61)
    with pytest.warns(RatewiseWarning, match="wider than the interval there is"):
        campaign.begin()
    assert campaign.status().spent == spent


def test_the_warning_says_which_budget_would_be_enough_and_that_is_not_warned_of(ended, tmp_path, recwarn):
    campaign = raised(tmp_path, 61)
    campaign.begin()
    (said,) = [str(w.message) for w in recwarn if issubclass(w.category, RatewiseWarning)]
    enough = Decimal(re.search(r"Raise the budget to ([\d.]+) or more", said)[1])
    assert 61 < enough < 240
    recwarn.clear()
    campaign = raised(tmp_path, enough)
    campaign.begin()
    assert not [w for w in recwarn if issubclass(w.category, RatewiseWarning)]
    before = ended.status().final.interval
    campaign.run()
    after = campaign.status().final.interval
    assert after[1] - after[0] < before[1] - before[0]


def test_a_populations_mean_gets_second_looks_too_and_what_no_budget_can_do_is_told(tmp_path):
    campaign = ran(tmp_path, ITEMS, goal='budget = "60"', estimand="population")
    before = campaign.status()
    assert before.looked == 240
    campaign = raised(tmp_path, 200, estimand="population")
    with pytest.warns(RatewiseWarning, match="Change it back to keep that: no budget is known to be enough"):
        campaign.run()
    after = campaign.status()
    assert after.labels > before.labels + 100
    assert after.final.standard_error < before.final.standard_error
    assert campaign.verify().differences == []


def test_a_goal_changed_twice_is_compared_with_the_interval_that_may_be_looked_at(ended, tmp_path, recwarn):
    """What is there is wide already because it was looked at: the second change does not make it so again."""
    campaign = raised(tmp_path, 61)
    campaign.run()
    before = campaign.estimate().interval
    recwarn.clear()
    campaign = raised(tmp_path, 110)
    campaign.run()
    assert not [w for w in recwarn if issubclass(w.category, RatewiseWarning)]
    after = campaign.estimate().interval
    assert after[1] - after[0] < before[1] - before[0]


def test_enough_money_is_not_warned_of(ended, tmp_path, recwarn):
    campaign = raised(tmp_path, 230)
    campaign.begin()
    assert not [w for w in recwarn if issubclass(w.category, RatewiseWarning)]


def test_nothing_changes_where_no_money_is_added(ended, tmp_path):
    campaign = raised(tmp_path, 60)
    before = ended.estimate()
    campaign.run()
    assert campaign.estimate().interval == before.interval


@pytest.mark.filterwarnings("ignore::ratewise.errors.RatewiseWarning")
def test_people_answer_second_looks_and_what_was_given_up_can_be_asked_again(tmp_path):
    truth = dict(zip(ITEMS["id"], ITEMS["human"], strict=True))

    def people(budget):
        path = write(tmp_path, ITEMS, goal=f'budget = "{budget}"')
        text = path.read_text().replace('kind = "column"\ncolumn = "human"', 'kind = "people"')
        path.write_text(text)
        return Campaign.open(path)

    def answer_all(campaign, most=10**6):
        with campaign.people() as desk:
            while most > 0 and (question := desk.next("ann")) is not None:
                desk.answer("ann", question.key, truth[question.item["id"]])
                most -= 1

    campaign = people(60)
    while campaign.run(wait=False) == "waiting for answers":
        answer_all(campaign)
    campaign = people(90)
    assert campaign.run(wait=False) == "waiting for answers"
    assert campaign.verify().differences == []  # while a second look is open
    with campaign.people() as desk:
        question = desk.next("ann")
        claim = desk.desk.question(*map(int, question.key.split(":")[:2]))
        desk.answer("ann", question.key, None)
        assert desk.desk.question(claim.position, claim.step) is None
        assert desk.desk.store.set_cap(100 * 10**9, was=90 * 10**9)
        assert desk.desk.store.reopen([(claim, 10**9)], None) == (1, 0)
        assert desk.desk.question(claim.position, claim.step) is not None


@pytest.mark.timeout(120)
@pytest.mark.filterwarnings("ignore::ratewise.errors.RatewiseWarning")
def test_it_ends_where_what_is_kept_for_failures_leaves_less_than_a_label(tmp_path):
    """Answers may cost up to 2, and some calls fail: the last 2 of the budget pay for nobody."""
    for amount in (30, 34):
        campaign = Campaign.open(write_mixed(tmp_path, str(amount)))
        campaign.run()
    status = campaign.status()
    assert status.looked == 120
    assert status.ended == "the budget is spent"
    assert 31.5 < status.spent <= 34
    assert campaign.verify().differences == []


@pytest.mark.timeout(120)
@pytest.mark.filterwarnings("ignore::ratewise.errors.RatewiseWarning")
def test_it_ends_where_the_first_in_line_is_too_dear(tmp_path):
    """The mean price is below what is left, and everyone passed over may be dearer."""
    columns = judged(120) | {"price": [1 + 4 * (i % 3 > 0) for i in range(120)]}
    for budget in (60, 64):
        raters = (("judge", "0.05"), ("human", "price"))
        campaign = Campaign.open(write(tmp_path, columns, goal=f'budget = "{budget}"', raters=raters))
        campaign.run()
    assert campaign.status().ended
    assert len(campaign.story()) < 20
    assert campaign.verify().differences == []
