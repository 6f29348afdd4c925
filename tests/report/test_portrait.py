"""What a report tells beyond the estimate, on one campaign: pictures in words, people, method, limits, do it again."""

import json
import re

import numpy as np
import pytest

from ratewise.campaign import findings as numbers
from ratewise.core.chart import ChartLine, lines_picture
from ratewise.report import words
from ratewise.report.campaign import snapshot_markdown, snapshot_page
from ratewise.store import schema

from ..campaign.making import judged, ran
from ..web.making import SHOW, write


@pytest.fixture(scope="module")
def now(tmp_path_factory):
    campaign = ran(tmp_path_factory.mktemp("told"), judged(600), goal='budget = "120"')
    with campaign.look() as found:
        yield found


def test_calibration_comes_to_the_labels_by_their_rates(now):
    bins = numbers.calibration(now)
    history = now.state.history
    strong, weak, rates = history.seen.strong, history.looked.x.weak, history.seen.rates()
    use = ~np.isnan(strong)
    assert sum(one.items for one in bins) == np.count_nonzero(use)
    assert [one.x for one in bins] == sorted(one.x for one in bins)
    lowest = np.argsort(weak[use], kind="stable")[: bins[0].items]
    w = 1 / rates[use][lowest]
    assert bins[0].y == pytest.approx(w @ strong[use][lowest] / w.sum())
    assert all(one.low <= one.y <= one.high for one in bins)
    assert bins[-1].y > bins[0].y  # the judge of this world is calibrated


def test_rates_rise_with_the_expected_error(now):
    bins = numbers.rates_by_uncertainty(now)
    assert len(bins) > 3
    assert bins[-1].x > bins[0].x
    assert bins[-1].y > bins[0].y
    assert f"{bins[-1].y:.0%}" in words.rates_words(bins)


def test_the_page_has_every_section_and_says_each_picture_in_words(now):
    page, text = snapshot_page(now), snapshot_markdown(now)
    for title in ("Round by round", "can be trusted", "human rated", "How it was measured", "Missing labels",
                  "Assumptions", "Limits", "Check it yourself"):  # fmt: skip
        assert re.search(rf"<h[23] id='[^']*'>[^<]*{title}", page), title
        assert title in text, title
    assert page.count("<figure>") == page.count("role='img'") == page.count("<title>") - 1 == 4  # the page has one
    assert page.count("<figcaption>") == 3  # all but the headline's, which the headline says
    points = words.story_points(now)
    assert words.money_words(now, points) in page
    assert "strong ratings alone" in words.money_words(now, points).lower()
    assert f"--head {now.head}" in page
    assert not re.search(r"(src|href)=.https?:", page)  # nothing is loaded


def test_the_interval_of_a_single_round_is_seen():
    """As a stroke; those of several are a band."""
    one, more = [(10.0, 0.5, 0.2, 0.8)], [(10.0, 0.5, 0.2, 0.8), (20.0, 0.5, 0.3, 0.7)]
    drawn = [lines_picture([ChartLine("", points, band=True)], "", x_name="x", y_name="y") for points in (one, more)]
    assert ["fill-opacity" in svg for svg in drawn] == [False, True]
    x, low, high = re.search(r"<path d='M([\d.]+) ([\d.]+)V([\d.]+)'", drawn[0]).groups()
    assert float(low) > float(high)  # pixels count downwards
    assert f"cx='{x}'" in drawn[0]


def test_savings_are_money_and_labels(now):
    said = " ".join(words.savings(now))
    alone = int(re.search(r"about ([\d,]+) labels alone", said)[1].replace(",", ""))
    assert alone > now.status.labels
    saved = int(re.search(r"(\d+)% less", said)[1])
    assert saved == round(100 * (1 - float(now.status.spent) / alone))


def test_people_agreement_and_checks_are_told(tmp_path, monkeypatch):
    known = [{"question": f"k{i}", "answer": "a", "expected": "yes"} for i in range(9)]
    tmp_path.mkdir(exist_ok=True)
    (tmp_path / "known.jsonl").write_text("".join(json.dumps(row) + "\n" for row in known))
    campaign = write(tmp_path, more=SHOW + '\nvotes = 2\nknown = "known.jsonl"\ntraining = 2\nchecks = 0.3')
    monkeypatch.setattr(schema, "new_campaign_id", lambda: "0123456789abcdef")  # which decides where checks come
    campaign.run(wait=False)
    with campaign.labelling() as desk:
        for name in ("ann", "<b>bob</b>"):
            while (task := desk.next(name)) is not None:
                desk.answer(name, task.key, 1, seconds=4.0)
    with campaign.look() as now:
        rows, said = words.people_of(now)
        page, text = snapshot_page(now), snapshot_markdown(now)
    assert [row[0] for row in rows] == ["<b>bob</b>", "ann"]
    assert all(re.search(r"training 2 of 2 right; checks \d of \d right", row[-1]) for row in rows)
    assert "100% of pairs agree" in said[0]
    assert "Hidden checks and repeats cost" in said[-1]
    assert "&lt;b&gt;bob&lt;/b&gt;" in page
    assert "<b>bob" not in page + text
    assert "<svg" in campaign._repr_html_() or campaign.estimate() is None


def test_a_campaign_shows_a_table_and_a_picture(now, tmp_path):
    from ratewise.campaign.campaign import Campaign

    page = Campaign.open(now.spec.path)._repr_html_()
    assert "<table " in page
    assert page.count("<svg") == 1
    assert "has not begun" in write(tmp_path)._repr_html_()
