"""Campaigns that learn from texts: they ask better, and their log can be replayed without the texts' model."""

import json
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from ratewise.campaign.campaign import Campaign
from ratewise.campaign.cost import campaign_cost
from ratewise.errors import InputError

from ..embedding_server import embedding_server
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


def test_labels_are_nothing_to_learn_from(tmp_path):
    for key in ("text", "features"):
        with pytest.raises(InputError, match=rf"items\.{key} names 'human', which holds the strong ratings"):
            Campaign.open(write(tmp_path, ITEMS, items=f'{key} = ["human"]'))


def test_a_learner_needs_texts(tmp_path):
    with pytest.raises(InputError, match="needs texts to learn from"):
        Campaign.open(write(tmp_path, ITEMS, items='[learner]\nkind = "words"'))


# A finished campaign that has learned from texts teaches the next one


HINTS = judged(300, seed=3)
"""The texts say something beside the judge, but do not make it superfluous."""
WRONG = np.random.default_rng(1).random(300) < 0.15
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


# Embeddings that are paid for


@pytest.fixture(scope="module")
def server():
    with embedding_server() as made:
        yield made


def _paid(folder, server, *, price="100", goal='budget = "20"'):
    """A campaign of 300 different texts, two batches: at 10 tokens a text and 100 for a million, they cost 0.3."""
    columns = HINTS | {"request": [f"{'thanks' if h else 'do it'} {i}" for i, h in enumerate(HINTS["human"])]}
    learner = f'kind = "embeddings"\nmodel = "small"\nbase_url = "{server.base_url}"\ntoken_price = "{price}"'
    server.asked.clear()
    return write(folder, columns, goal=goal, items=f"{TEXT}\n[learner]\n{learner}")


def test_embeddings_are_paid_from_the_budget_and_in_the_ledger(server, tmp_path):
    path = _paid(tmp_path, server)
    cost = campaign_cost(Campaign.open(path).spec).to_dict()
    assert (cost["raters"][0]["name"], cost["raters"][0]["calls"]) == ("[learner]", 2)
    assert 0.1 < float(cost["raters"][0]["cost_expected"]) < 0.3 < float(cost["raters"][0]["cost_most"])
    assert server.asked == []
    campaign = Campaign.open(path)
    campaign.run()
    status = campaign.status()
    assert status.spent_by["[learner]"] == Decimal("0.3")
    assert status.spent == sum(status.spent_by.values()) <= 20
    assert campaign.verify().differences == []
    ledger = campaign.export(tmp_path / "ledger.csv", ledger=True)
    first = [ledger.texts(name, missing="allow")[0] for name in ("kind", "position", "rater", "amount")]
    assert first == ["texts", "", "[learner]", "0.3"]
    assert any("2 columns, for 0.30" in note for _, note in campaign.notes())
    assert campaign_cost(campaign.spec).to_dict()["raters"][0]["calls"] == 0  # all of them are there


def test_a_kill_pays_for_no_batch_twice_and_a_new_beginning_for_none(server, tmp_path):
    path = _paid(tmp_path, server)
    server.calls_left = 1
    with pytest.raises(InputError, match="HTTP 402"):
        Campaign.open(path).begin()
    server.calls_left = 1_000_000
    Campaign.open(path).begin()
    assert [len(texts) for *_, texts, _ in server.asked] == [256, 44, 44]
    assert server.asked[1][-1] == server.asked[2][-1] is not None  # the same call, by its key
    assert Campaign.open(path).status().spent == Decimal("0.3")
    for file in filter(Path.is_file, tmp_path.glob("c.sqlite*")):
        file.unlink()
    Campaign.open(path).begin()
    assert len(server.asked) == 3
    assert Campaign.open(path).status().spent == 0


def test_texts_that_could_pass_the_budget_are_not_sent(server, tmp_path):
    path = _paid(tmp_path, server, price="100000")
    with pytest.raises(InputError, match=r"may pass the budget.*raise goal\.budget"):
        Campaign.open(path).begin()
    assert server.asked == []
