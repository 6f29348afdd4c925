"""Campaigns that learn from texts: they ask better, and their log can be replayed without the texts' model."""

import json

import numpy as np
import pytest

from ratewise.campaign.campaign import Campaign
from ratewise.errors import InputError

from .making import judged, log_of, ran, write

ITEMS = judged(300)
ITEMS["request"] = [
    f"{'thank you so much' if h else 'do it now'} {'please' if (i * h) % 3 else 'again'} {i % 5}"
    for i, h in enumerate(ITEMS["human"])
]
TEXT = 'text = ["request"]'


@pytest.fixture(scope="module")
def campaigns(tmp_path_factory):
    """The same campaign, without and with the texts."""
    plain = ran(tmp_path_factory.mktemp("plain"), ITEMS, goal='budget = "70"')
    return plain, ran(tmp_path_factory.mktemp("text"), ITEMS, goal='budget = "70"', items=TEXT)


def test_texts_that_tell_the_rating_make_the_interval_narrower(campaigns):
    without, with_text = (campaign.estimate() for campaign in campaigns)
    assert with_text.standard_error < 0.7 * without.standard_error
    assert abs(with_text.value - np.mean(ITEMS["human"])) < 4 * with_text.standard_error


def test_the_log_can_be_replayed(campaigns):
    assert campaigns[1].verify().differences == []
    assert any("learns from the texts request by words" in note for _, note in campaigns[1].notes())


def test_texts_may_not_change_on_the_way(campaigns):
    spec = campaigns[1].spec
    path = write(spec.folder, ITEMS, goal='budget = "70"', items='text = ["id"]')
    with pytest.raises(InputError, match=r"items\.text"):
        Campaign.open(path).run()


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ('[learner]\nkind = "embeddings"', "needs a model"),
        ('[learner]\nkind = "words"\nmodel = "x"', 'is for kind = "embeddings"'),
        ('[learner]\nkind = "letters"', "letters"),
    ],
)
def test_mistakes_in_the_learner_are_told(tmp_path, more, words):
    with pytest.raises(InputError, match=words):
        Campaign.open(write(tmp_path, ITEMS, items=f"{TEXT}\n{more}"))


def test_a_learner_needs_texts(tmp_path):
    with pytest.raises(InputError, match="needs texts to learn from"):
        Campaign.open(write(tmp_path, ITEMS, items='[learner]\nkind = "words"'))


# A finished campaign that has learned from texts teaches the next one


HINTS = judged(300, seed=3)
"""The texts say something beside the judge, but do not make it superfluous."""
WRONG = np.random.default_rng(1).random(300) < 0.2
HINTS["request"] = [
    f"{'thanks' if h ^ wrong else 'do it now'} {i % 5}"
    for i, (h, wrong) in enumerate(zip(HINTS["human"], WRONG.tolist(), strict=True))
]
CHEAP = (("judge", "0.001"), ("human", "1"))


def _autumn(folder, more=TEXT):
    """The next release's campaign beside the old one's folder."""
    path = write(folder, HINTS, name="autumn", goal='budget = "60"', items=more, raters=CHEAP)
    path.write_text(path.read_text(encoding="utf-8") + '\n[start]\nfrom = "../old/c.toml"\n', encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def spring(tmp_path_factory):
    """The folder of two campaigns: the old one, which has ended, is in `old`."""
    folder = tmp_path_factory.mktemp("taught")
    ran(folder / "old", HINTS, goal='budget = "120"', items=TEXT, raters=CHEAP)
    return folder


def test_texts_are_handed_on_to_the_next_campaign(spring):
    taught = Campaign.open(_autumn(spring / "new"))
    taught.run()
    with taught.look() as now:
        teacher = now.facts.teacher
        first = json.loads(log_of(taught)["rounds"][1][2])
    assert teacher.x.text.columns == now.facts.text
    assert teacher.learned.model.text is not None
    np.testing.assert_allclose(first["rule"]["model"]["text"], teacher.learned.model.text)
    assert taught.verify().differences == []


def test_other_texts_or_another_learner_are_refused(spring):
    for more in ('text = ["request", "id"]', "", f'{TEXT}\n[learner]\nkind = "vectors"'):
        with pytest.raises(InputError, match=r"make items\.text and \[learner\] the same"):
            Campaign.open(_autumn(spring / "other", more)).run()
