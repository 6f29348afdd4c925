"""A campaign's report: what it tells besides the estimate, and that nothing from outside is taken for HTML."""

import html
import json
import re
from datetime import UTC, datetime

import numpy as np
import pytest

from ratewise.campaign import findings
from ratewise.campaign.campaign import Campaign
from ratewise.core.document import Column, DataTable, as_html
from ratewise.design.rounds import learned_rating
from ratewise.errors import TableError
from ratewise.questions.goal import within
from ratewise.report.campaign import campaign_page, snapshot_page
from ratewise.tables import read_table, write_table

from ..campaign.making import judged, ran
from ..tomls import rater, toml_of

NASTY = "<script>alert(1)</script>"
TOML = toml_of(
    rater("judge", price="0.01"),
    rater("<b>Ann</b>", column="human", price="1.5", more='max_price = "2"'),
    top='name = "bot"\nseed = 31\n{top}',
    items='features = ["topic"]',
    rating="{rating}",
    goal='budget = "{budget}"',
)


def campaign(folder, *, rows=600, budget=150, top="", rating='kind = "binary"', scale=1.0):
    rng = np.random.default_rng(77)
    topic = rng.choice(["law", "sport", NASTY], rows, p=[0.6, 0.3, 0.1])
    judge = np.round(np.where(topic == "law", rng.beta(4, 1, rows), rng.beta(1, 1, rows)), 3)
    human = (rng.random(rows) < judge).astype(int)
    columns = {
        "id": np.array([f"item-{i}" for i in range(rows)], dtype=object),
        "text": np.array([f"{NASTY} {'long ' * 50}{i}" for i in range(rows)], dtype=object),
        "topic": topic.astype(object), "judge": scale * judge, "human": human,
    }  # fmt: skip
    folder.mkdir(exist_ok=True)
    write_table(read_table(columns, name="t"), folder / "items.csv")
    (folder / "c.toml").write_text(TOML.format(top=top, budget=budget, rating=rating))
    made = Campaign.open(folder / "c.toml")
    made.run()
    return made, columns


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    return campaign(tmp_path_factory.mktemp("report") / "c")


def plain(page):
    """The page's words."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page)).split())


def test_it_says_when_by_which_seed_and_who_rated_at_what_price(done):
    made, _ = done
    with made.look() as now:
        page = snapshot_page(now, made=datetime(2026, 11, 15, 23, 5, tzinfo=UTC))
    said = plain(page)
    assert "<title>bot</title>" in page
    for words in (
        "Date 15 November 2026, 23:05 UTC", "Seed of the draws 31", "Goal budget 150", "Table items.csv",
        "judge a column of the table 0.01 predicts", "<b>Ann</b> a column of the table 1.5, at most 2 believed",
    ):  # fmt: skip
        assert words in said
    assert datetime.now(UTC).strftime("%B %Y") in plain(campaign_page(made))
    assert "<script" not in page
    assert "<b>Ann" not in page
    assert "width=device-width" in page
    assert "prefers-color-scheme: dark" in page
    assert "src=" not in page


def test_the_ten_items_on_which_they_differ_most(done):
    made, columns = done
    with made.look() as now:
        found, looked = findings.differences(now), now.state.history.looked
    assert len(found) == 10
    gaps = np.abs(looked.values[:, -1] - looked.x.weak)
    assert [abs(one.weak - one.strong) for one in found] == pytest.approx(np.sort(gaps[~np.isnan(gaps)])[::-1][:10])
    at = {name: i for i, name in enumerate(columns["id"])}
    for one in found:
        i = at[one.id]
        assert (one.weak, one.strong) == (columns["judge"][i], columns["human"][i])
        assert dict(one.texts)["text"] == columns["text"][i]
    page = campaign_page(made)
    assert "differ most" in page
    assert all(one.id in page for one in found)
    assert all(html.escape(columns["text"][at[one.id]]) in page for one in found)  # the whole text


def test_a_judge_on_the_same_side_as_people_does_not_differ(tmp_path):
    """Where people say yes and no, 0.91 beside a yes is no difference to read."""
    made, _ = campaign(tmp_path / "c", rows=120, budget=60)
    with made.look() as now:
        found = findings.differences(now)
    assert 0 < len(found) < 60
    assert all(round(one.weak) != one.strong for one in found)


def test_an_item_is_told_with_its_lists_and_where_it_says_nothing(tmp_path):
    rows = [{"id": f"i{i}", "answer": "" if i % 2 else "x", "turns": [{"role": "user", "content": "Hi"}],
             "judge": 0.9, "human": i % 2} for i in range(40)]  # fmt: skip
    (tmp_path / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    toml = TOML.replace("items.csv", "items.jsonl").replace('features = ["topic"]', "")
    (tmp_path / "c.toml").write_text(toml.format(top="", budget=50, rating='kind = "binary"'))
    made = Campaign.open(tmp_path / "c.toml")
    made.run()
    with made.look() as now:
        texts = [dict(findings.item_texts(now, position)) for position in range(4)]
    assert {one["answer"] for one in texts} == {"(empty)", "x"}
    assert all(json.loads(one["turns"]) == rows[0]["turns"] for one in texts)


def test_a_long_text_folds_and_loses_nothing():
    text = "first words " + "and more of it\n" * 400 + "the end"
    table = DataTable([Column("item", "name")])
    table.add("a", below=[("answer", text)])
    shown = as_html([table])
    before, folded = shown.split("<details>")
    assert len(before) < 1_000
    kept = folded.split("</summary>")[1].split("</details>")[0]
    assert before.split("<dd dir='auto'>")[1] + kept == text


def test_a_judge_on_another_scale_differs_by_what_is_learned(tmp_path):
    made, _ = campaign(tmp_path / "c", scale=100.0)
    with made.look() as now:
        found = findings.differences(now)
        looked, f = now.state.history.looked, learned_rating(now.state.history.seen)[0]
    known = ~np.isnan(looked.x.weak) & ~np.isnan(looked.values[:, -1])
    order = np.argsort(-np.where(known, np.abs(looked.values[:, -1] - f), -1.0), kind="stable")[:10]
    assert [(one.weak, one.strong) for one in found] == [(looked.x.weak[i], looked.values[i, -1]) for i in order]
    assert max(one.weak for one in found) > 1


def test_slices_are_the_features_that_are_words(done):
    """Three slices of one column; each estimate is near the truth of its slice."""
    made, columns = done
    with made.look() as now:
        found = findings.slices(now)
        assert now.estimate is not None
    assert [(one.column, one.name) for one in found] == [("topic", NASTY), ("topic", "law"), ("topic", "sport")]
    assert sum(one.items for one in found) == 600
    for one in found:
        here = columns["topic"] == one.name
        assert one.items == here.sum()
        assert one.estimate is not None
        low, high = one.estimate.interval
        assert low <= columns["human"][here].mean() <= high
    page = plain(campaign_page(made))
    assert "By topic" in page
    assert "law" in page


def test_slices_of_other_columns_and_of_none(done):
    made, _ = done
    with made.look() as now:
        assert {one.column for one in findings.slices(now, ["human"])} == {"human"}
        assert findings.slices(now, []) == ()
        with pytest.raises(TableError, match=r"items\.csv has no column 'topics'; did you mean 'topic'"):
            findings.slices(now, ["topics"])


def test_more_money_is_worth_what_the_formula_says(done, tmp_path):
    """In a pool, errors fall towards 0 at the price of rating everything; in a population, as 1/money."""
    made, _ = done
    for opened in (made, campaign(tmp_path / "c", top='estimand = "population"')[0]):
        with opened.look() as now:
            found, e = findings.outlook(now), now.estimate
            spent = float(now.status.spent)
        half = (e.interval[1] - e.interval[0]) / 2
        assert [one.times for one in found] == [1, 1.5, 2, 4]
        assert (found[0].spend, found[0].half_width) == (spent, pytest.approx(half))
        if opened is made:
            assert 0 < found[3].half_width < half / 2
        else:
            assert [one.half_width for one in found] == pytest.approx([half / np.sqrt(t) for t in (1, 1.5, 2, 4)])
        assert within(found[1].half_width, points=True) in plain(campaign_page(opened))


@pytest.mark.parametrize("estimand", ["pool", "population"])
def test_missing_answers_leave_the_words_on_more_money(tmp_path, estimand):
    """Of more answers as large a share is missing, so that what they add to the interval stays."""
    table = judged(600)
    table["human"] = np.where(np.arange(600) % 10 == 0, np.nan, table["human"])
    with ran(tmp_path, table, estimand=estimand, goal='budget = "150"').look() as now:
        found, e = findings.outlook(now), now.estimate
        page = plain(snapshot_page(now))
    low, high = (float(x) for x in re.search(r"lies between (\S+) and (\S+)", " ".join(e.notes)).groups())
    assert e.standard_error is None
    assert e.unanswered == pytest.approx((high - low) / 2, abs=1e-3)
    assert e.unanswered > 0.01
    halves = [one.half_width for one in found]
    assert halves[0] == pytest.approx((e.interval[1] - e.interval[0]) / 2)
    assert e.unanswered < halves[3] < halves[2] < halves[1] < halves[0]
    assert "What more money would bring" in page
    assert "no money mends" in page


def test_before_the_first_round(tmp_path):
    campaign(tmp_path / "c")
    (tmp_path / "d").mkdir()
    for name in ("items.csv", "c.toml"):
        (tmp_path / "d" / name).write_bytes((tmp_path / "c" / name).read_bytes())
    fresh = Campaign.open(tmp_path / "d" / "c.toml")
    fresh.begin()
    page = plain(campaign_page(fresh))
    assert "No round is complete yet" in page
    assert "Who rates" in page
    assert "differ most" not in page


def test_points_and_units():
    assert within(0.0471, points=True) == "±4.7 points"
    assert within(0.0471, points=False) == "±0.0471"
    assert within(12.34, points=False) == "±12.3"


def test_slices_of_pairs_stay_on_the_scale(tmp_path):
    """Ties count half; a slice of few votes that were all won ends at the scale's end."""
    rng = np.random.default_rng(3)
    p = rng.random(500)
    votes = np.where(rng.random(500) < 0.15, 0.5, rng.random(500) < p)
    columns = judged(500) | {"judge": p.round(3).tolist(), "human": votes.tolist()}
    columns |= {"topic": [f"t{k}" for k in rng.integers(0, 40, 500)]}
    made = ran(tmp_path, columns, goal='budget = "70"', rating='kind = "pairwise"', items='features = ["topic"]')
    with made.look() as now:
        found = [one.estimate for one in findings.slices(now) if one.estimate is not None and one.estimate.interval]
    assert len(found) > 5
    for one in found:
        assert 0 <= one.low < one.high <= 1
        assert 0 <= one.value <= 1
