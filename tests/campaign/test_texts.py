"""Campaigns that learn from texts: they ask better, and their log can be replayed without the texts' model."""

import numpy as np
import pytest

from ratewise.campaign.campaign import Campaign
from ratewise.errors import InputError

from .making import judged, ran, write

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
