"""A campaign's status and page: numbers of the log, nothing of the outside unescaped."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from ratewise.report.campaign import campaign_page, ending_text, plot_story, status_text

from ..campaign.making import judged, ran


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    return ran(tmp_path_factory.mktemp("campaign"), judged(300, spread=0.75), goal='budget = "40"')


def printed(text):
    console = Console(file=io.StringIO(), width=120, highlight=False)
    console.print(text)
    return console.file.getvalue()


def test_status_and_ending_say_what_was_spent_and_found(campaign):
    status, estimate = campaign.status(), campaign.estimate()
    text = printed(status_text(status, running=False))
    assert f"{status.spent:,.2f} of 40.00 spent" in text
    ending = printed(ending_text(status, estimate, "the budget is spent"))
    assert "the budget is spent" in ending.lower()
    assert f"{estimate.value:.4f}" in ending


def test_the_page_is_whole_and_knows_the_truth_if_it_is_told(campaign):
    page = campaign_page(campaign, truth=0.123456)
    assert page.lower().startswith("<!doctype html>")
    assert f"{campaign.estimate().value:.4f}" in page
    assert "0.1235" in page
    assert "<script" not in page


def test_the_story_is_drawn_round_by_round(campaign):
    figure = plot_story(campaign.story(), truth=0.7)
    assert figure.axes[0].lines or figure.axes[0].collections


def test_failed_calls_have_a_row_of_their_own(campaign):
    status = replace(campaign.status(), failed_calls=3)
    rows = {line.split("  ")[0].strip(): line for line in printed(status_text(status, running=False)).splitlines()}
    assert "3" in rows["failed calls"]
    assert "fail" not in rows["strong ratings"]
    assert "failed calls" not in printed(status_text(campaign.status(), running=False))
