"""A campaign's status and page: numbers of the log, nothing of the outside unescaped."""

import io
import re
from dataclasses import replace

import pytest
from rich.console import Console

from ratewise.campaign.campaign import Campaign
from ratewise.campaign.status import telling
from ratewise.report.campaign import campaign_page, snapshot_page
from ratewise.report.status import look_parts
from ratewise.report.terminal import as_text, text_of
from ratewise.report.words import plain_answer
from ratewise.web.live import document

from ..campaign.making import judged, ran, write


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    return ran(tmp_path_factory.mktemp("campaign"), judged(300, spread=0.75), goal='budget = "40"')


def words_of(page):
    return " ".join(re.sub("<[^>]*>", " ", page).split())


def printed(text):
    console = Console(file=io.StringIO(), width=120, highlight=False)
    console.print(text)
    return console.file.getvalue()


def test_status_and_ending_say_what_was_spent_and_found(campaign):
    status, estimate = campaign.status(), campaign.estimate()
    text = printed(text_of(status))
    assert f"{status.spent:,.2f} of 40.00 spent" in text
    with campaign.look() as now:
        ending = printed(as_text(look_parts(now, reason="the budget is spent")))
    assert "the budget is spent" in ending.lower()
    assert f"{estimate.value:.4f}" in ending


def test_the_page_is_whole_and_knows_the_truth_if_it_is_told(campaign):
    page = campaign_page(campaign, truth=0.123456)
    assert page.lower().startswith("<!doctype html>")
    assert f"{100 * campaign.estimate().value:.1f}%" in page
    assert "12.3%" in page
    assert "<script" not in page


def test_a_narrow_terminal_shows_the_whole_head(campaign):
    with campaign.look() as now:
        console = Console(file=io.StringIO(), width=50, highlight=False)
        console.print(as_text(look_parts(now)))
        assert now.head in "".join(console.file.getvalue().split())


def test_every_view_leads_with_the_final_interval_once_it_has_ended(campaign):
    """And names the other one for what it is for."""
    with campaign.look() as now:
        status, page, live, words = now.status, snapshot_page(now), document(now), plain_answer(now)
    assert status.ended is not None
    final, wide = status.final, status.for_looks
    assert wide.low < final.low < final.high < wide.high
    leads, other = (f"{e.low:.4f} to {e.high:.4f}" for e in (final, wide))
    shown, beside = (f"{100 * e.low:.1f}–{100 * e.high:.1f}%" for e in (final, wide))
    terminal = " ".join(printed(text_of(status)).split())
    for text, first, second in (
        (terminal, leads, f"if you looked before {other}"), (words_of(page), shown, f"If you looked before {beside}"),
        (status._repr_html_(), leads, other),
    ):  # fmt: skip
        assert -1 < text.index(first) < text.index(second)
    assert f"[{final.low:.4f}, {final.high:.4f}]" in status.summary()
    assert f"{100 * final.low:.1f}–{100 * final.high:.1f}%" in words
    assert (live["interval"], live["estimate"]["low"]) == (final.interval, final.low)
    assert live["if_you_look"]["low"] == wide.low
    assert campaign.estimate().interval == final.interval


def test_until_the_end_every_view_leads_with_the_interval_that_may_be_looked_at(tmp_path):
    campaign = ran(tmp_path, judged(300, spread=0.75), goal='budget = "40"')
    ended = campaign.status()
    under_way = replace(ended, ended=None)
    assert under_way.lead is ended.estimate
    assert under_way.for_looks is None
    assert "look as often as you like" in printed(text_of(under_way))
    changed = replace(ended, final=ended.estimate)  # the goal was changed after somebody had looked
    assert changed.lead is ended.estimate
    assert changed.for_looks is None
    assert "even if somebody looked" in printed(text_of(changed))
    assert "if you looked before" not in printed(text_of(changed))


def test_failed_calls_have_a_row_of_their_own(campaign):
    status = replace(campaign.status(), failed_calls=3)
    rows = {line.split("  ")[0].strip(): line for line in printed(text_of(status)).splitlines()}
    assert "3" in rows["failed calls"]
    assert "fail" not in rows["strong ratings"]
    assert "failed calls" not in printed(text_of(campaign.status()))


def test_a_currency_is_text_in_a_notebook_too(campaign):
    page = replace(campaign.status(), currency="<b>")._repr_html_()
    assert "<b>" not in page
    assert "&lt;b&gt;" in page
    assert "█" not in page


def test_a_judge_s_round_is_told_while_it_lasts(tmp_path, monkeypatch):
    """A round of a judge may take hours: its answers are told before any label is there."""
    monkeypatch.setitem(telling.__kwdefaults__, "every", 0.0)
    path, seen = write(tmp_path, judged(60), goal='budget = "50"', currency="USD"), []
    column = 'kind = "column"\ncolumn = "judge"'
    assert column in path.read_text()
    python = 'kind = "python"\nfunction = "provider_of_status:rate"'
    path.write_text(path.read_text().replace(column, python, 1))
    (tmp_path / "provider_of_status.py").write_text("def rate(item):\n    return float(item['judge'])\n")
    Campaign.open(path).run(progress=seen.append)
    told = [line for status in seen for line in status.asking]
    assert any(re.fullmatch(r"judge: [\d,]+ ratings in, [\d,]+ still to come", line) for line in told)
    assert len(set(told)) > 2
    assert all("asking" not in status.to_dict() for status in seen if not status.asking)
    assert "USD 50.00" in printed(text_of(seen[-1]))
