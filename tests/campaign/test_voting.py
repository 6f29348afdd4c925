"""Several people's answers become one rating: an even split is the mean, and the rule is said everywhere."""

import io

import pytest
from rich.console import Console

from ratewise.campaign.campaign import Campaign
from ratewise.campaign.findings import judge_and_people
from ratewise.campaign.raters import rules_in_words
from ratewise.report.campaign import campaign_page
from ratewise.report.terminal import text_of
from ratewise.report.words import people_of
from ratewise.web.live import document

from ..tomls import rater, toml_of

EACH = "crowd: 2 people rate each item; where they differ, the mean of the two counts"


def begun(folder, *, more, items=30, old=()):
    """A campaign of a judge and people; the first items have these labels from before."""
    start = '\n[start]\nlabels = "human"\ndrawn = "at random"' if old else ""
    toml = toml_of(
        rater("judge", price="0.05"), rater("crowd", kind="people", more=more),
        top='name = "c"\nseed = 7\nstore = "c.sqlite"', goal='budget = "80"' + start,
    )  # fmt: skip
    labels = [f"{label:g}" for label in old] + [""] * (items - len(old))
    rows = (f"i{i},{(i % 7) / 7:.2f},{label}\n" for i, label in enumerate(labels))
    (folder / "items.csv").write_text("id,judge,human\n" + "".join(rows))
    (folder / "c.toml").write_text(toml)
    return Campaign.open(folder / "c.toml")


def answered(campaign, **people):
    """All questions, by people who always say the same; the campaign at its end."""
    while campaign.run(wait=False) == "waiting for answers":
        with campaign.people() as desk:
            for name, says in people.items():
                while (question := desk.next(name)) is not None:
                    desk.answer(name, question.key, says)
    return campaign


def test_one_yes_and_one_no_are_half(tmp_path):
    campaign = answered(begun(tmp_path, more="votes = 2"), ann="yes", bob="no")
    assert campaign.status().labels == 30
    assert campaign.estimate().value == pytest.approx(0.5)
    assert campaign.verify().passed
    assert set(campaign.export(tmp_path / "out.csv").numbers("rating_crowd")) == {0.5}


def test_an_export_with_splits_is_a_start_of_old_labels(tmp_path):
    campaign = answered(begun(tmp_path, more="votes = 2", items=60, old=[0.5, 1.0, 0.0] * 10), ann=1, bob=0)
    assert campaign.status().labels == 60
    assert campaign.verify().passed


def test_what_one_person_says_is_still_on_the_scale(tmp_path):
    campaign = begun(tmp_path, more="votes = 2")
    campaign.run(wait=False)
    with campaign.people() as desk, pytest.raises(ValueError, match=r"0\.5 is no binary rating"):
        desk.answer("ann", desk.next("ann").key, 0.5)


def test_the_rule_is_said_wherever_one_looks(tmp_path):
    campaign = answered(begun(tmp_path, more="votes = 2"), ann="yes", bob="no")
    assert campaign.status().to_dict()["votes"] == [EACH]
    console = Console(file=io.StringIO(), width=200)
    console.print(text_of(campaign.status()))
    assert EACH in console.file.getvalue()
    assert EACH in campaign_page(campaign)
    with campaign.look() as now:
        assert document(now)["votes"] == [EACH]
        assert EACH in people_of(now)[1]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("votes = 1", []),
        ("votes = 3", ["crowd: 3 people rate each item; the median counts, and of an even split the mean of the two "
                       "middle answers"]),
        ('votes = 2\nadjudicator = "ann"', ["crowd: 2 people rate each item; where they differ, ann decides"]),
    ],
)  # fmt: skip
def test_the_rule_in_words(tmp_path, more, said):
    assert list(rules_in_words(begun(tmp_path, more=more).spec)) == said


def test_the_judge_agrees_by_half_with_two_who_differ(tmp_path):
    campaign = answered(begun(tmp_path, more="votes = 2", items=150), ann="yes", bob="no")
    with campaign.look() as now:
        assert judge_and_people(now)[0].startswith("judge and crowd agree on 50% of items")
